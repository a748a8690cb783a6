/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of integers, exact as integers.h says. Sums, largest and smallest run in 64 bits and in the dtype, where compilers make vectors of
 * the loops; means and L2 in 128 bits.
 */
#include "reduce_variants.h"

#include <string.h>

#include "axes.h"
#include "reduce_plan.h"

enum { TILE = 256 };

/* Reads `rows` rows of `width` elements at x into acc[width]. */
typedef void pass(opd_reduction kind, opd_i128 *acc, const void *x, int64_t rows, int64_t stride, int64_t width);

#define EACH(STEP)                                    \
    for (int64_t r = 0; r < rows; r++) {              \
        for (int64_t j = 0; j < width; j++) {         \
            T v;                                      \
            memcpy(&v, p + r * stride + j, sizeof v); \
            STEP;                                     \
        }                                             \
    }
#define SPREAD(TO, BEGIN)                 \
    for (int64_t j = 0; j < width; j++) { \
        (TO)[j] = (BEGIN);                \
    }

/* The pass of one dtype: by columns, or with width 1 and stride 1 along a row. */
#define PASS_BODY                                        \
    const T *p = x;                                      \
    uint64_t sum[TILE];                                  \
    T best[TILE];                                        \
    switch (kind) {                                      \
    case OPD_REDUCE_SUM:                                 \
        SPREAD(sum, 0)                                   \
        EACH(sum[j] += (uint64_t)v)                      \
        SPREAD(acc, acc[j] + sum[j])                     \
        break;                                           \
    case OPD_REDUCE_MAX:                                 \
        SPREAD(best, (T)acc[j])                          \
        EACH(best[j] = v > best[j] ? v : best[j])        \
        SPREAD(acc, best[j])                             \
        break;                                           \
    case OPD_REDUCE_MIN:                                 \
        SPREAD(best, (T)acc[j])                          \
        EACH(best[j] = v < best[j] ? v : best[j])        \
        SPREAD(acc, best[j])                             \
        break;                                           \
    default:                                             \
        EACH(acc[j] = opd_integer_step(kind, acc[j], v)) \
        break;                                           \
    }

#define PASS(name, TYPE)                                                                                       \
    static void columns_##name(opd_reduction kind, opd_i128 *acc, const void *x, int64_t rows, int64_t stride, \
                               int64_t width)                                                                  \
    {                                                                                                          \
        typedef TYPE T;                                                                                        \
        PASS_BODY                                                                                              \
    }                                                                                                          \
    static void row_##name(opd_reduction kind, opd_i128 *acc, const void *x, int64_t rows, int64_t stride,     \
                           int64_t width)                                                                      \
    {                                                                                                          \
        typedef TYPE T;                                                                                        \
        (void)stride;                                                                                          \
        (void)width;                                                                                           \
        ROW_BODY                                                                                               \
    }

/* The same along one row, where the loop is over its elements. */
#define ALONG(STEP)                      \
    for (int64_t i = 0; i < rows; i++) { \
        T v;                             \
        memcpy(&v, p + i, sizeof v);     \
        STEP;                            \
    }
#define ROW_BODY                                      \
    const T *p = x;                                   \
    uint64_t sum = 0;                                 \
    T best = (T)*acc;                                 \
    switch (kind) {                                   \
    case OPD_REDUCE_SUM:                              \
        ALONG(sum += (uint64_t)v)                     \
        *acc += sum;                                  \
        break;                                        \
    case OPD_REDUCE_MAX:                              \
        ALONG(best = v > best ? v : best)             \
        *acc = best;                                  \
        break;                                        \
    case OPD_REDUCE_MIN:                              \
        ALONG(best = v < best ? v : best)             \
        *acc = best;                                  \
        break;                                        \
    default:                                          \
        ALONG(*acc = opd_integer_step(kind, *acc, v)) \
        break;                                        \
    }

PASS(i8, int8_t) /* NOLINT(bugprone-signed-char-misuse): a number, no character */
PASS(u8, uint8_t)
PASS(i32, int32_t)
PASS(u32, uint32_t)
PASS(i64, int64_t)
PASS(u64, uint64_t)

static const struct passes {
    opd_dtype dtype;
    pass *columns, *row;
} passes[] = {
    { OPD_I8, columns_i8, row_i8 },    { OPD_U8, columns_u8, row_u8 },    { OPD_I32, columns_i32, row_i32 },
    { OPD_U32, columns_u32, row_u32 }, { OPD_I64, columns_i64, row_i64 }, { OPD_U64, columns_u64, row_u64 },
};

typedef struct job {
    opd_reduction kind;
    const struct passes *passes;
    opd_reduce_plan plan;
    const uint8_t *x;
    uint8_t *y;
    int64_t bytes;
    int64_t items, parts;
} job;

static void reduce_item(const job *work, int64_t item)
{
    const opd_reduce_plan *plan = &work->plan;
    int64_t tiles = plan->by_columns ? (plan->width + TILE - 1) / TILE : 1;
    int64_t first = item % tiles * TILE;
    int64_t width = plan->by_columns ? plan->width - first : 1;
    width = width < TILE ? width : TILE;
    const uint8_t *x = work->x + (opd_reduce_offset(&plan->kept, item / tiles) + first) * work->bytes;
    opd_i128 acc[TILE];
    for (int64_t j = 0; j < width; j++) {
        acc[j] = opd_integer_begin(work->kind, work->passes->dtype);
    }
    for (int64_t r = 0; r < plan->reduced.total; r++) {
        const uint8_t *at = x + opd_reduce_offset(&plan->reduced, r) * work->bytes;
        if (plan->by_columns) {
            work->passes->columns(work->kind, acc, at, plan->rows, plan->row_stride, width);
        } else {
            work->passes->row(work->kind, acc, at, plan->length, 1, 1);
        }
    }
    uint8_t *y = work->y + (item / tiles * plan->width + first) * work->bytes;
    for (int64_t j = 0; j < width; j++) {
        opd_i128 value = opd_integer_end(work->kind, work->passes->dtype, acc[j], plan->terms);
        uint64_t bits = (uint64_t)value; /* little-endian: the low bytes come first */
        memcpy(y + j * work->bytes, &bits, (size_t)work->bytes);
    }
}

static void reduce_part(void *context, int64_t part)
{
    const job *work = context;
    int64_t end = work->items * (part + 1) / work->parts;
    for (int64_t item = work->items * part / work->parts; item < end; item++) {
        reduce_item(work, item);
    }
}

opd_status opd_reduce_integers(const opd_call *call, const opd_workspace *workspace, opd_reduction kind)
{
    const opd_tensor *data = &call->operands[0].view;
    bool axes[OPD_MAX_RANK];
    opd_status status = opd_axes_of(axes, call);
    if (status != OPD_OK) {
        return status;
    }
    job work = { .kind = kind, .x = data->data, .y = call->operands[2].view.data };
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        work.passes = passes[i].dtype == data->dtype ? &passes[i] : work.passes;
    }
    if (work.passes == NULL) {
        return opd_fail(OPD_E_DECLINED, "not for %s", opd_dtype_name(data->dtype));
    }
    work.bytes = (int64_t)opd_dtype_size(data->dtype);
    opd_reduce_plan_make(&work.plan, data, axes);
    work.items = work.plan.kept.total * (work.plan.by_columns ? (work.plan.width + TILE - 1) / TILE : 1);
    work.parts = opd_rows_parts(workspace->threads);
    opd_parallel(workspace->threads, work.parts, reduce_part, &work);
    return OPD_OK;
}
