/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of the operators that move elements: for each element of the output, where it comes from. Index by index, whatever the
 * layout; the variants know nothing of this and this nothing of them.
 */
#include <math.h>

#include "move.h"

static void unravel(int64_t index[OPD_MAX_RANK], const opd_array *array, int64_t flat)
{
    for (int d = array->rank - 1; d >= 0; d--) {
        index[d] = flat % array->shape[d];
        flat /= array->shape[d];
    }
}

static int64_t ravel(const opd_array *array, const int64_t index[OPD_MAX_RANK])
{
    int64_t flat = 0;
    for (int d = 0; d < array->rank; d++) {
        flat = flat * array->shape[d] + index[d];
    }
    return flat;
}

opd_status opd_transpose_define(opd_definition_work *work)
{
    const opd_array *data = &work->array[0];
    opd_array *out = &work->array[1];
    int axes[OPD_MAX_RANK];
    opd_status status = opd_transpose_axes(axes, work->call);
    for (int64_t flat = 0; flat < out->count && status == OPD_OK; flat++) {
        int64_t to[OPD_MAX_RANK];
        int64_t from[OPD_MAX_RANK];
        unravel(to, out, flat);
        for (int d = 0; d < out->rank; d++) {
            from[axes[d]] = to[d];
        }
        out->value[flat] = data->value[ravel(data, from)];
    }
    return status;
}

opd_status opd_reshape_define(opd_definition_work *work)
{
    for (int64_t flat = 0; flat < work->array[2].count; flat++) {
        work->array[2].value[flat] = work->array[0].value[flat];
    }
    return OPD_OK;
}

opd_status opd_concat_define(opd_definition_work *work)
{
    int inputs = work->call->operand_count - 1;
    opd_array *out = &work->array[inputs];
    int axis = opd_move_axis(opd_call_int(work->call, "axis", 0), out->rank);
    for (int64_t flat = 0; flat < out->count; flat++) {
        int64_t index[OPD_MAX_RANK];
        int i = 0;
        for (unravel(index, out, flat); index[axis] >= work->array[i].shape[axis]; i++) {
            index[axis] -= work->array[i].shape[axis];
        }
        out->value[flat] = work->array[i].value[ravel(&work->array[i], index)];
    }
    return OPD_OK;
}

opd_status opd_slice_define(opd_definition_work *work)
{
    const opd_array *data = &work->array[0];
    opd_array *out = &work->array[5];
    opd_slice_ranges ranges;
    opd_status status = opd_slice_resolve(&ranges, work->call);
    for (int64_t flat = 0; flat < out->count && status == OPD_OK; flat++) {
        int64_t index[OPD_MAX_RANK];
        unravel(index, out, flat);
        for (int d = 0; d < out->rank; d++) {
            index[d] = ranges.start[d] + index[d] * (ranges.count[d] > 1 ? ranges.step[d] : 1);
        }
        out->value[flat] = data->value[ravel(data, index)];
    }
    return status;
}

opd_status opd_split_define(opd_definition_work *work)
{
    const opd_array *input = &work->array[0];
    int64_t sizes[OPD_MAX_OPERANDS];
    int axis = 0;
    int64_t first = 0;
    opd_status status = opd_split_sizes(sizes, &axis, work->call);
    for (int i = 2; i < work->call->operand_count && status == OPD_OK; i++) {
        opd_array *out = &work->array[i];
        for (int64_t flat = 0; flat < out->count; flat++) {
            int64_t index[OPD_MAX_RANK];
            unravel(index, out, flat);
            index[axis] += first;
            out->value[flat] = input->value[ravel(input, index)];
        }
        first += sizes[i - 2];
    }
    return status;
}

opd_status opd_pad_define(opd_definition_work *work)
{
    const opd_array *data = &work->array[0];
    const opd_array *constant = &work->array[2];
    opd_array *out = &work->array[4];
    opd_pads pads;
    opd_status status = opd_pads_resolve(&pads, work->call);
    for (int64_t flat = 0; flat < out->count && status == OPD_OK; flat++) {
        int64_t index[OPD_MAX_RANK];
        bool is_constant = false;
        unravel(index, out, flat);
        for (int d = 0; d < out->rank; d++) {
            index[d] = opd_pads_source(&pads, d, index[d]);
            is_constant |= index[d] < 0;
        }
        long double filling = constant->value != NULL ? constant->value[0] : 0;
        out->value[flat] = is_constant ? filling : data->value[ravel(data, index)];
    }
    return status;
}

