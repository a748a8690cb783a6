/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug run: makes a call of an operator, runs a variant of it in a worker process and says whether it is right.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "document.h"
#include "findings.h"
#include "making.h"
#include "phrases.h"
#include "references.h"
#include "sample.h"
#include "screen.h"
#include "trial.h"

enum {
    KEY_GUARD = 0x100,
    KEY_REPEAT,
    KEY_THREADS,
    KEY_TIMEOUT,
    KEY_SAVE,
    KEY_NO_EXACT,
    KEY_MODE,
    KEY_ABS,
    KEY_REL,
    KEY_PRESET,
    KEY_SAMPLE,
    KEY_REFERENCE,
    KEY_REFERENCE_LIBRARY,
    KEY_EXPECTED
};

typedef struct run_options {
    opd_shared shared;
    opd_making making;
    opd_replay_options replay;
    const char *save, *save_sample;
    int references;     /* OPD_REFERENCE_ */
    const char *engine; /* file of the library to ask */
    const char *mode, *preset;
    bool has_abs, has_rel;
    bool is_expecting; /* the bundle keeps the right outputs */
    bool is_alone;     /* without the companion */
    int argc;          /* the command line as it was given */
    char **argv;
} run_options;

static const struct argp_option options[] = {
    OPD_MAKING_OPTIONS,
    { "guard", KEY_GUARD, NULL, 0, "End and start each operand and the workspace at an inaccessible page", 0 },
    { "repeat", KEY_REPEAT, "N", 0, "Run it N times in one process and compare the results", 0 },
    { "threads", KEY_THREADS, "N", 0, "Threads the variant may use; default: all", 0 },
    { "timeout", KEY_TIMEOUT, "SECONDS", 0, "Time limit of one run, default 60", 0 },
    { "no-exact", KEY_NO_EXACT, NULL, 0, "Leave out the second run, on small whole numbers whose sums are exact", 0 },
    { "reference", KEY_REFERENCE, "NAME", 0, "Beside high-precision, ask naive, library, torch, or all of them", 0 },
    { "reference-library", KEY_REFERENCE_LIBRARY, "FILE", 0,
      "The library to ask: a CBLAS for MatMul and Gemm, else a oneDNN 2; default: one that is installed, other than the one that ran",
      0 },
    { "mode", KEY_MODE, "MODE", 0,
      "What decides: gauge (default, the operator's own bound), or absolute, relative, mixed (abs + rel x |right|), exact",
      0 },
    { "abs-err", KEY_ABS, "X", 0, "Of the modes absolute and mixed", 0 },
    { "rel-err", KEY_REL, "X", 0, "Of the modes relative and mixed", 0 },
    { "preset", KEY_PRESET, "NAME", 0,
      "Also judge by the rule of torch, onnx, polygraphy, netlib, benchdnn, cann-L0, cann-L1, cann-L2 or flash-attn; with --mode mixed it decides",
      0 },
    { "save", KEY_SAVE, "BUNDLE", 0, "Write the call, and its failure if it has one, to a bundle", 0 },
    { "expected", KEY_EXPECTED, NULL, 0,
      "With --save: keep the right outputs in it, which replays compare with, instead of the run's", 0 },
    { "save-sample", KEY_SAMPLE, "BUNDLE", 0,
      "When it fails: write the smallest part of the call that fails too, cut where the wrong elements are", 0 },
    { 0 },
};

static double parse_error(const struct argp_state *state, const char *flag, const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0) || isinf(value)) {
        opd_usage_error(state, "%s %s: a number from 0 on", flag, text);
    }
    return value;
}

static bool is_preset(const char *name)
{
    const char *known = NULL;
    const char *meaning = NULL;
    for (int i = 0; (known = opd_preset_at(i, &meaning)) != NULL; i++) {
        if (strcmp(known, name) == 0) {
            return true;
        }
    }
    return false;
}

