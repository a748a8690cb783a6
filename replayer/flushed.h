/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs as a routine sees them under DAZ: subnormal numbers are zeros. */
#ifndef OPD_REPLAYER_FLUSHED_H
#define OPD_REPLAYER_FLUSHED_H

#include "judge.h"

typedef struct opd_flushed {
    opd_call call;                /* the judge's, its scalars flushed */
    void *kept[OPD_MAX_OPERANDS]; /* packed content as it was; NULL = nothing was flushed */
} opd_flushed;

/* Flushes what must be read, in place, when the job's mode says so. Whatever it returns, opd_flushed_end comes after. */
opd_status opd_flushed_begin(opd_flushed *out, const opd_judge *judge);
/* Puts the operands back. */
void opd_flushed_end(opd_flushed *flushed);

#endif
