/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gauge rule. An element passes when |got - want| is at most 16 eps times its gauge (the sum of the absolute values of its
 * terms); beyond n/2 + 16 no order of summation explains it; between, it passes when the serial sums in the same precision are at
 * least half as far off. Classes come first: a NaN or Inf that the reference does not have is never within a bound.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "canary.h"
#include "judge.h"

#define PASS_RATIO 16.0

static bool is_judged(const opd_judge *judge, int operand)
{
    const opd_operand *item = &judge->call->operands[operand];
    return (item->role & OPD_ROLE_OUT) != 0 && item->view.data != NULL &&
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
    if (call->op == NULL || call->op->reduction == NULL || opd_call_eval(&terms, call, call->op->reduction) != OPD_OK ||
        terms < 0) {
        terms = 0;
    }
    judge->cap = PASS_RATIO + (double)terms / 2;
}

opd_status opd_judge_reference(opd_judge *judge)
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
            status = opd_reference_run(output->value, output->gauge, judge->call, i);
        }
        judge->is_declined = status == OPD_E_DECLINED || status == OPD_E_UNSUPPORTED;
        if (status != OPD_OK && !judge->is_declined) {
            return status;
        }
    }
    judge->has_reference = !judge->is_declined;
    return OPD_OK;
}

/* --------------------------------------------------------------------------------------- born NaN and Inf */

static double narrow(opd_dtype dtype, long double value)
{
    uint8_t element[16];
    double re = 0;
    double im = 0;
    opd_dtype part = opd_dtype_real(dtype);
    if (part == OPD_F64) {
        return (double)value;
    }
    opd_element_store(part, element, (double)value, 0);
    opd_element_load(part, element, &re, &im);
    return re;
}

/* One component of an output, where it is, and what the reference says of it. */
typedef struct component {
    const opd_operand *operand;
    int number;
    int64_t flat;
    int64_t index[OPD_MAX_RANK];
    const uint8_t *element;
    double part[2];
    int parts;
} component;

static bool load_component(component *item, const opd_judge *judge, int operand, int64_t flat)
{
    const opd_tensor *view = &judge->call->operands[operand].view;
    item->operand = &judge->call->operands[operand];
    item->number = operand;
    item->flat = flat;
    opd_tensor_unflatten(view, flat, item->index);
    if (!opd_tensor_exists(view, item->index)) {
        return false;
    }
    item->element = (const uint8_t *)view->data + opd_tensor_offset(view, item->index);
    item->parts = opd_dtype_is_complex(view->dtype) ? 2 : 1;
    item->part[1] = 0;
    opd_element_load(view->dtype, item->element, &item->part[0], &item->part[1]);
    return true;
}

static void place_failure(opd_failure *failure, const component *item)
{
    snprintf(failure->operand, sizeof failure->operand, "%s", item->operand->name);
    failure->index_rank = item->operand->view.rank;
    memcpy(failure->index, item->index, sizeof failure->index);
}

