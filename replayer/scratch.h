/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace a variant declared, between inaccessible pages and canaries. */
#ifndef OPD_REPLAYER_SCRATCH_H
#define OPD_REPLAYER_SCRATCH_H

#include "job.h"

typedef struct opd_scratch {
    uint8_t *reserve;
    size_t reserve_bytes;
    uint8_t *map_low, *map_high; /* accessible */
    uint8_t *low;                /* of the workspace, aligned to 64 */
    size_t size;
    opd_dtype dtype; /* of the canaries */
} opd_scratch;

/* Notes the region in the job too. errors: E_NOMEM, E_LIMIT. */
opd_status opd_scratch_map(opd_scratch *out, opd_job *job, size_t size, opd_guard pass);
/* NaN with our payload everywhere: what is read before it is written shows. */
void opd_scratch_fill(const opd_scratch *scratch);
/* The first changed byte outside the workspace, as opd_job_stray says it. */
void opd_scratch_check(opd_job_stray *stray, const opd_scratch *scratch);
void opd_scratch_done(opd_scratch *scratch);

/* Allocations through malloc and its kin by any thread between begin and end; 0 where they cannot be seen (sanitizers). */
void opd_allocations_begin(void);
uint64_t opd_allocations_end(void);

/* Lets the C library look at its heap: a routine that wrote past a block of its own dies here, still as the routine's doing. */
void opd_allocations_probe(void);

#endif
