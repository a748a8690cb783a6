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

/* The reference is computed in long double. */
static opd_sureness sureness_of(const opd_judge *judge, const int *numbers, int count)
{
    bool is_exact = opd_component_bound(judge).kind == OPD_BOUND_BITS;
    bool is_wide = false;
    for (int i = 0; i < count && !is_exact; i++) {
        opd_dtype dtype = judge->call->operands[numbers[i]].view.dtype;
        is_wide |= opd_dtype_is_float(dtype);
        if (opd_dtype_real(dtype) == OPD_F64 && LDBL_MANT_DIG - DBL_MANT_DIG < 10) {
            return OPD_SURENESS_SAME;
        }
    }
    return is_exact || !is_wide ? OPD_SURENESS_EXACT : OPD_SURENESS_HIGH;
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
    result->sureness = judge->job->golden_sureness != OPD_SURENESS_NONE ? (opd_sureness)judge->job->golden_sureness
                                                                        : sureness_of(judge, numbers, count);
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
