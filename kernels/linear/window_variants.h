/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of window variants share. Private to kernels/linear. */
#ifndef OPD_KERNELS_WINDOW_VARIANTS_H
#define OPD_KERNELS_WINDOW_VARIANTS_H

#include <string.h>

#include <opsdebug/memory.h>

#include "linear_variants.h"
#include "window_engine.h"

/* MaxPool of every dtype, with Indices. */
opd_status opd_max_pool_run_portable(const opd_call *call, const opd_workspace *workspace);

#endif
