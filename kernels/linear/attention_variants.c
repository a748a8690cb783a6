/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and FusedAttention: by online softmax, and as the chain MatMul, Softmax, MatMul with all scores in memory. */
#include <string.h>

#include <opsdebug/memory.h>

#include "attention_engine.h"
#include "linear_variants.h"

enum { MASK = 3, PAST_KEY = 4, PAST_VALUE = 5 };

static bool is_input(const opd_call *call, int index)
{
    return opd_given(call, index) != NULL && call->operands[index].role == OPD_ROLE_IN;
}

static const void *input(const opd_call *call, int index)
{
    return is_input(call, index) ? opd_data(call, index) : NULL;
}

static opd_status make_job(opd_attention_job *job, const opd_call *call)
{
    *job = (opd_attention_job){
        .dtype = call->dtype,
        .q = opd_data(call, 0),
        .k = opd_data(call, 1),
        .v = opd_data(call, 2),
        .mask = input(call, MASK),
        .past_key = input(call, PAST_KEY),
        .past_value = input(call, PAST_VALUE),
    };
    job->mask_dtype = job->mask != NULL ? call->operands[MASK].view.dtype : OPD_DTYPE_NONE;
    for (int i = 0; i < call->operand_count; i++) {
        if (strcmp(call->operands[i].name, "Y") == 0) {
            job->y = opd_data(call, i);
        }
    }
    return opd_attention_shape_of(&job->shape, call);
}

/* Rows of the past, then rows of now, for each batch and head. */
static void fill_present(const opd_attention_job *job, void *out, bool is_value)
{
    const opd_attention_shape *shape = &job->shape;
    int64_t width = is_value ? shape->value_width : shape->width;
    const int64_t *stride = is_value ? shape->v : shape->k;
    size_t row = (size_t)width * opd_dtype_size(job->dtype);
    for (int64_t i = 0; i < shape->batch * shape->kv_heads * shape->keys; i++) {
        int64_t key = i % shape->keys;
        int64_t plane = i / shape->keys;
        int64_t from =
            plane / shape->kv_heads * stride[0] + plane % shape->kv_heads * stride[1] + (key - shape->past) * stride[2];
        const void *data = is_value ? job->v : job->k;
        if (key < shape->past) {
            data = is_value ? job->past_value : job->past_key;
            from = (plane * shape->past + key) * width;
        }
        memcpy((char *)out + (size_t)i * row, opd_at(data, job->dtype, from), row);
    }
}

static void fill_presents(const opd_attention_job *job, const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        const char *name = call->operands[i].name;
        if (call->operands[i].role == OPD_ROLE_OUT && opd_given(call, i) != NULL && memcmp(name, "present", 7) == 0) {
            fill_present(job, opd_data(call, i), strcmp(name, "present_value") == 0);
        }
    }
}

/* qk_matmul_output, where it is wanted; NULL else. */
static const opd_tensor *kept_of(const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        if (strcmp(call->operands[i].name, "qk_matmul_output") == 0) {
            return opd_given(call, i);
        }
    }
    return NULL;
}

static const char *declines_scores(const opd_call *call)
{
    if (call != NULL && kept_of(call) != NULL) {
        return "the scores are never there as a whole";
    }
    return opd_declines_strides(call);
}

static size_t number_size(opd_dtype dtype)
{
    return dtype == OPD_F64 ? sizeof(double) : sizeof(float);
}

static size_t score_bytes(const opd_attention_shape *shape, opd_dtype dtype)
{
    size_t count = (size_t)shape->batch * (size_t)shape->heads * (size_t)shape->rows * (size_t)shape->keys;
    return (count * number_size(dtype) + 63) / 64 * 64;
}

static void show(const opd_attention_job *job, const char *stage, void *numbers)
{
    const opd_attention_shape *shape = &job->shape;
    opd_tensor view;
    const int64_t dims[4] = { shape->batch, shape->heads, shape->rows, shape->keys };
    if (opd_trace_enabled &&
        opd_tensor_contiguous(&view, job->dtype == OPD_F64 ? OPD_F64 : OPD_F32, 4, dims, numbers) == OPD_OK) {
        opd_tracepoint(stage, &view);
    }
}

