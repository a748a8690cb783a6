/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that oneDNN computes too. */
#include <opsdebug/memory.h>

#include "engine_variants.h"
#include "kernel_lists.h"

#if defined(OPD_HAVE_DNNL)
static const opd_variant onednn[] = {
    { .name = "onednn",
      .isa = "",
      .declines = opd_onednn_declines,
      .run = opd_onednn_run,
      .determinism = OPD_DETERMINISM_RUN,
      .is_library = true,
      .allocates = true },
};

const opd_kernel opd_kernels_engines[] = {
#define OPD_RECIPE(op, make) { .domain = "ai.onnx", .name = #op, .variants = onednn, .variant_count = 1 },
#include "onednn.def"
#undef OPD_RECIPE
};
const int opd_kernels_engines_count = (int)OPD_COUNT(opd_kernels_engines);
#else
const opd_kernel opd_kernels_engines[1];
const int opd_kernels_engines_count = 0;
#endif
