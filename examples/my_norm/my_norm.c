/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of two operators of one's own. RmsNorm is right. StdNorm's first variant is wrong in a way that real kernels were: it takes the variance
 * as E[x^2] - E[x]^2 in one pass. That passes on data around zero and loses all digits once the mean is large against the deviation.
 *
 *   cc -shared -fPIC -O2 $(pkg-config --cflags opsdebug) my_norm.c -o my_norm.so -lm
 *   ops-debug run --library ./my_norm.so --op StdNorm
 *   ops-debug run --library ./my_norm.so --op StdNorm --variant two-pass
 */
#include <math.h>

#include <opsdebug/kernel.h>

static int64_t last_of(int rank, const int64_t *shape)
{
    return shape[rank - 1];
}

/* ------------------------------------------------------------------- definitions: what is right, by the book */

static opd_status define_rms(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    const opd_array *scale = &work->array[1];
    opd_array *y = &work->array[2];
    int64_t d = last_of(x->rank, x->shape);
    long double epsilon = opd_call_real(work->call, "epsilon", 1e-5);
    for (int64_t row = 0; row < y->count; row += d) {
        long double sum = 0;
        for (int64_t i = 0; i < d; i++) {
            sum = opd_round(work, sum + opd_round(work, x->value[row + i] * x->value[row + i]));
        }
        long double root = opd_round(work, sqrtl(opd_round(work, opd_round(work, sum / d) + epsilon)));
        for (int64_t i = 0; i < d; i++) {
            long double value = opd_round(work, opd_round(work, x->value[row + i] / root) * scale->value[i]);
            y->value[row + i] = value;
            if (y->gauge != NULL) {
                y->gauge[row + i] = fabsl(value);
            }
        }
    }
    return OPD_OK;
}

/* The mean is subtracted: the error of a good result grows with the magnitudes on the way, which is what the gauge says. */
static opd_status define_std(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    opd_array *y = &work->array[1];
    int64_t d = last_of(x->rank, x->shape);
    long double epsilon = opd_call_real(work->call, "epsilon", 1e-5);
    for (int64_t row = 0; row < y->count; row += d) {
        long double sum = 0;
        long double size = 0;
        long double squares = 0;
        for (int64_t i = 0; i < d; i++) {
            sum = opd_round(work, sum + x->value[row + i]);
            size += fabsl(x->value[row + i]) / d;
        }
        long double mean = opd_round(work, sum / d);
        for (int64_t i = 0; i < d; i++) {
            long double from = opd_round(work, x->value[row + i] - mean);
            squares = opd_round(work, squares + opd_round(work, from * from));
        }
        long double root = opd_round(work, sqrtl(opd_round(work, opd_round(work, squares / d) + epsilon)));
        for (int64_t i = 0; i < d; i++) {
            y->value[row + i] = opd_round(work, opd_round(work, x->value[row + i] - mean) / root);
            if (y->gauge != NULL) {
                y->gauge[row + i] = (fabsl(x->value[row + i]) + size) / root;
            }
        }
    }
    return OPD_OK;
}

/* ---------------------------------------------------------------------------------- variants: what is fast */

typedef struct rows {
    const float *x, *scale;
    float *y;
    int64_t d;
    double epsilon;
} rows;

static rows rows_of(const opd_call *call)
{
    const opd_operand *operands = call->operands;
    const opd_tensor *x = &operands[0].view;
    bool is_scaled = call->operand_count == 3;
    return (rows){ .x = x->data,
                   .scale = is_scaled ? operands[1].view.data : NULL,
                   .y = operands[call->operand_count - 1].view.data,
                   .d = last_of(x->rank, x->shape),
                   .epsilon = opd_call_real(call, "epsilon", 1e-5) };
}

static int64_t count_of(const opd_call *call)
{
    const opd_tensor *x = &call->operands[0].view;
    int64_t d = last_of(x->rank, x->shape);
    return d > 0 ? opd_tensor_count(x) / d : 0;
}

