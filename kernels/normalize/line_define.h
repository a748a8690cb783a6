/* SPDX-License-Identifier: Apache-2.0 */
/* What definitions of norms share: a line of elements that are normalized together, and its moments. Private to kernels/normalize/. */
#ifndef OPD_KERNELS_LINE_DEFINE_H
#define OPD_KERNELS_LINE_DEFINE_H

#include <opsdebug/kernel.h>

#include "../definition_range.h"
#include "norm_stages.h"

/* Elements [i / inner][i % inner], i in [0, count), `stride` apart outside and 1 inside. */
typedef struct opd_line {
    int64_t first, count, inner, stride;
} opd_line;

typedef struct opd_moments {
    long double mean, variance, inverse; /* 1 / sqrt(variance + epsilon) */
    long double mean_abs;                /* mean of |x|, more exactly of its gauge */
    long double variance_gauge, inverse_gauge;
} opd_moments;

static inline int64_t opd_line_at(const opd_line *line, int64_t i)
{
    return line->first + i / line->inner * line->stride + i % line->inner;
}

/* x and the gauge of each element of it (NULL: |x|). */
opd_moments opd_line_moments(const opd_definition_work *work, const opd_line *line, const long double *x,
                             const long double *gauge, long double epsilon);
/* The stages of a definition, in memory of their own; nothing when tracing is off. */
opd_status opd_define_stages(opd_stages *stages, const opd_definition_work *work, int64_t lines, unsigned whole);
void opd_define_stages_end(opd_stages *stages);

#endif
