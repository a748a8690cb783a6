/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a case inside the worker. Operands get mappings of their own between inaccessible zones; every byte that is no existing
 * element holds a canary (a NaN with a recognisable payload for floating types), so that reads of such bytes show as NaN and
 * writes as changes.
 *
 * order of use: opd_arena_build -> (call -> opd_arena_restore)* -> opd_arena_done.
 */
#ifndef OPD_REPLAYER_ARENA_H
#define OPD_REPLAYER_ARENA_H

#include "job.h"

typedef struct opd_arena_group {
    uint8_t *reserve; /* the mapping with its zones; NULL = unused number */
    size_t reserve_bytes;
    uint8_t *map_low, *map_high; /* accessible */
    uint8_t *low, *high;         /* span of its operands */
    uint8_t *pristine;           /* copy of the accessible bytes before the call; NULL for sparse groups */
    bool is_sparse;              /* span far larger than its elements: untouched but for them */
} opd_arena_group;

typedef struct opd_arena {
    opd_job *job;
    opd_call *call; /* operands' view.data are set */
    opd_arena_group groups[OPD_MAX_OPERANDS];
    long double returned[OPD_MAX_OPERANDS][2]; /* aligned buffers of returned values */
} opd_arena;

/* Maps and fills everything for one pass (NONE, END or START) and notes the regions in the job. errors: E_NOMEM, E_LIMIT. */
opd_status opd_arena_build(opd_arena *arena, opd_job *job, opd_call *call, opd_guard pass);
/* Puts everything back as it was before the call; stray is the first change outside the outputs, is_found false when there is none. */
void opd_arena_restore(opd_arena *arena, opd_job_stray *stray);
void opd_arena_done(opd_arena *arena);

#endif
