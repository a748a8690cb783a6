/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transpose, Reshape, Concat, Slice, Split and Expand as strided copies: each says between which blocks. Any strides of inputs and outputs will do,
 * except for a Reshape between two views that are both not contiguous.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "move.h"
#include "move_copy.h"
#include "move_variants.h"

bool opd_move_is_contiguous(const opd_tensor *view)
{
    int64_t step = 1;
    for (int d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] != 1 && view->stride[d] != step) {
            return opd_tensor_count(view) == 0;
        }
        step *= view->shape[d];
    }
    return true;
}

static const char *find_mask(const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        if (call->operands[i].view.mask.kind != OPD_MASK_NONE) {
            return "an operand has a mask";
        }
    }
    return NULL;
}

const char *opd_move_declines_strides(const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        bool is_there = (call->operands[i].flags & OPD_OPERAND_ABSENT) == 0;
        if (is_there && !opd_move_is_contiguous(&call->operands[i].view)) {
            return "an operand is not contiguous";
        }
    }
    return find_mask(call);
}

const char *opd_move_declines(const opd_call *call)
{
    return find_mask(call);
}

const char *opd_reshape_declines(const opd_call *call)
{
    bool can = opd_move_is_contiguous(&call->operands[0].view) || opd_move_is_contiguous(&call->operands[2].view);
    return can ? find_mask(call) : "neither data nor reshaped is contiguous";
}

/* All of `to` from a view of the same shape. */
static opd_move_copy copy_of(const opd_tensor *to, const opd_tensor *from)
{
    opd_move_copy copy = {
        .to = to->data, .from = from->data, .size = (int)opd_dtype_size(to->dtype), .rank = to->rank
    };
    for (int d = 0; d < to->rank; d++) {
        copy.shape[d] = to->shape[d];
        copy.to_stride[d] = to->stride[d] * copy.size;
        copy.from_stride[d] = from->stride[d] * copy.size;
    }
    return copy;
}

opd_status opd_transpose_run(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *data = &call->operands[0].view;
    int axes[OPD_MAX_RANK];
    opd_status status = opd_transpose_axes(axes, call);
    if (status == OPD_OK) {
        opd_move_copy copy = copy_of(&call->operands[1].view, data);
        for (int d = 0; d < data->rank; d++) {
            copy.from_stride[d] = data->stride[axes[d]] * copy.size;
        }
        opd_move_copy_run(&copy, workspace->threads);
    }
    return status;
}

opd_status opd_reshape_run(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *data = &call->operands[0].view;
    const opd_tensor *out = &call->operands[2].view;
    opd_tensor seen;
    bool is_flat = opd_move_is_contiguous(data);
    const opd_tensor *shape = is_flat ? out : data; /* the side that is contiguous is seen in the shape of the other */
    opd_status status =
        opd_tensor_contiguous(&seen, shape->dtype, shape->rank, shape->shape, is_flat ? data->data : out->data);
    if (status == OPD_OK) {
        opd_move_copy copy = is_flat ? copy_of(out, &seen) : copy_of(&seen, data);
        opd_move_copy_run(&copy, workspace->threads);
    }
    return status;
}

opd_status opd_concat_run(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *out = &call->operands[call->operand_count - 1].view;
    int axis = opd_move_axis(opd_call_int(call, "axis", 0), out->rank);
    int64_t first = 0;
    for (int i = 0; i < call->operand_count - 1; i++) {
        const opd_tensor *input = &call->operands[i].view;
        opd_tensor part = *out;
        memcpy(part.shape, input->shape, sizeof part.shape);
        opd_move_copy copy = copy_of(&part, input);
        if (opd_tensor_count(input) > 0) {
            copy.to += first * copy.to_stride[axis];
            opd_move_copy_run(&copy, workspace->threads);
        }
        first += input->shape[axis];
    }
    return OPD_OK;
}

opd_status opd_slice_run(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *data = &call->operands[0].view;
    const opd_tensor *out = &call->operands[5].view;
    opd_slice_ranges ranges;
    opd_status status = opd_slice_resolve(&ranges, call);
    if (status != OPD_OK || opd_tensor_count(out) == 0) {
        return status;
    }
    opd_move_copy copy = copy_of(out, data);
    for (int d = 0; d < data->rank; d++) {
        copy.from += ranges.start[d] * copy.from_stride[d];
        copy.from_stride[d] *= ranges.count[d] > 1 ? ranges.step[d] : 1;
    }
    opd_move_copy_run(&copy, workspace->threads);
    return OPD_OK;
}

opd_status opd_split_run(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *input = &call->operands[0].view;
    int64_t sizes[OPD_MAX_OPERANDS];
    int64_t first = 0;
    int axis = 0;
    opd_status status = opd_split_sizes(sizes, &axis, call);
    for (int i = 2; i < call->operand_count && status == OPD_OK; i++) {
        opd_move_copy copy = copy_of(&call->operands[i].view, input);
        if (opd_tensor_count(&call->operands[i].view) > 0) {
            copy.from += first * copy.from_stride[axis];
            opd_move_copy_run(&copy, workspace->threads);
        }
        first += sizes[i - 2];
    }
    return status;
}

opd_status opd_expand_run(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *input = &call->operands[0].view;
    const opd_tensor *out = &call->operands[2].view;
    opd_move_copy copy = copy_of(out, input);
    for (int d = 0; d < out->rank; d++) {
        int own = d - (out->rank - input->rank);
        copy.from_stride[d] = own < 0 || input->shape[own] == 1 ? 0 : input->stride[own] * copy.size;
    }
    opd_move_copy_run(&copy, workspace->threads);
    return OPD_OK;
}
