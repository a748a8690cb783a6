/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wording of failures, operands and quantities; tables of phrases, one per pinned number.
 */
#include "phrases.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends to text, always terminated. */
static void add(char *text, size_t size, const char *format, ...) OPD_PRINTF(3, 4);
static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* With a place, " in PLACE" follows. */
static const char *const phrases[] = {
    [OPD_OUTCOME_OK] = "nothing wrong",
    [OPD_OUTCOME_NAN_BORN] = "NaN born",
    [OPD_OUTCOME_INF_BORN] = "Inf born",
    [OPD_OUTCOME_CRASH] = "crash",
    [OPD_OUTCOME_HANG] = "no return within the time limit",
    [OPD_OUTCOME_BAD_ARGS] = "illegal arguments",
    [OPD_OUTCOME_MISMATCH] = "wrong value",
    [OPD_OUTCOME_OOB_READ] = "read out of bounds",
    [OPD_OUTCOME_OOB_WRITE] = "write out of bounds",
    [OPD_OUTCOME_UNSUPPORTED] = "this machine or library cannot run it",
    [OPD_OUTCOME_HARNESS] = "no verdict",
    [OPD_OUTCOME_REQUESTED] = "asked for",
    [OPD_OUTCOME_INPUT_MUTATED] = "input changed",
    [OPD_OUTCOME_UNWRITTEN] = "not written",
    [OPD_OUTCOME_ALLOCATED] = "memory allocated that was not declared",
    [OPD_OUTCOME_UNSTABLE] = "other bits from run to run",
    [OPD_OUTCOME_MODE] = "floating-point mode left changed",
    [OPD_OUTCOME_MAGNITUDE] = "a value beyond the limit",
};

bool opd_failure_is_real(const opd_failure *failure)
{
    /* A large value is not wrong by itself: what is asked of a replay is whether it comes again. */
    return failure->outcome != OPD_OUTCOME_OK && failure->outcome != OPD_OUTCOME_REQUESTED &&
           failure->outcome != OPD_OUTCOME_MAGNITUDE;
}

void opd_phrase_place(char *text, size_t size, const char *operand, const int64_t *index, int rank)
{
    text[0] = '\0';
    add(text, size, "%s", operand);
    if (operand[0] == '\0' || rank <= 0) {
        return;
    }
    for (int i = 0; i < rank && i < OPD_MAX_RANK; i++) {
        add(text, size, "%s%" PRId64, i == 0 ? "[" : ", ", index[i]);
    }
    add(text, size, "]");
}

static void make_plain(char *text)
{
    for (char *c = text; *c != '\0'; c++) {
        bool is_control = (unsigned char)*c < ' ' || *c == 0x7f;
        *c = !is_control ? *c : *c == '\n' || *c == '\t' ? ' ' : '?';
    }
}

void opd_phrase_failure(char *text, size_t size, const opd_failure *failure)
{
    char place[128];
    size_t kind = (size_t)failure->outcome;
    text[0] = '\0';
    add(text, size, "%s",
        kind < OPD_COUNT(phrases) && phrases[kind] != NULL ? phrases[kind] : "failure of an unknown kind");
    opd_phrase_place(place, sizeof place, failure->operand, failure->index, failure->index_rank);
    if (failure->signal != 0) {
        const char *name = sigabbrev_np(failure->signal);
        add(text, size, " by SIG%s", name != NULL ? name : "?");
    }
    if (place[0] != '\0' && opd_failure_is_real(failure)) {
        add(text, size, "%s %s", failure->outcome == OPD_OUTCOME_INPUT_MUTATED ? ":" : " in", place);
    }
    if (failure->outcome == OPD_OUTCOME_OOB_READ || failure->outcome == OPD_OUTCOME_OOB_WRITE) {
        bool is_after = failure->distance >= 0;
        add(text, size, ", %" PRId64 " bytes %s", is_after ? failure->distance : -failure->distance,
            is_after ? "past its end" : "before its start");
    }
    if (failure->bad_count > 1) {
        add(text, size, ", %" PRIu64 " bad elements", failure->bad_count);
    }
    bool is_no_verdict = failure->outcome == OPD_OUTCOME_HARNESS && failure->reason[0] != '\0';
    if (is_no_verdict) { /* all there is to tell, the place too */
        add(text, size, ": %s", failure->reason);
    } else if (failure->pc_symbol[0] != '\0') {
        add(text, size, ", at %s", failure->pc_symbol);
    }
    make_plain(text);
}

void opd_phrase_error(char *text, size_t size, const opd_numbers *numbers)
{
    if (numbers->limit > 0) {
        snprintf(text, size, "%.3g of %.3g ULP", numbers->ratio * numbers->limit / OPD_PASS_RATIO, numbers->limit);
    } else {
        snprintf(text, size, "%.3g of %g", numbers->ratio, (double)OPD_PASS_RATIO);
    }
}

