/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people ask of a comparison beside its verdict: metrics of each output, how sure the reference is, and whether the data could show a
 * fault at all.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "component.h"

/*
 * Shares of zeros beyond which an output tells little, after benchdnn's rule of 30 %. Operators that only choose among their inputs
 * (Relu, Clip) make zeros by design.
 */
#define ZERO_SHARE        0.3
#define ZERO_SHARE_CHOSEN 0.9
#define FEW               8 /* elements of which nothing is said */

typedef struct spread {
    int64_t count, zeros;
    double first, largest, allowed;
    bool is_constant;
} spread;

static spread spread_of(const opd_judge *judge, int number)
{
    opd_component item;
    spread found = { .is_constant = true };
    const opd_judge_output *output = &judge->outputs[number];
    int64_t count = opd_tensor_count(&judge->call->operands[number].view);
    for (int64_t flat = 0; flat < count; flat++) {
        if (!opd_component_load(&item, judge, number, flat)) {
            continue;
        }
        const long double *want = output->value + flat * item.parts;
        double size = item.parts == 2 ? hypot((double)want[0], (double)want[1]) : fabs((double)want[0]);
        if (found.count++ == 0) {
            found.first = (double)want[0];
        }
        found.zeros += size == 0;
        found.is_constant &= (double)want[0] == found.first && (item.parts == 1 || want[1] == 0);
        if (isfinite(size)) {
            found.largest = fmax(found.largest, size);
            found.allowed = fmax(found.allowed, opd_component_allowed(&item, (double)want[0], output->gauge[flat]));
        }
    }
    return found;
}

static void tell_mistrust(opd_replay_result *result, const opd_judge *judge, int number)
{
    const opd_operand *operand = &judge->call->operands[number];
    spread found = spread_of(judge, number);
    bool is_float = opd_dtype_is_float(operand->view.dtype);
    bool is_chosen = opd_component_bound(judge).kind == OPD_BOUND_BITS;
    double share = found.count > 0 ? (double)found.zeros / (double)found.count : 0;
    if (found.count < FEW || result->mistrust[0] != '\0') {
        return;
    }
    if (found.is_constant && is_float) {
        snprintf(result->mistrust, sizeof result->mistrust, "every element of %s should be %g", operand->name,
                 found.first);
    } else if (is_float && share > (is_chosen ? ZERO_SHARE_CHOSEN : ZERO_SHARE)) {
        snprintf(result->mistrust, sizeof result->mistrust, "%.0f %% of %s should be zero", 100 * share, operand->name);
    } else if (is_float && found.allowed >= found.largest) {
        snprintf(result->mistrust, sizeof result->mistrust,
                 "rounding explains an error of %.3g in %s, whose largest element should be %.3g", found.allowed,
                 operand->name, found.largest);
    }
}

/* ------------------------------------------------------------------------------------------ how sure is it */

/* Shares of what is allowed that the reference's own error may take (numerics, section 3). */
#define CERTIFIED_SHARE (1.0 / 16)
#define HIGH_SHARE      0.25

/* Half a unit in the last place of long double. */
#define WIDE_UNIT ((double)LDBL_EPSILON / 2)

typedef enum doubt_kind { DOUBT_CLAIMED, DOUBT_PROVEN, DOUBT_MEASURED } doubt_kind;

/*
 * How far off an element of the reference may be. A sum of n products: (2 n + 8) u gauge, whatever the order, complex products, alpha and beta
 * included. Others: what a run with more bits showed; else what the contract's bound says of a run in long double, which no one has proven.
 */
static double doubt_of(const opd_judge *judge, const opd_component *item, doubt_kind kind, int64_t flat)
{
    const opd_judge_output *output = &judge->outputs[item->number];
    double gauge = (double)output->gauge[flat];
    if (kind == DOUBT_MEASURED) {
        return output->doubt[flat];
    }
    if (kind == DOUBT_PROVEN) {
        return (2 * judge->terms + 8) * WIDE_UNIT * gauge;
    }
    if (item->bound.kind == OPD_BOUND_ULP) {
        double limit = item->bound.limit > 0 ? (double)item->bound.limit : OPD_PASS_RATIO;
        return 2 * limit * WIDE_UNIT * fabs((double)output->value[flat * item->parts]);
    }
    return 2 * judge->cap * WIDE_UNIT * gauge;
}

