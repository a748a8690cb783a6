/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug selftest: are the deliberately wrong variants found, and with the right kind; does the form beside each show its fault; are right
 * variants not accused? What judges sees neither the names nor the declared faults.
 */
#include <string.h>
#include <time.h>

#include <opsdebug/kernel.h>

#include "detect.h"
#include "document.h"
#include "healthy.h"
#include "making.h"
#include "probe_form.h"
#include "screen.h"
#include "trying.h"

enum { KEY_ONLY = 0x100, KEY_HEALTHY, KEY_SKIP_WRONG, FORM_SEEDS = 64 };

typedef struct selftest_options {
    opd_shared shared;
    uint64_t seed;
    bool has_seed;
    unsigned jobs;
    const char *only_name;
    const opd_op *only; /* of that name; NULL = all */
    uint64_t healthy;
    bool skip_wrong;
} selftest_options;

static const struct argp_option options[] = {
    { "seed", OPD_KEY_SEED, "N", 0, "Of the inputs; default: of the clock", 0 },
    { "only", KEY_ONLY, "OPERATOR", 0, "Variants of one operator only, NAME or DOMAIN.NAME of ops", 0 },
    { "healthy", KEY_HEALTHY, "N", 0,
      "Also N verifications of right variants, beside what other rules make of them; default 0", 0 },
    { "skip-wrong", KEY_SKIP_WRONG, NULL, 0, "Right variants alone, with --healthy", 0 },
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
        o->only_name = arg;
        return 0;
    case KEY_HEALTHY:
        o->healthy = opd_parse_count(state, "--healthy", arg, 0, 10000000);
        return 0;
    case KEY_SKIP_WRONG:
        o->skip_wrong = true;
        return 0;
    case 'j':
        o->jobs = (unsigned)opd_parse_count(state, "--jobs", arg, 1, OPD_MOST_JOBS);
        return 0;
    case ARGP_KEY_ARG:
        opd_usage_error(state, "unexpected argument %s", arg);
        return 0;
    case ARGP_KEY_END:
        if (o->skip_wrong && o->healthy == 0) {
            opd_usage_error(state, "--skip-wrong leaves nothing to do without --healthy N");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

typedef struct tally {
    const selftest_options *options;
    int wrong, found, right_kind, shown;
    int peer_found[OPD_PEER_COUNT];
    opd_healthy_tally healthy;
    json_t *variants, *alarms;
} tally;

static bool is_talking(const selftest_options *o)
{
    return !o->shared.is_quiet && !o->shared.is_json;
}

/* Does the form beside the fault show it? Of random data some show it, and the form is of few elements: other seeds are tried too. */
static opd_status try_form(bool *is_shown, const opd_trying *trying, const opd_variant *variant)
{
    opd_probe form;
    opd_finding finding;
    opd_status status = variant->shows != NULL ? opd_form_parse(&form, variant->shows)
                                               : opd_fail(OPD_E_INVALID, "there is no form that shows the fault");
    if (status != OPD_OK) {
        return opd_fail_in(status, "variant %s of %s", variant->name, trying->op->name);
    }
    *is_shown = false;
    for (int i = 0; i < FORM_SEEDS && !*is_shown; i++) {
        const opd_probe_way way = { .variant = trying->variant, .seed = trying->seed + (uint64_t)i };
        opd_probe_run(&finding, trying->op, &form, &way);
        bool is_nothing = finding.status == OPD_E_DECLINED || finding.status == OPD_E_INVALID; /* with these contents */
        if (finding.status != OPD_OK && !is_nothing) {
            return opd_fail(finding.status, "variant %s of %s, form %s: %s", variant->name, trying->op->name,
                            variant->shows, finding.error);
        }
        *is_shown = opd_finding_is_failure(&finding);
    }
    return OPD_OK;
}

static void print_failures(const opd_tried *tried)
{
    for (int i = 0; i < tried->probes.count; i++) {
        char words[512];
        if (opd_finding_is_failure(&tried->findings[i])) {
            opd_probe_describe(words, sizeof words, &tried->probes.items[i]);
            printf("    %s: %s: %s\n", words, opd_outcome_name(tried->findings[i].result.observed.outcome),
                   tried->findings[i].result.observed.reason);
        }
    }
}

static json_t *count_peers(tally *to, const opd_tried *tried)
{
    json_t *object = json_object();
    for (int peer = 0; peer < OPD_PEER_COUNT; peer++) {
        bool is_found = false;
        for (int i = 0; i < tried->probes.count; i++) {
            is_found |= opd_peer_is_broken(&tried->findings[i], peer);
        }
        to->peer_found[peer] += is_found;
        opd_document_put(object, opd_peer_name(peer), json_boolean(is_found));
    }
    return object;
}

static opd_status try_wrong(tally *to, const opd_op *op, const opd_variant *variant)
{
    const selftest_options *o = to->options;
    const opd_trying trying = { .op = op,
                                .variant = variant->name,
                                .seed = o->seed,
                                .jobs = o->jobs,
                                .peers = opd_peer_presets,
                                .what = op->name };
    opd_tried tried;
    bool is_shown = false;
    opd_status status = try_form(&is_shown, &trying, variant);
    if (status == OPD_OK) {
        status = opd_try_all(&tried, &trying);
    }
    if (status != OPD_OK) {
        return status;
    }
    if (tried.calls == 0) { /* nothing was looked at: no verdict */
        status = opd_fail(tried.findings[0].status, "%s", tried.findings[0].error);
        opd_tried_done(&tried);
        return opd_fail_in(status, "variant %s of %s", variant->name, op->name);
    }
    const char *kind = opd_detect_kind(op, &tried.probes, tried.findings);
    bool is_right = kind != NULL && strcmp(kind, variant->fault) == 0;
    to->wrong++;
    to->found += kind != NULL;
    to->right_kind += is_right;
    to->shown += is_shown;
    json_t *object = json_object();
    opd_document_put(object, "operator", json_string(op->name));
    opd_document_put(object, "variant", json_string(variant->name));
    opd_document_put(object, "fault", json_string(variant->fault));
    opd_document_put(object, "detected", kind != NULL ? json_string(kind) : json_null());
    opd_document_put(object, "form", json_string(variant->shows));
    opd_document_put(object, "form_fails", json_boolean(is_shown));
    opd_document_put(object, "found_by", count_peers(to, &tried));
    json_array_append_new(to->variants, object);
    if (is_talking(o) && (!is_right || !is_shown || o->shared.verbosity > 0)) {
        printf("%-24s %-24s is %-20s found %-20s form '%s' %s\n", op->name, variant->name, variant->fault,
               kind != NULL ? kind : "nothing", variant->shows, is_shown ? "fails" : "does not fail");
        if (o->shared.verbosity > 1) {
            print_failures(&tried);
        }
    }
    opd_tried_done(&tried);
    return OPD_OK;
}

static opd_status try_all_wrong(tally *to)
{
    const opd_op *only = to->options->only;
    opd_status status = OPD_OK;
    for (int i = 0; i < opd_kernel_count() && status == OPD_OK; i++) {
        const opd_kernel *kernel = opd_kernel_at(i);
        const opd_op *op = opd_op_find(kernel->domain, kernel->name);
        bool is_wanted = op != NULL && (only == NULL || only == op);
        for (int k = 0; k < kernel->variant_count && is_wanted && status == OPD_OK; k++) {
            if (kernel->variants[k].fault != NULL) {
                status = try_wrong(to, op, &kernel->variants[k]);
            }
        }
    }
    if (status == OPD_OK && only != NULL && to->wrong == 0 &&
        to->options->healthy == 0) { /* nothing was tried: no answer */
        return opd_fail(OPD_E_NAME, "%s.%s has no variant that is wrong on purpose; --healthy N tries its right ones",
                        only->domain, only->name);
    }
    return status;
}

static void tell_alarm(void *context, const opd_op *op, const opd_variant *variant, const opd_probe *probe,
                       uint64_t seed, const opd_finding *finding)
{
    tally *to = context;
    const opd_failure *failure = &finding->result.observed;
    const char *reason =
        failure->outcome == OPD_OUTCOME_OK ? "other bits with three threads than with one" : failure->reason;
    char form[512];
    char name[OPD_NAME * 2];
    snprintf(name, sizeof name, "%s.%s", op->domain, op->name);
    opd_form_print(form, sizeof form, probe);
    json_t *object = json_object();
    opd_document_put(object, "operator", json_string(name));
    opd_document_put(object, "variant", json_string(variant->name));
    opd_document_put(object, "form", json_string(form));
    opd_document_put(object, "seed", opd_document_count(seed));
    opd_document_put(object, "outcome", json_string(opd_outcome_name(failure->outcome)));
    opd_document_put(object, "reason", opd_document_text(reason));
    json_array_append_new(to->alarms, object);
    if (is_talking(to->options)) {
        opd_progress_done();
        printf("false alarm: validate --op %s --variant %s --form '%s' --seed %llu: %s: %s\n", name, variant->name,
               form, (unsigned long long)seed, opd_outcome_name(failure->outcome), reason);
        fflush(stdout);
    }
}

static opd_status try_healthy(tally *to)
{
    const opd_healthy healthy = { .seed = to->options->seed,
                                  .wanted = to->options->healthy,
                                  .jobs = to->options->jobs,
                                  .only = to->options->only,
                                  .alarm = tell_alarm,
                                  .context = to };
    return to->options->healthy > 0 ? opd_healthy_try(&to->healthy, &healthy) : OPD_OK;
}

static opd_status print_table(const tally *of)
{
    static const char *const titles[] = { "rule", ">wrong variants missed", ">right runs accused", "which is" };
    opd_table *table = NULL;
    opd_status status = opd_table_new(&table, titles, 4);
    for (int peer = -1; peer < OPD_PEER_COUNT && status == OPD_OK; peer++) {
        bool is_own = peer < 0;
        int found = is_own ? of->found : of->peer_found[peer];
        uint64_t alarms = is_own ? of->healthy.alarms : of->healthy.peer_alarms[peer];
        opd_table_row(table);
        opd_table_cell(table, 0, "%s", is_own ? "ops-debug" : opd_peer_name(peer));
        opd_table_cell(table, 1, "%d of %d", of->wrong - found, of->wrong);
        opd_table_cell(table, 2, "%llu of %llu", (unsigned long long)alarms, (unsigned long long)of->healthy.runs);
        opd_table_cell(table, 3, "%s",
                       is_own ? "values, memory, bits and conduct by the contract" : opd_peer_meaning(peer));
    }
    return status == OPD_OK ? opd_table_print(table) : status;
}

static void report(const tally *of)
{
    const opd_healthy_tally *healthy = &of->healthy;
    printf("seed %llu: %d of %d wrong variants found, %d with the right kind; %d of %d smallest forms fail; "
           "%llu false alarms in %llu verifications of right ones\n",
           (unsigned long long)of->options->seed, of->found, of->wrong, of->right_kind, of->shown, of->wrong,
           (unsigned long long)healthy->alarms, (unsigned long long)healthy->runs);
    if (healthy->runs > 0) {
        printf("drawn from %d variants of %d operators; the same runs by other rules:\n", healthy->variants,
               healthy->operators);
    }
    if (print_table(of) != OPD_OK) {
        (void)opd_trouble();
    }
}

static int print_json(tally *of, int exit_status)
{
    json_t *document = json_object();
    json_t *peers = json_array();
    for (int i = 0; i < OPD_PEER_COUNT; i++) {
        json_t *object = json_object();
        opd_document_put(object, "rule", json_string(opd_peer_name(i)));
        opd_document_put(object, "wrong_variants_found", json_integer(of->peer_found[i]));
        opd_document_put(object, "false_alarms", opd_document_count(of->healthy.peer_alarms[i]));
        json_array_append_new(peers, object);
    }
    opd_document_put(document, "seed", opd_document_count(of->options->seed));
    opd_document_put(document, "wrong_variants", json_integer(of->wrong));
    opd_document_put(document, "found", json_integer(of->found));
    opd_document_put(document, "right_kind", json_integer(of->right_kind));
    opd_document_put(document, "forms_failing", json_integer(of->shown));
    opd_document_put(document, "verifications", opd_document_count(of->healthy.runs));
    opd_document_put(document, "false_alarms", opd_document_count(of->healthy.alarms));
    opd_document_put(document, "refused", opd_document_count(of->healthy.refused));
    opd_document_put(document, "other_rules", peers);
    opd_document_put(document, "variants", json_incref(of->variants));
    opd_document_put(document, "alarms", json_incref(of->alarms));
    opd_document_put(document, "exit_status", json_integer(exit_status));
    return opd_document_print(document, exit_status);
}

static int run(const opd_command *self, int argc, char **argv)
{
    selftest_options o = { 0 };
    tally counted = { .options = &o, .variants = json_array(), .alarms = json_array() };
    int exit_status = OPD_EXIT_OK;
    o.jobs = opd_default_jobs();
    opd_command_parse(self, &o.shared, argc, argv);
    if (!o.has_seed) {
        o.seed = (uint64_t)time(NULL);
    }
    if ((o.only_name != NULL && opd_making_find(&o.only, o.only_name) != OPD_OK) ||
        (!o.skip_wrong && try_all_wrong(&counted) != OPD_OK) || try_healthy(&counted) != OPD_OK) {
        exit_status = opd_trouble();
        goto out;
    }
    bool is_right =
        counted.right_kind == counted.wrong && counted.shown == counted.wrong && counted.healthy.alarms == 0;
    exit_status = is_right ? OPD_EXIT_OK : OPD_EXIT_FOUND;
    if (counted.healthy.refused > 0) {
        opd_fail(OPD_E_CHILD, "%llu verifications could not run, the first: %s",
                 (unsigned long long)counted.healthy.refused, counted.healthy.error);
        exit_status = is_right ? opd_trouble() : exit_status;
    }
    if (o.shared.is_json) {
        exit_status = print_json(&counted, exit_status);
    } else if (!o.shared.is_quiet) {
        report(&counted);
    }
out:
    json_decref(counted.variants);
    json_decref(counted.alarms);
    return exit_status;
}

const opd_command opd_command_selftest = {
    .name = "selftest",
    .synopsis = "",
    .summary = "Show that wrong variants are found and right ones are not accused",
    .examples = "  ops-debug selftest\n"
                "  ops-debug selftest --only Softmax -v\n"
                "  ops-debug selftest --healthy 30000 -j 8\n",
    .options = options,
    .parse = parse,
    .run = run,
};
