/* SPDX-License-Identifier: Apache-2.0 */
/* Heads, sizes and strides of attention from a call's operands and attributes; its shape callback. Part of opd_ops. */
#include <math.h>
#include <string.h>

#include "linear_shapes.h"

enum { MASK = 3, PAST_KEY = 4, PAST_VALUE = 5 };

/* Heads and width of a head of Q, K or V: [B, heads, S, width], where the attribute may only say the same, or [B, S, heads * width]. */
static opd_status split_heads(int64_t *heads, int64_t *width, int64_t stride[3], const opd_call *call, int index,
                              const char *attribute)
{
    const opd_tensor *view = opd_given(call, index);
    int64_t given_heads = opd_call_int(call, attribute, 0);
    if (view->rank == 4) {
        if (given_heads > 0 && given_heads != view->shape[1]) {
            return opd_fail(OPD_E_INVALID, "%s is %lld, and %s has %lld heads", attribute, (long long)given_heads,
                            call->operands[index].name, (long long)view->shape[1]);
        }
        *heads = view->shape[1];
        *width = view->shape[3];
        stride[2] = *width;
        stride[1] = view->shape[2] * *width;
        stride[0] = *heads * stride[1];
        return OPD_OK;
    }
    if (view->rank != 3 || given_heads < 1 || view->shape[2] % given_heads != 0) {
        return opd_fail(OPD_E_INVALID, "an input of rank 3 needs q_num_heads and kv_num_heads that divide its width");
    }
    *heads = given_heads;
    *width = view->shape[2] / given_heads;
    stride[2] = view->shape[2];
    stride[1] = *width;
    stride[0] = view->shape[1] * view->shape[2];
    return OPD_OK;
}

static int64_t length_of(const opd_tensor *view)
{
    return view->shape[view->rank - 2];
}

static const opd_tensor *input(const opd_call *call, int index)
{
    const opd_tensor *view = opd_given(call, index);
    return view != NULL && call->operands[index].role == OPD_ROLE_IN ? view : NULL;
}

static opd_status read_past(opd_attention_shape *out, const opd_call *call)
{
    const opd_tensor *key = input(call, PAST_KEY);
    const opd_tensor *value = input(call, PAST_VALUE);
    if ((key == NULL) != (value == NULL)) {
        return opd_fail(OPD_E_INVALID, "past_key and past_value must be given together");
    }
    if (key == NULL) {
        return OPD_OK;
    }
    out->past = key->shape[2];
    bool fits = key->shape[0] == out->batch && key->shape[1] == out->kv_heads && key->shape[3] == out->width &&
                value->shape[0] == out->batch && value->shape[1] == out->kv_heads && value->shape[2] == out->past &&
                value->shape[3] == out->value_width;
    return fits ? OPD_OK
                : opd_fail(OPD_E_INVALID, "past_key and past_value must be [batch, kv heads, length, head width]");
}

/* The mask is broadcast from the right to [batch, heads, rows, keys]; it may cover fewer keys. */
static opd_status read_mask(opd_attention_shape *out, const opd_call *call)
{
    const opd_tensor *mask = input(call, MASK);
    out->mask_keys = out->keys;
    if (mask == NULL) {
        return OPD_OK;
    }
    if (mask->rank < 1 || mask->rank > 4) {
        return opd_fail(OPD_E_INVALID, "the mask has rank %d, it must be 1 to 4", mask->rank);
    }
    if (mask->dtype != OPD_BOOL && mask->dtype != call->dtype) {
        return opd_fail(OPD_E_INVALID, "the mask is %s, it must be bool or %s", opd_dtype_name(mask->dtype),
                        opd_dtype_name(call->dtype));
    }
    const int64_t whole[4] = { out->batch, out->heads, out->rows, out->keys };
    int64_t step = 1;
    for (int i = 3; i >= 4 - mask->rank; i--) {
        int64_t dim = mask->shape[i - (4 - mask->rank)];
        if (dim != 1 && (i == 3 ? dim > whole[i] : dim != whole[i])) {
            return opd_fail(OPD_E_INVALID, "dimension %d of the mask is %lld, it must be 1 or %lld",
                            i - (4 - mask->rank), (long long)dim, (long long)whole[i]);
        }
        out->mask[i] = dim == 1 ? 0 : step;
        step *= dim;
        if (i == 3 && dim != 1) {
            out->mask_keys = dim;
        }
    }
    return OPD_OK;
}

