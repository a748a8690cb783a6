/* SPDX-License-Identifier: Apache-2.0 */
/* Sample contracts that between them use every part of the grammar for general operators. */
#include "general_ops.h"

#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

/* Each spatial output: (input - (kernel - 1) - 1) / stride + 1, as the Conv of ONNX without padding. */
static opd_status conv_shape(opd_call *call)
{
    const opd_tensor *x = &call->operands[0].view;
    const opd_tensor *w = &call->operands[1].view;
    opd_tensor *y = &opd_call_operand(call, "Y")->view;
    int64_t strides[OPD_MAX_INTS];
    int given = opd_call_ints(call, "strides", strides);
    if (x->rank != w->rank) {
        return opd_fail(OPD_E_INVALID, "Conv: X has %d dimensions, W %d", x->rank, w->rank);
    }
    y->rank = x->rank;
    y->shape[0] = x->shape[0];
    y->shape[1] = w->shape[0];
    for (int d = 2; d < x->rank; d++) {
        int64_t step = given > d - 2 ? strides[d - 2] : 1;
        if (step < 1) {
            return opd_fail(OPD_E_INVALID, "Conv: a stride of %lld", (long long)step);
        }
        y->shape[d] = (x->shape[d] - w->shape[d]) / step + 1;
    }
    return OPD_OK;
}

/* The shape that an integer input holds. */
static opd_status expand_shape(opd_call *call)
{
    int64_t shape[OPD_MAX_RANK];
    int rank = opd_call_content(call, 1, shape, OPD_MAX_RANK);
    opd_tensor *y = &opd_call_operand(call, "Y")->view;
    y->rank = rank >= 0 ? rank : y->rank; /* not known: as it is */
    for (int d = 0; d < rank; d++) {
        y->shape[d] = shape[d];
    }
    return OPD_OK;
}

/* num_outputs parts as equal as can be, the last the smallest. */
static opd_status split_shape(opd_call *call)
{
    const opd_tensor *x = &call->operands[0].view;
    int64_t axis = opd_call_int(call, "axis", 0);
    int64_t parts = call->operand_count - 1;
    axis += axis < 0 ? x->rank : 0;
    int64_t size = (x->shape[axis] + parts - 1) / parts;
    for (int64_t i = 0; i < parts; i++) {
        opd_tensor *y = &call->operands[1 + i].view;
        int64_t left = x->shape[axis] - i * size;
        y->rank = x->rank;
        memcpy(y->shape, x->shape, sizeof y->shape);
        y->shape[axis] = left < 0 ? 0 : left < size ? left : size;
    }
    return OPD_OK;
}

const opd_op general_ops[] = {
    {
        .domain = "test",
        .name = "Add",
        .types = "T: f32 f64 f16 i32 i64",
        .signature = "A:T[n...~], B:T[n...~] -> C:T[n...]",
        .flops = "prod(n)",
        .reduction = "0",
        .in_place = "C=A",
        .bound = { .kind = OPD_BOUND_ULP, .limit = 0.5F, .narrow_limit = 0.5F },
        .summary = "C = A + B",
    },
    {
        .domain = "test",
        .name = "Softmax",
        .types = "f32 f64",
        .signature = "X:T[a..., k, b...] split(axis) -> Y:T[a..., k, b...]",
        .attributes = "axis:i=-1",
        .flops = "4 * prod(a) * k * prod(b)",
        .reduction = "k",
    },
    {
        .domain = "test",
        .name = "LayerNormalization",
        .types = "T: f32 f64; U: f32",
        .signature = "X:T[n..., d...] split(axis), Scale:T[d...~] fill(uniform:0.5:1.5), B?:T[d...~] -> "
                     "Y:T[n..., d...], Mean?:U[n...], InvStdDev?:U[n...]",
        .attributes = "axis:i=-1 epsilon:f=1e-5",
        .defaults = "B",
        .flops = "8 * prod(n) * prod(d)",
        .reduction = "prod(d)",
        .checkpoints = "mean variance",
    },
    {
        .domain = "test",
        .name = "Gemm",
        .types = "f32 f64",
        .signature = "A:T[transA ? k : m, transA ? m : k], B:T[transB ? n : k, transB ? k : n], "
                     "C?:T[m~, n~] if(beta != 0) -> Y:T[m, n]",
        .attributes = "alpha:f=1 beta:f=1 transA:i=0 transB:i=0",
        .defaults = "m=4 n=5 k=6 C",
        .flops = "2 * m * n * k",
        .reduction = "k",
    },
    {
        .domain = "test",
        .name = "MatMul",
        .types = "f32 f64",
        .signature = "A:T[b...~, m?, k], B:T[b...~, k, n?] -> Y:T[b..., m?, n?]",
        .defaults = "b...=2 m=3 n=4 k=5",
        .flops = "2 * prod(b) * m * n * k",
        .reduction = "k",
    },
    {
        .domain = "test",
        .name = "Conv",
        .types = "f32",
        .signature = "X:T[N, C, s...], W:T[M, C / group, kernel...], B?:T[M] -> Y:T[N, M, o...]",
        .attributes = "group:i=1 strides:is? mode:s=valid|same",
        .defaults = "N=1 C=4 M=6 s...=8,8 kernel...=3,3",
        .flops = "2 * N * M * prod(o) * (C / group) * prod(kernel)",
        .shape = conv_shape,
    },
    {
        .domain = "test",
        .name = "Concat",
        .types = "f32 i64",
        .signature = "X+:T[a..., c+, b...] split(axis) -> Y:T[a..., sum(c), b...]",
        .attributes = "axis:i=0",
        .defaults = "a...= b...=3 c=2",
    },
    {
        .domain = "test",
        .name = "Split",
        .types = "f32",
        .signature = "X:T[a..., k, b...] split(axis) -> Y+:T[a..., c+, b...] times(num_outputs)",
        .attributes = "axis:i=0 num_outputs:i=2",
        .shape = split_shape,
    },
    {
        .domain = "test",
        .name = "Expand",
        .types = "T: f32 f64",
        .signature = "X:T[...], shape:i64[r] value(2, rank(X), 4) -> Y:T[o...]",
        .shape = expand_shape,
    },
    {
        .domain = "test",
        .name = "Gather",
        .types = "T: f32 i32 bool; U: i64 i32",
        .signature = "X:T[k, n...], I:U[q...] fill(index(k)) -> Y:T[q..., n...]",
        .defaults = "k=7 n...=2 q...=3,5",
    },
    {
        .domain = "test",
        .name = "Heads",
        .types = "f32",
        .signature = "Q:T[s, heads * d], K:T[t, heads * d] -> S:T[heads, s, t]",
        .attributes = "heads:i=2",
        .defaults = "s=3 t=4 d=8",
        .flops = "2 * heads * s * t * d",
    },
    {
        .domain = "test",
        .name = "Max",
        .types = "f32 i8 u8",
        .signature = "X+:T[n...~] -> Y:T[n...]",
        .defaults = "n...=3,4",
    },
    {
        .domain = "test",
        .name = "Pad",
        .types = "f32",
        .signature = "X:T[n] -> Y:T[n + (mode == 'reflect' ? 2 : mode == 'edge' ? 4 : at(pads, 0) + at(pads, -1))]",
        .attributes = "mode:s=constant|reflect|edge pads:is=[1,2] value:f? note:s?",
        .defaults = "n=5",
    },
};
const int general_op_count = (int)OPD_COUNT(general_ops);
