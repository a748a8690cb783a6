/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WindowL2Normalization. Fused: for one row of the images after the other, the window means of all channels, which stay in the caches, their norms by
 * column, and the result. Unfused: the means of everything, then the norms. A place whose norm leaves the range of the fast way is done
 * again from X in long double.
 *
 * workspace  the stages when tracing is on; of a chain all means; for each part of the work the means of one row of all channels and three rows.
 */
#include <math.h>

#include "norm_stages.h"
#include "norm_variants.h"
#include "wide_line.h"

enum { WINDOWED, NORM }; /* stages */

typedef struct job {
    const opd_call *call;
    const opd_rows *rows, *inner;
    int64_t images, channels, height, width;
    const uint8_t *x;
    uint8_t *y;
    int64_t bytes, inner_bytes;
    opd_stages stages;
    uint8_t *whole;    /* means of a chain; NULL: fused */
    bool is_averaging; /* the first pass of a chain */
    uint8_t *scratch;
    int64_t scratch_bytes;
    int64_t parts;
} job;

static void average_row(const job *work, int64_t image, int64_t channel, int64_t h, uint8_t *means, uint8_t *sums)
{
    const uint8_t *plane = work->x + (image * work->channels + channel) * work->height * work->width * work->bytes;
    const void *three[3] = { NULL, NULL, NULL };
    for (int k = 0; k < 3; k++) {
        int64_t at = h - 1 + k;
        three[k] = at >= 0 && at < work->height ? plane + at * work->width * work->bytes : NULL;
    }
    work->rows->window_mean(means, sums, three, work->width);
}

/* One place of one plane in long double. */
static long double wide_mean(const job *work, int64_t plane, int64_t h, int64_t w)
{
    long double sum = 0.0L;
    long double places = 0.0L;
    for (int64_t i = h > 0 ? h - 1 : 0; i <= h + 1 && i < work->height; i++) {
        for (int64_t j = w > 0 ? w - 1 : 0; j <= w + 1 && j < work->width; j++) {
            sum += opd_wide_load(work->rows->dtype, work->x, (plane * work->height + i) * work->width + j);
            places += 1.0L;
        }
    }
    return sum / places;
}

static double place_wide(const job *work, int64_t image, int64_t h, int64_t w)
{
    long double squares = 0.0L;
    for (int pass = 0; pass < 2; pass++) {
        long double norm = sqrtl(squares);
        for (int64_t c = 0; c < work->channels; c++) {
            int64_t plane = image * work->channels + c;
            long double mean = wide_mean(work, plane, h, w);
            squares += pass == 0 ? mean * mean : 0.0L;
            if (pass == 1) {
                int64_t at = (plane * work->height + h) * work->width + w;
                opd_wide_store(work->rows->dtype, work->y, at, norm == 0.0L ? 0.0L : mean / norm);
            }
        }
    }
    return (double)sqrtl(squares);
}

/* The means of one row of an image, channels `stride` elements apart. */
typedef struct band {
    int64_t image, h;
    const uint8_t *means;
    int64_t stride;
    uint8_t *row; /* scratch */
} band;

/* Divides the means of columns from first on, at most a tile, by their norms. */
static void divide_tile(const job *work, const band *b, int64_t first)
{
    int64_t left = work->width - first;
    opd_block block = { .x = b->means + first * work->inner_bytes, .stride = b->stride, .rows = work->channels };
    block.width = left < OPD_ROWS_TILE ? left : OPD_ROWS_TILE;
    double squares[OPD_ROWS_TILE] = { 0 };
    double factor[OPD_ROWS_TILE];
    work->inner->column_sum_squares(squares, &block);
    for (int64_t j = 0; j < block.width; j++) {
        factor[j] = 1.0 / sqrt(squares[j]);
    }
    int64_t at = (b->image * work->channels * work->height + b->h) * work->width + first;
    int64_t plane = work->height * work->width;
    if (work->rows == work->inner) {
        block.out_stride = plane;
        work->rows->column_scale(work->y + at * work->bytes, &block, factor);
    }
    for (int64_t c = 0; c < work->channels && work->rows != work->inner; c++) {
        opd_block one = { .x = b->means + (c * b->stride + first) * work->inner_bytes,
                          .rows = 1,
                          .width = block.width };
        work->inner->column_scale(b->row, &one, factor);
        work->rows->scale(work->y + (at + c * plane) * work->bytes, b->row, block.width, 1.0, false);
    }
    double most = work->inner->dtype == OPD_F32 ? 0x1p200 : 0x1p900;
    for (int64_t j = 0; j < block.width; j++) {
        double norm = sqrt(squares[j]);
        if (!isnan(norm) && !(squares[j] >= 1.0 / most && squares[j] <= most)) {
            norm = place_wide(work, b->image, b->h, first + j);
        }
        opd_stage_put(&work->stages, NORM, (b->image * work->height + b->h) * work->width + first + j, norm);
    }
}

