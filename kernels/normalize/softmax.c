/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax and LogSoftmax. Along rows: the largest, the exponentials and their sum in a scratch row that stays in the caches, then one pass that
 * writes the result. By columns, where the axis is not the last: three passes over strips of columns, the exponentials made twice
 * rather than stored.
 *
 * workspace  the stages when tracing is on; a row (of LogSoftmax: a stretch, and of 16-bit dtypes a row) for each part of the work.
 */
#include <math.h>

#include "../reduce/axes.h"
#include "norm_stages.h"
#include "norm_variants.h"
#include "wide_line.h"

enum { MAX, EXP, SUM }; /* stages */
enum { STRETCH = 4096 };

typedef struct job {
    bool is_log;
    const opd_rows *rows, *inner;
    opd_axis axis;
    const uint8_t *x;
    uint8_t *y;
    int64_t bytes, inner_bytes;
    opd_stages stages;
    uint8_t *scratch; /* of the first part */
    int64_t scratch_bytes;
    int64_t items, parts;
    bool streams;
} job;

static int64_t scratch_elements(const opd_axis *axis, bool is_log, bool is_half)
{
    int64_t stretch = is_log ? STRETCH : axis->size;
    return axis->inner != 1 ? 0 : is_half && is_log ? axis->size + stretch : stretch;
}

static double sum_in_stretches(const job *work, const uint8_t *x, uint8_t *stretch, double largest)
{
    double sum = 0.0;
    for (int64_t i = 0; i < work->axis.size; i += STRETCH) {
        int64_t n = work->axis.size - i < STRETCH ? work->axis.size - i : STRETCH;
        sum += work->rows->exp_sum(stretch, x + i * work->inner_bytes, n, largest);
    }
    return sum;
}

/* Of one line, before y is written, which may lie on x. */
static void put_stages(const job *work, int64_t line, double largest)
{
    const opd_axis *axis = &work->axis;
    opd_stage_put(&work->stages, MAX, line, largest);
    for (int64_t i = 0; i < axis->size; i++) {
        int64_t at = (line / axis->inner * axis->size + i) * axis->inner + line % axis->inner;
        double v = (double)opd_wide_load(work->rows->dtype, work->x, at);
        opd_stage_put(&work->stages, EXP, at, exp(v - largest));
    }
}

static void put_column_stages(const job *work, int64_t line, const opd_block *block, const double *largest)
{
    for (int64_t j = 0; j < block->width; j++) {
        put_stages(work, line + j, largest[j]);
    }
}

static void soften_row(const job *work, int64_t row, uint8_t *scratch)
{
    int64_t n = work->axis.size;
    const uint8_t *x = work->x + row * n * work->bytes;
    uint8_t *y = work->y + row * n * work->bytes;
    if (work->rows != work->inner) { /* Softmax may overwrite these, LogSoftmax needs them again */
        work->rows->widen(scratch, x, n);
        x = scratch;
        scratch += work->is_log ? n * work->inner_bytes : 0;
    }
    double largest = work->inner->largest(x, n);
    if (work->stages.value[MAX] != NULL) {
        put_stages(work, row, largest);
    }
    double sum =
        work->is_log ? sum_in_stretches(work, x, scratch, largest) : work->rows->exp_sum(scratch, x, n, largest);
    opd_stage_put(&work->stages, SUM, row, sum);
    if (work->is_log) {
        work->rows->shift(y, x, n, largest, log(sum), work->streams);
    } else {
        work->rows->scale(y, scratch, n, 1.0 / sum, work->streams);
    }
}