/* The largest share of what is allowed; an element that must be exact has none. */
static double share_of(const opd_judge *judge, const int *numbers, int count, doubt_kind kind)
{
    double worst = 0;
    for (int i = 0; i < count; i++) {
        const opd_judge_output *output = &judge->outputs[numbers[i]];
        const opd_tensor *view = &judge->call->operands[numbers[i]].view;
        opd_component item;
        for (int64_t flat = 0;
             output->value != NULL && opd_dtype_is_float(view->dtype) && flat < opd_tensor_count(view); flat++) {
            if (!opd_component_load(&item, judge, numbers[i], flat)) {
                continue;
            }
            double want = (double)output->value[flat * item.parts];
            double allowed = opd_component_allowed(&item, want, output->gauge[flat]);
            double doubt = doubt_of(judge, &item, kind, flat);
            bool is_open = allowed > 0 && doubt > 0 && isfinite(want) && isfinite(allowed);
            worst = is_open && !(doubt / allowed <= worst) ? doubt / allowed : worst;
        }
    }
    return worst;
}

static bool is_measured(const opd_judge *judge, const int *numbers, int count)
{
    bool has_any = false;
    for (int i = 0; i < count; i++) {
        const opd_judge_output *output = &judge->outputs[numbers[i]];
        bool is_float = opd_dtype_is_float(judge->call->operands[numbers[i]].view.dtype);
        if (is_float && output->value != NULL && output->doubt == NULL) {
            return false;
        }
        has_any |= is_float && output->doubt != NULL;
    }
    return has_any;
}

static void tell_sureness(opd_replay_result *result, const opd_judge *judge, const int *numbers, int count)
{
    static const char *const how[] = {
        [DOUBT_CLAIMED] = "",
        [DOUBT_PROVEN] = "by the bound of serial sums, (2 n + 8) u gauge",
        [DOUBT_MEASURED] = "by a second run with 113 bits",
    };
    bool is_exact = opd_component_bound(judge).kind == OPD_BOUND_BITS;
    bool is_float = false;
    for (int i = 0; i < count; i++) {
        is_float |= opd_dtype_is_float(judge->call->operands[numbers[i]].view.dtype);
    }
    if (is_exact || !is_float) {
        result->sureness = OPD_SURENESS_EXACT;
        result->doubt = 0;
        return;
    }
    bool is_sum = judge->call->op != NULL && judge->call->op->bound.is_sum && judge->terms >= 0;
    doubt_kind kind = is_sum ? DOUBT_PROVEN : is_measured(judge, numbers, count) ? DOUBT_MEASURED : DOUBT_CLAIMED;
    double share = share_of(judge, numbers, count, kind);
    if (kind == DOUBT_PROVEN && share >= CERTIFIED_SHARE && is_measured(judge, numbers, count)) {
        kind = DOUBT_MEASURED;
        share = share_of(judge, numbers, count, kind);
    }
    result->doubt = share;
    result->sureness = kind != DOUBT_CLAIMED && share < CERTIFIED_SHARE ? OPD_SURENESS_CERTIFIED
                       : share < HIGH_SHARE                             ? OPD_SURENESS_HIGH
                                                                        : OPD_SURENESS_SAME;
    snprintf(result->certificate, sizeof result->certificate, "%s", how[kind]);
}

/* Against the right values as the output's type holds them: what no rounding of the result explains. */
static void count_differing(opd_metrics *metrics, const opd_judge *judge, int number)
{
    opd_component item;
    const opd_judge_output *output = &judge->outputs[number];
    const opd_tensor *view = &judge->call->operands[number].view;
    int64_t count = opd_tensor_count(view);
    metrics->differing = 0;
    metrics->first_differing = -1;
    for (int64_t flat = 0; flat < count; flat++) {
        if (!opd_component_load(&item, judge, number, flat)) {
            continue;
        }
        for (int k = 0; k < item.parts; k++) {
            double want = opd_component_narrow(view->dtype, output->value[flat * item.parts + k]);
            bool is_same = item.part[k] == want || (isnan(item.part[k]) && isnan(want));
            metrics->first_differing =
                is_same || metrics->first_differing >= 0 ? metrics->first_differing : flat * item.parts + k;
            metrics->differing += !is_same;
        }
    }
}

opd_status opd_judge_figures(opd_replay_result *result, const opd_judge *judge, const int *numbers, int count)
{
    opd_status status = OPD_OK;
    if (judge->job->golden_sureness != OPD_SURENESS_NONE) {
        result->sureness = (opd_sureness)judge->job->golden_sureness;
        result->doubt = -1;
    } else {
        tell_sureness(result, judge, numbers, count);
    }
    for (int i = 0; i < count && status == OPD_OK; i++) {
        const opd_judge_output *output = &judge->outputs[numbers[i]];
        if (output->value != NULL) {
            status =
                opd_metrics_compare_wide(&result->metrics[i], &judge->call->operands[numbers[i]].view, output->value);
            count_differing(&result->metrics[i], judge, numbers[i]);
            tell_mistrust(result, judge, numbers[i]);
        }
    }
    return status;
}
