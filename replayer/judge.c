/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gauge rule. An element passes when |got - want| is at most 16 eps times its gauge (the sum of the absolute values of its
 * terms); beyond n/2 + 16 no order of summation explains it; between, it passes when the serial sums in the same precision are at
 * least half as far off. Classes come first: a NaN or Inf that the reference does not have is never within a bound.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/kernel.h>

#include "canary.h"
#include "component.h"
#include "convention.h"
#include "flushed.h"

static bool is_judged(const opd_judge *judge, int operand)
{
    const opd_operand *item = &judge->call->operands[operand];
    return (item->role & OPD_ROLE_OUT) != 0 && item->view.data != NULL && !opd_job_is_private(judge->call, operand) &&
           judge->job->operands[operand].place != OPD_PLACE_UNREADABLE;
}

static bool must_read(const opd_operand *operand)
{
    return (operand->role & OPD_ROLE_IN) != 0 && (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0;
}

void opd_judge_begin(opd_judge *judge, const opd_job *job, const opd_call *call)
{
    memset(judge, 0, sizeof *judge);
    judge->job = job;
    judge->call = call;
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        opd_health health;
        if (!must_read(operand) || operand->view.data == NULL || job->operands[i].place != OPD_PLACE_DATA) {
            continue;
        }
        opd_tensor_nonfinite(&health, &operand->view);
        judge->is_nan_read |= health.nan > 0;
        judge->is_inf_read |= health.pos_inf + health.neg_inf > 0;
    }
    for (int i = 0; i < call->attr_count; i++) {
        const opd_value *value = &call->attrs[i];
        if (value->kind == OPD_VALUE_REAL || value->kind == OPD_VALUE_COMPLEX) {
            judge->is_nan_read |= isnan(value->re) || isnan(value->im);
            judge->is_inf_read |= isinf(value->re) || isinf(value->im);
        }
    }
    int64_t terms = 0;
    bool is_known = call->op != NULL && call->op->reduction != NULL &&
                    opd_call_eval(&terms, call, call->op->reduction) == OPD_OK && terms >= 0;
    judge->terms = is_known ? (double)terms : -1;
    judge->cap = OPD_PASS_RATIO + (is_known ? (double)terms / 2 : 0);
}

/* Values from elsewhere instead of the definition's, whose gauges stay. */
static void take_golden(opd_judge *judge)
{
    for (int i = 0; i < judge->call->operand_count; i++) {
        const opd_job_operand *slot = &judge->job->operands[i];
        const opd_tensor *view = &judge->call->operands[i].view;
        int parts = opd_dtype_is_complex(view->dtype) ? 2 : 1;
        const uint8_t *element = (const uint8_t *)judge->job + slot->golden;
        for (int64_t flat = 0; slot->golden > 0 && judge->outputs[i].value != NULL && flat < opd_tensor_count(view);
             flat++, element += opd_dtype_size(view->dtype)) {
            double part[2];
            opd_element_load(view->dtype, element, &part[0], &part[1]);
            judge->outputs[i].value[flat * parts] =
                parts == 2 ? (long double)part[0] : opd_element_load_wide(view->dtype, element);
            if (parts == 2) {
                judge->outputs[i].value[flat * 2 + 1] = (long double)part[1];
            }
        }
    }
}

/* Without a definition nothing stands in the arrays. */
static void drop_values(opd_judge *judge)
{
    for (int i = 0; i < judge->call->operand_count; i++) {
        opd_free(judge->outputs[i].value);
        opd_free(judge->outputs[i].gauge);
        judge->outputs[i].value = NULL;
        judge->outputs[i].gauge = NULL;
    }
}

static opd_status run_reference(opd_judge *judge, const opd_call *call)
{
    for (int i = 0; i < judge->call->operand_count && !judge->has_reference && !judge->is_declined; i++) {
        opd_judge_output *output = &judge->outputs[i];
        void *value = NULL;
        void *gauge = NULL;
        if (!is_judged(judge, i)) {
            continue;
        }
        size_t count = (size_t)opd_tensor_count(&judge->call->operands[i].view);
        opd_status status = opd_alloc_array(&value, count, 2 * sizeof(long double));
        output->value = value;
        if (status == OPD_OK) {
            status = opd_alloc_array(&gauge, count, sizeof(long double));
            output->gauge = gauge;
        }
        if (status == OPD_OK) {
            status = opd_reference_run(output->value, output->gauge, call, i);
        }
        judge->is_declined = status == OPD_E_DECLINED || status == OPD_E_UNSUPPORTED;
        if (status != OPD_OK && !judge->is_declined) {
            return status;
        }
    }
    if (judge->is_declined) {
        drop_values(judge);
    }
    judge->has_reference = !judge->is_declined;
    take_golden(judge);
    return OPD_OK;
}

