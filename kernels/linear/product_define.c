/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of MatMul, Gemm, MatMulBiasGelu and QkvProjection: sums of products in order of k. The gauge of an element is the
 * sum of the absolute values of all terms that make it. Integers are computed modulo 2^64 and wrap to their dtype.
 */
#include <math.h>

#include <opsdebug/memory.h>

#include "linear_define.h"

/* An element as an integer modulo 2^64, and back to the dtype. */
static uint64_t to_bits(long double value)
{
    return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

static long double from_bits(opd_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case OPD_I32:
        return (int32_t)(uint32_t)bits;
    case OPD_U32:
        return (uint32_t)bits;
    case OPD_I64:
        return (int64_t)bits;
    default:
        return bits;
    }
}

opd_sum opd_dot(const opd_definition_work *work, opd_terms a, opd_terms b, int64_t count)
{
    opd_sum sum = { 0, 0 };
    if (!opd_dtype_is_float(work->call->dtype)) {
        uint64_t bits = 0;
        for (int64_t i = 0; i < count; i++) {
            bits += to_bits(a.at[i * a.step]) * to_bits(b.at[i * b.step]);
        }
        sum.value = from_bits(work->call->dtype, bits);
        return sum;
    }
    for (int64_t i = 0; i < count; i++) {
        long double term = opd_round(work, a.at[i * a.step] * b.at[i * b.step]);
        sum.value = opd_round(work, sum.value + term);
        sum.gauge += fabsl(term);
    }
    return sum;
}

static void put(opd_array *out, int64_t at, opd_sum sum)
{
    out->value[at] = sum.value;
    if (out->gauge != NULL) {
        out->gauge[at] = sum.gauge;
    }
}

opd_status opd_define_matmul(opd_definition_work *work)
{
    const opd_array *a = &work->array[0];
    const opd_array *b = &work->array[1];
    opd_array *y = &work->array[2];
    opd_product_shape shape = opd_matmul_shape(a->rank, a->shape, b->rank, b->shape);
    for (int64_t batch = 0; batch < shape.batch; batch++) {
        int64_t from_a = 0;
        int64_t from_b = 0;
        opd_product_offsets(&from_a, &from_b, &shape, batch);
        for (int64_t at = 0; at < shape.m * shape.n; at++) {
            opd_terms row = { a->value + from_a + at / shape.n * shape.k, 1 };
            opd_terms column = { b->value + from_b + at % shape.n, shape.n };
            put(y, batch * shape.m * shape.n + at, opd_dot(work, row, column, shape.k));
        }
    }
    return OPD_OK;
}

/* factor * a, and with an integer dtype its wrapped value. */
static opd_sum scale(const opd_definition_work *work, double factor, opd_sum a)
{
    if (!opd_dtype_is_float(work->call->dtype)) {
        a.value = from_bits(work->call->dtype, to_bits((long double)factor) * to_bits(a.value));
        return a;
    }
    long double rounded = opd_round(work, (long double)factor);
    if (rounded != 1) { /* times one is the same value; not so for a NaN's payload, which nobody compares */
        a.value = opd_round(work, rounded * a.value);
        /* Out of range before it is scaled, it may become anything. */
        a.gauge = opd_is_beyond_range(work, a.gauge) ? (long double)INFINITY : a.gauge * fabsl(rounded);
    }
    return a;
}

static opd_sum add(const opd_definition_work *work, opd_sum a, opd_sum b)
{
    if (!opd_dtype_is_float(work->call->dtype)) {
        return (opd_sum){ from_bits(work->call->dtype, to_bits(a.value) + to_bits(b.value)), 0 };
    }
    return (opd_sum){ opd_round(work, a.value + b.value), a.gauge + b.gauge };
}

