/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the whole to slices to elements: the axes along which only some indices are wrong name the region; what no box of axes explains is a band
 * along the border, a run in memory order, or scatter.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "locate.h"

#define DENSE 0.3 /* share of a region that must be wrong for the region to be the place */

OPD_PRINTF(3, 4)
static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static void name_axis(char *text, size_t size, const opd_judge *judge, int operand, int axis)
{
    char symbol[OPD_NAME];
    if (opd_call_axis(symbol, judge->call, operand, axis)) {
        snprintf(text, size, "axis %d (%s)", axis, symbol);
    } else {
        snprintf(text, size, "axis %d", axis);
    }
}

/* What the axes say one by one; the pattern is that of the axis that leaves least. */
static double describe_axes(opd_location *out, const opd_bad_map *map, const opd_judge *judge, int operand)
{
    double region = 1;
    double least = 1;
    for (int d = 0; d < map->rank; d++) {
        char words[160];
        char name[64];
        opd_pattern pattern = opd_axis_pattern(words, sizeof words, &map->axis[d]);
        region *= (double)map->axis[d].bad;
        if (pattern == OPD_PATTERN_WHOLE) {
            continue;
        }
        double share = (double)map->axis[d].bad / (double)map->axis[d].size;
        name_axis(name, sizeof name, judge, operand, d);
        add(out->text, sizeof out->text, "%s%s: %s", out->text[0] != '\0' ? "; " : "", name, words);
        if (share < least) {
            least = share;
            out->pattern = pattern;
            out->axis = d;
        }
    }
    return region;
}

static void describe_flat(opd_location *out, const opd_bad_map *map)
{
    opd_axis_map flat = { .size = (int64_t)map->count, .bad = (int64_t)map->bad, .low = map->low, .high = map->high };
    bool is_run = map->high - map->low + 1 == (int64_t)map->bad && map->bad < map->count;
    out->text[0] = '\0';
    out->axis = -1;
    if (map->inner == 0 && map->rank >= 2 && !is_run) {
        out->pattern = OPD_PATTERN_BORDER;
        add(out->text, sizeof out->text, "a band along the border of axes %d and %d", map->rank - 2, map->rank - 1);
    } else if (is_run) {
        char words[160];
        out->pattern = opd_axis_pattern(words, sizeof words, &flat);
        add(out->text, sizeof out->text, "in memory order: %s", words);
    } else {
        out->pattern = OPD_PATTERN_SCATTER;
        add(out->text, sizeof out->text, "scattered");
    }
}

static void describe_growth(opd_location *out, const opd_bad_map *map, const opd_judge *judge, int operand)
{
    for (int d = map->rank - 1; d >= 0; d--) {
        char name[64];
        if (opd_axis_grows(&map->axis[d])) {
            name_axis(name, sizeof name, judge, operand, d);
            out->pattern = OPD_PATTERN_GROWING;
            out->axis = d;
            add(out->text, sizeof out->text, "%serrors grow along %s", out->text[0] != '\0' ? "; " : "", name);
            return;
        }
    }
}

/* What the wrong elements have in common. */
static void describe_values(opd_location *out, const opd_bad_map *map)
{
    double middle = (map->ratio_low + map->ratio_high) / 2;
    double difference = (map->difference_low + map->difference_high) / 2;
    bool is_all = map->compared == map->bad && map->bad > 1;
    if (map->zeros == map->bad) {
        add(out->text, sizeof out->text, "; they hold 0");
    } else if (map->nans == map->bad) {
        add(out->text, sizeof out->text, "; they hold NaN");
    } else if (is_all && map->ratio_high - map->ratio_low <= 0.05 * fabs(middle - 1)) {
        out->factor = middle;
        out->pattern = out->pattern == OPD_PATTERN_WHOLE ? OPD_PATTERN_SCALED : out->pattern;
        add(out->text, sizeof out->text, "; each is the right value times %.7g", middle);
    } else if (is_all && map->difference_high - map->difference_low <= 0.01 * fabs(difference)) {
        add(out->text, sizeof out->text, "; each is the right value %+.6g", difference);
    }
}

/* The last elements in memory order, but not some last indices of one axis: no loop over axes makes such. */
static bool is_end_of_memory(const opd_bad_map *map)
{
    bool is_run = map->high == (int64_t)map->count - 1 && map->high - map->low + 1 == (int64_t)map->bad;
    return is_run && map->rank > 1 && map->bad > 1 && map->bad % (uint64_t)map->axis[map->rank - 1].size != 0;
}

