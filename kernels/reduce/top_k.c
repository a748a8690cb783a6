/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TopK: each value becomes a whole number in the wanted order (NaN above everything, both zeros equal); a heap keeps the K best, the worst of them on
 * top, so that most elements cost one comparison; then it is emptied into order. `sorted` 0 is served sorted too.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "axes.h"
#include "reduce_variants.h"

enum { DATA, BESIDE, VALUES, INDICES };

/* Larger keys are better; of equal ones the lower index. */
typedef struct entry {
    uint64_t key;
    int64_t index;
} entry;

typedef struct job {
    opd_dtype dtype;
    opd_axis axis;
    int64_t k, bytes;
    bool is_largest;
    const uint8_t *x;
    uint8_t *values, *indices;
    entry *heaps; /* k for each part */
    int64_t parts;
} job;

static bool is_worse(const entry *a, const entry *b)
{
    return a->key != b->key ? a->key < b->key : a->index > b->index;
}

static uint64_t key_of(const job *work, const uint8_t *at)
{
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t key = 0;
    if (opd_dtype_is_float(work->dtype)) {
        double value;
        double im;
        opd_element_load(work->dtype, at, &value, &im);
        value = value == 0.0 ? 0.0 : value;
        memcpy(&key, &value, sizeof key);
        key = isnan(value) ? UINT64_MAX : (key & sign) != 0 ? ~key : key | sign;
    } else {
        memcpy(&key, at, (size_t)work->bytes);
        if (opd_is_signed(work->dtype)) {
            int shift = 64 - 8 * (int)work->bytes;
            key = ((key << shift) ^ sign) >> shift;
        }
    }
    return work->is_largest ? key : ~key;
}

/* The entry at the top sinks to where it belongs. */
static void sink(entry *heap, int64_t count)
{
    int64_t at = 0;
    while (2 * at + 1 < count) {
        int64_t child = 2 * at + 1;
        if (child + 1 < count && is_worse(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!is_worse(&heap[child], &heap[at])) {
            return;
        }
        entry swapped = heap[at];
        heap[at] = heap[child];
        heap[child] = swapped;
        at = child;
    }
}

static void rise(entry *heap, int64_t at)
{
    while (at > 0 && is_worse(&heap[at], &heap[(at - 1) / 2])) {
        entry swapped = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = swapped;
        at = (at - 1) / 2;
    }
}

static void pick(const job *work, entry *heap, int64_t line)
{
    int64_t outer = line / work->axis.inner;
    int64_t inside = line % work->axis.inner;
    const uint8_t *x = work->x + (outer * work->axis.size * work->axis.inner + inside) * work->bytes;
    int64_t step = work->axis.inner * work->bytes;
    int64_t count = 0;
    for (int64_t i = 0; i < work->axis.size; i++) {
        entry next = { key_of(work, x + i * step), i };
        if (count < work->k) {
            heap[count] = next;
            rise(heap, count++);
        } else if (is_worse(&heap[0], &next)) {
            heap[0] = next;
            sink(heap, count);
        }
    }
    for (int64_t n = count - 1; n >= 0; n--) {
        int64_t to = (outer * work->k + n) * work->axis.inner + inside;
        memcpy(work->values + to * work->bytes, x + heap[0].index * step, (size_t)work->bytes);
        memcpy(work->indices + to * (int64_t)sizeof(int64_t), &heap[0].index, sizeof(int64_t));
        heap[0] = heap[n];
        sink(heap, n);
    }
}

static void pick_part(void *context, int64_t part)
{
    const job *work = context;
    int64_t lines = work->k > 0 ? work->axis.outer * work->axis.inner : 0;
    for (int64_t line = lines * part / work->parts; line < lines * (part + 1) / work->parts; line++) {
        pick(work, work->heaps + part * work->k, line);
    }
}

static int64_t k_of(const opd_call *call)
{
    opd_axis axis;
    opd_axis picked;
    int64_t at = opd_call_int(call, "axis", -1);
    bool is_known = opd_axis_of(&axis, &call->operands[DATA].view, at) == OPD_OK &&
                    opd_axis_of(&picked, &call->operands[VALUES].view, at) == OPD_OK;
    return is_known ? picked.size : 0;
}

size_t opd_top_k_workspace(const opd_call *call, int32_t threads)
{
    return (size_t)(opd_rows_parts(threads) * k_of(call)) * sizeof(entry);
}

opd_status opd_top_k(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *x = &call->operands[DATA].view;
    job work = { .dtype = x->dtype, .k = k_of(call), .x = x->data, .parts = opd_rows_parts(workspace->threads) };
    opd_status status = opd_axis_of(&work.axis, x, opd_call_int(call, "axis", -1));
    if (status != OPD_OK) {
        return status;
    }
    work.values = call->operands[VALUES].view.data;
    work.indices = call->operands[INDICES].view.data;
    work.heaps = workspace->bytes;
    work.bytes = (int64_t)opd_dtype_size(x->dtype);
    work.is_largest = opd_call_int(call, "largest", 1) != 0;
    opd_parallel(workspace->threads, work.parts, pick_part, &work);
    return OPD_OK;
}
