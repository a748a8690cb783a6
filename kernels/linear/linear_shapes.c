/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of products, windows and attention from a call's operands and attributes; and the shape callbacks of their contracts.
 * Part of opd_ops: no floating-point work but the default scale of attention.
 */
#include "linear_shapes.h"

#include <string.h>

#include <opsdebug/memory.h>

const opd_tensor *opd_given(const opd_call *call, int index)
{
    bool is_there = index < call->operand_count && (call->operands[index].flags & OPD_OPERAND_ABSENT) == 0;
    return is_there ? &call->operands[index].view : NULL;
}

/* ------------------------------------------------------------------------------------------------ products */

static int64_t dim_or_one(int32_t rank, const int64_t *shape, int32_t at)
{
    return at >= 0 && at < rank ? shape[at] : 1;
}

opd_product_shape opd_matmul_shape(int32_t a_rank, const int64_t *a, int32_t b_rank, const int64_t *b)
{
    opd_product_shape out = { .m = dim_or_one(a_rank, a, a_rank - 2),
                              .n = b_rank > 1 ? b[b_rank - 1] : 1,
                              .k = dim_or_one(a_rank, a, a_rank - 1),
                              .batch = 1 };
    int32_t a_batch = a_rank > 2 ? a_rank - 2 : 0;
    int32_t b_batch = b_rank > 2 ? b_rank - 2 : 0;
    out.batch_rank = a_batch > b_batch ? a_batch : b_batch;
    int64_t a_step = out.m * out.k;
    int64_t b_step = out.k * out.n;
    for (int32_t i = out.batch_rank - 1; i >= 0; i--) {
        int64_t of_a = dim_or_one(a_batch, a, i - (out.batch_rank - a_batch));
        int64_t of_b = dim_or_one(b_batch, b, i - (out.batch_rank - b_batch));
        out.batch_dim[i] = of_a == 1 ? of_b : of_a;
        out.a_stride[i] = of_a == 1 ? 0 : a_step;
        out.b_stride[i] = of_b == 1 ? 0 : b_step;
        a_step *= of_a;
        b_step *= of_b;
        out.batch *= out.batch_dim[i];
    }
    return out;
}

void opd_product_offsets(int64_t *a, int64_t *b, const opd_product_shape *shape, int64_t batch)
{
    *a = 0;
    *b = 0;
    for (int32_t i = shape->batch_rank - 1; i >= 0; i--) {
        int64_t index = batch % shape->batch_dim[i];
        batch /= shape->batch_dim[i];
        *a += index * shape->a_stride[i];
        *b += index * shape->b_stride[i];
    }
}

void opd_bias_strides(int64_t *row, int64_t *column, int32_t rank, const int64_t *shape)
{
    int64_t width = dim_or_one(rank, shape, rank - 1);
    *column = width == 1 ? 0 : 1;
    *row = dim_or_one(rank, shape, rank - 2) == 1 ? 0 : width;
}

/* Whole numbers that alpha and beta must be when the elements are integers: then the result is one. */
static opd_status check_integer_scalar(const opd_call *call, const char *name)
{
    double value = opd_call_real(call, name, 1);
    if (!opd_dtype_is_float(call->dtype) && !(value >= -9e15 && value <= 9e15 && (double)(int64_t)value == value)) {
        return opd_fail(OPD_E_INVALID, "%s = %g is no whole number, elements are %s", name, value,
                        opd_dtype_name(call->dtype));
    }
    return OPD_OK;
}

opd_status opd_shape_gemm(opd_call *call)
{
    opd_status status = check_integer_scalar(call, "alpha");
    return status == OPD_OK ? check_integer_scalar(call, "beta") : status;
}

/* ------------------------------------------------------------------------------------------------- windows */

/* count values of an ints attribute, or `otherwise` each when it is absent. */
static opd_status read_list(int64_t *out, const opd_call *call, const char *name, int32_t count, int64_t otherwise)
{
    int64_t given[OPD_MAX_INTS];
    int size = opd_call_ints(call, name, given);
    if (size >= 0 && size != count) {
        return opd_fail(OPD_E_INVALID, "%s has %d values, %d are wanted", name, size, count);
    }
    for (int32_t i = 0; i < count; i++) {
        out[i] = size >= 0 ? given[i] : otherwise;
        bool is_pad = otherwise == 0;
        if (out[i] < (is_pad ? 0 : 1) || out[i] > (INT64_C(1) << 31)) {
            return opd_fail(OPD_E_INVALID, "%s holds %lld, it must be %s", name, (long long)out[i],
                            is_pad ? "0 to 2^31" : "1 to 2^31");
        }
    }
    return OPD_OK;
}

static opd_status read_window(opd_window *out, const opd_call *call, const opd_tensor *weight)
{
    int64_t pads[2 * OPD_WINDOW_RANK];
    opd_status status = OPD_OK;
    if (weight != NULL) {
        memcpy(out->kernel, weight->shape + 2, (size_t)out->rank * sizeof out->kernel[0]);
        int64_t said[OPD_MAX_INTS];
        int count = opd_call_ints(call, "kernel_shape", said);
        if (count >= 0 &&
            (count != out->rank || memcmp(said, out->kernel, (size_t)out->rank * sizeof out->kernel[0]) != 0)) {
            return opd_fail(OPD_E_INVALID, "kernel_shape differs from the shape of W");
        }
    } else if ((status = read_list(out->kernel, call, "kernel_shape", out->rank, 1)) != OPD_OK) {
        return status;
    }
    if ((status = read_list(out->stride, call, "strides", out->rank, 1)) != OPD_OK ||
        (status = read_list(out->dilation, call, "dilations", out->rank, 1)) != OPD_OK ||
        (status = read_list(pads, call, "pads", 2 * out->rank, 0)) != OPD_OK) {
        return status;
    }
    memcpy(out->pad, pads, (size_t)out->rank * sizeof pads[0]);
    memcpy(out->pad_end, pads + out->rank, (size_t)out->rank * sizeof pads[0]);
    return OPD_OK;
}

