/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeds and states of random generators that the program showed. States are read by the kernel, since they may be gone by now. What is shown
 * before the process is attached waits in a small table of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "ring_note.h"

#define EARLY_COUNT 8u

/* A seed (address NULL) or the place of a state, by a name that stays. */
typedef struct early {
    const char *_Atomic name; /* NULL: nothing is here yet */
    const void *_Atomic address;
    _Atomic uint32_t bytes;
    _Atomic uint64_t seed;
    atomic_bool is_entered; /* among what the process shows */
    atomic_bool is_told;    /* in the ring of a thread of this process */
} early;

static early early_notes[EARLY_COUNT];

static void take_state(opd_shown *watch)
{
    int saved = errno;
    if (watch->address == 0) {
        return;
    }
    struct iovec local = { watch->state, watch->bytes };
    struct iovec remote = { (void *)(uintptr_t)watch->address, watch->bytes };
    if (opd_here_is_quiet == 0 &&
        process_vm_readv(opd_recorder.pid, &local, 1, &remote, 1, 0) != (ssize_t)watch->bytes) {
        atomic_store(&watch->is_set, 0);
    }
    errno = saved;
}

void opd_shown_take_all(opd_process *process)
{
    uint32_t count = atomic_load(&process->shown_count);
    for (uint32_t i = 0; i < count && i < OPD_SHOWN_COUNT; i++) {
        if (atomic_load(&process->shown[i].is_set) != 0) {
            take_state(&process->shown[i]);
        }
    }
}

void opd_shown_copy(opd_process *to, opd_process *from)
{
    uint32_t count = atomic_load(&from->shown_count);
    count = count < OPD_SHOWN_COUNT ? count : OPD_SHOWN_COUNT;
    memcpy(to->shown, from->shown, count * sizeof(to->shown[0]));
    atomic_store(&to->shown_count, count);
}

/* The place of a name, among seeds or among states, made when new; NULL: there is none left. */
static opd_shown *place_of(opd_process *process, const char *name, uint64_t address)
{
    uint32_t count = atomic_load(&process->shown_count);
    for (uint32_t i = 0; i < count && i < OPD_SHOWN_COUNT; i++) {
        opd_shown *shown = &process->shown[i];
        if (atomic_load(&shown->is_set) != 0 && shown->address == address &&
            strncmp(shown->name, name, sizeof(shown->name) - 1) == 0) {
            return shown;
        }
    }
    uint32_t index = count < OPD_SHOWN_COUNT ? atomic_fetch_add(&process->shown_count, 1) : count;
    if (index >= OPD_SHOWN_COUNT) {
        return NULL;
    }
    snprintf(process->shown[index].name, sizeof(process->shown[index].name), "%s", name);
    return &process->shown[index];
}

bool opd_shown_keep(opd_process *process, const char *name, uint64_t seed)
{
    opd_shown *shown = place_of(process, name != NULL ? name : "", 0);
    if (shown != NULL) {
        memcpy(shown->state, &seed, sizeof(seed));
        shown->bytes = sizeof(seed);
        atomic_store(&shown->is_set, 1);
    }
    return shown != NULL;
}

bool opd_shown_watch(opd_process *process, const char *name, const void *address, uint32_t bytes)
{
    opd_shown *shown = place_of(process, name != NULL ? name : "", (uint64_t)(uintptr_t)address);
    if (shown != NULL) {
        shown->address = (uint64_t)(uintptr_t)address;
        shown->bytes = bytes;
        atomic_store(&shown->is_set, 1);
        take_state(shown);
    }
    return shown != NULL;
}

void opd_shown_note_early(const char *name, const void *address, uint32_t bytes, uint64_t seed)
{
    for (uint32_t i = 0; i < EARLY_COUNT; i++) {
        early *note = &early_notes[i];
        const char *found = NULL;
        if (atomic_compare_exchange_strong(&note->name, &found, name) || found == name) {
            atomic_store(&note->address, address);
            atomic_store(&note->bytes, bytes);
            atomic_store(&note->seed, seed);
            atomic_store(&note->is_told, false);
            atomic_store(&note->is_entered, false);
            return;
        }
    }
}

void opd_shown_enter_early(opd_process *process)
{
    for (uint32_t i = 0; i < EARLY_COUNT; i++) {
        early *note = &early_notes[i];
        const char *name = atomic_load(&note->name);
        if (name == NULL) {
            return;
        }
        if (atomic_exchange(&note->is_entered, true)) {
            continue; /* a fork's child has it from its parent, as it was since */
        }
        if (atomic_load(&note->address) != NULL) {
            opd_shown_watch(process, name, atomic_load(&note->address), atomic_load(&note->bytes));
        } else {
            opd_shown_keep(process, name, atomic_load(&note->seed));
        }
    }
}

void opd_shown_tell_early(opd_slot *slot)
{
    for (uint32_t i = 0; i < EARLY_COUNT && atomic_load(&early_notes[i].name) != NULL; i++) {
        early *note = &early_notes[i];
        if (atomic_load(&note->address) == NULL && !atomic_exchange(&note->is_told, true)) {
            opd_note_put(slot, "seed", atomic_load(&note->name), (int64_t)atomic_load(&note->seed));
        }
    }
}
