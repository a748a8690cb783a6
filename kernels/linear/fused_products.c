/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMulBiasGelu and QkvProjection: bias and Gelu while a tile of the product is at hand, and as chains of one pass over memory each;
 * Q, K and V from one wide product, and from three.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "gelu_rows.h"
#include "linear_variants.h"
#include "narrow.h"

/* X W[:, first ...] + B[first ...] into y. */
static opd_gemm_job job_of(const opd_call *call, int output, int64_t first)
{
    const opd_tensor *x = &call->operands[0].view;
    const opd_tensor *weight = &call->operands[1].view;
    const opd_tensor *bias = opd_given(call, 2);
    const opd_tensor *y = &call->operands[output].view;
    opd_gemm_job job = { .batches = 1,
                         .gemm = { .m = 1,
                                   .n = y->shape[y->rank - 1],
                                   .k = weight->shape[0],
                                   .a = { x->data, call->dtype, weight->shape[0], 1 },
                                   .b = { opd_at(weight->data, call->dtype, first), call->dtype, weight->shape[1], 1 },
                                   .alpha = 1,
                                   .beta = 1,
                                   .y = y->data,
                                   .y_dtype = call->dtype,
                                   .y_row = y->shape[y->rank - 1] } };
    for (int32_t i = 0; i + 1 < y->rank; i++) {
        job.gemm.m *= y->shape[i];
    }
    if (bias != NULL) {
        job.gemm.c = (opd_matrix){ .data = opd_at(bias->data, call->dtype, first), .dtype = call->dtype, .column = 1 };
    }
    return job;
}

/* ------------------------------------------------------------------------------------------- stages, while traced */

/* Accumulator numbers of the whole product before and after the bias, put together from tiles. */
typedef struct stages {
    void *value[2];
    int64_t columns;
    size_t size; /* of a number */
} stages;

static opd_dtype number_of(const opd_call *call)
{
    return call->dtype == OPD_F64 ? OPD_F64 : OPD_F32;
}

static size_t stage_bytes(const opd_call *call)
{
    int64_t count = 0;
    for (int i = 3; i < call->operand_count; i++) {
        count += opd_tensor_count(&call->operands[i].view);
    }
    return (size_t)count * opd_dtype_size(number_of(call));
}

static size_t fused_workspace(const opd_call *call, int32_t threads)
{
    return opd_gemm_workspace(threads) + (opd_trace_enabled ? 2 * stage_bytes(call) : 0);
}

static void watch(const void *context, bool is_added, int64_t row, int64_t first, const void *numbers, int64_t count)
{
    const stages *to = context;
    memcpy((char *)to->value[is_added ? 1 : 0] + (size_t)(row * to->columns + first) * to->size, numbers,
           (size_t)count * to->size);
}

/* Runs the product; what it is before and after the bias goes into `to`, in the workspace. */
static void run_watched(opd_gemm_job *job, stages *to, const opd_call *call, const opd_workspace *workspace,
                        opd_gemm_run *run)
{
    *to = (stages){ .columns = job->gemm.n, .size = opd_dtype_size(number_of(call)) };
    if (opd_trace_enabled) {
        to->value[0] = (char *)workspace->bytes + opd_gemm_workspace(workspace->threads);
        to->value[1] = (char *)to->value[0] + stage_bytes(call);
        job->gemm.watch = watch;
        job->gemm.watch_context = to;
    }
    run(job, workspace);
}

/* An output's columns of a stage, from `first`. */
static void show_stage(const stages *from, const char *name, int index, const opd_call *call, int output, int64_t first)
{
    opd_tensor view = call->operands[output].view;
    if (from->value[index] == NULL) {
        return;
    }
    view.data = (char *)from->value[index] + (size_t)first * from->size;
    view.dtype = number_of(call);
    view.storage = NULL;
    view.storage_bytes = 0;
    int64_t step = from->columns; /* of a row */
    for (int d = view.rank - 2; d >= 0; d--) {
        view.stride[d] = step;
        step *= view.shape[d];
    }
    if (view.rank > 0) {
        view.stride[view.rank - 1] = 1;
    }
    opd_tracepoint(name, &view);
}

