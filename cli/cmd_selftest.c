/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug selftest: are the deliberately wrong variants found, with the right kind, and the right ones not accused? What judges sees neither the names nor
 * the declared faults.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <opsdebug/kernel.h>

#include "detect.h"
#include "document.h"
#include "making.h"
#include "phrases.h"
#include "screen.h"
#include "trying.h"

enum { KEY_ONLY = 0x100, KEY_HEALTHY };

typedef struct selftest_options {
    opd_shared shared;
    uint64_t seed;
    bool has_seed;
    unsigned jobs;
    const char *only;
    uint64_t healthy;
} selftest_options;

static const struct argp_option options[] = {
    { "seed", OPD_KEY_SEED, "N", 0, "Of the inputs; default: of the clock", 0 },
    { "only", KEY_ONLY, "OPERATOR", 0, "Wrong variants of one operator only", 0 },
    { "healthy", KEY_HEALTHY, "N", 0, "Also N verifications of right variants; default 0", 0 },
    { "jobs", 'j', "N", 0, "Calls at the same time; default: one for each CPU", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    selftest_options *o = state->input;
    switch (key) {
    case OPD_KEY_SEED:
        o->seed = opd_parse_count(state, "--seed", arg, 0, UINT64_MAX);
        o->has_seed = true;
        return 0;
    case KEY_ONLY:
        o->only = arg;
        return 0;
    case KEY_HEALTHY:
        o->healthy = opd_parse_count(state, "--healthy", arg, 0, 10000000);
        return 0;
    case 'j':
        o->jobs = (unsigned)opd_parse_count(state, "--jobs", arg, 1, 64);
        return 0;
    case ARGP_KEY_ARG:
        opd_usage_error(state, "unexpected argument %s", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

typedef struct tally {
    int wrong, found, right_kind;
    uint64_t verifications, alarms;
    json_t *list;
} tally;

static opd_status try_wrong(tally *to, const selftest_options *o, const opd_op *op, const opd_variant *variant)
{
    opd_trying trying = { .op = op, .variant = variant->name, .seed = o->seed, .jobs = o->jobs, .what = op->name };
    opd_tried tried;
    opd_status status = opd_try_all(&tried, &trying);
    if (status != OPD_OK) {
        return status;
    }
    const char *kind = opd_detect_kind(op, &tried.probes, tried.findings);
    bool is_right = kind != NULL && strcmp(kind, variant->fault) == 0;
    to->wrong++;
    to->found += kind != NULL;
    to->right_kind += is_right;
    json_t *object = json_object();
    opd_document_put(object, "operator", json_string(op->name));
    opd_document_put(object, "variant", json_string(variant->name));
    opd_document_put(object, "fault", json_string(variant->fault));
    opd_document_put(object, "detected", kind != NULL ? json_string(kind) : json_null());
    json_array_append_new(to->list, object);
    if (!o->shared.is_quiet && !o->shared.is_json && (!is_right || o->shared.verbosity > 0)) {
        printf("%-24s %-24s is %-20s found %s\n", op->name, variant->name, variant->fault,
               kind != NULL ? kind : "nothing");
        for (int i = 0; i < tried.probes.count && o->shared.verbosity > 1; i++) {
            char words[512];
            if (opd_finding_is_failure(&tried.findings[i])) {
                opd_probe_describe(words, sizeof words, &tried.probes.items[i]);
                printf("    %s: %s: %s\n", words, opd_outcome_name(tried.findings[i].result.observed.outcome),
                       tried.findings[i].result.observed.reason);
            }
        }
    }
    opd_tried_done(&tried);
    return OPD_OK;
}

static opd_status try_all_wrong(tally *to, const selftest_options *o)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < opd_kernel_count() && status == OPD_OK; i++) {
        const opd_kernel *kernel = opd_kernel_at(i);
        const opd_op *op = opd_op_find(kernel->domain, kernel->name);
        bool is_wanted = op != NULL && (o->only == NULL || strcmp(o->only, op->name) == 0);
        for (int k = 0; k < kernel->variant_count && is_wanted && status == OPD_OK; k++) {
            if (kernel->variants[k].fault != NULL) {
                status = try_wrong(to, o, op, &kernel->variants[k]);
            }
        }
    }
    return status;
}

static bool is_enough(const tally *to, const selftest_options *o)
{
    return to->verifications >= o->healthy;
}

/* A right variant with all its probes. */
static opd_status try_right(tally *to, const selftest_options *o, const opd_op *op, const opd_variant *variant,
                            uint64_t seed)
{
    opd_trying trying = {
        .op = op, .variant = variant->name, .seed = seed, .jobs = o->jobs, .all_dtypes = true, .what = op->name
    };
    opd_tried tried;
    opd_status status = opd_try_all(&tried, &trying);
    if (status != OPD_OK) {
        return status;
    }
    to->verifications += (uint64_t)tried.calls;
    to->alarms += (uint64_t)tried.failures;
    for (int p = 0; p < tried.probes.count && tried.failures > 0 && !o->shared.is_quiet && !o->shared.is_json; p++) {
        char words[512];
        if (opd_finding_is_failure(&tried.findings[p])) {
            opd_probe_describe(words, sizeof words, &tried.probes.items[p]);
            printf("alarm: %s %s: %s: %s\n", op->name, variant->name, words, tried.findings[p].result.observed.reason);
        }
    }
    opd_tried_done(&tried);
    return OPD_OK;
}

/* The right variants of an operator that this machine can run, until there are enough. */
static opd_status try_operator(tally *to, const selftest_options *o, const opd_op *op, uint64_t seed)
{
    const opd_kernel *kernel = opd_kernel_find(op->domain, op->name);
    opd_status status = OPD_OK;
    for (int k = 0; kernel != NULL && !is_enough(to, o) && status == OPD_OK; k++) {
        const opd_variant *variant = opd_kernel_variant(kernel, k);
        if (variant == NULL) {
            break;
        }
        if (variant->fault == NULL && opd_isa_missing(variant->isa) == NULL) {
            status = try_right(to, o, op, variant, seed);
        }
    }
    return status;
}

/* Right variants in turn, another seed every round, until there are enough. */
static opd_status try_healthy(tally *to, const selftest_options *o)
{
    opd_status status = OPD_OK;
    for (uint64_t round = 0; !is_enough(to, o) && status == OPD_OK; round++) {
        uint64_t before = to->verifications;
        for (int i = 0; i < opd_op_count() && !is_enough(to, o) && status == OPD_OK; i++) {
            const opd_op *op = opd_op_at(i);
            if (o->only == NULL || strcmp(o->only, op->name) == 0) {
                status = try_operator(to, o, op, o->seed + round * 100003U);
            }
        }
        if (to->verifications == before) {
            break;
        }
    }
    return status;
}

static int run(const opd_command *self, int argc, char **argv)
{
    selftest_options o = { 0 };
    tally counted = { .list = json_array() };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    o.jobs = cpus > 0 && cpus < 64 ? (unsigned)cpus : 1;
    opd_command_parse(self, &o.shared, argc, argv);
    if (!o.has_seed) {
        o.seed = (uint64_t)time(NULL);
    }
    if (try_all_wrong(&counted, &o) != OPD_OK || try_healthy(&counted, &o) != OPD_OK) {
        json_decref(counted.list);
        return opd_trouble();
    }
    bool is_right = counted.right_kind == counted.wrong && counted.alarms == 0;
    int exit_status = is_right ? OPD_EXIT_OK : OPD_EXIT_FOUND;
    if (o.shared.is_json) {
        json_t *document = json_object();
        opd_document_put(document, "seed", opd_document_count(o.seed));
        opd_document_put(document, "wrong_variants", json_integer(counted.wrong));
        opd_document_put(document, "found", json_integer(counted.found));
        opd_document_put(document, "right_kind", json_integer(counted.right_kind));
        opd_document_put(document, "verifications", opd_document_count(counted.verifications));
        opd_document_put(document, "false_alarms", opd_document_count(counted.alarms));
        opd_document_put(document, "variants", counted.list);
        opd_document_put(document, "exit_status", json_integer(exit_status));
        return opd_document_print(document, exit_status);
    }
    json_decref(counted.list);
    if (!o.shared.is_quiet) {
        printf(
            "seed %llu: %d of %d wrong variants found, %d with the right kind; %llu false alarms in %llu verifications of right ones\n",
            (unsigned long long)o.seed, counted.found, counted.wrong, counted.right_kind,
            (unsigned long long)counted.alarms, (unsigned long long)counted.verifications);
    }
    return exit_status;
}

const opd_command opd_command_selftest = {
    .name = "selftest",
    .synopsis = "",
    .summary = "Show that wrong variants are found and right ones are not accused",
    .examples = "  ops-debug selftest\n"
                "  ops-debug selftest --healthy 30000 -j 8\n",
    .options = options,
    .parse = parse,
    .run = run,
};
