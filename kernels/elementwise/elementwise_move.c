/* SPDX-License-Identifier: Apache-2.0 */
/* Moving elements for elementwise runs: positions in strided views, copies with steps, and copies past the cache. */
#include <string.h>

#include "elementwise_job.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

int64_t opd_elementwise_locate(const opd_elementwise_job *job, const opd_elementwise_operand *operand, int64_t flat,
                               int64_t index[OPD_MAX_RANK])
{
    int64_t offset = 0;
    for (int d = job->rank - 1; d >= 0; d--) {
        index[d] = flat % job->shape[d];
        flat /= job->shape[d];
        offset += index[d] * operand->stride[d];
    }
    return offset;
}

int64_t opd_elementwise_advance(const opd_elementwise_job *job, const opd_elementwise_operand *operand,
                                int64_t index[OPD_MAX_RANK])
{
    int64_t offset = 0;
    for (int d = job->rank - 1; d >= 0; d--) {
        offset += operand->stride[d];
        if (++index[d] < job->shape[d]) {
            return offset;
        }
        offset -= operand->stride[d] * job->shape[d];
        index[d] = 0;
    }
    return offset;
}

#define COPY_OF(bytes)                                                                                            \
    static void copy_##bytes(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t count) \
    {                                                                                                             \
        for (int64_t i = 0; i < count; i++) {                                                                     \
            memcpy(to + i * to_step, from + i * from_step, bytes);                                                \
        }                                                                                                         \
    }
COPY_OF(1)
COPY_OF(2)
COPY_OF(4)
COPY_OF(8)

void opd_elementwise_copy(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t count,
                          int64_t size)
{
    static void (*const by_size[])(uint8_t *, int64_t, const uint8_t *, int64_t,
                                   int64_t) = { [1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8 };
    if (to_step == size && from_step == size) {
        memcpy(to, from, (size_t)(count * size));
    } else {
        by_size[size](to, to_step, from, from_step, count);
    }
}

#if defined(__SSE2__)
void opd_elementwise_stream(uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t head = (64 - ((uintptr_t)to & 63)) & 63;
    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    size_t at = head;
    for (; at + 64 <= bytes; at += 64) { /* whole cache lines, so that none is read first */
        const __m128i_u *line = (const __m128i_u *)(from + at);
        __m128i *out = (__m128i *)(void *)(to + at);
        __m128i a = _mm_loadu_si128(line);
        __m128i b = _mm_loadu_si128(line + 1);
        __m128i c = _mm_loadu_si128(line + 2);
        __m128i d = _mm_loadu_si128(line + 3);
        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    memcpy(to + at, from + at, bytes - at);
}

void opd_elementwise_stream_end(void)
{
    _mm_sfence();
}
#else
void opd_elementwise_stream(uint8_t *to, const uint8_t *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

void opd_elementwise_stream_end(void)
{
}
#endif
