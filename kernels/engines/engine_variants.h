/* SPDX-License-Identifier: Apache-2.0 */
/* What a variant of oneDNN is made of. Private to kernels/engines. */
#ifndef OPD_KERNELS_ENGINE_VARIANTS_H
#define OPD_KERNELS_ENGINE_VARIANTS_H

#include <opsdebug/kernel.h>

const char *opd_onednn_declines(const opd_call *call);
opd_status opd_onednn_run(const opd_call *call, const opd_workspace *workspace);

#endif
