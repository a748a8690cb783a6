/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops, compiled once for the baseline of the architecture and once for AVX2, behind a table of pointers. No ifunc: its resolver
 * would run while the loader is still relocating a preloaded object.
 */
#ifndef OPD_CORE_KERNELS_H
#define OPD_CORE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Components are summed in this many lanes by their position, so that the mean does not depend on how the memory was cut. */
#define OPD_LANES 8

/* Running totals over finite components. */
typedef struct opd_lanes {
    double sum[OPD_LANES];
    double min[OPD_LANES];
    double max[OPD_LANES];
    uint64_t finite;
    uint64_t zero;  /* equal to zero */
    uint64_t small; /* under the smallest normal number, zeros included */
} opd_lanes;

typedef struct opd_nonfinite {
    uint64_t nan, pos_inf, neg_inf;
} opd_nonfinite;

typedef struct opd_kernels {
    const char *isa;
    /* Values lie at any address. count is a multiple of OPD_LANES, at most OPD_CHUNK; normal: the dtype's smallest normal number. */
    void (*sum_f32)(opd_lanes *lanes, const void *values, size_t count, float normal);
    void (*sum_f64)(opd_lanes *lanes, const void *values, size_t count, double normal);
    /* Is there a word whose bits of mask are all set? mask is a run of ones under the sign bit. */
    bool (*any_16)(const void *values, size_t count, uint16_t mask);
    bool (*any_32)(const void *values, size_t count, uint32_t mask);
    bool (*any_64)(const void *values, size_t count, uint64_t mask);
    opd_nonfinite (*count_f32)(const void *values, size_t count);
    opd_nonfinite (*count_f64)(const void *values, size_t count);
    /* Exact conversions. */
    void (*widen_f16)(float *out, const void *values, size_t count);
    void (*widen_bf16)(float *out, const void *values, size_t count);
    /* state is an XXH3_state_t */
    void (*digest_update)(void *state, const void *bytes, size_t size);
} opd_kernels;

#define OPD_CHUNK 2048 /* components of one call; their counts fit any lane */

extern const opd_kernels opd_kernels_base;
extern const opd_kernels opd_kernels_avx2;

/* The best this CPU runs, or what opd_kernels_choose() asked for. */
const opd_kernels *opd_kernels_get(void);

#endif
