/* SPDX-License-Identifier: Apache-2.0 */
/* Inner stages of a variant, held against those of the definition. */
#ifndef OPD_REPLAYER_STAGE_LOG_H
#define OPD_REPLAYER_STAGE_LOG_H

#include <opsdebug/kernel.h>

#include "job.h"

/*
 * Runs the variant and the definition, wide and narrow, on call's operands with tracepoints on, and fills result's stages. Outputs are overwritten.
 * wanted: names of the contract's checkpoints, "a b"; "" = all.
 * errors    E_NOMEM; a variant that declines or fails now leaves its stages unreported.
 */
opd_status opd_stages_hold(opd_replay_result *result, const opd_call *call, const opd_variant *variant,
                           const char *wanted);

#endif
