/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul and Gemm: a CBLAS found at run time, and the product of this folder for each instruction set. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "blas_provider.h"
#include "linear_variants.h"

static bool is_contiguous(const opd_tensor *view)
{
    int64_t step = 1;
    for (int32_t i = view->rank - 1; i >= 0; i--) {
        if (view->stride[i] != step && view->shape[i] > 1) {
            return false;
        }
        step *= view->shape[i];
    }
    return true;
}

const char *opd_declines_strides(const opd_call *call)
{
    for (int i = 0; call != NULL && i < call->operand_count; i++) {
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) == 0 && !is_contiguous(&call->operands[i].view)) {
            return "an operand is not contiguous";
        }
    }
    return NULL;
}

const char *opd_declines_integers(const opd_call *call)
{
    if (call != NULL && !opd_dtype_is_float(call->dtype)) {
        return "the elements are integers";
    }
    return opd_declines_strides(call);
}

size_t opd_gemm_workspace_of(const opd_call *call, int32_t threads)
{
    (void)call;
    return opd_gemm_workspace(threads);
}

opd_gemm_run *opd_gemm_best(void)
{
    if (opd_isa_missing(OPD_ISA_AVX512) == NULL) {
        return opd_gemm_run_avx512;
    }
    return opd_isa_missing(OPD_ISA_AVX2) == NULL ? opd_gemm_run_avx2 : opd_gemm_run_portable;
}

/* -------------------------------------------------------------------------------------------------- MatMul */

/* A batch of A by one B is one product with more rows. */
static void merge_batch(opd_product_shape *shape)
{
    for (int32_t i = 0; i < shape->batch_rank; i++) {
        if (shape->b_stride[i] != 0 || (shape->a_stride[i] == 0 && shape->batch_dim[i] != 1)) {
            return;
        }
    }
    shape->m *= shape->batch;
    shape->batch = 1;
    shape->batch_rank = 0;
}

static opd_product_shape shape_of(const opd_call *call)
{
    const opd_tensor *a = &call->operands[0].view;
    const opd_tensor *b = &call->operands[1].view;
    opd_product_shape shape = opd_matmul_shape(a->rank, a->shape, b->rank, b->shape);
    merge_batch(&shape);
    return shape;
}

typedef struct batch {
    opd_product_shape shape;
    const opd_call *call;
} batch;

static void place(opd_gemm *gemm, const void *context, int64_t index)
{
    const batch *of = context;
    int64_t a = 0;
    int64_t b = 0;
    opd_product_offsets(&a, &b, &of->shape, index);
    gemm->a.data = opd_at(gemm->a.data, gemm->a.dtype, a);
    gemm->b.data = opd_at(gemm->b.data, gemm->b.dtype, b);
    gemm->y = (char *)gemm->y + index * gemm->m * gemm->n * (int64_t)opd_dtype_size(gemm->y_dtype);
}

static opd_status run_matmul(const opd_call *call, const opd_workspace *workspace, opd_gemm_run *run)
{
    batch of = { .shape = shape_of(call), .call = call };
    opd_gemm_job job = {
        .batches = of.shape.batch,
        .place = place,
        .context = &of,
        .gemm = { .m = of.shape.m,
                  .n = of.shape.n,
                  .k = of.shape.k,
                  .alpha = 1,
                  .a = { opd_data(call, 0), call->dtype, of.shape.k, 1 },
                  .b = { opd_data(call, 1), call->dtype, of.shape.n, 1 },
                  .y = opd_data(call, 2),
                  .y_dtype = call->dtype,
                  .y_row = of.shape.n },
    };
    run(&job, workspace);
    return OPD_OK;
}

/* ---------------------------------------------------------------------------------------------------- Gemm */

opd_gemm opd_gemm_of_call(const opd_call *call)
{
    const opd_tensor *a = &call->operands[0].view;
    const opd_tensor *b = &call->operands[1].view;
    const opd_tensor *c = opd_given(call, 2);
    bool is_a_transposed = opd_call_int(call, "transA", 0) != 0;
    bool is_b_transposed = opd_call_int(call, "transB", 0) != 0;
    opd_gemm gemm = {
        .m = a->shape[is_a_transposed ? 1 : 0],
        .k = a->shape[is_a_transposed ? 0 : 1],
        .n = b->shape[is_b_transposed ? 0 : 1],
        .alpha = opd_call_real(call, "alpha", 1),
        .beta = opd_call_real(call, "beta", 1),
        .a = { a->data, call->dtype, is_a_transposed ? 1 : a->shape[1], is_a_transposed ? a->shape[1] : 1 },
        .b = { b->data, call->dtype, is_b_transposed ? 1 : b->shape[1], is_b_transposed ? b->shape[1] : 1 },
        .y = opd_data(call, 3),
        .y_dtype = call->dtype
    };
    gemm.y_row = gemm.n;
    if (c != NULL && gemm.beta != 0) {
        gemm.c = (opd_matrix){ .data = c->data, .dtype = call->dtype };
        opd_bias_strides(&gemm.c.row, &gemm.c.column, c->rank, c->shape);
    }
    return gemm;
}

