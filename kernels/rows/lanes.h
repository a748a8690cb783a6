/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of the instruction set a file is compiled for, LANES_BYTES wide (16, 32, 64), in the compiler's vector extension: the same
 * source gives every width. Private to kernels/rows/.
 */
#ifndef OPD_KERNELS_LANES_H
#define OPD_KERNELS_LANES_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define LANES_VECTOR(size) __attribute__((vector_size(size)))

enum { WF = LANES_BYTES / 4, WD = LANES_BYTES / 8 }; /* elements of a vector */

typedef float vf LANES_VECTOR(LANES_BYTES);
typedef float vf_half LANES_VECTOR(LANES_BYTES / 2);
typedef double vd LANES_VECTOR(LANES_BYTES);
typedef int32_t vi32 LANES_VECTOR(LANES_BYTES);
typedef uint32_t vu32 LANES_VECTOR(LANES_BYTES);
typedef uint32_t vu32_half LANES_VECTOR(LANES_BYTES / 2);
typedef int64_t vi64 LANES_VECTOR(LANES_BYTES);
typedef uint16_t vu16_half LANES_VECTOR(LANES_BYTES / 2);
typedef uint16_t vu16_quarter LANES_VECTOR(LANES_BYTES / 4);

static inline vf vf_of(float value)
{
    return value - (vf){ 0 };
}

static inline vd vd_of(double value)
{
    return value - (vd){ 0 };
}

static inline vf vf_load(const void *at)
{
    vf v;
    memcpy(&v, at, sizeof v);
    return v;
}

static inline vd vd_load(const void *at)
{
    vd v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* f64 of as many floats: gcc 12 makes two instructions of the generic conversion where there is one. */
static inline vd vd_of_floats(vf_half v)
{
#if LANES_BYTES == 64
    return _mm512_cvtps_pd(v);
#elif LANES_BYTES == 32
    return _mm256_cvtps_pd(v);
#else
    return __builtin_convertvector(v, vd);
#endif
}

static inline vd vd_load_floats(const void *at)
{
    vf_half v;
    memcpy(&v, at, sizeof v);
    return vd_of_floats(v);
}

/* The larger, the smaller (b when one is NaN); a b + c, rounded once where there is an instruction for it. */
#if LANES_BYTES == 64
static inline vf vf_larger(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}

static inline vf vf_smaller(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}

static inline vf vf_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline vd vd_larger(vd a, vd b)
{
    return _mm512_max_pd(a, b);
}

static inline vd vd_smaller(vd a, vd b)
{
    return _mm512_min_pd(a, b);
}

static inline vd vd_fma(vd a, vd b, vd c)
{
    return _mm512_fmadd_pd(a, b, c);
}

#elif LANES_BYTES == 32
static inline vf vf_larger(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}

static inline vf vf_smaller(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}

static inline vf vf_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline vd vd_larger(vd a, vd b)
{
    return _mm256_max_pd(a, b);
}

static inline vd vd_smaller(vd a, vd b)
{
    return _mm256_min_pd(a, b);
}

static inline vd vd_fma(vd a, vd b, vd c)
{
    return _mm256_fmadd_pd(a, b, c);
}

#else
static inline vf vf_larger(vf a, vf b)
{
    vi32 takes = a > b;
    return (vf)((takes & (vi32)a) | (~takes & (vi32)b));
}

static inline vf vf_smaller(vf a, vf b)
{
    vi32 takes = a < b;
    return (vf)((takes & (vi32)a) | (~takes & (vi32)b));
}

static inline vf vf_fma(vf a, vf b, vf c)
{
    return a * b + c;
}

static inline vd vd_larger(vd a, vd b)
{
    vi64 takes = a > b;
    return (vd)((takes & (vi64)a) | (~takes & (vi64)b));
}

static inline vd vd_smaller(vd a, vd b)
{
    vi64 takes = a < b;
    return (vd)((takes & (vi64)a) | (~takes & (vi64)b));
}

static inline vd vd_fma(vd a, vd b, vd c)
{
    return a * b + c;
}

#endif

static inline vd vd_abs(vd v)
{
    return (vd)((vi64)v & ((vi64){ 0 } + INT64_MAX));
}

/* The two halves of a vector of floats in f64. */
static inline vd vd_low_of(vf v)
{
#if LANES_BYTES == 64
    return vd_of_floats(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7));
#elif LANES_BYTES == 32
    return vd_of_floats(__builtin_shufflevector(v, v, 0, 1, 2, 3));
#else
    return vd_of_floats(__builtin_shufflevector(v, v, 0, 1));
#endif
}