opd_status opd_define_gemm(opd_definition_work *work)
{
    const opd_array *a = &work->array[0];
    const opd_array *b = &work->array[1];
    const opd_array *c = &work->array[2];
    opd_array *y = &work->array[3];
    bool is_a_transposed = opd_call_int(work->call, "transA", 0) != 0;
    bool is_b_transposed = opd_call_int(work->call, "transB", 0) != 0;
    double alpha = opd_call_real(work->call, "alpha", 1);
    double beta = opd_call_real(work->call, "beta", 1);
    int64_t count = a->shape[is_a_transposed ? 0 : 1];
    int64_t c_row = 0;
    int64_t c_column = 0;
    opd_bias_strides(&c_row, &c_column, c->rank, c->shape);
    for (int64_t at = 0; at < y->count; at++) {
        int64_t i = at / y->shape[1];
        int64_t j = at % y->shape[1];
        opd_terms row =
            is_a_transposed ? (opd_terms){ a->value + i, a->shape[1] } : (opd_terms){ a->value + i * a->shape[1], 1 };
        opd_terms column =
            is_b_transposed ? (opd_terms){ b->value + j * b->shape[1], 1 } : (opd_terms){ b->value + j, b->shape[1] };
        opd_sum sum = scale(work, alpha, opd_dot(work, row, column, count));
        if (c->value != NULL && beta != 0) { /* with beta = 0, C is not read */
            long double bias = c->value[i * c_row + j * c_column];
            sum = add(work, sum, scale(work, beta, (opd_sum){ bias, fabsl(bias) }));
        }
        put(y, at, sum);
    }
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------------------- fused */

static long double gelu(const opd_definition_work *work, long double x, bool is_tanh)
{
    long double half = opd_round(work, x / 2);
    if (is_tanh) {
        long double cube = opd_round(work, opd_round(work, x * x) * x);
        long double inner = opd_round(work, x + opd_round(work, opd_round(work, 0.044715L) * cube));
        inner = opd_round(work, opd_round(work, sqrtl(2 / acosl(-1))) * inner);
        return opd_round(work, half * opd_round(work, 1 + opd_round(work, tanhl(inner))));
    }
    long double inner = opd_round(work, x * opd_round(work, sqrtl(0.5L)));
    return opd_round(work, half * opd_round(work, 1 + opd_round(work, erfl(inner))));
}

/* Columns of [rows, k] by [k, n], plus their bias, into y; product (NULL = not wanted): before the bias. */
static void project(opd_definition_work *work, opd_array *y, double *product, int64_t first)
{
    const opd_array *x = &work->array[0];
    const opd_array *weight = &work->array[1];
    const opd_array *bias = &work->array[2];
    int64_t k = weight->shape[0];
    int64_t n = weight->shape[1];
    int64_t columns = y->shape[y->rank - 1];
    for (int64_t at = 0; at < y->count; at++) {
        int64_t j = first + at % columns;
        opd_terms row = { x->value + at / columns * k, 1 };
        opd_sum sum = opd_dot(work, row, (opd_terms){ weight->value + j, n }, k);
        if (product != NULL) {
            product[at] = (double)sum.value;
        }
        if (bias->value != NULL) {
            sum = add(work, sum, (opd_sum){ bias->value[j], fabsl(bias->value[j]) });
        }
        put(y, at, sum);
    }
}

/* The slope of Gelu is at most 1.13, so the terms of the sum bound its error too; Gelu's own (|x| / 4) is less. */
opd_status opd_define_matmul_bias_gelu(opd_definition_work *work)
{
    opd_array *y = &work->array[3];
    bool is_tanh = strcmp(opd_call_text(work->call, "approximate", "none"), "tanh") == 0;
    double *product = NULL;
    double *biased = NULL;
    opd_status status = opd_stage_begin(&product, y->count);
    status = status == OPD_OK ? opd_stage_begin(&biased, y->count) : status;
    if (status != OPD_OK) {
        opd_free(product);
        return status;
    }
    project(work, y, product, 0);
    for (int64_t at = 0; at < y->count; at++) {
        if (biased != NULL) {
            biased[at] = (double)y->value[at];
        }
        y->value[at] = gelu(work, y->value[at], is_tanh);
    }
    opd_stage_end("product", product, y->rank, y->shape);
    opd_stage_end("biased", biased, y->rank, y->shape);
    return OPD_OK;
}

/* Stage of the product before the bias: those of Q, K and V one after the other. */
opd_status opd_define_qkv(opd_definition_work *work)
{
    int64_t first = 0;
    opd_status status = OPD_OK;
    for (int i = 3; i < 6 && status == OPD_OK; i++) {
        opd_array *y = &work->array[i];
        double *product = NULL;
        status = opd_stage_begin(&product, y->count);
        if (status == OPD_OK) {
            project(work, y, product, first);
            opd_stage_end("product", product, y->rank, y->shape);
            first += y->shape[y->rank - 1];
        }
    }
    return status;
}