static void soften_columns(const job *work, int64_t item)
{
    const opd_axis *axis = &work->axis;
    int64_t tiles = (axis->inner + OPD_ROWS_TILE - 1) / OPD_ROWS_TILE;
    int64_t first = item % tiles * OPD_ROWS_TILE;
    int64_t left = axis->inner - first;
    int64_t offset = (item / tiles * axis->size * axis->inner + first) * work->bytes;
    opd_block block = { .x = work->x + offset, .stride = axis->inner, .rows = axis->size };
    block.width = left < OPD_ROWS_TILE ? left : OPD_ROWS_TILE;
    double largest[OPD_ROWS_TILE];
    double sum[OPD_ROWS_TILE];
    for (int64_t j = 0; j < block.width; j++) {
        largest[j] = -(double)INFINITY;
        sum[j] = 0.0;
    }
    work->rows->column_largest(largest, &block);
    bool is_kept = work->rows == work->inner && !work->is_log; /* 16-bit ones would be rounded: made again instead */
    if (work->stages.value[MAX] != NULL) {
        put_column_stages(work, item / tiles * axis->inner + first, &block, largest);
    }
    work->rows->column_exp_sum(sum, is_kept ? work->y + offset : NULL, &block, largest);
    for (int64_t j = 0; j < block.width; j++) {
        opd_stage_put(&work->stages, SUM, item / tiles * axis->inner + first + j, sum[j]);
        sum[j] = work->is_log ? log(sum[j]) : 1.0 / sum[j];
    }
    if (work->is_log) {
        work->rows->column_shift(work->y + offset, &block, largest, sum);
    } else if (is_kept) {
        block.x = work->y + offset;
        work->rows->column_scale(work->y + offset, &block, sum);
    } else {
        work->rows->column_softmax(work->y + offset, &block, largest, sum);
    }
}

static void soften_part(void *context, int64_t part)
{
    const job *work = context;
    int64_t end = work->items * (part + 1) / work->parts;
    for (int64_t item = work->items * part / work->parts; item < end; item++) {
        if (work->axis.inner == 1) {
            soften_row(work, item, work->scratch + part * work->scratch_bytes);
        } else {
            soften_columns(work, item);
        }
    }
    if (work->streams) {
        work->rows->fence();
    }
}

static opd_status read_axis(opd_axis *axis, opd_stages *stages, const opd_call *call)
{
    const opd_tensor *x = &call->operands[0].view;
    opd_status status = opd_axis_of(axis, x, opd_call_int(call, "axis", -1));
    if (status == OPD_OK) {
        *stages = (opd_stages){ .call = call, .lines = axis->outer * axis->inner, .whole = 1u << EXP };
        stages->elements = opd_tensor_count(x);
    }
    return status;
}

static int64_t scratch_of(const opd_call *call, const opd_axis *axis, bool is_log)
{
    opd_dtype dtype = call->operands[0].view.dtype;
    int64_t bytes = dtype == OPD_F64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
    return (scratch_elements(axis, is_log, opd_dtype_size(dtype) == 2) * bytes + 63) / 64 * 64;
}

size_t opd_softmax_bytes(const opd_call *call, int32_t threads, bool is_log)
{
    opd_axis axis;
    opd_stages stages;
    if (read_axis(&axis, &stages, call) != OPD_OK) {
        return 0;
    }
    return opd_stages_bytes(&stages) + (size_t)(opd_rows_parts(threads) * scratch_of(call, &axis, is_log));
}

opd_status opd_softmax(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows, bool is_log)
{
    job work = { .is_log = is_log, .x = call->operands[0].view.data, .y = call->operands[1].view.data };
    opd_status status = read_axis(&work.axis, &work.stages, call);
    if (status != OPD_OK) {
        return status;
    }
    work.rows = rows(call->operands[0].view.dtype);
    work.inner = rows(work.rows->inner);
    work.bytes = (int64_t)opd_dtype_size(work.rows->dtype);
    work.inner_bytes = (int64_t)opd_dtype_size(work.rows->inner);
    size_t stage_bytes = opd_stages_bytes(&work.stages);
    opd_stages_begin(&work.stages, stage_bytes > 0 ? workspace->bytes : NULL);
    work.scratch = (uint8_t *)workspace->bytes + stage_bytes;
    work.scratch_bytes = scratch_of(call, &work.axis, is_log);
    work.items = work.axis.size == 0 ? 0 : work.axis.outer * ((work.axis.inner + OPD_ROWS_TILE - 1) / OPD_ROWS_TILE);
    work.parts = opd_rows_parts(workspace->threads);
    work.streams = opd_rows_stream(&call->operands[1].view, work.axis.size);
    opd_parallel(workspace->threads, work.parts, soften_part, &work);
    opd_stages_emit(&work.stages);
    return OPD_OK;
}
