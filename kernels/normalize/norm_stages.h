/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner stages of an operator while they are being made: one f64 array for each checkpoint of its contract, none when tracing is off. Private to
 * kernels/normalize/.
 *
 * A stage has one number for each line (what is normalized together), or, when its bit in `whole` is set, one for each element.
 */
#ifndef OPD_KERNELS_NORM_STAGES_H
#define OPD_KERNELS_NORM_STAGES_H

#include <opsdebug/kernel.h>

enum { OPD_STAGES = 4 };

typedef struct opd_stages {
    const opd_call *call;
    int64_t lines, elements;
    unsigned whole;
    double *value[OPD_STAGES]; /* NULL: not wanted */
} opd_stages;

/* Bytes the arrays take, by the sizes set in stages: 0 when tracing is off. */
size_t opd_stages_bytes(const opd_stages *stages);
/* Places the arrays; memory: of that size, NULL: none. */
void opd_stages_begin(opd_stages *stages, void *memory);
/* Reports all of them, in the contract's order. */
void opd_stages_emit(const opd_stages *stages);

static inline void opd_stage_put(const opd_stages *stages, int stage, int64_t at, double value)
{
    if (stages->value[stage] != NULL) {
        stages->value[stage][at] = value;
    }
}

#endif
