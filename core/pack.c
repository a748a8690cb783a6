/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Existing elements to and from dense memory, in walk order.
 */
#include "walk.h"

#include <string.h>

/* With the size a constant, each copy is one load and one store. */
#define COPY_LOOP(bytes)                  \
    for (int64_t i = 0; i < count; i++) { \
        memcpy(to, from, bytes);          \
        to += to_step;                    \
        from += from_step;                \
    }

static void copy(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t count, size_t size)
{
    switch (size) {
    case 1:
        COPY_LOOP(1)
        break;
    case 2:
        COPY_LOOP(2)
        break;
    case 4:
        COPY_LOOP(4)
        break;
    case 8:
        COPY_LOOP(8)
        break;
    default:
        COPY_LOOP(16)
        break;
    }
}

void opd_gather(void *dst, const void *src, int64_t count, int64_t step, size_t size)
{
    if (step == (int64_t)size) {
        memcpy(dst, src, (size_t)count * size);
    } else {
        copy(dst, (int64_t)size, src, step, count, size);
    }
}

void opd_scatter(void *dst, const void *src, int64_t count, int64_t step, size_t size)
{
    if (step == (int64_t)size) {
        memcpy(dst, src, (size_t)count * size);
    } else {
        copy(dst, step, src, (int64_t)size, count, size);
    }
}

void opd_tensor_pack(void *dst, const opd_tensor *view)
{
    size_t size = opd_dtype_size(view->dtype);
    uint8_t *at = dst;
    const uint8_t *data = view->data;
    opd_runs runs;
    opd_run run;
    opd_runs_begin(&runs, view);
    while (opd_runs_next(&runs, &run)) {
        opd_gather(at, data + run.offset, run.count, run.step, size);
        at += (size_t)run.count * size;
    }
}

void opd_tensor_unpack(const opd_tensor *view, const void *src)
{
    size_t size = opd_dtype_size(view->dtype);
    const uint8_t *at = src;
    uint8_t *data = view->data;
    opd_runs runs;
    opd_run run;
    opd_runs_begin(&runs, view);
    while (opd_runs_next(&runs, &run)) {
        opd_scatter(data + run.offset, at, run.count, run.step, size);
        at += (size_t)run.count * size;
    }
}
