// SPDX-License-Identifier: Apache-2.0
// Asking the oracle: legality first (costs no run), then what the ledger knows, then a run. Of a flaky failure a candidate is
// judged by a sequential test on its own runs, against a floor tied to the original's rate, so that no single lucky run
// decides and the rate cannot drift away.
#include "judging.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST_RUNS = 5,   /* of the original, before it counts as steady */
    MISSED_RUNS = 20, /* of an original that has not failed yet */
    RATE_RUNS = 40,   /* of a flaky original, to estimate its rate */
    LAST_RUNS = 3,    /* of the final form of a steady failure */
    MONITOR_EVERY = 50,
    FEWEST_HITS = 4, /* of an accepted candidate of a flaky failure */
};

const char *opd_verdict_name(opd_verdict verdict)
{
    static const char *const names[] = { "SAME", "OTHER", "PASS", "INVALID", "UNRESOLVED" };
    return (unsigned)verdict < OPD_COUNT(names) ? names[verdict] : "?";
}

bool opd_may_go_on(const opd_search_state *state)
{
    return state->status == OPD_OK && !state->is_spent;
}

static void key_of(opd_ledger_key *key, const opd_case *item, opd_purpose purpose)
{
    memset(key, 0, sizeof(*key));
    key->id = opd_case_id(item);
    key->placement = opd_case_placement(item);
    key->purpose = purpose;
}

static void keep_bycatch(opd_search_state *state, const opd_case *candidate, const opd_failure *observed)
{
    char class[96];
    state->report->others++;
    snprintf(class, sizeof(class), "%s|%s|%d", opd_outcome_name(observed->outcome), observed->operand,
             (int)observed->signal);
    for (int i = 0; i < state->class_count; i++) {
        if (strcmp(state->classes[i], class) == 0) {
            return;
        }
    }
    if (state->class_count == OPD_MAX_CLASSES) {
        return;
    }
    memcpy(state->classes[state->class_count++], class, sizeof(class));
    if (state->oracle->bycatch != NULL) {
        state->oracle->bycatch(state->oracle->context, candidate, observed);
    }
}

/* One answer of the oracle, from the ledger when an earlier search has asked already. */
static opd_verdict run_once(opd_search_state *state, const opd_case *candidate, const opd_ledger_key *key,
                            opd_failure *observed)
{
    opd_verdict verdict = OPD_VERDICT_UNRESOLVED;
    memset(observed, 0, sizeof(*observed));
    observed->index_rank = -1;
    state->answers++;
    if (opd_ledger_reuse(state->ledger, &verdict, observed, key)) {
        state->report->cached++;
        if (verdict == OPD_VERDICT_OTHER) {
            state->report->others++;
        }
        return verdict;
    }
    if (state->report->runs >= state->max_runs) {
        state->is_spent = true;
    }
    if (!opd_may_go_on(state)) {
        return OPD_VERDICT_UNRESOLVED;
    }
    opd_status status = state->oracle->judge(state->oracle->context, &verdict, observed, candidate);
    state->report->runs++;
    if (status == OPD_OK) {
        status = opd_ledger_add(state->ledger, key, verdict, observed);
    }
    if (status != OPD_OK) {
        state->status = status;
        return OPD_VERDICT_UNRESOLVED;
    }
    if (verdict == OPD_VERDICT_OTHER) {
        keep_bycatch(state, candidate, observed);
    }
    state->report->unresolved += verdict == OPD_VERDICT_UNRESOLVED;
    if (state->oracle->progress != NULL) {
        state->oracle->progress(state->oracle->context, state->pass, state->report->runs,
                                state->report->elements_before, opd_call_elements(&state->best.call));
    }
    return verdict;
}

/* Lower end of the Wilson score interval; z = 1.96 for 95 %. */
static double wilson_low(double hits, double runs, double z)
{
    if (runs <= 0) {
        return 0;
    }
    double p = hits / runs;
    double z2 = z * z / runs;
    double low = (p + z2 / 2 - z * sqrt(p * (1 - p) / runs + z2 / (4 * runs))) / (1 + z2);
    return low > 0 ? low : 0;
}

/*
 * Wald's sequential test of rate >= good against rate <= good / 3; wrong accept 0.1 %, wrong reject 1 %. At the cap the candidate is
 * refused. source: Wald 1945, "Sequential tests of statistical hypotheses".
 */
static opd_verdict judge_flaky(opd_search_state *state, const opd_case *candidate, const opd_ledger_key *key,
                               opd_failure *observed)
{
    double good = fmin(0.95, fmax(0.8 * state->anchor, 0.02));
    double bad = good / 3;
    double cap = fmin(400, fmax(40, 12 / good));
    double hit = log(good / bad);
    double miss = log((1 - good) / (1 - bad));
    opd_ledger_count count = opd_ledger_counted(state->ledger, key);
    opd_failure seen;
    *observed = state->observed;
    for (;;) {
        double evidence = count.same * hit + (count.runs - count.same) * miss;
        bool is_decided = count.runs >= cap || evidence <= log(0.01 / 0.999);
        if (evidence >= log(0.99 / 0.001) && count.same >= FEWEST_HITS) {
            return OPD_VERDICT_SAME;
        }
        if (is_decided) {
            return OPD_VERDICT_PASS;
        }
        opd_verdict verdict = run_once(state, candidate, key, &seen);
        if (verdict == OPD_VERDICT_UNRESOLVED && !opd_may_go_on(state)) {
            return verdict;
        }
        count.runs++;
        if (verdict == OPD_VERDICT_SAME) {
            count.same++;
            *observed = seen;
        }
    }
}

