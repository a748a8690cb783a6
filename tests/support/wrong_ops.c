/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's library whose operators have one right variant and many that are wrong on purpose, each in a way that a test looks for.
 * Twice doubles each element; RowSum adds up the last dimension.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <opsdebug/kernel.h>

static const opd_tensor *in(const opd_call *call)
{
    return &call->operands[0].view;
}

static const opd_tensor *out(const opd_call *call)
{
    return &call->operands[call->operand_count - 1].view;
}

static int64_t count_of(const opd_call *call)
{
    int64_t count = 1;
    for (int i = 0; i < in(call)->rank; i++) {
        count *= in(call)->shape[i];
    }
    return count;
}

static opd_status define_twice(opd_definition_work *work)
{
    for (int64_t i = 0; i < work->array[0].count; i++) {
        long double value = opd_round(work, 2 * work->array[0].value[i]);
        work->array[1].value[i] = value;
        if (work->array[1].gauge != NULL) {
            work->array[1].gauge[i] = fabsl(value);
        }
    }
    return OPD_OK;
}

static opd_status define_sum(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    int64_t length = x->shape[x->rank - 1];
    for (int64_t row = 0; row < work->array[1].count; row++) {
        long double sum = 0;
        long double gauge = 0;
        for (int64_t i = 0; i < length; i++) {
            sum = opd_round(work, sum + x->value[row * length + i]);
            gauge += fabsl(x->value[row * length + i]);
        }
        work->array[1].value[row] = sum;
        if (work->array[1].gauge != NULL) {
            work->array[1].gauge[row] = gauge;
        }
    }
    return OPD_OK;
}

/* One wrong element more where is_wrong says so: 1 is added. */
typedef bool wrong(const opd_tensor *view, const int64_t *index, int64_t flat);

static opd_status twice_but(const opd_call *call, wrong *is_wrong)
{
    const float *x = in(call)->data;
    float *y = out(call)->data;
    int64_t count = count_of(call);
    for (int64_t i = 0; i < count; i++) {
        int64_t index[OPD_MAX_RANK] = { 0 };
        int64_t rest = i;
        for (int k = in(call)->rank - 1; k >= 0; k--) {
            index[k] = rest % in(call)->shape[k];
            rest /= in(call)->shape[k];
        }
        y[i] = 2 * x[i] + (is_wrong != NULL && is_wrong(in(call), index, i) ? 1.0F : 0.0F);
    }
    return OPD_OK;
}

static int64_t last(const opd_tensor *view, int back)
{
    return view->shape[view->rank - back];
}

static bool is_tail(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    (void)flat;
    return index[view->rank - 1] >= last(view, 1) - last(view, 1) % 8;
}

static bool is_border(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    (void)flat;
    int64_t i = index[view->rank - 2];
    int64_t k = index[view->rank - 1];
    return i == 0 || k == 0 || i == last(view, 2) - 1 || k == last(view, 1) - 1;
}

static bool is_channel(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    (void)flat;
    return view->rank > 1 && index[1] >= 2 && index[1] <= 3;
}

static bool is_row(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    (void)flat;
    return index[view->rank - 2] == 5;
}

static bool is_third(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    (void)flat;
    return index[view->rank - 1] % 3 == 1;
}

static bool is_seam(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    (void)flat;
    return index[view->rank - 1] % 32 == 0 && index[view->rank - 1] > 0;
}

static bool is_tile(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    (void)flat;
    return index[view->rank - 1] >= (last(view, 1) - 1) / 64 * 64;
}

static bool is_one(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    (void)view;
    (void)index;
    return flat == 77;
}

static bool is_scattered(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    (void)view;
    (void)index;
    return (uint64_t)flat * UINT64_C(0x9e3779b97f4a7c15) >> 58 == 7;
}

static bool is_flat_tail(const opd_tensor *view, const int64_t *index, int64_t flat)
{
    int64_t count = 1;
    (void)index;
    for (int i = 0; i < view->rank; i++) {
        count *= view->shape[i];
    }
    return flat >= count - count % 16;
}

#define TWICE(name, where)                                                             \
    static opd_status run_##name(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                  \
        (void)workspace;                                                               \
        return twice_but(call, where);                                                 \
    }
TWICE(right, NULL)
TWICE(tail, is_tail)
TWICE(border, is_border)
TWICE(channel, is_channel)
TWICE(row, is_row)
TWICE(third, is_third)
TWICE(seam, is_seam)
TWICE(tile, is_tile)
TWICE(one, is_one)
TWICE(scatter, is_scattered)
TWICE(flat_tail, is_flat_tail)

static opd_status run_scale(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < count_of(call); i++) {
        ((float *)out(call)->data)[i] = ((const float *)in(call)->data)[i] * 2 * (1 + 0x1p-10F);
    }
    return OPD_OK;
}

static opd_status run_growing(const opd_call *call, const opd_workspace *workspace)
{
    int64_t length = last(in(call), 1);
    (void)workspace;
    for (int64_t i = 0; i < count_of(call); i++) {
        float error = 0x1p-16F * (float)(i % length + 1) * (float)(i % length + 1);
        ((float *)out(call)->data)[i] = ((const float *)in(call)->data)[i] * 2 * (1 + error);
    }
    return OPD_OK;
}

