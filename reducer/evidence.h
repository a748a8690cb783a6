/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules of a diagnosis look at, and the rules over experiments and addresses, which stand in experiments.c.
 */
#ifndef OPD_REDUCER_EVIDENCE_H
#define OPD_REDUCER_EVIDENCE_H

#include <opsdebug/reduce.h>

typedef struct evidence {
    const opd_call *call;
    const opd_failure *seen;     /* what a replay observed when it failed, else the recorded failure */
    const opd_failure *observed; /* may be NULL */
    const opd_experiments *tried;
    opd_outcome outcome; /* recorded */
    bool has_health[OPD_MAX_OPERANDS];
    opd_health before[OPD_MAX_OPERANDS];
} evidence;

/* Fills label, confidence and reason when it applies. */
typedef bool rule_fn(opd_failure *out, const evidence *facts);

/* Returns true. */
bool opd_decide(opd_failure *out, const char *label, double confidence, const char *format, ...) OPD_PRINTF(4, 5);

rule_fn opd_rule_alias, opd_rule_race, opd_rule_stale_scratch, opd_rule_thread_dependent, opd_rule_isa_dependent,
    opd_rule_layout, opd_rule_low_prec_accum, opd_rule_cancellation;

#endif
