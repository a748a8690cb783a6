/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BatchNormalization: first the four numbers of each channel (in training its own moments, by two passes), then all elements, channel by
 * channel of each image, or by columns where a channel has one element.
 *
 * workspace  the stages when tracing is on; the numbers of the channels; for 16-bit dtypes a stretch of f32 for each part of the work.
 */
#include <math.h>

#include "norm_stages.h"
#include "norm_variants.h"
#include "wide_line.h"

enum { X, SCALE, BIAS, GIVEN_MEAN, GIVEN_VARIANCE, Y, RUNNING_MEAN, RUNNING_VARIANCE };
enum { MEAN, VARIANCE, NORMALIZED }; /* stages */
enum { STRETCH = 4096 };
/* Beyond this mean a difference may leave the range of f32. */
static const double wide_mean[] = { 0x1p120, 0x1p1000 };

typedef struct job {
    const opd_call *call;
    const opd_rows *rows, *inner;
    int64_t images, channels, spatial;
    bool is_training;
    const uint8_t *x;
    uint8_t *y;
    int64_t bytes;
    double epsilon;
    double *mean, *factor, *scale, *bias; /* by channel */
    opd_stages stages;
    uint8_t *stretch;
    int64_t parts;
    bool streams;
} job;

static double number_at(const opd_operand *operand, int64_t i)
{
    return (double)opd_wide_load(operand->view.dtype, operand->view.data, i);
}

/* Moments in long double, for what overflows. */
static opd_wide_moments wide_moments(const job *work, int64_t channel)
{
    opd_wide_moments m = { 0 };
    long double n = (long double)(work->images * work->spatial);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < work->images * work->spatial; i++) {
            int64_t at = (i / work->spatial * work->channels + channel) * work->spatial + i % work->spatial;
            long double v = opd_wide_load(work->rows->dtype, work->x, at);
            m.mean += pass == 0 ? v : 0.0L;
            m.variance += pass == 0 ? 0.0L : (v - m.mean) * (v - m.mean);
        }
        m.mean /= pass == 0 ? n : 1.0L;
    }
    m.variance /= n;
    m.inverse = 1.0L / sqrtl(m.variance + work->epsilon);
    return m;
}

static opd_wide_moments moments_of(const job *work, int64_t channel)
{
    double n = (double)(work->images * work->spatial);
    double sum = 0.0;
    for (int64_t i = 0; i < work->images; i++) {
        sum += work->rows->sum(work->x + (i * work->channels + channel) * work->spatial * work->bytes, work->spatial);
    }
    double mean = sum / n;
    sum = 0.0;
    for (int64_t i = 0; i < work->images; i++) {
        const uint8_t *x = work->x + (i * work->channels + channel) * work->spatial * work->bytes;
        sum += work->rows->sum_squares(x, work->spatial, mean);
    }
    double variance = sum / n;
    if (work->rows->dtype == OPD_F64 && !(variance <= 0x1p1000)) {
        return wide_moments(work, channel);
    }
    return (opd_wide_moments){ mean, variance, 1.0 / sqrt(variance + work->epsilon) };
}

static void set_running(const job *work, int operand, int64_t channel, double made)
{
    const opd_operand *running = &work->call->operands[operand];
    if (operand < work->call->operand_count && (running->flags & OPD_OPERAND_ABSENT) == 0) {
        double momentum = opd_call_real(work->call, "momentum", 0.9);
        double given = number_at(&work->call->operands[operand - 3], channel);
        opd_wide_store(running->view.dtype, running->view.data, channel, given * momentum + made * (1.0 - momentum));
    }
}

static void prepare_part(void *context, int64_t part)
{
    const job *work = context;
    const opd_operand *operands = work->call->operands;
    int64_t end = work->channels * (part + 1) / work->parts;
    for (int64_t c = work->channels * part / work->parts; c < end; c++) {
        opd_wide_moments m = { number_at(&operands[GIVEN_MEAN], c), number_at(&operands[GIVEN_VARIANCE], c), 0.0L };
        m.inverse = 1.0 / sqrt((double)m.variance + work->epsilon);
        if (work->is_training) {
            m = moments_of(work, c);
            set_running(work, RUNNING_MEAN, c, (double)m.mean);
            set_running(work, RUNNING_VARIANCE, c, (double)m.variance);
        }
        work->mean[c] = (double)m.mean;
        work->factor[c] = (double)m.inverse;
        work->scale[c] = number_at(&operands[SCALE], c);
        work->bias[c] = number_at(&operands[BIAS], c);
        opd_stage_put(&work->stages, MEAN, c, (double)m.mean);
        opd_stage_put(&work->stages, VARIANCE, c, (double)m.variance);
    }
}

