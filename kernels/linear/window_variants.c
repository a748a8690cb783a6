/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv as a product whose second factor is made from the image while it is packed (im2col by blocks, never whole), and directly; pooling
 * by rows.
 */
#include "window_variants.h"

#include "narrow.h"

int64_t opd_window_row(const opd_window *window, int64_t to, int64_t at)
{
    int64_t flat = 0;
    int64_t step = window->input[window->rank - 1];
    for (int i = window->rank - 2; i >= 0; i--) {
        int64_t x = opd_window_input(window, i, to % window->output[i], at % window->kernel[i]);
        if (x < 0 || x >= window->input[i]) {
            return -1;
        }
        flat += x * step;
        step *= window->input[i];
        to /= window->output[i];
        at /= window->kernel[i];
    }
    return flat;
}

static opd_status make_job(opd_window_job *job, const opd_call *call, opd_window_kind kind)
{
    bool is_conv = kind == OPD_WINDOW_CONV;
    *job = (opd_window_job){ .kind = kind, .dtype = call->dtype, .x = opd_data(call, 0) };
    const opd_tensor *x = &call->operands[0].view;
    opd_status status = OPD_OK;
    if (kind == OPD_WINDOW_PLANE_MEAN) {
        job->window.input_count = 1;
        for (int32_t i = 2; i < x->rank; i++) {
            job->window.input_count *= x->shape[i];
        }
    } else {
        status = opd_window_of(&job->window, call);
    }
    const opd_tensor *y = &call->operands[is_conv ? 3 : 1].view;
    job->y = y->data;
    job->planes = y->shape[0] * y->shape[1];
    job->counts_pad = opd_call_int(call, "count_include_pad", 0) != 0;
    if (is_conv) {
        job->weight = opd_data(call, 1);
        job->bias = opd_given(call, 2) != NULL ? opd_data(call, 2) : NULL;
        job->filters = y->shape[1];
        job->x_planes = x->shape[1];
        job->channels = call->operands[1].view.shape[1];
        job->per_group = job->filters / opd_call_int(call, "group", 1);
    }
    return status;
}

static opd_status run_window(const opd_call *call, const opd_workspace *workspace, opd_window_kind kind,
                             opd_window_run *run)
{
    opd_window_job job;
    opd_status status = make_job(&job, call, kind);
    if (status == OPD_OK) {
        run(&job, workspace);
    }
    return status;
}

static size_t window_workspace(const opd_call *call, int32_t threads)
{
    opd_window window = { .rank = 0 };
    if (strcmp(call->name, "GlobalAveragePool") != 0 && opd_window_of(&window, call) != OPD_OK) {
        window.rank = 0; /* the run will say what is wrong */
    }
    return (size_t)threads * opd_window_scratch(&window);
}

/* -------------------------------------------------------------------------------------------------- im2col */

/* count elements of a row of the image from `start`, step apart, of which [low, high) lie in it. */
typedef struct segment {
    int64_t start, step, low, high, count;
} segment;