opd_status opd_attention_shape_of(opd_attention_shape *out, const opd_call *call)
{
    const opd_tensor *q = opd_given(call, 0);
    const opd_tensor *k = opd_given(call, 1);
    const opd_tensor *v = opd_given(call, 2);
    if (q->rank != k->rank || q->rank != v->rank) {
        return opd_fail(OPD_E_INVALID, "Q, K and V have ranks %d, %d and %d", q->rank, k->rank, v->rank);
    }
    opd_attention_shape shape = { .batch = q->shape[0], .is_causal = opd_call_int(call, "is_causal", 0) != 0 };
    int64_t v_heads = 0;
    int64_t k_width = 0;
    opd_status status = split_heads(&shape.heads, &shape.width, shape.q, call, 0, "q_num_heads");
    status = status == OPD_OK ? split_heads(&shape.kv_heads, &k_width, shape.k, call, 1, "kv_num_heads") : status;
    status = status == OPD_OK ? split_heads(&v_heads, &shape.value_width, shape.v, call, 2, "kv_num_heads") : status;
    if (status != OPD_OK) {
        return status;
    }
    shape.rows = length_of(q);
    if (k->shape[0] != shape.batch || v->shape[0] != shape.batch || length_of(k) != length_of(v) ||
        k_width != shape.width || v_heads != shape.kv_heads) {
        return opd_fail(OPD_E_INVALID, "Q, K and V differ in batch, length, heads or width of a head");
    }
    if (shape.kv_heads < 1 ? shape.heads > 0 : shape.heads % shape.kv_heads != 0) {
        return opd_fail(OPD_E_INVALID, "%lld heads of Q are no multiple of %lld heads of K", (long long)shape.heads,
                        (long long)shape.kv_heads);
    }
    status = read_past(&shape, call);
    shape.keys = shape.past + length_of(k);
    status = status == OPD_OK ? read_mask(&shape, call) : status;
    if (status != OPD_OK) {
        return status;
    }
    bool is_rank4 = q->rank == 4;
    shape.y[2] = is_rank4 ? shape.value_width : shape.heads * shape.value_width;
    shape.y[1] = is_rank4 ? shape.rows * shape.value_width : shape.value_width;
    shape.y[0] = shape.heads * shape.rows * shape.value_width;
    shape.scale = opd_call_real(call, "scale", (double)NAN);
    shape.softcap = opd_call_real(call, "softcap", 0);
    *out = shape;
    return OPD_OK;
}

opd_status opd_shape_attention(opd_call *call)
{
    opd_attention_shape shape;
    opd_status status = opd_attention_shape_of(&shape, call);
    if (status != OPD_OK) {
        return status;
    }
    const int64_t keys[4] = { shape.batch, shape.kv_heads, shape.keys, shape.width };
    const int64_t values[4] = { shape.batch, shape.kv_heads, shape.keys, shape.value_width };
    const int64_t scores[4] = { shape.batch, shape.heads, shape.rows, shape.keys };
    for (int i = 0; i < call->operand_count; i++) {
        opd_tensor *view = &call->operands[i].view;
        if (call->operands[i].role != OPD_ROLE_OUT || opd_given(call, i) == NULL) {
            continue;
        }
        if (strcmp(call->operands[i].name, "Y") == 0) {
            const opd_tensor *q = opd_given(call, 0);
            view->rank = q->rank;
            memcpy(view->shape, q->shape, (size_t)q->rank * sizeof q->shape[0]);
            view->shape[q->rank - 1] = q->rank == 4 ? shape.value_width : shape.heads * shape.value_width;
        } else {
            bool is_key = strcmp(call->operands[i].name, "present_key") == 0;
            bool is_value = strcmp(call->operands[i].name, "present_value") == 0;
            view->rank = 4;
            memcpy(view->shape, is_key ? keys : is_value ? values : scores, sizeof keys);
        }
    }
    return OPD_OK;
}