static opd_status run_gemm(const opd_call *call, const opd_workspace *workspace, opd_gemm_run *run)
{
    opd_gemm_job job = { .gemm = opd_gemm_of_call(call), .batches = 1 };
    run(&job, workspace);
    return OPD_OK;
}

/* -------------------------------------------------------------------------------------------------- a CBLAS */

static const char *declines_product(const opd_call *call)
{
    if (call != NULL && call->dtype != OPD_F32 && call->dtype != OPD_F64) {
        return "BLAS has only f32 and f64 products";
    }
    const char *reason = opd_declines_strides(call);
    for (int i = 0; reason == NULL && call != NULL && i < call->operand_count; i++) {
        if (opd_tensor_count(&call->operands[i].view) > INT_MAX) {
            return "an operand has more elements than the library's integers count";
        }
    }
    return reason;
}

static const char *declines_blas(const opd_call *call)
{
    const char *reason = declines_product(call);
    return reason == NULL && opd_blas_find() == NULL ? "no CBLAS can be loaded (libopenblas.so.0, libblas.so.3)"
                                                     : reason;
}

static const char *declines_other(const opd_call *call)
{
    const char *reason = declines_product(call);
    if (reason != NULL || opd_blas_other() != NULL) {
        return reason;
    }
    static _Thread_local char text[600];
    snprintf(text, sizeof text, "%s exports no cblas_sgemm and cblas_dgemm", opd_engine_file());
    return opd_engine_file()[0] != '\0' ? text : "no other CBLAS can be loaded (libblas.so.3, libcblas.so.3)";
}

static const char *declines_zero_alpha(const opd_call *call)
{
    bool is_zero = call != NULL && opd_call_real(call, "alpha", 1) == 0;
    return is_zero ? "alpha = 0: BLAS does not read A and B, ONNX multiplies them (a NaN stays)" : NULL;
}

static const char *declines_blas_gemm(const opd_call *call)
{
    const char *reason = declines_zero_alpha(call);
    return reason != NULL ? reason : declines_blas(call);
}

static const char *declines_other_gemm(const opd_call *call)
{
    const char *reason = declines_zero_alpha(call);
    return reason != NULL ? reason : declines_other(call);
}

/* y = alpha a b + beta y. Each factor has one stride of 1. */
static void multiply(const opd_blas *blas, const opd_gemm *gemm)
{
    bool is_a_transposed = gemm->a.column != 1;
    bool is_b_transposed = gemm->b.column != 1;
    int trans_a = is_a_transposed ? OPD_CBLAS_TRANS : OPD_CBLAS_NO_TRANS;
    int trans_b = is_b_transposed ? OPD_CBLAS_TRANS : OPD_CBLAS_NO_TRANS;
    int64_t a_row = is_a_transposed ? gemm->a.column : gemm->a.row;
    int64_t b_row = is_b_transposed ? gemm->b.column : gemm->b.row;
    int lda = (int)(a_row > 0 ? a_row : 1);
    int ldb = (int)(b_row > 0 ? b_row : 1);
    int m = (int)gemm->m;
    int n = (int)gemm->n;
    int k = (int)gemm->k;
    double beta = gemm->c.data != NULL ? gemm->beta : 0;
    if (gemm->y_dtype == OPD_F32) {
        blas->sgemm(OPD_CBLAS_ROW_MAJOR, trans_a, trans_b, m, n, k, (float)gemm->alpha, gemm->a.data, lda, gemm->b.data,
                    ldb, (float)beta, gemm->y, n);
    } else {
        blas->dgemm(OPD_CBLAS_ROW_MAJOR, trans_a, trans_b, m, n, k, gemm->alpha, gemm->a.data, lda, gemm->b.data, ldb,
                    beta, gemm->y, n);
    }
}

/* c, broadcast, into y: what beta applies to. */
static void copy_bias(const opd_gemm *gemm)
{
    size_t size = opd_dtype_size(gemm->y_dtype);
    for (int64_t i = 0; i < gemm->m; i++) {
        for (int64_t j = 0; j < gemm->n; j++) {
            memcpy((char *)gemm->y + (size_t)(i * gemm->n + j) * size,
                   opd_at(gemm->c.data, gemm->c.dtype, i * gemm->c.row + j * gemm->c.column), size);
        }
    }
}