static void check_rule(const struct argp_state *state, run_options *o)
{
    static const struct {
        const char *name;
        bool takes_abs, takes_rel;
    } modes[] = { { "gauge", false, false },
                  { "absolute", true, false },
                  { "relative", false, true },
                  { "mixed", true, true },
                  { "exact", false, false } };
    size_t mode = 0;
    while (mode < OPD_COUNT(modes) && o->mode != NULL && strcmp(modes[mode].name, o->mode) != 0) {
        mode++;
    }
    if (mode == OPD_COUNT(modes)) {
        opd_usage_error(state, "--mode %s: gauge, absolute, relative, mixed or exact", o->mode);
    }
    if (o->preset != NULL && !is_preset(o->preset)) {
        opd_usage_error(
            state, "--preset %s: torch, onnx, polygraphy, netlib, benchdnn, cann-L0, cann-L1, cann-L2 or flash-attn",
            o->preset);
    }
    bool takes_number = modes[mode].takes_abs || modes[mode].takes_rel;
    bool has_number = o->has_abs || o->has_rel;
    if ((o->has_abs && !modes[mode].takes_abs) || (o->has_rel && !modes[mode].takes_rel)) {
        opd_usage_error(state, "--%s has no meaning in mode %s",
                        o->has_abs && !modes[mode].takes_abs ? "abs-err" : "rel-err", modes[mode].name);
    }
    if (has_number && o->preset != NULL) {
        opd_usage_error(state, "--mode %s takes its numbers from --preset, or from --abs-err and --rel-err", o->mode);
    }
    if (takes_number && !has_number && o->preset == NULL) {
        opd_usage_error(state, "--mode %s needs --%s", o->mode, modes[mode].takes_abs ? "abs-err" : "rel-err");
    }
    o->replay.is_convention_deciding = mode > 0;
    o->replay.convention = o->preset != NULL ? o->preset : mode > 0 ? modes[mode].name : NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    run_options *o = state->input;
    int asked; /* OPD_REFERENCE_ */
    switch (key) {
    case KEY_GUARD:
        o->replay.guard = OPD_GUARD_BOTH;
        return 0;
    case KEY_REPEAT:
        o->replay.repeat = (uint32_t)opd_parse_count(state, "--repeat", arg, 1, 1000000);
        return 0;
    case KEY_THREADS:
        o->replay.threads = (int32_t)opd_parse_count(state, "--threads", arg, 1, 1024);
        return 0;
    case KEY_TIMEOUT:
        o->replay.timeout_ms = (uint32_t)opd_parse_count(state, "--timeout", arg, 1, 86400) * 1000;
        return 0;
    case KEY_NO_EXACT:
        o->is_alone = true;
        return 0;
    case KEY_MODE:
        o->mode = arg;
        return 0;
    case KEY_PRESET:
        o->preset = arg;
        return 0;
    case KEY_ABS:
        o->replay.abs_err = parse_error(state, "--abs-err", arg);
        o->has_abs = true;
        return 0;
    case KEY_REL:
        o->replay.rel_err = parse_error(state, "--rel-err", arg);
        o->has_rel = true;
        return 0;
    case ARGP_KEY_END:
        check_rule(state, o);
        if (o->is_expecting && o->save == NULL) {
            opd_usage_error(state, "--expected is of the bundle of --save");
        }
        return opd_making_parse(key, arg, state, &o->making);
    case KEY_REFERENCE:
        asked = opd_references_parse(arg);
        if (asked < 0) {
            opd_usage_error(state, "--reference %s: high-precision, naive, library, torch or all", arg);
        }
        o->references |= asked;
        return 0;
    case KEY_REFERENCE_LIBRARY:
        if (arg[0] == '\0') {
            opd_usage_error(state, "--reference-library: the name of a file is empty");
        }
        o->engine = arg;
        o->references |= OPD_REFERENCE_LIBRARY;
        return 0;
    case KEY_EXPECTED:
        o->is_expecting = true;
        return 0;
    case KEY_SAMPLE:
        o->save_sample = arg;
        return 0;
    case KEY_SAVE:
        o->save = arg;
        return 0;
    case ARGP_KEY_ARG:
        opd_usage_error(state, "unexpected argument %s", arg);
        return 0;
    default:
        return opd_making_parse(key, arg, state, &o->making);
    }
}

