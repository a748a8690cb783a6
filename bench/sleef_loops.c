/* SPDX-License-Identifier: Apache-2.0 */
/* The 8-wide functions with an error of at most 1 unit in the last place; compiled with -mavx2 -mfma (kernels.cmake). to is aligned to 32. */
#include "sleef_loops.h"

#include <immintrin.h>
#include <sleef.h>

#define SLEEF_LOOP(name, function)                                         \
    void sleef_##name(float *to, const float *from, size_t count)          \
    {                                                                      \
        for (size_t i = 0; i + 8 <= count; i += 8) {                       \
            _mm256_stream_ps(to + i, function(_mm256_loadu_ps(from + i))); \
        }                                                                  \
        _mm_sfence();                                                      \
    }

static inline __m256 gelu(__m256 x)
{
    const __m256 root = _mm256_set1_ps(0x1.6a09e6p-1F); /* sqrt(1/2) */
    __m256 bend = _mm256_add_ps(_mm256_set1_ps(1.0F), Sleef_erff8_u10avx2(_mm256_mul_ps(x, root)));
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(0.5F), x), bend);
}

SLEEF_LOOP(exp, Sleef_expf8_u10avx2)
SLEEF_LOOP(log, Sleef_logf8_u10avx2)
SLEEF_LOOP(erf, Sleef_erff8_u10avx2)
SLEEF_LOOP(tanh, Sleef_tanhf8_u10avx2)
SLEEF_LOOP(gelu, gelu)
