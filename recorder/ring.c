/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slow half of the lap ring (see ring.h) and its reader. The reader is a seqlock without retries: words are copied with
 * relaxed loads, then `reserved` tells whether the owner had begun to overwrite them.
 */
#include "ring.h"

bool opd_ring_pad(opd_slot *slot, uint64_t *position, uint32_t words)
{
    uint64_t at = atomic_load_explicit(&slot->head, memory_order_relaxed);
    uint64_t room = OPD_SEGMENT_WORDS - (at & (OPD_SEGMENT_WORDS - 1));
    uint64_t pad = words > room ? room : 0;
    uint64_t end = at + pad + words;
    if (words > OPD_SEGMENT_WORDS || end > atomic_load_explicit(&slot->limit, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&slot->dropped, 1, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(&slot->reserved, end, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    if (pad > 0) {
        opd_ring_set(slot, at, opd_ring_head_word((uint32_t)pad, OPD_RECORD_PAD, 0, 0, 0, 0));
    }
    *position = at + pad;
    return true;
}

uint64_t opd_ring_oldest(opd_slot *slot)
{
    uint64_t reserved = atomic_load_explicit(&slot->reserved, memory_order_acquire);
    if (reserved <= OPD_RING_WORDS) {
        return 0;
    }
    uint64_t low = reserved - OPD_RING_WORDS;
    return (low + OPD_SEGMENT_WORDS - 1) / OPD_SEGMENT_WORDS * OPD_SEGMENT_WORDS;
}

/* Copies size words at position; false when they may have been overwritten meanwhile. */
static bool copy_words(opd_slot *slot, uint64_t position, uint32_t size, uint64_t *words)
{
    for (uint32_t i = 0; i < size; i++) {
        words[i] = opd_ring_get(slot, position + i);
    }
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&slot->reserved, memory_order_relaxed) - position <= OPD_RING_WORDS;
}

opd_ring_result opd_ring_read(opd_slot *slot, uint64_t *position, opd_ring_record *record)
{
    for (;;) {
        uint64_t at = *position;
        if (at >= atomic_load_explicit(&slot->head, memory_order_acquire)) {
            return OPD_RING_EMPTY;
        }
        uint64_t head = opd_ring_get(slot, at);
        uint64_t state = atomic_load_explicit(opd_ring_at(slot, at + OPD_R_STATE), memory_order_acquire);
        uint32_t size = (uint32_t)(head & 0xffff);
        uint64_t room = OPD_SEGMENT_WORDS - (at & (OPD_SEGMENT_WORDS - 1));
        /* A size from torn words is harmless: it is bounded here and refused by the check after the copy. */
        uint32_t bounded = size > room ? (uint32_t)room : size;
        bool stands = copy_words(slot, at, bounded, record->word);
        if (!stands || size == 0 || size != bounded) {
            uint64_t oldest = opd_ring_oldest(slot);
            *position = oldest > at ? oldest : at + room;
            return OPD_RING_LAPPED;
        }
        *position = at + size;
        if ((head >> 16 & 255) == OPD_RECORD_PAD) {
            continue;
        }
        record->position = at;
        record->size = size;
        record->kind = (opd_record_kind)(head >> 16 & 255);
        record->depth = (uint32_t)(head >> 24 & 255);
        record->words = (uint32_t)(head >> 32 & 0xffff);
        record->operands = (uint32_t)(head >> 48 & 255);
        record->pattern = (uint32_t)(head >> 56);
        record->state = (opd_record_state)state;
        return OPD_RING_RECORD;
    }
}
