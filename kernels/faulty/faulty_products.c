/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong products, windows, attention and moves: seams, unwritten blocks, batches, modes. */
#include <math.h>
#include <string.h>

#include "faulty.h"

/* -------------------------------------------------------------------------------------------------- products */

typedef struct product {
    int64_t m, n, k, batches;
    int64_t step_a, step_b; /* elements from one batch to the next; 0 = the same again */
    const float *a, *b;
    float *y;
} product;

static product product_of(const opd_call *call, int output)
{
    const opd_tensor *a = &call->operands[0].view;
    const opd_tensor *b = &call->operands[1].view;
    product item = { .k = opd_faulty_row(call, 0), .n = opd_faulty_row(call, 1), .a = a->data, .b = b->data };
    item.m = a->rank >= 2 ? a->shape[a->rank - 2] : 1;
    item.y = call->operands[output].view.data;
    int64_t size = item.m * item.n;
    item.batches = size > 0 ? opd_faulty_count(call, output) / size : 0;
    item.step_a = a->rank > 2 ? item.m * item.k : 0;
    item.step_b = b->rank > 2 ? item.k * item.n : 0;
    return item;
}

static float dot(const product *item, int64_t batch, int64_t i, int64_t j, int64_t terms)
{
    double sum = 0;
    for (int64_t p = 0; p < terms; p++) {
        sum += (double)item->a[batch * item->step_a + i * item->k + p] *
               (double)item->b[batch * item->step_b + p * item->n + j];
    }
    return (float)sum;
}

/* B is read as if it were stored by columns. */
opd_status opd_faulty_matmul_column(const opd_call *call, const opd_workspace *workspace)
{
    product item = product_of(call, 2);
    (void)workspace;
    for (int64_t at = 0; at < item.batches * item.m * item.n; at++) {
        int64_t batch = at / (item.m * item.n);
        int64_t i = at / item.n % item.m;
        double sum = 0;
        for (int64_t p = 0; p < item.k; p++) {
            sum += (double)item.a[batch * item.step_a + i * item.k + p] *
                   (double)item.b[batch * item.step_b + at % item.n * item.k + p];
        }
        item.y[at] = (float)sum;
    }
    return OPD_OK;
}

/* k is cut into blocks of 64, and the rest is forgotten. */
opd_status opd_faulty_matmul_seam(const opd_call *call, const opd_workspace *workspace)
{
    product item = product_of(call, 2);
    int64_t terms = item.k > 64 ? item.k / 64 * 64 : item.k;
    (void)workspace;
    for (int64_t at = 0; at < item.batches * item.m * item.n; at++) {
        item.y[at] = dot(&item, at / (item.m * item.n), at / item.n % item.m, at % item.n, terms);
    }
    return OPD_OK;
}

/* Rows go by four; one that is left over is not written. */
opd_status opd_faulty_matmul_block(const opd_call *call, const opd_workspace *workspace)
{
    product item = product_of(call, 2);
    (void)workspace;
    for (int64_t at = 0; at < item.batches * item.m * item.n; at++) {
        int64_t i = at / item.n % item.m;
        if (item.m % 4 != 1 || i + 1 < item.m || item.m == 1) {
            item.y[at] = dot(&item, at / (item.m * item.n), i, at % item.n, item.k);
        }
    }
    return OPD_OK;
}

/* Adds to what the output holds. */
opd_status opd_faulty_matmul_adds(const opd_call *call, const opd_workspace *workspace)
{
    product item = product_of(call, 2);
    (void)workspace;
    for (int64_t at = 0; at < item.batches * item.m * item.n; at++) {
        item.y[at] += dot(&item, at / (item.m * item.n), at / item.n % item.m, at % item.n, item.k);
    }
    return OPD_OK;
}

/* Every batch uses the first one's B. */
opd_status opd_faulty_matmul_batch(const opd_call *call, const opd_workspace *workspace)
{
    product item = product_of(call, 2);
    (void)workspace;
    item.step_b = 0;
    for (int64_t at = 0; at < item.batches * item.m * item.n; at++) {
        item.y[at] = dot(&item, at / (item.m * item.n), at / item.n % item.m, at % item.n, item.k);
    }
    return OPD_OK;
}

/* beta * C, also with beta = 0, when C need not hold numbers. */
opd_status opd_faulty_gemm_beta(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *a = &call->operands[0].view;
    const opd_tensor *b = &call->operands[1].view;
    bool is_left = opd_call_int(call, "transA", 0) != 0;
    bool is_right = opd_call_int(call, "transB", 0) != 0;
    int64_t k = a->shape[is_left ? 0 : 1];
    int64_t n = call->operands[3].view.shape[1];
    double alpha = opd_call_real(call, "alpha", 1);
    double beta = opd_call_real(call, "beta", 1);
    (void)workspace;
    for (int64_t at = 0; at < opd_faulty_count(call, 3); at++) {
        int64_t i = at / n;
        int64_t j = at % n;
        double sum = 0;
        for (int64_t p = 0; p < k; p++) {
            sum += (double)opd_faulty_data(call, 0)[is_left ? p * a->shape[1] + i : i * k + p] *
                   (double)opd_faulty_data(call, 1)[is_right ? j * k + p : p * b->shape[1] + j];
        }
        bool has_c = opd_faulty_data(call, 2) != NULL;
        opd_faulty_data(call, 3)[at] =
            (float)(alpha * sum + (has_c ? beta * (double)*opd_faulty_at(call, 2, 3, at) : 0));
    }
    return OPD_OK;
}

