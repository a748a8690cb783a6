/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule a call was judged by, where that was not its operator's own bound: kept with it, so that a later run is judged alike. */
#ifndef OPD_CLI_RULING_H
#define OPD_CLI_RULING_H

#include <opsdebug/replay.h>

/*
 * kind of the event that says it: its value is the call's number, its name the rule and what that allows absolutely and relatively, "mixed 1e-05 0.001"; or
 * OPD_RULE_EXACT_DATA
 */
#define OPD_EVENT_RULE "rule"
/* the operator's own, on inputs that are small whole numbers: where sums are exact, every bit */
#define OPD_RULE_EXACT_DATA "exact-data"

typedef struct opd_ruling {
    char rule[24]; /* "" = the operator's own */
    double abs_err, rel_err;
} opd_ruling;

/* Of a call. */
void opd_ruling_read(opd_ruling *out, const opd_bundle *bundle, const opd_call *call);
/* Nothing where the operator's own bound decides. */
opd_status opd_ruling_write(opd_writer *writer, const opd_call *call, const opd_replay_options *way);
/* Has way judged by it, unless it names a rule already; ruling must live as long. */
void opd_ruling_apply(opd_replay_options *way, const opd_ruling *ruling);

#endif
