/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions of this folder's operators, and the sum of products they share. Private to kernels/linear. */
#ifndef OPD_KERNELS_LINEAR_DEFINE_H
#define OPD_KERNELS_LINEAR_DEFINE_H

#include <string.h>

#include "../definition_range.h"
#include "../stage_memory.h"
#include "linear_shapes.h"

/* A value and the sum of the absolute values of its terms. */
typedef struct opd_sum {
    long double value, gauge;
} opd_sum;

typedef struct opd_terms {
    const long double *at;
    int64_t step;
} opd_terms;

/* sum of a[i] b[i] in order, each operation rounded; an integer dtype wraps. */
opd_sum opd_dot(const opd_definition_work *work, opd_terms a, opd_terms b, int64_t count);

opd_definition opd_define_matmul, opd_define_gemm, opd_define_matmul_bias_gelu, opd_define_qkv, opd_define_conv,
    opd_define_average_pool, opd_define_max_pool, opd_define_global_average_pool, opd_define_attention;

#endif
