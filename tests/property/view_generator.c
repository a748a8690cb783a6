/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random views and their brute-force contents.
 */
#include "view_generator.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN 64

uint64_t rng_next(rng *r)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state * UINT64_C(0x2545F4914F6CDD1D);
}

int64_t rng_between(rng *r, int64_t low, int64_t high)
{
    return low + (int64_t)(rng_next(r) % (uint64_t)(high - low + 1));
}

static opd_dtype random_dtype(rng *r)
{
    return (opd_dtype)rng_between(r, OPD_F16, OPD_BOOL);
}

/* The matrix element (i, j) that band storage holds at (a, b); column storage: a is the band row. */
static bool band_holds(const opd_mask *m, int64_t a, int64_t b)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            bool is_in_band = j - i <= m->ku && i - j <= m->kl;
            int64_t at_a = m->by_rows ? i : m->ku + i - j;
            int64_t at_b = m->by_rows ? m->kl + j - i : j;
            if (is_in_band && at_a == a && at_b == b) {
                return !(m->unit && i == j);
            }
        }
    }
    return false;
}

static bool packed_holds(const opd_mask *m, int64_t position)
{
    int64_t at = 0;
    for (int64_t j = 0; j < m->rows; j++) {
        for (int64_t i = 0; i < m->rows; i++) {
            bool is_in = m->upper ? i <= j : i >= j;
            if (is_in && at++ == position) {
                return !(m->unit && i == j);
            }
        }
    }
    return false;
}

static bool holds(const opd_tensor *view, const int64_t *index)
{
    const opd_mask *m = &view->mask;
    switch (m->kind) {
    case OPD_MASK_UPPER:
        return m->unit ? index[0] < index[1] : index[0] <= index[1];
    case OPD_MASK_LOWER:
        return m->unit ? index[0] > index[1] : index[0] >= index[1];
    case OPD_MASK_BAND:
        return band_holds(m, index[0], index[1]);
    case OPD_MASK_PACKED:
        return packed_holds(m, index[0]);
    default:
        return true;
    }
}

