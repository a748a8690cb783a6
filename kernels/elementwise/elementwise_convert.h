/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions of strips between dtypes (opd_conversions), without branches. Included by elementwise_body.h, once per instruction set.
 */
#ifndef OPD_KERNELS_ELEMENTWISE_CONVERT_H
#define OPD_KERNELS_ELEMENTWISE_CONVERT_H

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "elementwise.h"
#include "elementwise_math.h"

/* -------------------------------------------------------------------------------------- f16 and bf16, one element */

/*
 * Exponent and fraction are put where f32 has them and scaled to f32's bias by a product, which is exact; a subnormal one becomes the fraction of
 * a number in [1/2, 1), from which 1/2 is taken.
 */
static inline float f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    uint32_t size = (uint32_t)(half & 0x7fffU) << 13;
    float normal = f32_of_bits(size + (0xe0U << 23)) * 0x1p-112F;
    float subnormal = f32_of_bits((size >> 13) | (126U << 23)) - 0.5F;
    return f32_of_bits(f32_bits(size < (1U << 23) ? subnormal : normal) | sign);
}

/* To nearest even: by the carry of an addition to the bits, and by adding 1/2 where the result is subnormal. */
static inline uint16_t f32_to_f16(float x)
{
    uint32_t bits = f32_bits(x);
    uint32_t size = bits & 0x7fffffffU;
    uint32_t normal = (size + 0xfffU + ((size >> 13) & 1) - (112U << 23)) >> 13;
    uint32_t subnormal = f32_bits(f32_of_bits(size) + 0.5F) - (126U << 23);
    uint32_t half = size < (113U << 23) ? subnormal : normal;
    half = size >= (143U << 23) ? 0x7c00U : half;
    half = size > (255U << 23) ? 0x7e00U : half;
    return (uint16_t)(half | (bits >> 16 & 0x8000U));
}

static inline float bf16_to_f32(uint16_t brain)
{
    return f32_of_bits((uint32_t)brain << 16);
}

static inline uint16_t f32_to_bf16(float x)
{
    uint32_t bits = f32_bits(x);
    uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40U;
    return (uint16_t)((bits & 0x7fffffffU) > (255U << 23) ? quiet : rounded);
}

/* To f32, the lost bits kept in the last one: rounding that to f16 or bf16 gives what one rounding would. */
static inline float f64_to_sticky_f32(double x)
{
    float y = (float)x;
    double back = (double)y;
    uint32_t bits = f32_bits(y);
    uint32_t is_even = (bits & 1) ^ 1;
    uint32_t nearer = __builtin_fabs(back) > __builtin_fabs(x) ? bits - 1 : bits + 1;
    return f32_of_bits(back != x && x == x && is_even != 0 ? nearer : bits);
}

/* Integers of 54 and more bits likewise. */
static inline double u64_to_sticky_f64(uint64_t x)
{
    uint64_t lost = x & 0xfffU;
    uint64_t kept = x >> 53 != 0 ? (x & ~UINT64_C(0xfff)) | (uint64_t)(lost != 0) << 12 : x;
    return (double)kept;
}

static inline double i64_to_sticky_f64(int64_t x)
{
    double size = u64_to_sticky_f64(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
    return x < 0 ? -size : size;
}

/* ---------------------------------------------------------------------------------------------------- strips */

#define CONVERT(name, to_type, from_type, expression)            \
    static void name(void *to, const void *from, int64_t count)  \
    {                                                            \
        to_type *y = to;                                         \
        const from_type *x = from;                               \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) \
        {                                                        \
            from_type a = x[i];                                  \
            y[i] = (to_type)(expression);                        \
        }                                                        \
    }

#if defined(__F16C__)
static void load_f32_of_f16(void *to, const void *from, int64_t count)
{
    float *y = to;
    const uint16_t *x = from;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)(x + i))));
    }
    for (; i < count; i++) {
        y[i] = _cvtsh_ss(x[i]);
    }
}

