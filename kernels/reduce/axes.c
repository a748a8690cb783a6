/* SPDX-License-Identifier: Apache-2.0 */
/* Axes given by inputs and attributes, and the shapes of reductions, ArgMax, ArgMin, CumSum and TopK that follow from them. */
#include "axes.h"

#include <inttypes.h>
#include <string.h>

#include <opsdebug/kernel.h>

enum { DATA, BESIDE, RESULT }; /* operands of reductions, CumSum (x, axis, y) and TopK (X, K, Values, Indices) */
enum { TOP_K_DEFAULT = 5 };

static opd_status normalize_axis(int *out, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank) {
        return opd_fail(OPD_E_INVALID, "axis %" PRId64 " is out of range for %d dimensions", axis, rank);
    }
    *out = (int)(axis < 0 ? axis + rank : axis);
    return OPD_OK;
}

opd_status opd_axes_of(bool reduced[OPD_MAX_RANK], const opd_call *call)
{
    const opd_tensor *data = &call->operands[DATA].view;
    const opd_operand *axes = &call->operands[BESIDE];
    bool found[OPD_MAX_RANK] = { false };
    int64_t content[OPD_MAX_RANK];
    int64_t count = (axes->flags & OPD_OPERAND_ABSENT) != 0 ? 0 : opd_tensor_count(&axes->view);
    bool is_known = opd_call_content(call, BESIDE, content, OPD_MAX_RANK) == count;
    if (count > data->rank) {
        return opd_fail(OPD_E_INVALID, "%" PRId64 " axes for %d dimensions", count, data->rank);
    }
    bool is_all = count == 0 && opd_call_int(call, "noop_with_empty_axes", 0) == 0;
    for (int d = 0; d < data->rank && is_all; d++) {
        found[d] = true;
    }
    for (int64_t i = 0; i < count; i++) {
        int d = 0;
        int64_t axis = is_known ? content[i] : i - count;
        opd_status status = normalize_axis(&d, axis, data->rank);
        if (status != OPD_OK) {
            return status;
        }
        if (found[d]) {
            return opd_fail(OPD_E_INVALID, "axis %d is given twice", d);
        }
        found[d] = true;
    }
    memcpy(reduced, found, sizeof found);
    return OPD_OK;
}

opd_status opd_axis_of(opd_axis *out, const opd_tensor *view, int64_t axis)
{
    int at = 0;
    opd_status status = normalize_axis(&at, axis, view->rank);
    if (status != OPD_OK) {
        return status;
    }
    opd_axis split = { 1, view->shape[at], 1 };
    for (int d = 0; d < at; d++) {
        split.outer *= view->shape[d];
    }
    for (int d = at + 1; d < view->rank; d++) {
        split.inner *= view->shape[d];
    }
    *out = split;
    return OPD_OK;
}

opd_status opd_axis_number(int64_t *out, const opd_call *call, int index, int64_t otherwise)
{
    if (opd_tensor_count(&call->operands[index].view) != 1) {
        return opd_fail(OPD_E_INVALID, "%s must have one element", call->operands[index].name);
    }
    int64_t content = otherwise;
    (void)opd_call_content(call, index, &content, 1);
    *out = content;
    return OPD_OK;
}

/* Output with the dimensions of data, reduced ones as 1 or left out. */
static void keep_dims(opd_operand *output, const opd_tensor *data, const bool *reduced, bool keep)
{
    output->view.rank = 0;
    for (int d = 0; d < data->rank; d++) {
        if (!reduced[d] || keep) {
            output->view.shape[output->view.rank++] = reduced[d] ? 1 : data->shape[d];
        }
    }
}

opd_status opd_shape_reduce(opd_call *call)
{
    bool reduced[OPD_MAX_RANK];
    opd_status status = opd_axes_of(reduced, call);
    if (status != OPD_OK) {
        return status;
    }
    call->operands[RESULT].view.dtype = call->operands[DATA].view.dtype;
    keep_dims(&call->operands[RESULT], &call->operands[DATA].view, reduced, opd_call_int(call, "keepdims", 1) != 0);
    return OPD_OK;
}

