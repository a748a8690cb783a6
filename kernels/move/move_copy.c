/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strided copies: dimensions merged as far as both sides allow, then rows (the last dimension) or, where the source runs along another dimension,
 * square tiles that stay in the cache; parts of about 256 KiB for threads, each writing its own elements.
 */
#include <string.h>

#include <opsdebug/kernel.h>

#include "move_copy.h"

enum { PART_BYTES = 1 << 18, TILE = 32 };

/* ------------------------------------------------------------------------------------------------------- rows */

#define ROW_OF(type)                                                                                            \
    static void row_##type(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t count) \
    {                                                                                                           \
        for (int64_t i = 0; i < count; i++) {                                                                   \
            type element;                                                                                       \
            memcpy(&element, from + i * from_step, sizeof element);                                             \
            memcpy(to + i * to_step, &element, sizeof element);                                                 \
        }                                                                                                       \
    }
ROW_OF(uint8_t)
ROW_OF(uint16_t)
ROW_OF(uint32_t)
ROW_OF(uint64_t)

/* The same element everywhere. */
#define FILL_OF(type)                                                           \
    static void fill_##type(uint8_t *to, const uint8_t *from, int64_t count)    \
    {                                                                           \
        type element;                                                           \
        memcpy(&element, from, sizeof element);                                 \
        for (int64_t i = 0; i < count; i++) {                                   \
            memcpy(to + i * (int64_t)sizeof element, &element, sizeof element); \
        }                                                                       \
    }
FILL_OF(uint16_t)
FILL_OF(uint32_t)
FILL_OF(uint64_t)

static void fill(uint8_t *to, const uint8_t *from, int64_t count, int size)
{
    switch (size) {
    case 1:
        memset(to, *from, (size_t)count);
        break;
    case 2:
        fill_uint16_t(to, from, count);
        break;
    case 4:
        fill_uint32_t(to, from, count);
        break;
    default:
        fill_uint64_t(to, from, count);
        break;
    }
}

void opd_move_row(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t count, int size)
{
    if (to_step == size && from_step == size) {
        memmove(to, from, (size_t)(count * size));
        return;
    }
    if (to_step == size && from_step == 0 && count > 0) {
        fill(to, from, count, size);
        return;
    }
    switch (size) {
    case 1:
        row_uint8_t(to, to_step, from, from_step, count);
        break;
    case 2:
        row_uint16_t(to, to_step, from, from_step, count);
        break;
    case 4:
        row_uint32_t(to, to_step, from, from_step, count);
        break;
    default:
        row_uint64_t(to, to_step, from, from_step, count);
        break;
    }
}

/* -------------------------------------------------------------------------------------------------------- plan */

/* The copy with fewer dimensions; rank 0 = nothing to do. */
static bool simplify(opd_move_copy *out, const opd_move_copy *copy)
{
    *out = *copy;
    out->rank = 0;
    for (int d = 0; d < copy->rank; d++) {
        if (copy->shape[d] == 0) {
            return false;
        }
        if (copy->shape[d] == 1) {
            continue;
        }
        int last = out->rank - 1;
        bool continues = last >= 0 && out->to_stride[last] == copy->to_stride[d] * copy->shape[d] &&
                         out->from_stride[last] == copy->from_stride[d] * copy->shape[d];
        int at = continues ? last : out->rank++;
        out->shape[at] = (continues ? out->shape[at] : 1) * copy->shape[d];
        out->to_stride[at] = copy->to_stride[d];
        out->from_stride[at] = copy->from_stride[d];
    }
    if (out->rank == 0) {
        out->shape[0] = 1;
        out->to_stride[0] = out->from_stride[0] = out->size;
        out->rank = 1;
    }
    return true;
}

/* What threads share: units are tiles of the last dimension and (where it is not the same) of `along`, for each index of the others. */
typedef struct sharing {
    opd_move_copy copy;
    int along;                       /* dimension in which the source is contiguous; the last: rows */
    int64_t tile_last, tile_along;   /* elements */
    int64_t tiles_last, tiles_along; /* in the dimension */
    int64_t units, units_per_part;
} sharing;

static int64_t minimum(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void do_unit(const sharing *share, int64_t unit)
{
    const opd_move_copy *copy = &share->copy;
    int last = copy->rank - 1;
    int64_t at_last = unit % share->tiles_last * share->tile_last;
    unit /= share->tiles_last;
    int64_t at_along = unit % share->tiles_along * share->tile_along;
    unit /= share->tiles_along;
    uint8_t *to = copy->to + at_last * copy->to_stride[last];
    const uint8_t *from = copy->from + at_last * copy->from_stride[last];
    for (int d = last - 1; d >= 0; d--) {
        int64_t index = at_along;
        if (d != share->along) {
            index = unit % copy->shape[d];
            unit /= copy->shape[d];
        }
        to += index * copy->to_stride[d];
        from += index * copy->from_stride[d];
    }
    int64_t count = minimum(share->tile_last, copy->shape[last] - at_last);
    int64_t rows = share->along == last ? 1 : minimum(share->tile_along, copy->shape[share->along] - at_along);
    for (int64_t row = 0; row < rows; row++) {
        opd_move_row(to, copy->to_stride[last], from, copy->from_stride[last], count, copy->size);
        to += copy->to_stride[share->along];
        from += copy->from_stride[share->along];
    }
}

static void do_part(void *context, int64_t part)
{
    const sharing *share = context;
    int64_t end = minimum(share->units, (part + 1) * share->units_per_part);
    for (int64_t unit = part * share->units_per_part; unit < end; unit++) {
        do_unit(share, unit);
    }
}

/* The dimension in which the source is contiguous, when the last is not that. */
static int find_along(const opd_move_copy *copy)
{
    int last = copy->rank - 1;
    for (int d = 0; d < last && copy->from_stride[last] != 0; d++) {
        bool is_strided = copy->from_stride[last] != copy->size && copy->from_stride[last] != -copy->size;
        if (is_strided && copy->from_stride[d] == copy->size) {
            return d;
        }
    }
    return last;
}

void opd_move_copy_run(const opd_move_copy *copy, int32_t threads)
{
    sharing share;
    if (!simplify(&share.copy, copy) || copy->to == copy->from) {
        return;
    }
    int last = share.copy.rank - 1;
    int64_t total = 1;
    for (int d = 0; d <= last; d++) {
        total *= share.copy.shape[d];
    }
    share.along = find_along(&share.copy);
    bool is_tiled = share.along != last;
    share.tile_last = is_tiled ? TILE : minimum(share.copy.shape[last], PART_BYTES / share.copy.size);
    share.tile_along = is_tiled ? TILE : 1;
    share.tiles_last = (share.copy.shape[last] + share.tile_last - 1) / share.tile_last;
    share.tiles_along = is_tiled ? (share.copy.shape[share.along] + TILE - 1) / TILE : 1;
    int64_t others = total / share.copy.shape[last] / (is_tiled ? share.copy.shape[share.along] : 1);
    share.units = others * share.tiles_last * share.tiles_along;
    int64_t unit_elements = (total + share.units - 1) / share.units;
    share.units_per_part = PART_BYTES / share.copy.size / unit_elements;
    share.units_per_part += share.units_per_part == 0 ? 1 : 0;
    opd_parallel(threads, (share.units + share.units_per_part - 1) / share.units_per_part, do_part, &share);
}
