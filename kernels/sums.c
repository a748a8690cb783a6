/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of the references: scaling, matrix products, substitution. Every operation is rounded to the precision asked
 * for, so that the same loops are the high-precision reference and the naive variant in the call's own precision.
 */
#include <math.h>

#include "dense.h"

long double opd_number_size(opd_number value)
{
    return fabsl(value.re) + fabsl(value.im);
}

opd_number opd_number_add(opd_number a, opd_number b, opd_precision precision)
{
    return (opd_number){ opd_narrow(a.re + b.re, precision), opd_narrow(a.im + b.im, precision) };
}

opd_number opd_number_mul(opd_number a, opd_number b, opd_precision precision)
{
    long double re = opd_narrow(a.re * b.re, precision) - opd_narrow(a.im * b.im, precision);
    long double im = opd_narrow(a.re * b.im, precision) + opd_narrow(a.im * b.re, precision);
    return (opd_number){ opd_narrow(re, precision), opd_narrow(im, precision) };
}

opd_number opd_factor_mul(opd_factor factor, opd_number value, opd_precision precision)
{
    if (!factor.is_real) {
        return opd_number_mul(factor.value, value, precision);
    }
    return (opd_number){ opd_narrow(factor.value.re * value.re, precision),
                         opd_narrow(factor.value.re * value.im, precision) };
}

opd_number opd_number_div(opd_number a, opd_number b, opd_precision precision)
{
    if (b.im == 0) {
        return (opd_number){ opd_narrow(a.re / b.re, precision), a.im == 0 ? 0 : opd_narrow(a.im / b.re, precision) };
    }
    /* The squares of f64 values neither overflow nor vanish in long double. */
    long double square = b.re * b.re + b.im * b.im;
    return (opd_number){ opd_narrow((a.re * b.re + a.im * b.im) / square, precision),
                         opd_narrow((a.im * b.re - a.re * b.im) / square, precision) };
}

void opd_dense_scale(opd_dense *matrix, opd_factor factor, opd_precision precision)
{
    long double size = opd_number_size(factor.value);
    bool is_zero = size == 0;
    for (int64_t i = 0; i < matrix->rows; i++) {
        for (int64_t j = 0; j < matrix->cols; j++) {
            opd_number value =
                is_zero ? (opd_number){ 0, 0 } : opd_factor_mul(factor, opd_dense_at(matrix, i, j), precision);
            long double gauge = is_zero ? 0 : size * matrix->gauge[i * matrix->cols + j];
            opd_dense_put(matrix, i, j, value, gauge);
        }
    }
}

/* Row i of left times row j of right, over [from, to). */
struct product {
    const opd_dense *left, *right;
    int64_t i, j;
    int64_t from, to;
};

static inline __attribute__((always_inline)) opd_number inner(long double *gauge, const struct product *p,
                                                              opd_precision precision)
{
    int64_t row_a = p->i * p->left->cols;
    int64_t row_b = p->j * p->right->cols;
    const long double *a = p->left->re + row_a;
    const long double *b = p->right->re + row_b;
    const long double *size_a = p->left->gauge + row_a;
    const long double *size_b = p->right->gauge + row_b;
    opd_number sum = { 0, 0 };
    long double size = 0;
    if (p->left->im == NULL || p->right->im == NULL) {
        for (int64_t k = p->from; k < p->to; k++) {
            sum.re = opd_narrow(sum.re + opd_narrow(a[k] * b[k], precision), precision);
            size += size_a[k] * size_b[k];
        }
    } else {
        const long double *im_a = p->left->im + row_a;
        const long double *im_b = p->right->im + row_b;
        for (int64_t k = p->from; k < p->to; k++) {
            long double re = opd_narrow(a[k] * b[k], precision) - opd_narrow(im_a[k] * im_b[k], precision);
            long double im = opd_narrow(a[k] * im_b[k], precision) + opd_narrow(im_a[k] * b[k], precision);
            sum.re = opd_narrow(sum.re + opd_narrow(re, precision), precision);
            sum.im = opd_narrow(sum.im + opd_narrow(im, precision), precision);
            size += size_a[k] * size_b[k];
        }
    }
    *gauge = size;
    return sum;
}

