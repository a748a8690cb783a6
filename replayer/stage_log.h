/* SPDX-License-Identifier: Apache-2.0 */
/* Inner stages of a variant, held against those of the definition. */
#ifndef OPD_REPLAYER_STAGE_LOG_H
#define OPD_REPLAYER_STAGE_LOG_H

#include <opsdebug/kernel.h>

#include "job.h"

/*
 * Runs the variant and the definition, wide and narrow, on call's operands with tracepoints on, and fills stages of the job's result. Outputs are overwritten.
 * Those that the job names ("a b"; "" = all of the contract's).
 * errors    E_NOMEM; a variant that declines or fails now leaves its stages unreported.
 */
opd_status opd_stages_hold(opd_job *job, const opd_call *call, const opd_variant *variant);

#endif