/*
 * Which element of an operand could not be read is not known, and what stands in for it can be read nowhere, in whatever form: one that steps
 * otherwise, or not at all, would fail for a reason of its own.
 */
static bool keeps_unreadable(const opd_call *original, const opd_call *candidate)
{
    for (int i = 0; i < original->operand_count && i < candidate->operand_count; i++) {
        const opd_tensor *was = &original->operands[i].view;
        const opd_tensor *now = &candidate->operands[i].view;
        bool is_unreadable = (original->operands[i].flags & OPD_OPERAND_UNREADABLE) != 0;
        for (int k = 0; is_unreadable && k < was->rank && k < now->rank; k++) {
            if (was->shape[k] > 1 && (now->shape[k] < 2 || now->stride[k] != was->stride[k])) {
                return false;
            }
        }
    }
    return true;
}

static bool is_legal(const opd_search_state *state, const opd_case *candidate)
{
    opd_call call = candidate->call;
    char text[256];
    const opd_operand *overflow = NULL;
    if (!keeps_unreadable(&state->original.call, &call)) {
        return false;
    }
    if (opd_call_check(&call, text, sizeof(text), &overflow)) {
        return state->bad_arg == 0;
    }
    return state->bad_arg != 0 && call.bad_arg == state->bad_arg;
}

static void replace_by_copy(opd_search_state *state, opd_case *item, const opd_case *from)
{
    opd_case copy;
    opd_status status = opd_case_copy(&copy, from);
    if (status != OPD_OK) {
        state->status = status;
        return;
    }
    opd_case_done(item);
    *item = copy;
    state->has_focus = false;
}

/* Hits in up to wanted runs of item, ledger first. */
static uint32_t count_hits(opd_search_state *state, const opd_case *item, uint32_t wanted, uint32_t *runs)
{
    opd_ledger_key key;
    opd_failure observed;
    key_of(&key, item, OPD_PURPOSE_MONITOR);
    opd_ledger_count count = opd_ledger_counted(state->ledger, &key);
    for (; count.runs < wanted && opd_may_go_on(state); count.runs++) {
        count.same += run_once(state, item, &key, &observed) == OPD_VERDICT_SAME;
    }
    *runs = count.runs;
    return count.same;
}

/*
 * A steady failure turned out to be flaky: its rate is taken from the original, and what single runs accepted so far must
 * stand the sequential test or is given up.
 */
static void turn_flaky(opd_search_state *state)
{
    uint32_t runs = 0;
    opd_ledger_key key;
    opd_failure observed;
    state->is_flaky = true;
    uint32_t same = count_hits(state, &state->original, RATE_RUNS, &runs);
    state->anchor = wilson_low(same, runs, 1);
    key_of(&key, &state->committed, OPD_PURPOSE_JUDGE);
    if (judge_flaky(state, &state->committed, &key, &observed) == OPD_VERDICT_SAME || !opd_may_go_on(state)) {
        return;
    }
    replace_by_copy(state, &state->committed, &state->original);
    replace_by_copy(state, &state->best, &state->original);
    state->observed = state->expected;
    state->committed_observed = state->expected;
}

/* Runs the incumbent again from time to time: a failure that stops coming back is flaky after all. */
static void monitor(opd_search_state *state)
{
    opd_ledger_key key;
    opd_failure observed;
    if (state->is_flaky || state->answers < state->next_monitor) {
        return;
    }
    state->next_monitor += MONITOR_EVERY;
    key_of(&key, &state->committed, OPD_PURPOSE_MONITOR);
    opd_verdict verdict = run_once(state, &state->committed, &key, &observed);
    if (opd_may_go_on(state) && verdict != OPD_VERDICT_SAME) {
        turn_flaky(state);
    }
}

opd_verdict opd_ask(opd_search_state *state, const opd_case *candidate, opd_failure *observed)
{
    opd_ledger_key key;
    if (!opd_may_go_on(state)) {
        return OPD_VERDICT_UNRESOLVED;
    }
    if (!is_legal(state, candidate)) {
        state->report->invalid++;
        return OPD_VERDICT_INVALID;
    }
    monitor(state);
    key_of(&key, candidate, OPD_PURPOSE_JUDGE);
    if (state->is_flaky) {
        return judge_flaky(state, candidate, &key, observed);
    }
    opd_ledger_count count = opd_ledger_counted(state->ledger, &key);
    if (count.runs > 0) {
        state->report->cached++;
        *observed = *count.observed;
        return count.last;
    }
    return run_once(state, candidate, &key, observed);
}

