/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands as dense matrices of long double, and the few loops that references are made of. Private to kernels/.
 *
 * A vector is n x 1, a scalar 1 x 1; a triangle or band becomes its whole matrix. Elements outside the bandwidths are
 * absent, which is more than zero: no term is made of them, so that a NaN on the other side does not spread through them.
 */
#ifndef OPD_KERNELS_DENSE_H
#define OPD_KERNELS_DENSE_H

#include <opsdebug/op.h>

/* Precision in which each single operation is rounded. */
typedef enum opd_precision { OPD_PRECISION_WIDE, OPD_PRECISION_F32, OPD_PRECISION_F64 } opd_precision;

typedef struct opd_number {
    long double re, im;
} opd_number;

/* alpha or beta. A real one multiplies part by part; a complex one with im = 0 still multiplies as complex (Inf, NaN). */
typedef struct opd_factor {
    opd_number value;
    bool is_real;
} opd_factor;

typedef struct opd_dense {
    int64_t rows, cols;
    int64_t below, above; /* element (i, j) is present when i - j <= below and j - i <= above */
    long double *re;      /* row-major */
    long double *im;      /* NULL for real */
    long double *gauge;   /* sum of the absolute values of the terms of each element */
} opd_dense;

static inline long double opd_narrow(long double value, opd_precision precision)
{
    switch (precision) {
    case OPD_PRECISION_F32:
        return (long double)(float)value;
    case OPD_PRECISION_F64:
        return (long double)(double)value;
    default:
        return value;
    }
}

static inline opd_number opd_dense_at(const opd_dense *matrix, int64_t i, int64_t j)
{
    int64_t at = i * matrix->cols + j;
    return (opd_number){ matrix->re[at], matrix->im != NULL ? matrix->im[at] : 0 };
}

static inline void opd_dense_put(opd_dense *matrix, int64_t i, int64_t j, opd_number value, long double gauge)
{
    int64_t at = i * matrix->cols + j;
    matrix->re[at] = value.re;
    if (matrix->im != NULL) {
        matrix->im[at] = value.im;
    }
    matrix->gauge[at] = gauge;
}

static inline bool opd_dense_has(const opd_dense *matrix, int64_t i, int64_t j)
{
    return i - j <= matrix->below && j - i <= matrix->above;
}

/* |re| + |im|, the absolute value that BLAS bounds use. */
long double opd_number_size(opd_number value);
opd_number opd_number_mul(opd_number a, opd_number b, opd_precision precision);
opd_number opd_factor_mul(opd_factor factor, opd_number value, opd_precision precision);
opd_number opd_number_add(opd_number a, opd_number b, opd_precision precision);
opd_number opd_number_div(opd_number a, opd_number b, opd_precision precision);

/* A matrix of zeros, all present. errors: E_NOMEM, E_LIMIT. */
opd_status opd_dense_new(opd_dense *out, int64_t rows, int64_t cols, bool is_complex);
void opd_dense_free(opd_dense *matrix);

/*
 * The content of a bound operand, gauge = size of each element; a unit diagonal is filled in. A pure output, an operand that must
 * not be read, or one without data is all zero.
 */
opd_status opd_dense_load(opd_dense *out, const opd_call *call, const opd_operand *operand);
/* Values and gauges at the places where operand's view has them (row-major over its shape; complex interleaved). gauge may be NULL. */
void opd_dense_store(long double *value, long double *gauge, const opd_dense *matrix, const opd_call *call,
                     const opd_operand *operand);

/* op(matrix) in place of matrix: 'N', 'T', 'C' (conjugate transpose), 'R' (conjugate). */
opd_status opd_dense_transform(opd_dense *matrix, int letter);
/* Fills the absent triangle from the present one, conjugated for a hermitian matrix, whose diagonal becomes real. */
void opd_dense_mirror(opd_dense *matrix, bool is_hermitian);
/* The diagonal's imaginary part becomes zero. */
void opd_dense_real_diagonal(opd_dense *matrix);

/* matrix = factor * matrix; gauges likewise. A factor of 0 clears, NaN included. */
void opd_dense_scale(opd_dense *matrix, opd_factor factor, opd_precision precision);
/* out += factor * left * right; gauge += |factor| * |left| * |right|. */
opd_status opd_dense_multiply_add(opd_dense *out, opd_factor factor, const opd_dense *left, const opd_dense *right,
                                  opd_precision precision);
/*
 * rhs = inverse(triangle) * rhs by substitution. Gauge by the recurrence of the comparison matrix:
 * g_i = (|b_i| + sum |t_ij| g_j) / |t_ii|.
 * source    Higham 2002, "Accuracy and Stability of Numerical Algorithms", section 8.2.
 */
void opd_dense_solve(opd_dense *rhs, const opd_dense *triangle, opd_precision precision);

#endif
