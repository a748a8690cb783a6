/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of Conv, AveragePool, MaxPool and GlobalAveragePool for any number of spatial dimensions. What lies in the padding
 * is no term of a sum (so a weight of Inf or NaN over padding changes nothing) and no candidate of a maximum.
 */
#include <math.h>

#include "linear_define.h"

/* Mixed-radix digits of flat, the last dimension fastest. */
static void unflatten(int64_t *index, int64_t flat, int32_t rank, const int64_t *dim)
{
    for (int32_t i = rank - 1; i >= 0; i--) {
        index[i] = flat % dim[i];
        flat /= dim[i];
    }
}

/* Flat input position under a kernel position; -1 in the padding. *is_counted: inside input and declared pads. */
static int64_t input_at(bool *is_counted, const opd_window *window, int64_t output, int64_t kernel)
{
    int64_t to[OPD_WINDOW_RANK];
    int64_t at[OPD_WINDOW_RANK];
    unflatten(to, output, window->rank, window->output);
    unflatten(at, kernel, window->rank, window->kernel);
    int64_t flat = 0;
    bool is_inside = true;
    *is_counted = true;
    for (int32_t i = 0; i < window->rank; i++) {
        int64_t x = opd_window_input(window, i, to[i], at[i]);
        is_inside = is_inside && x >= 0 && x < window->input[i];
        *is_counted = *is_counted && x < window->input[i] + window->pad_end[i];
        flat = flat * window->input[i] + x;
    }
    return is_inside ? flat : -1;
}

static opd_sum convolve(const opd_definition_work *work, const opd_window *window, const long double *x,
                        const long double *weight, int64_t output)
{
    opd_sum sum = { 0, 0 };
    for (int64_t at = 0; at < work->array[1].shape[1] * window->kernel_count; at++) {
        bool is_counted = false;
        int64_t from = input_at(&is_counted, window, output, at % window->kernel_count);
        if (from >= 0) {
            long double value = x[at / window->kernel_count * window->input_count + from];
            long double term = opd_round(work, value * weight[at]);
            sum.value = opd_round(work, sum.value + term);
            sum.gauge += fabsl(term);
        }
    }
    return sum;
}

opd_status opd_define_conv(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    const opd_array *weight = &work->array[1];
    const opd_array *bias = &work->array[2];
    opd_array *y = &work->array[3];
    opd_window window;
    opd_status status = opd_window_of(&window, work->call);
    if (status != OPD_OK) {
        return status;
    }
    int64_t per_group = weight->shape[0] / opd_call_int(work->call, "group", 1);
    int64_t channels = weight->shape[1];
    for (int64_t flat = 0; flat < y->count; flat++) {
        int64_t plane = flat / window.output_count;
        int64_t m = plane % weight->shape[0];
        int64_t from = plane / weight->shape[0] * x->shape[1] + m / per_group * channels;
        opd_sum sum = convolve(work, &window, x->value + from * window.input_count,
                               weight->value + m * channels * window.kernel_count, flat % window.output_count);
        if (bias->value != NULL) {
            sum.value = opd_round(work, sum.value + bias->value[m]);
            sum.gauge += fabsl(bias->value[m]);
        }
        y->value[flat] = sum.value;
        if (y->gauge != NULL) {
            y->gauge[flat] = sum.gauge;
        }
    }
    return OPD_OK;
}

/* The mean of an empty window is 0 / 0. Where the sum leaves the accumulator's range, no error is too large. */
static void put_mean(const opd_definition_work *work, opd_array *y, int64_t at, opd_sum sum, int64_t count)
{
    y->value[at] = opd_round(work, sum.value / (long double)count);
    if (y->gauge != NULL) {
        long double mean = count > 0 ? sum.gauge / (long double)count : 0;
        y->gauge[at] = opd_is_beyond_range(work, sum.gauge) ? (long double)INFINITY : mean;
    }
}

static void add_term(const opd_definition_work *work, opd_sum *sum, long double term)
{
    sum->value = opd_round(work, sum->value + term);
    sum->gauge += fabsl(term);
}

opd_status opd_define_average_pool(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    opd_array *y = &work->array[1];
    bool counts_pad = opd_call_int(work->call, "count_include_pad", 0) != 0;
    opd_window window;
    opd_status status = opd_window_of(&window, work->call);
    for (int64_t flat = 0; status == OPD_OK && flat < y->count; flat++) {
        const long double *plane = x->value + flat / window.output_count * window.input_count;
        opd_sum sum = { 0, 0 };
        int64_t count = 0;
        for (int64_t at = 0; at < window.kernel_count; at++) {
            bool is_counted = false;
            int64_t from = input_at(&is_counted, &window, flat % window.output_count, at);
            if (from >= 0) {
                add_term(work, &sum, plane[from]);
            }
            count += from >= 0 || (counts_pad && is_counted) ? 1 : 0;
        }
        put_mean(work, y, flat, sum, count);
    }
    return status;
}

opd_status opd_define_global_average_pool(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    opd_array *y = &work->array[1];
    int64_t count = 1;
    for (int32_t i = 2; i < x->rank; i++) {
        count *= x->shape[i];
    }
    for (int64_t flat = 0; flat < y->count; flat++) {
        opd_sum sum = { 0, 0 };
        for (int64_t i = 0; i < count; i++) {
            add_term(work, &sum, x->value[flat * count + i]);
        }
        put_mean(work, y, flat, sum, count);
    }
    return OPD_OK;
}

/* Position in the plane as Indices says it: row-major, or with storage_order 1 column-major. */
static int64_t stored_at(const opd_window *window, int64_t flat, bool is_column_major)
{
    if (!is_column_major || flat < 0) {
        return flat;
    }
    int64_t index[OPD_WINDOW_RANK];
    unflatten(index, flat, window->rank, window->input);
    int64_t at = 0;
    for (int32_t i = window->rank - 1; i >= 0; i--) {
        at = at * window->input[i] + index[i];
    }
    return at;
}

static long double lowest(opd_dtype dtype)
{
    return opd_dtype_is_float(dtype) ? -(long double)INFINITY : dtype == OPD_I8 ? -128 : 0;
}

/* The first largest of the window in row-major order; a NaN is larger than any number. Nothing but padding: lowest, -1. */
opd_status opd_define_max_pool(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    opd_array *y = &work->array[1];
    opd_array *indices = &work->array[2];
    bool is_column_major = opd_call_int(work->call, "storage_order", 0) != 0;
    opd_window window;
    opd_status status = opd_window_of(&window, work->call);
    for (int64_t flat = 0; status == OPD_OK && flat < y->count; flat++) {
        int64_t plane = flat / window.output_count * window.input_count;
        long double largest = lowest(x->dtype);
        int64_t position = -1;
        for (int64_t at = 0; at < window.kernel_count; at++) {
            bool is_counted = false;
            int64_t from = input_at(&is_counted, &window, flat % window.output_count, at);
            long double value = from >= 0 ? x->value[plane + from] : 0;
            if (from >= 0 && (position < 0 || value > largest || (isnan(value) && !isnan(largest)))) {
                largest = value;
                position = from;
            }
        }
        y->value[flat] = largest;
        if (indices->value != NULL) {
            int64_t at = stored_at(&window, position, is_column_major);
            indices->value[flat] = (long double)(at < 0 ? at : plane + at);
        }
    }
    return status;
}
