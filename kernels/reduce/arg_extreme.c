/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ArgMax and ArgMin. Along rows of floats: the extreme value, then where it stands; else one pass by columns that keeps values and
 * indices. The first NaN counts as the extreme, with select_last_index the last one.
 */
#include <math.h>
#include <string.h>

#include "axes.h"
#include "reduce_variants.h"

enum { TILE = 256 };

typedef struct job {
    const opd_rows *rows; /* floats along rows; NULL else */
    opd_dtype dtype;
    opd_axis axis;
    bool is_largest, takes_last;
    const uint8_t *x;
    uint8_t *y;
    int64_t bytes;
    int64_t items, parts;
} job;

static void store_index(const job *work, int64_t to, int64_t index)
{
    memcpy(work->y + to * (int64_t)sizeof index, &index, sizeof index);
}

static void find_in_row(const job *work, int64_t item)
{
    const uint8_t *x = work->x + item * work->axis.size * work->bytes;
    double value =
        work->is_largest ? work->rows->largest(x, work->axis.size) : work->rows->smallest(x, work->axis.size);
    store_index(work, item, work->rows->find(x, work->axis.size, value, work->takes_last));
}

/* Keeps, of `rows` rows, the best value of each column and its index. The key of a value: itself, or for ArgMin its mirror. */
#define SEARCH(name, T, KEY, READ)                                                              \
    static void search_##name(const job *work, const uint8_t *x, int64_t width, int64_t *index) \
    {                                                                                           \
        KEY best[TILE];                                                                         \
        for (int64_t j = 0; j < width; j++) {                                                   \
            best[j] = READ((const T *)(const void *)x + j);                                     \
        }                                                                                       \
        for (int64_t r = 1; r < work->axis.size; r++) {                                         \
            const T *p = (const T *)(const void *)x + r * work->axis.inner;                     \
            for (int64_t j = 0; j < width; j++) {                                               \
                KEY v = READ(p + j);                                                            \
                bool is_better = work->is_largest ? v > best[j] : v < best[j];                  \
                bool is_equal = v == best[j];                                                   \
                if (v != v) {                                                                   \
                    is_better = best[j] == best[j];                                             \
                    is_equal = !is_better;                                                      \
                }                                                                               \
                if (is_better || (work->takes_last && is_equal)) {                              \
                    best[j] = v;                                                                \
                    index[j] = r;                                                               \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
    }

#define READ_AS(T)                        \
    static T read_##T(const T *at)        \
    {                                     \
        T value;                          \
        memcpy(&value, at, sizeof value); \
        return value;                     \
    }
READ_AS(int8_t)
READ_AS(uint8_t)
READ_AS(int16_t)
READ_AS(uint16_t)
READ_AS(int32_t)
READ_AS(uint32_t)
READ_AS(int64_t)
READ_AS(uint64_t)
READ_AS(float)
READ_AS(double)

static double read_f16(const uint16_t *at)
{
    double value;
    double im;
    opd_element_load(OPD_F16, at, &value, &im);
    return value;
}

static double read_bf16(const uint16_t *at)
{
    double value;
    double im;
    opd_element_load(OPD_BF16, at, &value, &im);
    return value;
}

SEARCH(i8, int8_t, int8_t, read_int8_t)
SEARCH(u8, uint8_t, uint8_t, read_uint8_t)
SEARCH(i16, int16_t, int16_t, read_int16_t)
SEARCH(u16, uint16_t, uint16_t, read_uint16_t)
SEARCH(i32, int32_t, int32_t, read_int32_t)
SEARCH(u32, uint32_t, uint32_t, read_uint32_t)
SEARCH(i64, int64_t, int64_t, read_int64_t)
SEARCH(u64, uint64_t, uint64_t, read_uint64_t)
SEARCH(f32, float, float, read_float)
SEARCH(f64, double, double, read_double)
SEARCH(f16, uint16_t, double, read_f16)
SEARCH(bf16, uint16_t, double, read_bf16)

static const struct search {
    opd_dtype dtype;
    void (*run)(const job *work, const uint8_t *x, int64_t width, int64_t *index);
} searches[] = {
    { OPD_I8, search_i8 },   { OPD_U8, search_u8 },   { OPD_I16, search_i16 }, { OPD_U16, search_u16 },
    { OPD_I32, search_i32 }, { OPD_U32, search_u32 }, { OPD_I64, search_i64 }, { OPD_U64, search_u64 },
    { OPD_F32, search_f32 }, { OPD_F64, search_f64 }, { OPD_F16, search_f16 }, { OPD_BF16, search_bf16 },
};

static void find_in_columns(const job *work, int64_t item)
{
    int64_t tiles = (work->axis.inner + TILE - 1) / TILE;
    int64_t first = item % tiles * TILE;
    int64_t width = work->axis.inner - first < TILE ? work->axis.inner - first : TILE;
    const uint8_t *x = work->x + (item / tiles * work->axis.size * work->axis.inner + first) * work->bytes;
    int64_t index[TILE] = { 0 };
    for (size_t i = 0; i < sizeof searches / sizeof searches[0]; i++) {
        if (searches[i].dtype == work->dtype) {
            searches[i].run(work, x, width, index);
        }
    }
    for (int64_t j = 0; j < width; j++) {
        store_index(work, item / tiles * work->axis.inner + first + j, index[j]);
    }
}

static void find_part(void *context, int64_t part)
{
    const job *work = context;
    int64_t end = work->items * (part + 1) / work->parts;
    for (int64_t item = work->items * part / work->parts; item < end; item++) {
        if (work->rows != NULL) {
            find_in_row(work, item);
        } else {
            find_in_columns(work, item);
        }
    }
}

opd_status opd_arg_extreme(const opd_call *call, const opd_workspace *workspace, bool is_largest, opd_rows_finder *rows)
{
    const opd_tensor *data = &call->operands[0].view;
    job work = { .dtype = data->dtype, .is_largest = is_largest, .x = data->data, .y = call->operands[1].view.data };
    opd_status status = opd_axis_of(&work.axis, data, opd_call_int(call, "axis", 0));
    if (status != OPD_OK) {
        return status;
    }
    work.takes_last = opd_call_int(call, "select_last_index", 0) != 0;
    work.bytes = (int64_t)opd_dtype_size(data->dtype);
    work.rows = work.axis.inner == 1 ? rows(data->dtype) : NULL;
    work.items = work.axis.size == 0 ? 0 : work.axis.outer * ((work.axis.inner + TILE - 1) / TILE);
    work.parts = opd_rows_parts(workspace->threads);
    opd_parallel(workspace->threads, work.parts, find_part, &work);
    return OPD_OK;
}
