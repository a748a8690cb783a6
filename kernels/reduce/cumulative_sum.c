/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CumSum. Floats are summed in f64 and rounded to the dtype at each element; integers wrap. The sum of each line goes one element after
 * the other; lines side by side go together.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "axes.h"
#include "reduce_variants.h"

enum { TILE = 256, GROUP = 8 };

typedef struct job {
    const opd_rows *rows; /* of a 16-bit float; NULL else */
    opd_dtype dtype;
    opd_axis axis;
    bool is_exclusive, is_reverse;
    const uint8_t *x;
    uint8_t *y;
    int64_t bytes;
    int64_t items, parts;
} job;

/* One line, of `lines` <= GROUP that follow each other; and lines side by side, `width` columns. */
#define SUM(name, T, ACC)                                                                           \
    static inline void lines_##name(const job *work, const uint8_t *x, uint8_t *y, const int lines) \
    {                                                                                               \
        ACC acc[GROUP] = { 0 };                                                                     \
        int64_t line = work->axis.size * (int64_t)sizeof(T);                                        \
        for (int64_t i = 0; i < work->axis.size; i++) {                                             \
            int64_t at = (work->is_reverse ? work->axis.size - 1 - i : i) * (int64_t)sizeof(T);     \
            for (int l = 0; l < lines; l++) {                                                       \
                STEP(T, ACC, acc[l], at + l * line)                                                 \
            }                                                                                       \
        }                                                                                           \
    }                                                                                               \
    static void rows_##name(const job *work, const uint8_t *x, uint8_t *y, int64_t lines)           \
    {                                                                                               \
        if (lines == GROUP) {                                                                       \
            lines_##name(work, x, y, GROUP);                                                        \
        } else {                                                                                    \
            lines_##name(work, x, y, (int)lines);                                                   \
        }                                                                                           \
    }                                                                                               \
    static void sum_##name(const job *work, const uint8_t *x, uint8_t *y, int64_t width)            \
    {                                                                                               \
        ACC acc[TILE] = { 0 };                                                                      \
        for (int64_t i = 0; i < work->axis.size; i++) {                                             \
            int64_t r = work->is_reverse ? work->axis.size - 1 - i : i;                             \
            int64_t at = r * work->axis.inner * (int64_t)sizeof(T);                                 \
            for (int64_t j = 0; j < width; j++) {                                                   \
                STEP(T, ACC, acc[j], at + j * (int64_t)sizeof(T))                                   \
            }                                                                                       \
        }                                                                                           \
    }
#define STEP(T, ACC, sum, offset)               \
    T v;                                        \
    memcpy(&v, x + (offset), sizeof v);         \
    ACC next = (sum) + (ACC)v;                  \
    v = (T)(work->is_exclusive ? (sum) : next); \
    memcpy(y + (offset), &v, sizeof v);         \
    (sum) = next;

SUM(f32, float, double)
SUM(f64, double, double)
SUM(i32, int32_t, uint32_t)
SUM(u32, uint32_t, uint32_t)
SUM(i64, int64_t, uint64_t)
SUM(u64, uint64_t, uint64_t)

static void sum_half(const job *work, const uint8_t *x, uint8_t *y, int64_t width)
{
    double acc[TILE] = { 0 };
    for (int64_t i = 0; i < work->axis.size; i++) {
        int64_t r = work->is_reverse ? work->axis.size - 1 - i : i;
        int64_t at = r * work->axis.inner * work->bytes;
        double next[TILE];
        memcpy(next, acc, sizeof next);
        opd_block block = { .x = x + at, .rows = 1, .width = width };
        work->rows->column_sum(next, &block);
        for (int64_t j = 0; j < width; j++) {
            opd_element_store(work->dtype, y + at + j * work->bytes, work->is_exclusive ? acc[j] : next[j], 0.0);
        }
        memcpy(acc, next, sizeof acc);
    }
}

static void rows_half(const job *work, const uint8_t *x, uint8_t *y, int64_t lines)
{
    int64_t line = work->axis.size * work->bytes;
    for (int64_t l = 0; l < lines; l++) {
        sum_half(work, x + l * line, y + l * line, 1);
    }
}

static const struct sum {
    opd_dtype dtype;
    void (*columns)(const job *work, const uint8_t *x, uint8_t *y, int64_t width);
    void (*rows)(const job *work, const uint8_t *x, uint8_t *y, int64_t lines);
} sums[] = {
    { OPD_F32, sum_f32, rows_f32 },   { OPD_F64, sum_f64, rows_f64 },    { OPD_I32, sum_i32, rows_i32 },
    { OPD_U32, sum_u32, rows_u32 },   { OPD_I64, sum_i64, rows_i64 },    { OPD_U64, sum_u64, rows_u64 },
    { OPD_F16, sum_half, rows_half }, { OPD_BF16, sum_half, rows_half },
};

static void sum_part(void *context, int64_t part)
{
    const job *work = context;
    const struct sum *sum = sums;
    while (sum->dtype != work->dtype) {
        sum++; /* the contract has these dtypes only */
    }
    bool by_rows = work->axis.inner == 1;
    int64_t tiles = by_rows ? 1 : (work->axis.inner + TILE - 1) / TILE;
    int64_t end = work->items * (part + 1) / work->parts;
    for (int64_t item = work->items * part / work->parts; item < end; item++) {
        int64_t first = by_rows ? item * GROUP : item % tiles * TILE;
        int64_t most = by_rows ? GROUP : TILE;
        int64_t left = (by_rows ? work->axis.outer : work->axis.inner) - first;
        int64_t offset = by_rows ? first * work->axis.size : item / tiles * work->axis.size * work->axis.inner + first;
        (by_rows ? sum->rows : sum->columns)(work, work->x + offset * work->bytes, work->y + offset * work->bytes,
                                             left < most ? left : most);
    }
}

opd_status opd_cumulative_sum(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows)
{
    const opd_tensor *x = &call->operands[0].view;
    int64_t at = 0;
    job work = { .dtype = x->dtype, .rows = rows(x->dtype), .x = x->data, .y = call->operands[2].view.data };
    opd_status status = opd_axis_number(&at, call, 1, -1);
    if (status == OPD_OK) {
        status = opd_axis_of(&work.axis, x, at);
    }
    if (status != OPD_OK) {
        return status;
    }
    work.is_exclusive = opd_call_int(call, "exclusive", 0) != 0;
    work.is_reverse = opd_call_int(call, "reverse", 0) != 0;
    work.bytes = (int64_t)opd_dtype_size(x->dtype);
    work.items = work.axis.inner == 1 ? (work.axis.outer + GROUP - 1) / GROUP
                                      : work.axis.outer * ((work.axis.inner + TILE - 1) / TILE);
    work.parts = opd_rows_parts(workspace->threads);
    opd_parallel(workspace->threads, work.parts, sum_part, &work);
    return OPD_OK;
}
