/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize on contiguous operands. The taps of every output index of every axis are looked up once, in the workspace; then each output row
 * is made of the input rows that the taps of the outer axes name. Nearest copies elements of any dtype; the interpolations are for f32 and f64, in
 * that precision.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "move.h"
#include "move_copy.h"
#include "move_variants.h"

enum { PART_ELEMENTS = 1 << 14 };

typedef struct resizing {
    const opd_call *call;
    opd_resize resize;
    opd_resize_taps *taps[OPD_MAX_RANK]; /* of each axis, by output index */
    const opd_tensor *x, *y;
    int64_t rows, per;
    int64_t width; /* elements of an output row */
} resizing;

const char *opd_resize_declines(const opd_call *call)
{
    const opd_tensor *x = &call->operands[0].view;
    bool is_moved = opd_move_word(call, "mode", OPD_RESIZE_MODES) == OPD_RESIZE_NEAREST;
    if (!is_moved && x->dtype != OPD_F32 && x->dtype != OPD_F64) {
        return "it interpolates f32 and f64 only";
    }
    return x->rank > 0 ? opd_move_declines_strides(call) : "X has no dimensions";
}

size_t opd_resize_bytes(const opd_call *call, int32_t threads)
{
    (void)threads;
    const opd_tensor *y = &call->operands[4].view;
    size_t entries = 0;
    for (int d = 0; d < y->rank; d++) {
        entries += (size_t)y->shape[d];
    }
    return entries * sizeof(opd_resize_taps);
}

/* ------------------------------------------------------------------------------------------------- input rows */

/* The input rows of an output row, one after another. */
typedef struct row_walk {
    const resizing *job;
    int64_t at[OPD_MAX_RANK]; /* of the output row in the outer axes */
    int chosen[OPD_MAX_RANK];
    bool is_outside; /* the extrapolation value everywhere */
    bool is_done;
} row_walk;

static const opd_resize_taps *taps_of(const row_walk *walk, int axis)
{
    return &walk->job->taps[axis][walk->at[axis]];
}

static void walk_begin(row_walk *walk, const resizing *job, int64_t row)
{
    *walk = (row_walk){ .job = job };
    for (int d = job->x->rank - 2; d >= 0; d--) {
        walk->at[d] = row % job->y->shape[d];
        row /= job->y->shape[d];
        walk->is_outside |= taps_of(walk, d)->count == 0;
    }
}

/* The next row, in elements from the first of x, and its weight; false: there are no more. */
static bool walk_next(row_walk *walk, int64_t *offset, double *weight)
{
    int rank = walk->job->x->rank;
    if (walk->is_done) {
        return false;
    }
    *offset = 0;
    *weight = 1;
    for (int d = 0; d < rank - 1; d++) {
        *offset = *offset * walk->job->x->shape[d] + taps_of(walk, d)->index[walk->chosen[d]];
        *weight *= taps_of(walk, d)->weight[walk->chosen[d]];
    }
    *offset *= walk->job->x->shape[rank - 1];
    int d = rank - 2;
    while (d >= 0 && ++walk->chosen[d] == taps_of(walk, d)->count) {
        walk->chosen[d--] = 0;
    }
    walk->is_done = d < 0;
    return true;
}

/* ----------------------------------------------------------------------------------------------------- outputs */

#define ROWS_OF(type)                                                                                          \
    static void interpolate_##type(const resizing *job, int64_t row)                                           \
    {                                                                                                          \
        typedef type number;                                                                                   \
        const opd_resize_taps *taps = job->taps[job->x->rank - 1];                                             \
        number *to = (number *)job->y->data + row * job->width;                                                \
        row_walk walk;                                                                                         \
        int64_t offset = 0;                                                                                    \
        double weight = 0;                                                                                     \
        walk_begin(&walk, job, row);                                                                           \
        for (bool is_first = true; !walk.is_outside && walk_next(&walk, &offset, &weight); is_first = false) { \
            const type *from = (const type *)job->x->data + offset;                                            \
            for (int64_t i = 0; i < job->width; i++) {                                                         \
                type sum = 0;                                                                                  \
                for (int t = 0; t < taps[i].count; t++) {                                                      \
                    type term = (type)taps[i].weight[t] * from[taps[i].index[t]];                              \
                    sum = t > 0 ? sum + term : term;                                                           \
                }                                                                                              \
                to[i] = is_first ? (type)weight * sum : to[i] + (type)weight * sum;                            \
            }                                                                                                  \
        }                                                                                                      \
        for (int64_t i = 0; i < job->width; i++) {                                                             \
            to[i] = walk.is_outside || taps[i].count == 0 ? (type)job->resize.extrapolation : to[i];           \
        }                                                                                                      \
    }
ROWS_OF(float)
ROWS_OF(double)

/* One tap of every axis, of weight 1. */
static void copy_row(const resizing *job, int64_t row)
{
    int last = job->x->rank - 1;
    int size = (int)opd_dtype_size(job->x->dtype);
    uint8_t *to = (uint8_t *)job->y->data + row * job->width * size;
    uint64_t outside = 0;
    row_walk walk;
    int64_t offset = 0;
    double weight = 0;
    opd_element_store(job->x->dtype, &outside, job->resize.extrapolation, 0);
    walk_begin(&walk, job, row);
    if (walk.is_outside) {
        opd_move_row(to, size, (const uint8_t *)&outside, 0, job->width, size);
        return;
    }
    (void)walk_next(&walk, &offset, &weight);
    const uint8_t *from = (const uint8_t *)job->x->data + offset * size;
    if (job->resize.is_kept[last]) {
        memcpy(to, from, (size_t)(job->width * size));
        return;
    }
    for (int64_t i = 0; i < job->width; i++) {
        const opd_resize_taps *taps = &job->taps[last][i];
        const uint8_t *element = taps->count > 0 ? from + taps->index[0] * size : (const uint8_t *)&outside;
        memcpy(to + i * size, element, (size_t)size);
    }
}

static void do_part(void *context, int64_t part)
{
    const resizing *job = context;
    int64_t end = (part + 1) * job->per < job->rows ? (part + 1) * job->per : job->rows;
    for (int64_t row = part * job->per; row < end; row++) {
        if (job->resize.mode == OPD_RESIZE_NEAREST) {
            copy_row(job, row);
        } else if (job->x->dtype == OPD_F32) {
            interpolate_float(job, row);
        } else {
            interpolate_double(job, row);
        }
    }
}

opd_status opd_resize_run(const opd_call *call, const opd_workspace *workspace)
{
    resizing job = { .call = call, .x = &call->operands[0].view, .y = &call->operands[4].view };
    opd_resize_taps *table = workspace->bytes;
    opd_status status = opd_resize_resolve(&job.resize, call);
    if (status != OPD_OK || opd_tensor_count(job.y) == 0) {
        return status;
    }
    for (int d = 0; d < job.x->rank; d++) {
        job.taps[d] = table;
        for (int64_t i = 0; i < job.y->shape[d]; i++) {
            opd_resize_find_taps(table++, &job.resize, d, i);
        }
    }
    job.width = job.y->shape[job.x->rank - 1];
    job.rows = opd_tensor_count(job.y) / job.width;
    job.per = job.width >= PART_ELEMENTS ? 1 : PART_ELEMENTS / job.width;
    opd_parallel(workspace->threads, (job.rows + job.per - 1) / job.per, do_part, &job);
    return OPD_OK;
}
