/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions that give the same bits everywhere: only + - * / and sqrt, which IEEE 754 rounds exactly. libm's differ from
 * version to version in their last bits, and a fill must be reproducible from its seed on another machine.
 */
#ifndef OPD_CORE_ELEMENTARY_H
#define OPD_CORE_ELEMENTARY_H

/* 2^exponent, -1074..1023. */
double opd_power_of_two(int exponent);
/* Natural logarithm of a positive normal number; error under 2 ulp. */
double opd_log(double x);
/* error under 2 ulp for normal results; 0 and Inf beyond the range. */
double opd_exp(double x);
/* The x with P(N(0,1) <= x) = p, 0 < p < 1; relative error about 1e-15. */
double opd_normal_quantile(double p);

#endif
