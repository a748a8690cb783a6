/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of OpenBLAS's scaled matrix copies. Their Fortran form takes the storage order as a character too. Releases up to
 * 0.3.21 reject rows = 0 and cols = 0; later ones return without work, which is what the contract takes as legal.
 *
 * imatcopy writes its result over its operand, with another leading dimension: B is the same pointer.
 * source    OpenBLAS interface/omatcopy.c, interface/imatcopy.c.
 */
#include <opsdebug/memory.h>

#include "registry.h"

#define MATRIX_COPY                                                                                                   \
    .domain = "blas", .level = 2, .has_layout = true, .has_order_argument = true, .determinism = OPD_DETERMINISM_ISA, \
    .attributes = "trans:NTCR alpha:T", .flops = "rows * cols", .reduction = "0"

const opd_op opd_contracts_blas_copy[] = {
    {
        MATRIX_COPY,
        .name = "omatcopy",
        .routines = "somatcopy:f32 domatcopy:f64 comatcopy:c64 zomatcopy:c128",
        .signature = "A:T[rows, cols] ld(lda) if(alpha != 0) -> "
                     "B:T[t(trans) ? cols : rows, t(trans) ? rows : cols] ld(ldb)",
        .call = "trans rows cols alpha A lda B ldb",
        .summary = "B = alpha op(A)",
    },
    {
        MATRIX_COPY,
        .name = "imatcopy",
        .routines = "simatcopy:f32 dimatcopy:f64 cimatcopy:c64 zimatcopy:c128",
        .signature = "A:T[rows, cols] ld(lda) if(alpha != 0) -> "
                     "B:T[t(trans) ? cols : rows, t(trans) ? rows : cols] ld(ldb) at(A)",
        .call = "trans rows cols alpha A lda ldb",
        .summary = "A = alpha op(A), in place",
    },
};
const int opd_contracts_blas_copy_count = (int)OPD_COUNT(opd_contracts_blas_copy);
