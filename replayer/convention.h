/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs in place against the reference by another rule than the operator's own bound. */
#ifndef OPD_REPLAYER_CONVENTION_H
#define OPD_REPLAYER_CONVENTION_H

#include "component.h"
#include "presets.h"

/* The rule of the job; NULL = none is asked for. */
const opd_rule *opd_convention_of(const opd_job *job);

/* A rule as it holds of one output, by the type of its elements. */
typedef struct opd_yardstick {
    const opd_rule *rule;
    double abs, rel, threshold;
} opd_yardstick;

void opd_yardstick_make(opd_yardstick *out, const opd_judge *judge, const opd_rule *rule, int operand);
/* Does an element pass? A rule that looks at the whole asks of each element only that its class is right. */
bool opd_yardstick_passes(const opd_yardstick *by, const opd_component *item, const long double *want,
                          long double gauge);
/* Needs the reference, and the naive values where the rule does. */
void opd_convention_judge(opd_opinion *out, const opd_judge *judge, const opd_rule *rule);

#endif
