/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of BLAS level 3.
 * source    netlib BLAS 3.11 reference; gemm3m and the letter R (conjugate without transposing): OpenBLAS.
 */
#include <opsdebug/memory.h>

#include "registry.h"

#define LEVEL3 .domain = "blas", .level = 3, .has_layout = true, .determinism = OPD_DETERMINISM_RUN

const opd_op opd_contracts_blas_level3[] = {
    {
        LEVEL3,
        .name = "gemm",
        .routines = "sgemm:f32 dgemm:f64 cgemm:c64 zgemm:c128",
        .signature = "A:T[t(transa) ? k : m, t(transa) ? m : k] ld(lda) if(alpha != 0 && n > 0), "
                     "B:T[t(transb) ? n : k, t(transb) ? k : n] ld(ldb) if(alpha != 0 && m > 0), "
                     "C:T[m, n] ld(ldc) if(beta != 0) -> C",
        .attributes = "transa:NTCR transb:NTCR alpha:T beta:T",
        .call = "transa transb m n k alpha A lda B ldb beta C ldc",
        .flops = "2 * m * n * k",
        .reduction = "k",
        .bound = { .is_sum = true },
        .summary = "C = alpha op(A) op(B) + beta C",
    },
    {
        LEVEL3,
        .name = "gemm3m",
        .routines = "cgemm3m:c64 zgemm3m:c128",
        .signature = "A:T[t(transa) ? k : m, t(transa) ? m : k] ld(lda) if(alpha != 0 && n > 0), "
                     "B:T[t(transb) ? n : k, t(transb) ? k : n] ld(ldb) if(alpha != 0 && m > 0), "
                     "C:T[m, n] ld(ldc) if(beta != 0) -> C",
        .attributes = "transa:NTCR transb:NTCR alpha:T beta:T",
        .call = "transa transb m n k alpha A lda B ldb beta C ldc",
        .flops = "2 * m * n * k",
        .reduction = "k",
        .bound = { .is_sum = true },
        .summary = "C = alpha op(A) op(B) + beta C with 3 real products",
    },
    {
        LEVEL3,
        .name = "symm",
        .routines = "ssymm:f32 dsymm:f64 csymm:c64 zsymm:c128",
        .signature = "A:T[side == 'L' ? m : n, side == 'L' ? m : n] ld(lda) tri(uplo) "
                     "if(alpha != 0 && m > 0 && n > 0), B:T[m, n] ld(ldb) if(alpha != 0), "
                     "C:T[m, n] ld(ldc) if(beta != 0) -> C",
        .attributes = "side:LR uplo:UL alpha:T beta:T",
        .call = "side uplo m n alpha A lda B ldb beta C ldc",
        .flops = "2 * m * n * (side == 'L' ? m : n)",
        .reduction = "side == 'L' ? m : n",
        .bound = { .is_sum = true },
        .summary = "C = alpha A B + beta C or alpha B A + beta C, A symmetric",
    },
    {
        LEVEL3,
        .name = "hemm",
        .routines = "chemm:c64 zhemm:c128",
        .signature = "A:T[side == 'L' ? m : n, side == 'L' ? m : n] ld(lda) tri(uplo) "
                     "if(alpha != 0 && m > 0 && n > 0), B:T[m, n] ld(ldb) if(alpha != 0), "
                     "C:T[m, n] ld(ldc) if(beta != 0) -> C",
        .attributes = "side:LR uplo:UL alpha:T beta:T",
        .call = "side uplo m n alpha A lda B ldb beta C ldc",
        .flops = "2 * m * n * (side == 'L' ? m : n)",
        .reduction = "side == 'L' ? m : n",
        .bound = { .is_sum = true },
        .summary = "C = alpha A B + beta C or alpha B A + beta C, A hermitian",
    },
    {
        LEVEL3,
        .name = "syrk",
        .routines = "ssyrk:f32 dsyrk:f64 csyrk:c64 zsyrk:c128",
        .signature = "A:T[t(trans) ? k : n, t(trans) ? n : k] ld(lda) if(alpha != 0), "
                     "C:T[n, n] ld(ldc) tri(uplo) if(beta != 0) -> C",
        .attributes = "uplo:UL trans:NTC/NT alpha:T beta:T",
        .call = "uplo trans n k alpha A lda beta C ldc",
        .flops = "n * (n + 1) * k",
        .reduction = "k",
        .bound = { .is_sum = true },
        .summary = "C = alpha A A' + beta C",
    },
    {
        LEVEL3,
        .name = "herk",
        .routines = "cherk:c64 zherk:c128",
        .signature = "A:T[t(trans) ? k : n, t(trans) ? n : k] ld(lda) if(alpha != 0), "
                     "C:T[n, n] ld(ldc) tri(uplo) if(beta != 0) -> C",
        .attributes = "uplo:UL trans:NC alpha:R beta:R",
        .call = "uplo trans n k alpha A lda beta C ldc",
        .flops = "n * (n + 1) * k",
        .reduction = "k",
        .bound = { .is_sum = true },
        .summary = "C = alpha A conj(A)' + beta C",
    },
    {
        LEVEL3,
        .name = "syr2k",
        .routines = "ssyr2k:f32 dsyr2k:f64 csyr2k:c64 zsyr2k:c128",
        .signature = "A:T[t(trans) ? k : n, t(trans) ? n : k] ld(lda) if(alpha != 0), "
                     "B:T[t(trans) ? k : n, t(trans) ? n : k] ld(ldb) if(alpha != 0), "
                     "C:T[n, n] ld(ldc) tri(uplo) if(beta != 0) -> C",
        .attributes = "uplo:UL trans:NTC/NT alpha:T beta:T",
        .call = "uplo trans n k alpha A lda B ldb beta C ldc",
        .flops = "2 * n * (n + 1) * k",
        .reduction = "2 * k",
        .bound = { .is_sum = true },
        .summary = "C = alpha A B' + alpha B A' + beta C",
    },
    {
        LEVEL3,
        .name = "her2k",
        .routines = "cher2k:c64 zher2k:c128",
        .signature = "A:T[t(trans) ? k : n, t(trans) ? n : k] ld(lda) if(alpha != 0), "
                     "B:T[t(trans) ? k : n, t(trans) ? n : k] ld(ldb) if(alpha != 0), "
                     "C:T[n, n] ld(ldc) tri(uplo) if(beta != 0) -> C",
        .attributes = "uplo:UL trans:NC alpha:T beta:R",
        .call = "uplo trans n k alpha A lda B ldb beta C ldc",
        .flops = "2 * n * (n + 1) * k",
        .reduction = "2 * k",
        .bound = { .is_sum = true },
        .summary = "C = alpha A conj(B)' + conj(alpha) B conj(A)' + beta C",
    },
    {
        LEVEL3,
        .name = "trmm",
        .routines = "strmm:f32 dtrmm:f64 ctrmm:c64 ztrmm:c128",
        .signature = "A:T[side == 'L' ? m : n, side == 'L' ? m : n] ld(lda) tri(uplo, diag) "
                     "if(alpha != 0 && m > 0 && n > 0), B:T[m, n] ld(ldb) if(alpha != 0) -> B",
        .attributes = "side:LR uplo:UL transa:NTCR diag:NU alpha:T",
        .call = "side uplo transa diag m n alpha A lda B ldb",
        .flops = "m * n * (side == 'L' ? m : n)",
        .reduction = "side == 'L' ? m : n",
        .bound = { .is_sum = true },
        .summary = "B = alpha op(A) B or alpha B op(A), A triangular",
    },
    {
        LEVEL3,
        .name = "trsm",
        .routines = "strsm:f32 dtrsm:f64 ctrsm:c64 ztrsm:c128",
        .signature = "A:T[side == 'L' ? m : n, side == 'L' ? m : n] ld(lda) tri(uplo, diag) "
                     "if(alpha != 0 && m > 0 && n > 0), B:T[m, n] ld(ldb) if(alpha != 0) -> B",
        .attributes = "side:LR uplo:UL transa:NTCR diag:NU alpha:T",
        .call = "side uplo transa diag m n alpha A lda B ldb",
        .flops = "m * n * (side == 'L' ? m : n)",
        .reduction = "side == 'L' ? m : n",
        .divisor = "A",
        .summary = "op(A) X = alpha B or X op(A) = alpha B solved, A triangular",
    },
};
const int opd_contracts_blas_level3_count = (int)OPD_COUNT(opd_contracts_blas_level3);
