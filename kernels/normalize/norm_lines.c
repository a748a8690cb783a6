/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Norms of contiguous lines: LayerNormalization, RMSNormalization, GroupNormalization, InstanceNormalization and the fused forms. For each line: its
 * elements in f32 (f64), the mean, the variance about it, then the result. A line whose variance leaves the range in which that is
 * exact is done in long double.
 *
 * workspace  the stages when tracing is on; for a chain the whole sum; then a line for each part of the work.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "norm_stages.h"
#include "norm_variants.h"
#include "wide_line.h"

enum { MEAN, VARIANCE, NORMALIZED, MEAN_SQUARE = 0, SQUARE_NORMALIZED };

typedef struct shape {
    int64_t lines, count;      /* elements of a line */
    int64_t channels, spatial; /* scale and bias go by channel, `spatial` elements each; channels 0: by element */
    int64_t line_channels;
} shape;

typedef struct job {
    const opd_call *call;
    opd_norm_kind kind;
    bool is_chain, is_summing; /* the first pass of a chain */
    const opd_rows *rows, *inner;
    shape shape;
    double epsilon;
    const opd_operand *scale, *bias, *y, *sum, *mean, *inverse; /* NULL: none */
    const uint8_t *x, *other;
    int64_t other_step; /* elements from line to line */
    int64_t bytes, inner_bytes;
    opd_stages stages;
    int first_stage;
    uint8_t *whole; /* the sum of a chain */
    uint8_t *line;  /* of the first part */
    int64_t parts;
    bool streams;
} job;

static const opd_operand *there(const opd_call *call, int index)
{
    bool is_there = index < call->operand_count && (call->operands[index].flags & OPD_OPERAND_ABSENT) == 0;
    return is_there ? &call->operands[index] : NULL;
}

static shape shape_of(const opd_call *call, opd_norm_kind kind)
{
    const opd_tensor *x = &call->operands[0].view;
    shape s = { .count = 1 };
    int64_t axis = opd_call_int(call, "axis", -1);
    int first = (int)(axis < 0 ? axis + x->rank : axis);
    if (kind == OPD_NORM_GROUP || kind == OPD_NORM_INSTANCE) {
        int64_t groups = kind == OPD_NORM_GROUP ? opd_call_int(call, "num_groups", 1) : x->shape[1];
        first = 2;
        s.channels = x->shape[1];
        s.line_channels = groups > 0 ? s.channels / groups : 0;
    }
    for (int d = first; d < x->rank; d++) {
        s.count *= x->shape[d];
    }
    s.spatial = s.count;
    s.count *= s.channels > 0 ? s.line_channels : 1;
    s.lines = s.count > 0 ? opd_tensor_count(x) / s.count : 0;
    return s;
}

static bool is_fused(opd_norm_kind kind)
{
    return kind == OPD_NORM_BIAS || kind == OPD_NORM_ADD;
}

static opd_stages stages_of(const opd_call *call, opd_norm_kind kind, const shape *s)
{
    unsigned whole = kind == OPD_NORM_RMS ? 1u << SQUARE_NORMALIZED
                     : is_fused(kind)     ? 1u | 1u << (1 + NORMALIZED)
                                          : 1u << NORMALIZED;
    return (opd_stages){ .call = call, .lines = s->lines, .elements = s->lines * s->count, .whole = whole };
}

static int64_t inner_bytes(opd_dtype dtype)
{
    return dtype == OPD_F64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
}

