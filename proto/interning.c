/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interning of a packet sequence: one hash table for all kinds of strings, their bytes in one growing block. A filter of
 * fingerprints keeps strings that come once (most digests) out of the table; a false hit only interns one too early.
 */
#include <string.h>

#include <xxhash.h>

#include "interning.h"

/* Enough for the names of any real program; a sequence then holds at most about 8 MiB. */
#define MAX_STRINGS 65535u
#define MAX_BYTES   (4u << 20)
#define SEEN_COUNT  4096u /* power of two */
#define FIRST_SLOTS 64u   /* power of two */

typedef struct opd_intern_slot {
    uint64_t hash;
    uint32_t offset;
    uint32_t size;
    uint32_t id; /* 0 = free */
    uint32_t kind;
} opd_intern_slot;

void opd_interning_init(opd_interning *interning)
{
    memset(interning, 0, sizeof(*interning));
    opd_buffer_init(&interning->texts, MAX_BYTES);
}

void opd_interning_done(opd_interning *interning)
{
    opd_free(interning->slots);
    opd_free(interning->seen);
    opd_buffer_done(&interning->texts);
    opd_interning_init(interning);
}

void opd_interning_clear(opd_interning *interning)
{
    if (interning->slots != NULL) {
        memset(interning->slots, 0, interning->capacity * sizeof(*interning->slots));
    }
    if (interning->seen != NULL) {
        memset(interning->seen, 0, SEEN_COUNT * sizeof(*interning->seen));
    }
    memset(interning->next, 0, sizeof(interning->next));
    interning->used = 0;
    interning->texts.size = 0;
}

/* Doubles the table. */
static opd_status make_room(opd_interning *interning)
{
    uint32_t capacity = interning->capacity == 0 ? FIRST_SLOTS : interning->capacity * 2;
    void *memory = NULL;

    opd_status status = opd_alloc_array(&memory, capacity, sizeof(opd_intern_slot));
    if (status != OPD_OK) {
        return status;
    }
    opd_intern_slot *slots = memory;
    for (uint32_t i = 0; i < interning->capacity; i++) {
        if (interning->slots[i].id != 0) {
            uint32_t at = (uint32_t)interning->slots[i].hash & (capacity - 1);
            while (slots[at].id != 0) {
                at = (at + 1) & (capacity - 1);
            }
            slots[at] = interning->slots[i];
        }
    }
    opd_free(interning->slots);
    interning->slots = slots;
    interning->capacity = capacity;
    return OPD_OK;
}

/* Has a text with this hash come before, as far as the filter remembers? */
static opd_status seen_before(bool *was_seen, opd_interning *interning, uint64_t hash)
{
    if (interning->seen == NULL) {
        void *memory = NULL;
        opd_status status = opd_alloc_array(&memory, SEEN_COUNT, sizeof(*interning->seen));
        if (status != OPD_OK) {
            return status;
        }
        interning->seen = memory;
    }
    uint32_t *place = &interning->seen[hash & (SEEN_COUNT - 1)];
    uint32_t fingerprint = (uint32_t)(hash >> 32) | 1;
    *was_seen = *place == fingerprint;
    *place = fingerprint;
    return OPD_OK;
}

static opd_intern_slot *find_slot(const opd_interning *interning, uint64_t hash, uint32_t kind, const char *text,
                                  size_t size)
{
    uint32_t at = (uint32_t)hash & (interning->capacity - 1);

    while (interning->slots[at].id != 0) {
        const opd_intern_slot *slot = &interning->slots[at];
        if (slot->hash == hash && slot->kind == kind && slot->size == size &&
            memcmp(interning->texts.bytes + slot->offset, text, size) == 0) {
            break;
        }
        at = (at + 1) & (interning->capacity - 1);
    }
    return &interning->slots[at];
}

opd_status opd_intern(uint32_t *id, bool *is_new, opd_interning *interning, opd_intern_kind kind, const char *text,
                      bool is_rare)
{
    size_t size = strlen(text);
    uint64_t hash = XXH3_64bits_withSeed(text, size, (uint64_t)kind);
    opd_status status = OPD_OK;

    if (interning->used * 2 >= interning->capacity) {
        status = make_room(interning);
        if (status != OPD_OK) {
            return status;
        }
    }
    opd_intern_slot *slot = find_slot(interning, hash, (uint32_t)kind, text, size);
    if (slot->id != 0) {
        *id = slot->id;
        *is_new = false;
        return OPD_OK;
    }
    bool is_repeated = true;
    if (is_rare) {
        status = seen_before(&is_repeated, interning, hash);
        if (status != OPD_OK) {
            return status;
        }
    }
    bool fits = interning->used < MAX_STRINGS && size <= MAX_BYTES - interning->texts.size;
    if (!is_repeated || !fits) {
        *id = 0;
        *is_new = false;
        return OPD_OK;
    }
    uint32_t offset = (uint32_t)interning->texts.size;
    opd_buffer_append(&interning->texts, text, size);
    if (interning->texts.status != OPD_OK) {
        return interning->texts.status;
    }
    interning->next[kind]++;
    interning->used++;
    *slot = (opd_intern_slot){
        .hash = hash, .offset = offset, .size = (uint32_t)size, .id = interning->next[kind], .kind = (uint32_t)kind
    };
    *id = slot->id;
    *is_new = true;
    return OPD_OK;
}
