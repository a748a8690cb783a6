/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What leaves the accumulator's range on the way to a result that does not: its gauge is infinite then, as Inf, NaN and the right value are all what a correct
 * implementation may make of it.
 */
#ifndef OPD_KERNELS_DEFINITION_RANGE_H
#define OPD_KERNELS_DEFINITION_RANGE_H

#include <math.h>

#include <opsdebug/kernel.h>

/* What the accumulator of the call's dtype can hold: f32's largest for the short floats too. */
static inline long double opd_accumulator_largest(const opd_definition_work *work)
{
    return (long double)opd_dtype_largest(opd_dtype_real(work->call->dtype) == OPD_F64 ? OPD_F64 : OPD_F32);
}

/* The least subnormal of it. */
static inline long double opd_accumulator_least(const opd_definition_work *work)
{
    return (long double)opd_dtype_ulp(opd_dtype_real(work->call->dtype) == OPD_F64 ? OPD_F64 : OPD_F32, 0);
}

/* May something made on the way, by its absolute terms, leave the accumulator's range? Where an operand is infinite already, classes are what they are. */
static inline bool opd_is_beyond_range(const opd_definition_work *work, long double terms)
{
    return isfinite(terms) && terms > opd_accumulator_largest(work);
}

/* A term towards such a sum. What is infinite already is no part of it. */
static inline long double opd_finite_size(long double term)
{
    return isfinite(term) ? fabsl(term) : 0.0L;
}

/*
 * What a factor adds to a gauge, whose product has another factor that may have underflowed: fl(a b) = a b (1 + d) + e with |e| up to the least subnormal.
 * Source: Demmel 1984, "Underflow and the reliability of numerical software".
 */
static inline long double opd_underflow_gauge(const opd_definition_work *work, long double factor)
{
    bool is_double = opd_dtype_real(work->call->dtype) == OPD_F64;
    long double epsilon = (long double)opd_dtype_epsilon(is_double ? OPD_F64 : OPD_F32);
    return opd_finite_size(factor) * opd_accumulator_least(work) / epsilon;
}

#endif
