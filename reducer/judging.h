/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reduction in progress: the incumbent, what is known of the oracle's answers, and the only three things a pass may
 * do: try a candidate, ask about one without adopting it, commit a step.
 */
#ifndef OPD_JUDGING_H
#define OPD_JUDGING_H

#include <opsdebug/reduce.h>

#include "derive.h"
#include "ledger.h"

#define OPD_MAX_CLASSES 64
#define OPD_CASE_LIMIT  ((uint64_t)8 << 30) /* bytes of the operands of a candidate */

typedef struct opd_search_state {
    const opd_oracle *oracle;
    const opd_reduce_options *options;
    opd_reduce_report *report;
    opd_failure expected;
    opd_ledger *ledger;
    opd_case original;
    opd_case best;        /* incumbent, perhaps not yet committed */
    opd_case committed;   /* incumbent that held when read back from where accept wrote it */
    opd_failure observed; /* of best */
    opd_failure committed_observed;
    int32_t bad_arg; /* of the original: 0 = its arguments are legal */
    bool is_flaky;
    double anchor; /* flaky: lower bound of the original's rate */
    uint64_t max_runs;
    uint64_t answers;      /* of the oracle, made now or by an earlier search */
    uint64_t next_monitor; /* answers at which the incumbent is run again */
    bool is_spent;         /* the budget is used up: every question is answered with "no" */
    opd_status status;     /* first trouble that is not a verdict; ends the search */
    const char *pass;
    opd_focus focus; /* of best */
    bool has_focus;
    bool prefers_window;
    char classes[OPD_MAX_CLASSES][96]; /* by-catch handed out */
    int class_count;
} opd_search_state;

/* Judges candidate and adopts it as best when SAME; the candidate is consumed either way. */
bool opd_try(opd_search_state *state, opd_case *take_candidate);
/* Verdict of candidate without adopting it; not SAME when the budget is used up. */
opd_verdict opd_ask(opd_search_state *state, const opd_case *candidate, opd_failure *observed);
/* Writes best as a finished step and has it verified; false and best = the last committed case when it does not hold, or nothing changed. */
bool opd_commit(opd_search_state *state, const char *format, ...) OPD_PRINTF(2, 3);
/* May a pass go on? */
bool opd_may_go_on(const opd_search_state *state);

/* First runs of the original: fails at all, always, or at what rate. errors: E_NOFAILURE. */
opd_status opd_calibrate(opd_search_state *state);
/* Last runs: fills rate and rate_low of the report; false when the incumbent stopped failing always. */
bool opd_confirm(opd_search_state *state);

/* ------------------------------------------------------------------ passes; each returns whether it changed anything */

bool opd_pass_shapes(opd_search_state *state);
bool opd_pass_layout(opd_search_state *state);
bool opd_pass_attributes(opd_search_state *state);
/* Whole case to one value: when that holds, values do not matter. */
bool opd_pass_constants(opd_search_state *state);
bool opd_pass_values(opd_search_state *state);
/* Fills report.explain. */
void opd_explain(opd_search_state *state);

/* -------------------------------------------------------------------------------------------- shared by passes */

/* Sizes a pass may change: dimension symbols, then dimension attributes (band widths). */
typedef struct opd_sizes {
    int count;
    const char *name[OPD_MAX_SYMBOLS + OPD_MAX_ATTRS]; /* into the call */
    int64_t value[OPD_MAX_SYMBOLS + OPD_MAX_ATTRS];
    int64_t least[OPD_MAX_SYMBOLS + OPD_MAX_ATTRS];
} opd_sizes;
void opd_sizes_of(opd_sizes *out, opd_call *call);
/* best's call with other sizes; leading dimensions that were minimal stay so. false: not a call that can be made. */
bool opd_call_with_sizes(opd_call *out, const opd_search_state *state, const opd_sizes *sizes, const int64_t *value);

#endif