bool opd_try(opd_search_state *state, opd_case *take_candidate)
{
    opd_failure observed;
    if (opd_ask(state, take_candidate, &observed) != OPD_VERDICT_SAME) {
        opd_case_done(take_candidate);
        return false;
    }
    opd_case_done(&state->best);
    state->best = *take_candidate;
    state->has_focus = false;
    state->observed = observed;
    return true;
}

static bool equals_committed(const opd_search_state *state)
{
    opd_digest a = opd_case_id(&state->best);
    opd_digest b = opd_case_id(&state->committed);
    return opd_digest_equal(&a, &b) && opd_case_placement(&state->best) == opd_case_placement(&state->committed);
}

/* Verdict of the case that accept has written and read back. Of a flaky failure several readings are allowed. */
static opd_verdict verify(opd_search_state *state, const opd_lineage *step)
{
    opd_ledger_key key;
    opd_verdict verdict = OPD_VERDICT_UNRESOLVED;
    key_of(&key, &state->best, OPD_PURPOSE_VERIFY);
    int tries = state->is_flaky ? (int)ceil(5 / fmax(0.02, state->anchor)) : 1;
    for (int i = 0; i < tries && verdict != OPD_VERDICT_SAME && state->status == OPD_OK; i++) {
        opd_failure observed = state->observed;
        if (opd_ledger_reuse(state->ledger, &verdict, &observed, &key)) {
            state->report->cached++;
            if (verdict == OPD_VERDICT_SAME && state->oracle->resumed != NULL) {
                state->oracle->resumed(state->oracle->context, step);
            }
            continue;
        }
        opd_status status =
            state->oracle->accept(state->oracle->context, &verdict, &state->best, &state->observed, step);
        state->report->verifications++;
        if (status == OPD_OK) {
            status = opd_ledger_add(state->ledger, &key, verdict, &observed);
        }
        if (status != OPD_OK) {
            state->status = status;
        }
    }
    return state->status == OPD_OK ? verdict : OPD_VERDICT_UNRESOLVED;
}

static void go_back(opd_search_state *state)
{
    replace_by_copy(state, &state->best, &state->committed);
    state->observed = state->committed_observed;
}

bool opd_commit(opd_search_state *state, const char *format, ...)
{
    opd_lineage step;
    if (state->status != OPD_OK || equals_committed(state)) {
        return false;
    }
    memset(&step, 0, sizeof(step));
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(step.step, sizeof(step.step), format, arguments);
    va_end(arguments);
    opd_digest parent = opd_case_id(&state->committed);
    opd_digest_print(step.parent, &parent);
    snprintf(step.verdict, sizeof(step.verdict), "%s", opd_verdict_name(OPD_VERDICT_SAME));
    if (verify(state, &step) != OPD_VERDICT_SAME) {
        go_back(state);
        return false;
    }
    replace_by_copy(state, &state->committed, &state->best);
    state->committed_observed = state->observed;
    state->report->accepted++;
    return true;
}

opd_status opd_calibrate(opd_search_state *state)
{
    opd_ledger_key key;
    opd_failure observed;
    uint32_t same = 0;
    uint32_t runs = 0;
    state->pass = "calibrate";
    key_of(&key, &state->best, OPD_PURPOSE_MONITOR);
    state->report->failure.index_rank = -1;
    while (opd_may_go_on(state)) {
        bool is_steady = same == runs && runs >= FIRST_RUNS;
        bool is_hopeless = same == 0 && runs >= MISSED_RUNS;
        if (is_steady || is_hopeless || runs >= RATE_RUNS) {
            break;
        }
        opd_verdict verdict = run_once(state, &state->best, &key, &observed);
        runs++;
        if (verdict == OPD_VERDICT_SAME) {
            same++;
            state->observed = observed;
        } else if (state->report->failure.outcome == OPD_OUTCOME_OK) {
            state->report->failure = observed;
        }
    }
    if (state->status != OPD_OK) {
        return state->status;
    }
    if (same == 0) {
        return opd_fail(OPD_E_NOFAILURE, "the failure did not come back in %u runs of the original", runs);
    }
    state->is_flaky = same < runs;
    state->anchor = wilson_low(same, runs, 1);
    state->next_monitor = state->answers + MONITOR_EVERY;
    state->committed_observed = state->observed;
    return OPD_OK;
}

bool opd_confirm(opd_search_state *state)
{
    opd_ledger_key key;
    opd_failure observed;
    uint32_t same = 0;
    uint32_t runs = 0;
    uint32_t wanted = state->is_flaky ? RATE_RUNS : LAST_RUNS;
    state->pass = "confirm";
    key_of(&key, &state->committed, OPD_PURPOSE_MONITOR);
    for (; runs < wanted && opd_may_go_on(state); runs++) {
        opd_verdict verdict = run_once(state, &state->committed, &key, &observed);
        if (verdict == OPD_VERDICT_SAME) {
            same++;
            state->committed_observed = observed;
        }
    }
    state->report->rate = runs == 0 ? 0 : (double)same / runs;
    state->report->rate_low = wilson_low(same, runs, 1.96);
    bool is_steady = state->is_flaky || same == runs || !opd_may_go_on(state);
    if (!is_steady) {
        turn_flaky(state);
    }
    return is_steady;
}
