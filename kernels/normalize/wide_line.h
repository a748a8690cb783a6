/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines whose numbers are too large or small for sums of squares in f64, or for differences in f32: in long double, one element after the other.
 * Rare, and right. Private to kernels/normalize/.
 */
#ifndef OPD_KERNELS_WIDE_LINE_H
#define OPD_KERNELS_WIDE_LINE_H

#include "../rows/rows.h"

typedef struct opd_wide_moments {
    long double mean, variance, inverse;
} opd_wide_moments;

long double opd_wide_load(opd_dtype dtype, const void *x, int64_t i);
void opd_wide_store(opd_dtype dtype, void *y, int64_t i, long double value);

/* variance or inverse are where the fast way loses something, and that is not because there is a NaN. */
bool opd_wide_needs(const opd_rows *inner, const void *x, int64_t n, double variance, double inverse);
/* about_zero: the mean is taken as 0. */
opd_wide_moments opd_wide_moments_of(opd_dtype dtype, const void *x, int64_t n, bool about_zero, double epsilon);

#endif
