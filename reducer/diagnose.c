// SPDX-License-Identifier: Apache-2.0
// Diagnosis: an ordered table of rules. The first rule that applies gives label, confidence and a sentence; a rule looks only at the
// call, at what was recorded of its operands, and at what a replay observed.
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "evidence.h"

#define MOST_CONFIDENT 0.95F

static const struct {
    const char *word, *meaning;
} labels[] = {
#define OPD_LABEL(word, meaning) { word, meaning },
#include "labels.def"
#undef OPD_LABEL
};

bool opd_label_known(const char *label)
{
    for (size_t i = 0; i < OPD_COUNT(labels); i++) {
        if (strcmp(labels[i].word, label) == 0) {
            return true;
        }
    }
    return false;
}

const char *opd_label_at(int index, const char **meaning)
{
    if (index < 0 || (size_t)index >= OPD_COUNT(labels)) {
        return NULL;
    }
    *meaning = labels[index].meaning;
    return labels[index].word;
}

bool opd_decide(opd_failure *out, const char *label, double confidence, const char *format, ...)
{
    va_list arguments;
    snprintf(out->label, sizeof(out->label), "%s", label);
    out->confidence = confidence < (double)MOST_CONFIDENT ? (float)confidence : MOST_CONFIDENT;
    va_start(arguments, format);
    vsnprintf(out->reason, sizeof(out->reason), format, arguments);
    va_end(arguments);
    return true;
}

/* ----------------------------------------------------------------------------------------------------- facts */

static uint64_t infinities(const opd_health *health)
{
    return health->pos_inf + health->neg_inf;
}

/* Index of the only operand of a kind with a NaN (or Inf) on entry; -1: none, -2: several. */
static int only_operand_with(const evidence *facts, bool is_read, bool want_inf)
{
    int found = -1;
    for (int i = 0; i < facts->call->operand_count; i++) {
        const opd_operand *operand = &facts->call->operands[i];
        uint64_t count = want_inf ? infinities(&facts->before[i]) : facts->before[i].nan;
        if ((operand->flags & OPD_OPERAND_RETURNED) != 0 || opd_must_be_read(operand) != is_read || count == 0) {
            continue;
        }
        found = found == -1 ? i : -2;
    }
    return found;
}

/* Are the values of every operand that must be read known? */
static bool knows_inputs(const evidence *facts)
{
    for (int i = 0; i < facts->call->operand_count; i++) {
        if (opd_must_be_read(&facts->call->operands[i]) && !facts->has_health[i]) {
            return false;
        }
    }
    return facts->call->op != NULL; /* of an unknown operator the operands are not known either */
}

static void gather(evidence *facts, const opd_failure *failure, const opd_call *call, const opd_failure *observed,
                   const opd_experiments *tried)
{
    static const opd_experiments nothing = { .threads = 0 };
    memset(facts, 0, sizeof(*facts));
    facts->tried = tried != NULL ? tried : &nothing;
    facts->call = call;
    facts->observed = observed;
    facts->outcome = failure->outcome;
    facts->seen = observed != NULL && observed->outcome != OPD_OUTCOME_OK ? observed : failure;
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if ((operand->flags & OPD_OPERAND_HAS_HEALTH) != 0) {
            facts->before[i] = operand->health_before;
            facts->has_health[i] = true;
        } else if (operand->view.data != NULL && (operand->flags & OPD_OPERAND_UNREADABLE) == 0) {
            opd_tensor_health(&facts->before[i], &operand->view);
            facts->has_health[i] = true;
        }
    }
}

/* "alpha = 0", "n = 0": the values named in the condition that are zero. */
static void zero_values(char *text, size_t size, const opd_call *call, const char *operand)
{
    char condition[160];
    char name[OPD_NAME];
    opd_condition_of(condition, sizeof(condition), call->op, operand);
    opd_call copy = *call;
    size_t used = 0;
    text[0] = '\0';
    for (const char *at = condition; *at != '\0';) {
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        if (length == 0 || length >= sizeof(name)) {
            at++;
            continue;
        }
        memcpy(name, at, length);
        name[length] = '\0';
        at += length;
        const opd_value *value = opd_call_value(&copy, name);
        bool is_scalar = value != NULL && (value->kind == OPD_VALUE_REAL || value->kind == OPD_VALUE_COMPLEX);
        bool is_zero = is_scalar ? value->re == 0 && value->im == 0
                                 : value != NULL && value->kind == OPD_VALUE_INT && value->i <= 0;
        if (is_zero && used < size) {
            used += (size_t)snprintf(text + used, size - used, "%s%s = 0", used == 0 ? "" : ", ", name);
        }
    }
    if (text[0] == '\0') {
        snprintf(text, size, "the contract");
    }
}

