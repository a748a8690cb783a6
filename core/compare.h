/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of opd_metrics, compiled once for the baseline and once for AVX2 (compare_body.h); the same bits from both. Private to core/. */
#ifndef OPD_CORE_COMPARE_H
#define OPD_CORE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPD_BLOCK 1024 /* components looked at together; their arrays stay in the first cache */

/* Sums of a block, all in lanes by position. */
typedef struct opd_block_sums {
    double got, want, got_got, want_want, got_want, error_error; /* sums of values and products; error = got - want */
    double distance, largest;                                    /* |error|: sum and maximum */
} opd_block_sums;

/* Distance classes of each component as the bits of a float, which order as the numbers do. */
typedef struct opd_block_keys {
    uint32_t rel[OPD_BLOCK], ulp[OPD_BLOCK], abs[OPD_BLOCK];
    uint32_t largest_rel, largest_ulp, differing;
    uint32_t kept[OPD_BLOCK]; /* of the caller: the keys it picked */
} opd_block_keys;

typedef struct opd_compare_loops {
    void (*sum_f32)(opd_block_sums *sums, const float *got, const float *want, size_t count);
    void (*sum)(opd_block_sums *sums, const double *got, const double *want, const double *error, size_t count);
    /* unit: of each component, in the last place. */
    void (*keys_f32)(opd_block_keys *keys, const float *got, const float *want, size_t count);
    void (*keys)(opd_block_keys *keys, const double *want, const double *error, const double *unit, size_t count);
    uint32_t (*count_equal)(const uint32_t *keys, size_t count, uint32_t wanted);
    bool (*is_same_f32)(const float *got, const float *want, size_t count); /* the same bits, all finite */
} opd_compare_loops;

extern const opd_compare_loops opd_compare_base;
extern const opd_compare_loops opd_compare_avx2;

/* The loops for what opd_kernels_get() gives. */
const opd_compare_loops *opd_compare_loops_get(void);

#endif
