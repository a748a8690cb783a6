/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of a call as PyTorch computes them, in a process of its own. */
#ifndef OPD_CLI_TORCH_H
#define OPD_CLI_TORCH_H

#include <opsdebug/bundle.h>

/*
 * out->call is item's, its outputs with memory.
 * errors    E_UNSUPPORTED PyTorch is not installed (the text says how), or cannot do the call; E_CHILD the helper failed.
 */
opd_status opd_torch_run(opd_case *out, const opd_case *item);

#endif
