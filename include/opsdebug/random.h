/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based random numbers: Philox 4x32-10. Element i of a fill depends on (seed, stream, i) only, so a fill is
 * the same for any thread count, any order and any slice.
 */
#ifndef OPSDEBUG_RANDOM_H
#define OPSDEBUG_RANDOM_H

#include <stdint.h>

#include <opsdebug/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One Philox 4x32-10 block.
 * source    Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"; known-answer
 *           vectors of the Random123 distribution.
 */
void opd_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* The random block of element index of (seed, stream): counter {index, stream}, key {seed}, low words first. */
void opd_random_pair(uint64_t out[2], uint64_t seed, uint64_t stream, uint64_t index);
/* Its first 64 bits. */
OPD_PUBLIC uint64_t opd_random_u64(uint64_t seed, uint64_t stream, uint64_t index);

/* name, text, meaning of a, b */
#define OPD_FILL_LIST(X)                                                              \
    X(UNIFORM, "uniform")      /* in [a, b) */                                        \
    X(NORMAL, "normal")        /* mean a, standard deviation b */                     \
    X(CONSTANT, "constant")    /* a */                                                \
    X(INTEGERS, "integers")    /* whole numbers in [a, b] */                          \
    X(RAMP, "ramp")            /* a + b * position */                                 \
    X(LONG_TAILED, "longtail") /* a * exp(b * normal) with random sign */             \
    X(SPECIAL, "special")      /* NaN, +-Inf, +-0, subnormals, extremes, ones, mixed */

typedef enum opd_fill_kind {
#define OPD_X(name, text) OPD_FILL_##name,
    OPD_FILL_LIST(OPD_X)
#undef OPD_X
} opd_fill_kind;

typedef struct opd_fill {
    opd_fill_kind kind;
    double a, b;
    uint64_t seed;
    uint64_t stream;
} opd_fill;

/*
 * KIND[:A[:B]]: "normal", "uniform:-1:1", "constant:0.5"; seed and stream are 0. Defaults of A, B: uniform -1 1, normal 0 1, constant 1,
 * integers -4 4, ramp 0 1, longtail 1 1. errors: E_INVALID lists the kinds.
 */
OPD_PUBLIC opd_status opd_fill_parse(opd_fill *out, const char *text);
/*
 * Fills the existing elements; position is the row-major logical position, so that views agree. Both parts of a complex element are
 * drawn; constant and ramp set the real part only. The bits are the same on every machine (no libm).
 */
OPD_PUBLIC void opd_tensor_fill(const opd_tensor *view, const opd_fill *fill);

#ifdef __cplusplus
}
#endif
#endif
