/* SPDX-License-Identifier: Apache-2.0 */
/* What the variants of reduce/ are made of, and the table that lists them. Private to the folder. */
#ifndef OPD_KERNELS_REDUCE_VARIANTS_H
#define OPD_KERNELS_REDUCE_VARIANTS_H

#include <opsdebug/kernel.h>

#include "../rows/rows_call.h"
#include "integers.h"

opd_status opd_reduce_floats(const opd_call *call, const opd_workspace *workspace, opd_reduction kind,
                             opd_rows_finder *rows);
opd_status opd_reduce_integers(const opd_call *call, const opd_workspace *workspace, opd_reduction kind);
opd_status opd_arg_extreme(const opd_call *call, const opd_workspace *workspace, bool is_largest,
                           opd_rows_finder *rows);
opd_status opd_cumulative_sum(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows);
size_t opd_top_k_workspace(const opd_call *call, int32_t threads);
opd_status opd_top_k(const opd_call *call, const opd_workspace *workspace);

#endif