/* The precision becomes a constant of each loop. */
static opd_number inner_in(long double *gauge, const struct product *product, opd_precision precision)
{
    switch (precision) {
    case OPD_PRECISION_F32:
        return inner(gauge, product, OPD_PRECISION_F32);
    case OPD_PRECISION_F64:
        return inner(gauge, product, OPD_PRECISION_F64);
    default:
        return inner(gauge, product, OPD_PRECISION_WIDE);
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

opd_status opd_dense_multiply_add(opd_dense *out, opd_factor factor, const opd_dense *left, const opd_dense *right,
                                  opd_precision precision)
{
    long double size = opd_number_size(factor.value);
    if (size == 0) {
        return OPD_OK;
    }
    opd_dense columns = { .rows = 0 };
    opd_status status = opd_dense_new(&columns, right->cols, right->rows, right->im != NULL);
    if (status != OPD_OK) {
        return status;
    }
    for (int64_t k = 0; k < right->rows; k++) {
        for (int64_t j = 0; j < right->cols; j++) {
            opd_dense_put(&columns, j, k, opd_dense_at(right, k, j), right->gauge[k * right->cols + j]);
        }
    }
    for (int64_t i = 0; i < out->rows; i++) {
        for (int64_t j = 0; j < out->cols; j++) {
            if (!opd_dense_has(out, i, j)) {
                continue;
            }
            struct product product = { .left = left, .right = &columns, .i = i, .j = j };
            product.from = larger(0, larger(i - left->below, j - right->above));
            product.to = smaller(left->cols, smaller(i + left->above, j + right->below) + 1);
            long double gauge;
            opd_number sum = inner_in(&gauge, &product, precision);
            opd_number term = opd_factor_mul(factor, sum, precision);
            int64_t at = i * out->cols + j;
            opd_dense_put(out, i, j, opd_number_add(opd_dense_at(out, i, j), term, precision),
                          out->gauge[at] + size * gauge);
        }
    }
    opd_dense_free(&columns);
    return OPD_OK;
}

/* Row i of the solution from the rows that are done. */
static void solve_row(opd_dense *rhs, const opd_dense *triangle, int64_t i, int64_t column, opd_precision precision)
{
    int64_t from = larger(0, i - triangle->below);
    int64_t to = smaller(triangle->cols, i + triangle->above + 1);
    opd_number value = opd_dense_at(rhs, i, column);
    long double gauge = rhs->gauge[i * rhs->cols + column];
    for (int64_t k = from; k < to; k++) {
        if (k == i) {
            continue;
        }
        opd_number factor = opd_dense_at(triangle, i, k);
        opd_number term = opd_number_mul(factor, opd_dense_at(rhs, k, column), precision);
        value = opd_number_add(value, (opd_number){ -term.re, -term.im }, precision);
        gauge += opd_number_size(factor) * rhs->gauge[k * rhs->cols + column];
    }
    opd_number diagonal = opd_dense_at(triangle, i, i);
    long double size = hypotl(diagonal.re, diagonal.im);
    opd_dense_put(rhs, i, column, opd_number_div(value, diagonal, precision), gauge / size);
}

void opd_dense_solve(opd_dense *rhs, const opd_dense *triangle, opd_precision precision)
{
    bool is_lower = triangle->above == 0;
    for (int64_t step = 0; step < rhs->rows; step++) {
        int64_t i = is_lower ? step : rhs->rows - 1 - step;
        for (int64_t column = 0; column < rhs->cols; column++) {
            solve_row(rhs, triangle, i, column, precision);
        }
    }
}
