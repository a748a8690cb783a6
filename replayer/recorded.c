/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs against those of the recorded run: by digest, else by content, else by what statistics say. */
#include <math.h>

#include "component.h"

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
    double bound = 2 * fmax(OPD_PASS_RATIO, judge->cap) * opd_dtype_epsilon(item->view.dtype) * (double)gauge +
                   2 * opd_dtype_ulp(opd_dtype_real(item->view.dtype), (double)gauge);
    bool has_range = then->min <= then->max && here->min <= here->max;
    return !has_range || (fabs(then->min - here->min) <= bound && fabs(then->max - here->max) <= bound);
}

/* Of recorded outputs from the right ones. */
typedef struct distance {
    double ratio, ulp;
} distance;

static double component_ulp(const opd_component *item, const long double *want)
{
    opd_dtype part = opd_dtype_real(item->operand->view.dtype);
    double most = 0;
    for (int k = 0; k < item->parts && opd_dtype_is_float(part); k++) {
        double error = (double)fabsl((long double)item->part[k] - want[k]);
        most = isfinite(error) ? fmax(most, error / opd_dtype_ulp(part, (double)want[k])) : most;
    }
    return most;
}

/*
 * The recorded value was rounded as well: half a unit of its own beside that of the value here, which its ratio leaves out. A gauge of 0 is exact, and
 * a bound in units is doubled already.
 */
static void allow_rounding(long double want[2], const opd_component *here, long double gauge, opd_dtype dtype)
{
    int parts = here->bound.kind == OPD_BOUND_GAUGE && gauge > 0 ? here->parts : 0;
    for (int k = 0; k < parts && k < 2; k++) {
        long double half = 0.5L * (long double)opd_dtype_ulp(dtype, (double)want[k]);
        long double gap = (long double)here->part[k] - want[k];
        want[k] += isfinite(gap) ? fmaxl(-half, fminl(half, gap)) : 0;
    }
}

/* Both may be off to one side of the right value each: twice the bound of one. */
static opd_same close_content(const opd_judge *judge, int operand, const opd_tensor *recorded, distance *off)
{
    opd_same worst = OPD_SAME_BOUND;
    const opd_judge_output *output = &judge->outputs[operand];
    double allowed = 2 * fmax(OPD_PASS_RATIO, fmin(judge->cap, 2 * judge->naive_ratio));
    opd_component here;
    opd_component then;
    for (int64_t flat = 0; flat < opd_tensor_count(recorded); flat++) {
        if (!opd_component_load(&here, judge, operand, flat)) {
            continue;
        }
        then = here;
        opd_element_load(recorded->dtype, (uint8_t *)recorded->data + opd_tensor_offset(recorded, here.index),
                         &then.part[0], &then.part[1]);
        bool is_same_class = opd_same_class(here.part[0], then.part[0]) && opd_same_class(here.part[1], then.part[1]);
        worst = is_same_class ? worst : OPD_SAME_DIFFERENT;
        if (output->value == NULL || !isfinite(then.part[0]) || !isfinite(then.part[1])) {
            off->ratio = is_same_class ? off->ratio : INFINITY;
            continue;
        }
        then.exact = opd_element_load_wide(opd_dtype_real(recorded->dtype),
                                           (uint8_t *)recorded->data + opd_tensor_offset(recorded, here.index));
        const long double *right = output->value + flat * here.parts;
        off->ratio = fmax(off->ratio, opd_component_ratio(&then, right, output->gauge[flat], judge->job->mxcsr));
        off->ulp = fmax(off->ulp, component_ulp(&then, right));
        long double want[2] = { (long double)then.part[0], (long double)then.part[1] };
        allow_rounding(want, &here, output->gauge[flat], opd_dtype_real(recorded->dtype));
        if (opd_component_ratio(&here, want, output->gauge[flat], judge->job->mxcsr) > allowed) {
            worst = OPD_SAME_DIFFERENT;
        }
    }
    return output->value != NULL || worst == OPD_SAME_DIFFERENT ? worst : OPD_SAME_UNKNOWN;
}

static opd_same compare_output(const opd_judge *judge, int operand, const opd_health *here, distance *off)
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
    opd_same same = close_content(judge, operand, &recorded, off);
    opd_free(memory);
    return same;
}

static opd_same judge_same(distance *off, const opd_judge *judge, const opd_operand *outputs, const int *numbers,
                           int count)
{
    opd_same worst = OPD_SAME_UNKNOWN;
    for (int i = 0; i < count; i++) {
        const opd_operand *then = &judge->call->operands[numbers[i]];
        if (opd_digest_is_none(&then->after) || opd_job_is_private(judge->call, numbers[i])) {
            continue;
        }
        if (opd_digest_equal(&then->after, &outputs[i].after)) {
            worst = worst == OPD_SAME_UNKNOWN ? OPD_SAME_BITWISE : worst;
            continue;
        }
        opd_same same = compare_output(judge, numbers[i], &outputs[i].health_after, off);
        if (same == OPD_SAME_UNKNOWN) {
            return same;
        }
        worst = same > worst ? same : worst;
    }
    return worst;
}

void opd_judge_recorded(opd_replay_result *result, const opd_judge *judge, const opd_operand *outputs,
                        const int *numbers, int count)
{
    distance off = { 0, 0 };
    result->same = judge_same(&off, judge, outputs, numbers, count);
    result->recorded_ratio = off.ratio;
    result->recorded_ulp =
        result->same == OPD_SAME_BITWISE && result->numbers.is_valid ? result->numbers.max_ulp : off.ulp;
}
