/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug validate: tries a variant on every call its contract gives rise to: values, boundary sizes, layouts, memory, threads; and holds its determinism
 * against the level it declares.
 */
#include <string.h>

#include <opsdebug/kernel.h>

#include "detect.h"
#include "document.h"
#include "guest.h"
#include "making.h"
#include "phrases.h"
#include "probe_form.h"
#include "screen.h"
#include "trying.h"

enum { KEY_ALL_DTYPES = 0x100, KEY_FORM, KEY_TIMEOUT };

typedef struct validate_options {
    opd_shared shared;
    opd_making making;
    unsigned jobs;
    uint32_t timeout_s; /* 0 = the usual limit */
    bool all_dtypes;
    bool has_form;
    opd_probe form;
} validate_options;

static const struct argp_option options[] = {
    OPD_MAKING_SUBJECT_OPTIONS,
    { "form", KEY_FORM, "FORM", 0, "Only 'SHAPES | ATTRIBUTES | CONDITIONS', conditions such as fill=special strided",
      0 },
    { "all-dtypes", KEY_ALL_DTYPES, NULL, 0, "Every dtype of the contract, not its first only", 0 },
    { "timeout", KEY_TIMEOUT, "SECONDS", 0, "Limit of CPU time of one run, default 10", 0 },
    { "jobs", 'j', "N", 0, "Calls at the same time; default: one for each CPU", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    validate_options *o = state->input;
    switch (key) {
    case KEY_ALL_DTYPES:
        o->all_dtypes = true;
        return 0;
    case KEY_FORM:
        if (opd_form_parse(&o->form, arg) != OPD_OK) {
            opd_usage_error(state, "--form: %s", opd_error_text());
        }
        o->has_form = true;
        return 0;
    case KEY_TIMEOUT:
        o->timeout_s = (uint32_t)opd_parse_count(state, "--timeout", arg, 1, 86400);
        return 0;
    case 'j':
        o->jobs = (unsigned)opd_parse_count(state, "--jobs", arg, 1, OPD_MOST_JOBS);
        return 0;
    case ARGP_KEY_ARG:
        opd_usage_error(state, "unexpected argument %s", arg);
        return 0;
    default:
        return opd_making_parse(key, arg, state, &o->making);
    }
}

static void count_kind(int counts[2], const opd_tried *tried, int kind)
{
    counts[0] = 0;
    counts[1] = 0;
    for (int i = 0; i < tried->probes.count; i++) {
        if ((int)tried->probes.items[i].kind == kind && tried->findings[i].status == OPD_OK) {
            counts[opd_finding_is_failure(&tried->findings[i]) ? 1 : 0]++;
        }
    }
}

static void print_kinds(const opd_tried *tried)
{
    for (int kind = 0; kind < OPD_PROBE_KINDS; kind++) {
        int counts[2];
        count_kind(counts, tried, kind);
        if (counts[0] + counts[1] == 0) {
            continue;
        }
        printf("  %-30s %4d right", opd_probe_kind_text((opd_probe_kind)kind), counts[0]);
        if (counts[1] > 0) {
            printf(", %s%d wrong%s", opd_paint_on(stdout, OPD_PAINT_RED), counts[1],
                   opd_paint_on(stdout, OPD_PAINT_OFF));
        }
        printf("\n");
    }
}

static void print_matrix(const opd_matrix *matrix)
{
    static const char *const words[] = { "not tried", "same bits", "other bits" };
    printf("determinism  declared: %s;", opd_determinism_text((int)matrix->declared));
    for (int level = OPD_DETERMINISM_RUN; level <= OPD_DETERMINISM_ISA; level++) {
        printf(" %s: %s%s", opd_determinism_text(level), words[matrix->bits[level]],
               level < OPD_DETERMINISM_ISA ? "," : "\n");
    }
}

static void print_repro(const validate_options *o, const opd_tried *tried, int index)
{
    const opd_form_repeat repeat = { .op = o->making.op,
                                     .variant = o->making.variant,
                                     .library = o->making.library,
                                     .seed = o->making.seed + (uint64_t)index };
    printf("%snext:%s ", opd_paint_on(stdout, OPD_PAINT_BOLD), opd_paint_on(stdout, OPD_PAINT_OFF));
    opd_form_print_command(stdout, &tried->probes.items[index], &repeat);
    if (o->timeout_s > 0) {
        printf(" --timeout %u", o->timeout_s);
    }
    printf("\n");
}

/* A failure that `run` can repeat, where there is one. */
static int best_failure(const opd_tried *tried)
{
    for (int i = 0; i < tried->probes.count; i++) {
        opd_probe_kind kind = tried->probes.items[i].kind;
        bool is_plain = kind <= OPD_PROBE_ATTRIBUTE || kind == OPD_PROBE_GUARD || kind == OPD_PROBE_REPEAT;
        if (is_plain && opd_finding_is_failure(&tried->findings[i])) {
            return i;
        }
    }
    return tried->first_failure;
}

/* Were any values held against right ones? Memory, bits and conduct are judged without. */
static bool is_judged(const opd_tried *tried)
{
    for (int i = 0; i < tried->probes.count; i++) {
        if (tried->findings[i].status == OPD_OK && tried->findings[i].result.numbers.is_valid) {
            return true;
        }
    }
    return false;
}

static void report(const validate_options *o, const opd_op *op, const opd_tried *tried, const opd_matrix *matrix)
{
    char words[1024];
    bool is_right = tried->failures == 0 && matrix->is_kept;
    printf("%s.%s, variant %s: %d calls\n", op->domain, op->name, tried->findings[0].result.variant, tried->calls);
    print_kinds(tried);
    if (!o->has_form && tried->late < 0) {
        print_matrix(matrix);
    }
    int first = best_failure(tried);
    if (first >= 0) {
        const opd_finding *finding = &tried->findings[first];
        opd_probe_describe(words, sizeof words, &tried->probes.items[first]);
        printf("first        %s\n", words);
        opd_phrase_failure(words, sizeof words, &finding->result.observed);
        printf("found        %s\n", finding->is_thread_dependent && finding->result.observed.outcome == OPD_OUTCOME_OK
                                        ? "other bits with three threads than with one"
                                        : words);
        if (finding->result.observed.reason[0] != '\0') {
            printf("reason       %s\n", finding->result.observed.reason);
        }
        if (!o->has_form) {
            printf("kind         %s\n", opd_detect_kind(op, &tried->probes, tried->findings));
        }
    }
    bool is_pass = is_right && tried->refused == 0 && is_judged(tried);
    printf("%s%s%s\n", opd_paint_on(stdout, is_pass ? OPD_PAINT_GREEN : OPD_PAINT_RED),
           is_pass    ? "PASS"
           : is_right ? (tried->refused > 0
                             ? "NOT ALL COULD RUN"
                             : "UNJUDGED: no fault in memory, bits and conduct, and no definition to judge values by")
                      : "FAIL",
           opd_paint_on(stdout, OPD_PAINT_OFF));
    if (first >= 0) {
        print_repro(o, tried, first);
    }
}

static json_t *probes_array(const opd_tried *tried)
{
    json_t *array = json_array();
    for (int i = 0; i < tried->probes.count; i++) {
        const opd_probe *probe = &tried->probes.items[i];
        const opd_finding *finding = &tried->findings[i];
        if (finding->status != OPD_OK) {
            continue;
        }
        json_t *object = json_object();
        char form[512];
        opd_form_print(form, sizeof form, probe);
        opd_document_put(object, "kind", json_string(opd_probe_kind_text(probe->kind)));
        opd_document_put(object, "shapes", json_string(probe->shapes));
        opd_document_put(object, "attributes", json_string(probe->attributes));
        opd_document_put(object, "fill", json_string(probe->fill));
        opd_document_put(object, "form", json_string(form));
        opd_document_put(object, "outcome", json_string(opd_outcome_name(finding->result.observed.outcome)));
        opd_document_put(object, "reason", opd_document_text(finding->result.observed.reason));
        opd_document_put(object, "thread_dependent", json_boolean(finding->is_thread_dependent));
        opd_document_put(object, "ratio", opd_document_real(finding->result.numbers.ratio));
        json_array_append_new(array, object);
    }
    return array;
}

static int print_json(const opd_op *op, const opd_tried *tried, const opd_matrix *matrix, int exit_status)
{
    static const char *const words[] = { "unknown", "same", "other" };
    /* It shows in how probes differ. */
    const char *kind = tried->probes.count > 1 ? opd_detect_kind(op, &tried->probes, tried->findings) : NULL;
    json_t *document = json_object();
    json_t *determinism = json_object();
    opd_document_put(document, "domain", json_string(op->domain));
    opd_document_put(document, "name", json_string(op->name));
    opd_document_put(document, "variant", json_string(tried->findings[0].result.variant));
    opd_document_put(document, "calls", json_integer(tried->calls));
    opd_document_put(document, "failures", json_integer(tried->failures));
    opd_document_put(document, "refused", json_integer(tried->refused));
    opd_document_put(document, "stopped_by",
                     tried->late >= 0 ? opd_document_text(tried->findings[tried->late].error) : json_null());
    opd_document_put(document, "kind", kind != NULL ? json_string(kind) : json_null());
    opd_document_put(determinism, "declared", json_string(opd_determinism_text((int)matrix->declared)));
    for (int level = OPD_DETERMINISM_RUN; level <= OPD_DETERMINISM_ISA; level++) {
        opd_document_put(determinism, opd_determinism_text(level), json_string(words[matrix->bits[level]]));
    }
    opd_document_put(document, "determinism", determinism);
    opd_document_put(document, "probes", probes_array(tried));
    opd_document_put(document, "exit_status", json_integer(exit_status));
    return opd_document_print(document, exit_status);
}

/* After the reason why a call could not run. */
static const char *last_words(const opd_tried *tried)
{
    return tried->late >= 0 && tried->late + 1 < tried->probes.count ? "; the calls after it were not tried" : "";
}

static int run(const opd_command *self, int argc, char **argv)
{
    validate_options o = { .making = OPD_MAKING_INIT };
    opd_tried tried;
    opd_matrix matrix = { .is_kept = true };
    o.jobs = opd_default_jobs();
    opd_command_parse(self, &o.shared, argc, argv);
    opd_trying trying = { .variant = o.making.variant,
                          .library = o.making.library,
                          .seed = o.making.seed,
                          .timeout_ms = o.timeout_s * 1000,
                          .jobs = o.jobs,
                          .all_dtypes = o.all_dtypes,
                          .only = o.has_form ? &o.form : NULL,
                          .what = o.making.op };
    opd_status status = o.making.library != NULL ? opd_guest_load(o.making.library, trying.timeout_ms) : OPD_OK;
    if (status == OPD_OK) {
        status = opd_making_find(&trying.op, o.making.op);
    }
    if (status == OPD_OK) {
        status = opd_try_all(&tried, &trying);
    }
    if (status != OPD_OK) {
        return opd_trouble();
    }
    if (tried.calls == 0) { /* the reason is that of the plain call */
        int first = tried.late >= 0 ? tried.late : 0;
        opd_fail(tried.findings[first].status, "%s%s", tried.findings[first].error, last_words(&tried));
        opd_tried_done(&tried);
        return opd_trouble();
    }
    if (!o.has_form && tried.late < 0) {
        opd_matrix_read(&matrix, &tried, &trying);
    }
    int exit_status = tried.failures > 0 || !matrix.is_kept ? OPD_EXIT_FOUND : OPD_EXIT_OK;
    bool is_whole = tried.refused == 0 && is_judged(&tried);
    exit_status = exit_status == OPD_EXIT_OK && !is_whole ? OPD_EXIT_TROUBLE : exit_status;
    if (o.shared.is_json) {
        print_json(trying.op, &tried, &matrix, exit_status);
    } else if (!o.shared.is_quiet) {
        report(&o, trying.op, &tried, &matrix);
    }
    for (int i = 0; i < tried.probes.count; i++) {
        opd_status refused = tried.findings[i].status;
        if (refused != OPD_OK && refused != OPD_E_INVALID && refused != OPD_E_DECLINED) {
            fprintf(stderr, "ops-debug: %s%s\n", tried.findings[i].error, last_words(&tried));
            break;
        }
    }
    opd_tried_done(&tried);
    return exit_status;
}

const opd_command opd_command_validate = {
    .name = "validate",
    .synopsis = "--op NAME",
    .summary = "Try a variant on every call its contract gives rise to",
    .examples = "  ops-debug validate --op Softmax\n"
                "  ops-debug validate --op Relu --form '[7] | | fill=special strided'\n"
                "  ops-debug validate --op MyNorm --library ./libmy_norm.so --all-dtypes\n",
    .options = options,
    .parse = parse,
    .run = run,
};
