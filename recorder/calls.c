/* SPDX-License-Identifier: Apache-2.0 */
/* Slow paths of open calls. */
#include "calls.h"

#include "interpose.h"
#include "standing.h"

_Static_assert(offsetof(opd_wrapped, slot) == 0, "the slot is the mark of a frame");

void opd_calls_lose(opd_slot *slot)
{
    const opd_open_call *open = &slot->open[--slot->depth];
    if (open->position != OPD_NO_LIMIT && opd_ring_stands(slot, open->position)) {
        opd_ring_state(slot, open->position, OPD_STATE_LOST);
    }
}

void opd_calls_weed(opd_slot *slot, uint64_t frame, opd_caller caller)
{
    while (slot->depth > 0) {
        const opd_open_call *open = &slot->open[slot->depth - 1];
        bool is_left;
        if ((open->flags & OPD_OPEN_BLAS) == 0) { /* its begin has returned: two calls may share a frame */
            is_left = open->frame < frame;
        } else if (caller == OPD_CALLER_LIBRARY) {
            is_left = open->frame == frame || !opd_is_marked(open->frame, frame, slot);
        } else { /* code of the program runs inside a routine: called back, in a handler, or after a jump */
            is_left = open->frame == frame || !opd_is_standing(open->frame, frame, slot, NULL);
        }
        if (!is_left) {
            return;
        }
        opd_calls_lose(slot);
    }
}

static void unpin(opd_slot *slot)
{
    if (slot->is_pinned != 0) {
        opd_arena_release(opd_recorder.process, slot);
    }
    slot->pending.outcome = OPD_OUTCOME_OK;
}

void opd_calls_abandon(opd_slot *slot)
{
    while (slot->depth > 0) {
        opd_calls_lose(slot);
    }
    unpin(slot);
    slot->busy = 0;
}

bool opd_calls_reenter(opd_slot *slot, uint64_t frame)
{
    if (slot->busy != frame && opd_is_standing(slot->busy, frame, slot, NULL)) {
        return false;
    }
    opd_thread.escape = NULL;
    if (slot->depth > 0 && slot->open[slot->depth - 1].frame == slot->busy) {
        opd_calls_lose(slot);
    }
    unpin(slot);
    return true;
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
    opd_shown_take_all(opd_recorder.process);
    if (opd_trigger_fire(opd_recorder.control, opd_recorder.process, &slot->pending)) {
        opd_here_wake();
    }
    slot->pending.outcome = OPD_OUTCOME_OK;
}
