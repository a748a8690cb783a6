/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a recording: short as lines, complete as a document.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "phrases.h"
#include "record_report.h"
#include "screen.h"
#include "source.h"

#define OPERATORS_SHOWN 3u
#define COST_LEAST_NS   UINT64_C(100000000) /* of shorter runs a share says nothing */

/* As the user would type it: relative to the working directory where that is shorter. */
static const char *shorten(const char *path)
{
    char here[4096];
    if (getcwd(here, sizeof here) == NULL) {
        return path;
    }
    size_t length = strlen(here);
    return strncmp(path, here, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static int by_time(const void *left, const void *right)
{
    const opd_record_operator *a = left;
    const opd_record_operator *b = right;
    return a->ns != b->ns ? (a->ns < b->ns) - (a->ns > b->ns) : strcmp(a->name, b->name);
}

/* Where the time went: the three operators that took most. */
static void print_operators(const opd_record_report *report)
{
    static opd_record_operator sorted[OPD_COUNT(report->operators)];
    memcpy(sorted, report->operators, sizeof sorted);
    qsort(sorted, report->operator_count, sizeof sorted[0], by_time);
    for (uint32_t i = 0; i < report->operator_count && i < OPERATORS_SHOWN; i++) {
        char count[48];
        char time[32] = "";
        opd_phrase_count(count, sizeof count, sorted[i].calls, "call");
        if (sorted[i].ns > 0) { /* else none of them ended */
            opd_phrase_time(time, sizeof time, sorted[i].ns);
        }
        fprintf(stderr, "%s%s %s%s%s", i == 0 ? "ops-debug: " : ", ", sorted[i].name, count, time[0] != '\0' ? " " : "",
                time);
    }
    if (report->operator_count > OPERATORS_SHOWN) {
        fprintf(stderr, ", %u more operators", report->operator_count - OPERATORS_SHOWN);
    }
    fputs(report->operator_count > 0 ? "\n" : "", stderr);
}

/* What reading operands took and saved. */
static void print_cost(const opd_record_report *report, const opd_record_options *record)
{
    char known[32]; /* the first size of a line, and the second */
    char tracked[32];
    char count[48];
    if (report->bytes_known > 0) {
        opd_phrase_bytes(known, sizeof known, report->bytes_known);
        opd_phrase_bytes(tracked, sizeof tracked, report->bytes_tracked);
        fprintf(stderr,
                "ops-debug: %s of operands had been seen before and were not copied again, %s of them not read%s%s\n",
                known, tracked, report->untracked[0] != '\0' ? ": " : "", report->untracked);
    }
    if (report->content_raw > 0) {
        opd_phrase_bytes(known, sizeof known, report->content_raw);
        opd_phrase_bytes(tracked, sizeof tracked, report->content_stored);
        fprintf(stderr, "ops-debug: bundles hold %s of operands in %s\n", known, tracked);
    }
    if (report->own_ns > 0 && report->thread_ns >= COST_LEAST_NS) {
        fprintf(stderr, "ops-debug: reading operands took %.1f %% of the threads' time%s\n",
                100.0 * (double)report->own_ns / (double)report->thread_ns,
                record->overhead > 0 ? "" : "; --overhead PERCENT limits it");
    }
    if (report->unread_calls > 0) {
        opd_phrase_count(count, sizeof count, report->unread_calls, "call");
        fprintf(stderr, "ops-debug: %s recorded without operands, to stay within --overhead %g\n", count,
                record->overhead * 100);
    }
}

/* What the reference said of the calls it was asked about, and why of the others it was not. */
static void print_verified(const opd_record_verify *verify)
{
    const struct {
        uint64_t count;
        const char *why;
    } left_out[] = {
        { verify->busy, "came too fast" },
        { verify->lost, "had no operands left" },
        { verify->large, "would take too long" },
        { verify->unjudged, "could not be judged" },
    };
    char count[48];
    const char *separator = "; not verified: ";
    uint64_t others = 0;
    for (size_t i = 0; i < OPD_COUNT(left_out); i++) {
        others += left_out[i].count;
    }
    if (verify->verified + others == 0) {
        return;
    }
    opd_phrase_count(count, sizeof count, verify->verified, "call");
    fprintf(stderr, "ops-debug: %s verified on the reference, %" PRIu64 " wrong", count, verify->mismatches);
    for (size_t i = 0; i < OPD_COUNT(left_out); i++) {
        if (left_out[i].count > 0) {
            fprintf(stderr, "%s%" PRIu64 " %s", separator, left_out[i].count, left_out[i].why);
            separator = ", ";
        }
    }
    fprintf(stderr, "%s%s%s\n", verify->why[0] != '\0' ? " (" : "", verify->why, verify->why[0] != '\0' ? ")" : "");
}

/* What is missing of the data and the calls, and what would keep more. */
static void print_losses(const opd_record_report *report)
{
    char count[48];
    if (report->dropped > 0) {
        opd_phrase_count(count, sizeof count, report->dropped, "call");
        fprintf(stderr, "ops-debug: %s overwritten before being written; --match or --range keep fewer\n", count);
    }
    if (report->data_refused > 0) {
        opd_phrase_count(count, sizeof count, report->data_refused, "operand");
        fprintf(stderr, "ops-debug: no room for the data of %s, digests and statistics are kept; %s keeps more\n",
                count,
                report->reduced[0] != '\0' ? "more room for the rings"
                : report->data_limited > 0 ? "more memory for the program (ulimit -v) and the rings"
                                           : "a larger --budget");
    }
    if (report->reduced[0] != '\0') {
        fprintf(stderr, "ops-debug: %s\n", report->reduced);
    }
    if (report->threads_lost > 0) {
        opd_phrase_count(count, sizeof count, report->threads_lost, "thread");
        fprintf(stderr, "ops-debug: the calls of %s are missing: no memory was left for their rings\n", count);
    }
}

/* Where not every failure has a whole bundle: how many of each kind have one. */
static void print_kinds(const opd_record_report *report)
{
    char count[48];
    if (report->suppressed > 0) {
        opd_phrase_count(count, sizeof count, report->suppressed, "more bundle");
        fprintf(stderr, "ops-debug: %s counted but not written\n", count);
    }
    for (uint32_t i = 0; i < report->failure_kinds && report->suppressed + report->bundles_cut > 0; i++) {
        const opd_record_failure *failure = &report->failures[i];
        fprintf(stderr, "ops-debug:   %s in %s: %" PRIu64 " seen, %" PRIu64 " written",
                opd_outcome_name((opd_outcome)failure->outcome), failure->routine, failure->seen, failure->written);
        if (failure->cut > 0) {
            fprintf(stderr, ", %" PRIu64 " cut short", failure->cut);
        }
        fputs("\n", stderr);
    }
}

/* Crashes that the program went on from. */
static void print_survived(const opd_record_report *report)
{
    char count[48];
    const char *separator = ": ";
    if (report->survived == 0) {
        return;
    }
    opd_phrase_count(count, sizeof count, report->survived, "call");
    fprintf(stderr, "ops-debug: %s ended in a crash that the program survived", count);
    for (uint32_t i = 0; i < report->failure_kinds; i++) {
        if (report->failures[i].outcome == OPD_OUTCOME_CRASH) {
            fprintf(stderr, "%s%s %" PRIu64, separator, report->failures[i].routine, report->failures[i].seen);
            separator = ", ";
        }
    }
    fputs("\n", stderr);
}

/* Failures that have no whole bundle, and runs that are not whole. */
static void print_trouble(const opd_record_report *report)
{
    print_kinds(report);
    if (report->trouble[0] != '\0') {
        fprintf(stderr, "ops-debug: %s\n", report->trouble);
    }
    if (report->bundles_cut > 1) {
        fprintf(stderr, "ops-debug: %u failures in all have no whole bundle\n", report->bundles_cut);
    }
    if (report->run_trouble[0] != '\0') {
        fprintf(stderr, "ops-debug: %s\n", report->run_trouble);
    }
}

/* What had not returned when its process was ended: it may hang. */
static void print_flights(const opd_record_report *report)
{
    for (uint32_t i = 0; i < report->flight_count; i++) {
        const opd_record_flight *flight = &report->flights[i];
        char time[32];
        opd_phrase_time(time, sizeof time, flight->ns);
        fprintf(stderr, "ops-debug: in flight for %s when process %d ended%s%s: %s, call %" PRIu64 " of thread %u\n",
                time, flight->pid, flight->signal != 0 ? " by SIG" : "",
                flight->signal != 0 ? sigabbrev_np(flight->signal) : "", flight->what, flight->number, flight->thread);
    }
    for (uint32_t i = 0; i < report->flight_count; i++) {
        const opd_record_flight *flight = &report->flights[i];
        if (!flight->has_bundle && flight->ns >= OPD_RECORD_HANG_NS) {
            fprintf(stderr,
                    "ops-debug: a bundle with its data: ops-debug trigger PID while it hangs, or a shorter timeout in "
                    "--trigger, such as timeout=%" PRIu64 "s\n",
                    flight->ns / (2 * OPD_RECORD_HANG_NS) + 1);
            return;
        }
    }
}

/* The first bundle that can be replayed; where there is none, what the first has to show. */
static void print_next(const opd_record_report *report, size_t shown)
{
    char word[600];
    size_t chosen = 0;
    while (chosen < shown && !opd_source_can_replay(report->bundle_paths[chosen])) {
        chosen++;
    }
    if (shown > 0) {
        opd_phrase_shell(word, sizeof word, shorten(report->bundle_paths[chosen < shown ? chosen : 0]));
        fprintf(stderr, "next: ops-debug %s %s\n", chosen < shown ? "replay" : "show", word);
    }
}

/* On standard error: standard output is the program's. */
void opd_record_print_summary(const opd_record_report *report, const opd_record_options *record)
{
    char seen[32];
    char stored[32];
    char calls[48];
    char threads[48];
    if (report->calls == 0 && (record->match != NULL || record->range_last != 0)) {
        fprintf(stderr, "ops-debug: no call was recorded: none passed%s%s%s\n",
                record->match != NULL ? " --match " : "", record->match != NULL ? record->match : "",
                record->range_last != 0 ? " --range" : "");
    } else if (report->calls == 0) {
        fprintf(stderr, "ops-debug: no call was seen: %s\n",
                report->why_nothing[0] != '\0' ? report->why_nothing : "the program made none");
    } else {
        opd_phrase_bytes(seen, sizeof seen, report->bytes_seen);
        opd_phrase_bytes(stored, sizeof stored, report->bytes_stored);
        opd_phrase_count(calls, sizeof calls, report->calls, "call");
        opd_phrase_count(threads, sizeof threads, report->threads, "thread");
        char what[64];
        char nested[48] = "";
        if (report->calls_nested > 0) {
            snprintf(nested, sizeof nested, " (%" PRIu64 " nested in others)", report->calls_nested);
        }
        snprintf(what, sizeof what, "%s of operands", seen);
        if (record->capture == OPD_CAPTURE_COUNTS) {
            opd_phrase_count(what, sizeof what, report->kinds, "kind");
        }
        fprintf(stderr, "ops-debug: %s%s in %s of %" PRIu64 " process%s, %s, %s stored%s\n", calls, nested, threads,
                report->processes, report->processes == 1 ? "" : "es", what, stored,
                report->processes_audited == report->processes ? "" : "; by LD_PRELOAD alone");
    }
    print_operators(report);
    print_cost(report, record);
    print_verified(&report->verify);
    print_losses(report);
    print_flights(report);
    print_survived(report);
    size_t shown =
        report->bundles < OPD_COUNT(report->bundle_paths) ? report->bundles : OPD_COUNT(report->bundle_paths);
    for (size_t i = 0; i < shown; i++) {
        fprintf(stderr, "ops-debug: %sbundle%s %s\n", opd_paint_on(stderr, OPD_PAINT_RED),
                opd_paint_on(stderr, OPD_PAINT_OFF), shorten(report->bundle_paths[i]));
    }
    print_trouble(report);
    print_next(report, shown);
}

/* How the calls were come by: LD_AUDIT beside LD_PRELOAD, or the latter alone, in some processes or all. */
static const char *binding_name(const opd_record_report *report)
{
    return report->processes_audited == 0                  ? "preload"
           : report->processes_audited < report->processes ? "audit, preload"
                                                           : "audit";
}

static void put_operators(json_t *document, const opd_record_report *report)
{
    json_t *operators = json_array();
    json_t *kinds = json_array();
    for (uint32_t i = 0; i < report->operator_count; i++) {
        json_t *line = json_object();
        opd_document_put(line, "name", opd_document_text(report->operators[i].name));
        opd_document_put(line, "calls", opd_document_count(report->operators[i].calls));
        opd_document_put(line, "ns", opd_document_count(report->operators[i].ns));
        opd_document_put(line, "bytes", opd_document_count(report->operators[i].bytes));
        json_array_append_new(operators, line);
    }
    for (uint32_t i = 0; i < report->failure_kinds; i++) {
        json_t *line = json_object();
        opd_document_put(line, "outcome",
                         opd_document_text(opd_outcome_name((opd_outcome)report->failures[i].outcome)));
        opd_document_put(line, "routine", opd_document_text(report->failures[i].routine));
        opd_document_put(line, "seen", opd_document_count(report->failures[i].seen));
        opd_document_put(line, "written", opd_document_count(report->failures[i].written));
        opd_document_put(line, "cut", opd_document_count(report->failures[i].cut));
        json_array_append_new(kinds, line);
    }
    opd_document_put(document, "operators", operators);
    opd_document_put(document, "failure_kinds", kinds);
}

static json_t *flights_array(const opd_record_report *report)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < report->flight_count; i++) {
        const opd_record_flight *flight = &report->flights[i];
        json_t *object = json_object();
        opd_document_put(object, "pid", json_integer(flight->pid));
        opd_document_put(object, "thread", json_integer(flight->thread));
        opd_document_put(object, "call", opd_document_count(flight->number));
        opd_document_put(object, "what", opd_document_text(flight->what));
        opd_document_put(object, "ns", opd_document_count(flight->ns));
        opd_document_put(object, "signal", json_integer(flight->signal));
        opd_document_put(object, "has_bundle", json_boolean(flight->has_bundle));
        json_array_append_new(array, object);
    }
    return array;
}

