/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of this folder with their definitions and variants. */
#include <opsdebug/memory.h>

#include "../kernel_lists.h"
#include "linear_define.h"
#include "linear_variants.h"

#define KERNEL(of, op, definition, table)                                                                    \
    {                                                                                                        \
        .domain = (of), .name = (op), .define = opd_define_##definition, .variants = opd_##table##_variants, \
        .variant_count = (int)OPD_COUNT(opd_##table##_variants)                                              \
    }

const opd_kernel opd_kernels_linear[] = {
    KERNEL("ai.onnx", "MatMul", matmul, matmul),
    KERNEL("ai.onnx", "Gemm", gemm, gemm),
    KERNEL("ai.onnx", "Conv", conv, conv),
    KERNEL("ai.onnx", "AveragePool", average_pool, average_pool),
    KERNEL("ai.onnx", "MaxPool", max_pool, max_pool),
    KERNEL("ai.onnx", "GlobalAveragePool", global_average_pool, global_average_pool),
    KERNEL("ai.onnx", "Attention", attention, attention),
    KERNEL("opsdebug", "MatMulBiasGelu", matmul_bias_gelu, matmul_bias_gelu),
    KERNEL("opsdebug", "QkvProjection", qkv, qkv),
    KERNEL("opsdebug", "FusedAttention", attention, fused_attention),
};
const int opd_kernels_linear_count = (int)OPD_COUNT(opd_kernels_linear);
