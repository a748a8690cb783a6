/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounding of sums of squares in definitions. A square leaves the range of its type long before the root does, so what takes a root of squares keeps
 * their exponent, as good implementations do by scaling or a wider sum.
 */
#ifndef OPD_KERNELS_SQUARE_ROUND_H
#define OPD_KERNELS_SQUARE_ROUND_H

#include <math.h>

#include <opsdebug/kernel.h>

/* Within it f32 has all its bits, sums of 2^20 squares included. */
#define OPD_SQUARE_LOW  0x1p-100L
#define OPD_SQUARE_HIGH 0x1p100L

/* opd_round to the accumulator's precision, not to its range. */
static inline long double opd_round_square(const opd_definition_work *work, long double value)
{
    int exponent = 0;
    if (value == 0.0L || !isfinite(value) || (value > OPD_SQUARE_LOW && value < OPD_SQUARE_HIGH)) {
        return opd_round(work, value);
    }
    long double fraction = frexpl(value, &exponent);
    return ldexpl(opd_round(work, fraction), exponent);
}

#endif
