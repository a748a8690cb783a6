/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of BLAS level 3.
 * source    netlib BLAS 3.11 reference; gemm3m and the letter R (conjugate without transposing): OpenBLAS.
 */
#include <opsdebug/memory.h>

#include "registry.h"

#define RUN_LEVEL3 .domain = "blas", .level = 3, .has_layout = true, .determinism = OPD_DETERMINISM_RUN

const opd_op opd_contracts_blas_level3[] = {
    {
        RUN_LEVEL3,
        .name = "gemm",
        .routines = "sgemm:f32 dgemm:f64 cgemm:c64 zgemm:c128",
        .signature = "A:T[t(transa) ? k : m, t(transa) ? m : k] ld(lda) if(alpha != 0 && n > 0), "
                     "B:T[t(transb) ? n : k, t(transb) ? k : n] ld(ldb) if(alpha != 0 && m > 0), "
                     "C:T[m, n] ld(ldc) if(beta != 0) -> C",
        .attributes = "transa:NTCR transb:NTCR alpha:T beta:T",
        .call = "transa transb m n k alpha A lda B ldb beta C ldc",
        .flops = "2 * m * n * k",
        .reduction = "k",
        .summary = "C = alpha op(A) op(B) + beta C",
    },
};
const int opd_contracts_blas_level3_count = (int)OPD_COUNT(opd_contracts_blas_level3);
