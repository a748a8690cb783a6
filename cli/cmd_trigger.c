/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug trigger: asks the collector of a program that is being recorded for a bundle now; without a PID, lists such programs.
 */
#include <inttypes.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/record.h>

#include "command.h"
#include "document.h"
#include "phrases.h"
#include "screen.h"
#include "source.h"

#define LISTED_MAX 256u

enum { KEY_REASON = 0x100, KEY_TIMEOUT };

typedef struct trigger_options {
    opd_shared shared;
    const char *pid;
    int pid_count;
    const char *reason;
    uint64_t timeout_s;
} trigger_options;

static const struct argp_option options[] = {
    { "reason", KEY_REASON, "TEXT", 0,
      "What the bundle says it was asked for, default 'asked for by ops-debug trigger'", 0 },
    { "timeout", KEY_TIMEOUT, "SECONDS", 0, "How long to wait for the answer, default 60", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    trigger_options *o = state->input;
    switch (key) {
    case KEY_REASON:
        o->reason = arg;
        return 0;
    case KEY_TIMEOUT:
        o->timeout_s = opd_parse_count(state, "--timeout", arg, 1, 86400);
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, &o->pid, &o->pid_count, 1, arg);
        opd_parse_count(state, "PID", arg, 1, INT32_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int list_as_document(const opd_record_live *list, uint32_t count)
{
    json_t *document = json_object();
    json_t *programs = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_t *program = json_object();
        opd_document_put(program, "pid", json_integer(list[i].pid));
        opd_document_put(program, "collector", json_integer(list[i].collector));
        opd_document_put(program, "calls", opd_document_count(list[i].calls));
        opd_document_put(program, "program", opd_document_text(list[i].program));
        opd_document_put(program, "out", opd_document_text(list[i].out));
        json_array_append_new(programs, program);
    }
    opd_document_put(document, "programs", programs);
    return opd_document_print(document, OPD_EXIT_OK);
}

static int list_as_table(const opd_record_live *list, uint32_t count)
{
    static const char *const titles[] = { ">pid", "program", ">calls of the recording", ">collector", "bundles go to" };
    opd_table *table = NULL;
    if (count == 0) {
        puts("no program of this user is being recorded");
        opd_print_next("ops-debug record -- PROGRAM");
        return OPD_EXIT_OK;
    }
    if (opd_table_new(&table, titles, (int)OPD_COUNT(titles)) != OPD_OK) {
        return opd_trouble();
    }
    for (uint32_t i = 0; i < count; i++) {
        opd_table_row(table);
        opd_table_cell(table, 0, "%d", list[i].pid);
        opd_table_cell(table, 1, "%s", list[i].program);
        opd_table_cell(table, 2, "%" PRIu64, list[i].calls);
        opd_table_cell(table, 3, "%d", list[i].collector);
        opd_table_cell(table, 4, "%s", list[i].out);
    }
    if (opd_table_print(table) != OPD_OK) {
        return opd_trouble();
    }
    opd_print_next("ops-debug trigger %d", list[0].pid);
    return OPD_EXIT_OK;
}

static int list(const trigger_options *o)
{
    opd_record_live *found = NULL;
    if (opd_alloc_array((void **)&found, LISTED_MAX, sizeof *found) != OPD_OK) {
        return opd_trouble();
    }
    uint32_t count = opd_record_list(found, LISTED_MAX);
    int exit_status = o->shared.is_json    ? list_as_document(found, count)
                      : o->shared.is_quiet ? OPD_EXIT_OK
                                           : list_as_table(found, count);
    opd_free(found);
    return exit_status;
}

static int print_answer(const opd_record_answer *answer, const trigger_options *o)
{
    char word[600];
    uint32_t shown = answer->bundles < OPD_COUNT(answer->paths) ? answer->bundles : (uint32_t)OPD_COUNT(answer->paths);
    if (o->shared.is_json) {
        json_t *document = json_object();
        json_t *paths = json_array();
        for (uint32_t i = 0; i < shown; i++) {
            json_array_append_new(paths, opd_document_text(answer->paths[i]));
        }
        opd_document_put(document, "bundles", json_integer(answer->bundles));
        opd_document_put(document, "paths", paths);
        opd_document_put(document, "trouble", opd_document_text(answer->trouble));
        return opd_document_print(document, OPD_EXIT_OK);
    }
    if (answer->trouble[0] != '\0') {
        fprintf(stderr, "ops-debug: not all processes have a bundle: %s\n", answer->trouble);
    }
    for (uint32_t i = 0; i < shown && !o->shared.is_quiet; i++) {
        puts(answer->paths[i]);
    }
    if (!o->shared.is_quiet) {
        opd_phrase_shell(word, sizeof word, answer->paths[0]);
        fflush(stdout);
        fprintf(stderr, "next: ops-debug %s %s\n", opd_source_can_replay(answer->paths[0]) ? "replay" : "show", word);
    }
    return OPD_EXIT_OK;
}

static int run(const opd_command *self, int argc, char **argv)
{
    static opd_record_answer answer;
    trigger_options o = { .reason = "asked for by ops-debug trigger", .timeout_s = 60 };
    opd_command_parse(self, &o.shared, argc, argv);
    if (o.pid == NULL) {
        return list(&o);
    }
    opd_status status = opd_record_ask(&answer, (int)strtol(o.pid, NULL, 10), o.reason, (uint32_t)o.timeout_s * 1000u);
    return status == OPD_OK ? print_answer(&answer, &o) : opd_trouble();
}

const opd_command opd_command_trigger = {
    .name = "trigger",
    .synopsis = "[PID]",
    .summary = "Ask a program that is being recorded for a bundle now; without PID, list such programs",
    .details =
        "PID is a recorded process, as the list shows it: a bundle of that process is written and its path printed, one a line.\n"
        "With the PID of ops-debug record itself, of every process it records. The program is neither stopped nor signalled, and\n"
        "needs to do nothing: the request goes through shared memory to the collector, so it works for the same user only.",
    .examples = "  ops-debug trigger\n"
                "  ops-debug trigger 4711\n"
                "  ops-debug replay \"$(ops-debug trigger 4711 --reason 'slow since 10:40')\"\n",
    .options = options,
    .parse = parse,
    .run = run,
};
