/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that move elements with their definitions and variants. */
#include <opsdebug/memory.h>

#include "kernel_lists.h"
#include "move.h"
#include "move_variants.h"

#define VARIANT(op, decline, bytes)                                                    \
    static const opd_variant op##_variants[] = { { .name = "portable",                 \
                                                   .isa = "",                          \
                                                   .declines = (decline),              \
                                                   .workspace = (bytes),               \
                                                   .run = opd_##op##_run,              \
                                                   .determinism = OPD_DETERMINISM_ISA, \
                                                   .widths = "tile=32 block=65536" } };

VARIANT(transpose, opd_move_declines, NULL)
VARIANT(reshape, opd_reshape_declines, NULL)
VARIANT(concat, opd_move_declines, NULL)
VARIANT(slice, opd_move_declines, NULL)
VARIANT(split, opd_move_declines, NULL)
VARIANT(expand, opd_move_declines, NULL)
VARIANT(gather, opd_move_declines_strides, NULL)
VARIANT(pad, opd_move_declines_strides, NULL)
VARIANT(resize, opd_resize_declines, opd_resize_bytes)

#define KERNEL(label, op)                                                                   \
    {                                                                                       \
        "ai.onnx", (label), opd_##op##_define, op##_variants, (int)OPD_COUNT(op##_variants) \
    }
const opd_kernel opd_kernels_move[] = {
    KERNEL("Transpose", transpose), KERNEL("Reshape", reshape), KERNEL("Concat", concat),
    KERNEL("Slice", slice),         KERNEL("Split", split),     KERNEL("Pad", pad),
    KERNEL("Gather", gather),       KERNEL("Expand", expand),   KERNEL("Resize", resize),
};
const int opd_kernels_move_count = (int)OPD_COUNT(opd_kernels_move);
