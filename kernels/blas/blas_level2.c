/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of BLAS level 2.
 *
 * gemv and gbmv with an empty matrix return before they scale y, whatever beta: y is then kept, which is why its
 * condition names m and n.
 * The symmetric routines for complex T are auxiliaries of LAPACK (symv, spmv, syr, spr) and of OpenBLAS (sbmv, syr2, spr2).
 * source    netlib BLAS 3.11 reference, LAPACK 3.11 csymv.f and its siblings; the letter R (conjugate without transposing): OpenBLAS.
 */
#include <opsdebug/memory.h>

#include "registry.h"

#define LEVEL2 .domain = "blas", .level = 2, .has_layout = true, .determinism = OPD_DETERMINISM_RUN

const opd_op opd_contracts_blas_level2[] = {
    {
        LEVEL2,
        .name = "gemv",
        .routines = "sgemv:f32 dgemv:f64 cgemv:c64 zgemv:c128",
        .signature = "A:T[m, n] ld(lda) if(alpha != 0), "
                     "x:T[t(trans) ? m : n] inc(incx) if(alpha != 0 && m > 0 && n > 0), "
                     "y:T[t(trans) ? n : m] inc(incy) if(beta != 0 || m <= 0 || n <= 0) -> y",
        .attributes = "trans:NTCR alpha:T beta:T",
        .call = "trans m n alpha A lda x incx beta y incy",
        .flops = "2 * m * n",
        .reduction = "t(trans) ? m : n",
        .bound = { .is_sum = true },
        .summary = "y = alpha op(A) x + beta y",
    },
    {
        LEVEL2,
        .name = "gbmv",
        .routines = "sgbmv:f32 dgbmv:f64 cgbmv:c64 zgbmv:c128",
        .signature = "A:T[m, n] ld(lda) band(kl, ku) if(alpha != 0), "
                     "x:T[t(trans) ? m : n] inc(incx) if(alpha != 0 && m > 0 && n > 0), "
                     "y:T[t(trans) ? n : m] inc(incy) if(beta != 0 || m <= 0 || n <= 0) -> y",
        .attributes = "trans:NTCR kl:dim ku:dim alpha:T beta:T",
        .call = "trans m n kl ku alpha A lda x incx beta y incy",
        .flops = "2 * n * min(m, kl + ku + 1)",
        .reduction = "min(t(trans) ? m : n, kl + ku + 1)",
        .bound = { .is_sum = true },
        .summary = "y = alpha op(A) x + beta y, A a band",
    },
    {
        LEVEL2,
        .name = "ger",
        .routines = "sger:f32 dger:f64",
        .signature = "x:T[m] inc(incx) if(alpha != 0 && n > 0), y:T[n] inc(incy) if(alpha != 0 && m > 0), "
                     "A:T[m, n] ld(lda) -> A",
        .attributes = "alpha:T",
        .call = "m n alpha x incx y incy A lda",
        .flops = "2 * m * n",
        .reduction = "1",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x y'",
    },
    {
        LEVEL2,
        .name = "geru",
        .routines = "cgeru:c64 zgeru:c128",
        .signature = "x:T[m] inc(incx) if(alpha != 0 && n > 0), y:T[n] inc(incy) if(alpha != 0 && m > 0), "
                     "A:T[m, n] ld(lda) -> A",
        .attributes = "alpha:T",
        .call = "m n alpha x incx y incy A lda",
        .flops = "2 * m * n",
        .reduction = "1",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x y'",
    },
    {
        LEVEL2,
        .name = "gerc",
        .routines = "cgerc:c64 zgerc:c128",
        .signature = "x:T[m] inc(incx) if(alpha != 0 && n > 0), y:T[n] inc(incy) if(alpha != 0 && m > 0), "
                     "A:T[m, n] ld(lda) -> A",
        .attributes = "alpha:T",
        .call = "m n alpha x incx y incy A lda",
        .flops = "2 * m * n",
        .reduction = "1",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x conj(y)'",
    },
    {
        LEVEL2,
        .name = "symv",
        .routines = "ssymv:f32 dsymv:f64 csymv:c64 zsymv:c128",
        .is_complex_fortran_only = true,
        .signature = "A:T[n, n] ld(lda) tri(uplo) if(alpha != 0), "
                     "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(beta != 0) -> y",
        .attributes = "uplo:UL alpha:T beta:T",
        .call = "uplo n alpha A lda x incx beta y incy",
        .flops = "2 * n * n",
        .reduction = "n",
        .bound = { .is_sum = true },
        .summary = "y = alpha A x + beta y, A symmetric",
    },
    {
        LEVEL2,
        .name = "hemv",
        .routines = "chemv:c64 zhemv:c128",
        .signature = "A:T[n, n] ld(lda) tri(uplo) if(alpha != 0), "
                     "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(beta != 0) -> y",
        .attributes = "uplo:UL alpha:T beta:T",
        .call = "uplo n alpha A lda x incx beta y incy",
        .flops = "2 * n * n",
        .reduction = "n",
        .bound = { .is_sum = true },
        .summary = "y = alpha A x + beta y, A hermitian",
    },
    {
        LEVEL2,
        .name = "sbmv",
        .routines = "ssbmv:f32 dsbmv:f64 csbmv:c64 zsbmv:c128",
        .is_complex_fortran_only = true,
        .signature = "A:T[n, n] ld(lda) band(uplo == 'U' ? 0 : k, uplo == 'U' ? k : 0) if(alpha != 0), "
                     "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(beta != 0) -> y",
        .attributes = "uplo:UL k:dim alpha:T beta:T",
        .call = "uplo n k alpha A lda x incx beta y incy",
        .flops = "2 * n * min(n, 2 * k + 1)",
        .reduction = "min(n, 2 * k + 1)",
        .bound = { .is_sum = true },
        .summary = "y = alpha A x + beta y, A a symmetric band",
    },
    {
        LEVEL2,
        .name = "hbmv",
        .routines = "chbmv:c64 zhbmv:c128",
        .signature = "A:T[n, n] ld(lda) band(uplo == 'U' ? 0 : k, uplo == 'U' ? k : 0) if(alpha != 0), "
                     "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(beta != 0) -> y",
        .attributes = "uplo:UL k:dim alpha:T beta:T",
        .call = "uplo n k alpha A lda x incx beta y incy",
        .flops = "2 * n * min(n, 2 * k + 1)",
        .reduction = "min(n, 2 * k + 1)",
        .bound = { .is_sum = true },
        .summary = "y = alpha A x + beta y, A a hermitian band",
    },
    {
        LEVEL2,
        .name = "spmv",
        .routines = "sspmv:f32 dspmv:f64 cspmv:c64 zspmv:c128",
        .is_complex_fortran_only = true,
        .signature = "AP:T[n, n] packed(uplo) if(alpha != 0), "
                     "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(beta != 0) -> y",
        .attributes = "uplo:UL alpha:T beta:T",
        .call = "uplo n alpha AP x incx beta y incy",
        .flops = "2 * n * n",
        .reduction = "n",
        .bound = { .is_sum = true },
        .summary = "y = alpha A x + beta y, A symmetric and packed",
    },
    {
        LEVEL2,
        .name = "hpmv",
        .routines = "chpmv:c64 zhpmv:c128",
        .signature = "AP:T[n, n] packed(uplo) if(alpha != 0), "
                     "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(beta != 0) -> y",
        .attributes = "uplo:UL alpha:T beta:T",
        .call = "uplo n alpha AP x incx beta y incy",
        .flops = "2 * n * n",
        .reduction = "n",
        .bound = { .is_sum = true },
        .summary = "y = alpha A x + beta y, A hermitian and packed",
    },
    {
        LEVEL2,
        .name = "syr",
        .routines = "ssyr:f32 dsyr:f64 csyr:c64 zsyr:c128",
        .is_complex_fortran_only = true,
        .signature = "x:T[n] inc(incx) if(alpha != 0), "
                     "A:T[n, n] ld(lda) tri(uplo) -> A",
        .attributes = "uplo:UL alpha:T",
        .call = "uplo n alpha x incx A lda",
        .flops = "n * (n + 1)",
        .reduction = "1",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x x'",
    },
    {
        LEVEL2,
        .name = "her",
        .routines = "cher:c64 zher:c128",
        .signature = "x:T[n] inc(incx) if(alpha != 0), "
                     "A:T[n, n] ld(lda) tri(uplo) -> A",
        .attributes = "uplo:UL alpha:R",
        .call = "uplo n alpha x incx A lda",
        .flops = "n * (n + 1)",
        .reduction = "1",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x conj(x)'",
    },
    {
        LEVEL2,
        .name = "spr",
        .routines = "sspr:f32 dspr:f64 cspr:c64 zspr:c128",
        .is_complex_fortran_only = true,
        .signature = "x:T[n] inc(incx) if(alpha != 0), "
                     "AP:T[n, n] packed(uplo) -> AP",
        .attributes = "uplo:UL alpha:T",
        .call = "uplo n alpha x incx AP",
        .flops = "n * (n + 1)",
        .reduction = "1",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x x', A packed",
    },
    {
        LEVEL2,
        .name = "hpr",
        .routines = "chpr:c64 zhpr:c128",
        .signature = "x:T[n] inc(incx) if(alpha != 0), "
                     "AP:T[n, n] packed(uplo) -> AP",
        .attributes = "uplo:UL alpha:R",
        .call = "uplo n alpha x incx AP",
        .flops = "n * (n + 1)",
        .reduction = "1",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x conj(x)', A packed",
    },
    {
        LEVEL2,
        .name = "syr2",
        .routines = "ssyr2:f32 dsyr2:f64 csyr2:c64 zsyr2:c128",
        .is_complex_fortran_only = true,
        .signature = "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(alpha != 0), "
                     "A:T[n, n] ld(lda) tri(uplo) -> A",
        .attributes = "uplo:UL alpha:T",
        .call = "uplo n alpha x incx y incy A lda",
        .flops = "2 * n * (n + 1)",
        .reduction = "2",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x y' + alpha y x'",
    },
    {
        LEVEL2,
        .name = "her2",
        .routines = "cher2:c64 zher2:c128",
        .signature = "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(alpha != 0), "
                     "A:T[n, n] ld(lda) tri(uplo) -> A",
        .attributes = "uplo:UL alpha:T",
        .call = "uplo n alpha x incx y incy A lda",
        .flops = "2 * n * (n + 1)",
        .reduction = "2",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x conj(y)' + conj(alpha) y conj(x)'",
    },
    {
        LEVEL2,
        .name = "spr2",
        .routines = "sspr2:f32 dspr2:f64 cspr2:c64 zspr2:c128",
        .is_complex_fortran_only = true,
        .signature = "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(alpha != 0), "
                     "AP:T[n, n] packed(uplo) -> AP",
        .attributes = "uplo:UL alpha:T",
        .call = "uplo n alpha x incx y incy AP",
        .flops = "2 * n * (n + 1)",
        .reduction = "2",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x y' + alpha y x', A packed",
    },
    {
        LEVEL2,
        .name = "hpr2",
        .routines = "chpr2:c64 zhpr2:c128",
        .signature = "x:T[n] inc(incx) if(alpha != 0), y:T[n] inc(incy) if(alpha != 0), "
                     "AP:T[n, n] packed(uplo) -> AP",
        .attributes = "uplo:UL alpha:T",
        .call = "uplo n alpha x incx y incy AP",
        .flops = "2 * n * (n + 1)",
        .reduction = "2",
        .bound = { .is_sum = true },
        .summary = "A = A + alpha x conj(y)' + conj(alpha) y conj(x)', A packed",
    },
    {
        LEVEL2,
        .name = "trmv",
        .routines = "strmv:f32 dtrmv:f64 ctrmv:c64 ztrmv:c128",
        .signature = "A:T[n, n] ld(lda) tri(uplo, diag), "
                     "x:T[n] inc(incx) -> x",
        .attributes = "uplo:UL trans:NTCR diag:NU",
        .call = "uplo trans diag n A lda x incx",
        .flops = "n * n",
        .reduction = "n",
        .bound = { .is_sum = true },
        .summary = "x = op(A) x, A triangular",
    },
    {
        LEVEL2,
        .name = "trsv",
        .routines = "strsv:f32 dtrsv:f64 ctrsv:c64 ztrsv:c128",
        .signature = "A:T[n, n] ld(lda) tri(uplo, diag), "
                     "x:T[n] inc(incx) -> x",
        .attributes = "uplo:UL trans:NTCR diag:NU",
        .call = "uplo trans diag n A lda x incx",
        .flops = "n * n",
        .reduction = "n",
        .divisor = "A",
        .summary = "op(A) x = x solved, A triangular",
    },
    {
        LEVEL2,
        .name = "tbmv",
        .routines = "stbmv:f32 dtbmv:f64 ctbmv:c64 ztbmv:c128",
        .signature = "A:T[n, n] ld(lda) band(uplo == 'U' ? 0 : k, uplo == 'U' ? k : 0, diag), "
                     "x:T[n] inc(incx) -> x",
        .attributes = "uplo:UL trans:NTCR diag:NU k:dim",
        .call = "uplo trans diag n k A lda x incx",
        .flops = "2 * n * min(n, k + 1)",
        .reduction = "min(n, k + 1)",
        .bound = { .is_sum = true },
        .summary = "x = op(A) x, A triangular, A a band",
    },
    {
        LEVEL2,
        .name = "tbsv",
        .routines = "stbsv:f32 dtbsv:f64 ctbsv:c64 ztbsv:c128",
        .signature = "A:T[n, n] ld(lda) band(uplo == 'U' ? 0 : k, uplo == 'U' ? k : 0, diag), "
                     "x:T[n] inc(incx) -> x",
        .attributes = "uplo:UL trans:NTCR diag:NU k:dim",
        .call = "uplo trans diag n k A lda x incx",
        .flops = "2 * n * min(n, k + 1)",
        .reduction = "min(n, k + 1)",
        .divisor = "A",
        .summary = "op(A) x = x solved, A triangular, A a band",
    },
    {
        LEVEL2,
        .name = "tpmv",
        .routines = "stpmv:f32 dtpmv:f64 ctpmv:c64 ztpmv:c128",
        .signature = "AP:T[n, n] packed(uplo, diag), "
                     "x:T[n] inc(incx) -> x",
        .attributes = "uplo:UL trans:NTCR diag:NU",
        .call = "uplo trans diag n AP x incx",
        .flops = "n * n",
        .reduction = "n",
        .bound = { .is_sum = true },
        .summary = "x = op(A) x, A triangular, A packed",
    },
    {
        LEVEL2,
        .name = "tpsv",
        .routines = "stpsv:f32 dtpsv:f64 ctpsv:c64 ztpsv:c128",
        .signature = "AP:T[n, n] packed(uplo, diag), "
                     "x:T[n] inc(incx) -> x",
        .attributes = "uplo:UL trans:NTCR diag:NU",
        .call = "uplo trans diag n AP x incx",
        .flops = "n * n",
        .reduction = "n",
        .divisor = "AP",
        .summary = "op(A) x = x solved, A triangular, A packed",
    },
};
const int opd_contracts_blas_level2_count = (int)OPD_COUNT(opd_contracts_blas_level2);