static void put_means(const job *work, int64_t image, int64_t h, const uint8_t *means, int64_t stride)
{
    for (int64_t i = 0; work->stages.value[WINDOWED] != NULL && i < work->channels * work->width; i++) {
        int64_t c = i / work->width;
        int64_t at = ((image * work->channels + c) * work->height + h) * work->width + i % work->width;
        long double v = opd_wide_load(work->inner->dtype, means, c * stride + i % work->width);
        opd_stage_put(&work->stages, WINDOWED, at, (double)v);
    }
}

static void do_row(const job *work, int64_t image, int64_t h, uint8_t *scratch)
{
    int64_t row_bytes = work->width * work->inner_bytes;
    int64_t plane = work->height * work->width;
    uint8_t *row = scratch;
    uint8_t *means = scratch + row_bytes;
    int64_t stride = work->width;
    if (work->whole != NULL) {
        stride = plane;
        means = work->whole + (image * work->channels * plane + h * work->width) * work->inner_bytes;
    }
    for (int64_t c = 0; c < work->channels && (work->whole == NULL || work->is_averaging); c++) {
        average_row(work, image, c, h, means + c * stride * work->inner_bytes, row);
    }
    if (work->whole != NULL && work->is_averaging) {
        return;
    }
    put_means(work, image, h, means, stride);
    const band b = { image, h, means, stride, row };
    for (int64_t first = 0; first < work->width; first += OPD_ROWS_TILE) {
        divide_tile(work, &b, first);
    }
}

static void do_part(void *context, int64_t part)
{
    const job *work = context;
    int64_t rows = work->images * work->height;
    int64_t end = rows * (part + 1) / work->parts;
    for (int64_t i = rows * part / work->parts; i < end; i++) {
        do_row(work, i / work->height, i % work->height, work->scratch + part * work->scratch_bytes);
    }
}

static job read_call(const opd_call *call)
{
    const opd_tensor *x = &call->operands[0].view;
    job work = {
        .call = call, .images = x->shape[0], .channels = x->shape[1], .height = x->shape[2], .width = x->shape[3]
    };
    work.stages = (opd_stages){ .call = call, .elements = opd_tensor_count(x), .whole = 1u << WINDOWED };
    work.stages.lines = work.images * work.height * work.width;
    work.inner_bytes = x->dtype == OPD_F64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
    return work;
}

static size_t align(int64_t bytes)
{
    return (size_t)(bytes + 63) / 64 * 64;
}

static size_t scratch_of(const job *work, bool is_chain)
{
    return align(work->width * work->inner_bytes * (is_chain ? 1 : 1 + work->channels));
}

size_t opd_window_l2_bytes(const opd_call *call, int32_t threads, bool is_chain)
{
    job work = read_call(call);
    size_t whole = is_chain ? align(work.stages.elements * work.inner_bytes) : 0;
    return align((int64_t)opd_stages_bytes(&work.stages)) + whole +
           (size_t)opd_rows_parts(threads) * scratch_of(&work, is_chain);
}

opd_status opd_window_l2(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows, bool is_chain)
{
    job work = read_call(call);
    work.rows = rows(call->operands[0].view.dtype);
    work.inner = rows(work.rows->inner);
    work.x = call->operands[0].view.data;
    work.y = call->operands[1].view.data;
    work.bytes = (int64_t)opd_dtype_size(work.rows->dtype);
    size_t stage_bytes = align((int64_t)opd_stages_bytes(&work.stages));
    opd_stages_begin(&work.stages, stage_bytes > 0 ? workspace->bytes : NULL);
    work.scratch = (uint8_t *)workspace->bytes + stage_bytes;
    work.scratch_bytes = (int64_t)scratch_of(&work, is_chain);
    work.parts = opd_rows_parts(workspace->threads);
    if (is_chain) {
        work.whole = work.scratch;
        work.scratch += align(work.stages.elements * work.inner_bytes);
        work.is_averaging = true;
        opd_parallel(workspace->threads, work.parts, do_part, &work);
        work.is_averaging = false;
    }
    opd_parallel(workspace->threads, work.parts, do_part, &work);
    opd_stages_emit(&work.stages);
    return OPD_OK;
}
