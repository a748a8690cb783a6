/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounding of what definitions pass through on the way. Squares and differences leave the range of their type long before the root or the quotient does
 * that is made of them, so they keep their exponent, as good implementations do by scaling or a wider sum.
 */
#ifndef OPD_KERNELS_MANTISSA_ROUND_H
#define OPD_KERNELS_MANTISSA_ROUND_H

#include <math.h>

#include <opsdebug/kernel.h>

/* Within it f32 has all its bits, sums of 2^20 squares included. */
#define OPD_MANTISSA_LOW  0x1p-100L
#define OPD_MANTISSA_HIGH 0x1p100L

/* opd_round to the accumulator's precision, not to its range. */
static inline long double opd_round_mantissa(const opd_definition_work *work, long double value)
{
    int exponent = 0;
    if (value == 0.0L || !isfinite(value) || (fabsl(value) > OPD_MANTISSA_LOW && fabsl(value) < OPD_MANTISSA_HIGH)) {
        return opd_round(work, value);
    }
    long double fraction = frexpl(value, &exponent);
    return ldexpl(opd_round(work, fraction), exponent);
}

#endif
