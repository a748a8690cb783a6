/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of begin and end events. A viewer matches begins and ends by a stack, takes events of one time in file order and says
 * nothing when intervals cross, so order and lanes are settled here.
 */
#include <stdint.h>
#include <stdlib.h>

#include <opsdebug/memory.h>
#include <opsdebug/packet.h>

#define NONE UINT32_MAX

static int compare_intervals(const void *left, const void *right)
{
    const opd_interval *a = left;
    const opd_interval *b = right;

    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns > b->end_ns ? -1 : 1;
    }
    return a->item < b->item ? -1 : a->item > b->item;
}

/*
 * At one time: first the ends of what began earlier, the later begun (inner) first; then begins, the outer first, an interval of
 * no length with its end at once.
 */
static int compare_edges(const void *left, const void *right, void *context)
{
    const opd_edge *a = left;
    const opd_edge *b = right;
    const opd_interval *intervals = context;
    const opd_interval *of_a = &intervals[a->interval];
    const opd_interval *of_b = &intervals[b->interval];
    uint64_t time_a = a->is_end ? of_a->end_ns : of_a->begin_ns;
    uint64_t time_b = b->is_end ? of_b->end_ns : of_b->begin_ns;

    if (time_a != time_b) {
        return time_a < time_b ? -1 : 1;
    }
    bool closes_a = a->is_end && of_a->begin_ns < of_a->end_ns;
    bool closes_b = b->is_end && of_b->begin_ns < of_b->end_ns;
    if (closes_a != closes_b) {
        return closes_a ? -1 : 1;
    }
    if (a->interval == b->interval) {
        return (int)a->is_end - (int)b->is_end;
    }
    bool a_is_first = closes_a ? a->interval > b->interval : a->interval < b->interval;
    return a_is_first ? -1 : 1;
}

/* The stack of every lane: its innermost open interval, and of every interval the one around it. */
typedef struct lane_stacks {
    uint32_t *top;
    uint32_t *around;
    uint32_t used;
} lane_stacks;

/* The first lane whose innermost open interval holds this one. */
static void open_interval(lane_stacks *stacks, opd_interval *intervals, uint32_t index)
{
    opd_interval *interval = &intervals[index];
    uint32_t lane = 0;

    while (lane < stacks->used && stacks->top[lane] != NONE && intervals[stacks->top[lane]].end_ns < interval->end_ns) {
        lane++;
    }
    if (lane == stacks->used) {
        stacks->top[lane] = NONE;
        stacks->used++;
    }
    uint32_t outer = stacks->top[lane];
    interval->lane = lane;
    interval->depth = outer == NONE ? 0 : intervals[outer].depth + 1;
    stacks->around[index] = outer;
    stacks->top[lane] = index;
}

opd_status opd_intervals_order(uint32_t *lanes, opd_edge *edges, opd_interval *intervals, uint32_t count)
{
    lane_stacks stacks = { NULL, NULL, 0 };
    void *memory = NULL;

    for (uint32_t i = 0; i < count; i++) {
        if (intervals[i].end_ns < intervals[i].begin_ns) {
            return opd_fail(OPD_E_INVALID, "interval %u ends before it begins", intervals[i].item);
        }
    }
    opd_status status = opd_alloc_array(&memory, (size_t)count * 2, sizeof(uint32_t));
    if (status != OPD_OK) {
        return status;
    }
    stacks.top = memory;
    stacks.around = stacks.top + count;
    qsort(intervals, count, sizeof(*intervals), compare_intervals);
    for (uint32_t i = 0; i < count; i++) {
        edges[2 * (size_t)i] = (opd_edge){ .interval = i, .is_end = false };
        edges[2 * (size_t)i + 1] = (opd_edge){ .interval = i, .is_end = true };
    }
    qsort_r(edges, (size_t)count * 2, sizeof(*edges), compare_edges, intervals);
    for (size_t i = 0; i < (size_t)count * 2; i++) {
        uint32_t index = edges[i].interval;
        if (edges[i].is_end) {
            stacks.top[intervals[index].lane] = stacks.around[index];
        } else {
            open_interval(&stacks, intervals, index);
        }
    }
    *lanes = stacks.used;
    opd_free(memory);
    return OPD_OK;
}