/* Zeros elsewhere. */
static void copy_segment(void *to, opd_dtype dtype, const void *image, segment part)
{
    float *narrow = to;
    double *wide = to;
    const float *whole = image;
    const double *as_double = image;
    const uint16_t *half = image;
    memset(to, 0, (size_t)part.count * (dtype == OPD_F64 ? sizeof *wide : sizeof *narrow));
    for (int64_t i = part.low; i < part.high && dtype == OPD_F32; i++) {
        narrow[i] = whole[part.start + i * part.step];
    }
    for (int64_t i = part.low; i < part.high && dtype == OPD_F64; i++) {
        wide[i] = as_double[part.start + i * part.step];
    }
    for (int64_t i = part.low; i < part.high && dtype == OPD_F16; i++) {
        narrow[i] = opd_from_f16(half[part.start + i * part.step]);
    }
    for (int64_t i = part.low; i < part.high && dtype == OPD_BF16; i++) {
        narrow[i] = opd_from_bf16(half[part.start + i * part.step]);
    }
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Row k = (channel, kernel position) of the matrix of windows, columns are output positions. */
static void fill_row(void *row, const opd_gemm *gemm, int64_t k, int64_t first, int64_t count)
{
    const opd_window_job *job = gemm->fill_context;
    const opd_window *window = &job->window;
    int last = window->rank - 1;
    int64_t width = window->output[last];
    int64_t position = k % window->kernel_count;
    int64_t plane = k / window->kernel_count * window->input_count;
    size_t size = job->dtype == OPD_F64 ? sizeof(double) : sizeof(float);
    int64_t low = 0;
    int64_t high = 0;
    opd_window_reach(&low, &high, window, position % window->kernel[last]);
    for (int64_t done = 0; done < count;) {
        int64_t column = (first + done) % width;
        int64_t length = width - column < count - done ? width - column : count - done;
        int64_t at = opd_window_row(window, (first + done) / width, position / window->kernel[last]);
        segment part = { .step = window->stride[last], .low = clamp(low - column, 0, length), .count = length };
        part.start = plane + at + opd_window_input(window, last, column, position % window->kernel[last]);
        part.high = at >= 0 ? clamp(high - column, part.low, length) : part.low;
        copy_segment((char *)row + (size_t)done * size, job->dtype, gemm->b.data, part);
        done += length;
    }
}

/* Product `index` = (image, group). */
static void place_group(opd_gemm *gemm, const void *context, int64_t index)
{
    const opd_window_job *job = context;
    int64_t groups = job->filters / job->per_group;
    int64_t group = index % groups;
    int64_t filter = group * job->per_group;
    gemm->a.data = opd_at(job->weight, job->dtype, filter * gemm->k);
    gemm->b.data =
        opd_at(job->x, job->dtype, (index / groups * job->x_planes + group * job->channels) * job->window.input_count);
    gemm->c.data = job->bias != NULL ? opd_at(job->bias, job->dtype, filter) : NULL;
    int64_t to = (index / groups * job->filters + filter) * job->window.output_count;
    gemm->y = (char *)job->y + to * (int64_t)opd_dtype_size(job->dtype);
}

/* A weight of Inf or NaN times the zeros that stand for padding would be NaN, where there is no term. */
static bool has_padded_infinity(const opd_call *call, const opd_window *window)
{
    bool has_padding = false;
    for (int32_t i = 0; i < window->rank; i++) {
        has_padding = has_padding || window->pad[i] > 0 || window->pad_end[i] > 0;
    }
    opd_health health = { .nan = 0 };
    if (has_padding) {
        opd_tensor_nonfinite(&health, &call->operands[1].view);
    }
    return health.nan + health.pos_inf + health.neg_inf > 0;
}

static opd_status run_im2col(const opd_call *call, const opd_workspace *workspace, opd_gemm_run *run,
                             opd_window_run *run_direct)
{
    opd_window_job job;
    opd_status status = make_job(&job, call, OPD_WINDOW_CONV);
    if (status != OPD_OK) {
        return status;
    }
    if (has_padded_infinity(call, &job.window)) {
        run_direct(&job, workspace);
        return OPD_OK;
    }
    if (job.filters == 0) {
        return OPD_OK;
    }
    opd_gemm_job product = {
        .batches = call->operands[0].view.shape[0] * (job.filters / job.per_group),
        .place = place_group,
        .context = &job,
        .gemm = { .m = job.per_group,
                  .n = job.window.output_count,
                  .k = job.channels * job.window.kernel_count,
                  .a = { .data = job.weight, .dtype = job.dtype, .column = 1 },
                  .b = { .dtype = job.dtype },
                  .c = { .dtype = job.dtype, .row = 1, .column = 0 },
                  .alpha = 1,
                  .beta = 1,
                  .y_dtype = job.dtype,
                  .y_row = job.window.output_count,
                  .fill = fill_row,
                  .fill_context = &job },
    };
    product.gemm.a.row = product.gemm.k;
    run(&product, workspace);
    return OPD_OK;
}

static size_t im2col_workspace(const opd_call *call, int32_t threads)
{
    size_t product = opd_gemm_workspace(threads);
    size_t direct = window_workspace(call, threads);
    return product > direct ? product : direct;
}

static const char *declines_groups(const opd_call *call)
{
    if (call != NULL && call->operands[1].view.shape[1] != 1) {
        return "more than one input channel per group";
    }
    return opd_declines_strides(call);
}

static const char *declines_indices(const opd_call *call)
{
    return call != NULL && opd_given(call, 2) != NULL ? "Indices are wanted" : opd_declines_integers(call);
}

/* -------------------------------------------------------------------------------------------------- tables */

#define DEFINE_RUNS(set)                                                                     \
    static opd_status im2col_##set(const opd_call *call, const opd_workspace *workspace)     \
    {                                                                                        \
        return run_im2col(call, workspace, opd_gemm_run_##set, opd_window_run_##set);        \
    }                                                                                        \
    static opd_status direct_##set(const opd_call *call, const opd_workspace *workspace)     \
    {                                                                                        \
        return run_window(call, workspace, OPD_WINDOW_CONV, opd_window_run_##set);           \
    }                                                                                        \
    static opd_status mean_##set(const opd_call *call, const opd_workspace *workspace)       \
    {                                                                                        \
        return run_window(call, workspace, OPD_WINDOW_MEAN, opd_window_run_##set);           \
    }                                                                                        \
    static opd_status plane_mean_##set(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                        \
        return run_window(call, workspace, OPD_WINDOW_PLANE_MEAN, opd_window_run_##set);     \
    }
DEFINE_RUNS(avx512)
DEFINE_RUNS(avx2)
DEFINE_RUNS(portable)

static opd_status max_avx512(const opd_call *call, const opd_workspace *workspace)
{
    return run_window(call, workspace, OPD_WINDOW_MAX, opd_window_run_avx512);
}

static opd_status max_avx2(const opd_call *call, const opd_workspace *workspace)
{
    return run_window(call, workspace, OPD_WINDOW_MAX, opd_window_run_avx2);
}

#define ROW(label, words, reason, space, function, shape)                                               \
    {                                                                                                   \
        .name = (label), .isa = (words), .declines = (reason), .workspace = (space), .run = (function), \
        .determinism = OPD_DETERMINISM_BATCH, .widths = (shape)                                         \
    }
#define SLIDING(label, words, reason, function, vector) \
    ROW(label, words, reason, window_workspace, function, "vector=" vector " rows=16")
#define IM2COL(label, words, function, columns) \
    ROW(label, words, opd_declines_strides, im2col_workspace, function, "rows=6 columns=" columns " tile=144 depth=256")

const opd_variant opd_conv_variants[] = {
    SLIDING("depthwise-avx512", OPD_ISA_AVX512, declines_groups, direct_avx512, "16"),
    SLIDING("depthwise-avx2", OPD_ISA_AVX2, declines_groups, direct_avx2, "8"),
    IM2COL("im2col-avx512", OPD_ISA_AVX512, im2col_avx512, "32"),
    IM2COL("im2col-avx2", OPD_ISA_AVX2, im2col_avx2, "16"),
    IM2COL("im2col", "", im2col_portable, "8"),
    SLIDING("direct-avx512", OPD_ISA_AVX512, opd_declines_strides, direct_avx512, "16"),
    SLIDING("direct-avx2", OPD_ISA_AVX2, opd_declines_strides, direct_avx2, "8"),
    SLIDING("direct", "", opd_declines_strides, direct_portable, "4"),
};

const opd_variant opd_average_pool_variants[] = {
    SLIDING("avx512", OPD_ISA_AVX512, opd_declines_strides, mean_avx512, "16"),
    SLIDING("avx2", OPD_ISA_AVX2, opd_declines_strides, mean_avx2, "8"),
    SLIDING("portable", "", opd_declines_strides, mean_portable, "4"),
};

const opd_variant opd_max_pool_variants[] = {
    SLIDING("avx512", OPD_ISA_AVX512, declines_indices, max_avx512, "16"),
    SLIDING("avx2", OPD_ISA_AVX2, declines_indices, max_avx2, "8"),
    ROW("portable", "", opd_declines_strides, NULL, opd_max_pool_run_portable, NULL),
};

const opd_variant opd_global_average_pool_variants[] = {
    SLIDING("avx512", OPD_ISA_AVX512, opd_declines_strides, plane_mean_avx512, "16"),
    SLIDING("avx2", OPD_ISA_AVX2, opd_declines_strides, plane_mean_avx2, "8"),
    SLIDING("portable", "", opd_declines_strides, plane_mean_portable, "4"),
};
