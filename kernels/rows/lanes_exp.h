/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp() of vectors of the width lanes.h has: within 1 ULP, subnormal results exact to the last bit's rounding, NaN kept, the same bits on every
 * instruction set (no fused operations).
 *
 * x = n ln 2 + r, |r| <= ln(2) / 2; exp(r) = 1 + r + r^2 g(r), g a polynomial: for f32 a Chebyshev fit of degree 4 (error 0.17 of 2^-24),
 * for f64 the Taylor series to r^13; then times 2^n in two steps, so that neither over- nor underflows before its time.
 */
#ifndef OPD_KERNELS_LANES_EXP_H
#define OPD_KERNELS_LANES_EXP_H

#include "lanes.h"

/* low below low, high above high, NaN as it is. */
static inline vf vf_clip(vf x, float low, float high)
{
    return -vf_larger(vf_of(-high), -vf_larger(vf_of(low), x));
}

static inline vd vd_clip(vd x, double low, double high)
{
    return -vd_larger(vd_of(-high), -vd_larger(vd_of(low), x));
}

static inline vf vf_exp(vf x)
{
    const float to_whole = 0x1.8p23f; /* adding it leaves a whole number in the low bits */
    x = vf_clip(x, -104.0f, 89.0f);
    vf shifted = x * 0x1.715476p0f + to_whole;
    vf n = shifted - to_whole;
    vf r = (x - n * 0x1.63p-1f) - n * -0x1.bd0106p-13f; /* ln 2 in two parts; the first product is exact */
    vf g = vf_of(0x1.6d445ap-10f);
    g = g * r + 0x1.120c72p-7f;
    g = g * r + 0x1.5554e8p-5f;
    g = g * r + 0x1.5554dcp-3f;
    g = g * r + 0.5f;
    vf value = 1.0f + (r + r * r * g);
    vi32 whole = (vi32)shifted - (vi32)vf_of(to_whole);
    vi32 half = whole >> 1;
    return value * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
}

static inline vd vd_exp(vd x)
{
    const double to_whole = 0x1.8p52;
    static const double taylor[] = { 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                                     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,     1.0 / 120.0,
                                     1.0 / 24.0,        1.0 / 6.0,        1.0 / 2.0 };
    x = vd_clip(x, -746.0, 710.0);
    vd shifted = x * 0x1.71547652b82fep0 + to_whole;
    vd n = shifted - to_whole;
    vd r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
    vd g = vd_of(1.0 / 6227020800.0);
    for (int i = 0; i < 11; i++) {
        g = g * r + taylor[i];
    }
    vd value = 1.0 + (r + r * r * g);
    vi64 whole = (vi64)shifted - (vi64)vd_of(to_whole);
    vi64 half =
        ((whole + 2048) >> 1) - 1024; /* arithmetic shifts of 64 bits are not in AVX2: this one never sees a sign */
    return value * (vd)((half + 1023) << 52) * (vd)((whole - half + 1023) << 52);
}

#endif
