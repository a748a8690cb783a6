/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A freeze sets a limit for each ring and one for the arena; their owners find them at their next reservation and go on
 * in the older half. Nobody waits: what finds no room is counted.
 */
#include "trigger.h"

#include "ring.h"

static const struct {
    uint32_t outcome, bit;
} bits[] = {
    { OPD_OUTCOME_NAN_BORN, OPD_TRIGGER_NAN },      { OPD_OUTCOME_INF_BORN, OPD_TRIGGER_INF },
    { OPD_OUTCOME_CRASH, OPD_TRIGGER_CRASH },       { OPD_OUTCOME_HANG, OPD_TRIGGER_TIMEOUT },
    { OPD_OUTCOME_BAD_ARGS, OPD_TRIGGER_CONTRACT }, { OPD_OUTCOME_INPUT_MUTATED, OPD_TRIGGER_CONTRACT },
    { OPD_OUTCOME_REQUESTED, OPD_TRIGGER_API },
};

uint32_t opd_trigger_bit(uint32_t outcome)
{
    for (size_t i = 0; i < OPD_COUNT(bits); i++) {
        if (bits[i].outcome == outcome) {
            return bits[i].bit;
        }
    }
    return 0;
}

static void freeze_window(opd_process *process)
{
    opd_arena_freeze(&process->arena);
    uint32_t used = atomic_load(&process->slots_used);
    for (uint32_t i = 0; i < used && i < OPD_PROCESS_THREADS; i++) {
        opd_slot *slot = opd_session_slot(process, i);
        if (slot != NULL) {
            atomic_store(&slot->limit, atomic_load(&slot->head) + OPD_RING_WORDS / 2);
        }
    }
}

static bool enqueue(opd_process *process, const opd_shared_trigger *trigger)
{
    for (uint32_t i = 0; i < OPD_TRIGGER_QUEUE; i++) {
        opd_queued_trigger *place = &process->queue[i];
        uint32_t state = OPD_QUEUE_FREE;
        if (atomic_compare_exchange_strong(&place->state, &state, OPD_QUEUE_FILLING)) {
            place->trigger = *trigger;
            atomic_store(&place->state, OPD_QUEUE_READY);
            return true;
        }
    }
    return false;
}

bool opd_trigger_fire(const opd_control *control, opd_process *process, const opd_shared_trigger *trigger)
{
    uint32_t none = OPD_FREEZE_NONE;
    if (atomic_fetch_add(&process->fired, 1) >= control->max_bundles) {
        atomic_fetch_add(&process->suppressed, 1);
        return false;
    }
    if (!atomic_compare_exchange_strong(&process->freeze, &none, OPD_FREEZE_FILLING)) {
        bool is_queued = enqueue(process, trigger);
        atomic_fetch_add(&process->suppressed, is_queued ? 0 : 1);
        return is_queued;
    }
    freeze_window(process);
    process->trigger = *trigger;
    atomic_store(&process->freeze, OPD_FREEZE_ASKED);
    return true;
}

bool opd_trigger_take(opd_shared_trigger *out, opd_process *process)
{
    uint32_t asked = OPD_FREEZE_ASKED;
    if (atomic_compare_exchange_strong(&process->freeze, &asked, OPD_FREEZE_WRITTEN)) {
        *out = process->trigger;
        return true;
    }
    opd_queued_trigger *oldest = NULL;
    for (uint32_t i = 0; i < OPD_TRIGGER_QUEUE; i++) {
        opd_queued_trigger *place = &process->queue[i];
        if (atomic_load(&place->state) == OPD_QUEUE_READY &&
            (oldest == NULL || place->trigger.ticks < oldest->trigger.ticks)) {
            oldest = place;
        }
    }
    if (oldest == NULL) {
        return false;
    }
    uint32_t none = OPD_FREEZE_NONE;
    if (atomic_compare_exchange_strong(&process->freeze, &none, OPD_FREEZE_WRITTEN)) {
        freeze_window(process); /* it was queued just as the window before was given back */
    }
    *out = oldest->trigger;
    atomic_store(&oldest->state, OPD_QUEUE_FREE);
    return true;
}

void opd_trigger_thaw(opd_process *process)
{
    uint32_t used = atomic_load(&process->slots_used);
    for (uint32_t i = 0; i < used && i < OPD_PROCESS_THREADS; i++) {
        opd_slot *slot = opd_session_slot(process, i);
        if (slot != NULL) {
            atomic_store(&slot->limit, OPD_NO_LIMIT);
        }
    }
    opd_arena_thaw(&process->arena);
    atomic_store(&process->freeze, OPD_FREEZE_NONE);
}
