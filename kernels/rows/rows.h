/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over rows and columns of one floating-point dtype, on one instruction set: what reductions and norms are made of. Private to
 * kernels/. A row is n contiguous elements; columns are `rows` rows, `stride` elements apart, of `width` <= OPD_ROWS_TILE elements.
 *
 * Statistics are f64 for every dtype, so that f32 sums neither overflow nor drift; results are computed in f32 (f64 for f64)
 * and rounded to the dtype once. A row is summed in 16 lanes, folded every OPD_ROWS_FOLD elements and combined in a fixed tree: the same bits
 * on every instruction set, at any alignment. NaN comes through sums, largest and smallest.
 */
#ifndef OPD_KERNELS_ROWS_H
#define OPD_KERNELS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/tensor.h>

enum { OPD_ROWS_TILE = 256, OPD_ROWS_LANES = 16, OPD_ROWS_FOLD = 2048 };

/* y = ((x - centre) * factor) * scale + bias. */
typedef struct opd_affine {
    double centre, factor;
    const void *scale,
        *bias; /* one of the dtype for each element; NULL: the numbers below for all of them (bias only with scale) */
    double common_scale, common_bias;
    bool streams; /* y is written around the caches */
} opd_affine;

/* The same by columns, each with its own numbers; scale and bias NULL: none. */
typedef struct opd_column_affine {
    const double *centre, *factor, *scale, *bias;
} opd_column_affine;

typedef struct opd_block {
    const void *x;
    int64_t stride, rows, width;
    int64_t out_stride; /* of what is written; 0: the same */
} opd_block;

typedef struct opd_rows {
    opd_dtype dtype;
    opd_dtype inner; /* dtype results are computed in */
    double (*sum)(const void *x, int64_t n);
    double (*sum_abs)(const void *x, int64_t n);
    double (*sum_squares)(const void *x, int64_t n, double centre); /* of x - centre */
    double (*largest)(const void *x, int64_t n);                    /* -Inf of nothing */
    double (*smallest)(const void *x, int64_t n);
    int64_t (*find)(const void *x, int64_t n, double value, bool last); /* first or last of that value, or NaN; -1 */
    /* to the dtype results are computed in; `inner` below is a row of that, and may be the result's own memory */
    void (*widen)(void *inner, const void *x, int64_t n);
    void (*affine)(void *y, const void *inner, int64_t n, const opd_affine *how);
    void (*normalize)(void *result, const void *inner, int64_t n, double centre, double factor);
    void (*add)(void *inner, void *y, const void *a, const void *b, int64_t n); /* a + b; y may be NULL */
    /* means of 3 x 3 windows along the middle one of three rows (NULL: beyond the image); sums is scratch, n of `inner` */
    void (*window_mean)(void *inner, void *sums, const void *const *three, int64_t n);
    double (*exp_sum)(void *result, const void *inner, int64_t n, double centre); /* exp(x - centre), and their sum */
    void (*scale)(void *y, const void *inner, int64_t n, double factor, bool streams);
    void (*shift)(void *y, const void *inner, int64_t n, double first, double second,
                  bool streams); /* (x - first) - second */
    /* add to acc[width] */
    void (*column_sum)(double *acc, const opd_block *block);
    void (*column_sum_abs)(double *acc, const opd_block *block);
    void (*column_sum_squares)(double *acc, const opd_block *block);
    void (*column_largest)(double *acc, const opd_block *block);
    void (*column_smallest)(double *acc, const opd_block *block);
    /* kept: the exponentials, with the block's stride; NULL: only the sums */
    void (*column_exp_sum)(double *acc, void *kept, const opd_block *block, const double *centre);
    void (*column_scale)(void *y, const opd_block *block, const double *factor);
    void (*column_softmax)(void *y, const opd_block *block, const double *centre, const double *factor);
    void (*column_shift)(void *y, const opd_block *block, const double *first, const double *second);
    void (*column_affine)(void *y, const opd_block *block, const opd_column_affine *how);
    void (*fence)(void); /* after the last streamed row */
} opd_rows;

/* Tables by dtype; NULL for one that is not real floating point. */
const opd_rows *opd_rows_portable(opd_dtype dtype);
const opd_rows *opd_rows_avx2(opd_dtype dtype);   /* needs avx2 fma f16c */
const opd_rows *opd_rows_avx512(opd_dtype dtype); /* needs avx512f avx512bw avx512dq avx512vl */

#endif