/* Operations up to which the reference is run again with 113 bits, at some 40 million a second. */
#define CERTIFY     4e6
#define CERTIFY_ALL 1e8

/* Inputs of the companion: sums of fewer than 2^20 products of them are exact in f32. */
static const opd_fill small_integers = { .kind = OPD_FILL_INTEGERS, .a = -4, .b = 4 };

typedef struct run_state {
    opd_case item, exact_item;
    opd_replay_result result, exact;
    opd_references references;
    bool has_result, has_exact, has_references;
} run_state;

/* The run that failed, when one did. */
static bool is_exact_at_fault(const run_state *state)
{
    return state->has_exact && state->exact.observed.outcome != OPD_OUTCOME_OK;
}

static opd_status run_once(opd_case *item, opd_replay_result *result, bool *has_result, const run_options *o,
                           bool is_exact_data)
{
    opd_replay_options wish = o->replay;
    opd_making making = o->making;
    making.timeout_ms = wish.timeout_ms;
    if (is_exact_data) {
        making.fill = small_integers;
        making.has_fill = true;
    }
    wish.is_exact_data = is_exact_data || (o->making.has_fill && o->making.fill.kind == OPD_FILL_INTEGERS);
    opd_status status = opd_making_case(item, &making);
    if (status == OPD_OK) {
        status = opd_replay(result, NULL, item, NULL, &wish);
        *has_result = status == OPD_OK;
    }
    return status;
}

/* A bound that widens with the terms hides small faults: where it is in use, whole numbers are tried too. */
static bool is_companion_wanted(const run_options *o, const run_state *state)
{
    const opd_call *call = &state->item.call;
    bool is_whole = o->making.has_fill && o->making.fill.kind == OPD_FILL_INTEGERS;
    return !o->is_alone && !o->replay.is_convention_deciding && !is_whole &&
           state->result.observed.outcome == OPD_OUTCOME_OK && state->result.numbers.is_valid && call->op != NULL &&
           call->op->bound.kind == OPD_BOUND_GAUGE && opd_dtype_is_float(call->dtype);
}

static void print_companion(const run_state *state)
{
    const opd_replay_result *exact = &state->exact;
    char error[64];
    if (!state->has_exact) {
        return;
    }
    printf("%-12s small whole numbers: ", "exact data");
    if (exact->observed.outcome != OPD_OUTCOME_OK) {
        printf("%s\n", opd_replay_word(exact));
    } else if (exact->sureness == OPD_SURENESS_EXACT) {
        printf("sums are exact, and every bit is right\n");
    } else {
        opd_phrase_error(error, sizeof error, &exact->numbers);
        printf("results are no whole numbers; error %s\n", error);
    }
}

static const char *word_of(const run_state *state)
{
    if (state->has_references && !is_exact_at_fault(state)) {
        return state->references.word;
    }
    return opd_replay_word(is_exact_at_fault(state) ? &state->exact : &state->result);
}

/* What goes on from the bundle: it knows the variant and the rule, not how it was run. */
static void print_saved(const run_options *o, int exit_status)
{
    char words[1024];
    opd_trial_options way = OPD_TRIAL_OPTIONS_INIT;
    way.replay.library = o->making.library;
    way.replay.threads = o->replay.threads;
    way.replay.guard = o->replay.guard;
    way.replay.repeat = o->replay.repeat;
    way.replay.timeout_ms = o->replay.timeout_ms;
    opd_phrase_shell(words, sizeof words, o->save);
    printf("%snext:%s ops-debug %s %s%s", opd_paint_on(stdout, OPD_PAINT_BOLD), opd_paint_on(stdout, OPD_PAINT_OFF),
           exit_status != OPD_EXIT_FOUND ? "replay" : "reduce", words,
           exit_status != OPD_EXIT_FOUND ? "" : " -o min.opsb");
    opd_trial_print_options(stdout, &way);
    printf("\n");
}