/* Sum over a row of x - from or its square. In double: squares of large floats are beyond float. Eight sums: the compiler may use vectors. */
static double sum_of(const float *x, int64_t d, double from, bool is_square)
{
    double part[8] = { 0 };
    for (int64_t i = 0; i < d; i++) {
        double term = (double)x[i] - from;
        part[i % 8] += is_square ? term * term : term;
    }
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

/* One row is one part: each writes only its own, so that results do not depend on how many threads there are. */
static void rms_row(void *context, int64_t row)
{
    const rows *r = context;
    const float *x = r->x + row * r->d;
    double root = sqrt(sum_of(x, r->d, 0, true) / (double)r->d + r->epsilon);
    for (int64_t i = 0; i < r->d; i++) {
        r->y[row * r->d + i] = (float)((double)x[i] / root * (double)r->scale[i]);
    }
}

static void two_pass_row(void *context, int64_t row)
{
    const rows *r = context;
    const float *x = r->x + row * r->d;
    double mean = sum_of(x, r->d, 0, false) / (double)r->d;
    double root = sqrt(sum_of(x, r->d, mean, true) / (double)r->d + r->epsilon);
    for (int64_t i = 0; i < r->d; i++) {
        r->y[row * r->d + i] = (float)(((double)x[i] - mean) / root);
    }
}

/* The fault: the variance is the difference of two large floats that are nearly equal. */
static void one_pass_row(void *context, int64_t row)
{
    const rows *r = context;
    const float *x = r->x + row * r->d;
    float sum = 0;
    float squares = 0;
    for (int64_t i = 0; i < r->d; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    float mean = sum / (float)r->d;
    float variance = fmaxf(squares / (float)r->d - mean * mean, 0);
    float root = sqrtf(variance + (float)r->epsilon);
    for (int64_t i = 0; i < r->d; i++) {
        r->y[row * r->d + i] = (x[i] - mean) / root;
    }
}

static opd_status run_rms(const opd_call *call, const opd_workspace *workspace)
{
    rows r = rows_of(call);
    opd_parallel(workspace->threads, count_of(call), rms_row, &r);
    return OPD_OK;
}

static opd_status run_two_pass(const opd_call *call, const opd_workspace *workspace)
{
    rows r = rows_of(call);
    opd_parallel(workspace->threads, count_of(call), two_pass_row, &r);
    return OPD_OK;
}

static opd_status run_one_pass(const opd_call *call, const opd_workspace *workspace)
{
    rows r = rows_of(call);
    opd_parallel(workspace->threads, count_of(call), one_pass_row, &r);
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------------- what there is */

static const opd_op ops[] = {
    { .domain = "my",
      .name = "RmsNorm",
      .types = "f32",
      .signature = "X:T[n..., d], Scale:T[d] -> Y:T[n..., d]",
      .attributes = "epsilon:f=1e-5",
      .defaults = "n...=8,64 d=128",
      .flops = "4 * prod(n) * d",
      .reduction = "d",
      .summary = "Y = X / sqrt(mean(X^2) + epsilon) * Scale over the last dimension",
      .bound = { .kind = OPD_BOUND_GAUGE },
      .determinism = OPD_DETERMINISM_THREADS },
    { .domain = "my",
      .name = "StdNorm",
      .types = "f32",
      .signature = "X:T[n..., d] fill(normal:100:1) -> Y:T[n..., d]",
      .attributes = "epsilon:f=1e-5",
      .defaults = "n...=8,64 d=128",
      .flops = "5 * prod(n) * d",
      .reduction = "d",
      .summary = "Y = (X - mean) / sqrt(variance + epsilon) over the last dimension",
      .bound = { .kind = OPD_BOUND_GAUGE },
      .determinism = OPD_DETERMINISM_THREADS },
};

static const opd_variant rms_variants[] = {
    { .name = "rows", .declines = opd_call_strided, .run = run_rms, .determinism = OPD_DETERMINISM_BATCH },
};
static const opd_variant std_variants[] = {
    { .name = "one-pass", .declines = opd_call_strided, .run = run_one_pass, .determinism = OPD_DETERMINISM_BATCH },
    { .name = "two-pass", .declines = opd_call_strided, .run = run_two_pass, .determinism = OPD_DETERMINISM_BATCH },
};
static const opd_kernel kernels[] = {
    { .domain = "my", .name = "RmsNorm", .define = define_rms, .variants = rms_variants, .variant_count = 1 },
    { .domain = "my", .name = "StdNorm", .define = define_std, .variants = std_variants, .variant_count = 2 },
};
static const opd_library library = { OPD_LIBRARY_INIT, .ops = ops, .op_count = 2, .kernels = kernels,
                                     .kernel_count = 2 };

OPD_PUBLIC const opd_library *opsdebug_library(void);
const opd_library *opsdebug_library(void)
{
    return &library;
}
