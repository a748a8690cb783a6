/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of opd_metrics. Included by one .c file per instruction set, which defines OPD_COMPARE (the table's name). Plain loops over
 * four lanes by position, which compilers turn into vectors of any width: every instruction set gives the same bits.
 */
#include "compare.h"

#include <math.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { LANES = 4 }; /* the running totals of more would not fit the registers */

typedef double f64_lanes __attribute__((vector_size(32)));
typedef int64_t i64_lanes __attribute__((vector_size(32)));
typedef float f32_lanes __attribute__((vector_size(16)));

struct lanes {
    f64_lanes got, want, got_got, want_want, got_want, error_error, distance, largest;
};

static inline struct lanes add(struct lanes lanes, f64_lanes got, f64_lanes want, f64_lanes error)
{
    const i64_lanes sign = { INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN };
    f64_lanes distance = (f64_lanes)((i64_lanes)error & ~sign);
    lanes.got += got;
    lanes.want += want;
    lanes.got_got += got * got;
    lanes.want_want += want * want;
    lanes.got_want += got * want;
    lanes.error_error += error * error;
    lanes.distance += distance;
#if defined(__AVX2__)
    lanes.largest = (f64_lanes)_mm256_max_pd((__m256d)distance, (__m256d)lanes.largest);
#else
    i64_lanes is_larger = distance > lanes.largest;
    lanes.largest = (f64_lanes)(((i64_lanes)distance & is_larger) | ((i64_lanes)lanes.largest & ~is_larger));
#endif
    return lanes;
}

static double total(f64_lanes lanes)
{
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

static void finish(opd_block_sums *sums, const struct lanes *lanes)
{
    *sums = (opd_block_sums){ .got = total(lanes->got),
                              .want = total(lanes->want),
                              .got_got = total(lanes->got_got),
                              .want_want = total(lanes->want_want),
                              .got_want = total(lanes->got_want),
                              .error_error = total(lanes->error_error),
                              .distance = total(lanes->distance) };
    for (int i = 0; i < LANES; i++) {
        sums->largest = lanes->largest[i] > sums->largest ? lanes->largest[i] : sums->largest;
    }
}

static inline f64_lanes load_f32(const float *values)
{
#if defined(__AVX2__)
    return (f64_lanes)_mm256_cvtps_pd(_mm_loadu_ps(values));
#else
    f32_lanes lanes;
    memcpy(&lanes, values, sizeof lanes);
    return __builtin_convertvector(lanes, f64_lanes);
#endif
}

static inline f64_lanes load_f64(const double *values)
{
    f64_lanes lanes;
    memcpy(&lanes, values, sizeof lanes);
    return lanes;
}

/* The last, partial group of lanes is filled up with components without error. */
static void sum_f32(opd_block_sums *sums, const float *got, const float *want, size_t count)
{
    struct lanes lanes = { .want = { 0 } };
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        f64_lanes a = load_f32(got + at);
        f64_lanes b = load_f32(want + at);
        lanes = add(lanes, a, b, a - b);
    }
    if (at < count) {
        float rest[2][LANES] = { { 0 } };
        memcpy(rest[0], got + at, (count - at) * sizeof got[0]);
        memcpy(rest[1], want + at, (count - at) * sizeof want[0]);
        f64_lanes a = load_f32(rest[0]);
        f64_lanes b = load_f32(rest[1]);
        lanes = add(lanes, a, b, a - b);
    }
    finish(sums, &lanes);
}

static void sum_f64(opd_block_sums *sums, const double *got, const double *want, const double *error, size_t count)
{
    struct lanes lanes = { .want = { 0 } };
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        lanes = add(lanes, load_f64(got + at), load_f64(want + at), load_f64(error + at));
    }
    if (at < count) {
        double rest[3][LANES] = { { 0 } };
        memcpy(rest[0], got + at, (count - at) * sizeof rest[0][0]);
        memcpy(rest[1], want + at, (count - at) * sizeof rest[0][0]);
        memcpy(rest[2], error + at, (count - at) * sizeof rest[0][0]);
        lanes = add(lanes, load_f64(rest[0]), load_f64(rest[1]), load_f64(rest[2]));
    }
    finish(sums, &lanes);
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void find_largest(opd_block_keys *keys, size_t count)
{
    uint32_t rel = 0;
    uint32_t ulp = 0;
    uint32_t differing = 0;
    for (size_t i = 0; i < count; i++) {
        rel = keys->rel[i] > rel ? keys->rel[i] : rel;
        ulp = keys->ulp[i] > ulp ? keys->ulp[i] : ulp;
        differing += keys->abs[i] != 0;
    }
    keys->differing = differing;
    keys->largest_rel = rel;
    keys->largest_ulp = ulp;
}

/* In single precision, for speed: each is within two of its own units. 2^e of want is its bits without sign and fraction. */
static void keys_f32(opd_block_keys *keys, const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float size = fabsf(want[i]);
        float error = (float)fabs((double)got[i] - (double)want[i]);
        uint32_t power = bits_of(size) & 0x7f800000U;
        power = power > 0x00800000U ? power : 0x00800000U;
        /* Where want is 0: 0 / least is 0, and an error is put beyond the range without a branch. */
        float divisor = size > 0x1p-149F ? size : 0x1p-149F;
        float factor = size == 0.0F ? 0x1p127F : 1.0F;
        keys->rel[i] = bits_of(error / divisor * factor);
        keys->ulp[i] = bits_of(error / float_of(power) * 0x1p23F);
        keys->abs[i] = bits_of(error);
    }
    find_largest(keys, count);
}

static void keys_f64(opd_block_keys *keys, const double *want, const double *error, const double *unit, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double size = fabs(want[i]);
        double distance = fabs(error[i]);
        double rel = distance / (size > 0x1p-1074 ? size : 0x1p-1074);
        keys->rel[i] = bits_of((float)(size == 0.0 && distance != 0.0 ? HUGE_VAL : rel));
        keys->ulp[i] = bits_of((float)(distance / unit[i]));
        keys->abs[i] = bits_of((float)distance);
    }
    find_largest(keys, count);
}

/* Greatest exponent field of want, and any bit that differs: two integer operations an element, so that memory sets the pace. */
static bool is_same_f32(const float *got, const float *want, size_t count)
{
    uint32_t other = 0;
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t size = bits_of(want[i]) & 0x7f800000U;
        other |= bits_of(got[i]) ^ bits_of(want[i]);
        largest = size > largest ? size : largest;
    }
    return other == 0 && largest < 0x7f800000U;
}

static uint32_t count_equal(const uint32_t *keys, size_t count, uint32_t wanted)
{
    uint32_t equal = 0;
    for (size_t i = 0; i < count; i++) {
        equal += keys[i] == wanted;
    }
    return equal;
}

const opd_compare_loops OPD_COMPARE = {
    .sum_f32 = sum_f32,
    .sum = sum_f64,
    .keys_f32 = keys_f32,
    .keys = keys_f64,
    .count_equal = count_equal,
    .is_same_f32 = is_same_f32,
};
