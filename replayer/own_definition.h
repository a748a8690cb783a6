/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While a definition runs, what happens is its doing and not the routine's. A user's own may do anything: it has the time limit of a run, and its arrays lie
 * between inaccessible pages.
 */
#ifndef OPD_REPLAYER_OWN_DEFINITION_H
#define OPD_REPLAYER_OWN_DEFINITION_H

#include "arena.h"
#include "mode.h"

typedef struct opd_own_definition {
    opd_job *job;
    opd_mode mode; /* it may leave another */
} opd_own_definition;

void opd_own_definition_begin(opd_own_definition *out, opd_job *job);
void opd_own_definition_end(const opd_own_definition *of);
/*
 * Looks for writes of a user's own definition to memory of the call's operands, and makes the outputs what they were before the call. Others: does nothing.
 * errors    E_CHILD it wrote there; the text says where.
 */
opd_status opd_own_definition_check(opd_arena *arena, const opd_job *job);

#endif