/* Padding and output size of one dimension; span: input elements the dilated kernel covers. */
static opd_status place_window(opd_window *out, const char *auto_pad, bool is_ceil, int i)
{
    int64_t span = (out->kernel[i] - 1) * out->dilation[i] + 1;
    if (strcmp(auto_pad, "NOTSET") == 0 || strcmp(auto_pad, "VALID") == 0) {
        if (strcmp(auto_pad, "VALID") == 0) {
            out->pad[i] = 0;
            out->pad_end[i] = 0;
        }
        int64_t room = out->input[i] + out->pad[i] + out->pad_end[i] - span;
        if (room < 0 || out->kernel[i] < 1) {
            return opd_fail(OPD_E_INVALID, "the kernel spans %lld, input and pads %lld in spatial dimension %d",
                            (long long)span, (long long)(room + span), i);
        }
        out->output[i] = (room + (is_ceil ? out->stride[i] - 1 : 0)) / out->stride[i] + 1;
        /* A last window that begins in the end padding is not there. */
        if (is_ceil && (out->output[i] - 1) * out->stride[i] >= out->input[i] + out->pad[i]) {
            out->output[i]--;
        }
        return OPD_OK;
    }
    out->output[i] = (out->input[i] + out->stride[i] - 1) / out->stride[i];
    int64_t total = (out->output[i] - 1) * out->stride[i] + span - out->input[i];
    total = total > 0 ? total : 0;
    bool is_upper = strcmp(auto_pad, "SAME_UPPER") == 0;
    out->pad[i] = is_upper ? total / 2 : total - total / 2;
    out->pad_end[i] = total - out->pad[i];
    return OPD_OK;
}

opd_status opd_window_of(opd_window *out, const opd_call *call)
{
    const opd_tensor *x = opd_given(call, 0);
    const opd_tensor *weight = strcmp(call->name, "Conv") == 0 ? opd_given(call, 1) : NULL;
    opd_window window = { .rank = x->rank - 2, .input_count = 1, .output_count = 1, .kernel_count = 1 };
    if (window.rank < 1) {
        return opd_fail(OPD_E_INVALID, "X has rank %d, it needs a batch, channels and a spatial dimension", x->rank);
    }
    opd_status status = read_window(&window, call, weight);
    for (int32_t i = 0; i < window.rank && status == OPD_OK; i++) {
        window.input[i] = x->shape[i + 2];
        status = place_window(&window, opd_call_text(call, "auto_pad", "NOTSET"),
                              opd_call_int(call, "ceil_mode", 0) != 0, i);
        window.input_count *= window.input[i];
        if (status == OPD_OK && (!opd_mul_i64(&window.output_count, window.output_count, window.output[i]) ||
                                 !opd_mul_i64(&window.kernel_count, window.kernel_count, window.kernel[i]))) {
            status = opd_fail(OPD_E_INVALID, "the output has too many elements");
        }
    }
    if (status == OPD_OK) {
        *out = window;
    }
    return status;
}

static opd_status set_window_output(opd_call *call, int index, int64_t channels)
{
    if (opd_given(call, index) == NULL) {
        return OPD_OK;
    }
    opd_window window;
    opd_status status = opd_window_of(&window, call);
    if (status != OPD_OK) {
        return status;
    }
    opd_tensor *view = &call->operands[index].view;
    view->rank = window.rank + 2;
    view->shape[0] = call->operands[0].view.shape[0];
    view->shape[1] = channels;
    memcpy(view->shape + 2, window.output, (size_t)window.rank * sizeof view->shape[0]);
    return OPD_OK;
}

opd_status opd_shape_conv(opd_call *call)
{
    const opd_tensor *x = opd_given(call, 0);
    const opd_tensor *weight = opd_given(call, 1);
    int64_t group = opd_call_int(call, "group", 1);
    if (group < 1 || x->rank < 3 || weight->rank != x->rank || x->shape[1] % group != 0 ||
        weight->shape[0] % group != 0 || weight->shape[1] != x->shape[1] / group) {
        return opd_fail(OPD_E_INVALID, "group = %lld does not fit X with %lld and W with [%lld, %lld] channels",
                        (long long)group, (long long)(x->rank > 1 ? x->shape[1] : 0),
                        (long long)(weight->rank > 0 ? weight->shape[0] : 0),
                        (long long)(weight->rank > 1 ? weight->shape[1] : 0));
    }
    return set_window_output(call, 3, weight->shape[0]);
}

opd_status opd_shape_pool(opd_call *call)
{
    if (opd_call_ints(call, "kernel_shape", (int64_t[OPD_MAX_INTS]){ 0 }) < 0) {
        return opd_fail(OPD_E_INVALID, "%s needs the attribute kernel_shape", call->name);
    }
    int64_t channels = call->operands[0].view.rank > 1 ? call->operands[0].view.shape[1] : 0;
    opd_status status = set_window_output(call, 1, channels);
    return status == OPD_OK ? set_window_output(call, 2, channels) : status;
}

opd_status opd_shape_global_pool(opd_call *call)
{
    const opd_tensor *x = opd_given(call, 0);
    opd_tensor *y = &call->operands[1].view;
    y->rank = x->rank;
    for (int32_t i = 0; i < x->rank; i++) {
        y->shape[i] = i < 2 ? x->shape[i] : 1;
    }
    return OPD_OK;
}