static int compare_offsets(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Counts down the odometer; false after the last tuple. */
static bool advance(const opd_tensor *view, int64_t *index)
{
    for (int32_t d = view->rank - 1; d >= 0; d--) {
        if (++index[d] < view->shape[d]) {
            return true;
        }
        index[d] = 0;
    }
    return false;
}

static void enumerate(sample *out)
{
    const opd_tensor *view = &out->view;
    int64_t size = (int64_t)opd_dtype_size(view->dtype);
    size_t tuples = 1;
    for (int32_t d = 0; d < view->rank; d++) {
        tuples *= (size_t)view->shape[d];
    }
    out->offsets = calloc(tuples + 1, sizeof(*out->offsets));
    out->existing = 0;
    int64_t index[OPD_MAX_RANK] = { 0 };
    bool is_more = tuples > 0;
    while (is_more) {
        if (holds(view, index)) {
            int64_t offset = 0;
            for (int32_t d = 0; d < view->rank; d++) {
                offset += index[d] * view->stride[d];
            }
            out->offsets[out->existing++] = offset * size;
        }
        is_more = advance(view, index);
    }
    qsort(out->offsets, out->existing, sizeof(*out->offsets), compare_offsets);
    out->count = 0;
    for (size_t i = 0; i < out->existing; i++) {
        if (out->count == 0 || out->offsets[out->count - 1] != out->offsets[i]) {
            out->offsets[out->count++] = out->offsets[i];
        }
    }
}

/* Gives the view a buffer that holds every index tuple, with a margin, at an address that need not be aligned. */
static void bind(sample *out, rng *r)
{
    opd_tensor *view = &out->view;
    int64_t size = (int64_t)opd_dtype_size(view->dtype);
    int64_t low = 0;
    int64_t high = size;
    for (int32_t d = 0; d < view->rank; d++) {
        int64_t reach = view->shape[d] > 0 ? (view->shape[d] - 1) * view->stride[d] * size : 0;
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    int64_t shift = MARGIN + rng_between(r, 0, 15);
    out->bytes = (size_t)(high - low + shift + MARGIN);
    out->buffer = malloc(out->bytes);
    for (size_t i = 0; i < out->bytes; i++) {
        out->buffer[i] = (uint8_t)(rng_next(r) >> 32);
    }
    view->data = out->buffer + shift - low;
}

/* Strides that do not overlap: dims take their places in a random order, each after the reach of the earlier ones plus a gap. */
static void random_strides(opd_tensor *view, rng *r, bool may_repeat)
{
    int32_t order[OPD_MAX_RANK] = { 0 };
    for (int32_t d = 0; d < view->rank; d++) {
        int32_t at = (int32_t)rng_between(r, 0, d);
        order[d] = order[at];
        order[at] = d;
    }
    int64_t step = rng_between(r, 0, 2) == 0 ? rng_between(r, 2, 3) : 1;
    for (int32_t k = 0; k < view->rank; k++) {
        int32_t d = order[k];
        view->stride[d] = step;
        if (may_repeat && rng_between(r, 0, 9) == 0) {
            view->stride[d] = 0;
            continue;
        }
        int64_t extent = view->shape[d] > 0 ? view->shape[d] : 1;
        step = step * extent + (rng_between(r, 0, 2) == 0 ? rng_between(r, 1, 4) : 0);
        if (rng_between(r, 0, 3) == 0) {
            view->stride[d] = -view->stride[d];
        }
    }
}

void sample_plain(sample *out, rng *r)
{
    *out = (sample){ 0 };
    out->view.dtype = random_dtype(r);
    out->view.rank = (int32_t)rng_between(r, 0, OPD_MAX_RANK);
    int64_t most = out->view.rank > 5 ? 3 : 6;
    for (int32_t d = 0; d < out->view.rank; d++) {
        out->view.shape[d] = rng_between(r, 0, 39) == 0 ? 0 : rng_between(r, 1, most);
    }
    random_strides(&out->view, r, true);
    bind(out, r);
    enumerate(out);
}

void sample_windows(sample *out, rng *r)
{
    *out = (sample){ 0 };
    out->view.dtype = random_dtype(r);
    out->view.rank = (int32_t)rng_between(r, 2, 4);
    int64_t step = rng_between(r, 1, 3);
    for (int32_t d = 0; d < out->view.rank; d++) {
        out->view.shape[d] = rng_between(r, 1, 6);
        out->view.stride[d] = rng_between(r, 0, 2) == 0 ? -step : step;
    }
    bind(out, r);
    enumerate(out);
}

static void random_band(opd_tensor *view, rng *r)
{
    opd_mask *m = &view->mask;
    m->kind = OPD_MASK_BAND;
    m->by_rows = (uint8_t)rng_between(r, 0, 1);
    m->rows = rng_between(r, 0, 9);
    m->cols = rng_between(r, 0, 9);
    m->kl = rng_between(r, 0, 4);
    m->ku = rng_between(r, 0, 4);
    int64_t across = m->kl + m->ku + 1;
    view->shape[0] = m->by_rows ? m->rows : across;
    view->shape[1] = m->by_rows ? across : m->cols;
    if (rng_between(r, 0, 4) == 0) { /* storage larger or smaller than the band needs */
        view->shape[rng_between(r, 0, 1)] += rng_between(r, 0, 3);
    }
}

void sample_masked(sample *out, rng *r)
{
    *out = (sample){ 0 };
    opd_tensor *view = &out->view;
    view->dtype = random_dtype(r);
    view->mask.unit = (uint8_t)rng_between(r, 0, 1);
    int64_t kind = rng_between(r, 1, 4);
    if (kind == OPD_MASK_PACKED) {
        view->rank = 1;
        view->mask.kind = OPD_MASK_PACKED;
        view->mask.rows = rng_between(r, 0, 9);
        view->mask.upper = (uint8_t)rng_between(r, 0, 1);
        view->shape[0] = view->mask.rows * (view->mask.rows + 1) / 2;
    } else {
        view->rank = 2;
        view->mask.kind = (uint8_t)kind;
        view->shape[0] = rng_between(r, 0, 12);
        view->shape[1] = rng_between(r, 0, 3) == 0 ? view->shape[0] : rng_between(r, 0, 12);
        if (kind == OPD_MASK_BAND) {
            random_band(view, r);
        }
    }
    random_strides(view, r, false);
    bind(out, r);
    enumerate(out);
}

void sample_done(sample *item)
{
    free(item->buffer);
    free(item->offsets);
    *item = (sample){ 0 };
}
