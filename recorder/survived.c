/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack still stands when a handler jumps: unwinding it tells which routine the signal struck, and what the kernel saved of it. Only memory that is
 * shared with the collector is written, by atomic operations; what the program does next is its own affair.
 */
#include "survived.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "standing.h"

/* The outermost of the routines that the thread is in, all of them struck by the signal of fault; slot->depth: none is. */
static uint32_t find_struck(opd_slot *slot, opd_fault *fault)
{
    uint32_t first = slot->depth;
    while (first > 0 && (slot->open[first - 1].flags & OPD_OPEN_BLAS) != 0) {
        opd_fault found = { .signal = 0 };
        if (!opd_is_standing(slot->open[first - 1].frame, 0, slot, &found) || found.signal == 0) {
            break;
        }
        *fault = found;
        first--;
    }
    return first;
}

static void fire(opd_slot *slot, const opd_open_call *open, const opd_fault *fault)
{
    const opd_here *here = &opd_recorder;
    uint64_t at = open->position;
    opd_shared_trigger trigger = { .outcome = OPD_OUTCOME_CRASH,
                                   .tid = slot->tid,
                                   .slot = (uint32_t)(slot - here->process->slots),
                                   .operand = -1,
                                   .number = opd_ring_get(slot, at + OPD_R_NUMBER),
                                   .position = at,
                                   .ticks = opd_here_ticks(),
                                   .element = -1,
                                   .bad_count = (uint64_t)fault->signal,
                                   .is_survived = 1,
                                   .access = (uint32_t)opd_fault_access(fault),
                                   .address = fault->address,
                                   .pc = fault->pc };
    const char *name = sigabbrev_np(fault->signal);
    snprintf(trigger.reason, sizeof(trigger.reason), "SIG%s", name != NULL ? name : "?");
    bool is_blas = (opd_ring_get(slot, at + OPD_R_HEAD) >> 16 & 255) == OPD_RECORD_BLAS;
    const opd_routine *routine =
        is_blas ? opd_routine_at((int)(opd_ring_get(slot, at + OPD_R_WHO) >> 32 & 0xffff)) : NULL;
    if (routine != NULL) {
        strncpy(trigger.routine, routine->name, sizeof(trigger.routine) - 1);
    } else if ((open->flags & OPD_OPEN_DATA) != 0) {
        memcpy(trigger.routine, slot->scratch.name, sizeof(trigger.routine));
    }
    if (opd_trigger_fire(here->control, here->process, &trigger)) {
        opd_here_wake();
    }
}

void opd_survived_note(void)
{
    const opd_here *here = &opd_recorder;
    opd_slot *slot = opd_thread.slot;
    opd_fault fault = { .signal = 0 };
    if (__builtin_expect(slot == NULL, 1) || !opd_here_is_same() || slot->depth == 0 || slot->busy != 0 ||
        here->process == NULL || opd_here_is_quiet != 0 || here->pid != getpid()) {
        return;
    }
    uint32_t first = find_struck(slot, &fault);
    if (first == slot->depth) {
        return;
    }
    while (slot->depth > first + 1) {
        opd_calls_lose(slot);
    }
    const opd_open_call *open = &slot->open[first];
    bool has_record = open->position != OPD_NO_LIMIT && opd_ring_stands(slot, open->position);
    atomic_fetch_add(&here->process->survived, 1);
    slot->depth = first;
    if (has_record) {
        opd_ring_set(slot, open->position + OPD_R_RETURN, (uint64_t)fault.signal);
        opd_ring_set(slot, open->position + OPD_R_RETURN2, fault.address);
        opd_ring_state(slot, open->position, OPD_STATE_CRASHED);
    }
    if (has_record && (here->control->triggers & OPD_TRIGGER_CRASH) != 0) {
        fire(slot, open, &fault);
    }
}