/* The bias is not added. */
opd_status opd_faulty_bias_lost(const opd_call *call, const opd_workspace *workspace)
{
    int64_t k = opd_faulty_row(call, 0);
    int64_t n = opd_faulty_row(call, 1);
    (void)workspace;
    for (int64_t at = 0; at < opd_faulty_count(call, 3); at++) {
        double sum = 0;
        for (int64_t p = 0; p < k; p++) {
            sum += (double)opd_faulty_data(call, 0)[at / n * k + p] * (double)opd_faulty_data(call, 1)[p * n + at % n];
        }
        opd_faulty_stage("product", &sum, 1);
        opd_faulty_stage("biased", &sum, 1);
        opd_faulty_data(call, 3)[at] = (float)(0.5 * sum * erfc(-sum * 0.70710678118654752));
    }
    return OPD_OK;
}

/* --------------------------------------------------------------------------------------- windows, attention */

/* Padding counts in the divisor, which it must not. */
opd_status opd_faulty_pool_divisor(const opd_call *call, const opd_workspace *workspace)
{
    const int64_t *in = call->operands[0].view.shape;
    const int64_t *out = call->operands[1].view.shape;
    int64_t kernel[OPD_MAX_INTS] = { 1, 1 };
    int64_t pads[OPD_MAX_INTS] = { 0 };
    int64_t strides[OPD_MAX_INTS] = { 1, 1 };
    (void)workspace;
    (void)opd_call_ints(call, "kernel_shape", kernel);
    (void)opd_call_ints(call, "pads", pads);
    (void)opd_call_ints(call, "strides", strides);
    for (int64_t at = 0; at < opd_faulty_count(call, 1); at++) {
        int64_t plane = at / (out[2] * out[3]);
        int64_t top = at / out[3] % out[2] * strides[0] - pads[0];
        int64_t left = at % out[3] * strides[1] - pads[1];
        double sum = 0;
        for (int64_t i = top; i < top + kernel[0]; i++) {
            for (int64_t k = left; k < left + kernel[1]; k++) {
                if (i >= 0 && i < in[2] && k >= 0 && k < in[3]) {
                    sum += (double)opd_faulty_data(call, 0)[(plane * in[2] + i) * in[3] + k];
                }
            }
        }
        opd_faulty_data(call, 1)[at] = (float)(sum / (double)(kernel[0] * kernel[1]));
    }
    return OPD_OK;
}

enum attention_fault { NO_SCALE, LATE_MASK };

static double score_of(const float *query, const float *key, int64_t width, double scale)
{
    double score = 0;
    for (int64_t d = 0; d < width; d++) {
        score += (double)query[d] * (double)key[d];
    }
    return score * scale;
}

/* The stages of a query: all its scores, and the weights of the first `last` of keys. */
static void show_attention(const float *query, const float *keys, const int64_t *k, double scale, int64_t last)
{
    double largest = -HUGE_VAL;
    double sum = 0;
    for (int64_t i = 0; i < k[2] && opd_trace_enabled; i++) {
        double score = score_of(query, keys + i * k[3], k[3], scale);
        largest = i < last && score > largest ? score : largest;
        opd_faulty_stage("scores", &score, 1);
    }
    for (int64_t i = 0; i < last && opd_trace_enabled; i++) {
        sum += exp(score_of(query, keys + i * k[3], k[3], scale) - largest);
    }
    for (int64_t i = 0; i < k[2] && opd_trace_enabled; i++) {
        double weight = i < last ? exp(score_of(query, keys + i * k[3], k[3], scale) - largest) / sum : 0;
        opd_faulty_stage("weights", &weight, 1);
    }
}

/* One query against its keys, in two passes. Q, K, V: [B, H, S or L, D]; without a mask operand. */
static void attend(const opd_call *call, int64_t query, enum attention_fault fault)
{
    const int64_t *q = call->operands[0].view.shape;
    const int64_t *k = call->operands[1].view.shape;
    int64_t width = call->operands[2].view.shape[3];
    int64_t head = query / q[2];
    const float *keys = opd_faulty_data(call, 1) + head * k[2] * k[3];
    const float *values = opd_faulty_data(call, 2) + head * k[2] * width;
    const float *at = opd_faulty_data(call, 0) + query * q[3];
    float *out = opd_faulty_data(call, 4) + query * width;
    double scale = fault == NO_SCALE ? 1 : opd_call_real(call, "scale", 1 / sqrt((double)q[3]));
    int64_t last = k[2];
    if (opd_call_int(call, "is_causal", 0) != 0) {
        last = query % q[2] + 1 + (fault == LATE_MASK);
        last = last < k[2] ? last : k[2];
    }
    double largest = -HUGE_VAL;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        double total[512] = { 0 };
        for (int64_t i = 0; i < last; i++) {
            double score = score_of(at, keys + i * k[3], q[3], scale);
            largest = pass == 0 && score > largest ? score : largest;
            double weight = pass == 0 ? 0 : exp(score - largest);
            sum += weight;
            for (int64_t d = 0; d < width; d++) {
                total[d] += weight * (double)values[i * width + d];
            }
        }
        for (int64_t d = 0; d < width && pass == 1; d++) {
            out[d] = (float)(total[d] / sum);
        }
    }
    show_attention(at, keys, k, scale, last);
}

