/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the operators that move elements and what they decline. Private to kernels/move. */
#ifndef OPD_KERNELS_MOVE_VARIANTS_H
#define OPD_KERNELS_MOVE_VARIANTS_H

#include <opsdebug/kernel.h>

bool opd_move_is_contiguous(const opd_tensor *view);

/* Reasons, or NULL. */
const char *opd_move_declines(const opd_call *call);
const char *opd_move_declines_strides(const opd_call *call);
const char *opd_reshape_declines(const opd_call *call);
const char *opd_resize_declines(const opd_call *call);

typedef opd_status opd_move_run(const opd_call *call, const opd_workspace *workspace);
opd_move_run opd_transpose_run, opd_reshape_run, opd_concat_run, opd_slice_run, opd_split_run, opd_expand_run,
    opd_gather_run, opd_pad_run, opd_resize_run;

/* Bytes of the tables that a Resize looks its elements up in. */
size_t opd_resize_bytes(const opd_call *call, int32_t threads);

#endif