opd_status opd_gather_define(opd_definition_work *work)
{
    const opd_array *data = &work->array[0];
    const opd_array *indices = &work->array[1];
    opd_array *out = &work->array[2];
    int axis = opd_move_axis(opd_call_int(work->call, "axis", 0), data->rank);
    for (int64_t flat = 0; flat < out->count; flat++) {
        int64_t to[OPD_MAX_RANK];
        int64_t from[OPD_MAX_RANK];
        unravel(to, out, flat);
        for (int d = 0; d < data->rank; d++) {
            from[d] = d < axis ? to[d] : d > axis ? to[d + indices->rank - 1] : 0;
        }
        int64_t which = (int64_t)indices->value[ravel(indices, to + axis)];
        from[axis] = opd_gather_index(which, data->shape[axis]);
        out->value[flat] = data->value[ravel(data, from)];
    }
    return OPD_OK;
}

opd_status opd_expand_define(opd_definition_work *work)
{
    const opd_array *input = &work->array[0];
    opd_array *out = &work->array[2];
    for (int64_t flat = 0; flat < out->count; flat++) {
        int64_t to[OPD_MAX_RANK];
        int64_t from[OPD_MAX_RANK];
        unravel(to, out, flat);
        for (int d = 0; d < input->rank; d++) {
            from[d] = input->shape[d] == 1 ? 0 : to[d + out->rank - input->rank];
        }
        out->value[flat] = input->value[ravel(input, from)];
    }
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------------------------ Resize */

/*
 * Every choice of one tap of each axis, its weight the product of theirs: the sum of weighted elements, and in *gauge of their absolute values. Weights
 * are f64 numbers: for an f64 result the roundings of a cubic weight, about 1 eps of the largest one, count as much as those of the sum.
 */
static long double interpolate(long double *gauge, const opd_definition_work *work, const opd_resize_taps *taps)
{
    const opd_array *x = &work->array[0];
    int chosen[OPD_MAX_RANK] = { 0 };
    long double sum = 0;
    bool is_first = true;
    *gauge = 0;
    for (int d = x->rank; d >= 0; is_first = false) {
        int64_t index[OPD_MAX_RANK];
        long double weight = 1;
        long double size = 1;
        for (int e = 0; e < x->rank; e++) {
            index[e] = taps[e].index[chosen[e]];
            weight *= (long double)taps[e].weight[chosen[e]];
            size *= fabsl((long double)taps[e].weight[chosen[e]]) + (x->dtype == OPD_F64 && taps[e].count > 2 ? 1 : 0);
        }
        long double value = x->value[ravel(x, index)];
        long double term = opd_round(work, opd_round(work, weight) * value);
        sum = is_first ? term : opd_round(work, sum + term);
        *gauge += size * fabsl(value);
        for (d = x->rank - 1; d >= 0 && ++chosen[d] == taps[d].count; d--) {
            chosen[d] = 0;
        }
    }
    return sum;
}

opd_status opd_resize_define(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    opd_array *y = &work->array[4];
    opd_resize resize;
    opd_status status = opd_resize_resolve(&resize, work->call);
    for (int64_t flat = 0; flat < y->count && status == OPD_OK; flat++) {
        int64_t index[OPD_MAX_RANK] = { 0 };
        opd_resize_taps taps[OPD_MAX_RANK];
        bool is_outside = false;
        long double gauge = 0;
        unravel(index, y, flat);
        for (int d = 0; d < x->rank; d++) {
            opd_resize_find_taps(&taps[d], &resize, d, index[d]);
            is_outside |= taps[d].count == 0;
        }
        y->value[flat] = is_outside ? (long double)resize.extrapolation : interpolate(&gauge, work, taps);
        if (y->gauge != NULL) {
            y->gauge[flat] = gauge;
        }
    }
    return status;
}
