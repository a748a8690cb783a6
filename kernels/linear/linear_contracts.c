/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of products, convolution, pooling and attention.
 * source    ONNX operators: MatMul 13, Gemm 13, Conv 22, AveragePool 22, MaxPool 22, GlobalAveragePool 22, Attention 23. Bounds: the sum of
 *           absolute terms as gauge is netlib's test of its BLAS; that of attention adds the reach of the scores, as an
 *           error of a score multiplies every weight.
 * attention softcap comes before the mask, as in the current text; qk_matmul_output is in mode 0 the scaled product, 1 after softcap, 2 after the mask
 *           too, 3 the weights. (Texts before that order had the mask as 1 and softcap as 2: the same where only one of them is in use and
 *           the other's mode is not asked for.)
 * left out  Attention's softmax_precision (statistics have the precision of the accumulator) and nonpad_kv_seqlen.
 */
#include <opsdebug/memory.h>

#include "../registry.h"
#include "linear_shapes.h"

#define ONNX  .domain = "ai.onnx", .determinism = OPD_DETERMINISM_RUN
#define FUSED .domain = "opsdebug", .determinism = OPD_DETERMINISM_RUN

#define FLOATS "T: f32 f64 f16 bf16"
#define WINDOW "auto_pad:s=NOTSET|SAME_UPPER|SAME_LOWER|VALID dilations:is?[1:] pads:is?[0:] strides:is?[1:] "
#define KERNEL_COUNT \
    "at(kernel_shape, 0) * (len(kernel_shape) > 1 ? at(kernel_shape, 1) : 1) * (len(kernel_shape) > 2 ? at(kernel_shape, 2) : 1)"
/* Heads are a dimension of their own, or in inputs of rank 3 part of the last. */
#define Q_WIDTH  "(has(H) ? 1 : q_num_heads)"
#define KV_WIDTH "(has(G) ? 1 : kv_num_heads)"
#define Q_HEADS  "(has(H) ? H : q_num_heads)"
#define KV_HEADS "(has(G) ? G : kv_num_heads)"
#define KEYS     "(has(past_key) ? P : 0) + L"

const opd_op opd_contracts_linear[] = {
    {
        ONNX,
        .name = "MatMul",
        .since_version = 13,
        .types = FLOATS " i32 i64 u32 u64",
        .signature = "A:T[b...~, m?, k], B:T[b...~, k, n?] -> Y:T[b..., m?, n?]",
        .defaults = "b...=1",
        .flops = "2 * count(Y) * k",
        .reduction = "k",
        .bound = { .is_sum = true },
        .summary = "Y = A B, batches broadcast, vectors allowed",
    },
    {
        ONNX,
        .name = "Gemm",
        .since_version = 13,
        .types = FLOATS " i32 i64 u32 u64",
        .signature = "A:T[transA ? k : m, transA ? m : k], B:T[transB ? n : k, transB ? k : n], "
                     "C?:T[m~, n~] if(beta != 0) -> Y:T[m, n]",
        .attributes = "alpha:f=1 beta:f=1 transA:i=0[0|1] transB:i=0[0|1]",
        .defaults = "C",
        .flops = "2 * m * n * k",
        .reduction = "k",
        .bound = { .is_sum = true },
        .summary = "Y = alpha op(A) op(B) + beta C, C broadcast to Y",
        .shape = opd_shape_gemm,
    },
    {
        ONNX,
        .name = "Conv",
        .since_version = 22,
        .types = FLOATS,
        .signature = "X:T[N, C, d...], W:T[M, C / group, k...], B?:T[M] -> Y:T[N, M, o...]",
        .attributes = WINDOW "kernel_shape:is?[1:] group:i=1[1:]",
        .defaults = "N=1 C=16 M=16 d...=32,32 k...=3,3 B",
        .flops = "2 * count(Y) * (C / group) * prod(k)",
        .reduction = "C / group * prod(k)",
        .bound = { .is_sum = true },
        .summary = "Convolution (cross-correlation) of N x C images with M filters, in groups of channels",
        .shape = opd_shape_conv,
    },
    {
        ONNX,
        .name = "AveragePool",
        .since_version = 22,
        .types = FLOATS,
        .signature = "X:T[N, C, d...] -> Y:T[N, C, o...]",
        .attributes = WINDOW "kernel_shape:is=[2,2][1:] ceil_mode:i=0[0|1] count_include_pad:i=0[0|1]",
        .defaults = "N=1 C=16 d...=32,32",
        .flops = "count(Y) * " KERNEL_COUNT,
        .reduction = KERNEL_COUNT,
        .bound = { .is_sum = true },
        .summary = "Mean of the window around each position",
        .shape = opd_shape_pool,
    },
    {
        ONNX,
        .name = "MaxPool",
        .since_version = 22,
        .types = FLOATS " i8 u8",
        .signature = "X:T[N, C, d...] -> Y:T[N, C, o...], Indices?:i64[N, C, o...]",
        .attributes = WINDOW "kernel_shape:is=[2,2][1:] ceil_mode:i=0[0|1] storage_order:i=0[0|1]",
        .defaults = "N=1 C=16 d...=32,32",
        .flops = "count(Y) * " KERNEL_COUNT,
        .reduction = "0",
        .summary = "Largest element of the window around each position, and where it is",
        .bound = { .kind = OPD_BOUND_BITS },
        .shape = opd_shape_pool,
    },
    {
        ONNX,
        .name = "GlobalAveragePool",
        .since_version = 22,
        .types = FLOATS,
        .signature = "X:T[N, C, d...] -> Y:T[N, C, o...]",
        .defaults = "N=1 C=16 d...=32,32",
        .flops = "count(X)",
        .reduction = "prod(d)",
        .bound = { .is_sum = true },
        .summary = "Mean of each channel",
        .shape = opd_shape_global_pool,
    },
    {
        ONNX,
        .name = "Attention",
        .since_version = 23,
        .types = FLOATS "; U: f32 f64 f16 bf16 bool",
        .signature =
            "Q:T[B, H?, S, " Q_WIDTH " * D], K:T[B, G?, L, " KV_WIDTH " * D], V:T[B, G?, L, " KV_WIDTH
            " * E], attn_mask?:U[B~, h~, S~, t~], past_key?:T[B, " KV_HEADS ", P, D], past_value?:T[B, " KV_HEADS
            ", P, E] -> Y:T[B, H?, S, " Q_WIDTH " * E], present_key?:T[B, " KV_HEADS ", " KEYS
            ", D], present_value?:T[B, " KV_HEADS ", " KEYS ", E], qk_matmul_output?:T[B, " Q_HEADS ", S, " KEYS "]",
        .attributes =
            "is_causal:i=0[0|1] kv_num_heads:i?[1:] q_num_heads:i?[1:] qk_matmul_output_mode:i=0[0|1|2|3] scale:f? softcap:f=0[0:]",
        .defaults = "B=1 H=4 G=4 D=64 E=64 h=1",
        .flops = "2 * B * S * (" KEYS ") * (has(H) ? H : q_num_heads) * (D + E)",
        .reduction = KEYS,
        .summary = "Scaled dot-product attention with mask, cache of keys and values, and grouped heads",
        .checkpoints = "scores weights",
        .shape = opd_shape_attention,
    },
    {
        FUSED,
        .name = "MatMulBiasGelu",
        .types = FLOATS,
        .signature = "X:T[r..., k], W:T[k, n], B?:T[n] -> Y:T[r..., n]",
        .attributes = "approximate:s=none|tanh",
        .defaults = "r...=1,128 B",
        .flops = "2 * count(Y) * k",
        .reduction = "k",
        .summary = "Gelu(X W + B)",
        .checkpoints = "product biased",
    },
    {
        FUSED,
        .name = "QkvProjection",
        .types = FLOATS,
        .signature = "X:T[r..., k], W:T[k, (q_num_heads + 2 * kv_num_heads) * d], "
                     "B?:T[(q_num_heads + 2 * kv_num_heads) * d] -> Q:T[r..., q_num_heads * d], "
                     "K:T[r..., kv_num_heads * d], V:T[r..., kv_num_heads * d]",
        .attributes = "q_num_heads:i=2[1:] kv_num_heads:i=1[1:]",
        .defaults = "r...=1,128 d=64 B",
        .flops = "2 * prod(r) * k * (q_num_heads + 2 * kv_num_heads) * d",
        .reduction = "k",
        .bound = { .is_sum = true },
        .summary = "X W + B cut by columns into the Q, K and V of attention: one product instead of three",
        .checkpoints = "product",
    },
    {
        FUSED,
        .name = "FusedAttention",
        .types = FLOATS,
        .signature = "Q:T[B, H, S, D], K:T[B, G, L, D], V:T[B, G, L, E], mask?:T[B~, H~, S~, L~] -> Y:T[B, H, S, E]",
        .attributes = "is_causal:i=0[0|1] scale:f?",
        .defaults = "B=1 H=4 G=4 D=64 E=64",
        .flops = "2 * B * H * S * L * (D + E)",
        .reduction = "L",
        .summary = "Attention by online softmax: memory beside the operands does not grow with S * L",
        .checkpoints = "scores weights",
        .shape = opd_shape_attention,
    },
};
const int opd_contracts_linear_count = (int)OPD_COUNT(opd_contracts_linear);
