/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool with the positions of its elements, and of small integers: each window on its own. */
#include <math.h>

#include "narrow.h"
#include "window_variants.h"

static double from_f32(float value)
{
    return (double)value;
}

static double from_f64(double value)
{
    return value;
}

static double from_i8(int8_t value)
{
    return value;
}

static double from_u8(uint8_t value)
{
    return value;
}

static double from_f16(uint16_t value)
{
    return (double)opd_from_f16(value);
}

static double from_bf16(uint16_t value)
{
    return (double)opd_from_bf16(value);
}

/* The position of the first largest element, a NaN being larger than any number; -1: the window holds nothing. */
#define DEFINE_FIND(type, load)                                                                            \
    static int64_t find_##load(const opd_window *window, const void *plane_at, int64_t to_row, int64_t to) \
    {                                                                                                      \
        const type *plane = plane_at;                                                                      \
        int last = window->rank - 1;                                                                       \
        double largest = 0;                                                                                \
        int64_t position = -1;                                                                             \
        for (int64_t row = 0; row < window->kernel_count / window->kernel[last]; row++) {                  \
            int64_t start = opd_window_row(window, to_row, row);                                           \
            for (int64_t at = 0; at < window->kernel[last] && start >= 0; at++) {                          \
                int64_t x = opd_window_input(window, last, to, at);                                        \
                if (x < 0 || x >= window->input[last]) {                                                   \
                    continue;                                                                              \
                }                                                                                          \
                double value = from_##load(plane[start + x]);                                              \
                if (position < 0 || value > largest || (isnan(value) && !isnan(largest))) {                \
                    largest = value;                                                                       \
                    position = start + x;                                                                  \
                }                                                                                          \
            }                                                                                              \
        }                                                                                                  \
        return position;                                                                                   \
    }
DEFINE_FIND(float, f32)
DEFINE_FIND(double, f64)
DEFINE_FIND(int8_t, i8)
DEFINE_FIND(uint8_t, u8)
DEFINE_FIND(uint16_t, f16)
DEFINE_FIND(uint16_t, bf16)

typedef int64_t find_function(const opd_window *window, const void *plane, int64_t to_row, int64_t to);

static find_function *find_of(opd_dtype dtype)
{
    static const struct {
        opd_dtype dtype;
        find_function *find;
    } table[] = { { OPD_F32, find_f32 }, { OPD_F64, find_f64 }, { OPD_I8, find_i8 },
                  { OPD_U8, find_u8 },   { OPD_F16, find_f16 }, { OPD_BF16, find_bf16 } };
    for (size_t i = 0; i < OPD_COUNT(table); i++) {
        if (table[i].dtype == dtype) {
            return table[i].find;
        }
    }
    return NULL;
}

/* Of a flat row-major position: the position with the first dimension fastest. */
static int64_t column_major(const opd_window *window, int64_t flat)
{
    int64_t at = 0;
    for (int32_t i = window->rank - 1; i >= 0; i--) {
        int64_t below = 1; /* elements of a step of dimension i, column-major */
        for (int32_t j = 0; j < i; j++) {
            below *= window->input[j];
        }
        at += flat % window->input[i] * below;
        flat /= window->input[i];
    }
    return at;
}

typedef struct max_job {
    const opd_window *window;
    const opd_call *call;
    find_function *find;
    int64_t *indices; /* NULL = not wanted */
    bool is_column_major;
} max_job;

static void do_plane(void *context, int64_t plane)
{
    const max_job *job = context;
    const opd_window *window = job->window;
    size_t size = opd_dtype_size(job->call->dtype);
    int64_t width = window->output[window->rank - 1];
    const char *x = (const char *)opd_data(job->call, 0) + (size_t)(plane * window->input_count) * size;
    for (int64_t i = 0; i < window->output_count; i++) {
        int64_t at = job->find(window, x, i / width, i % width);
        char *y = (char *)opd_data(job->call, 1) + (size_t)(plane * window->output_count + i) * size;
        if (at >= 0) {
            memcpy(y, x + (size_t)at * size, size);
        } else {
            opd_element_store(job->call->dtype, y, -(double)INFINITY, 0); /* saturates to the lowest integer */
        }
        if (job->indices != NULL) {
            int64_t stored = at >= 0 && job->is_column_major ? column_major(window, at) : at;
            job->indices[plane * window->output_count + i] = at >= 0 ? plane * window->input_count + stored : -1;
        }
    }
}

opd_status opd_max_pool_run_portable(const opd_call *call, const opd_workspace *workspace)
{
    opd_window window;
    opd_status status = opd_window_of(&window, call);
    if (status != OPD_OK) {
        return status;
    }
    max_job job = { .window = &window,
                    .call = call,
                    .find = find_of(call->dtype),
                    .indices = opd_given(call, 2) != NULL ? opd_data(call, 2) : NULL,
                    .is_column_major = opd_call_int(call, "storage_order", 0) != 0 };
    const opd_tensor *y = &call->operands[1].view;
    if (job.find == NULL) {
        return opd_fail(OPD_E_DECLINED, "MaxPool has no %s", opd_dtype_name(call->dtype));
    }
    if (window.output_count > 0) {
        opd_parallel(workspace->threads, y->shape[0] * y->shape[1], do_plane, &job);
    }
    return OPD_OK;
}