opd_status opd_shape_arg_extreme(opd_call *call)
{
    const opd_tensor *data = &call->operands[DATA].view;
    opd_operand *output = &call->operands[1];
    bool reduced[OPD_MAX_RANK] = { false };
    int at = 0;
    opd_status status = normalize_axis(&at, opd_call_int(call, "axis", 0), data->rank);
    if (status != OPD_OK) {
        return status;
    }
    reduced[at] = true;
    keep_dims(output, data, reduced, opd_call_int(call, "keepdims", 1) != 0);
    output->view.dtype = OPD_I64;
    if (data->shape[at] == 0 && opd_tensor_count(&output->view) != 0) {
        return opd_fail(OPD_E_INVALID, "axis %d is empty: there is no index to give", at);
    }
    return OPD_OK;
}

opd_status opd_shape_cumulative_sum(opd_call *call)
{
    const opd_tensor *x = &call->operands[DATA].view;
    int64_t axis = 0;
    int at = 0;
    opd_status status = opd_axis_number(&axis, call, BESIDE, -1);
    if (status == OPD_OK) {
        status = normalize_axis(&at, axis, x->rank);
    }
    if (status != OPD_OK) {
        return status;
    }
    opd_tensor *y = &call->operands[RESULT].view;
    y->dtype = x->dtype;
    y->rank = x->rank;
    memcpy(y->shape, x->shape, sizeof y->shape);
    return OPD_OK;
}

opd_status opd_shape_top_k(opd_call *call)
{
    const opd_tensor *x = &call->operands[DATA].view;
    int at = 0;
    int64_t k = 0;
    opd_status status = normalize_axis(&at, opd_call_int(call, "axis", -1), x->rank);
    if (status == OPD_OK) {
        status = opd_axis_number(&k, call, BESIDE, x->shape[at] < TOP_K_DEFAULT ? x->shape[at] : TOP_K_DEFAULT);
    }
    if (status != OPD_OK) {
        return status;
    }
    if (k < 0 || k > x->shape[at]) {
        return opd_fail(OPD_E_INVALID, "K is %" PRId64 ", but axis %d has %" PRId64 " elements", k, at, x->shape[at]);
    }
    for (int i = RESULT; i <= RESULT + 1; i++) {
        opd_tensor *view = &call->operands[i].view;
        view->dtype = i == RESULT ? x->dtype : OPD_I64;
        view->rank = x->rank;
        memcpy(view->shape, x->shape, sizeof view->shape);
        view->shape[at] = k;
    }
    return OPD_OK;
}

/* The last axes, as shapes without data take them. */
bool opd_generate_axes(const opd_call *call, int index, uint64_t seed)
{
    (void)seed;
    if (index != BESIDE) {
        return false;
    }
    const opd_tensor *axes = &call->operands[index].view;
    int64_t count = opd_tensor_count(axes);
    for (int64_t i = 0; i < count; i++) {
        opd_element_store(axes->dtype,
                          (uint8_t *)axes->data + i * axes->stride[0] * (int64_t)opd_dtype_size(axes->dtype),
                          (double)(i - count), 0.0);
    }
    return true;
}

bool opd_generate_top_k(const opd_call *call, int index, uint64_t seed)
{
    (void)seed;
    opd_axis axis;
    if (index != BESIDE || opd_axis_of(&axis, &call->operands[DATA].view, opd_call_int(call, "axis", -1)) != OPD_OK) {
        return false;
    }
    const opd_tensor *k = &call->operands[index].view;
    if (opd_tensor_count(k) == 1) {
        opd_element_store(k->dtype, k->data, (double)(axis.size < TOP_K_DEFAULT ? axis.size : TOP_K_DEFAULT), 0.0);
    }
    return true;
}
