/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pattern of wrong indices along one axis: a run of them (its place tells a tail of vector lanes from a last tile), both borders, or a
 * period (its length tells a block seam).
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "locate.h"

enum { MAX_PERIOD = 256 };

/* "4, 8": the vector widths V for which the last `length` of `size` are size mod V; "" = none. */
static void name_widths(char *text, size_t room, int64_t size, int64_t length)
{
    static const int widths[] = { 4, 8, 16, 32 };
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < OPD_COUNT(widths); i++) {
        if (size % widths[i] == length && used < room) {
            used += (size_t)snprintf(text + used, room - used, "%s%d", used > 0 ? ", " : "", widths[i]);
        }
    }
}

/* The largest usual tile whose last, partial or whole, starts at low; 0 = none. */
static int64_t last_tile(int64_t size, int64_t low)
{
    for (int64_t tile = 1024; tile >= 8; tile /= 2) {
        if (low > 0 && (size - 1) / tile * tile == low) {
            return tile;
        }
    }
    return 0;
}

static opd_pattern run_pattern(char *text, size_t room, const opd_axis_map *axis)
{
    char widths[48];
    long long size = (long long)axis->size;
    long long length = (long long)axis->bad;
    if (axis->high == axis->size - 1) {
        int64_t tile = last_tile(axis->size, axis->low);
        name_widths(widths, sizeof widths, axis->size, axis->bad);
        if (widths[0] != '\0') {
            snprintf(text, room, "the last %lld of %lld, the remainder by %s: the tail of a vector loop", length, size,
                     widths);
            return OPD_PATTERN_TAIL;
        }
        if (tile > 0) {
            snprintf(text, room, "%lld to the end (%lld): the last tile of %lld", (long long)axis->low, size,
                     (long long)tile);
            return OPD_PATTERN_LAST_TILE;
        }
    }
    if (length == 1) {
        snprintf(text, room, "%lld of %lld only", (long long)axis->low, size);
        return OPD_PATTERN_ROW;
    }
    snprintf(text, room, "%lld..%lld of %lld", (long long)axis->low, (long long)axis->high, size);
    return OPD_PATTERN_RANGE;
}

/* Indices at both ends and none between; the widths of the two. */
static bool is_both_ends(int64_t *first, int64_t *second, const opd_axis_map *axis)
{
    int64_t low = 0;
    int64_t high = 0;
    while (low < axis->size && axis->count[low] > 0) {
        low++;
    }
    while (high < axis->size - low && axis->count[axis->size - 1 - high] > 0) {
        high++;
    }
    *first = low;
    *second = high;
    return low > 0 && high > 0 && low + high == axis->bad && 2 * axis->bad <= axis->size;
}

/* Is the set made of whole residue classes? The first index may be spared (no seam before it). Residues marked in set. */
static bool has_period(const opd_axis_map *axis, int64_t period, bool *set, int64_t *residues)
{
    memset(set, 0, (size_t)period * sizeof *set);
    *residues = 0;
    for (int64_t i = 0; i < axis->size; i++) {
        if (axis->count[i] > 0 && !set[i % period]) {
            set[i % period] = true;
            ++*residues;
        }
    }
    int64_t expected = 0;
    for (int64_t i = 1; i < axis->size; i++) {
        expected += set[i % period];
    }
    return expected == axis->bad - (axis->count[0] > 0) && *residues * 2 <= period && axis->size >= 2 * period;
}

static opd_pattern period_pattern(char *text, size_t room, const opd_axis_map *axis)
{
    bool set[MAX_PERIOD];
    int64_t residues = 0;
    for (int64_t period = 2; period <= MAX_PERIOD && 2 * period <= axis->size; period++) {
        if (!has_period(axis, period, set, &residues)) {
            continue;
        }
        bool is_seam =
            period >= 16 && (period & (period - 1)) == 0 && residues <= 2 && set[0] + set[period - 1] == residues;
        if (is_seam) {
            snprintf(text, room, "at the seams of blocks of %lld", (long long)period);
            return OPD_PATTERN_SEAM;
        }
        int64_t first = 0;
        while (!set[first]) {
            first++;
        }
        long long start = (long long)(axis->low % period == first ? axis->low : first);
        if (residues == 1) {
            snprintf(text, room, "every %lld. index, from %lld on", (long long)period, start);
        } else {
            snprintf(text, room, "%lld of every %lld indices, from %lld on", (long long)residues, (long long)period,
                     start);
        }
        return OPD_PATTERN_PERIOD;
    }
    snprintf(text, room, "%lld of %lld indices", (long long)axis->bad, (long long)axis->size);
    return OPD_PATTERN_SCATTER;
}

opd_pattern opd_axis_pattern(char *text, size_t size, const opd_axis_map *axis)
{
    int64_t first = 0;
    int64_t second = 0;
    text[0] = '\0';
    if (axis->bad == axis->size) {
        return OPD_PATTERN_WHOLE;
    }
    if (axis->high - axis->low + 1 == axis->bad) {
        return run_pattern(text, size, axis);
    }
    if (is_both_ends(&first, &second, axis)) {
        snprintf(text, size, "the first %lld and the last %lld of %lld", (long long)first, (long long)second,
                 (long long)axis->size);
        return OPD_PATTERN_BORDER;
    }
    return period_pattern(text, size, axis);
}

/* Mean of the logarithm of the error in eight parts of the axis: each no less than the one before, but for noise, and the last four times the first. */
bool opd_axis_grows(const opd_axis_map *axis)
{
    enum { PARTS = 8 };
    double mean[PARTS];
    int64_t length = axis->high - axis->low + 1;
    if (length / 2 < PARTS) {
        return false;
    }
    for (int part = 0; part < PARTS; part++) {
        double sum = 0;
        uint64_t count = 0;
        for (int64_t i = axis->low + part * length / PARTS; i < axis->low + (part + 1) * length / PARTS; i++) {
            sum += axis->error[i];
            count += axis->count[i];
        }
        if (count == 0) {
            return false;
        }
        mean[part] = sum / (double)count;
        if (part > 0 && mean[part] < mean[part - 1] - 0.25) {
            return false;
        }
    }
    return mean[PARTS - 1] >= mean[0] + 2;
}
