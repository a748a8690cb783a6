/* SPDX-License-Identifier: Apache-2.0 */
/* Moments of a line by two passes, and the stages of definitions. */
#include "line_define.h"

#include <math.h>

#include <opsdebug/memory.h>

#include "../rows/mantissa_round.h"

opd_moments opd_line_moments(const opd_definition_work *work, const opd_line *line, const long double *x,
                             const long double *gauge, long double epsilon)
{
    opd_moments m = { 0 };
    long double n = (long double)line->count;
    long double sum = 0.0L;
    for (int64_t i = 0; i < line->count; i++) {
        int64_t at = opd_line_at(line, i);
        sum = opd_round_mantissa(work, sum + x[at]);
        m.mean_abs += gauge != NULL ? gauge[at] : fabsl(x[at]);
    }
    m.mean = opd_round_mantissa(work, sum / n);
    m.mean_abs /= n;
    sum = 0.0L;
    for (int64_t i = 0; i < line->count; i++) {
        int64_t at = opd_line_at(line, i);
        long double d = opd_round_mantissa(work, x[at] - m.mean);
        sum = opd_round_mantissa(work, sum + opd_round_mantissa(work, d * d));
        m.variance_gauge += 2.0L * fabsl(d) * ((gauge != NULL ? gauge[at] : fabsl(x[at])) + m.mean_abs);
    }
    m.variance = opd_round_mantissa(work, sum / n);
    m.variance_gauge = m.variance + m.variance_gauge / n;
    m.inverse = opd_round_mantissa(
        work, 1.0L / opd_round_mantissa(work, sqrtl(opd_round_mantissa(work, m.variance + epsilon))));
    m.inverse_gauge = m.inverse * (1.0L + m.inverse * m.inverse * m.variance_gauge);
    return m;
}

opd_status opd_define_stages(opd_stages *stages, const opd_definition_work *work, int64_t lines, unsigned whole)
{
    opd_stages made = { .call = work->call, .lines = lines, .elements = work->array[0].count, .whole = whole };
    size_t bytes = opd_stages_bytes(&made);
    void *memory = NULL;
    opd_status status = bytes > 0 ? opd_alloc(&memory, bytes) : OPD_OK;
    if (status == OPD_OK) {
        opd_stages_begin(&made, memory);
        *stages = made;
    }
    return status;
}

void opd_define_stages_end(opd_stages *stages)
{
    opd_stages_emit(stages);
    opd_free(stages->value[0]);
}