/* ----------------------------------------------------------------------------------------------------- rules */

static bool abi_mismatch(opd_failure *out, const evidence *facts)
{
    if ((facts->call->flags & OPD_CALL_ABI_SUSPECT) == 0) {
        return false;
    }
    return opd_decide(
        out, "abi-mismatch", 0.9,
        "caller, library and name of %s do not agree on the width of integers: a high half is implausible, or was cut off "
        "(32-bit integers passed to a 64-bit interface, or the reverse)",
        facts->call->name);
}

static bool bad_args(opd_failure *out, const evidence *facts)
{
    opd_call copy = *facts->call;
    char text[256] = "";
    const opd_operand *overflow = NULL;
    if (copy.op == NULL || opd_call_check(&copy, text, sizeof(text), &overflow)) {
        return false;
    }
    const char *name = copy.symbol[0] != '\0' ? copy.symbol : copy.name;
    bool is_cblas = (copy.flags & OPD_CALL_CBLAS) != 0;
    bool has_order = copy.bad_arg > 1 && (is_cblas ? copy.op->has_layout : copy.op->has_order_argument);
    return opd_decide(out, "bad-args", 0.95, "argument %d of %s%s: %s", (int)copy.bad_arg, name,
                      has_order ? " (order is argument 1)" : "", text);
}

static bool hang(opd_failure *out, const evidence *facts)
{
    if (facts->outcome != OPD_OUTCOME_HANG) {
        return false;
    }
    return opd_decide(out, "hang", 0.9, "%s did not return within the time limit", facts->call->name);
}

static bool index_overflow(opd_failure *out, const evidence *facts)
{
    opd_call copy = *facts->call;
    char text[256] = "";
    const opd_operand *overflow = NULL;
    opd_outcome outcome = facts->outcome;
    bool can_be = outcome == OPD_OUTCOME_CRASH || outcome == OPD_OUTCOME_OOB_READ || outcome == OPD_OUTCOME_OOB_WRITE ||
                  outcome == OPD_OUTCOME_MISMATCH;
    if (!can_be || copy.op == NULL || !opd_call_check(&copy, text, sizeof(text), &overflow) || overflow == NULL) {
        return false;
    }
    int64_t low = 0;
    int64_t high = 0;
    opd_tensor_span(&overflow->view, &low, &high);
    return opd_decide(out, "index-overflow", 0.85, "%s spans %.3g elements: an offset does not fit a 32-bit integer",
                      overflow->name, (double)(high - low) / (double)opd_dtype_size(overflow->view.dtype));
}

static bool out_of_bounds(opd_failure *out, const evidence *facts)
{
    const opd_failure *seen = facts->seen;
    bool is_read = seen->outcome == OPD_OUTCOME_OOB_READ;
    if (!is_read && seen->outcome != OPD_OUTCOME_OOB_WRITE) {
        return false;
    }
    const char *word = is_read ? "oob-read" : "oob-write";
    const char *verb = is_read ? "reads" : "writes";
    if (seen->distance < 0) {
        return opd_decide(out, word, 0.95, "%s %s memory before the start of %s, %" PRId64 " bytes away",
                          facts->call->name, verb, seen->operand, -seen->distance);
    }
    return opd_decide(out, word, 0.95, "%s %s memory past the end of %s, at byte %" PRId64 " after its last element",
                      facts->call->name, verb, seen->operand, seen->distance);
}

static bool unreadable_operand(opd_failure *out, const evidence *facts)
{
    for (int i = 0; facts->outcome == OPD_OUTCOME_CRASH && i < facts->call->operand_count; i++) {
        const opd_operand *operand = &facts->call->operands[i];
        if (opd_must_be_read(operand) && (operand->flags & OPD_OPERAND_UNREADABLE) != 0) {
            return opd_decide(out, "bad-args", 0.9,
                              "%s at 0x%" PRIx64
                              " could not be read when %s was called: its pointer, size or stride is wrong",
                              operand->name, operand->address, facts->call->name);
        }
    }
    return false;
}

