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
    job.gemm.finish = gelu_of_call(call, of);
    run(&job, workspace);
    return OPD_OK;
}

typedef struct pass {
    const opd_gemm *gemm;
    const opd_matrix *bias;
    opd_gemm_finish *finish;
} pass;

enum { CHUNK = 256 };

/* Accumulator numbers plus bias elements from the first-th. */
static void add_bias(void *row, const opd_matrix *bias, int64_t first, int64_t count)
{
    float *narrow = row;
    double *wide = row;
    const float *of_f32 = bias->data;
    const double *of_f64 = bias->data;
    const uint16_t *half = bias->data;
    for (int64_t i = 0; i < count && bias->dtype == OPD_F32; i++) {
        narrow[i] += of_f32[first + i];
    }
    for (int64_t i = 0; i < count && bias->dtype == OPD_F64; i++) {
        wide[i] += of_f64[first + i];
    }
    for (int64_t i = 0; i < count && bias->dtype == OPD_F16; i++) {
        narrow[i] += opd_from_f16(half[first + i]);
    }
    for (int64_t i = 0; i < count && bias->dtype == OPD_BF16; i++) {
        narrow[i] += opd_from_bf16(half[first + i]);
    }
}

static void do_numbers(const pass *of, void *row, int64_t first, int64_t count)
{
    if (of->bias != NULL) {
        add_bias(row, of->bias, first, count);
    }
    if (of->finish != NULL) {
        of->finish(row, count);
    }
}

/* One row of y = finish(y + bias): in place, narrow ones by chunks of numbers. */
static void do_pass(void *context, int64_t row)
{
    const pass *of = context;
    const opd_gemm *gemm = of->gemm;
    if (opd_dtype_size(gemm->y_dtype) > sizeof(uint16_t)) {
        char *at = (char *)gemm->y + row * gemm->y_row * (int64_t)opd_dtype_size(gemm->y_dtype);
        do_numbers(of, at, 0, gemm->n);
        return;
    }
    bool is_f16 = gemm->y_dtype == OPD_F16;
    for (int64_t first = 0; first < gemm->n; first += CHUNK) {
        float numbers[CHUNK];
        int64_t count = gemm->n - first < CHUNK ? gemm->n - first : CHUNK;
        uint16_t *y = (uint16_t *)gemm->y + row * gemm->y_row + first;
        for (int64_t i = 0; i < count; i++) {
            numbers[i] = is_f16 ? opd_from_f16(y[i]) : opd_from_bf16(y[i]);
        }
        do_numbers(of, numbers, first, count);
        for (int64_t i = 0; i < count; i++) {
            y[i] = is_f16 ? opd_to_f16(numbers[i]) : opd_to_bf16(numbers[i]);
        }
    }
}

static void show(const opd_call *call, const char *stage)
{
    opd_tracepoint(stage, &call->operands[3].view);
}

static opd_status gelu_unfused(const opd_call *call, const opd_workspace *workspace)
{
    opd_gemm_job job = job_of(call, 3, 0);
    opd_matrix bias = job.gemm.c;
    job.gemm.c.data = NULL;
    opd_gemm_best()(&job, workspace);
    show(call, "product");
    pass add = { .gemm = &job.gemm, .bias = &bias };
    if (bias.data != NULL) {
        opd_parallel(workspace->threads, job.gemm.m, do_pass, &add);
    }
    show(call, "biased");
    bool is_here = opd_isa_missing(OPD_ISA_AVX2) == NULL;
    pass last = { .gemm = &job.gemm, .finish = gelu_of_call(call, is_here ? opd_gelu_of_avx2 : opd_gelu_of_portable) };
    opd_parallel(workspace->threads, job.gemm.m, do_pass, &last);
    return OPD_OK;
}

/* -------------------------------------------------------------------------------------------- QkvProjection */

static opd_status run_qkv(const opd_call *call, const opd_workspace *workspace, opd_gemm_run *run)
{
    opd_gemm_slice slices[3];
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
    run(&job, workspace);
    return OPD_OK;
}

static opd_status qkv_unfused(const opd_call *call, const opd_workspace *workspace)
{
    int64_t first = 0;
    for (int i = 3; i < 6; i++) {
        opd_gemm_job job = job_of(call, i, first);
        opd_gemm_best()(&job, workspace);
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

#define ROW(label, words, function, columns)                                                               \
    {                                                                                                      \
        .name = label, .isa = words, .declines = opd_declines_strides, .workspace = opd_gemm_workspace_of, \
        .run = function, .determinism = OPD_DETERMINISM_BATCH,                                             \
        .widths = "rows=6 columns=" columns " tile=144 depth=256"                                          \
    }

const opd_variant opd_matmul_bias_gelu_variants[] = {
    ROW("avx512", OPD_ISA_AVX512, gelu_avx512, "32"),
    ROW("avx2", OPD_ISA_AVX2, gelu_avx2, "16"),
    ROW("portable", "", gelu_portable, "8"),
    ROW("unfused", "", gelu_unfused, "16"),
};

const opd_variant opd_qkv_variants[] = {
    ROW("avx512", OPD_ISA_AVX512, qkv_avx512, "32"),
    ROW("avx2", OPD_ISA_AVX2, qkv_avx2, "16"),
    ROW("portable", "", qkv_portable, "8"),
    ROW("unfused", "", qkv_unfused, "16"),
};