static void run_with(const opd_blas *blas, const opd_gemm_job *job)
{
    size_t bytes = (size_t)(job->gemm.m * job->gemm.n) * opd_dtype_size(job->gemm.y_dtype);
    for (int64_t i = 0; i < job->batches && bytes > 0; i++) {
        opd_gemm gemm = job->gemm;
        if (job->place != NULL) {
            job->place(&gemm, job->context, i);
        }
        if (gemm.c.data != NULL) {
            copy_bias(&gemm);
        }
        if (gemm.k == 0 && gemm.c.data == NULL) {
            memset(gemm.y, 0, bytes);
        } else {
            multiply(blas, &gemm);
        }
    }
}

static void run_blas(const opd_gemm_job *job, const opd_workspace *workspace)
{
    opd_blas_set_threads(workspace->threads);
    run_with(opd_blas_find(), job);
}

static void run_other(const opd_gemm_job *job, const opd_workspace *workspace)
{
    (void)workspace;
    run_with(opd_blas_other(), job);
}

/* -------------------------------------------------------------------------------------------------- tables */

static void run_portable(const opd_gemm_job *job, const opd_workspace *workspace)
{
    (opd_dtype_is_float(job->gemm.y_dtype) ? opd_gemm_run_portable : opd_gemm_run_integer)(job, workspace);
}

#define DEFINE_RUNS(op)                                                                   \
    static opd_status op##_other(const opd_call *call, const opd_workspace *workspace)    \
    {                                                                                     \
        return run_##op(call, workspace, run_other);                                      \
    }                                                                                     \
    static opd_status op##_blas(const opd_call *call, const opd_workspace *workspace)     \
    {                                                                                     \
        return run_##op(call, workspace, run_blas);                                       \
    }                                                                                     \
    static opd_status op##_avx512(const opd_call *call, const opd_workspace *workspace)   \
    {                                                                                     \
        return run_##op(call, workspace, opd_gemm_run_avx512);                            \
    }                                                                                     \
    static opd_status op##_avx2(const opd_call *call, const opd_workspace *workspace)     \
    {                                                                                     \
        return run_##op(call, workspace, opd_gemm_run_avx2);                              \
    }                                                                                     \
    static opd_status op##_portable(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                     \
        return run_##op(call, workspace, run_portable);                                   \
    }
DEFINE_RUNS(matmul)
DEFINE_RUNS(gemm)

#define OWN(op, set, words, columns)                                                                         \
    {                                                                                                        \
        .name = #set, .isa = (words), .declines = opd_declines_integers, .workspace = opd_gemm_workspace_of, \
        .run = op##_##set, .determinism = OPD_DETERMINISM_BATCH,                                             \
        .widths = "rows=6 columns=" columns " tile=144 depth=256"                                            \
    }
#define OTHER(op, declines_library, label)                                                                 \
    {                                                                                                      \
        .name = (label), .isa = "", .declines = (declines_library), .run = op##_other, .is_library = true, \
        .determinism = OPD_DETERMINISM_RUN, .allocates = true                                              \
    }
#define VARIANTS(op, declines_library, declines_named)                            \
    { .name = "openblas",                                                         \
      .isa = "",                                                                  \
      .declines = (declines_library),                                             \
      .run = op##_blas,                                                           \
      .determinism = OPD_DETERMINISM_RUN,                                         \
      .allocates = true,                                                          \
      .widths = "rows=16 columns=4" },                                            \
        OWN(op, avx512, OPD_ISA_AVX512, "32"), OWN(op, avx2, OPD_ISA_AVX2, "16"), \
        { .name = "portable",                                                     \
          .isa = "",                                                              \
          .declines = opd_declines_strides,                                       \
          .workspace = opd_gemm_workspace_of,                                     \
          .run = op##_portable,                                                   \
          .determinism = OPD_DETERMINISM_BATCH,                                   \
          .overflow = OPD_OVERFLOW_WRAP,                                          \
          .widths = "rows=6 columns=8 tile=144 depth=256" },                      \
        OTHER(op, declines_named, "netlib"), OTHER(op, declines_named, "blis")

const opd_variant opd_matmul_variants[] = { VARIANTS(matmul, declines_blas, declines_other) };
const opd_variant opd_gemm_variants[] = { VARIANTS(gemm, declines_blas_gemm, declines_other_gemm) };