static inline vd vd_high_of(vf v)
{
#if LANES_BYTES == 64
    return vd_of_floats(__builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
#elif LANES_BYTES == 32
    return vd_of_floats(__builtin_shufflevector(v, v, 4, 5, 6, 7));
#else
    return vd_of_floats(__builtin_shufflevector(v, v, 2, 3));
#endif
}

/* f16 as IEEE binary16, both ways; bf16 rounds to nearest even, NaN stays NaN. */
static inline vf vf_load_f16(const uint16_t *at)
{
#if LANES_BYTES == 64
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)(const void *)at));
#elif LANES_BYTES == 32
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)(const void *)at));
#else
    vf v = { 0 };
    for (int i = 0; i < WF; i++) {
        double re;
        double im;
        opd_element_load(OPD_F16, at + i, &re, &im);
        v[i] = (float)re;
    }
    return v;
#endif
}

static inline void vf_store_f16(uint16_t *at, vf v)
{
#if LANES_BYTES == 64
    _mm256_storeu_si256((__m256i_u *)(void *)at, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#elif LANES_BYTES == 32
    _mm_storeu_si128((__m128i_u *)(void *)at, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#else
    for (int i = 0; i < WF; i++) {
        opd_element_store(OPD_F16, at + i, (double)v[i], 0.0);
    }
#endif
}

static inline vf vf_load_bf16(const uint16_t *at)
{
    vu16_half v;
    memcpy(&v, at, sizeof v);
    return (vf)(__builtin_convertvector(v, vu32) << 16);
}

static inline void vf_store_bf16(uint16_t *at, vf value)
{
    vu32 bits = (vu32)value;
    vu32 is_nan = (vu32)((bits & 0x7fffffffu) > 0x7f800000u);
    vu32 rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    vu32 quiet = bits >> 16 | 0x40u;
    vu16_half v = __builtin_convertvector((is_nan & quiet) | (~is_nan & rounded), vu16_half);
    memcpy(at, &v, sizeof v);
}

static inline vd vd_load_f16(const uint16_t *at)
{
    uint16_t padded[WF] = { 0 };
    memcpy(padded, at, WD * sizeof *at);
    return vd_low_of(vf_load_f16(padded));
}

static inline vd vd_load_bf16(const uint16_t *at)
{
    vu16_quarter v;
    memcpy(&v, at, sizeof v);
    return vd_of_floats((vf_half)(__builtin_convertvector(v, vu32_half) << 16));
}

/* Store around the caches; at is aligned to the vector. */
static inline void vf_stream(float *at, vf v)
{
#if LANES_BYTES == 64
    _mm512_stream_ps(at, v);
#elif LANES_BYTES == 32
    _mm256_stream_ps(at, v);
#else
    memcpy(at, &v, sizeof v);
#endif
}

static inline void vd_stream(double *at, vd v)
{
#if LANES_BYTES == 64
    _mm512_stream_pd(at, v);
#elif LANES_BYTES == 32
    _mm256_stream_pd(at, v);
#else
    memcpy(at, &v, sizeof v);
#endif
}

/* Makes streamed stores visible before what follows. */
static inline void lanes_fence(void)
{
#if LANES_BYTES > 16
    _mm_sfence();
#endif
}

#endif