static void put_cost(json_t *document, const opd_record_report *report)
{
    opd_document_put(document, "bytes_known", opd_document_count(report->bytes_known));
    opd_document_put(document, "bytes_tracked", opd_document_count(report->bytes_tracked));
    opd_document_put(document, "bytes_kept", opd_document_count(report->bytes_kept));
    opd_document_put(document, "content_raw", opd_document_count(report->content_raw));
    opd_document_put(document, "content_stored", opd_document_count(report->content_stored));
    opd_document_put(document, "own_ns", opd_document_count(report->own_ns));
    opd_document_put(document, "thread_ns", opd_document_count(report->thread_ns));
    opd_document_put(document, "unread_calls", opd_document_count(report->unread_calls));
    opd_document_put(document, "call_own_ns", json_integer(report->call_own_ns));
    opd_document_put(document, "clock_drift", opd_document_real(report->clock_drift));
    opd_document_put(document, "untracked", opd_document_text(report->untracked));
}

static json_t *verify_object(const opd_record_verify *verify)
{
    json_t *object = json_object();
    opd_document_put(object, "verified", opd_document_count(verify->verified));
    opd_document_put(object, "wrong", opd_document_count(verify->mismatches));
    opd_document_put(object, "busy", opd_document_count(verify->busy));
    opd_document_put(object, "lost", opd_document_count(verify->lost));
    opd_document_put(object, "large", opd_document_count(verify->large));
    opd_document_put(object, "unjudged", opd_document_count(verify->unjudged));
    opd_document_put(object, "why", opd_document_text(verify->why));
    return object;
}