void opd_phrase_health(char *text, size_t size, const opd_health *health)
{
    const struct {
        uint64_t count;
        const char *name;
    } classes[] = {
        { health->nan, "NaN" },
        { health->pos_inf, "+Inf" },
        { health->neg_inf, "-Inf" },
        { health->subnormal, "subnormal" },
    };
    text[0] = '\0';
    for (size_t i = 0; i < OPD_COUNT(classes); i++) {
        if (classes[i].count != 0) {
            add(text, size, "%" PRIu64 " %s, ", classes[i].count, classes[i].name);
        }
    }
    if (health->min <= health->max) {
        add(text, size, "%g .. %g, mean %g", health->min, health->max, health->mean);
    } else {
        add(text, size, "%s", health->count == 0 ? "empty" : "nothing finite");
    }
}

void opd_phrase_time(char *text, size_t size, uint64_t ns)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
    size_t i = 0;
    while (i + 1 < OPD_COUNT(units) && (double)ns < units[i].unit) {
        i++;
    }
    snprintf(text, size, "%.3g %s", (double)ns / units[i].unit, units[i].name);
}

void opd_phrase_aside_time(char *text, size_t size, uint64_t ns)
{
    char time[24];
    text[0] = '\0';
    if (ns > 0) {
        opd_phrase_time(time, sizeof time, ns);
        snprintf(text, size, " (%s)", time);
    }
}

void opd_phrase_bytes(char *text, size_t size, uint64_t bytes)
{
    static const char *const names[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };
    double value = (double)bytes;
    size_t i = 0;
    while (value >= 1000 && i + 1 < OPD_COUNT(names)) {
        value /= 1000;
        i++;
    }
    snprintf(text, size, "%.*f %s", i == 0 || value >= 100 ? 0 : 1, value, names[i]);
}

const char *opd_phrase_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void opd_phrase_count(char *text, size_t size, uint64_t count, const char *noun)
{
    snprintf(text, size, "%" PRIu64 " %s%s", count, noun, opd_phrase_plural(count));
}

typedef struct flag_word {
    uint32_t flag;
    const char *text;
} flag_word;

static void add_flags(char *text, size_t size, uint32_t flags, const flag_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((flags & words[i].flag) != 0) {
            add(text, size, "%s%s", text[0] == '\0' ? "" : ", ", words[i].text);
        }
    }
}

void opd_phrase_flags(char *text, size_t size, const opd_call *call)
{
    static const flag_word words[] = {
        { OPD_CALL_IN_FLIGHT, "in flight" },
        { OPD_CALL_BAD_ARGS, "illegal argument" },
        { OPD_CALL_NESTED, "nested" },
        { OPD_CALL_FROM_LIBRARY, "from a library" },
        { OPD_CALL_AMBIGUOUS, "first of several providers" },
        { OPD_CALL_ABI_SUSPECT, "integer width suspect" },
        { OPD_CALL_VIEW, "computes nothing" },
    };
    text[0] = '\0';
    add_flags(text, size, call->flags, words, OPD_COUNT(words));
    if (call->bad_arg > 0) {
        add(text, size, " %d of %s", call->bad_arg, call->symbol[0] != '\0' ? call->symbol : call->name);
    }
    if (opd_call_is_foreign(call)) { /* "aten", or "torch:" and a library's own name space */
        const char *space = strchr(call->domain, ':');
        add(text, size, "%sPyTorch operator of %s", text[0] == '\0' ? "" : ", ",
            space != NULL ? space + 1 : call->domain);
    } else if (call->op == NULL) {
        add(text, size, "%soperator unknown to this build", text[0] == '\0' ? "" : ", ");
    }
}

void opd_phrase_operand_flags(char *text, size_t size, const opd_operand *operand)
{
    static const flag_word words[] = {
        { OPD_OPERAND_MUST_NOT_READ, "must not be read" },
        { OPD_OPERAND_UNREADABLE, "unreadable" },
        { OPD_OPERAND_RETURNED, "returned" },
        { OPD_OPERAND_NOT_KEPT, "not kept" },
        { OPD_OPERAND_SAMPLED, "statistics sampled" },
        { OPD_OPERAND_KNOWN, "as in an earlier call" },
        { OPD_OPERAND_TRACKED, "by write tracking, not by digest" },
    };
    text[0] = '\0';
    add_flags(text, size, operand->flags, words, OPD_COUNT(words));
}

const char *opd_phrase_line(char *line, size_t size, const char *text)
{
    snprintf(line, size, "%s", text);
    make_plain(line);
    return line;
}

void opd_phrase_shell(char *text, size_t size, const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,=@%";
    if (argument[0] != '\0' && argument[strspn(argument, plain)] == '\0') {
        snprintf(text, size, "%s", argument);
        return;
    }
    text[0] = '\0';
    add(text, size, "'");
    for (const char *c = argument; *c != '\0'; c++) {
        if (*c == '\'') {
            add(text, size, "'\\''");
        } else {
            add(text, size, "%c", *c);
        }
    }
    add(text, size, "'");
}

void opd_phrase_command(char *text, size_t size, const char *command, int argc, char *const *argv)
{
    snprintf(text, size, "ops-debug %s", command);
    for (int i = 1; i < argc; i++) {
        char word[1024];
        opd_phrase_shell(word, sizeof word, argv[i]);
        add(text, size, " %s", word);
    }
}
