/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of floats by the passes of rows.h. Each output belongs to one part of the work and its sum goes in a fixed tree, so that
 * results depend on nothing but the data and the shape. An f64 sum of squares that over- or underflows is made again in long double.
 */
#include "reduce_variants.h"

#include <math.h>

#include "../rows/rows.h"
#include "axes.h"
#include "reduce_plan.h"

enum { FOLD_ROWS = 64 };

typedef struct job {
    opd_reduction kind;
    const opd_rows *rows;
    opd_reduce_plan plan;
    const uint8_t *x;
    uint8_t *y;
    int64_t bytes; /* of an element */
    int64_t items, parts;
} job;

static double begin(opd_reduction kind)
{
    return kind == OPD_REDUCE_MAX ? -(double)INFINITY : kind == OPD_REDUCE_MIN ? (double)INFINITY : 0.0;
}

static double join(opd_reduction kind, double a, double b)
{
    switch (kind) {
    case OPD_REDUCE_MAX:
        return b != b || b > a ? b : a;
    case OPD_REDUCE_MIN:
        return b != b || b < a ? b : a;
    default:
        return a + b;
    }
}

static double of_row(const job *work, const void *x, int64_t n)
{
    switch (work->kind) {
    case OPD_REDUCE_MAX:
        return work->rows->largest(x, n);
    case OPD_REDUCE_MIN:
        return work->rows->smallest(x, n);
    case OPD_REDUCE_L2:
        return work->rows->sum_squares(x, n, 0.0);
    default:
        return work->rows->sum(x, n);
    }
}

static void of_columns(const job *work, double *acc, const opd_block *block)
{
    switch (work->kind) {
    case OPD_REDUCE_MAX:
        work->rows->column_largest(acc, block);
        break;
    case OPD_REDUCE_MIN:
        work->rows->column_smallest(acc, block);
        break;
    case OPD_REDUCE_L2:
        work->rows->column_sum_squares(acc, block);
        break;
    default:
        work->rows->column_sum(acc, block);
        break;
    }
}

/* Root of the squares of all elements of the output that begins at x, whatever their size. */
static double wide_root(const job *work, const uint8_t *x)
{
    long double sum = 0.0L;
    const opd_reduce_plan *plan = &work->plan;
    for (int64_t t = 0; t < plan->terms; t++) {
        int64_t inner = plan->by_columns ? plan->rows : plan->length;
        int64_t offset =
            opd_reduce_offset(&plan->reduced, t / inner) + t % inner * (plan->by_columns ? plan->row_stride : 1);
        double v;
        double im;
        opd_element_load(work->rows->dtype, x + offset * work->bytes, &v, &im);
        sum += (long double)v * v;
    }
    return (double)sqrtl(sum);
}

/* acc of the output number `to`, whose first element is at x. */
static void finish(const job *work, int64_t to, double acc, const uint8_t *x)
{
    double value = acc;
    if (work->kind == OPD_REDUCE_MEAN) {
        value = acc / (double)work->plan.terms;
    } else if (work->kind == OPD_REDUCE_L2) {
        bool is_lost = work->rows->dtype == OPD_F64 && !(acc > 1e-280 && acc < (double)INFINITY);
        value = is_lost ? wide_root(work, x) : sqrt(acc);
    }
    opd_element_store(work->rows->dtype, work->y + to * work->bytes, value, 0.0);
}

static void reduce_row(const job *work, int64_t item)
{
    const opd_reduce_plan *plan = &work->plan;
    const uint8_t *x = work->x + opd_reduce_offset(&plan->kept, item) * work->bytes;
    double acc = begin(work->kind);
    for (int64_t r = 0; r < plan->reduced.total; r++) {
        acc = join(work->kind, acc, of_row(work, x + opd_reduce_offset(&plan->reduced, r) * work->bytes, plan->length));
    }
    finish(work, item, acc, x);
}

static void spread(double *tile, double value)
{
    for (int j = 0; j < OPD_ROWS_TILE; j++) {
        tile[j] = value;
    }
}

static void reduce_columns(const job *work, int64_t item)
{
    const opd_reduce_plan *plan = &work->plan;
    int64_t tiles = (plan->width + OPD_ROWS_TILE - 1) / OPD_ROWS_TILE;
    int64_t first = item % tiles * OPD_ROWS_TILE;
    int64_t left = plan->width - first;
    const uint8_t *x = work->x + (opd_reduce_offset(&plan->kept, item / tiles) + first) * work->bytes;
    opd_block block = { .stride = plan->row_stride, .width = left < OPD_ROWS_TILE ? left : OPD_ROWS_TILE };
    double acc[OPD_ROWS_TILE];
    spread(acc, begin(work->kind));
    for (int64_t r = 0; r < plan->reduced.total; r++) {
        for (int64_t row = 0; row < plan->rows; row += FOLD_ROWS) {
            double some[OPD_ROWS_TILE];
            spread(some, begin(work->kind));
            block.x = x + (opd_reduce_offset(&plan->reduced, r) + row * plan->row_stride) * work->bytes;
            block.rows = plan->rows - row < FOLD_ROWS ? plan->rows - row : FOLD_ROWS;
            of_columns(work, some, &block);
            for (int64_t j = 0; j < block.width; j++) {
                acc[j] = join(work->kind, acc[j], some[j]);
            }
        }
    }
    for (int64_t j = 0; j < block.width; j++) {
        finish(work, item / tiles * plan->width + first + j, acc[j], x + j * work->bytes);
    }
}

static void reduce_part(void *context, int64_t part)
{
    const job *work = context;
    int64_t end = work->items * (part + 1) / work->parts;
    for (int64_t item = work->items * part / work->parts; item < end; item++) {
        if (work->plan.by_columns) {
            reduce_columns(work, item);
        } else {
            reduce_row(work, item);
        }
    }
}

opd_status opd_reduce_floats(const opd_call *call, const opd_workspace *workspace, opd_reduction kind,
                             opd_rows_finder *rows)
{
    const opd_tensor *data = &call->operands[0].view;
    const opd_tensor *reduced = &call->operands[2].view;
    bool axes[OPD_MAX_RANK];
    opd_status status = opd_axes_of(axes, call);
    if (status != OPD_OK) {
        return status;
    }
    job work = { .kind = kind, .rows = rows(data->dtype), .x = data->data, .y = reduced->data };
    work.bytes = (int64_t)opd_dtype_size(data->dtype);
    opd_reduce_plan_make(&work.plan, data, axes);
    int64_t tiles = (work.plan.width + OPD_ROWS_TILE - 1) / OPD_ROWS_TILE;
    work.items = work.plan.kept.total * (work.plan.by_columns ? tiles : 1);
    work.parts = opd_rows_parts(workspace->threads);
    opd_parallel(workspace->threads, work.parts, reduce_part, &work);
    return OPD_OK;
}