static opd_status attention(const opd_call *call, enum attention_fault fault)
{
    const int64_t *q = call->operands[0].view.shape;
    for (int64_t query = 0; query < q[0] * q[1] * q[2]; query++) {
        attend(call, query, fault);
    }
    return OPD_OK;
}

opd_status opd_faulty_attention_scale(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    return attention(call, NO_SCALE);
}

/* The causal mask lets one key of the future through. */
opd_status opd_faulty_attention_causal(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    return attention(call, LATE_MASK);
}

/* ---------------------------------------------------------------------------------------------------- moves */

/* The permutation is applied the other way round, which for two dimensions is the same. */
opd_status opd_faulty_transpose_swapped(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *in = &call->operands[0].view;
    int64_t perm[OPD_MAX_INTS];
    int count = opd_call_ints(call, "perm", perm);
    (void)workspace;
    for (int64_t flat = 0; flat < opd_tensor_count(in); flat++) {
        int64_t from[OPD_MAX_RANK];
        int64_t at = 0;
        opd_tensor_unflatten(in, flat, from);
        for (int i = 0; i < in->rank; i++) {
            int64_t axis = 0;
            for (int k = 0; k < in->rank; k++) {
                axis = count > 0 && perm[k] == i ? k : axis;
            }
            axis = count > 0 ? axis : in->rank - 1 - i;
            at = at * in->shape[axis] + from[axis];
        }
        opd_faulty_data(call, 1)[at] = opd_faulty_data(call, 0)[flat];
    }
    return OPD_OK;
}

/* Copies, and leaves what stands before the data as it is. */
opd_status opd_faulty_pad_front(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *in = &call->operands[0].view;
    const opd_tensor *out = &call->operands[4].view;
    const int64_t *pads = call->operands[1].view.data;
    const float *value = call->operands[2].view.data;
    (void)workspace;
    for (int64_t flat = 0; flat < opd_tensor_count(out); flat++) {
        int64_t index[OPD_MAX_RANK];
        int64_t from = 0;
        bool is_inside = true;
        bool is_before = false;
        opd_tensor_unflatten(out, flat, index);
        for (int i = 0; i < in->rank; i++) {
            int64_t at = index[i] - pads[i];
            is_before |= at < 0;
            is_inside &= at >= 0 && at < in->shape[i];
            from = from * in->shape[i] + at;
        }
        if (is_inside) {
            opd_faulty_data(call, 4)[flat] = opd_faulty_data(call, 0)[from];
        } else if (!is_before) {
            opd_faulty_data(call, 4)[flat] = value != NULL ? *value : 0;
        }
    }
    return OPD_OK;
}

/* A negative index is taken for 0 rather than counted from the end. */
opd_status opd_faulty_gather_negative(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *in = &call->operands[0].view;
    const int64_t *indices = call->operands[1].view.data;
    int64_t chosen = opd_faulty_count(call, 1);
    int64_t axis = opd_call_int(call, "axis", 0);
    int64_t before = 1;
    int64_t after = 1;
    (void)workspace;
    axis += axis < 0 ? in->rank : 0;
    for (int i = 0; i < in->rank; i++) {
        before *= i < axis ? in->shape[i] : 1;
        after *= i > axis ? in->shape[i] : 1;
    }
    for (int64_t i = 0; i < before * chosen; i++) {
        int64_t at = indices[i % chosen] > 0 ? indices[i % chosen] : 0;
        memcpy(opd_faulty_data(call, 2) + i * after,
               opd_faulty_data(call, 0) + (i / chosen * in->shape[axis] + at) * after, (size_t)after * sizeof(float));
    }
    return OPD_OK;
}

/* Nearest by asymmetric coordinates, whatever the mode. */
opd_status opd_faulty_resize_mode(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *in = &call->operands[0].view;
    const opd_tensor *out = &call->operands[4].view;
    (void)workspace;
    for (int64_t flat = 0; flat < opd_tensor_count(out); flat++) {
        int64_t index[OPD_MAX_RANK];
        int64_t from = 0;
        opd_tensor_unflatten(out, flat, index);
        for (int i = 0; i < in->rank; i++) {
            from = from * in->shape[i] + index[i] * in->shape[i] / out->shape[i];
        }
        opd_faulty_data(call, 4)[flat] = opd_faulty_data(call, 0)[from];
    }
    return OPD_OK;
}
