/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views as values: making, checking and indexing them. What depends on the order of the memory is in walk.c.
 */
#include <opsdebug/tensor.h>

#include <opsdebug/memory.h>

#include "dtype.h"

/* Mask numbers and masked shapes stay under this, so that sums of a few of them cannot overflow. */
#define MASK_LIMIT (INT64_C(1) << 60)

opd_status opd_tensor_contiguous(opd_tensor *out, opd_dtype dtype, int32_t rank, const int64_t *shape, void *data)
{
    opd_tensor view = { .data = data, .dtype = dtype, .rank = rank, .storage = data };
    if (rank < 0 || rank > OPD_MAX_RANK) {
        return opd_fail(OPD_E_INVALID, "rank %d is not in 0..%d", rank, OPD_MAX_RANK);
    }
    int64_t step = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        view.shape[d] = shape[d];
        view.stride[d] = step;
        if (shape[d] > 0 && !opd_mul_i64(&step, step, shape[d])) {
            return opd_fail(OPD_E_INVALID, "the shape has more elements than 64 bits can count");
        }
    }
    opd_status status = opd_tensor_check(&view);
    if (status != OPD_OK) {
        return status;
    }
    view.storage_bytes = opd_tensor_packed_bytes(&view);
    *out = view;
    return OPD_OK;
}

static bool is_mask_number(int64_t value)
{
    return value >= 0 && value <= MASK_LIMIT;
}

static opd_status check_packed(const opd_tensor *view)
{
    int64_t n = view->mask.rows;
    /* 3037000499 = floor(sqrt(2^63 - 1)) */
    if (view->rank != 1 || n < 0 || n > INT64_C(3037000499) || n * (n + 1) / 2 != view->shape[0]) {
        return opd_fail(OPD_E_INVALID, "a packed triangle of order %lld needs rank 1 and n (n + 1) / 2 elements",
                        (long long)n);
    }
    return OPD_OK;
}

static opd_status check_mask(const opd_tensor *view)
{
    const opd_mask *mask = &view->mask;
    if (mask->kind == OPD_MASK_NONE) {
        return OPD_OK;
    }
    if (mask->kind > OPD_MASK_PACKED) {
        return opd_fail(OPD_E_INVALID, "mask kind %u is unknown", mask->kind);
    }
    if (mask->kind == OPD_MASK_PACKED) {
        return check_packed(view);
    }
    if (view->rank != 2) {
        return opd_fail(OPD_E_INVALID, "a triangle or band mask needs rank 2, not %d", view->rank);
    }
    if (!is_mask_number(view->shape[0]) || !is_mask_number(view->shape[1])) {
        return opd_fail(OPD_E_INVALID, "a masked dimension is over 2^60");
    }
    if (mask->kind == OPD_MASK_BAND && (!is_mask_number(mask->kl) || !is_mask_number(mask->ku) ||
                                        !is_mask_number(mask->rows) || !is_mask_number(mask->cols))) {
        return opd_fail(OPD_E_INVALID, "kl, ku, rows or cols of a band mask is not in 0..2^60");
    }
    return OPD_OK;
}

/* Adds the reach of one dimension in bytes to *low or *high. */
static bool add_reach(int64_t *low, int64_t *high, int64_t size, int64_t extent, int64_t stride)
{
    int64_t reach;
    if (!opd_mul_i64(&reach, extent - 1, stride) || !opd_mul_i64(&reach, reach, size)) {
        return false;
    }
    return reach < 0 ? opd_add_i64(low, *low, reach) : opd_add_i64(high, *high, reach);
}

