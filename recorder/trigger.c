/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A freeze sets a limit for each ring and one for the arena; their owners find them at their next reservation and go on
 * in the older half. Nobody waits: what finds no room is counted.
 */
#include "trigger.h"

#include <string.h>
#include <time.h>

#include "ring.h"

static const struct {
    uint32_t outcome, bit;
} bits[] = {
    { OPD_OUTCOME_NAN_BORN, OPD_TRIGGER_NAN },      { OPD_OUTCOME_INF_BORN, OPD_TRIGGER_INF },
    { OPD_OUTCOME_CRASH, OPD_TRIGGER_CRASH },       { OPD_OUTCOME_HANG, OPD_TRIGGER_TIMEOUT },
    { OPD_OUTCOME_BAD_ARGS, OPD_TRIGGER_CONTRACT }, { OPD_OUTCOME_INPUT_MUTATED, OPD_TRIGGER_CONTRACT },
    { OPD_OUTCOME_REQUESTED, OPD_TRIGGER_API },     { OPD_OUTCOME_MAGNITUDE, OPD_TRIGGER_MAGNITUDE },
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

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The place of the trigger's kind, made when new; NULL: not a failure of a call, or too many kinds. */
static opd_failure_kind *kind_of(opd_process *process, const opd_shared_trigger *trigger)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    if (trigger->routine[0] == '\0') {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(trigger->routine) && trigger->routine[i] != '\0'; i++) {
        key = (key ^ (uint8_t)trigger->routine[i]) * UINT64_C(0x100000001b3);
    }
    key = (key ^ trigger->outcome) * UINT64_C(0x100000001b3);
    key = ((key ^ (uint32_t)trigger->operand) * UINT64_C(0x100000001b3)) | 1;
    for (uint32_t i = 0; i < OPD_FAILURE_KINDS; i++) {
        opd_failure_kind *kind = &process->kinds[i];
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&kind->key, &found, key)) {
            kind->outcome = trigger->outcome;
            memcpy(kind->routine, trigger->routine, sizeof(kind->routine));
            return kind;
        }
        if (found == key) {
            return kind;
        }
    }
    return NULL;
}

/* What a trigger takes of the caps; given back when it gets no bundle after all. */
typedef struct claim {
    opd_failure_kind *kind; /* NULL: not counted by kind */
    uint32_t written;       /* of its kind before */
    uint64_t now, last;     /* last: the time of the kind's last bundle before */
} claim;

/* Some at once, then one in a while: the first show whether failures differ, later ones that it goes on. */
static bool claim_of_kind(claim *out, const opd_control *control)
{
    opd_failure_kind *kind = out->kind;
    if (kind == NULL) {
        return true;
    }
    atomic_fetch_add(&kind->seen, 1);
    out->now = now_ns();
    out->last = atomic_load(&kind->last_ns);
    out->written = atomic_load(&kind->written);
    while (out->written < control->per_failure) {
        if (atomic_compare_exchange_weak(&kind->written, &out->written, out->written + 1)) {
            atomic_store(&kind->last_ns, out->now);
            return true;
        }
    }
    uint64_t last = out->last;
    if (out->now - last < OPD_FAILURE_PAUSE_NS || !atomic_compare_exchange_strong(&kind->last_ns, &last, out->now)) {
        return false;
    }
    out->written = atomic_fetch_add(&kind->written, 1);
    return true;
}

static void give_back(const claim *claimed)
{
    opd_failure_kind *kind = claimed->kind;
    if (kind != NULL) {
        uint64_t now = claimed->now;
        atomic_fetch_sub(&kind->written, 1);
        atomic_compare_exchange_strong(&kind->last_ns, &now, claimed->last);
    }
}

uint32_t opd_trigger_room(const opd_control *control, bool is_repeat)
{
    return control->max_bundles - (is_repeat ? control->max_bundles / OPD_ROOM_FOR_NEW : 0);
}

static bool claim_bundle(opd_process *process, uint32_t room)
{
    uint32_t fired = atomic_load(&process->fired);
    while (fired < room) {
        if (atomic_compare_exchange_weak(&process->fired, &fired, fired + 1)) {
            return true;
        }
    }
    return false;
}

bool opd_trigger_freeze(opd_process *process, const opd_shared_trigger *trigger)
{
    uint32_t none = OPD_FREEZE_NONE;
    if (!atomic_compare_exchange_strong(&process->freeze, &none, OPD_FREEZE_FILLING)) {
        return false;
    }
    freeze_window(process);
    process->trigger = *trigger;
    atomic_store(&process->freeze, OPD_FREEZE_ASKED);
    return true;
}

static bool is_taken_up(const opd_control *control, opd_process *process, const opd_shared_trigger *trigger)
{
    claim claimed = { .kind = kind_of(process, trigger) };
    if (!claim_of_kind(&claimed, control)) {
        return false;
    }
    bool is_repeat = claimed.kind != NULL ? claimed.written > 0 : trigger->routine[0] != '\0';
    if (claim_bundle(process, opd_trigger_room(control, is_repeat))) {
        if (opd_trigger_freeze(process, trigger) || enqueue(process, trigger)) {
            return true;
        }
        atomic_fetch_sub(&process->fired, 1);
    }
    give_back(&claimed);
    return false;
}

bool opd_trigger_fire(const opd_control *control, opd_process *process, const opd_shared_trigger *trigger)
{
    bool is_written = is_taken_up(control, process, trigger);
    atomic_fetch_add(&process->suppressed, is_written ? 0 : 1);
    return is_written;
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