static bool unread_operand(opd_failure *out, const evidence *facts)
{
    bool is_inf = facts->outcome == OPD_OUTCOME_INF_BORN;
    if (facts->outcome != OPD_OUTCOME_NAN_BORN && !is_inf) {
        return false;
    }
    int read = only_operand_with(facts, true, is_inf);
    int unread = only_operand_with(facts, false, is_inf);
    if (!is_inf && unread == -1) {
        unread = only_operand_with(facts, false, true); /* 0 * Inf makes a NaN as well */
    }
    double estimate = 0;
    if (read != -1 || unread == -1 || opd_may_overflow(facts, &estimate)) {
        return false; /* an overflow of what is read explains it without the other operand */
    }
    bool is_foreign = opd_call_is_foreign(facts->call); /* no contract says what the operator makes of its inputs */
    if (is_foreign && facts->observed != NULL && strcmp(facts->observed->label, "unread-operand-read") != 0) {
        return false; /* run with other old content, it made the same */
    }
    if (unread == -2) {
        return opd_decide(out, "unread-operand-read", 0.85,
                          "%s comes from operands that must not be read; no operand that must be read holds one",
                          is_inf ? "Inf" : "NaN");
    }
    char why[96];
    const char *name = facts->call->operands[unread].name;
    zero_values(why, sizeof(why), facts->call, name);
    return opd_decide(out, "unread-operand-read", is_foreign && facts->observed == NULL ? 0.7F : 0.95F,
                      "the only operand with %s is %s, which must not be read (%s): the routine reads it",
                      facts->before[unread].nan > 0 ? "NaN" : "Inf", name, why);
}

static bool empty(opd_failure *out, const evidence *facts)
{
    int64_t terms = 0;
    const opd_call *call = facts->call;
    if (facts->outcome == OPD_OUTCOME_OK || call->op == NULL || call->op->level < 2 || call->op->reduction == NULL ||
        strcmp(call->op->reduction, "0") == 0 || opd_call_eval(&terms, call, call->op->reduction) != OPD_OK ||
        terms > 0) {
        return false;
    }
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        bool is_untouched = !opd_digest_is_none(&operand->after) && opd_digest_equal(&operand->before, &operand->after);
        if ((operand->role & OPD_ROLE_OUT) != 0 && is_untouched) {
            return opd_decide(out, "empty", 0.9, "the sum is empty (%s = 0) and %s was left as it was before the call",
                              call->op->reduction, operand->name);
        }
    }
    return false;
}

/* The scalar that multiplies the inputs, when there is one and it is zero. */
static bool is_scaled_by_zero(const opd_call *call)
{
    opd_call copy = *call;
    const opd_value *alpha = opd_call_value(&copy, "alpha");
    return alpha != NULL && alpha->kind != OPD_VALUE_INT && alpha->re == 0 && alpha->im == 0;
}

static bool nan_lost(opd_failure *out, const evidence *facts)
{
    if (facts->outcome != OPD_OUTCOME_MISMATCH || !is_scaled_by_zero(facts->call)) {
        return false;
    }
    int read = only_operand_with(facts, true, false);
    read = read == -1 ? only_operand_with(facts, true, true) : read;
    if (read == -1) {
        return false;
    }
    for (int i = 0; i < facts->call->operand_count; i++) {
        const opd_operand *operand = &facts->call->operands[i];
        bool is_known = (operand->flags & OPD_OPERAND_HAS_HEALTH) != 0;
        if ((operand->role & OPD_ROLE_OUT) != 0 && is_known && operand->health_after.nan > 0) {
            return false;
        }
    }
    return opd_decide(
        out, "nan-lost", 0.8,
        "an input holds NaN or Inf, alpha is 0, and the result holds none: libraries differ here by design");
}

