/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs in place against the reference by another rule than the operator's own bound. */
#ifndef OPD_REPLAYER_CONVENTION_H
#define OPD_REPLAYER_CONVENTION_H

#include "judge.h"
#include "presets.h"

/* The rule of the job; NULL = none is asked for. */
const opd_rule *opd_convention_of(const opd_job *job);
/* Needs the reference, and the naive values where the rule does. */
void opd_convention_judge(opd_opinion *out, const opd_judge *judge, const opd_rule *rule);

#endif