static size_t align(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t opd_norm_lines_bytes(const opd_call *call, int32_t threads, opd_norm_kind kind, bool is_chain)
{
    shape s = shape_of(call, kind);
    opd_stages stages = stages_of(call, kind, &s);
    size_t element = (size_t)inner_bytes(call->operands[0].view.dtype);
    size_t whole = is_chain ? align((size_t)(s.lines * s.count) * element) : 0;
    return align(opd_stages_bytes(&stages)) + whole +
           (size_t)opd_rows_parts(threads) * align((size_t)s.count * element);
}

const char *opd_norm_lines_decline(const opd_call *call)
{
    int64_t axis = opd_call_int(call, "axis", -1);
    const opd_tensor *x = &call->operands[0].view;
    int64_t count = 1;
    for (int d = (int)(axis < 0 ? axis + x->rank : axis); d < x->rank; d++) {
        count *= x->shape[d];
    }
    for (int i = 1; i <= 2; i++) {
        bool is_parameter =
            call->operands[i].role == OPD_ROLE_IN && (call->operands[i].flags & OPD_OPERAND_ABSENT) == 0;
        if (is_parameter && opd_tensor_count(&call->operands[i].view) != count) {
            return "scale or bias is broadcast";
        }
    }
    return opd_rows_decline(call);
}

/* ----------------------------------------------------------------------------------------------------- a line */

/* The line in the dtype results are computed in: where it is, or in `own` memory. */
static const void *load_line(const job *work, int64_t line, uint8_t *own)
{
    int64_t count = work->shape.count;
    const uint8_t *x = work->x + line * count * work->bytes;
    if (work->is_chain && !work->is_summing) {
        return work->whole + line * count * work->inner_bytes;
    }
    if (work->other != NULL) {
        uint8_t *sum = work->sum != NULL ? (uint8_t *)work->sum->view.data + line * count * work->bytes : NULL;
        work->rows->add(own, sum, x, work->other + line * work->other_step * work->bytes, count);
        return own;
    }
    if (work->rows != work->inner) {
        work->rows->widen(own, x, count);
        return own;
    }
    return x;
}

static void put_statistic(const opd_operand *operand, int64_t line, double value)
{
    if (operand != NULL) {
        const opd_tensor *view = &operand->view;
        opd_element_store(view->dtype, (uint8_t *)view->data + line * (int64_t)opd_dtype_size(view->dtype), value, 0.0);
    }
}

static double channel_value(const opd_operand *operand, int64_t channel)
{
    double value;
    double im;
    const opd_tensor *view = &operand->view;
    opd_element_load(view->dtype, (const uint8_t *)view->data + channel * (int64_t)opd_dtype_size(view->dtype), &value,
                     &im);
    return value;
}

static void write_line(const job *work, const uint8_t *x, uint8_t *y, int64_t line, opd_affine *how)
{
    const shape *s = &work->shape;
    if (s->channels == 0) {
        how->scale = work->scale->view.data;
        how->bias = work->bias != NULL ? work->bias->view.data : NULL;
        work->rows->affine(y, x, s->count, how);
        return;
    }
    for (int64_t c = 0; c < s->line_channels; c++) {
        int64_t channel = line * s->line_channels % s->channels + c;
        how->common_scale = channel_value(work->scale, channel);
        how->common_bias = channel_value(work->bias, channel);
        int64_t first = c * s->spatial;
        work->rows->affine(y + first * work->bytes, x + first * work->inner_bytes, s->spatial, how);
    }
}

/* The same by long double, one element after the other. */
static void write_line_wide(const job *work, const uint8_t *x, uint8_t *y, int64_t line, const opd_wide_moments *m)
{
    const shape *s = &work->shape;
    for (int64_t i = 0; i < s->count; i++) {
        int64_t at = s->channels == 0 ? i : line * s->line_channels % s->channels + i / s->spatial;
        long double z = (opd_wide_load(work->inner->dtype, x, i) - m->mean) * m->inverse;
        z = z * channel_value(work->scale, at) + (work->bias != NULL ? channel_value(work->bias, at) : 0.0);
        opd_wide_store(work->rows->dtype, y, i, z);
    }
}

/* Elements of a line as a stage; also when nobody has room for it. */
static void put_line(const job *work, int stage, int64_t line, const uint8_t *x, double centre, double factor)
{
    if (work->stages.value[stage] == NULL) {
        return;
    }
    for (int64_t i = 0; i < work->shape.count; i++) {
        double v = (double)opd_wide_load(work->inner->dtype, x, i);
        v = work->inner->dtype == OPD_F32 ? (double)(((float)v - (float)centre) * (float)factor)
                                          : (v - centre) * factor;
        work->stages.value[stage][line * work->shape.count + i] = v;
    }
}

/* The stages of a line, before y, which may lie on x. */
static void put_stages(const job *work, int64_t line, const uint8_t *x, double mean, double variance, double inverse)
{
    int at = work->first_stage;
    bool is_rms = work->kind == OPD_NORM_RMS;
    if (at > 0) {
        put_line(work, 0, line, x, 0.0, 1.0);
    }
    opd_stage_put(&work->stages, at, line, is_rms ? variance : mean);
    if (!is_rms) {
        opd_stage_put(&work->stages, at + VARIANCE, line, variance);
    }
    put_line(work, at + (is_rms ? SQUARE_NORMALIZED : NORMALIZED), line, x, mean, inverse);
}

static void normalize_line(const job *work, int64_t line, uint8_t *own)
{
    int64_t count = work->shape.count;
    bool is_rms = work->kind == OPD_NORM_RMS;
    const uint8_t *x = load_line(work, line, own);
    uint8_t *y = (uint8_t *)work->y->view.data + line * count * work->bytes;
    double mean = is_rms ? 0.0 : work->inner->sum(x, count) / (double)count;
    double variance = work->inner->sum_squares(x, count, mean) / (double)count;
    double inverse = 1.0 / sqrt(variance + work->epsilon);
    opd_wide_moments wide;
    bool is_wide = opd_wide_needs(work->inner, x, count, variance, inverse);
    if (is_wide) {
        wide = opd_wide_moments_of(work->inner->dtype, x, count, is_rms, work->epsilon);
        mean = (double)wide.mean;
        variance = (double)wide.variance;
        inverse = (double)wide.inverse;
    }
    put_statistic(work->mean, line, mean);
    put_statistic(work->inverse, line, inverse);
    if (work->stages.value[0] != NULL) {
        put_stages(work, line, x, mean, variance, inverse);
    }
    if (is_wide) {
        write_line_wide(work, x, y, line, &wide);
    } else {
        opd_affine how = { .centre = mean, .factor = inverse, .common_scale = 1.0, .streams = work->streams };
        write_line(work, x, y, line, &how);
    }
}

static void sum_part(void *context, int64_t part)
{
    const job *work = context;
    int64_t end = work->shape.lines * (part + 1) / work->parts;
    for (int64_t line = work->shape.lines * part / work->parts; line < end; line++) {
        (void)load_line(work, line, work->whole + line * work->shape.count * work->inner_bytes);
    }
}

static void normalize_part(void *context, int64_t part)
{
    const job *work = context;
    uint8_t *own = work->line + part * (int64_t)align((size_t)(work->shape.count * work->inner_bytes));
    int64_t end = work->shape.lines * (part + 1) / work->parts;
    for (int64_t line = work->shape.lines * part / work->parts; line < end; line++) {
        normalize_line(work, line, own);
    }
    if (work->streams) {
        work->rows->fence();
    }
}

/* Operands by their place in the contract of each kind. */
static void read_operands(job *work)
{
    static const struct {
        int other, scale, bias, y, sum, mean, inverse;
    } places[] = {
        [OPD_NORM_LAYER] = { -1, 1, 2, 3, -1, 4, 5 },   [OPD_NORM_RMS] = { -1, 1, -1, 2, -1, -1, -1 },
        [OPD_NORM_GROUP] = { -1, 1, 2, 3, -1, -1, -1 }, [OPD_NORM_INSTANCE] = { -1, 1, 2, 3, -1, -1, -1 },
        [OPD_NORM_BIAS] = { 1, 2, 3, 4, -1, -1, -1 },   [OPD_NORM_ADD] = { 1, 2, 3, 4, 5, -1, -1 },
    };
    const opd_call *call = work->call;
#define PLACE(name) (places[work->kind].name >= 0 ? there(call, places[work->kind].name) : NULL)
    const opd_operand *other = PLACE(other);
    work->other = other != NULL ? other->view.data : NULL;
    work->other_step = work->kind == OPD_NORM_ADD ? work->shape.count : 0;
    work->scale = PLACE(scale);
    work->bias = PLACE(bias);
    work->y = PLACE(y);
    work->sum = PLACE(sum);
    work->mean = PLACE(mean);
    work->inverse = PLACE(inverse);
#undef PLACE
}

opd_status opd_norm_lines(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows,
                          opd_norm_kind kind, bool is_chain)
{
    job work = { .call = call, .kind = kind, .is_chain = is_chain, .shape = shape_of(call, kind) };
    read_operands(&work);
    work.rows = rows(call->operands[0].view.dtype);
    work.inner = rows(work.rows->inner);
    work.epsilon = opd_call_real(call, "epsilon", 1e-5);
    work.x = call->operands[0].view.data;
    work.bytes = (int64_t)opd_dtype_size(work.rows->dtype);
    work.inner_bytes = (int64_t)opd_dtype_size(work.rows->inner);
    work.first_stage = is_fused(kind) ? 1 : 0;
    work.stages = stages_of(call, kind, &work.shape);
    work.parts = opd_rows_parts(workspace->threads);
    work.streams = opd_rows_stream(&work.y->view, work.shape.channels > 0 ? work.shape.spatial : work.shape.count);
    size_t stage_bytes = align(opd_stages_bytes(&work.stages));
    opd_stages_begin(&work.stages, stage_bytes > 0 ? workspace->bytes : NULL);
    work.line = (uint8_t *)workspace->bytes + stage_bytes;
    if (is_chain) {
        work.whole = work.line;
        work.line += align((size_t)(work.shape.lines * work.shape.count * work.inner_bytes));
        work.is_summing = true;
        opd_parallel(workspace->threads, work.parts, sum_part, &work);
        work.is_summing = false;
    }
    opd_parallel(workspace->threads, work.parts, normalize_part, &work);
    opd_stages_emit(&work.stages);
    return OPD_OK;
}
