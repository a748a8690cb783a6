/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug diagnose: the cause of a failure as far as rules over the record and a replay can tell.
 */
#include <string.h>

#include <opsdebug/reduce.h>

#include "document.h"
#include "phrases.h"
#include "screen.h"
#include "trial.h"

enum { KEY_NO_REPLAY = 0x100 };

typedef struct diagnose_options {
    opd_shared shared;
    opd_trial_options trial;
    const char *path;
    int path_count;
    bool without_replay;
} diagnose_options;

static const struct argp_option options[] = {
    OPD_TRIAL_OPTIONS,
    { "no-replay", KEY_NO_REPLAY, NULL, 0, "Judge by the record alone", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    diagnose_options *o = state->input;
    switch (key) {
    case KEY_NO_REPLAY:
        o->without_replay = true;
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, &o->path, &o->path_count, 1, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        opd_usage_error(state, "give a bundle");
        return 0;
    default:
        return opd_trial_parse(key, arg, state, &o->trial);
    }
}

typedef struct finding {
    opd_failure failure; /* labelled, or outcome OK */
    opd_replay_result result;
    opd_case item; /* with data, where has_item; rules see more in them than in statistics */
    bool has_item;
    bool has_result;
    bool is_guarded;
    bool is_misnamed; /* the command names what there is not */
    opd_experiments tried;
} finding;

/* A replay that cannot be done leaves the record to judge by; it is said, not fatal. */
static void observe(finding *found, diagnose_options *o, const opd_bundle *bundle, const opd_subject *subject)
{
    opd_case *item = &found->item;
    opd_failure expected;
    opd_subject looked_up = *subject;
    opd_status status = opd_trial_fetch(item, bundle, &looked_up, &o->trial.replay);
    if (status == OPD_OK) {
        status = opd_trial_provoke(&found->result, &expected, &o->trial.replay, bundle, item, subject);
        found->has_result = status == OPD_OK || status == OPD_E_NOFAILURE;
        if (found->has_result && opd_trial_answer(&found->result, subject).exit_status == OPD_EXIT_FOUND) {
            opd_trial_experiment(&found->tried, &found->result, &o->trial.replay, bundle, item);
        }
        found->has_item = true;
        opd_progress_done();
    }
    found->is_guarded = o->trial.replay.guard != OPD_GUARD_NONE;
    found->is_misnamed = !found->has_result && status == OPD_E_NAME;
    if (!found->has_result && !found->is_misnamed && !o->shared.is_quiet) {
        fprintf(stderr, "ops-debug: not replayed: %s\n", opd_error_text());
    }
    if (found->failure.outcome == OPD_OUTCOME_OK && status == OPD_OK) {
        found->failure = expected;
    }
}

static bool has_expectation(const finding *found, const opd_subject *subject)
{
    return subject->is_golden && found->has_result && found->result.same != OPD_SAME_UNKNOWN;
}

static bool meets_expectation(const finding *found)
{
    return found->result.same == OPD_SAME_BITWISE || found->result.same == OPD_SAME_BOUND;
}

static void set_label(finding *found, const char *label, float confidence, const char *reason)
{
    snprintf(found->failure.label, sizeof found->failure.label, "%s", label);
    snprintf(found->failure.reason, sizeof found->failure.reason, "%s", reason);
    found->failure.confidence = confidence;
}

/* Expected values kept in the bundle are one more witness: where they and the reference differ, the operator is not the only suspect. */
static void weigh_expectation(finding *found, const opd_subject *subject)
{
    const opd_replay_result *result = &found->result;
    char reason[256];
    char error[64];
    opd_phrase_error(error, sizeof error, &result->numbers);
    if (!has_expectation(found, subject)) {
        return;
    }
    bool is_right = result->observed.outcome == OPD_OUTCOME_OK;
    if (result->observed.outcome == OPD_OUTCOME_MISMATCH && meets_expectation(found)) {
        snprintf(reason, sizeof reason,
                 "the outputs are the expected ones, and wrong by the reference (error %s): one of the two is wrong",
                 error);
        set_label(found, "disputed", 0.6F, reason);
    } else if (is_right && !meets_expectation(found) && result->numbers.is_valid) {
        snprintf(reason, sizeof reason,
                 "the outputs are right by the reference (error %s), the expected values are off by %.3g", error,
                 result->recorded_ratio);
        set_label(found, "wrong-expectation", 0.8F, reason);
    }
}

/* A result other than the recorded one, within the bound, is no failure but has a label all the same. */
static void label(finding *found, const opd_subject *subject)
{
    const opd_call *call = found->has_item ? &found->item.call : &subject->call;
    const opd_failure recorded = found->failure;
    bool is_other_bits = found->failure.outcome == OPD_OUTCOME_OK && found->has_result &&
                         found->result.same == OPD_SAME_BOUND && !subject->is_golden;
    bool is_unlike_expected = has_expectation(found, subject) && found->result.observed.outcome == OPD_OUTCOME_OK &&
                              !found->result.numbers.is_valid && !meets_expectation(found);
    if (is_unlike_expected) { /* there is no reference: the expected values alone decide */
        found->failure.outcome = OPD_OUTCOME_MISMATCH;
    }
    if (is_other_bits) {
        found->failure.outcome = OPD_OUTCOME_MISMATCH;
    }
    opd_diagnose(&found->failure, call, found->has_result ? &found->result.observed : NULL, &found->tried);
    if (is_other_bits) {
        found->failure.outcome = OPD_OUTCOME_OK;
    }
    /* A reduction has seen more runs than are made here. */
    if (recorded.confidence > found->failure.confidence && opd_label_known(recorded.label)) {
        memcpy(found->failure.label, recorded.label, sizeof recorded.label);
        memcpy(found->failure.reason, recorded.reason, sizeof recorded.reason);
        found->failure.confidence = recorded.confidence;
    }
    weigh_expectation(found, subject);
    if (is_unlike_expected && found->failure.reason[0] == '\0') {
        snprintf(found->failure.reason, sizeof found->failure.reason,
                 "there is no reference for it, and the outputs are not the expected ones");
    }
}

static json_t *runs_object(uint32_t runs, uint32_t failed, uint32_t differing)
{
    json_t *object = json_object();
    opd_document_put(object, "runs", json_integer(runs));
    opd_document_put(object, "failed", json_integer(failed));
    opd_document_put(object, "differing", json_integer(differing));
    return object;
}

static json_t *tried_object(const opd_experiments *tried)
{
    json_t *object = json_object();
    opd_document_put(object, "repeated", runs_object(tried->runs, tried->failed, tried->differing));
    opd_document_put(object, "one_thread", runs_object(tried->runs_alone, tried->failed_alone, tried->differing_alone));
    if (tried->other_core[0] != '\0') {
        opd_document_put(object, "other_core", opd_document_text(tried->other_core));
        opd_document_put(object, "other_core_failed", json_boolean(tried->has_other_failed));
    }
    return object;
}

static void print_tried(const opd_experiments *tried)
{
    if (tried->runs == 0) {
        return;
    }
    printf("tried        %u of %u runs fail", tried->failed, tried->runs);
    if (tried->differing > 0) {
        printf(", %u differ from the first", tried->differing);
    }
    if (tried->runs_alone > 0) {
        printf("; with one thread %u of %u", tried->failed_alone, tried->runs_alone);
    }
    if (tried->other_core[0] != '\0') {
        printf("; on core %s it %s", tried->other_core, tried->has_other_failed ? "fails too" : "does not fail");
    }
    printf("\n");
}

static int print_json(const finding *found, const opd_subject *subject, int exit_status)
{
    json_t *document = json_object();
    opd_document_put(document, "call", opd_document_call(&subject->call, true));
    opd_document_put(document, "failure", opd_document_failure(&found->failure));
    if (found->has_result) {
        opd_document_put(document, "replay", opd_document_result(&found->result));
        opd_document_put(document, "guard", json_boolean(found->is_guarded));
        opd_document_put(document, "tried", tried_object(&found->tried));
    }
    if (has_expectation(found, subject)) {
        json_t *expected = json_object();
        opd_document_put(expected, "is_met", json_boolean(meets_expectation(found)));
        opd_document_put(expected, "ratio", opd_document_real(found->result.recorded_ratio));
        opd_document_put(document, "expected", expected);
    }
    return opd_document_print(document, exit_status);
}

static void print_text(const finding *found, const opd_subject *subject, const char *path,
                       const opd_trial_options *trial)
{
    char words[512];
    opd_call_describe(words, sizeof words, &subject->call);
    printf("call         %s\n", words);
    opd_phrase_failure(words, sizeof words, &found->failure);
    printf("failure      %s\n", words);
    if (found->failure.label[0] != '\0') {
        printf("label        %s%s%s (%.0f %%)\n", opd_paint_on(stdout, OPD_PAINT_BOLD),
               opd_phrase_line(words, sizeof words, found->failure.label), opd_paint_on(stdout, OPD_PAINT_OFF),
               (double)found->failure.confidence * 100);
    } else {
        printf("label        none: no rule decides\n");
    }
    if (found->failure.reason[0] != '\0') {
        printf("reason       %s\n", opd_phrase_line(words, sizeof words, found->failure.reason));
    }
    if (found->has_result) {
        opd_phrase_failure(words, sizeof words, &found->result.observed);
        printf("replay       %s%s: %s\n", opd_trial_answer(&found->result, subject).text,
               found->is_guarded ? " (under guard pages)" : "", words);
    }
    if (has_expectation(found, subject)) {
        printf("expected     GOLDEN: the outputs are %s the expected ones\n",
               found->result.same == OPD_SAME_BITWISE ? "bitwise"
               : meets_expectation(found)             ? "within the rounding bound of"
                                                      : "not");
    }
    print_tried(&found->tried);
    if (found->has_result) {
        opd_trial_print_reduce(path, trial, &found->result, subject);
    }
}

static int run(const opd_command *self, int argc, char **argv)
{
    diagnose_options o = { .trial = OPD_TRIAL_OPTIONS_INIT };
    opd_bundle *bundle = NULL;
    opd_subject subject;
    finding found = { 0 };
    opd_command_parse(self, &o.shared, argc, argv);
    opd_status status = opd_source_open(&bundle, o.path, &o.shared);
    if (status == OPD_OK) {
        if (!o.shared.is_quiet) {
            opd_source_remark_outside(bundle);
        }
        status = opd_subject_find(&subject, bundle, o.trial.call);
    }
    if (status != OPD_OK) {
        opd_bundle_close(bundle);
        return opd_trouble();
    }
    found.failure = subject.failure;
    if (!o.without_replay) {
        observe(&found, &o, bundle, &subject);
    }
    if (found.is_misnamed) {
        opd_case_done(&found.item);
        opd_bundle_close(bundle);
        return opd_trouble();
    }
    label(&found, &subject);
    int exit_status = opd_failure_is_real(&found.failure) ? OPD_EXIT_FOUND : OPD_EXIT_OK;
    if (o.shared.is_json) {
        exit_status = print_json(&found, &subject, exit_status);
    } else if (!o.shared.is_quiet) {
        print_text(&found, &subject, o.path, &o.trial);
    }
    if (found.has_result) {
        opd_replay_result_done(&found.result);
    }
    opd_case_done(&found.item);
    opd_bundle_close(bundle);
    return exit_status;
}

const opd_command opd_command_diagnose = {
    .name = "diagnose",
    .synopsis = "BUNDLE",
    .summary = "Say what most likely caused a failure",
    .details =
        "Rules over the recorded call, a replay of it, and of a failing one more runs (repeated, with one thread, with other\n"
        "kernels) name the cause with a confidence, or say that none decides.\n"
        "Exit status 1: there is a failure.",
    .examples = "  ops-debug diagnose run/solve-4711-1-nan.opsb\n"
                "  ops-debug diagnose run/solve-4711-1-nan.opsb --no-replay --json\n",
    .options = options,
    .parse = parse,
    .run = run,
};
