/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules over what runs in other ways showed (repeated, with one thread, with other kernels, reduced to the smallest form), over the
 * size of an error, and over the addresses of operands.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evidence.h"

#define ALIAS_RUNS  2048 /* of an operand; more are not compared */
#define ENOUGH_RUNS 2

/* ------------------------------------------------------------------------------------------ operands that meet */

static bool is_of_values(opd_outcome outcome)
{
    return outcome == OPD_OUTCOME_MISMATCH || outcome == OPD_OUTCOME_NAN_BORN || outcome == OPD_OUTCOME_INF_BORN;
}

/* Has an element of run, which starts at address, a byte in [low, high)? Elements are size bytes. */
static bool run_meets(uint64_t address, const opd_run *run, uint64_t size, uint64_t low, uint64_t high)
{
    uint64_t step = run->step > 0 ? (uint64_t)run->step : 1;
    uint64_t last = address + (uint64_t)(run->count - 1) * step;
    if (last + size <= low || address >= high) {
        return false;
    }
    uint64_t first_in = low > address + size - 1 ? (low - address - size + 1 + step - 1) / step : 0;
    uint64_t start = address + first_in * step;
    return first_in < (uint64_t)run->count && start < high;
}

static bool runs_meet(const opd_operand *a, const opd_run *one, const opd_operand *b, const opd_run *two)
{
    uint64_t size = (uint64_t)opd_dtype_size(b->view.dtype);
    uint64_t address = b->address + (uint64_t)two->offset;
    bool is_dense = two->step <= (int64_t)size;
    for (int64_t i = 0; i < (is_dense ? 1 : two->count) && i < ALIAS_RUNS; i++) {
        uint64_t low = address + (uint64_t)(i * two->step);
        uint64_t high = is_dense ? low + (uint64_t)two->count * size : low + size;
        if (run_meets(a->address + (uint64_t)one->offset, one, (uint64_t)opd_dtype_size(a->view.dtype), low, high)) {
            return true;
        }
    }
    return false;
}

/* Do existing elements of both lie on one byte? Of huge scattered operands only the first runs are compared: false may be wrong, true is not. */
static bool operands_meet(const opd_operand *a, const opd_operand *b)
{
    int64_t low[2];
    int64_t high[2];
    opd_tensor_span(&a->view, &low[0], &high[0]);
    opd_tensor_span(&b->view, &low[1], &high[1]);
    if (a->address + (uint64_t)high[0] <= b->address + (uint64_t)low[1] ||
        b->address + (uint64_t)high[1] <= a->address + (uint64_t)low[0]) {
        return false;
    }
    opd_runs outer;
    opd_run one;
    opd_runs_begin(&outer, &a->view);
    for (int i = 0; i < ALIAS_RUNS && opd_runs_next(&outer, &one); i++) {
        opd_runs inner;
        opd_run two;
        opd_runs_begin(&inner, &b->view);
        for (int k = 0; k < ALIAS_RUNS && opd_runs_next(&inner, &two); k++) {
            if (runs_meet(a, &one, b, &two)) {
                return true;
            }
        }
    }
    return false;
}

static bool has_place(const opd_operand *operand)
{
    return operand->address != 0 && (operand->flags & OPD_OPERAND_RETURNED) == 0 &&
           opd_tensor_check(&operand->view) == OPD_OK && opd_tensor_existing(&operand->view) > 0;
}

