/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over an output: which elements are wrong, by the rule that decided or else the operator's own bound, counted along each axis.
 */
#include <math.h>
#include <string.h>

#include "convention.h"
#include "locate.h"

static opd_status allocate(opd_bad_map *map, const opd_tensor *view)
{
    size_t total = 0;
    for (int d = 0; d < view->rank; d++) {
        total += (size_t)view->shape[d];
    }
    opd_status status = opd_alloc_array(&map->memory, total, sizeof(double) + sizeof(uint32_t));
    if (status != OPD_OK) {
        return status;
    }
    memset(map->memory, 0, total * (sizeof(double) + sizeof(uint32_t)));
    double *error = map->memory;
    uint32_t *count = (uint32_t *)(error + total);
    for (int d = 0; d < view->rank; d++) {
        map->axis[d] =
            (opd_axis_map){ .size = view->shape[d], .low = view->shape[d], .high = -1, .count = count, .error = error };
        count += view->shape[d];
        error += view->shape[d];
    }
    return OPD_OK;
}

static void note_values(opd_bad_map *map, const opd_component *item, const long double *want)
{
    double got = item->part[0];
    double right = (double)want[0];
    map->zeros += got == 0 && item->part[1] == 0;
    map->nans += isnan(got) || isnan(item->part[1]);
    if (!isfinite(got) || !isfinite(right) || right == 0) {
        return;
    }
    double ratio = got / right;
    double difference = got - right;
    if (map->compared++ == 0) {
        map->ratio_low = map->ratio_high = ratio;
        map->difference_low = map->difference_high = difference;
    }
    map->ratio_low = fmin(map->ratio_low, ratio);
    map->ratio_high = fmax(map->ratio_high, ratio);
    map->difference_low = fmin(map->difference_low, difference);
    map->difference_high = fmax(map->difference_high, difference);
}

static void note_bad(opd_bad_map *map, const opd_component *item, int64_t flat, double ratio)
{
    bool is_inner = true;
    map->low = map->bad == 0 ? flat : map->low;
    map->high = flat;
    map->bad++;
    for (int d = 0; d < map->rank; d++) {
        opd_axis_map *axis = &map->axis[d];
        int64_t i = item->index[d];
        axis->bad += axis->count[i] == 0;
        axis->count[i]++;
        axis->error[i] += isfinite(ratio) ? log2(fmax(ratio, 0x1p-64)) : 64; /* a sign of 0 is no error */
        axis->low = i < axis->low ? i : axis->low;
        axis->high = i > axis->high ? i : axis->high;
        is_inner &= axis->size < 3 || (i > 0 && i < axis->size - 1) || d + 2 < map->rank;
    }
    map->inner += is_inner;
}

opd_status opd_bad_map_make(opd_bad_map *out, const opd_judge *judge, int operand)
{
    opd_component item;
    const opd_judge_output *output = &judge->outputs[operand];
    const opd_tensor *view = &judge->call->operands[operand].view;
    opd_bad_map map = { .rank = view->rank };
    bool is_other = judge->job->is_convention_deciding && judge->opinion.is_valid;
    const opd_rule *rule = is_other ? opd_convention_of(judge->job) : NULL;
    bool is_ruled = rule != NULL && !opd_rule_needs_naive(rule); /* such a one knows no wrong element */
    opd_yardstick by = { .rule = NULL };
    if (is_ruled) {
        opd_yardstick_make(&by, judge, rule, operand);
    }
    opd_status status = allocate(&map, view);
    int64_t count = status == OPD_OK ? opd_tensor_count(view) : 0;
    for (int64_t flat = 0; flat < count; flat++) {
        if (!opd_component_load(&item, judge, operand, flat)) {
            continue;
        }
        const long double *want = output->value + flat * item.parts;
        double ratio = opd_component_ratio(&item, want, output->gauge[flat], judge->job->mxcsr);
        map.count++;
        if (is_ruled ? !opd_yardstick_passes(&by, &item, want, output->gauge[flat]) : ratio > OPD_PASS_RATIO) {
            note_bad(&map, &item, flat, ratio);
            note_values(&map, &item, want);
        }
    }
    *out = map;
    return status;
}

void opd_bad_map_done(opd_bad_map *map)
{
    opd_free(map->memory);
    map->memory = NULL;
}