/* Where a NaN came from, when its payload still tells. */
static void read_payload(opd_failure *failure, const opd_judge *judge, const component *item)
{
    opd_dtype part = opd_dtype_real(item->operand->view.dtype);
    size_t used = strlen(failure->reason);
    for (int k = 0; k < item->parts; k++) {
        opd_canary canary = opd_canary_read(part, item->element + (size_t)k * opd_dtype_size(part));
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

void opd_judge_born(opd_failure *failure, const opd_judge *judge)
{
    for (int i = 0; i < judge->call->operand_count; i++) {
        opd_health health;
        component item;
        if (!is_judged(judge, i) || !opd_dtype_is_float(judge->call->operands[i].view.dtype)) {
            continue;
        }
        opd_tensor_nonfinite(&health, &judge->call->operands[i].view);
        bool is_nan = health.nan > 0 && !judge->is_nan_read;
        bool is_inf = health.pos_inf + health.neg_inf > 0 && !judge->is_nan_read && !judge->is_inf_read;
        if (!is_nan && !is_inf) {
            continue;
        }
        failure->outcome = is_nan ? OPD_OUTCOME_NAN_BORN : OPD_OUTCOME_INF_BORN;
        failure->bad_count = is_nan ? health.nan : health.pos_inf + health.neg_inf;
        snprintf(failure->reason, sizeof failure->reason,
                 "%llu of %llu elements of %s became %s, of which no operand that must be read has any",
                 (unsigned long long)failure->bad_count, (unsigned long long)health.count,
                 judge->call->operands[i].name, is_nan ? "NaN" : "Inf");
        int64_t count = opd_tensor_count(&judge->call->operands[i].view);
        for (int64_t flat = 0; flat < count; flat++) {
            if (load_component(&item, judge, i, flat) &&
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

/* Distance of neighbouring numbers of a type at |value|, the smallest subnormal at least. */
static double ulp_at(opd_dtype part, double value)
{
    static const struct {
        opd_dtype part;
        int digits, least;
    } formats[] = { { OPD_F64, 53, -1022 }, { OPD_F32, 24, -126 }, { OPD_F16, 11, -14 }, { OPD_BF16, 8, -126 } };
    for (size_t i = 0; i < OPD_COUNT(formats); i++) {
        if (formats[i].part == part) {
            int exponent = value == 0 || !isfinite(value) ? formats[i].least : ilogb(value);
            exponent = exponent < formats[i].least ? formats[i].least : exponent;
            return ldexp(1.0, exponent - formats[i].digits + 1);
        }
    }
    return 1.0;
}

static double largest_of(opd_dtype part)
{
    return part == OPD_F32 || part == OPD_BF16 ? (double)FLT_MAX : part == OPD_F16 ? 65504.0 : DBL_MAX;
}

/* The smallest normal number under flush-to-zero or denormals-are-zero, else the smallest subnormal. */
static double ignored_error(uint32_t mxcsr, opd_dtype part)
{
    bool is_flushed = (mxcsr & 0x8040) != 0;
    return is_flushed ? (part == OPD_F64 ? DBL_MIN : (double)FLT_MIN) : ulp_at(part, 0);
}

static bool same_class(double got, double want)
{
    if (isnan(want) || isnan(got)) {
        return isnan(want) && isnan(got);
    }
    return isinf(want) || isinf(got) ? got == want : true;
}

/* Error of one element in units of eps * gauge; INFINITY when the classes differ. */
static double element_ratio(const component *item, const long double *want, long double gauge, uint32_t mxcsr)
{
    opd_dtype dtype = item->operand->view.dtype;
    opd_dtype part = opd_dtype_real(dtype);
    double worst = 0;
    if (!opd_dtype_is_float(dtype)) {
        return (long double)item->part[0] == want[0] ? 0 : (double)INFINITY;
    }
    if (gauge > (long double)largest_of(part)) {
        return 0; /* partial sums may overflow on the way: any class is legal */
    }
    bool is_special = false;
    bool is_got_special = false;
    bool is_same = true;
    for (int k = 0; k < item->parts; k++) {
        double rounded = narrow(dtype, want[k]);
        is_special |= !isfinite(rounded);
        is_got_special |= !isfinite(item->part[k]);
        is_same &= same_class(item->part[k], rounded);
    }
    /* Complex products with Inf or NaN have no one right pair of classes. */
    if (is_special || is_got_special) {
        bool is_right = item->parts == 2 ? is_special && is_got_special : is_same;
        return is_right ? 0 : (double)INFINITY;
    }
    for (int k = 0; k < item->parts; k++) {
        long double error = fabsl((long double)item->part[k] - want[k]);
        error -= 0.5L * (long double)ulp_at(part, (double)want[k]) + (long double)ignored_error(mxcsr, part);
        if (error > 0) {
            double ratio = (double)(error / ((long double)opd_dtype_epsilon(dtype) * gauge));
            worst = isnan(ratio) || ratio > worst ? ratio : worst;
        }
    }
    return worst;
}

static void note_worst(opd_numbers *numbers, const component *item, const long double *want, double ratio)
{
    opd_dtype part = opd_dtype_real(item->operand->view.dtype);
    for (int k = 0; k < item->parts; k++) {
        double error = fabs((double)((long double)item->part[k] - want[k]));
        if (isfinite(error)) {
            double size = fabs((double)want[k]);
            numbers->max_abs = fmax(numbers->max_abs, error);
            numbers->max_rel = fmax(numbers->max_rel, size > 0 ? error / size : error > 0 ? (double)INFINITY : 0);
            numbers->max_ulp = fmax(numbers->max_ulp, error / ulp_at(part, (double)want[k]));
        }
    }
    if (numbers->worst_rank < 0 || ratio > numbers->ratio) {
        numbers->ratio = ratio;
        numbers->worst_rank = item->operand->view.rank;
        memcpy(numbers->worst, item->index, sizeof numbers->worst);
        snprintf(numbers->worst_operand, sizeof numbers->worst_operand, "%s", item->operand->name);
        numbers->got_re = item->part[0];
        numbers->got_im = item->part[1];
        numbers->want_re = (double)want[0];
        numbers->want_im = item->parts == 2 ? (double)want[1] : 0;
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
            component item = { .operand = operand, .parts = parts };
            item.part[0] = (double)output->naive[flat * parts];
            item.part[1] = parts == 2 ? (double)output->naive[flat * 2 + 1] : 0;
            double ratio = element_ratio(&item, output->value + flat * parts, output->gauge[flat], judge->job->mxcsr);
            worst = isfinite(ratio) && ratio > worst ? ratio : worst;
        }
    }
    return worst;
}

opd_status opd_judge_naive(opd_judge *judge)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < judge->call->operand_count && status == OPD_OK; i++) {
        void *value = NULL;
        if (judge->outputs[i].value == NULL || judge->outputs[i].naive != NULL) {
            continue;
        }
        status =
            opd_alloc_array(&value, (size_t)opd_tensor_count(&judge->call->operands[i].view), 2 * sizeof(long double));
        judge->outputs[i].naive = value;
        if (status == OPD_OK) {
            status = opd_naive_run(judge->outputs[i].naive, judge->call, i);
        }
    }
    if (status == OPD_OK) {
        judge->has_naive = true;
        judge->naive_ratio = naive_ratio(judge);
    }
    return status == OPD_E_DECLINED ? OPD_OK : status;
}

static void describe_mismatch(opd_failure *failure, const opd_numbers *numbers)
{
    if (isinf(numbers->ratio)) {
        snprintf(failure->reason, sizeof failure->reason, "%s holds %.17g, right is %.17g", numbers->worst_operand,
                 numbers->got_re, numbers->want_re);
    } else {
        snprintf(failure->reason, sizeof failure->reason,
                 "%s holds %.17g, right is %.17g: %.3g times eps * gauge, rounding explains %.3g",
                 numbers->worst_operand, numbers->got_re, numbers->want_re, numbers->ratio,
                 numbers->ratio > numbers->cap ? numbers->cap : PASS_RATIO);
    }
}

/* An index of NaN data is not specified, but must be one. */
static bool is_unspecified_index(const opd_judge *judge, const component *item)
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

void opd_judge_numbers(opd_numbers *numbers, opd_failure *failure, opd_judge *judge)
{
    opd_numbers found = { .cap = judge->cap, .naive_ratio = judge->naive_ratio, .worst_rank = -1, .is_valid = true };
    component item;
    component worst = { .operand = NULL };
    uint64_t bad = 0;
    for (int i = 0; i < judge->call->operand_count; i++) {
        const opd_judge_output *output = &judge->outputs[i];
        int64_t count = output->value != NULL ? opd_tensor_count(&judge->call->operands[i].view) : 0;
        for (int64_t flat = 0; flat < count; flat++) {
            if (!load_component(&item, judge, i, flat)) {
                continue;
            }
            const long double *want = output->value + flat * item.parts;
            double ratio = element_ratio(&item, want, output->gauge[flat], judge->job->mxcsr);
            if (ratio > PASS_RATIO && is_unspecified_index(judge, &item)) {
                ratio = 0;
            }
            if (found.worst_rank < 0 || ratio > found.ratio) {
                worst = item;
            }
            bad += ratio > PASS_RATIO;
            note_worst(&found, &item, want, ratio);
        }
    }
    *numbers = found;
    judge->is_naive_wanted = found.ratio > PASS_RATIO && found.ratio <= found.cap && !judge->has_naive;
    judge->is_right = found.ratio <= PASS_RATIO || (found.ratio <= found.cap && found.ratio <= 2 * found.naive_ratio);
    if (!judge->is_right && !judge->is_naive_wanted && failure->outcome == OPD_OUTCOME_OK) {
        failure->outcome = OPD_OUTCOME_MISMATCH;
        failure->bad_count = bad;
        place_failure(failure, &worst);
        describe_mismatch(failure, numbers);
    }
}

/* ------------------------------------------------------------------------------ against recorded outputs */

static bool close_statistics(const opd_judge *judge, int operand, const opd_health *here)
{
    const opd_operand *item = &judge->call->operands[operand];
    const opd_health *then = &item->health_after;
    const opd_judge_output *output = &judge->outputs[operand];
    long double gauge = 0;
    if ((item->flags & OPD_OPERAND_HAS_HEALTH) == 0) {
        return true; /* nothing but the digest is known */
    }
    if (then->nan != here->nan || then->pos_inf != here->pos_inf || then->neg_inf != here->neg_inf) {
        return false;
    }
    for (int64_t i = 0; i < opd_tensor_count(&item->view); i++) {
        gauge = output->gauge[i] > gauge ? output->gauge[i] : gauge;
    }
    double bound = 2 * fmax(PASS_RATIO, judge->cap) * opd_dtype_epsilon(item->view.dtype) * (double)gauge +
                   2 * ulp_at(opd_dtype_real(item->view.dtype), (double)gauge);
    bool has_range = then->min <= then->max && here->min <= here->max;
    return !has_range || (fabs(then->min - here->min) <= bound && fabs(then->max - here->max) <= bound);
}

/* Both may be off to one side of the right value each: twice the bound of one. */
static opd_same close_content(const opd_judge *judge, int operand, const opd_tensor *recorded)
{
    const opd_judge_output *output = &judge->outputs[operand];
    double allowed = 2 * fmax(PASS_RATIO, fmin(judge->cap, 2 * judge->naive_ratio));
    component here;
    component then;
    for (int64_t flat = 0; flat < opd_tensor_count(recorded); flat++) {
        if (!load_component(&here, judge, operand, flat)) {
            continue;
        }
        then = here;
        opd_element_load(recorded->dtype, (uint8_t *)recorded->data + opd_tensor_offset(recorded, here.index),
                         &then.part[0], &then.part[1]);
        if (!same_class(here.part[0], then.part[0]) || !same_class(here.part[1], then.part[1])) {
            return OPD_SAME_DIFFERENT;
        }
        if (output->value == NULL || !isfinite(then.part[0]) || !isfinite(then.part[1])) {
            continue;
        }
        long double want[2] = { (long double)then.part[0], (long double)then.part[1] };
        if (element_ratio(&here, want, output->gauge[flat], judge->job->mxcsr) > allowed) {
            return OPD_SAME_DIFFERENT;
        }
    }
    return output->value != NULL ? OPD_SAME_BOUND : OPD_SAME_UNKNOWN;
}

static opd_same compare_output(const opd_judge *judge, int operand, const opd_health *here)
{
    const opd_job_operand *slot = &judge->job->operands[operand];
    const opd_operand *item = &judge->call->operands[operand];
    if (slot->recorded_bytes == 0) {
        if (judge->outputs[operand].value == NULL) {
            return OPD_SAME_UNKNOWN;
        }
        return judge->is_right && close_statistics(judge, operand, here) ? OPD_SAME_BOUND : OPD_SAME_DIFFERENT;
    }
    int64_t low = 0;
    int64_t high = 0;
    void *memory = NULL;
    opd_tensor recorded = item->view;
    opd_tensor_span(&recorded, &low, &high);
    if (high - low > (int64_t)OPD_JOB_OUTPUT_LIMIT || opd_alloc(&memory, (size_t)(high - low)) != OPD_OK) {
        return OPD_SAME_UNKNOWN;
    }
    recorded.data = (uint8_t *)memory - low;
    opd_tensor_unpack(&recorded, (const uint8_t *)judge->job + slot->recorded);
    opd_same same = close_content(judge, operand, &recorded);
    opd_free(memory);
    return same;
}

opd_same opd_judge_same(const opd_judge *judge, const opd_operand *outputs, const int *numbers, int count)
{
    opd_same worst = OPD_SAME_UNKNOWN;
    for (int i = 0; i < count; i++) {
        const opd_operand *then = &judge->call->operands[numbers[i]];
        if (opd_digest_is_none(&then->after)) {
            continue;
        }
        if (opd_digest_equal(&then->after, &outputs[i].after)) {
            worst = worst == OPD_SAME_UNKNOWN ? OPD_SAME_BITWISE : worst;
            continue;
        }
        opd_same same = compare_output(judge, numbers[i], &outputs[i].health_after);
        if (same == OPD_SAME_UNKNOWN) {
            return same;
        }
        worst = same > worst ? same : worst;
    }
    return worst;
}

void opd_judge_done(opd_judge *judge)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(judge->outputs[i].value);
        opd_free(judge->outputs[i].gauge);
        opd_free(judge->outputs[i].naive);
        judge->outputs[i] = (opd_judge_output){ .value = NULL };
    }
}