static opd_status run_online(const opd_call *call, const opd_workspace *workspace, opd_attention_run *run)
{
    opd_attention_job job;
    opd_workspace rest = *workspace;
    opd_status status = make_job(&job, call);
    if (status != OPD_OK) {
        return status;
    }
    if (opd_trace_enabled) { /* what is never there as a whole is put together beside the run */
        size_t bytes = score_bytes(&job.shape, job.dtype);
        job.scores = workspace->bytes;
        job.weights = (char *)workspace->bytes + bytes;
        rest.bytes = (char *)workspace->bytes + 2 * bytes;
        rest.size -= 2 * bytes;
    }
    run(&job, &rest);
    fill_presents(&job, call);
    if (job.scores != NULL) {
        show(&job, "scores", job.scores);
        show(&job, "weights", job.weights);
    }
    return OPD_OK;
}

static size_t online_workspace(const opd_call *call, int32_t threads)
{
    opd_attention_shape shape;
    if (opd_attention_shape_of(&shape, call) != OPD_OK) {
        return 0;
    }
    size_t stages = opd_trace_enabled ? 2 * score_bytes(&shape, call->dtype) : 0;
    return stages + (size_t)threads * opd_attention_scratch(&shape);
}

/* --------------------------------------------------------------------------------------------------- unfused */

static const char *declines_past(const opd_call *call)
{
    if (call != NULL && is_input(call, PAST_KEY)) {
        return "keys of the past lie apart from those of now";
    }
    int64_t mode = call != NULL ? opd_call_int(call, "qk_matmul_output_mode", OPD_ATTENTION_KEEPS_PRODUCT)
                                : OPD_ATTENTION_KEEPS_PRODUCT;
    if (call != NULL && kept_of(call) != NULL && mode != OPD_ATTENTION_KEEPS_PRODUCT &&
        mode != OPD_ATTENTION_KEEPS_WEIGHTS) {
        return "softcap, mask and softmax are one pass";
    }
    return opd_declines_strides(call);
}

static size_t unfused_workspace(const opd_call *call, int32_t threads)
{
    opd_attention_shape shape;
    if (opd_attention_shape_of(&shape, call) != OPD_OK) {
        return 0;
    }
    return score_bytes(&shape, call->dtype) + opd_gemm_workspace(threads);
}

static void place_scores(opd_gemm *gemm, const void *context, int64_t index)
{
    const opd_attention_job *job = context;
    const opd_attention_shape *shape = &job->shape;
    int64_t head = index % shape->heads;
    int64_t batch = index / shape->heads;
    int64_t kv_head = head / (shape->heads / shape->kv_heads);
    gemm->a.data = opd_at(job->q, job->dtype, batch * shape->q[0] + head * shape->q[1]);
    gemm->b.data = opd_at(job->k, job->dtype, batch * shape->k[0] + kv_head * shape->k[1]);
    gemm->y = (char *)job->scores + (size_t)(index * shape->rows * shape->keys) * number_size(job->dtype);
}

static void place_values(opd_gemm *gemm, const void *context, int64_t index)
{
    const opd_attention_job *job = context;
    const opd_attention_shape *shape = &job->shape;
    int64_t head = index % shape->heads;
    int64_t batch = index / shape->heads;
    int64_t kv_head = head / (shape->heads / shape->kv_heads);
    int64_t to = batch * shape->y[0] + head * shape->y[1];
    gemm->a.data = (const char *)job->scores + (size_t)(index * shape->rows * shape->keys) * number_size(job->dtype);
    gemm->b.data = opd_at(job->v, job->dtype, batch * shape->v[0] + kv_head * shape->v[1]);
    gemm->y = (char *)job->y + to * (int64_t)opd_dtype_size(job->dtype);
}

/* The numbers as they are now, in the output's dtype. */
static void keep_scores(const opd_attention_job *job, const opd_call *call, int64_t mode)
{
    const opd_tensor *kept = kept_of(call);
    if (kept == NULL || opd_call_int(call, "qk_matmul_output_mode", OPD_ATTENTION_KEEPS_PRODUCT) != mode) {
        return;
    }
    const float *narrow = job->scores;
    const double *wide = job->scores;
    size_t size = opd_dtype_size(kept->dtype);
    for (int64_t i = 0; i < opd_tensor_count(kept); i++) {
        opd_element_store(kept->dtype, (char *)kept->data + (size_t)i * size,
                          job->dtype == OPD_F64 ? wide[i] : (double)narrow[i], 0);
    }
}

