/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in long double. */
#include "wide_line.h"

#include <math.h>

long double opd_wide_load(opd_dtype dtype, const void *x, int64_t i)
{
    double re;
    double im;
    opd_element_load(dtype, (const uint8_t *)x + i * (int64_t)opd_dtype_size(dtype), &re, &im);
    return re;
}

void opd_wide_store(opd_dtype dtype, void *y, int64_t i, long double value)
{
    opd_element_store(dtype, (uint8_t *)y + i * (int64_t)opd_dtype_size(dtype), (double)value, 0.0);
}

bool opd_wide_needs(const opd_rows *inner, const void *x, int64_t n, double variance, double inverse)
{
    /* f32: differences below 2^127 and a factor that is a normal number; f64: a sum of squares that is one, and not by chance 0. */
    bool is_single = inner->dtype == OPD_F32;
    double greatest = is_single ? 0x1p200 : 0x1p1000;
    double steepest = is_single ? 0x1p100 : 0x1p400;
    if (variance <= greatest && inverse <= steepest) {
        return false;
    }
    double largest = inner->largest(x, n);
    return isfinite(largest) && isfinite(inner->smallest(x, n));
}

opd_wide_moments opd_wide_moments_of(opd_dtype dtype, const void *x, int64_t n, bool about_zero, double epsilon)
{
    opd_wide_moments m = { 0 };
    for (int64_t i = 0; i < n && !about_zero; i++) {
        m.mean += opd_wide_load(dtype, x, i);
    }
    m.mean /= (long double)n;
    for (int64_t i = 0; i < n; i++) {
        long double d = opd_wide_load(dtype, x, i) - m.mean;
        m.variance += d * d;
    }
    m.variance /= (long double)n;
    m.inverse = 1.0L / sqrtl(m.variance + epsilon);
    return m;
}