json_t *opd_record_document(const opd_record_report *report, const opd_record_options *record)
{
    char idle[64];
    json_t *document = json_object();
    json_t *bundles = json_array();
    opd_document_put(document, "calls", opd_document_count(report->calls));
    opd_document_put(document, "kinds", opd_document_count(report->kinds));
    opd_document_put(document, "calls_nested", opd_document_count(report->calls_nested));
    opd_document_put(document, "dropped", opd_document_count(report->dropped));
    opd_document_put(document, "data_refused", opd_document_count(report->data_refused));
    opd_document_put(document, "data_limited", opd_document_count(report->data_limited));
    opd_document_put(document, "processes", opd_document_count(report->processes));
    opd_document_put(document, "processes_audited", opd_document_count(report->processes_audited));
    opd_document_put(document, "binding", opd_document_text(binding_name(report)));
    opd_document_put(document, "threads", opd_document_count(report->threads));
    opd_document_put(document, "bytes_seen", opd_document_count(report->bytes_seen));
    opd_document_put(document, "bytes_stored", opd_document_count(report->bytes_stored));
    opd_triggers_print(idle, sizeof idle, opd_triggers_idle(record->triggers, record->capture));
    opd_document_put(document, "idle_triggers", opd_document_text(idle));
    opd_document_put(document, "failures", json_integer(report->bundles));
    opd_document_put(document, "failures_cut", json_integer(report->bundles_cut));
    opd_document_put(document, "survived", json_integer(report->survived));
    opd_document_put(document, "suppressed", json_integer(report->suppressed));
    for (size_t i = 0; i < report->bundles && i < OPD_COUNT(report->bundle_paths); i++) {
        json_array_append_new(bundles, opd_document_text(report->bundle_paths[i]));
    }
    opd_document_put(document, "bundles", bundles);
    put_operators(document, report);
    opd_document_put(document, "in_flight", flights_array(report));
    put_cost(document, report);
    opd_document_put(document, "verify", verify_object(&report->verify));
    opd_document_put(document, "threads_lost", opd_document_count(report->threads_lost));
    opd_document_put(document, "reduced", opd_document_text(report->reduced));
    opd_document_put(document, "why_nothing", opd_document_text(report->why_nothing));
    opd_document_put(document, "run_trouble", opd_document_text(report->run_trouble));
    opd_document_put(document, "trouble", opd_document_text(report->trouble));
    if (WIFSIGNALED(report->exit_status)) {
        opd_document_put(document, "signal", json_integer(WTERMSIG(report->exit_status)));
    } else {
        opd_document_put(document, "status", json_integer(WEXITSTATUS(report->exit_status)));
    }
    return document;
}
