/* SPDX-License-Identifier: Apache-2.0 */
/* What Softmax, LogSoftmax and LpNormalization are: line by line along the axis. Gauges: normalize_contracts.c. */
#include <math.h>

#include "../reduce/axes.h"
#include "../rows/mantissa_round.h"
#include "line_define.h"
#include "normalize_define.h"

enum { MAX, EXP, SUM, NORM = 0 }; /* stages */

typedef struct lines {
    opd_axis axis;
    int64_t count;
} lines;

static opd_status lines_of(lines *out, const opd_definition_work *work)
{
    opd_status status = opd_axis_of(&out->axis, &work->call->operands[0].view, opd_call_int(work->call, "axis", -1));
    if (status == OPD_OK) {
        out->count = out->axis.outer * out->axis.inner;
    }
    return status;
}

static opd_line line_of(const lines *all, int64_t index)
{
    const opd_axis *axis = &all->axis;
    int64_t first = index / axis->inner * axis->size * axis->inner + index % axis->inner;
    return (opd_line){ .first = first, .count = axis->size, .inner = 1, .stride = axis->inner };
}

static void soften(opd_definition_work *work, const opd_stages *stages, const opd_line *line, int64_t index,
                   bool is_log)
{
    const long double *x = work->array[0].value;
    opd_array *y = &work->array[1];
    long double largest = -INFINITY;
    for (int64_t i = 0; i < line->count; i++) {
        long double v = x[opd_line_at(line, i)];
        largest = isnan(v) || v > largest ? v : largest;
    }
    long double sum = 0.0L;
    for (int64_t i = 0; i < line->count; i++) {
        int64_t at = opd_line_at(line, i);
        long double e = opd_round(work, expl(opd_round(work, x[at] - largest)));
        sum = opd_round(work, sum + e);
        y->value[at] = e;
        opd_stage_put(stages, EXP, at, (double)e);
    }
    opd_stage_put(stages, MAX, index, (double)largest);
    opd_stage_put(stages, SUM, index, (double)sum);
    long double log_sum = opd_round(work, logl(sum));
    for (int64_t i = 0; i < line->count; i++) {
        int64_t at = opd_line_at(line, i);
        y->value[at] =
            is_log ? opd_round(work, opd_round(work, x[at] - largest) - log_sum) : opd_round(work, y->value[at] / sum);
        if (y->gauge != NULL) {
            y->gauge[at] = is_log                 ? fabsl(x[at]) + fabsl(largest) + fabsl(log_sum) + 1.0L
                           : y->value[at] == 0.0L ? 0.0L
                                                  : y->value[at] * (1.0L + fabsl(x[at] - largest));
        }
    }
}

static opd_status soften_all(opd_definition_work *work, bool is_log)
{
    lines all;
    opd_stages stages;
    opd_status status = lines_of(&all, work);
    if (status == OPD_OK) {
        status = opd_define_stages(&stages, work, all.count, 1u << EXP);
    }
    if (status != OPD_OK) {
        return status;
    }
    for (int64_t i = 0; i < all.count; i++) {
        opd_line line = line_of(&all, i);
        soften(work, &stages, &line, i, is_log);
    }
    opd_define_stages_end(&stages);
    return OPD_OK;
}

opd_status opd_define_softmax(opd_definition_work *work)
{
    return soften_all(work, false);
}

opd_status opd_define_log_softmax(opd_definition_work *work)
{
    return soften_all(work, true);
}

static void divide(opd_definition_work *work, const opd_stages *stages, const opd_line *line, int64_t index, int64_t p)
{
    const long double *x = work->array[0].value;
    opd_array *y = &work->array[1];
    long double norm = 0.0L;
    for (int64_t i = 0; i < line->count; i++) {
        long double v = x[opd_line_at(line, i)];
        norm = p == 1 ? opd_round(work, norm + fabsl(v))
                      : opd_round_mantissa(work, norm + opd_round_mantissa(work, v * v));
    }
    norm = p == 1 ? norm : opd_round(work, sqrtl(norm));
    /* A norm that no accumulator holds makes anything of its line. */
    bool is_held = !opd_is_beyond_range(work, norm);
    opd_stage_put(stages, NORM, index, (double)norm);
    for (int64_t i = 0; i < line->count; i++) {
        int64_t at = opd_line_at(line, i);
        y->value[at] = norm == 0.0L ? 0.0L : opd_round(work, x[at] / norm);
        if (y->gauge != NULL) {
            long double size = fabsl(y->value[at]);
            y->gauge[at] = is_held ? size + opd_underflow_gauge(work, size / norm) : (long double)INFINITY;
        }
    }
}

opd_status opd_define_lp_normalization(opd_definition_work *work)
{
    lines all;
    opd_stages stages;
    opd_status status = lines_of(&all, work);
    if (status == OPD_OK) {
        status = opd_define_stages(&stages, work, all.count, 0);
    }
    if (status != OPD_OK) {
        return status;
    }
    for (int64_t i = 0; i < all.count; i++) {
        opd_line line = line_of(&all, i);
        divide(work, &stages, &line, i, opd_call_int(work->call, "p", 2));
    }
    opd_define_stages_end(&stages);
    return OPD_OK;
}
