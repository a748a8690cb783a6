/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LpNormalization: the norm of a line, then each element over it. A 2-norm whose square is out of range, or that has no inverse in the dtype, goes by
 * long double. Zeros stay zeros.
 *
 * workspace  the stages when tracing is on; for 16-bit dtypes a row for each part of the work.
 */
#include <math.h>

#include "../reduce/axes.h"
#include "norm_stages.h"
#include "norm_variants.h"
#include "wide_line.h"

enum { NORM }; /* stage */

typedef struct job {
    bool is_first; /* p is 1 */
    const opd_rows *rows, *inner;
    opd_axis axis;
    const uint8_t *x;
    uint8_t *y;
    int64_t bytes, inner_bytes;
    opd_stages stages;
    uint8_t *scratch;
    int64_t scratch_bytes;
    int64_t items, parts;
    bool streams;
} job;

/* Elements of one line, `step` apart, by long double; its norm. */
static double divide_wide(const job *work, const uint8_t *x, uint8_t *y, int64_t step)
{
    opd_dtype dtype = work->rows->dtype;
    long double norm = 0.0L;
    for (int64_t i = 0; i < work->axis.size; i++) {
        long double v = opd_wide_load(dtype, x, i * step);
        norm += work->is_first ? fabsl(v) : v * v;
    }
    norm = work->is_first ? norm : sqrtl(norm);
    for (int64_t i = 0; i < work->axis.size; i++) {
        opd_wide_store(dtype, y, i * step, norm == 0.0L ? 0.0L : opd_wide_load(dtype, x, i * step) / norm);
    }
    return (double)norm;
}

/* The norm of a sum, and the factor that divides by it; false when long double must. */
static bool factor_of(const job *work, double sum, double *norm, double *factor)
{
    bool is_single = work->inner->dtype == OPD_F32;
    double most = is_single ? 0x1p120 : work->is_first ? 0x1p1000 : 0x1p480;
    *norm = work->is_first ? sum : sqrt(sum);
    *factor = 1.0 / *norm;
    return isnan(*norm) || (*norm >= 1.0 / most && *norm <= most);
}

static void divide_row(const job *work, int64_t row, uint8_t *scratch)
{
    int64_t n = work->axis.size;
    const uint8_t *x = work->x + row * n * work->bytes;
    uint8_t *y = work->y + row * n * work->bytes;
    const void *inner = x;
    if (work->rows != work->inner) {
        work->rows->widen(scratch, x, n);
        inner = scratch;
    }
    double norm;
    double factor;
    double sum = work->is_first ? work->inner->sum_abs(inner, n) : work->inner->sum_squares(inner, n, 0.0);
    if (factor_of(work, sum, &norm, &factor)) {
        work->rows->scale(y, inner, n, factor, work->streams);
    } else {
        norm = divide_wide(work, x, y, 1);
    }
    opd_stage_put(&work->stages, NORM, row, norm);
}

static void divide_columns(const job *work, int64_t item)
{
    const opd_axis *axis = &work->axis;
    int64_t tiles = (axis->inner + OPD_ROWS_TILE - 1) / OPD_ROWS_TILE;
    int64_t first = item % tiles * OPD_ROWS_TILE;
    int64_t left = axis->inner - first;
    int64_t offset = (item / tiles * axis->size * axis->inner + first) * work->bytes;
    opd_block block = { .x = work->x + offset, .stride = axis->inner, .rows = axis->size };
    block.width = left < OPD_ROWS_TILE ? left : OPD_ROWS_TILE;
    double factor[OPD_ROWS_TILE] = { 0 };
    double norm[OPD_ROWS_TILE] = { 0 };
    bool is_in_range = true;
    if (work->is_first) {
        work->rows->column_sum_abs(factor, &block);
    } else {
        work->rows->column_sum_squares(factor, &block);
    }
    for (int64_t j = 0; j < block.width; j++) {
        is_in_range = factor_of(work, factor[j], &norm[j], &factor[j]) && is_in_range;
    }
    if (is_in_range) {
        work->rows->column_scale(work->y + offset, &block, factor);
    }
    for (int64_t j = 0; j < block.width; j++) {
        if (!is_in_range) {
            norm[j] =
                divide_wide(work, work->x + offset + j * work->bytes, work->y + offset + j * work->bytes, axis->inner);
        }
        opd_stage_put(&work->stages, NORM, item / tiles * axis->inner + first + j, norm[j]);
    }
}

static void divide_part(void *context, int64_t part)
{
    const job *work = context;
    int64_t end = work->items * (part + 1) / work->parts;
    for (int64_t item = work->items * part / work->parts; item < end; item++) {
        if (work->axis.inner == 1) {
            divide_row(work, item, work->scratch + part * work->scratch_bytes);
        } else {
            divide_columns(work, item);
        }
    }
    if (work->streams) {
        work->rows->fence();
    }
}

static opd_status read_axis(opd_axis *axis, opd_stages *stages, int64_t *scratch_bytes, const opd_call *call)
{
    const opd_tensor *x = &call->operands[0].view;
    opd_status status = opd_axis_of(axis, x, opd_call_int(call, "axis", -1));
    if (status == OPD_OK) {
        *stages = (opd_stages){ .call = call, .lines = axis->outer * axis->inner, .elements = opd_tensor_count(x) };
        bool is_needed = opd_dtype_size(x->dtype) == 2 && axis->inner == 1;
        *scratch_bytes = is_needed ? (axis->size * (int64_t)sizeof(float) + 63) / 64 * 64 : 0;
    }
    return status;
}

size_t opd_lp_norm_bytes(const opd_call *call, int32_t threads)
{
    opd_axis axis;
    opd_stages stages;
    int64_t scratch = 0;
    if (read_axis(&axis, &stages, &scratch, call) != OPD_OK) {
        return 0;
    }
    return opd_stages_bytes(&stages) + (size_t)(opd_rows_parts(threads) * scratch);
}

opd_status opd_lp_norm(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows)
{
    job work = { .x = call->operands[0].view.data, .y = call->operands[1].view.data };
    opd_status status = read_axis(&work.axis, &work.stages, &work.scratch_bytes, call);
    if (status != OPD_OK) {
        return status;
    }
    work.is_first = opd_call_int(call, "p", 2) == 1;
    work.rows = rows(call->operands[0].view.dtype);
    work.inner = rows(work.rows->inner);
    work.bytes = (int64_t)opd_dtype_size(work.rows->dtype);
    work.inner_bytes = (int64_t)opd_dtype_size(work.rows->inner);
    size_t stage_bytes = opd_stages_bytes(&work.stages);
    opd_stages_begin(&work.stages, stage_bytes > 0 ? workspace->bytes : NULL);
    work.scratch = (uint8_t *)workspace->bytes + stage_bytes;
    work.items = work.axis.outer * ((work.axis.inner + OPD_ROWS_TILE - 1) / OPD_ROWS_TILE);
    work.parts = opd_rows_parts(workspace->threads);
    work.streams = opd_rows_stream(&call->operands[1].view, work.axis.size);
    opd_parallel(workspace->threads, work.parts, divide_part, &work);
    opd_stages_emit(&work.stages);
    return OPD_OK;
}