/* One channel of one image. */
static void write_segment(const job *work, int64_t segment, uint8_t *stretch)
{
    int64_t c = segment % work->channels;
    const uint8_t *x = work->x + segment * work->spatial * work->bytes;
    uint8_t *y = work->y + segment * work->spatial * work->bytes;
    opd_affine how = { .centre = work->mean[c], .factor = work->factor[c], .streams = work->streams };
    how.common_scale = work->scale[c];
    how.common_bias = work->bias[c];
    if (fabs(how.centre) > wide_mean[work->inner->dtype == OPD_F64]) {
        for (int64_t i = 0; i < work->spatial; i++) {
            long double z = (opd_wide_load(work->rows->dtype, x, i) - how.centre) * how.factor;
            opd_wide_store(work->rows->dtype, y, i, z * how.common_scale + how.common_bias);
        }
    } else if (work->rows == work->inner) {
        work->rows->affine(y, x, work->spatial, &how);
    } else {
        for (int64_t i = 0; i < work->spatial; i += STRETCH) {
            int64_t n = work->spatial - i < STRETCH ? work->spatial - i : STRETCH;
            work->rows->widen(stretch, x + i * work->bytes, n);
            work->rows->affine(y + i * work->bytes, stretch, n, &how);
        }
    }
}

static void write_part(void *context, int64_t part)
{
    const job *work = context;
    uint8_t *stretch = work->stretch + part * STRETCH * (int64_t)sizeof(float);
    int64_t segments = work->images * work->channels;
    int64_t end = segments * (part + 1) / work->parts;
    for (int64_t s = segments * part / work->parts; s < end; s++) {
        write_segment(work, s, stretch);
    }
    if (work->streams) {
        work->rows->fence();
    }
}

/* One element for each channel: a stretch of channels of all images. */
static void write_columns(void *context, int64_t part)
{
    const job *work = context;
    int64_t first = part * OPD_ROWS_TILE;
    int64_t left = work->channels - first;
    opd_block block = { .x = work->x + first * work->bytes, .stride = work->channels, .rows = work->images };
    block.width = left < OPD_ROWS_TILE ? left : OPD_ROWS_TILE;
    opd_column_affine how = { work->mean + first, work->factor + first, work->scale + first, work->bias + first };
    work->rows->column_affine(work->y + first * work->bytes, &block, &how);
}

static void put_normalized(const job *work)
{
    double *stage = work->stages.value[NORMALIZED];
    for (int64_t i = 0; stage != NULL && i < work->stages.elements; i++) {
        int64_t c = i / work->spatial % work->channels;
        stage[i] = ((double)opd_wide_load(work->rows->dtype, work->x, i) - work->mean[c]) * work->factor[c];
    }
}

static bool is_narrow(double value, const job *work)
{
    return fabs(value) <= wide_mean[work->inner->dtype == OPD_F64];
}

static int64_t spatial_of(const opd_tensor *x)
{
    int64_t count = 1;
    for (int d = 2; d < x->rank; d++) {
        count *= x->shape[d];
    }
    return count;
}

static opd_stages stages_of(const opd_call *call)
{
    const opd_tensor *x = &call->operands[X].view;
    return (
        opd_stages){ .call = call, .lines = x->shape[1], .elements = opd_tensor_count(x), .whole = 1u << NORMALIZED };
}

size_t opd_batch_norm_bytes(const opd_call *call, int32_t threads)
{
    opd_stages stages = stages_of(call);
    bool is_half = opd_dtype_size(call->operands[X].view.dtype) == 2;
    size_t stretches = is_half ? (size_t)opd_rows_parts(threads) * STRETCH * sizeof(float) : 0;
    return opd_stages_bytes(&stages) + (size_t)stages.lines * 4 * sizeof(double) + stretches;
}

opd_status opd_batch_norm(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows)
{
    const opd_tensor *x = &call->operands[X].view;
    job work = { .call = call, .images = x->shape[0], .channels = x->shape[1], .spatial = spatial_of(x), .x = x->data };
    work.rows = rows(x->dtype);
    work.inner = rows(work.rows->inner);
    work.y = call->operands[Y].view.data;
    work.bytes = (int64_t)opd_dtype_size(x->dtype);
    work.is_training = opd_call_int(call, "training_mode", 0) != 0;
    work.epsilon = opd_call_real(call, "epsilon", 1e-5);
    work.parts = opd_rows_parts(workspace->threads);
    work.streams = opd_rows_stream(&call->operands[Y].view, work.spatial);
    work.stages = stages_of(call);
    size_t stage_bytes = opd_stages_bytes(&work.stages);
    opd_stages_begin(&work.stages, stage_bytes > 0 ? workspace->bytes : NULL);
    work.mean = (double *)(void *)((uint8_t *)workspace->bytes + stage_bytes);
    work.factor = work.mean + work.channels;
    work.scale = work.factor + work.channels;
    work.bias = work.scale + work.channels;
    work.stretch = (uint8_t *)(work.bias + work.channels);
    opd_parallel(workspace->threads, work.parts, prepare_part, &work);
    put_normalized(&work); /* before the elements: Y may lie on X */
    bool by_columns = work.spatial == 1;
    for (int64_t c = 0; c < work.channels && by_columns; c++) {
        by_columns = is_narrow(work.mean[c], &work);
    }
    if (by_columns) {
        int64_t tiles = (work.channels + OPD_ROWS_TILE - 1) / OPD_ROWS_TILE;
        opd_parallel(workspace->threads, tiles, write_columns, &work);
    } else {
        opd_parallel(workspace->threads, work.parts, write_part, &work);
    }
    opd_stages_emit(&work.stages);
    return OPD_OK;
}
