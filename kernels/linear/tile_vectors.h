/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of VECTOR_BYTES (16, 32, 64: what the file is compiled for) of `real`, float or double, in the compiler's vector extension; and the
 * inner loop of every product here: rows x 2 vectors of sums. Included once per type, with REAL_IS_DOUBLE and NAME(id). Private to kernels/linear.
 */
#include <stdint.h>

#ifdef __FMA__
#include <immintrin.h>
#endif

#ifdef __clang__
#define UNROLL_ROWS _Pragma("unroll")
#else
#define UNROLL_ROWS _Pragma("GCC unroll 6")
#endif

#if REAL_IS_DOUBLE
#define real double
#else
#define real float
#endif

/* Vectors in memory need no alignment. */
typedef real NAME(vec) __attribute__((vector_size(VECTOR_BYTES)));
typedef real NAME(vec_at) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));
#if REAL_IS_DOUBLE
typedef int64_t NAME(vec_bits) __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef int32_t NAME(vec_bits) __attribute__((vector_size(VECTOR_BYTES)));
#endif
#define vec    NAME(vec)
#define vec_at NAME(vec_at)

enum {
    NAME(LANES) = VECTOR_BYTES / sizeof(real),
    NAME(PANEL) = 2 * VECTOR_BYTES / sizeof(real), /* columns of a panel */
};
#define LANES NAME(LANES)
#define PANEL NAME(PANEL)
#ifndef PANEL_ROWS
#define PANEL_ROWS 6 /* twelve sums, two factors and a broadcast: fifteen of sixteen registers */
#endif

static inline vec NAME(splat)(real value)
{
    return value - (vec){ 0 };
}

static inline vec NAME(multiply_add)(vec a, vec b, vec c)
{
#if !defined(__FMA__)
    return a * b + c;
#elif VECTOR_BYTES == 64 && REAL_IS_DOUBLE
    return _mm512_fmadd_pd(a, b, c);
#elif VECTOR_BYTES == 64
    return _mm512_fmadd_ps(a, b, c);
#elif VECTOR_BYTES == 32 && REAL_IS_DOUBLE
    return _mm256_fmadd_pd(a, b, c);
#else
    return _mm256_fmadd_ps(a, b, c);
#endif
}

/*
 * sums[r][0 .. PANEL) (+)= sum over k of a[k * a_step + r * a_row] * b[k * PANEL ...], for r < rows, a constant of at most PANEL_ROWS.
 * The block's sum is formed from zero and then added.
 */
static inline __attribute__((always_inline)) void NAME(multiply_rows)(const int rows, int64_t depth, const real *a,
                                                                      int64_t a_step, int64_t a_row, const real *b,
                                                                      real *sums, int64_t sums_row, const int is_added)
{
    vec left[PANEL_ROWS];
    vec right[PANEL_ROWS];
    UNROLL_ROWS
    for (int r = 0; r < rows; r++) {
        left[r] = (vec){ 0 };
        right[r] = (vec){ 0 };
    }
    for (int64_t k = 0; k < depth; k++) {
        vec b_left = *(const vec_at *)(b + k * PANEL);
        vec b_right = *(const vec_at *)(b + k * PANEL + LANES);
        UNROLL_ROWS
        for (int r = 0; r < rows; r++) {
            vec factor = NAME(splat)(a[k * a_step + r * a_row]);
            left[r] = NAME(multiply_add)(factor, b_left, left[r]);
            right[r] = NAME(multiply_add)(factor, b_right, right[r]);
        }
    }
    UNROLL_ROWS
    for (int r = 0; r < rows; r++) {
        vec_at *to_left = (vec_at *)(sums + r * sums_row);
        vec_at *to_right = (vec_at *)(sums + r * sums_row + LANES);
        if (is_added) {
            left[r] += *to_left;
            right[r] += *to_right;
        }
        *to_left = left[r];
        *to_right = right[r];
    }
}
