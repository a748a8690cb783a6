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

bool opd_trigger_fire(const opd_control *control, opd_process *process, const opd_shared_trigger *trigger)
{
    uint32_t none = OPD_FREEZE_NONE;
    if (atomic_load(&process->freezes) >= control->max_bundles ||
        !atomic_compare_exchange_strong(&process->freeze, &none, OPD_FREEZE_FILLING)) {
        atomic_fetch_add(&process->suppressed, 1);
        return false;
    }
    opd_arena_freeze(&process->arena);
    uint32_t used = atomic_load(&process->slots_used);
    for (uint32_t i = 0; i < used && i < OPD_PROCESS_THREADS; i++) {
        opd_slot *slot = opd_session_slot(process, i);
        if (slot != NULL) {
            atomic_store(&slot->limit, atomic_load(&slot->head) + OPD_RING_WORDS / 2);
        }
    }
    process->trigger = *trigger;
    atomic_fetch_add(&process->freezes, 1);
    atomic_store(&process->freeze, OPD_FREEZE_ASKED);
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
