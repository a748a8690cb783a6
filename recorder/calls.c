/* SPDX-License-Identifier: Apache-2.0 */
/* Slow paths of open calls. */
#include "calls.h"

void opd_calls_lose(opd_slot *slot)
{
    const opd_open_call *open = &slot->open[--slot->depth];
    if (open->position != OPD_NO_LIMIT && opd_ring_stands(slot, open->position)) {
        opd_ring_state(slot, open->position, OPD_STATE_LOST);
    }
}

bool opd_calls_unblock(opd_slot *slot)
{
    uint64_t dropped = atomic_load_explicit(&slot->dropped, memory_order_relaxed);
    if ((dropped & (dropped - 1)) != 0 || !opd_here_is_orphan()) {
        return false;
    }
    /* Recovery finds the newest calls rather than the frozen ones. */
    opd_trigger_thaw(opd_recorder.process);
    return true;
}

void opd_calls_settle(opd_slot *slot)
{
    if (slot->pending.outcome == OPD_OUTCOME_OK) {
        return;
    }
    if (opd_trigger_fire(opd_recorder.control, opd_recorder.process, &slot->pending)) {
        opd_here_wake();
    }
    slot->pending.outcome = OPD_OUTCOME_OK;
}
