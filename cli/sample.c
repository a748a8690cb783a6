/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cut keeps a range of each dimension that the failing output shares with inputs, by the symbols of the contract. Whether it still shows the fault
 * is tried, not argued: sums over a shared dimension (norms, Softmax) change under a cut.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "sample.h"

#define MEMORY_LIMIT ((uint64_t)8 << 30)

typedef struct range {
    char symbol[OPD_NAME]; /* "" = the whole dimension */
    int64_t low, high;
} range;

/*
 * From the boldest on: of each dimension the wrong indices, or one where all are wrong; those from its start; those dimensions whole; all but the
 * first dimension whole.
 */
enum { CUT_ALL, CUT_PREFIX, CUT_OTHERS, CUT_FIRST, CUTS };

static void choose_ranges(range *ranges, const opd_call *call, int output, const opd_location *location, int cut)
{
    for (int d = 0; d < location->rank; d++) {
        range *made = &ranges[d];
        bool is_located = location->high[d] - location->low[d] < call->operands[output].view.shape[d];
        *made = (range){ .low = location->low[d], .high = location->high[d] };
        bool is_wanted = cut < CUT_OTHERS || (cut == CUT_OTHERS && !is_located) || (cut == CUT_FIRST && d == 0);
        if (!is_wanted || !opd_call_axis(made->symbol, call, output, d)) {
            made->symbol[0] = '\0';
            continue;
        }
        if (!is_located || cut == CUT_FIRST) {
            made->high = made->low + 1;
        } else if (cut == CUT_PREFIX) {
            made->low = 0;
        }
    }
}

/* The part of an input; data points into the whole. */
static opd_tensor part_of(const opd_call *call, int operand, const range *ranges, int count)
{
    opd_tensor part = call->operands[operand].view;
    for (int d = 0; d < part.rank; d++) {
        char symbol[OPD_NAME];
        if (!opd_call_axis(symbol, call, operand, d)) {
            continue;
        }
        for (int i = 0; i < count; i++) {
            if (ranges[i].symbol[0] != '\0' && strcmp(symbol, ranges[i].symbol) == 0) {
                part.data = (uint8_t *)part.data + ranges[i].low * part.stride[d] * (int64_t)opd_dtype_size(part.dtype);
                part.shape[d] = ranges[i].high - ranges[i].low;
            }
        }
    }
    return part;
}

static void copy_elements(const opd_tensor *to, const opd_tensor *from)
{
    size_t size = opd_dtype_size(to->dtype);
    for (int64_t flat = 0; flat < opd_tensor_count(to); flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(to, flat, index);
        memcpy((uint8_t *)to->data + opd_tensor_offset(to, index),
               (const uint8_t *)from->data + opd_tensor_offset(from, index), size);
    }
}

static opd_status make_cut(opd_case *out, const opd_case *item, const range *ranges, int count)
{
    opd_tensor parts[OPD_MAX_OPERANDS];
    opd_call call = item->call;
    opd_case made = { 0 };
    opd_status status = OPD_OK;
    for (int i = 0; i < call.operand_count && status == OPD_OK; i++) {
        opd_operand *operand = &call.operands[i];
        parts[i] = operand->view;
        if ((operand->flags & OPD_OPERAND_ABSENT) == 0 && (operand->role & OPD_ROLE_IN) != 0) {
            parts[i] = part_of(&item->call, i, ranges, count);
            status = opd_tensor_contiguous(&operand->view, parts[i].dtype, parts[i].rank, parts[i].shape, NULL);
        }
        operand->view.data = NULL;
        operand->view.storage = NULL;
        operand->view.storage_bytes = 0;
        operand->before = (opd_digest){ { 0 } };
        operand->after = operand->before;
    }
    if (status == OPD_OK) {
        status = opd_call_bind(&call);
    }
    if (status == OPD_OK) {
        status = opd_case_allocate(&made, &call, MEMORY_LIMIT);
    }
    for (int i = 0; i < call.operand_count && status == OPD_OK; i++) {
        opd_operand *operand = &made.call.operands[i];
        if ((operand->flags & OPD_OPERAND_ABSENT) == 0 && (operand->role & OPD_ROLE_IN) != 0) {
            copy_elements(&operand->view, &parts[i]);
        } else {
            operand->view.data = NULL;
            operand->view.storage = NULL;
            operand->view.storage_bytes = 0;
        }
        operand->address = (uint64_t)(uintptr_t)operand->view.data;
    }
    if (status == OPD_OK) {
        *out = made;
    }
    return status;
}

static int output_of(const opd_call *call, const opd_location *location)
{
    for (int i = 0; i < call->operand_count; i++) {
        if (strcmp(call->operands[i].name, location->operand) == 0) {
            return i;
        }
    }
    return -1;
}

opd_status opd_sample_cut(opd_case *out, opd_replay_result *result, const opd_case *item,
                          const opd_replay_result *whole, const opd_replay_options *options)
{
    const opd_location *location = &whole->location;
    int output = output_of(&item->call, location);
    if (location->pattern == OPD_PATTERN_NONE || output < 0) {
        return opd_fail(OPD_E_DECLINED, "nothing to cut: no wrong elements were located");
    }
    for (int cut = 0; cut < CUTS; cut++) {
        range ranges[OPD_MAX_RANK];
        opd_case made = { 0 };
        opd_replay_result tried;
        choose_ranges(ranges, &item->call, output, location, cut);
        if (make_cut(&made, item, ranges, location->rank) != OPD_OK) {
            continue;
        }
        opd_status status = opd_replay(&tried, NULL, &made, NULL, options);
        if (status == OPD_OK && opd_failure_same(&whole->observed, &tried.observed)) {
            *out = made;
            *result = tried;
            return OPD_OK;
        }
        if (status == OPD_OK) {
            opd_replay_result_done(&tried);
        }
        opd_case_done(&made);
    }
    return opd_fail(OPD_E_DECLINED, "no part of the call fails as the whole does; ops-debug reduce searches further");
}