static void report(const run_options *o, const run_state *state, int exit_status)
{
    char words[1024];
    opd_findings_print(&state->item, &state->result, o->shared.verbosity > 0);
    opd_findings_print_failure(&state->result);
    print_companion(state);
    if (is_exact_at_fault(state)) {
        opd_findings_print_failure(&state->exact);
    }
    if (state->has_references) {
        if (opd_references_print(&state->references, &state->result) != OPD_OK) {
            opd_trouble();
        }
        if (state->references.reason[0] != '\0') {
            printf("%-12s %s: %s\n", "references", opd_sureness_name(state->references.sureness),
                   state->references.reason);
        }
    }
    opd_findings_print_word(word_of(state), exit_status);
    if (o->save != NULL) {
        print_saved(o, exit_status);
    } else if (exit_status == OPD_EXIT_FOUND && o->save_sample == NULL) {
        opd_phrase_command(words, sizeof words, "run", o->argc, o->argv);
        opd_print_next("%s --save fail.opsb", words);
    }
}

static void print_document(const run_state *state, int exit_status)
{
    json_t *document = opd_document_result(&state->result);
    opd_document_put(document, "verdict", json_string(word_of(state)));
    opd_document_put(document, "reference", json_string(opd_sureness_name(state->result.sureness)));
    opd_document_put(document, "reference_doubt",
                     state->result.doubt >= 0 && state->result.sureness != OPD_SURENESS_NONE
                         ? opd_document_real(state->result.doubt)
                         : json_null());
    opd_document_put(document, "certificate", opd_document_text(state->result.certificate));
    opd_document_put(document, "mistrust", opd_document_text(state->result.mistrust));
    opd_document_put(document, "metrics", opd_findings_metrics(&state->result));
    if (state->result.location.pattern != OPD_PATTERN_NONE) {
        opd_document_put(document, "location", opd_findings_location(&state->result.location));
    }
    opd_document_put(document, "variant", opd_document_text(state->result.variant));
    if (state->result.opinion.is_valid) {
        opd_document_put(document, "convention", opd_findings_opinion(&state->result.opinion));
    }
    if (state->has_references) {
        opd_document_put(document, "references", opd_references_document(&state->references));
        opd_document_put(document, "reference", json_string(opd_sureness_name(state->references.sureness)));
        opd_document_put(document, "references_say", opd_document_text(state->references.reason));
    }
    if (state->has_exact) {
        json_t *exact = opd_document_result(&state->exact);
        opd_document_put(exact, "reference", json_string(opd_sureness_name(state->exact.sureness)));
        opd_document_put(document, "exact_data", exact);
    }
    opd_document_put(document, "call", opd_document_call(&state->item.call, true));
    opd_document_put(document, "exit_status", json_integer(exit_status));
    opd_document_print(document, exit_status);
}

static void done(run_state *state)
{
    if (state->has_result) {
        opd_replay_result_done(&state->result);
    }
    if (state->has_exact) {
        opd_replay_result_done(&state->exact);
    }
    if (state->has_references) {
        opd_references_done(&state->references);
    }
    opd_case_done(&state->item);
    opd_case_done(&state->exact_item);
}

static opd_status save(const run_options *o, const run_state *state)
{
    bool is_exact = is_exact_at_fault(state);
    const opd_case *item = is_exact ? &state->exact_item : &state->item;
    const opd_replay_result *result = is_exact ? &state->exact : &state->result;
    opd_replay_result expected;
    opd_replay_options wish = { .repeat = 1,
                                .keep_outputs = true,
                                .with_metrics = true,
                                .variant = "high-precision",
                                .library = o->making.library };
    opd_replay_options way = o->replay;
    way.is_exact_data = is_exact;
    if (!o->is_expecting) {
        return opd_making_save(o->save, item, result, NULL, &way);
    }
    opd_status status = opd_replay(&expected, NULL, item, NULL, &wish);
    if (status == OPD_OK) {
        status = opd_making_save(o->save, item, result, &expected, &way);
        opd_replay_result_done(&expected);
    }
    return status;
}