static bool norm_of_negative_stride(opd_failure *out, const evidence *facts)
{
    opd_call copy = *facts->call;
    const opd_value *increment = opd_call_value(&copy, "incx");
    if (facts->outcome != OPD_OUTCOME_MISMATCH || copy.op == NULL || strcmp(copy.op->name, "nrm2") != 0 ||
        increment == NULL || increment->i >= 0) {
        return false;
    }
    return opd_decide(out, "attr-semantics", 0.9,
                      "a negative increment (%" PRId64 "): BLAS before LAPACK 3.10 returns 0, later ones the norm",
                      increment->i);
}

static bool nan_made(opd_failure *out, const evidence *facts)
{
    double estimate = 0;
    if (facts->outcome != OPD_OUTCOME_NAN_BORN || !knows_inputs(facts) || only_operand_with(facts, true, false) != -1) {
        return false;
    }
    if (only_operand_with(facts, true, true) != -1) {
        return opd_decide(out, "nan-made", 0.9, "the operands hold Inf and no NaN: Inf - Inf or 0 * Inf");
    }
    if (opd_may_overflow(facts, &estimate)) {
        bool is_all = only_operand_with(facts, false, false) == -1;
        return opd_decide(
            out, "nan-made", 0.9,
            "all operands%s are finite, but products and sums reach about 1e%d, beyond the range of %s: an "
            "intermediate overflow, then Inf - Inf or 0 * Inf",
            is_all ? "" : " that must be read", (int)estimate, opd_dtype_name(facts->call->dtype));
    }
    char text[160];
    if (opd_divides_too_far(text, sizeof(text), facts) > 0) {
        return opd_decide(out, "nan-made", 0.7, "%s: a singular matrix gives 0 / 0 or Inf - Inf", text);
    }
    return false;
}

/* The last word on a NaN: nothing explains it. */
static bool nan_unexplained(opd_failure *out, const evidence *facts)
{
    if (facts->outcome != OPD_OUTCOME_NAN_BORN || !knows_inputs(facts) || only_operand_with(facts, true, false) != -1) {
        return false;
    }
    return opd_decide(out, "nan-made", 0.6, "all operands are finite and no product can overflow, yet %s holds NaN",
                      out->operand[0] != '\0' ? out->operand : "the result");
}

static bool overflow(opd_failure *out, const evidence *facts)
{
    double estimate = 0;
    if (facts->outcome != OPD_OUTCOME_INF_BORN || !knows_inputs(facts) || only_operand_with(facts, true, true) != -1 ||
        !opd_may_overflow(facts, &estimate)) {
        return false;
    }
    bool is_half = facts->call->dtype == OPD_F16;
    return opd_decide(out, is_half ? "fp16-overflow" : "overflow", 0.9,
                      "all operands are finite; products and sums reach about 1e%d, beyond the range of %s",
                      (int)estimate, opd_dtype_name(facts->call->dtype));
}

static bool rounding_only(opd_failure *out, const evidence *facts)
{
    bool is_value = facts->outcome == OPD_OUTCOME_MISMATCH || facts->outcome == OPD_OUTCOME_REQUESTED;
    if (!is_value || facts->observed == NULL || facts->observed->outcome != OPD_OUTCOME_OK) {
        return false;
    }
    return opd_decide(out, "rounding-only", 0.8, "the replay is within the rounding bound of the reference: no fault");
}

/* Stronger evidence first. */
static rule_fn *const rules[] = {
    abi_mismatch,
    bad_args,
    hang,
    index_overflow,
    out_of_bounds,
    unreadable_operand,
    unread_operand,
    empty,
    nan_lost,
    norm_of_negative_stride,
    opd_rule_alias,
    nan_made,
    opd_rule_division,
    overflow,
    opd_rule_race,
    opd_rule_stale_scratch,
    opd_rule_thread_dependent,
    opd_rule_isa_dependent,
    opd_rule_layout,
    opd_rule_low_prec_accum,
    opd_rule_cancellation,
    rounding_only,
    nan_unexplained,
};

void opd_diagnose(opd_failure *failure, const opd_call *call, const opd_failure *observed, const opd_experiments *tried)
{
    evidence facts;
    gather(&facts, failure, call, observed, tried);
    failure->label[0] = '\0';
    failure->confidence = 0;
    for (size_t i = 0; i < OPD_COUNT(rules); i++) {
        if (rules[i](failure, &facts)) {
            return;
        }
    }
}
