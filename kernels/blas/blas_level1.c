/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of BLAS level 1. These routines check nothing: n <= 0 does no work, an increment of 0 repeats one element.
 * scal, asum and iamax do no work for inc <= 0, so no element of x exists for them then.
 *
 * nrm2 with a negative increment: up to LAPACK 3.9 (and OpenBLAS 0.3.23) no work and 0, since then the norm over |inc|.
 * The view holds the elements at |inc|, walked from the far end: legal to read under both.
 * source    netlib BLAS 3.11 reference; axpby: OpenBLAS.
 */
#include <opsdebug/memory.h>

#include "registry.h"

#define RUN_LEVEL1 .domain = "blas", .level = 1, .determinism = OPD_DETERMINISM_RUN

const opd_op opd_contracts_blas_level1[] = {
    {
        RUN_LEVEL1,
        .name = "scal",
        .routines = "sscal:f32 dscal:f64 cscal:c64 zscal:c128",
        .signature = "x:T[incx > 0 ? n : 0] inc(incx) -> x",
        .attributes = "alpha:T",
        .call = "n alpha x incx",
        .flops = "max(n, 0)",
        .reduction = "0",
        .summary = "x = alpha x",
    },
    {
        RUN_LEVEL1,
        .name = "dot",
        .routines = "sdot:f32 ddot:f64",
        .signature = "x:T[n] inc(incx), y:T[n] inc(incy) -> result:T[] return",
        .call = "n x incx y incy",
        .flops = "2 * max(n, 0)",
        .reduction = "max(n, 0)",
        .summary = "result = x' y",
    },
};
const int opd_contracts_blas_level1_count = (int)OPD_COUNT(opd_contracts_blas_level1);
