/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of the references: scaling, matrix products, substitution. Every operation is rounded to the precision asked
 * for, so that the same loops are the high-precision reference and the naive variant in the call's own precision.
 */
#include <math.h>

#include <opsdebug/memory.h>

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

/*
 * Rows of f64: operands hold values of at most that precision, and rows of doubles pass through the caches at half the
 * cost of long double. im is NULL for real.
 */
struct rows {
    double *re, *im;
    int64_t length;
};

static void rows_done(struct rows *rows)
{
    opd_free(rows->re);
    opd_free(rows->im);
}

/* The rows of a matrix, or its columns as rows. */
static opd_status rows_of(struct rows *out, const opd_dense *matrix, bool by_columns)
{
    size_t count = (size_t)(matrix->rows * matrix->cols);
    void *re = NULL;
    void *im = NULL;
    opd_status status = opd_alloc_array(&re, count, sizeof(double));
    if (status == OPD_OK && matrix->im != NULL) {
        status = opd_alloc_array(&im, count, sizeof(double));
    }
    *out = (struct rows){ re, im, by_columns ? matrix->rows : matrix->cols };
    for (int64_t i = 0; status == OPD_OK && i < matrix->rows; i++) {
        for (int64_t j = 0; j < matrix->cols; j++) {
            int64_t at = by_columns ? j * matrix->rows + i : i * matrix->cols + j;
            opd_number value = opd_dense_at(matrix, i, j);
            out->re[at] = (double)value.re;
            if (out->im != NULL) {
                out->im[at] = (double)value.im;
            }
        }
    }
    return status;
}

/* Terms [from, to) of row i of left times row j of right. */
struct product {
    const double *a_re, *a_im, *b_re, *b_im;
    int64_t count;
};

/* An inner product whose every operation is rounded to `real`. */
#define DEFINE_INNER(name, real)                                                             \
    static opd_number name(const struct product *p)                                          \
    {                                                                                        \
        real re = 0;                                                                         \
        real im = 0;                                                                         \
        if (p->a_im == NULL) {                                                               \
            for (int64_t k = 0; k < p->count; k++) {                                         \
                re += (real)p->a_re[k] * (real)p->b_re[k];                                   \
            }                                                                                \
            return (opd_number){ re, 0 };                                                    \
        }                                                                                    \
        for (int64_t k = 0; k < p->count; k++) {                                             \
            re += (real)p->a_re[k] * (real)p->b_re[k] - (real)p->a_im[k] * (real)p->b_im[k]; \
            im += (real)p->a_re[k] * (real)p->b_im[k] + (real)p->a_im[k] * (real)p->b_re[k]; \
        }                                                                                    \
        return (opd_number){ re, im };                                                       \
    }
DEFINE_INNER(inner_complex_wide, long double)
DEFINE_INNER(inner_f64, double)
DEFINE_INNER(inner_f32, float)

/* Order does not matter at this precision, latency does: two sums at a time. */
static opd_number inner_wide(const struct product *p)
{
    long double even = 0;
    long double odd = 0;
    int64_t k = 0;
    if (p->a_im != NULL) {
        return inner_complex_wide(p);
    }
    for (; k + 2 <= p->count; k += 2) {
        even += (long double)p->a_re[k] * (long double)p->b_re[k];
        odd += (long double)p->a_re[k + 1] * (long double)p->b_re[k + 1];
    }
    if (k < p->count) {
        even += (long double)p->a_re[k] * (long double)p->b_re[k];
    }
    return (opd_number){ even + odd, 0 };
}

static opd_number inner(const struct product *product, opd_precision precision)
{
    switch (precision) {
    case OPD_PRECISION_F32:
        return inner_f32(product);
    case OPD_PRECISION_F64:
        return inner_f64(product);
    default:
        return inner_wide(product);
    }
}

/* The same in double: a few ulp off and several times faster, but blind to terms that overflow or vanish. */
#define QUICK_LOW  1e-250
#define QUICK_HIGH 1e300
static double quick_gauge(const struct product *p)
{
    double sums[4] = { 0, 0, 0, 0 };
    int64_t k = 0;
    for (; k + 4 <= p->count; k += 4) {
        sums[0] += fabs(p->a_re[k] * p->b_re[k]);
        sums[1] += fabs(p->a_re[k + 1] * p->b_re[k + 1]);
        sums[2] += fabs(p->a_re[k + 2] * p->b_re[k + 2]);
        sums[3] += fabs(p->a_re[k + 3] * p->b_re[k + 3]);
    }
    for (; k < p->count; k++) {
        sums[0] += fabs(p->a_re[k] * p->b_re[k]);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* The sum of the sizes of the terms; long double, because the product of two large values is still a finite bound. */
static long double inner_gauge(const struct product *p)
{
    long double size = 0;
    if (p->a_im == NULL) {
        double quick = quick_gauge(p);
        if (quick > QUICK_LOW && quick < QUICK_HIGH) {
            return (long double)quick;
        }
        for (int64_t k = 0; k < p->count; k++) {
            size += fabsl((long double)p->a_re[k] * (long double)p->b_re[k]);
        }
        return size;
    }
    for (int64_t k = 0; k < p->count; k++) {
        long double size_a = fabsl((long double)p->a_re[k]) + fabsl((long double)p->a_im[k]);
        long double size_b = fabsl((long double)p->b_re[k]) + fabsl((long double)p->b_im[k]);
        size += size_a * size_b;
    }
    return size;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct product terms_of(const struct rows *left, int64_t i, const struct rows *right, int64_t j, int64_t from,
                               int64_t to)
{
    int64_t a = i * left->length + from;
    int64_t b = j * right->length + from;
    bool is_complex = left->im != NULL && right->im != NULL;
    return (struct product){ .a_re = left->re + a,
                             .a_im = is_complex ? left->im + a : NULL,
                             .b_re = right->re + b,
                             .b_im = is_complex ? right->im + b : NULL,
                             .count = to > from ? to - from : 0 };
}

opd_status opd_dense_multiply_add(opd_dense *out, opd_factor factor, const opd_dense *left, const opd_dense *right,
                                  opd_precision precision)
{
    long double size = opd_number_size(factor.value);
    if (size == 0) {
        return OPD_OK;
    }
    struct rows rows = { .re = NULL };
    struct rows columns = { .re = NULL };
    opd_status status = rows_of(&rows, left, false);
    if (status == OPD_OK) {
        status = rows_of(&columns, right, true);
    }
    for (int64_t i = 0; status == OPD_OK && i < out->rows; i++) {
        for (int64_t j = 0; j < out->cols; j++) {
            if (!opd_dense_has(out, i, j)) {
                continue;
            }
            int64_t from = larger(0, larger(i - left->below, j - right->above));
            int64_t to = smaller(left->cols, smaller(i + left->above, j + right->below) + 1);
            struct product product = terms_of(&rows, i, &columns, j, from, to);
            opd_number term = opd_factor_mul(factor, inner(&product, precision), precision);
            long double gauge = precision == OPD_PRECISION_WIDE ? size * inner_gauge(&product) : 0;
            int64_t at = i * out->cols + j;
            opd_dense_put(out, i, j, opd_number_add(opd_dense_at(out, i, j), term, precision), out->gauge[at] + gauge);
        }
    }
    rows_done(&rows);
    rows_done(&columns);
    return status;
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