opd_status opd_judge_reference(opd_judge *judge)
{
    opd_flushed flushed;
    opd_status status = opd_flushed_begin(&flushed, judge);
    if (status == OPD_OK) {
        status = run_reference(judge, &flushed.call);
    }
    opd_flushed_end(&flushed);
    return status;
}

/* --------------------------------------------------------------------------------------- born NaN and Inf */

static void place_failure(opd_failure *failure, const opd_component *item)
{
    snprintf(failure->operand, sizeof failure->operand, "%s", item->operand->name);
    failure->index_rank = item->operand->view.rank;
    memcpy(failure->index, item->index, sizeof failure->index);
}

/* Where a NaN came from, when its payload still tells. */
static void read_payload(opd_failure *failure, const opd_judge *judge, const opd_component *item)
{
    opd_dtype part = opd_dtype_real(item->operand->view.dtype);
    size_t used = strlen(failure->reason);
    for (int k = 0; k < item->parts; k++) {
        opd_canary canary = opd_canary_read(part, item->element + (size_t)k * opd_dtype_size(part));
        if (canary.is_canary && canary.operand == OPD_CANARY_WORKSPACE) {
            snprintf(failure->reason + used, sizeof failure->reason - used,
                     "; its payload is a canary: unwritten workspace was read");
            return;
        }
        if (!canary.is_canary || canary.operand >= judge->call->operand_count) {
            continue;
        }
        const char *name = judge->call->operands[canary.operand].name;
        if (!canary.is_content) {
            snprintf(failure->reason + used, sizeof failure->reason - used,
                     "; its payload is a canary: memory around operand %s was read", name);
        } else if (canary.operand == item->number) {
            snprintf(failure->reason + used, sizeof failure->reason - used,
                     "; it still holds what was there before: not written, or old content read");
        } else {
            snprintf(failure->reason + used, sizeof failure->reason - used,
                     "; its payload is a canary: the content of operand %s, which must not be read, was read", name);
        }
        return;
    }
}

/* Is the content of an output the one it had before the call? */
static bool is_untouched(const opd_operand *before, const opd_operand *now)
{
    return !opd_digest_is_none(&before->before) && opd_digest_equal(&before->before, &now->after);
}

void opd_judge_born(opd_failure *failure, const opd_judge *judge, const opd_operand *now, const int *numbers, int count)
{
    for (int k = 0; k < count; k++) {
        opd_health health;
        opd_component item;
        const opd_operand *output = &judge->call->operands[numbers[k]];
        if (!is_judged(judge, numbers[k]) || !opd_dtype_is_float(output->view.dtype)) {
            continue;
        }
        opd_tensor_nonfinite(&health, &output->view);
        bool is_nan = health.nan > 0 && !judge->is_nan_read;
        bool is_inf = health.pos_inf + health.neg_inf > 0 && !judge->is_nan_read && !judge->is_inf_read;
        if (!is_nan && !is_inf) {
            continue;
        }
        failure->outcome = is_nan ? OPD_OUTCOME_NAN_BORN : OPD_OUTCOME_INF_BORN;
        failure->bad_count = is_nan ? health.nan : health.pos_inf + health.neg_inf;
        snprintf(
            failure->reason, sizeof failure->reason,
            is_untouched(output, &now[k])
                ? "%llu of %llu elements of %s are %s as before the call, which did not write them; no operand that "
                  "must be read has any"
                : "%llu of %llu elements of %s became %s, of which no operand that must be read has any",
            (unsigned long long)failure->bad_count, (unsigned long long)health.count, output->name,
            is_nan ? "NaN" : "Inf");
        for (int64_t flat = 0; flat < opd_tensor_count(&output->view); flat++) {
            if (opd_component_load(&item, judge, numbers[k], flat) &&
                (is_nan ? isnan(item.part[0]) || isnan(item.part[1]) : isinf(item.part[0]) || isinf(item.part[1]))) {
                place_failure(failure, &item);
                read_payload(failure, judge, &item);
                break;
            }
        }
        return;
    }
}

/* ---------------------------------------------------------------------------------------- the gauge rule */

#define EVERY_TYPE_HOLDS 6e4L

