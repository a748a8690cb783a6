/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops. Included by one .c file per instruction set, which defines OPD_KERNELS (the table's name) and
 * OPD_KERNELS_ISA. Sums run in a fixed number of lanes whatever the vectors' width, so that every instruction set gives the
 * same bits.
 */
#include "kernels.h"

#include <string.h>

#include "xxh3.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

typedef float f32_vector __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t i32_vector __attribute__((vector_size(VECTOR_BYTES)));
typedef double f64_vector __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t i64_vector __attribute__((vector_size(VECTOR_BYTES)));

#define F32_WIDTH (VECTOR_BYTES / 4)
#define F64_WIDTH (VECTOR_BYTES / 8)

/* The lesser (greater) of two vectors without NaN; the low and high half of floats as doubles. */
#if defined(__AVX2__)
#define LESSER_F32(a, b)  _mm256_min_ps(a, b)
#define GREATER_F32(a, b) _mm256_max_ps(a, b)
#define LESSER_F64(a, b)  _mm256_min_pd(a, b)
#define GREATER_F64(a, b) _mm256_max_pd(a, b)
#define LOW_HALF(x)       _mm256_cvtps_pd(_mm256_castps256_ps128(x))
#define HIGH_HALF(x)      _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))
#elif defined(__SSE2__)
#define LESSER_F32(a, b)  _mm_min_ps(a, b)
#define GREATER_F32(a, b) _mm_max_ps(a, b)
#define LESSER_F64(a, b)  _mm_min_pd(a, b)
#define GREATER_F64(a, b) _mm_max_pd(a, b)
#define LOW_HALF(x)       _mm_cvtps_pd(x)
#define HIGH_HALF(x)      _mm_cvtps_pd(_mm_movehl_ps(x, x))
#else
#define SELECT(type, bits_type, mask, a, b) ((type)(((bits_type)(a) & (mask)) | ((bits_type)(b) & ~(mask))))
#define LESSER_F32(a, b)                    SELECT(f32_vector, i32_vector, (i32_vector)((a) < (b)), a, b)
#define GREATER_F32(a, b)                   SELECT(f32_vector, i32_vector, (i32_vector)((a) > (b)), a, b)
#define LESSER_F64(a, b)                    SELECT(f64_vector, i64_vector, (i64_vector)((a) < (b)), a, b)
#define GREATER_F64(a, b)                   SELECT(f64_vector, i64_vector, (i64_vector)((a) > (b)), a, b)
#endif

/* Totals of the lanes that one vector holds. */
#define TOTALS(vector, bits, value)                                 \
    const vector infinity = (value)__builtin_inf() - (vector){ 0 }; \
    vector least = infinity;                                        \
    vector most = -infinity;                                        \
    bits finite = { 0 };                                            \
    bits zero = { 0 };                                              \
    bits small = { 0 };

/* Comparisons are false for NaN, and give 0 or -1 in each lane. Leaves x with 0 for what is not finite. */
#define CLASSIFY(vector, bits, all_but_sign, LESSER, GREATER)                 \
    vector x;                                                                 \
    memcpy(&x, at, sizeof(x));                                                \
    vector size = (vector)((bits)x & (all_but_sign));                         \
    bits is_finite = (bits)(size < infinity);                                 \
    finite -= is_finite;                                                      \
    zero -= (bits)(size == (vector){ 0 });                                    \
    small -= (bits)(size < limit);                                            \
    x = (vector)((bits)x & is_finite);                                        \
    least = LESSER((vector)((bits)x | (~is_finite & (bits)infinity)), least); \
    most = GREATER((vector)((bits)x | (~is_finite & (bits)-infinity)), most);

#define ADD_TOTALS(width)                                                                    \
    for (int l = 0; l < (width); l++) {                                                      \
        double low = (double)least[l];                                                       \
        double high = (double)most[l];                                                       \
        lanes->min[first + l] = low < lanes->min[first + l] ? low : lanes->min[first + l];   \
        lanes->max[first + l] = high > lanes->max[first + l] ? high : lanes->max[first + l]; \
        lanes->finite += (uint64_t)finite[l];                                                \
        lanes->zero += (uint64_t)zero[l];                                                    \
        lanes->small += (uint64_t)small[l];                                                  \
    }

/* One vector's lanes over all rows; the rows are in the first-level cache when the next lanes come. */
static void sum_f32(opd_lanes *lanes, const void *values, size_t count, float normal)
{
    const f32_vector limit = normal - (f32_vector){ 0 };
    for (int first = 0; first < OPD_LANES; first += F32_WIDTH) {
        const uint8_t *at = (const uint8_t *)values + (size_t)first * sizeof(float);
        f64_vector sum[2];
        memcpy(sum, lanes->sum + first, sizeof(sum));
        TOTALS(f32_vector, i32_vector, float)
        for (size_t i = 0; i < count; i += OPD_LANES, at += OPD_LANES * sizeof(float)) {
            CLASSIFY(f32_vector, i32_vector, INT32_MAX, LESSER_F32, GREATER_F32)
            sum[0] += LOW_HALF(x);
            sum[1] += HIGH_HALF(x);
        }
        memcpy(lanes->sum + first, sum, sizeof(sum));
        ADD_TOTALS(F32_WIDTH)
    }
}

static void sum_f64(opd_lanes *lanes, const void *values, size_t count, double normal)
{
    const f64_vector limit = normal - (f64_vector){ 0 };
    for (int first = 0; first < OPD_LANES; first += F64_WIDTH) {
        const uint8_t *at = (const uint8_t *)values + (size_t)first * sizeof(double);
        f64_vector sum;
        memcpy(&sum, lanes->sum + first, sizeof(sum));
        TOTALS(f64_vector, i64_vector, double)
        for (size_t i = 0; i < count; i += OPD_LANES, at += OPD_LANES * sizeof(double)) {
            CLASSIFY(f64_vector, i64_vector, INT64_MAX, LESSER_F64, GREATER_F64)
            sum += x;
        }
        memcpy(lanes->sum + first, &sum, sizeof(sum));
        ADD_TOTALS(F64_WIDTH)
    }
}

/* Adding the lowest bit of the mask to a word whose masked bits are all set, and to no other, carries into the sign bit. */
#define ANY_LOOP(type)                                      \
    const uint8_t *at = values;                             \
    type low = (type)(mask & (type)(~mask + 1));            \
    type seen = 0;                                          \
    for (size_t i = 0; i < count; i++) {                    \
        type word;                                          \
        memcpy(&word, at + i * sizeof(word), sizeof(word)); \
        seen = (type)(seen | (type)((word & mask) + low));  \
    }                                                       \
    return (seen >> (8 * sizeof(type) - 1)) != 0;

static bool any_16(const void *values, size_t count, uint16_t mask)
{
    ANY_LOOP(uint16_t)
}

static bool any_32(const void *values, size_t count, uint32_t mask)
{
    ANY_LOOP(uint32_t)
}

static bool any_64(const void *values, size_t count, uint64_t mask)
{
    ANY_LOOP(uint64_t)
}

/* Counters as wide as the values, so that the loop stays in one kind of vector. */
#define COUNT_LOOP(type, counter, infinity)                    \
    const uint8_t *at = values;                                \
    counter nan = 0;                                           \
    counter pos_inf = 0;                                       \
    counter neg_inf = 0;                                       \
    for (size_t i = 0; i < count; i++) {                       \
        type value;                                            \
        memcpy(&value, at + i * sizeof(value), sizeof(value)); \
        nan += value != value ? 1U : 0U;                       \
        pos_inf += value == (infinity) ? 1U : 0U;              \
        neg_inf += value == -(infinity) ? 1U : 0U;             \
    }                                                          \
    return (opd_nonfinite){ .nan = nan, .pos_inf = pos_inf, .neg_inf = neg_inf };

static opd_nonfinite count_f32(const void *values, size_t count)
{
    COUNT_LOOP(float, uint32_t, __builtin_inff())
}

static opd_nonfinite count_f64(const void *values, size_t count)
{
    COUNT_LOOP(double, uint64_t, __builtin_inf())
}

static void widen_f16(float *out, const void *values, size_t count)
{
    const uint8_t *at = values;
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, at + 2 * i, sizeof(half));
        uint32_t size = (uint32_t)(half & 0x7fff) << 13;
        /* Normal: the bias differs by 112. Inf, NaN: by 224. Subnormal: as 2^-14 + value, less 2^-14, which is exact. */
        uint32_t normal = size + (UINT32_C(112) << 23);
        uint32_t shifted = size + (UINT32_C(113) << 23);
        float value;
        memcpy(&value, &shifted, sizeof(value));
        value -= 6.103515625e-05f;
        uint32_t subnormal;
        memcpy(&subnormal, &value, sizeof(subnormal));
        uint32_t is_small = 0U - (uint32_t)(size < UINT32_C(1) << 23);
        uint32_t is_top = 0U - (uint32_t)(size >= UINT32_C(31) << 23);
        uint32_t bits = (subnormal & is_small) | (normal & ~is_small);
        bits += is_top & (UINT32_C(112) << 23);
        bits |= (uint32_t)(half & 0x8000) << 16;
        memcpy(&out[i], &bits, sizeof(bits));
    }
}

static void widen_bf16(float *out, const void *values, size_t count)
{
    const uint8_t *at = values;
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, at + 2 * i, sizeof(half));
        uint32_t bits = (uint32_t)half << 16;
        memcpy(&out[i], &bits, sizeof(bits));
    }
}

static void digest_update(void *state, const void *bytes, size_t size)
{
    (void)XXH3_128bits_update(state, bytes, size);
}

const opd_kernels OPD_KERNELS = {
    .isa = OPD_KERNELS_ISA,
    .sum_f32 = sum_f32,
    .sum_f64 = sum_f64,
    .any_16 = any_16,
    .any_32 = any_32,
    .any_64 = any_64,
    .count_f32 = count_f32,
    .count_f64 = count_f64,
    .widen_f16 = widen_f16,
    .widen_bf16 = widen_bf16,
    .digest_update = digest_update,
};
