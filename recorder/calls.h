/* SPDX-License-Identifier: Apache-2.0 */
/* The open calls of a thread: nesting, numbering, and what every recorded call does whatever its kind. */
#ifndef OPD_CALLS_H
#define OPD_CALLS_H

#include "here.h"
#include "trigger.h"

/* The innermost open call was left without a return. */
void opd_calls_lose(opd_slot *slot);

/* Who begins a call, or marks the recorder as busy. */
typedef enum opd_caller { OPD_CALLER_PROGRAM, OPD_CALLER_LIBRARY, OPD_CALLER_API } opd_caller;

/* Loses the open calls that were left by a jump, an exception or a handler. */
void opd_calls_weed(opd_slot *slot, uint64_t frame, opd_caller caller);

/* All of them, and what a thread leaves that ends inside the recorder. */
void opd_calls_abandon(opd_slot *slot);

/*
 * The recorder is found busy by its own thread. true: whoever was inside left it by a jump, and it is free again; false:
 * a signal handler calls, whose calls pass through.
 */
bool opd_calls_reenter(opd_slot *slot, uint64_t frame);

/* Marks the recorder as busy with the function that has this frame; false: it is. */
static inline bool opd_calls_enter(opd_slot *slot, uint64_t frame)
{
    if (__builtin_expect(slot->busy != 0, 0) && !opd_calls_reenter(slot, frame)) {
        return false;
    }
    slot->busy = frame;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

/* Opens a call: numbers it and gives it a place. NULL: too deep, counted and not recorded. */
static inline opd_open_call *opd_calls_push(opd_slot *slot, uint64_t frame, opd_caller caller)
{
    if (__builtin_expect(slot->depth > 0, 0)) {
        opd_calls_weed(slot, frame, caller);
    }
    slot->number++;
    if (slot->depth >= OPD_OPEN_DEPTH) {
        return NULL;
    }
    opd_open_call *open = &slot->open[slot->depth++];
    open->frame = frame;
    open->position = OPD_NO_LIMIT;
    open->flags = 0;
    return open;
}

static inline bool opd_calls_in_range(const opd_control *control, uint64_t number)
{
    return control->range_last == 0 || (number >= control->range_first && number <= control->range_last);
}

/* Gives up on a call that opd_calls_push() opened (NULL: did not). */
static inline void opd_calls_leave(opd_slot *slot, const opd_open_call *open)
{
    if (open != NULL) {
        slot->depth--;
    }
    atomic_signal_fence(memory_order_seq_cst);
    slot->busy = 0;
}

/* No room while the window is frozen: if nobody is left to thaw it, we do. */
bool opd_calls_unblock(opd_slot *slot);

static inline bool opd_calls_reserve(opd_slot *slot, uint64_t *position, uint32_t size)
{
    if (__builtin_expect(opd_ring_reserve(slot, position, size), 1)) {
        return true;
    }
    return opd_calls_unblock(slot) && opd_ring_reserve(slot, position, size);
}

/* Fires the trigger that capture left in the slot, once the record is complete. */
void opd_calls_settle(opd_slot *slot);

/* Ends the innermost call; wakes the collector when a quarter of the ring waits for it. */
static inline void opd_calls_pop(opd_slot *slot)
{
    slot->depth--;
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);
    if (__builtin_expect(head - slot->woken_at > OPD_RING_WORDS / 4, 0)) {
        slot->woken_at = head;
        opd_here_wake();
    }
    atomic_signal_fence(memory_order_seq_cst);
    slot->busy = 0;
}

#endif