/* The sample beside the bundle of the whole call; what could not be cut is said, and no error. */
static opd_status save_sample(const run_options *o, const run_state *state)
{
    opd_case sample = { 0 };
    opd_replay_result result;
    opd_replay_options wish = o->replay;
    bool is_exact = is_exact_at_fault(state);
    const opd_replay_result *whole = is_exact ? &state->exact : &state->result;
    if (o->save_sample == NULL || whole->observed.outcome == OPD_OUTCOME_OK) {
        return OPD_OK;
    }
    wish.is_exact_data = is_exact;
    opd_status status = opd_sample_cut(&sample, &result, is_exact ? &state->exact_item : &state->item, whole, &wish);
    if (status == OPD_E_DECLINED) {
        fprintf(stderr, "ops-debug: no sample written: %s\n", opd_error_text());
        return OPD_OK;
    }
    if (status == OPD_OK) {
        char words[1024];
        status = opd_making_save(o->save_sample, &sample, &result, NULL, &wish);
        opd_call_describe(words, sizeof words, &sample.call);
        if (status == OPD_OK && !o->shared.is_json && !o->shared.is_quiet) {
            printf("%-12s %s\n", "sample", words);
        }
        opd_replay_result_done(&result);
        opd_case_done(&sample);
    }
    return status;
}

/* Did the variant run, whatever came of it? */
static bool is_run(const opd_replay_result *result)
{
    return result->observed.outcome != OPD_OUTCOME_HARNESS && result->observed.outcome != OPD_OUTCOME_UNSUPPORTED;
}

/* Did the variant run and get judged, or did this machine, the library or the tool not let it, or is there nothing to judge it by? */
static bool is_verdict(const opd_replay_result *result)
{
    return is_run(result) && (result->observed.outcome != OPD_OUTCOME_OK || result->numbers.is_valid);
}

static int run(const opd_command *self, int argc, char **argv)
{
    run_options o = { .making = OPD_MAKING_INIT, .replay = OPD_REPLAY_OPTIONS_INIT };
    run_state state = { .has_result = false };
    int exit_status = OPD_EXIT_TROUBLE;
    opd_command_parse(self, &o.shared, argc, argv);
    o.argc = argc;
    o.argv = argv;
    o.replay.variant = o.making.variant;
    o.replay.library = o.making.library;
    o.replay.with_metrics = true;
    o.replay.certify_limit = o.references == OPD_REFERENCE_ALL ? CERTIFY_ALL : CERTIFY;
    o.replay.keep_outputs = o.references != 0 || o.save != NULL || o.save_sample != NULL;
    opd_status status = run_once(&state.item, &state.result, &state.has_result, &o, false);
    if (status == OPD_OK && is_companion_wanted(&o, &state)) {
        status = run_once(&state.exact_item, &state.exact, &state.has_exact, &o, true);
    }
    if (status == OPD_OK && o.references != 0 && is_run(&state.result)) { /* else nothing is to be held against them */
        status = opd_references_run(&state.references, &state.item, &state.result, &o.replay, o.references, o.engine);
        state.has_references = status == OPD_OK;
    }
    if (status == OPD_OK && o.save != NULL) {
        status = save(&o, &state);
    }
    if (status == OPD_OK) {
        bool has_verdict = is_verdict(&state.result) && (!state.has_exact || is_verdict(&state.exact));
        bool is_found =
            state.has_references ? state.references.is_found : state.result.observed.outcome != OPD_OUTCOME_OK;
        bool is_right = !is_found && !is_exact_at_fault(&state);
        exit_status = !has_verdict ? OPD_EXIT_TROUBLE : is_right ? OPD_EXIT_OK : OPD_EXIT_FOUND;
        if (o.shared.is_json) {
            print_document(&state, exit_status);
        } else if (!o.shared.is_quiet) {
            report(&o, &state, exit_status);
        }
        if (save_sample(&o, &state) != OPD_OK) {
            exit_status = opd_trouble();
        }
    } else {
        exit_status = opd_trouble();
    }
    done(&state);
    return exit_status;
}

const opd_command opd_command_run = {
    .name = "run",
    .synopsis = "--op NAME",
    .summary = "Run an operator and say whether it is right",
    .examples = "  ops-debug run --op LayerNormalization --input-shapes '[4,256,64];[64];[64]'\n"
                "  ops-debug run --op Softmax --dtype f16 --attrs axis=1 --variant naive\n",
    .options = options,
    .parse = parse,
    .run = run,
};
