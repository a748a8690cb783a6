/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a definition: time, memory, floating-point mode. */
#include "own_definition.h"

#include <opsdebug/kernel.h>

#include "trap.h"

void opd_own_definition_begin(opd_own_definition *out, opd_job *job)
{
    bool is_own = opd_job_has_own_definition(job);
    *out = (opd_own_definition){ .job = job, .mode = opd_mode_enter(OPD_MXCSR_DEFAULT) };
    opd_trap_begin();
    job->is_in_definition = true;
    opd_definition_fence(is_own ? job->fences : NULL, job->pass == OPD_GUARD_START);
    opd_trap_clock(is_own ? job->timeout_ms : 0);
}

void opd_own_definition_end(const opd_own_definition *of)
{
    opd_mode left;
    opd_trap_clock(0);
    opd_definition_fence(NULL, false);
    of->job->is_in_definition = false;
    (void)opd_mode_leave(&left, &of->mode, OPD_MXCSR_DEFAULT);
}

opd_status opd_own_definition_check(opd_arena *arena, const opd_job *job)
{
    opd_job_stray stray;
    if (!opd_job_has_own_definition(job)) {
        return OPD_OK;
    }
    opd_arena_restore(arena, &stray);
    if (!stray.is_found) {
        return OPD_OK;
    }
    return opd_fail(OPD_E_CHILD, "the definition of %s writes %s operand %s of the call: %llu bytes changed",
                    job->call.name, stray.is_input ? "to" : "beside",
                    stray.operand >= 0 ? job->call.operands[stray.operand].name : "?", (unsigned long long)stray.bytes);
}