bool opd_rule_alias(opd_failure *out, const evidence *facts)
{
    const opd_call *call = facts->call;
    for (int i = 0; is_of_values(facts->outcome) && call->op != NULL && i < call->operand_count; i++) {
        const opd_operand *written = &call->operands[i];
        for (int k = 0; k < call->operand_count; k++) {
            const opd_operand *other = &call->operands[k];
            bool is_shared = opd_call_shared(call, i) == k || opd_call_shared(call, k) == i;
            if (k == i || is_shared || (written->role & OPD_ROLE_OUT) == 0 || !has_place(written) ||
                !has_place(other)) {
                continue;
            }
            if (operands_meet(written, other)) {
                return opd_decide(out, "alias", 0.8,
                                  "%s, which %s writes, overlaps %s: the routine may read what it has already written",
                                  written->name, call->name, other->name);
            }
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------ other runs */

static bool is_unsteady(uint32_t runs, uint32_t failed, uint32_t differing)
{
    return runs >= ENOUGH_RUNS && (differing > 0 || (failed > 0 && failed < runs));
}

bool opd_rule_race(opd_failure *out, const evidence *facts)
{
    const opd_experiments *tried = facts->tried;
    if (tried->threads <= 1 || !is_unsteady(tried->runs, tried->failed, tried->differing) ||
        tried->runs_alone < ENOUGH_RUNS ||
        is_unsteady(tried->runs_alone, tried->failed_alone, tried->differing_alone)) {
        return false;
    }
    return opd_decide(out, "race", 0.8,
                      "with %d threads %u of %u runs differ from the first and %u fail; with one thread all %u agree",
                      (int)tried->threads, tried->differing, tried->runs, tried->failed, tried->runs_alone);
}

bool opd_rule_stale_scratch(opd_failure *out, const evidence *facts)
{
    const opd_experiments *tried = facts->tried;
    if (!is_unsteady(tried->runs_alone, tried->failed_alone, tried->differing_alone)) {
        return false;
    }
    return opd_decide(
        out, "stale-scratch", 0.7,
        "with one thread, on the same data in one process, %u of %u runs differ from the first and %u fail: the "
        "result depends on what an earlier call left behind, or on memory that nobody has written",
        tried->differing_alone, tried->runs_alone, tried->failed_alone);
}

static bool always_fails(const opd_experiments *tried)
{
    return tried->runs > 0 && tried->failed == tried->runs;
}

bool opd_rule_thread_dependent(opd_failure *out, const evidence *facts)
{
    const opd_experiments *tried = facts->tried;
    if (!always_fails(tried) || tried->threads <= 1 || tried->runs_alone == 0 || tried->failed_alone > 0) {
        return false;
    }
    return opd_decide(out, "thread-dependent", 0.85,
                      "it fails with %d threads (%u of %u runs) and not with one (%u runs)", (int)tried->threads,
                      tried->failed, tried->runs, tried->runs_alone);
}

bool opd_rule_isa_dependent(opd_failure *out, const evidence *facts)
{
    const opd_experiments *tried = facts->tried;
    if (!always_fails(tried) || tried->other_core[0] == '\0' || tried->has_other_failed) {
        return false;
    }
    return opd_decide(out, "isa-dependent", 0.8, "it fails with the kernels for %s and not with those for %s",
                      tried->core, tried->other_core);
}

/* A complete reduction tries the compact layout and keeps another only where that does not fail. */
bool opd_rule_layout(opd_failure *out, const evidence *facts)
{
    opd_call compact = *facts->call;
    if (!facts->tried->is_reduced || !is_of_values(facts->outcome) || compact.op == NULL ||
        opd_call_compact(&compact) != OPD_OK) {
        return false;
    }
    for (int i = 0; i < compact.attr_count; i++) {
        const opd_value *least = &compact.attrs[i];
        const opd_value *left = &facts->call->attrs[i];
        if (least->kind == OPD_VALUE_INT && least->i != left->i) {
            return opd_decide(out, "layout", 0.75,
                              "the smallest failing call keeps %s = %lld: with %lld, on the same values, "
                              "it does not fail",
                              left->name, (long long)left->i, (long long)least->i);
        }
    }
    return false;
}

/* -------------------------------------------------------------------------------------------- size of the error */

/*
 * Doubles only: an error of the size of single rounding is far beyond double rounding and far below one wrong term of a sum. Between
 * single and half precision there is no such room: a sum of a thousand terms that lacks one is off by as much.
 */
bool opd_rule_low_prec_accum(opd_failure *out, const evidence *facts)
{
    const opd_experiments *tried = facts->tried;
    double ratio = tried->ratio * opd_dtype_epsilon(OPD_F64) / opd_dtype_epsilon(OPD_F32);
    if (facts->seen->outcome != OPD_OUTCOME_MISMATCH || opd_dtype_real(facts->call->dtype) != OPD_F64 ||
        !isfinite(ratio) || ratio < 1.0 / 64 || ratio > tried->cap) {
        return false;
    }
    return opd_decide(
        out, "low-prec-accum", 0.6,
        "the error is %.2g of eps x gauge of f64 and %.2g of that of f32: as if products or sums were kept in f32",
        tried->ratio, ratio);
}

bool opd_rule_cancellation(opd_failure *out, const evidence *facts)
{
    const opd_experiments *tried = facts->tried;
    bool is_value = facts->outcome == OPD_OUTCOME_MISMATCH || facts->outcome == OPD_OUTCOME_REQUESTED;
    double plain = tried->cap * opd_dtype_epsilon(opd_dtype_real(facts->call->dtype)); /* without cancellation */
    if (!is_value || facts->observed == NULL || facts->observed->outcome != OPD_OUTCOME_OK || plain <= 0 ||
        tried->max_rel < 1000 * plain) {
        return false;
    }
    return opd_decide(
        out, "cancellation", 0.8,
        "an element is off by %.2g of its own size, yet the error is %.2g of eps x gauge (rounding explains %.3g): "
        "its terms cancel; no fault of the routine",
        tried->max_rel, tried->ratio, tried->cap);
}