static opd_status run_zeros(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < count_of(call); i++) {
        ((float *)out(call)->data)[i] = 0;
    }
    return OPD_OK;
}

static opd_status run_half(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < count_of(call) / 2; i++) {
        ((float *)out(call)->data)[i] = ((const float *)in(call)->data)[i] * 2;
    }
    return OPD_OK;
}

static opd_status run_mutates(const opd_call *call, const opd_workspace *workspace)
{
    opd_status status = run_right(call, workspace);
    ((float *)in(call)->data)[3] = 7;
    return status;
}

static opd_status run_crash(const opd_call *call, const opd_workspace *workspace)
{
    (void)call;
    (void)workspace;
    abort();
}

static opd_status run_hang(const opd_call *call, const opd_workspace *workspace)
{
    (void)call;
    (void)workspace;
    while (getpid() > 0) {
        pause();
    }
    return OPD_OK;
}

/* Off by a factor of 1 + error. */
static opd_status twice_off(const opd_call *call, float error)
{
    for (int64_t i = 0; i < count_of(call); i++) {
        ((float *)out(call)->data)[i] = ((const float *)in(call)->data)[i] * 2 * (1 + error);
    }
    return OPD_OK;
}

static opd_status run_off_by_24(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    return twice_off(call, 24 * 0x1p-23F);
}

static opd_status run_off_by_100(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    return twice_off(call, 100 * 0x1p-23F);
}

static opd_status run_off_by_110(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    return twice_off(call, 110 * 0x1p-23F);
}

static opd_status run_inexact(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < count_of(call); i++) {
        ((float *)out(call)->data)[i] = ((const float *)in(call)->data)[i] * 2 * (1 + 0x1p-22F);
    }
    return OPD_OK;
}

static opd_status run_sum(const opd_call *call, const opd_workspace *workspace)
{
    int64_t length = last(in(call), 1);
    (void)workspace;
    for (int64_t row = 0; row < count_of(call) / length; row++) {
        float sum = 0;
        for (int64_t i = 0; i < length; i++) {
            sum += ((const float *)in(call)->data)[row * length + i];
        }
        ((float *)out(call)->data)[row] = sum;
    }
    return OPD_OK;
}

static const opd_variant twice[] = {
    { .name = "right", .isa = "", .run = run_right },
    { .name = "tail", .isa = "", .run = run_tail, .fault = "tail" },
    { .name = "border", .isa = "", .run = run_border, .fault = "border" },
    { .name = "channel", .isa = "", .run = run_channel, .fault = "channel" },
    { .name = "row", .isa = "", .run = run_row, .fault = "row" },
    { .name = "third", .isa = "", .run = run_third, .fault = "third" },
    { .name = "seam", .isa = "", .run = run_seam, .fault = "seam" },
    { .name = "tile", .isa = "", .run = run_tile, .fault = "tile" },
    { .name = "one", .isa = "", .run = run_one, .fault = "one" },
    { .name = "scatter", .isa = "", .run = run_scatter, .fault = "scatter" },
    { .name = "flat-tail", .isa = "", .run = run_flat_tail, .fault = "flat-tail" },
    { .name = "scale", .isa = "", .run = run_scale, .fault = "scale" },
    { .name = "growing", .isa = "", .run = run_growing, .fault = "growing" },
    { .name = "zeros", .isa = "", .run = run_zeros, .fault = "zeros" },
    { .name = "half", .isa = "", .run = run_half, .fault = "half" },
    { .name = "mutates", .isa = "", .run = run_mutates, .fault = "mutates" },
    { .name = "crash", .isa = "", .run = run_crash, .fault = "crash" },
    { .name = "hang", .isa = "", .run = run_hang, .fault = "hang" },
    { .name = "openblas", .isa = "", .run = run_off_by_100, .fault = "stands for a library that is off" },
    { .name = "nearer", .isa = "", .run = run_off_by_24, .fault = "nearer than the library" },
    { .name = "alike", .isa = "", .run = run_off_by_110, .fault = "as the library is" },
    { .name = "inexact", .isa = "", .run = run_inexact, .fault = "inexact" },
};
static const opd_variant sum[] = { { .name = "serial", .isa = "", .run = run_sum } };

static const opd_op ops[] = {
    { .domain = "test",
      .name = "Twice",
      .types = "f32",
      .signature = "X:T[n...] -> Y:T[n...]",
      .attributes = "",
      .flops = "prod(n)",
      .reduction = "0",
      .summary = "doubles",
      .bound = { .kind = OPD_BOUND_GAUGE } },
    { .domain = "test",
      .name = "RowSum",
      .types = "f32",
      .signature = "X:T[n..., d] -> Y:T[n...]",
      .attributes = "",
      .flops = "prod(n) * d",
      .reduction = "d",
      .summary = "adds up",
      .bound = { .kind = OPD_BOUND_GAUGE } },
};
static const opd_kernel kernels[] = {
    { "test", "Twice", define_twice, twice, (int)(sizeof twice / sizeof *twice) },
    { "test", "RowSum", define_sum, sum, 1 },
};
static const opd_library library = { OPD_LIBRARY_INIT, .ops = ops, .op_count = 2, .kernels = kernels,
                                     .kernel_count = 2 };

OPD_PUBLIC const opd_library *opsdebug_library(void);
const opd_library *opsdebug_library(void)
{
    return &library;
}