/* Is an element finite where the reference is not, or the reverse, or the other infinity? */
static bool is_other_class(const opd_component *item, const long double *want)
{
    bool is_same = true;
    for (int k = 0; k < item->parts && opd_dtype_is_float(item->operand->view.dtype); k++) {
        bool is_plain = isfinite(item->part[k]) && fabsl(want[k]) < EVERY_TYPE_HOLDS;
        is_same &= is_plain || opd_same_class(item->part[k], opd_component_narrow(item->operand->view.dtype, want[k]));
    }
    return !is_same;
}

static void note_worst(opd_numbers *numbers, const opd_component *item, const long double *want, long double gauge,
                       double ratio)
{
    bool is_other = is_other_class(item, want);
    bool is_worse = ratio > numbers->ratio || (ratio >= numbers->ratio && is_other && !numbers->is_worst_other_class);
    numbers->other_class += is_other;
    opd_dtype part = opd_dtype_real(item->operand->view.dtype);
    for (int k = 0; k < item->parts; k++) {
        double error = fabs((double)((long double)item->part[k] - want[k]));
        if (isfinite(error)) {
            double size = fabs((double)want[k]);
            numbers->max_abs = fmax(numbers->max_abs, error);
            numbers->max_rel = fmax(numbers->max_rel, size > 0 ? error / size : error > 0 ? (double)INFINITY : 0);
            numbers->max_ulp = fmax(numbers->max_ulp, error / opd_dtype_ulp(part, (double)want[k]));
        }
    }
    if (numbers->worst_rank < 0 || is_worse) {
        numbers->ratio = ratio;
        numbers->is_worst_other_class = is_other;
        numbers->worst_rank = item->operand->view.rank;
        memcpy(numbers->worst, item->index, sizeof numbers->worst);
        snprintf(numbers->worst_operand, sizeof numbers->worst_operand, "%s", item->operand->name);
        numbers->got_re = item->part[0];
        numbers->got_im = item->part[1];
        numbers->want_re = (double)want[0];
        numbers->want_im = item->parts == 2 ? (double)want[1] : 0;
        numbers->epsilon = opd_component_epsilon(item);
        numbers->gauge = (double)gauge;
        numbers->allowed = opd_component_allowed(item, (double)want[0], gauge);
        numbers->limit = opd_component_limit(item);
    }
}

/* Largest ratio of the serial sums over all outputs. */
static double naive_ratio(const opd_judge *judge)
{
    double worst = 0;
    for (int i = 0; i < judge->call->operand_count; i++) {
        const opd_judge_output *output = &judge->outputs[i];
        const opd_operand *operand = &judge->call->operands[i];
        int parts = opd_dtype_is_complex(operand->view.dtype) ? 2 : 1;
        if (output->naive == NULL || !opd_dtype_is_float(operand->view.dtype)) {
            continue;
        }
        for (int64_t flat = 0; flat < opd_tensor_count(&operand->view); flat++) {
            opd_component item = { .operand = operand, .parts = parts };
            item.bound = opd_component_bound(judge);
            item.underflows = opd_component_underflows(judge);
            item.exact = output->naive[flat * parts];
            item.part[0] = (double)output->naive[flat * parts];
            item.part[1] = parts == 2 ? (double)output->naive[flat * 2 + 1] : 0;
            double ratio =
                opd_component_ratio(&item, output->value + flat * parts, output->gauge[flat], judge->job->mxcsr);
            worst = isfinite(ratio) && ratio > worst ? ratio : worst;
        }
    }
    return worst;
}

opd_status opd_judge_naive(opd_judge *judge)
{
    opd_flushed flushed;
    opd_status status = opd_flushed_begin(&flushed, judge);
    for (int i = 0; i < judge->call->operand_count && status == OPD_OK; i++) {
        void *value = NULL;
        if (judge->outputs[i].value == NULL || judge->outputs[i].naive != NULL) {
            continue;
        }
        status =
            opd_alloc_array(&value, (size_t)opd_tensor_count(&judge->call->operands[i].view), 2 * sizeof(long double));
        judge->outputs[i].naive = value;
        if (status == OPD_OK) {
            status = opd_naive_run(judge->outputs[i].naive, &flushed.call, i);
        }
    }
    opd_flushed_end(&flushed);
    if (status == OPD_OK) {
        judge->has_naive = true;
        judge->naive_ratio = naive_ratio(judge);
    }
    return status == OPD_E_DECLINED ? OPD_OK : status;
}