/* ------------------------------------------------------------------------------------------- MatMulBiasGelu */

typedef opd_gemm_finish *gelu_of(bool is_tanh, bool is_double);

static opd_gemm_finish *gelu_of_call(const opd_call *call, gelu_of *of)
{
    bool is_tanh = strcmp(opd_call_text(call, "approximate", "none"), "tanh") == 0;
    return of(is_tanh, call->dtype == OPD_F64);
}

static opd_status run_gelu(const opd_call *call, const opd_workspace *workspace, opd_gemm_run *run, gelu_of *of)
{
    opd_gemm_job job = job_of(call, 3, 0);
    stages seen;
    job.gemm.finish = gelu_of_call(call, of);
    run_watched(&job, &seen, call, workspace, run);
    show_stage(&seen, "product", 0, call, 3, 0);
    show_stage(&seen, "biased", 1, call, 3, 0);
    return OPD_OK;
}

/* One pass over the rows of y = finish(y + bias), y being accumulator numbers; the last one narrows them into `narrow`. */
typedef struct pass {
    const opd_gemm *gemm;
    const opd_matrix *bias;
    opd_gemm_finish *finish;
    uint16_t *narrow;
    opd_dtype narrow_dtype;
} pass;

static void add_bias(void *row, const opd_matrix *bias, int64_t count)
{
    float *narrow = row;
    double *wide = row;
    const float *of_f32 = bias->data;
    const double *of_f64 = bias->data;
    const uint16_t *half = bias->data;
    for (int64_t i = 0; i < count && bias->dtype == OPD_F32; i++) {
        narrow[i] += of_f32[i];
    }
    for (int64_t i = 0; i < count && bias->dtype == OPD_F64; i++) {
        wide[i] += of_f64[i];
    }
    for (int64_t i = 0; i < count && bias->dtype == OPD_F16; i++) {
        narrow[i] += opd_from_f16(half[i]);
    }
    for (int64_t i = 0; i < count && bias->dtype == OPD_BF16; i++) {
        narrow[i] += opd_from_bf16(half[i]);
    }
}

static void do_pass(void *context, int64_t row)
{
    const pass *of = context;
    int64_t n = of->gemm->n;
    void *numbers = (char *)of->gemm->y + row * n * (int64_t)opd_dtype_size(of->gemm->y_dtype);
    if (of->bias != NULL) {
        add_bias(numbers, of->bias, n);
    }
    if (of->finish != NULL) {
        of->finish(numbers, n);
    }
    const float *from = numbers;
    for (int64_t i = 0; i < n && of->narrow != NULL; i++) {
        of->narrow[row * n + i] = of->narrow_dtype == OPD_F16 ? opd_to_f16(from[i]) : opd_to_bf16(from[i]);
    }
}

static bool is_narrow(opd_dtype dtype)
{
    return opd_dtype_size(dtype) == sizeof(uint16_t);
}

/* Of f16 and bf16, what lies between the operators of the chain stays in f32, in the workspace. */
static size_t chain_workspace(const opd_call *call, int32_t threads)
{
    size_t between = is_narrow(call->dtype) ? (size_t)opd_tensor_count(&call->operands[3].view) * sizeof(float) : 0;
    return opd_gemm_workspace(threads) + between;
}

static void show(const opd_gemm *gemm, const char *stage, const opd_tensor *y)
{
    opd_tensor view = *y;
    view.data = gemm->y;
    view.dtype = gemm->y_dtype;
    opd_tracepoint(stage, &view);
}

static opd_status gelu_unfused(const opd_call *call, const opd_workspace *workspace)
{
    opd_gemm_job job = job_of(call, 3, 0);
    opd_matrix bias = job.gemm.c;
    job.gemm.c.data = NULL;
    bool is_here = opd_isa_missing(OPD_ISA_AVX2) == NULL;
    pass add = { .gemm = &job.gemm, .bias = &bias };
    pass last = { .gemm = &job.gemm, .finish = gelu_of_call(call, is_here ? opd_gelu_of_avx2 : opd_gelu_of_portable) };
    if (is_narrow(call->dtype)) {
        last.narrow = job.gemm.y;
        last.narrow_dtype = call->dtype;
        job.gemm.y = (char *)workspace->bytes + opd_gemm_workspace(workspace->threads);
        job.gemm.y_dtype = OPD_F32;
    }
    opd_gemm_best()(&job, workspace);
    show(&job.gemm, "product", &call->operands[3].view);
    if (bias.data != NULL) {
        opd_parallel(workspace->threads, job.gemm.m, do_pass, &add);
    }
    show(&job.gemm, "biased", &call->operands[3].view);
    opd_parallel(workspace->threads, job.gemm.m, do_pass, &last);
    return OPD_OK;
}