static void store_f16_of_f32(void *to, const void *from, int64_t count)
{
    uint16_t *y = to;
    const float *x = from;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        _mm_storeu_si128((__m128i_u *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    }
    for (; i < count; i++) {
        y[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
    }
}
#else
CONVERT(load_f32_of_f16, float, uint16_t, f16_to_f32(a))
CONVERT(store_f16_of_f32, uint16_t, float, f32_to_f16(a))
#endif
CONVERT(load_f32_of_bf16, float, uint16_t, bf16_to_f32(a))
CONVERT(store_bf16_of_f32, uint16_t, float, f32_to_bf16(a))

CONVERT(load_f64_of_f16, double, uint16_t, f16_to_f32(a))
CONVERT(load_f64_of_bf16, double, uint16_t, bf16_to_f32(a))
CONVERT(load_f64_of_f32, double, float, a)
CONVERT(load_f64_of_bool, double, uint8_t, a != 0)
CONVERT(load_i64_of_bool, int64_t, uint8_t, a != 0)
CONVERT(store_f16_of_f64, uint16_t, double, f32_to_f16(f64_to_sticky_f32(a)))
CONVERT(store_bf16_of_f64, uint16_t, double, f32_to_bf16(f64_to_sticky_f32(a)))
CONVERT(store_f32_of_f64, float, double, a)
CONVERT(store_bool_of_f64, uint8_t, double, a != 0.0)
CONVERT(store_bool_of_i64, uint8_t, int64_t, a != 0)
CONVERT(sticky_of_i64, double, int64_t, i64_to_sticky_f64(a))
CONVERT(sticky_of_u64, double, uint64_t, u64_to_sticky_f64(a))

/* Towards zero, saturating, NaN to 0. The limits of up to 32 bits are doubles; those of 64 bits are not, so one past them is asked for. */
#define WITHIN(a, least, most) ((a) != (a) ? 0.0 : (a) < (least) ? (least) : (a) > (most) ? (most) : (a))
#define SATURATE_64(a, type, least, most, past) \
    ((a) != (a) ? (type)0 : (a) <= (double)(least) ? (least) : (a) >= (past) ? (most) : (type)(a))

#define INTEGER(name, type, least, most)                                          \
    CONVERT(load_f64_of_##name, double, type, a)                                  \
    CONVERT(load_i64_of_##name, int64_t, type, a)                                 \
    CONVERT(store_##name##_of_f64, type, double, (int64_t)WITHIN(a, least, most)) \
    CONVERT(store_##name##_of_i64, type, int64_t, a)
INTEGER(u32, uint32_t, 0.0, 4294967295.0)
#undef INTEGER
#define INTEGER(name, type, least, most)                                          \
    CONVERT(load_f64_of_##name, double, type, a)                                  \
    CONVERT(load_i64_of_##name, int64_t, type, a)                                 \
    CONVERT(store_##name##_of_f64, type, double, (int32_t)WITHIN(a, least, most)) \
    CONVERT(store_##name##_of_i64, type, int64_t, a)
INTEGER(u8, uint8_t, 0.0, 255.0)
INTEGER(u16, uint16_t, 0.0, 65535.0)
INTEGER(i8, int8_t, -128.0, 127.0)
INTEGER(i16, int16_t, -32768.0, 32767.0)
INTEGER(i32, int32_t, -2147483648.0, 2147483647.0)
#undef INTEGER
CONVERT(load_f64_of_i64, double, int64_t, a)
CONVERT(load_f64_of_u64, double, uint64_t, a)
CONVERT(store_i64_of_f64, int64_t, double, SATURATE_64(a, int64_t, INT64_MIN, INT64_MAX, 0x1p63))
CONVERT(store_u64_of_f64, uint64_t, double, SATURATE_64(a, uint64_t, UINT64_C(0), UINT64_MAX, 0x1p64))

#define FROM_ANY(form)                                                                                             \
    [OPD_I8] = form(i8), [OPD_I16] = form(i16), [OPD_I32] = form(i32), [OPD_U8] = form(u8), [OPD_U16] = form(u16), \
    [OPD_U32] = form(u32), [OPD_BOOL] = form(bool)
#define LOAD_F64(name)  load_f64_of_##name
#define LOAD_I64(name)  load_i64_of_##name
#define STORE_F64(name) store_##name##_of_f64
#define STORE_I64(name) store_##name##_of_i64

static const opd_conversions conversions = {
    .load_f32 = { [OPD_F16] = load_f32_of_f16, [OPD_BF16] = load_f32_of_bf16 },
    .store_f32 = { [OPD_F16] = store_f16_of_f32, [OPD_BF16] = store_bf16_of_f32 },
    .load_f64 = { FROM_ANY(LOAD_F64), [OPD_F16] = load_f64_of_f16, [OPD_BF16] = load_f64_of_bf16,
                  [OPD_F32] = load_f64_of_f32, [OPD_I64] = load_f64_of_i64, [OPD_U64] = load_f64_of_u64 },
    .store_f64 = { FROM_ANY(STORE_F64), [OPD_F16] = store_f16_of_f64, [OPD_BF16] = store_bf16_of_f64,
                   [OPD_F32] = store_f32_of_f64, [OPD_I64] = store_i64_of_f64, [OPD_U64] = store_u64_of_f64 },
    .load_i64 = { FROM_ANY(LOAD_I64) },
    .store_i64 = { FROM_ANY(STORE_I64) },
    .sticky = { [OPD_I64] = sticky_of_i64, [OPD_U64] = sticky_of_u64 },
};

#endif