/* --------------------------------------------------------------------------------------------- what it reads */

/* Is the symbol of an input no dimension of the output? Then terms are summed over it, and the other shared ones keep their index. */
static bool has_contracted(const opd_call *call, int output)
{
    for (int i = 0; i < call->operand_count; i++) {
        for (int d = 0; (call->operands[i].role & OPD_ROLE_IN) != 0 && d < call->operands[i].view.rank; d++) {
            char name[OPD_NAME];
            char other[OPD_NAME];
            bool is_shared = false;
            if (!opd_call_axis(name, call, i, d)) {
                continue;
            }
            for (int k = 0; k < call->operands[output].view.rank; k++) {
                is_shared |= opd_call_axis(other, call, output, k) && strcmp(name, other) == 0;
            }
            if (!is_shared) {
                return true;
            }
        }
    }
    return false;
}

/* Does an element with this index along the output's axis read only that index of the inputs? */
static bool is_kept(const opd_call *call, int output, int axis)
{
    int64_t terms = 0;
    bool is_sum =
        call->op->reduction != NULL && opd_call_eval(&terms, call, call->op->reduction) == OPD_OK && terms > 0;
    /* Operators that sum along dimensions the output has too (norms, Softmax) leave at least the first one alone. */
    return !is_sum || has_contracted(call, output) || (axis == 0 && call->operands[output].view.rank > 1);
}

static void describe_reads(opd_location *out, const opd_call *call, int output)
{
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        char ranges[160] = "";
        bool is_part = false;
        for (int d = 0; (operand->role & OPD_ROLE_IN) != 0 && d < operand->view.rank; d++) {
            char name[OPD_NAME];
            char other[OPD_NAME];
            int64_t low = 0;
            int64_t high = operand->view.shape[d];
            for (int k = 0; k < out->rank; k++) {
                if (opd_call_axis(name, call, i, d) && opd_call_axis(other, call, output, k) &&
                    strcmp(name, other) == 0 && is_kept(call, output, k)) {
                    low = out->low[k];
                    high = out->high[k];
                }
            }
            is_part |= high - low < operand->view.shape[d];
            add(ranges, sizeof ranges, high - low == 1 ? "%s%lld" : "%s%lld..%lld", d > 0 ? ", " : "", (long long)low,
                (long long)high - 1);
        }
        if (is_part) {
            add(out->reads, sizeof out->reads, "%s%s[%s]", out->reads[0] != '\0' ? ", " : "", operand->name, ranges);
        }
    }
}

opd_status opd_locate(opd_location *out, const opd_judge *judge, const opd_failure *observed)
{
    opd_bad_map map;
    opd_location found = { .pattern = OPD_PATTERN_WHOLE, .axis = -1, .factor = 1 };
    int operand = -1;
    for (int i = 0; i < judge->call->operand_count; i++) {
        if (strcmp(judge->call->operands[i].name, observed->operand) == 0 && judge->outputs[i].value != NULL) {
            operand = i;
        }
    }
    if (operand < 0) {
        return OPD_OK;
    }
    opd_status status = opd_bad_map_make(&map, judge, operand);
    if (status == OPD_OK && map.bad > 0) {
        found.rank = map.rank;
        found.count = map.count;
        found.bad_count = map.bad;
        snprintf(found.operand, sizeof found.operand, "%s", observed->operand);
        for (int d = 0; d < map.rank; d++) {
            found.low[d] = map.axis[d].low;
            found.high[d] = map.axis[d].high + 1;
        }
        double region = describe_axes(&found, &map, judge, operand);
        if (map.bad == 1) {
            found.pattern = OPD_PATTERN_ONE;
            found.axis = -1;
            snprintf(found.text, sizeof found.text, "one element");
        } else if (found.pattern == OPD_PATTERN_SCATTER || is_end_of_memory(&map) || (double)map.bad < DENSE * region ||
                   (found.pattern == OPD_PATTERN_WHOLE && map.bad < map.count && map.inner == 0)) {
            describe_flat(&found, &map);
        } else if (found.text[0] == '\0') {
            snprintf(found.text, sizeof found.text, "all over");
        }
        if (map.bad > 1) {
            describe_growth(&found, &map, judge, operand);
            describe_values(&found, &map);
        }
        describe_reads(&found, judge->call, operand);
        *out = found;
    }
    opd_bad_map_done(&map);
    return status;
}
