/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of BLAS level 2.
 *
 * gemv and gbmv with an empty matrix return before they scale y, whatever beta: y is then kept, which is why its
 * condition names m and n.
 * source    netlib BLAS 3.11 reference; the letter R (conjugate without transposing): OpenBLAS.
 */
#include <opsdebug/memory.h>

#include "registry.h"

#define RUN_LEVEL2 .domain = "blas", .level = 2, .has_layout = true, .determinism = OPD_DETERMINISM_RUN

const opd_op opd_contracts_blas_level2[] = {
    {
        RUN_LEVEL2,
        .name = "gemv",
        .routines = "sgemv:f32 dgemv:f64 cgemv:c64 zgemv:c128",
        .signature = "A:T[m, n] ld(lda) if(alpha != 0), "
                     "x:T[t(trans) ? m : n] inc(incx) if(alpha != 0 && m > 0 && n > 0), "
                     "y:T[t(trans) ? n : m] inc(incy) if(beta != 0 || m <= 0 || n <= 0) -> y",
        .attributes = "trans:NTCR alpha:T beta:T",
        .call = "trans m n alpha A lda x incx beta y incy",
        .flops = "2 * m * n",
        .reduction = "t(trans) ? m : n",
        .summary = "y = alpha op(A) x + beta y",
    },
    {
        RUN_LEVEL2,
        .name = "ger",
        .routines = "sger:f32 dger:f64",
        .signature = "x:T[m] inc(incx) if(alpha != 0 && n > 0), y:T[n] inc(incy) if(alpha != 0 && m > 0), "
                     "A:T[m, n] ld(lda) -> A",
        .attributes = "alpha:T",
        .call = "m n alpha x incx y incy A lda",
        .flops = "2 * m * n",
        .reduction = "1",
        .summary = "A = A + alpha x y'",
    },
};
const int opd_contracts_blas_level2_count = (int)OPD_COUNT(opd_contracts_blas_level2);
