/* SPDX-License-Identifier: Apache-2.0 */
/* What the variants of this folder share: engines by instruction set, reasons to decline, Gelu of a row. Private to kernels/linear. */
#ifndef OPD_KERNELS_LINEAR_VARIANTS_H
#define OPD_KERNELS_LINEAR_VARIANTS_H

#include "gemm.h"
#include "linear_shapes.h"

#define OPD_ISA_AVX2   "avx2 fma f16c"
#define OPD_ISA_AVX512 "avx512f avx512bw avx512dq avx512vl fma f16c"

/* Why the kernels here cannot read the operands; NULL = they can: contiguous views. A call of NULL has none. */
const char *opd_declines_strides(const opd_call *call);
/* The same, and integers. */
const char *opd_declines_integers(const opd_call *call);

size_t opd_gemm_workspace_of(const opd_call *call, int32_t threads);
/* The product of the widest instruction set here. */
opd_gemm_run *opd_gemm_best(void);
/* Integers of 32 and 64 bits, modulo 2^32 and 2^64; fill and finish are not looked at. */
opd_gemm_run opd_gemm_run_integer;

static inline void *opd_data(const opd_call *call, int index)
{
    return call->operands[index].view.data;
}

/* Address of an element. */
static inline const void *opd_at(const void *data, opd_dtype dtype, int64_t index)
{
    return (const char *)data + index * (int64_t)opd_dtype_size(dtype);
}

/* gemm of a call of Gemm with its operands. */
opd_gemm opd_gemm_of_call(const opd_call *call);

/* Each table's length is part of its type: a definition of another length does not compile. */
enum {
    OPD_PRODUCT_VARIANTS = 6,
    OPD_CONV_VARIANTS = 8,
    OPD_POOL_VARIANTS = 3,
    OPD_FUSED_VARIANTS = 4,
    OPD_ATTENTION_VARIANTS = 4,
};
extern const opd_variant opd_matmul_variants[OPD_PRODUCT_VARIANTS], opd_gemm_variants[OPD_PRODUCT_VARIANTS];
extern const opd_variant opd_conv_variants[OPD_CONV_VARIANTS];
extern const opd_variant opd_average_pool_variants[OPD_POOL_VARIANTS], opd_max_pool_variants[OPD_POOL_VARIANTS],
    opd_global_average_pool_variants[OPD_POOL_VARIANTS];
extern const opd_variant opd_matmul_bias_gelu_variants[OPD_FUSED_VARIANTS], opd_qkv_variants[OPD_FUSED_VARIANTS];
extern const opd_variant opd_attention_variants[OPD_ATTENTION_VARIANTS],
    opd_fused_attention_variants[OPD_ATTENTION_VARIANTS];

#endif