opd_status opd_judge_doubt(opd_judge *judge)
{
    long double *value[OPD_MAX_OPERANDS] = { NULL };
    long double *gauge[OPD_MAX_OPERANDS] = { NULL };
    double *doubt[OPD_MAX_OPERANDS] = { NULL };
    for (int i = 0; i < judge->call->operand_count; i++) {
        value[i] = judge->outputs[i].value;
        gauge[i] = judge->outputs[i].gauge;
    }
    opd_status status = opd_definition_doubt(doubt, value, gauge, judge->call, judge->cap);
    for (int i = 0; i < judge->call->operand_count && status == OPD_OK; i++) {
        judge->outputs[i].doubt = doubt[i];
    }
    return status == OPD_E_UNSUPPORTED || status == OPD_E_DECLINED ? OPD_OK : status;
}

/* 24 bits of a sum in f32, 53 in f64: below that each partial sum of whole numbers is held as it is. */
static bool is_exact_output(const opd_judge *judge, int number)
{
    const opd_judge_output *output = &judge->outputs[number];
    const opd_tensor *view = &judge->call->operands[number].view;
    int parts = opd_dtype_is_complex(view->dtype) ? 2 : 1;
    long double largest = opd_dtype_real(view->dtype) == OPD_F64 ? 0x1p53L : 0x1p24L;
    int64_t count = opd_tensor_count(view);
    for (int64_t i = 0; i < count; i++) {
        for (int k = 0; k < parts; k++) {
            long double value = output->value[i * parts + k];
            if (!isfinite(value) || value != rintl(value) || value != output->naive[i * parts + k]) {
                return false;
            }
        }
        if (!(output->gauge[i] < largest)) {
            return false;
        }
    }
    return true;
}

void opd_judge_find_exact(opd_judge *judge)
{
    bool is_exact = judge->has_reference && judge->has_naive && judge->growth <= 1 &&
                    (judge->call->op == NULL || judge->call->op->bound.kind == OPD_BOUND_GAUGE);
    for (int i = 0; i < judge->call->operand_count && is_exact; i++) {
        const opd_judge_output *output = &judge->outputs[i];
        is_exact = output->value == NULL || (output->naive != NULL && is_exact_output(judge, i));
    }
    judge->is_exact = is_exact;
}

static void describe_mismatch(opd_failure *failure, const opd_numbers *numbers)
{
    if (numbers->limit > 0 && !isinf(numbers->ratio)) {
        double limit = numbers->limit;
        snprintf(failure->reason, sizeof failure->reason,
                 "%s holds %.17g, right is %.17g: %.3g units in the last place, its bound is %.3g",
                 numbers->worst_operand, numbers->got_re, numbers->want_re, numbers->ratio * limit / OPD_PASS_RATIO,
                 limit);
    } else if (isinf(numbers->ratio)) {
        snprintf(failure->reason, sizeof failure->reason, "%s holds %.17g, right is %.17g", numbers->worst_operand,
                 numbers->got_re, numbers->want_re);
    } else {
        snprintf(failure->reason, sizeof failure->reason,
                 "%s holds %.17g, right is %.17g: %.3g times eps * gauge, rounding explains %.3g",
                 numbers->worst_operand, numbers->got_re, numbers->want_re, numbers->ratio,
                 numbers->ratio > numbers->cap ? numbers->cap : OPD_PASS_RATIO);
    }
}

/* A wrong NaN or Inf that no operand brought has a class of its own. */
static void tell_born(opd_failure *failure, const opd_judge *judge, const opd_component *worst)
{
    bool is_nan = isnan(worst->part[0]) || isnan(worst->part[1]);
    bool is_inf = isinf(worst->part[0]) || isinf(worst->part[1]);
    if (is_nan && !judge->is_nan_read) {
        failure->outcome = OPD_OUTCOME_NAN_BORN;
    } else if (is_inf && !judge->is_nan_read && !judge->is_inf_read) {
        failure->outcome = OPD_OUTCOME_INF_BORN;
    } else {
        return;
    }
    read_payload(failure, judge, worst);
}

static void tell_opinion(opd_failure *failure, const opd_judge *judge)
{
    const opd_opinion *opinion = &judge->opinion;
    if (opinion->is_right || failure->outcome != OPD_OUTCOME_OK) {
        return;
    }
    failure->outcome = OPD_OUTCOME_MISMATCH;
    failure->bad_count = opinion->bad_count;
    failure->index_rank = opinion->bad_count > 0 ? opinion->rank : -1;
    memcpy(failure->index, opinion->first, sizeof failure->index);
    snprintf(failure->operand, sizeof failure->operand, "%s", opinion->operand);
    snprintf(failure->reason, sizeof failure->reason, "by the rule %s: %s", opinion->name, opinion->detail);
}

