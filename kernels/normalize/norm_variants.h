/* SPDX-License-Identifier: Apache-2.0 */
/* What the variants of normalize/ are made of: run and workspace functions by operator. Private to the folder. */
#ifndef OPD_KERNELS_NORM_VARIANTS_H
#define OPD_KERNELS_NORM_VARIANTS_H

#include <opsdebug/kernel.h>

#include "../rows/rows_call.h"

/* How one of the operators reads its call. */
typedef enum opd_norm_kind {
    OPD_NORM_LAYER,
    OPD_NORM_RMS,
    OPD_NORM_GROUP,
    OPD_NORM_INSTANCE,
    OPD_NORM_BIAS, /* LayerNormBias */
    OPD_NORM_ADD,  /* AddLayerNorm */
} opd_norm_kind;

/* Norms of contiguous lines. is_chain: the sum of a fused operator is made whole first, in the workspace. */
opd_status opd_norm_lines(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows,
                          opd_norm_kind kind, bool is_chain);
size_t opd_norm_lines_bytes(const opd_call *call, int32_t threads, opd_norm_kind kind, bool is_chain);
/* A reason when scale or bias are not one number for each element of a line. */
const char *opd_norm_lines_decline(const opd_call *call);

opd_status opd_batch_norm(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows);
size_t opd_batch_norm_bytes(const opd_call *call, int32_t threads);

opd_status opd_softmax(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows, bool is_log);
size_t opd_softmax_bytes(const opd_call *call, int32_t threads, bool is_log);

opd_status opd_lp_norm(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows);
size_t opd_lp_norm_bytes(const opd_call *call, int32_t threads);

opd_status opd_window_l2(const opd_call *call, const opd_workspace *workspace, opd_rows_finder *rows, bool is_chain);
size_t opd_window_l2_bytes(const opd_call *call, int32_t threads, bool is_chain);

#endif
