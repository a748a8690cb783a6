/* SPDX-License-Identifier: Apache-2.0 */
/* SLEEF's vector functions over whole arrays, the results written past the cache as ours are. */
#ifndef OPD_BENCH_SLEEF_LOOPS_H
#define OPD_BENCH_SLEEF_LOOPS_H

#include <stddef.h>

void sleef_exp(float *to, const float *from, size_t count);
void sleef_log(float *to, const float *from, size_t count);
void sleef_erf(float *to, const float *from, size_t count);
void sleef_tanh(float *to, const float *from, size_t count);
void sleef_gelu(float *to, const float *from, size_t count);

#endif
