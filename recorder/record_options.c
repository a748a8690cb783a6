/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a recording as text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/record.h>

#include "session.h"

/* least: the level of capture from which on it can fire */
static const struct {
    const char *name;
    uint32_t bit;
    opd_capture least;
} triggers[] = {
    { "nan", OPD_TRIGGER_NAN, OPD_CAPTURE_STATS },        { "inf", OPD_TRIGGER_INF, OPD_CAPTURE_STATS },
    { "crash", OPD_TRIGGER_CRASH, OPD_CAPTURE_COUNTS },   { "contract", OPD_TRIGGER_CONTRACT, OPD_CAPTURE_COUNTS },
    { "timeout", OPD_TRIGGER_TIMEOUT, OPD_CAPTURE_META }, { "exit", OPD_TRIGGER_EXIT, OPD_CAPTURE_COUNTS },
    { "always", OPD_TRIGGER_ALWAYS, OPD_CAPTURE_META },   { "api", OPD_TRIGGER_API, OPD_CAPTURE_COUNTS },
    { "abs", OPD_TRIGGER_MAGNITUDE, OPD_CAPTURE_STATS },  { "none", 0, OPD_CAPTURE_COUNTS },
};

static const char *const captures[] = { "counts", "meta", "stats", "inputs", "full" };

/* "60s", "500ms", "2m"; false when it is no time. */
static bool parse_time(uint32_t *out, const char *text, size_t size)
{
    char *end;
    char copy[24];
    if (size == 0 || size >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    double value = strtod(copy, &end);
    double unit = strcmp(end, "ms") == 0                  ? 1
                  : strcmp(end, "s") == 0 || *end == '\0' ? 1000
                  : strcmp(end, "m") == 0                 ? 60000
                                                          : 0;
    if (end == copy || unit == 0 || !(value * unit >= 1) || value * unit > 4e9) {
        return false;
    }
    *out = (uint32_t)(value * unit);
    return true;
}

/* "1e4"; false when it is no limit. */
static bool parse_limit(double *out, const char *text, size_t size)
{
    char *end;
    char copy[40];
    if (size == 0 || size >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    double value = strtod(copy, &end);
    if (end == copy || *end != '\0' || !(value >= 0) || isinf(value)) {
        return false;
    }
    *out = value;
    return true;
}

static bool parse_item(opd_record_options *options, const char *item, size_t size)
{
    const char *above = memchr(item, '>', size);
    if (above != NULL) {
        options->triggers |= OPD_TRIGGER_MAGNITUDE;
        return above - item == 3 && memcmp(item, "abs", 3) == 0 &&
               parse_limit(&options->magnitude, above + 1, size - 4);
    }
    const char *equals = memchr(item, '=', size);
    size_t name = equals != NULL ? (size_t)(equals - item) : size;
    for (size_t i = 0; i < OPD_COUNT(triggers); i++) {
        if (strlen(triggers[i].name) != name || memcmp(item, triggers[i].name, name) != 0) {
            continue;
        }
        options->triggers |= triggers[i].bit;
        return triggers[i].bit == OPD_TRIGGER_TIMEOUT && equals != NULL
                   ? parse_time(&options->timeout_ms, equals + 1, size - name - 1)
                   : equals == NULL && triggers[i].bit != OPD_TRIGGER_MAGNITUDE;
    }
    return false;
}

opd_status opd_triggers_parse(opd_record_options *options, const char *text)
{
    opd_record_options made = *options;
    made.triggers = OPD_TRIGGER_API;
    const char *at = text;
    do {
        size_t size = strcspn(at, ",");
        if (!parse_item(&made, at, size)) {
            return opd_fail(
                OPD_E_INVALID,
                "unknown trigger '%.*s': known are nan, inf, crash, contract, timeout=TIME, abs>LIMIT, exit, always, none",
                (int)size, at);
        }
        at += size;
    } while (*at++ == ',');
    *options = made;
    return OPD_OK;
}

uint32_t opd_triggers_idle(uint32_t triggers_in, opd_capture capture)
{
    uint32_t idle = 0;
    for (size_t i = 0; i < OPD_COUNT(triggers); i++) {
        idle |= capture < triggers[i].least ? triggers_in & triggers[i].bit : 0;
    }
    return idle;
}

void opd_triggers_print(char *text, size_t size, uint32_t triggers_in)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < OPD_COUNT(triggers); i++) {
        uint32_t bit = triggers[i].bit;
        if ((triggers_in & bit) == 0 || used >= size) {
            continue;
        }
        bool is_last = triggers_in >> 1 < bit; /* the table is in the order of the bits */
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 used == 0 ? ""
                                 : is_last ? " and "
                                           : ", ",
                                 triggers[i].name);
    }
}

opd_budget_range opd_record_budget_range(void)
{
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
    return (opd_budget_range){ .low = OPD_BUDGET_LEAST, .high = pages * (uint64_t)sysconf(_SC_PAGESIZE) };
}

opd_status opd_capture_parse(opd_capture *capture, const char *text)
{
    for (size_t i = 0; i < OPD_COUNT(captures); i++) {
        if (strcmp(text, captures[i]) == 0) {
            *capture = (opd_capture)i;
            return OPD_OK;
        }
    }
    return opd_fail(OPD_E_INVALID, "unknown capture level '%s': known are counts, meta, stats, inputs, full", text);
}

const char *opd_capture_name(opd_capture capture)
{
    return (size_t)capture < OPD_COUNT(captures) ? captures[capture] : "?";
}