static opd_attention_run *best_softmax(void)
{
    if (opd_isa_missing(OPD_ISA_AVX512) == NULL) {
        return opd_softmax_run_avx512;
    }
    return opd_isa_missing(OPD_ISA_AVX2) == NULL ? opd_softmax_run_avx2 : opd_softmax_run_portable;
}

static opd_status run_unfused(const opd_call *call, const opd_workspace *workspace)
{
    opd_attention_job job;
    opd_status status = make_job(&job, call);
    if (status != OPD_OK) {
        return status;
    }
    const opd_attention_shape *shape = &job.shape;
    opd_dtype number = job.dtype == OPD_F64 ? OPD_F64 : OPD_F32;
    size_t scores = score_bytes(shape, job.dtype);
    opd_workspace rest = { .bytes = (char *)workspace->bytes + scores,
                           .size = workspace->size - scores,
                           .threads = workspace->threads };
    job.scores = workspace->bytes;
    opd_gemm_job product = {
        .batches = shape->batch * shape->heads,
        .place = place_scores,
        .context = &job,
        .gemm = { .m = shape->rows,
                  .n = shape->keys,
                  .k = shape->width,
                  .a = { .dtype = job.dtype, .row = shape->q[2], .column = 1 },
                  .b = { .dtype = job.dtype, .row = 1, .column = shape->k[2] },
                  .alpha = opd_attention_scale(shape),
                  .y_dtype = number,
                  .y_row = shape->keys },
    };
    opd_gemm_best()(&product, &rest);
    show(&job, "scores", job.scores);
    keep_scores(&job, call, OPD_ATTENTION_KEEPS_PRODUCT);
    best_softmax()(&job, workspace);
    show(&job, "weights", job.scores);
    keep_scores(&job, call, OPD_ATTENTION_KEEPS_WEIGHTS);
    product.place = place_values;
    product.gemm = (opd_gemm){ .m = shape->rows,
                               .n = shape->value_width,
                               .k = shape->keys,
                               .a = { .dtype = number, .row = shape->keys, .column = 1 },
                               .b = { .dtype = job.dtype, .row = shape->v[2], .column = 1 },
                               .alpha = 1,
                               .y_dtype = job.dtype,
                               .y_row = shape->y[2] };
    opd_gemm_best()(&product, &rest);
    fill_presents(&job, call);
    return OPD_OK;
}

/* --------------------------------------------------------------------------------------------------- tables */

static opd_status online_avx512(const opd_call *call, const opd_workspace *workspace)
{
    return run_online(call, workspace, opd_attention_run_avx512);
}

static opd_status online_avx2(const opd_call *call, const opd_workspace *workspace)
{
    return run_online(call, workspace, opd_attention_run_avx2);
}

static opd_status online_portable(const opd_call *call, const opd_workspace *workspace)
{
    return run_online(call, workspace, opd_attention_run_portable);
}

#define ONLINE(set, words, columns)                                                                                    \
    {                                                                                                                  \
        .name = #set, .isa = (words), .declines = declines_scores, .workspace = online_workspace, .run = online_##set, \
        .determinism = OPD_DETERMINISM_BATCH, .widths = "queries=64 keys=128 rows=6 columns=" columns                  \
    }
#define VARIANTS                                                                                                     \
    ONLINE(avx512, OPD_ISA_AVX512, "32"), ONLINE(avx2, OPD_ISA_AVX2, "16"), ONLINE(portable, "", "8"),               \
    {                                                                                                                \
        .name = "unfused", .isa = "", .declines = declines_past, .workspace = unfused_workspace, .run = run_unfused, \
        .determinism = OPD_DETERMINISM_BATCH, .widths = "rows=6 columns=16 tile=144 depth=256"                       \
    }

const opd_variant opd_attention_variants[] = { VARIANTS };
const opd_variant opd_fused_attention_variants[] = { VARIANTS };
