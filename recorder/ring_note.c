/* SPDX-License-Identifier: Apache-2.0 */
/* Events in the ring: a value, then kind and name as words. */
#include "ring_note.h"

#include <string.h>

#include "api.h"
#include "calls.h"

#define KIND_WORDS 3u
#define NAME_WORDS 12u
#define KIND_BYTES 24u
#define TEXT_BYTES 120u
_Static_assert(KIND_BYTES == KIND_WORDS * 8 && TEXT_BYTES == (KIND_WORDS + NAME_WORDS) * 8, "whole words");
_Static_assert(NAME_WORDS * 8 == OPD_EVENT_NAME, "a name fits");

void opd_note_put(opd_slot *slot, const char *kind, const char *name, int64_t value)
{
    uint64_t copy[KIND_WORDS + NAME_WORDS];
    char text[TEXT_BYTES] = { 0 };
    const uint32_t words = 1 + KIND_WORDS + NAME_WORDS;
    uint64_t at;
    strncpy(text, kind, KIND_BYTES - 1);
    strncpy(text + KIND_BYTES, name != NULL ? name : "", TEXT_BYTES - KIND_BYTES - 1);
    memcpy(copy, text, sizeof(copy));
    if (!opd_calls_reserve(slot, &at, OPD_R_WORDS + words)) {
        return;
    }
    opd_ring_set(slot, at + OPD_R_HEAD,
                 opd_ring_head_word(OPD_R_WORDS + words, OPD_RECORD_EVENT, slot->depth, words, 0, 0));
    opd_ring_set(slot, at + OPD_R_NUMBER, slot->number);
    opd_ring_set(slot, at + OPD_R_WHO, slot->tid);
    opd_ring_set(slot, at + OPD_R_MODULES, 0);
    opd_ring_set(slot, at + OPD_R_END, 0);
    opd_ring_set(slot, at + OPD_R_SEED, slot->seed);
    opd_ring_set(slot, at + OPD_R_ADDRESS, 0);
    opd_ring_set(slot, at + OPD_R_BEGIN, opd_here_ticks());
    opd_ring_set(slot, at + OPD_R_STATE, OPD_STATE_COMPLETE);
    opd_ring_set(slot, at + OPD_R_WORDS, (uint64_t)value);
    for (uint32_t i = 0; i < KIND_WORDS + NAME_WORDS; i++) {
        opd_ring_set(slot, at + OPD_R_WORDS + 1 + i, copy[i]);
    }
    opd_ring_publish(slot, at, OPD_R_WORDS + words);
}
