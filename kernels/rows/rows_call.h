/* SPDX-License-Identifier: Apache-2.0 */
/* What variants built on rows.h share: what they decline, their instruction sets, and how the work is parted. Private to kernels/. */
#ifndef OPD_KERNELS_ROWS_CALL_H
#define OPD_KERNELS_ROWS_CALL_H

#include <opsdebug/kernel.h>

#include "rows.h"

#define OPD_ISA_AVX2   "avx2 fma f16c"
#define OPD_ISA_AVX512 "avx512f avx512bw avx512dq avx512vl"

typedef const opd_rows *opd_rows_finder(opd_dtype dtype);

/* A reason when an operand is not contiguous; NULL = all are. */
const char *opd_rows_decline(const opd_call *call);
/* Also when T is not floating point. */
const char *opd_rows_decline_integers(const opd_call *call);
/* Parts of the work for some threads: a few for each, so that a slow thread holds up little. */
int64_t opd_rows_parts(int32_t threads);
/* Is an output, written in rows of `row` elements, large enough to be written around the caches? */
bool opd_rows_stream(const opd_tensor *output, int64_t row);

#endif