/* An index of NaN data is not specified, but must be one. */
static bool is_unspecified_index(const opd_judge *judge, const opd_component *item)
{
    int64_t count = 0;
    for (int i = 0; i < judge->call->operand_count; i++) {
        if (must_read(&judge->call->operands[i])) {
            count = opd_tensor_count(&judge->call->operands[i].view);
        }
    }
    return (item->operand->flags & OPD_OPERAND_INDEX) != 0 && judge->is_nan_read && item->part[0] >= 0 &&
           item->part[0] <= (double)count;
}

/* The convention asked for, and the peers. */
static void ask_others(opd_judge *judge)
{
    const opd_rule *rule = opd_convention_of(judge->job);
    if (rule != NULL && !judge->is_exact) {
        opd_convention_judge(&judge->opinion, judge, rule);
    }
    for (int i = 0; i < OPD_MAX_PEERS && judge->job->peers[i][0] != '\0'; i++) {
        opd_convention_judge(&judge->peers[i], judge, opd_rule_find(judge->job->peers[i]));
    }
}

void opd_judge_numbers(opd_numbers *numbers, opd_failure *failure, opd_judge *judge)
{
    opd_numbers found = { .cap = judge->cap, .naive_ratio = judge->naive_ratio, .worst_rank = -1, .is_valid = true };
    opd_component item;
    opd_component worst = { .operand = NULL };
    uint64_t bad = 0;
    for (int i = 0; i < judge->call->operand_count; i++) {
        const opd_judge_output *output = &judge->outputs[i];
        int64_t count = output->value != NULL ? opd_tensor_count(&judge->call->operands[i].view) : 0;
        for (int64_t flat = 0; flat < count; flat++) {
            if (!opd_component_load(&item, judge, i, flat)) {
                continue;
            }
            const long double *want = output->value + flat * item.parts;
            double ratio = opd_component_ratio(&item, want, output->gauge[flat], judge->job->mxcsr);
            if (ratio > OPD_PASS_RATIO && is_unspecified_index(judge, &item)) {
                ratio = 0;
            }
            if (found.worst_rank < 0 || ratio > found.ratio) {
                worst = item;
            }
            bad += ratio > OPD_PASS_RATIO;
            note_worst(&found, &item, want, output->gauge[flat], ratio);
        }
    }
    *numbers = found;
    judge->is_naive_wanted = found.ratio > OPD_PASS_RATIO && found.ratio <= found.cap && !judge->has_naive;
    judge->is_right =
        bad == 0 || found.ratio <= OPD_PASS_RATIO || (found.ratio <= found.cap && found.ratio <= 2 * found.naive_ratio);
    ask_others(judge);
    if (judge->job->is_convention_deciding && judge->opinion.is_valid) {
        judge->is_naive_wanted = false;
        judge->is_right = judge->opinion.is_right;
        tell_opinion(failure, judge);
        return;
    }
    if (worst.operand != NULL && !judge->is_right && !judge->is_naive_wanted && failure->outcome == OPD_OUTCOME_OK) {
        failure->outcome = OPD_OUTCOME_MISMATCH;
        failure->bad_count = bad;
        place_failure(failure, &worst);
        describe_mismatch(failure, numbers);
        tell_born(failure, judge, &worst);
    }
}

uint64_t opd_judge_untouched(const opd_operand *operand, const void *packed, const int64_t *index)
{
    const opd_tensor *view = &operand->view;
    const uint8_t *left = packed;
    size_t size = opd_dtype_size(view->dtype);
    int64_t wanted = opd_tensor_offset(view, index);
    uint64_t count = 0;
    bool is_there = false;
    opd_runs runs;
    opd_run run;
    opd_runs_begin(&runs, view);
    while (opd_runs_next(&runs, &run)) {
        for (int64_t i = 0; i < run.count; i++, left += size) {
            int64_t at = run.offset + i * run.step;
            bool is_same = memcmp((const uint8_t *)view->data + at, left, size) == 0;
            count += is_same;
            is_there |= is_same && at == wanted;
        }
    }
    return is_there ? count : 0;
}

void opd_judge_done(opd_judge *judge)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(judge->outputs[i].value);
        opd_free(judge->outputs[i].gauge);
        opd_free(judge->outputs[i].naive);
        opd_free(judge->outputs[i].doubt);
        judge->outputs[i] = (opd_judge_output){ .value = NULL };
    }
}
