/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Existing elements to and from dense memory, in walk order.
 */
#include "walk.h"

#include <string.h>

#define LONG_ROW 128 /* bytes from which a call of memcpy for a dense row is worth it */

/* With size and one step constants, an element is one load and one store, and the compiler may take several at once. */
#define COPY_ROWS(bytes, to_step, to_row, from_step, from_row) \
    for (int64_t r = 0; r < rows.rows; r++) {                  \
        uint8_t *to = dst + r * (to_row);                      \
        const uint8_t *from = src + r * (from_row);            \
        for (int64_t i = 0; i < rows.count; i++) {             \
            memcpy(to, from, bytes);                           \
            to += (to_step);                                   \
            from += (from_step);                               \
        }                                                      \
    }                                                          \
    break;

#define BY_SIZE(COPY)    \
    switch (rows.size) { \
    case 1:              \
        COPY(1)          \
    case 2:              \
        COPY(2)          \
    case 4:              \
        COPY(4)          \
    case 8:              \
        COPY(8)          \
    default:             \
        COPY(16)         \
    }

#define GATHER_DENSE(bytes)  COPY_ROWS(bytes, bytes, row, bytes, rows.row_step)
#define GATHER(bytes)        COPY_ROWS(bytes, bytes, row, rows.step, rows.row_step)
#define SCATTER_DENSE(bytes) COPY_ROWS(bytes, bytes, rows.row_step, bytes, row)
#define SCATTER(bytes)       COPY_ROWS(bytes, rows.step, rows.row_step, bytes, row)

void opd_gather(uint8_t *dst, const uint8_t *src, const opd_rows *taken)
{
    const opd_rows rows = *taken; /* bytes written may alias *taken, not this */
    int64_t row = rows.count * (int64_t)rows.size;
    if (rows.step != (int64_t)rows.size) {
        BY_SIZE(GATHER)
    } else if (row < LONG_ROW && rows.rows > 1) {
        BY_SIZE(GATHER_DENSE)
    } else {
        for (int64_t r = 0; r < rows.rows; r++) {
            memcpy(dst + r * row, src + r * rows.row_step, (size_t)row);
        }
    }
}

void opd_scatter(uint8_t *dst, const uint8_t *src, const opd_rows *taken)
{
    const opd_rows rows = *taken; /* bytes written may alias *taken, not this */
    int64_t row = rows.count * (int64_t)rows.size;
    if (rows.step != (int64_t)rows.size) {
        BY_SIZE(SCATTER)
    } else if (row < LONG_ROW && rows.rows > 1) {
        BY_SIZE(SCATTER_DENSE)
    } else {
        for (int64_t r = 0; r < rows.rows; r++) {
            memcpy(dst + r * rows.row_step, src + r * row, (size_t)row);
        }
    }
}

/* The next run and all that are like it; false at the end. */
static bool next_rows(opd_runs *runs, opd_rows *rows, int64_t *offset)
{
    opd_run run;
    if (!opd_runs_next(runs, &run)) {
        return false;
    }
    *offset = run.offset;
    rows->count = run.count;
    rows->step = run.step;
    rows->row_step = 0;
    rows->rows = 1 + opd_walk_take_rows(runs, INT64_MAX, &rows->row_step);
    return true;
}

void opd_tensor_pack(void *dst, const opd_tensor *view)
{
    opd_rows rows = { .size = opd_dtype_size(view->dtype) };
    uint8_t *at = dst;
    const uint8_t *data = view->data;
    int64_t offset;
    opd_runs runs;
    opd_runs_begin(&runs, view);
    while (next_rows(&runs, &rows, &offset)) {
        opd_gather(at, data + offset, &rows);
        at += (size_t)(rows.rows * rows.count) * rows.size;
    }
}

void opd_tensor_unpack(const opd_tensor *view, const void *src)
{
    opd_rows rows = { .size = opd_dtype_size(view->dtype) };
    const uint8_t *at = src;
    uint8_t *data = view->data;
    int64_t offset;
    opd_runs runs;
    opd_runs_begin(&runs, view);
    while (next_rows(&runs, &rows, &offset)) {
        opd_scatter(data + offset, at, &rows);
        at += (size_t)(rows.rows * rows.count) * rows.size;
    }
}
