/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splitting into byte planes and back, 16 components at a time. Seen as one array of 16 * width bytes, one
 * de-interleave (even bytes first, then odd ones) rotates the position's bits to the right by one; log2(width)
 * rounds bring the byte number to the top and so make planes. Joining interleaves as many times.
 */
#include "planes.h"

#include <string.h>

typedef uint8_t vec16 __attribute__((vector_size(16)));

#define PLANES_LANES 16

static inline __attribute__((always_inline)) void deinterleave(vec16 *out, const vec16 *in, size_t width)
{
    for (size_t i = 0; i < width / 2; i++) {
        out[i] = __builtin_shufflevector(in[2 * i], in[2 * i + 1], 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26,
                                         28, 30);
        out[width / 2 + i] = __builtin_shufflevector(in[2 * i], in[2 * i + 1], 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21,
                                                     23, 25, 27, 29, 31);
    }
}

static inline __attribute__((always_inline)) void interleave(vec16 *out, const vec16 *in, size_t width)
{
    for (size_t i = 0; i < width / 2; i++) {
        out[2 * i] =
            __builtin_shufflevector(in[i], in[width / 2 + i], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        out[2 * i + 1] = __builtin_shufflevector(in[i], in[width / 2 + i], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                 14, 30, 15, 31);
    }
}

/* Inlined with a constant width so that the vectors stay in registers. */
static inline __attribute__((always_inline)) void split_width(uint8_t *const planes[], const uint8_t *src, size_t count,
                                                              size_t width)
{
    vec16 a[PLANES_WIDTH_MAX];
    vec16 b[PLANES_WIDTH_MAX];
    size_t i = 0;

    for (; i + PLANES_LANES <= count; i += PLANES_LANES) {
        memcpy(a, src + i * width, PLANES_LANES * width);
        for (size_t round = width; round > 1; round /= 2) {
            deinterleave(b, a, width);
            memcpy(a, b, PLANES_LANES * width);
        }
        for (size_t byte = 0; byte < width; byte++) {
            memcpy(planes[byte] + i, &a[byte], PLANES_LANES);
        }
    }
    for (; i < count; i++) {
        for (size_t byte = 0; byte < width; byte++) {
            planes[byte][i] = src[i * width + byte];
        }
    }
}

static inline __attribute__((always_inline)) void join_width(uint8_t *dst, const uint8_t *const planes[], size_t count,
                                                             size_t width)
{
    vec16 a[PLANES_WIDTH_MAX];
    vec16 b[PLANES_WIDTH_MAX];
    size_t i = 0;

    for (; i + PLANES_LANES <= count; i += PLANES_LANES) {
        for (size_t byte = 0; byte < width; byte++) {
            memcpy(&a[byte], planes[byte] + i, PLANES_LANES);
        }
        for (size_t round = width; round > 1; round /= 2) {
            interleave(b, a, width);
            memcpy(a, b, PLANES_LANES * width);
        }
        memcpy(dst + i * width, a, PLANES_LANES * width);
    }
    for (; i < count; i++) {
        for (size_t byte = 0; byte < width; byte++) {
            dst[i * width + byte] = planes[byte][i];
        }
    }
}

void planes_split(uint8_t *const planes[], const uint8_t *src, size_t count, size_t width)
{
    switch (width) {
    case 2:
        split_width(planes, src, count, 2);
        return;
    case 4:
        split_width(planes, src, count, 4);
        return;
    default:
        split_width(planes, src, count, 8);
        return;
    }
}

void planes_join(uint8_t *dst, const uint8_t *const planes[], size_t count, size_t width)
{
    switch (width) {
    case 2:
        join_width(dst, planes, count, 2);
        return;
    case 4:
        join_width(dst, planes, count, 4);
        return;
    default:
        join_width(dst, planes, count, 8);
        return;
    }
}