/* -------------------------------------------------------------------------------------------- QkvProjection */

static opd_status run_qkv(const opd_call *call, const opd_workspace *workspace, opd_gemm_run *run)
{
    opd_gemm_slice slices[3];
    stages seen;
    int64_t columns = 0;
    for (int i = 0; i < 3; i++) {
        const opd_tensor *y = &call->operands[3 + i].view;
        slices[i] = (opd_gemm_slice){ .first = columns, .count = y->shape[y->rank - 1], .y = y->data };
        columns += slices[i].count;
    }
    opd_gemm_job job = job_of(call, 3, 0);
    job.gemm.n = columns;
    job.gemm.slices = slices;
    job.gemm.slice_count = 3;
    run_watched(&job, &seen, call, workspace, run);
    for (int i = 0; i < 3; i++) {
        show_stage(&seen, "product", 0, call, 3 + i, slices[i].first);
    }
    return OPD_OK;
}

static opd_status qkv_unfused(const opd_call *call, const opd_workspace *workspace)
{
    int64_t first = 0;
    for (int i = 3; i < 6; i++) {
        opd_gemm_job job = job_of(call, i, first);
        opd_matrix bias = job.gemm.c;
        bool is_traced = opd_trace_enabled && !is_narrow(call->dtype); /* those are rounded once, after the bias */
        pass add = { .gemm = &job.gemm, .bias = &bias };
        job.gemm.c.data = is_traced ? NULL : bias.data;
        opd_gemm_best()(&job, workspace);
        if (is_traced) {
            show(&job.gemm, "product", &call->operands[i].view);
        }
        if (is_traced && bias.data != NULL) {
            opd_parallel(workspace->threads, job.gemm.m, do_pass, &add);
        }
        first += job.gemm.n;
    }
    return OPD_OK;
}

/* --------------------------------------------------------------------------------------------------- tables */

#define DEFINE_RUNS(set)                                                               \
    static opd_status gelu_##set(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                  \
        return run_gelu(call, workspace, opd_gemm_run_##set, opd_gelu_of_##set);       \
    }                                                                                  \
    static opd_status qkv_##set(const opd_call *call, const opd_workspace *workspace)  \
    {                                                                                  \
        return run_qkv(call, workspace, opd_gemm_run_##set);                           \
    }
DEFINE_RUNS(avx512)
DEFINE_RUNS(avx2)
DEFINE_RUNS(portable)

#define ROW(label, words, function, columns) CHAIN(label, words, fused_workspace, function, columns)
#define CHAIN(label, words, space, function, columns)                                                               \
    {                                                                                                               \
        .name = (label), .isa = (words), .declines = opd_declines_strides, .workspace = (space), .run = (function), \
        .determinism = OPD_DETERMINISM_BATCH, .widths = "rows=6 columns=" columns " tile=144 depth=256"             \
    }

const opd_variant opd_matmul_bias_gelu_variants[] = {
    ROW("avx512", OPD_ISA_AVX512, gelu_avx512, "32"),
    ROW("avx2", OPD_ISA_AVX2, gelu_avx2, "16"),
    ROW("portable", "", gelu_portable, "8"),
    CHAIN("unfused", "", chain_workspace, gelu_unfused, "16"),
};

const opd_variant opd_qkv_variants[] = {
    ROW("avx512", OPD_ISA_AVX512, qkv_avx512, "32"),
    ROW("avx2", OPD_ISA_AVX2, qkv_avx2, "16"),
    ROW("portable", "", qkv_portable, "8"),
    CHAIN("unfused", "", opd_gemm_workspace_of, qkv_unfused, "16"),
};
