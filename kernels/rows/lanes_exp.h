/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp() of vectors of the width lanes.h has, f32 and f64: within 1.1 ULP, subnormal results rounded once, NaN kept. With fused multiply-add where
 * there is one, so the last bit may differ between instruction sets.
 *
 * x = n ln 2 + r, |r| <= ln(2) / 2; exp(r) = 1 + r + r^2 g(r), g a polynomial: for f32 a Chebyshev fit of degree 4 (error 0.17 of 2^-24),
 * for f64 the Taylor series to r^13; then times 2^n in two steps, so that neither over- nor underflows before its time. Some vectors go
 * step by step beside each other, since one alone is a long chain of operations that wait for each other.
 */
#ifndef OPD_KERNELS_LANES_EXP_H
#define OPD_KERNELS_LANES_EXP_H

#include "lanes.h"

enum { LANES_EXP_MOST = 4 };
#define LANES_INLINE static inline __attribute__((always_inline))
#define EACH         for (int i = 0; i < count; i++)

/* low below low, high above high, NaN as it is. */
LANES_INLINE vf vf_clip(vf x, float low, float high)
{
    return vf_smaller(vf_of(high), vf_larger(vf_of(low), x));
}

LANES_INLINE vd vd_clip(vd x, double low, double high)
{
    return vd_smaller(vd_of(high), vd_larger(vd_of(low), x));
}

/* x[i] = exp(x[i]), i < count <= LANES_EXP_MOST, a constant. */
LANES_INLINE void vf_exp(vf *x, const int count)
{
    const float to_whole = 0x1.8p23f; /* adding it leaves a whole number in the low bits */
    vf shifted[LANES_EXP_MOST];
    vf r[LANES_EXP_MOST];
    vf low[LANES_EXP_MOST];
    vf high[LANES_EXP_MOST];
    EACH x[i] = vf_clip(x[i], -104.0f, 89.0f);
    EACH shifted[i] = vf_fma(x[i], vf_of(0x1.715476p0f), vf_of(to_whole));
    EACH r[i] = shifted[i] - to_whole;
    EACH x[i] = vf_fma(r[i], vf_of(-0x1.63p-1f), x[i]); /* ln 2 in two parts; the first product is exact */
    EACH r[i] = vf_fma(r[i], vf_of(0x1.bd0106p-13f), x[i]);
    EACH low[i] = vf_fma(r[i], vf_of(0x1.5554dcp-3f), vf_of(0.5f));
    EACH high[i] = vf_fma(r[i], vf_of(0x1.120c72p-7f), vf_of(0x1.5554e8p-5f));
    EACH x[i] = r[i] * r[i];
    EACH high[i] = vf_fma(x[i], vf_of(0x1.6d445ap-10f), high[i]);
    EACH low[i] = vf_fma(high[i], x[i], low[i]);
    EACH low[i] = 1.0f + vf_fma(low[i], x[i], r[i]);
    EACH
    {
        vi32 whole = (vi32)shifted[i] - (vi32)vf_of(to_whole);
        vi32 half = whole >> 1;
        x[i] = low[i] * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
    }
}

LANES_INLINE void vd_exp(vd *x, const int count)
{
    const double to_whole = 0x1.8p52;
    static const double taylor[] = { 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                                     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,     1.0 / 120.0,
                                     1.0 / 24.0,        1.0 / 6.0,        1.0 / 2.0 };
    vd shifted[LANES_EXP_MOST];
    vd r[LANES_EXP_MOST];
    vd g[LANES_EXP_MOST];
    EACH x[i] = vd_clip(x[i], -746.0, 710.0);
    EACH shifted[i] = vd_fma(x[i], vd_of(0x1.71547652b82fep0), vd_of(to_whole));
    EACH r[i] = shifted[i] - to_whole;
    EACH x[i] = vd_fma(r[i], vd_of(-0x1.62e42fee00000p-1), x[i]);
    EACH r[i] = vd_fma(r[i], vd_of(-0x1.a39ef35793c76p-33), x[i]);
    EACH g[i] = vd_of(1.0 / 6227020800.0);
    for (int t = 0; t < 11; t++) {
        EACH g[i] = vd_fma(g[i], r[i], vd_of(taylor[t]));
    }
    EACH
    {
        vd value = 1.0 + vd_fma(r[i] * r[i], g[i], r[i]);
        vi64 whole = (vi64)shifted[i] - (vi64)vd_of(to_whole);
        vi64 half =
            ((whole + 2048) >> 1) - 1024; /* AVX2 has no arithmetic shift of 64 bits: this one never sees a sign */
        x[i] = value * (vd)((half + 1023) << 52) * (vd)((whole - half + 1023) << 52);
    }
}

#undef EACH

LANES_INLINE vf vf_exp_one(vf x)
{
    vf_exp(&x, 1);
    return x;
}

LANES_INLINE vd vd_exp_one(vd x)
{
    vd_exp(&x, 1);
    return x;
}

#endif