opd_status opd_tensor_check(const opd_tensor *view)
{
    int64_t size = (int64_t)opd_dtype_size(view->dtype);
    if (size == 0) {
        return opd_fail(OPD_E_INVALID, "dtype code %d is unknown", (int)view->dtype);
    }
    if (view->rank < 0 || view->rank > OPD_MAX_RANK) {
        return opd_fail(OPD_E_INVALID, "rank %d is not in 0..%d", view->rank, OPD_MAX_RANK);
    }
    bool is_empty = false;
    for (int32_t d = 0; d < view->rank; d++) {
        if (view->shape[d] < 0) {
            return opd_fail(OPD_E_INVALID, "dimension %d is negative: %lld", d, (long long)view->shape[d]);
        }
        is_empty = is_empty || view->shape[d] == 0;
    }
    int64_t bytes = size;
    int64_t low = 0;
    int64_t high = size;
    for (int32_t d = 0; d < view->rank && !is_empty; d++) {
        if (!opd_mul_i64(&bytes, bytes, view->shape[d])) {
            return opd_fail(OPD_E_INVALID, "the shape has more bytes than 64 bits can count");
        }
        if (!add_reach(&low, &high, size, view->shape[d], view->stride[d])) {
            return opd_fail(OPD_E_INVALID, "the span passes 64 bits at dimension %d: %lld elements with stride %lld", d,
                            (long long)view->shape[d], (long long)view->stride[d]);
        }
    }
    int64_t span;
    if (!opd_mul_i64(&span, low, -1) || !opd_add_i64(&span, span, high)) {
        return opd_fail(OPD_E_INVALID, "the span passes 64 bits");
    }
    return check_mask(view);
}

int64_t opd_tensor_count(const opd_tensor *view)
{
    int64_t count = 1;
    for (int32_t d = 0; d < view->rank; d++) {
        if (view->shape[d] == 0) {
            return 0;
        }
    }
    for (int32_t d = 0; d < view->rank; d++) {
        count *= view->shape[d];
    }
    return count;
}

static bool band_exists(const opd_mask *mask, int64_t first, int64_t second)
{
    int64_t s = mask->by_rows ? second : first;
    int64_t i = mask->by_rows ? first : second + s - mask->ku;
    int64_t j = mask->by_rows ? first + s - mask->kl : second;
    return s <= mask->kl + mask->ku && i >= 0 && i < mask->rows && j >= 0 && j < mask->cols && !(mask->unit && i == j);
}

/* Does position hold a diagonal element of a packed triangle of order n, stored by columns? */
static bool is_packed_diagonal(bool upper, int64_t n, int64_t position)
{
    /* Counted from the far end, a lower triangle looks like an upper one: columns of 1, 2, 3... with the diagonal last. */
    int64_t from = upper ? position : n * (n + 1) / 2 - 1 - position;
    int64_t left = 0;
    int64_t right = n; /* the column whose start is at or before from: start(j) = j (j + 1) / 2 */
    while (right - left > 1) {
        int64_t middle = left + (right - left) / 2;
        if (middle * (middle + 1) / 2 <= from) {
            left = middle;
        } else {
            right = middle;
        }
    }
    return from == left * (left + 1) / 2 + left;
}

bool opd_tensor_exists(const opd_tensor *view, const int64_t *index)
{
    const opd_mask *mask = &view->mask;
    switch ((opd_mask_kind)mask->kind) {
    case OPD_MASK_UPPER:
        return index[0] + (mask->unit ? 1 : 0) <= index[1];
    case OPD_MASK_LOWER:
        return index[0] >= index[1] + (mask->unit ? 1 : 0);
    case OPD_MASK_BAND:
        return band_exists(mask, index[0], index[1]);
    case OPD_MASK_PACKED:
        return !mask->unit || !is_packed_diagonal(mask->upper, mask->rows, index[0]);
    case OPD_MASK_NONE:
        break;
    }
    return true;
}

int64_t opd_tensor_offset(const opd_tensor *view, const int64_t *index)
{
    int64_t offset = 0;
    for (int32_t d = 0; d < view->rank; d++) {
        offset += index[d] * view->stride[d];
    }
    return offset * (int64_t)opd_dtype_size(view->dtype);
}

void opd_tensor_unflatten(const opd_tensor *view, int64_t flat, int64_t *index)
{
    for (int32_t d = view->rank - 1; d >= 0; d--) {
        int64_t extent = view->shape[d] > 0 ? view->shape[d] : 1;
        index[d] = flat % extent;
        flat /= extent;
    }
}
