// SPDX-License-Identifier: Apache-2.0
// Reduction: calibrate, then the passes in order, again until a whole sweep changes nothing. The last sweep is the
// certificate: it asks about every single-step neighbour of the final form, from the ledger where the answer is known.
#include <stdio.h>
#include <string.h>

#include "judging.h"

enum {
    DEFAULT_SWEEPS = 100,
    DEFAULT_RUNS = 2000,
};

typedef bool pass_fn(opd_search_state *state);
static pass_fn *const passes[] = { opd_pass_constants, opd_pass_shapes, opd_pass_layout, opd_pass_attributes,
                                   opd_pass_values };

static opd_status start(opd_search_state *state, const opd_case *item)
{
    opd_call call = item->call;
    char text[256];
    char section[96];
    char id[OPD_DIGEST_TEXT];
    const opd_operand *overflow = NULL;
    state->bad_arg = opd_call_check(&call, text, sizeof(text), &overflow) ? 0 : call.bad_arg;
    opd_digest digest = opd_case_id(item);
    opd_digest_print(id, &digest);
    snprintf(section, sizeof(section), "%s %s %s", id, opd_outcome_name(state->expected.outcome),
             state->expected.operand);
    opd_status status = opd_ledger_open(&state->ledger, state->options->log_path, section);
    if (status == OPD_OK) {
        status = opd_case_copy(&state->best, item);
    }
    if (status == OPD_OK) {
        opd_case_refresh(&state->best);
        status = opd_case_copy(&state->original, &state->best);
    }
    if (status == OPD_OK) {
        status = opd_case_copy(&state->committed, &state->best);
    }
    return status;
}

const char *opd_reduce_end_name(opd_reduce_end end)
{
    static const char *const names[] = { "fixpoint", "runs", "sweeps" };
    return (size_t)end < OPD_COUNT(names) ? names[end] : "?";
}

/* True when the last sweep changed nothing. */
static bool run_passes(opd_search_state *state)
{
    bool changed = true;
    uint32_t most = state->options->max_sweeps == 0 ? DEFAULT_SWEEPS : state->options->max_sweeps;
    for (uint32_t sweep = 0; sweep < most && opd_may_go_on(state); sweep++) {
        state->report->sweeps++;
        changed = false;
        for (size_t i = 0; i < OPD_COUNT(passes) && opd_may_go_on(state); i++) {
            changed = passes[i](state) || changed;
        }
        if (!changed) {
            break;
        }
    }
    return !changed && opd_may_go_on(state);
}

static void search(opd_search_state *state)
{
    bool is_complete = run_passes(state);
    if (is_complete && !opd_confirm(state)) {
        /* Flaky after all: what single runs refused or accepted is asked again with repeats. */
        is_complete = run_passes(state) && opd_confirm(state);
    }
    state->report->is_complete = is_complete;
    state->report->end = is_complete       ? OPD_REDUCE_END_FIXPOINT
                         : state->is_spent ? OPD_REDUCE_END_RUNS
                                           : OPD_REDUCE_END_SWEEPS;
    if (is_complete) {
        opd_explain(state);
    }
}

opd_status opd_reduce(opd_reduce_report *report, opd_case *item, const opd_failure *expected, const opd_oracle *oracle,
                      const opd_reduce_options *options)
{
    static const opd_reduce_options defaults = { 0 };
    opd_search_state *state = NULL;
    opd_status status = opd_alloc((void **)&state, sizeof(*state));
    if (status != OPD_OK) {
        return status;
    }
    memset(report, 0, sizeof(*report));
    report->failure.index_rank = -1;
    state->oracle = oracle;
    state->options = options != NULL ? options : &defaults;
    state->report = report;
    state->expected = *expected;
    state->max_runs = state->options->max_runs == 0 ? DEFAULT_RUNS : state->options->max_runs;
    state->status = OPD_OK;
    status = start(state, item);
    if (status != OPD_OK) {
        goto out;
    }
    report->elements_before = opd_call_elements(&item->call);
    report->elements_after = report->elements_before;
    status = opd_calibrate(state);
    if (status != OPD_OK) {
        goto out;
    }
    search(state);
    /* What was committed holds whatever ended the search. */
    opd_case_done(item);
    *item = state->committed;
    memset(&state->committed, 0, sizeof(state->committed));
    report->elements_after = opd_call_elements(&item->call);
    report->is_flaky = state->is_flaky;
    report->failure = state->committed_observed;
    status = state->status;
out:
    opd_case_done(&state->committed);
    opd_case_done(&state->best);
    opd_case_done(&state->original);
    opd_ledger_close(state->ledger);
    opd_free(state);
    return status;
}
