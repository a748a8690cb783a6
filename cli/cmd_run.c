/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug run: makes a call of an operator, runs a variant of it in a worker process and says whether it is right.
 */
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "document.h"
#include "making.h"
#include "phrases.h"
#include "screen.h"

enum { KEY_GUARD = 0x100, KEY_REPEAT, KEY_THREADS, KEY_TIMEOUT, KEY_SAVE };

typedef struct run_options {
    opd_shared shared;
    opd_making making;
    opd_replay_options replay;
    const char *save;
} run_options;

static const struct argp_option options[] = {
    OPD_MAKING_OPTIONS,
    { "guard", KEY_GUARD, NULL, 0, "End and start each operand and the workspace at an inaccessible page", 0 },
    { "repeat", KEY_REPEAT, "N", 0, "Run it N times in one process and compare the results", 0 },
    { "threads", KEY_THREADS, "N", 0, "Threads the variant may use; default: all", 0 },
    { "timeout", KEY_TIMEOUT, "SECONDS", 0, "Time limit of one run, default 60", 0 },
    { "save", KEY_SAVE, "BUNDLE", 0, "Write the call, and its failure if it has one, to a bundle", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    run_options *o = state->input;
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

static void print_operands(const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        char text[160];
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        opd_tensor_describe(text, sizeof text, &call->operands[i].view);
        printf("%-12s %s %s\n", i == 0 ? "operands" : "", call->operands[i].name, text);
    }
}

static void print_numbers(const opd_numbers *numbers)
{
    char place[128];
    if (!numbers->is_valid) {
        return;
    }
    opd_phrase_place(place, sizeof place, numbers->worst_operand, numbers->worst, numbers->worst_rank);
    printf(
        "reference    high-precision: error %.3g of its bound's unit (naive %.3g, limit %.3g), max abs %.3g, max ulp %.3g",
        numbers->ratio, numbers->naive_ratio, numbers->cap, numbers->max_abs, numbers->max_ulp);
    if (numbers->worst_rank >= 0) {
        printf("; worst at %s: got %.9g, right %.9g", place, numbers->got_re, numbers->want_re);
    }
    printf("\n");
}

static void report(const run_options *o, const opd_case *item, const opd_replay_result *result)
{
    char words[1024];
    char time[32];
    bool is_right = result->observed.outcome == OPD_OUTCOME_OK;
    opd_call_describe(words, sizeof words, &item->call);
    printf("call         %s\n", words);
    print_operands(&item->call);
    opd_phrase_time(time, sizeof time, result->run_ns);
    printf("variant      %s, %d threads (%s)\n", result->variant, result->threads, time);
    print_numbers(&result->numbers);
    if (!is_right) {
        opd_phrase_failure(words, sizeof words, &result->observed);
        printf("found        %s\n", words);
        printf("reason       %s\n", result->observed.reason);
    }
    printf("%s%s%s\n", opd_paint_on(stdout, is_right ? OPD_PAINT_GREEN : OPD_PAINT_RED), is_right ? "PASS" : "FAIL",
           opd_paint_on(stdout, OPD_PAINT_OFF));
    if (o->save != NULL) {
        opd_phrase_shell(words, sizeof words, o->save);
        opd_print_next("ops-debug %s %s", is_right ? "replay" : "reduce", words);
    }
}

static int run(const opd_command *self, int argc, char **argv)
{
    run_options o = { .making = OPD_MAKING_INIT, .replay = OPD_REPLAY_OPTIONS_INIT };
    opd_case item = { 0 };
    opd_replay_result result;
    opd_command_parse(self, &o.shared, argc, argv);
    if (opd_making_case(&item, &o.making) != OPD_OK) {
        return opd_trouble();
    }
    o.replay.variant = o.making.variant;
    o.replay.library = o.making.library;
    opd_status status = opd_replay(&result, NULL, &item, NULL, &o.replay);
    if (status == OPD_OK && o.save != NULL) {
        status = opd_making_save(o.save, &item, &result);
    }
    int exit_status = OPD_EXIT_TROUBLE;
    if (status == OPD_OK) {
        exit_status = result.observed.outcome == OPD_OUTCOME_OK ? OPD_EXIT_OK : OPD_EXIT_FOUND;
        if (o.shared.is_json) {
            json_t *document = opd_document_result(&result);
            opd_document_put(document, "call", opd_document_call(&item.call, true));
            opd_document_put(document, "exit_status", json_integer(exit_status));
            opd_document_print(document, exit_status);
        } else if (!o.shared.is_quiet) {
            report(&o, &item, &result);
        }
        opd_replay_result_done(&result);
    } else {
        opd_trouble();
    }
    opd_case_done(&item);
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
