/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lap ring of one thread: the owner reserves, fills and publishes records and never waits; any reader copies and
 * then finds out whether what it copied still stood. Positions are words ever written, so they never repeat.
 */
#ifndef OPD_RING_H
#define OPD_RING_H

#include "session.h"

static inline _Atomic uint64_t *opd_ring_at(opd_slot *slot, uint64_t position)
{
    return &slot->ring[position & (OPD_RING_WORDS - 1)];
}

static inline void opd_ring_set(opd_slot *slot, uint64_t position, uint64_t word)
{
    atomic_store_explicit(opd_ring_at(slot, position), word, memory_order_relaxed);
}

static inline uint64_t opd_ring_get(opd_slot *slot, uint64_t position)
{
    return atomic_load_explicit(opd_ring_at(slot, position), memory_order_relaxed);
}

/* A word of a record by its place in the record; a record never wraps. */
static inline void opd_ring_put(_Atomic uint64_t *record, uint32_t index, uint64_t word)
{
    atomic_store_explicit(&record[index], word, memory_order_relaxed);
}

static inline uint64_t opd_ring_head_word(uint32_t size, opd_record_kind kind, uint32_t depth, uint32_t words,
                                          uint32_t operands, uint32_t pattern)
{
    return (uint64_t)size | (uint64_t)kind << 16 | (uint64_t)(depth & 255) << 24 | (uint64_t)words << 32 |
           (uint64_t)operands << 48 | (uint64_t)pattern << 56;
}

/* The slow half of opd_ring_reserve: fills up the segment with a pad, or tells that the window is frozen. */
bool opd_ring_pad(opd_slot *slot, uint64_t *position, uint32_t words);

/*
 * Room for one record of `words` words, *position its place; false: the record is to be dropped (and was counted).
 * Owner only. What is written there becomes visible with opd_ring_publish.
 */
static inline bool opd_ring_reserve(opd_slot *slot, uint64_t *position, uint32_t words)
{
    uint64_t at = atomic_load_explicit(&slot->head, memory_order_relaxed);
    uint64_t end = at + words;
    uint64_t room = OPD_SEGMENT_WORDS - (at & (OPD_SEGMENT_WORDS - 1));
    if (__builtin_expect(words > room || end > atomic_load_explicit(&slot->limit, memory_order_relaxed), 0)) {
        return opd_ring_pad(slot, position, words);
    }
    atomic_store_explicit(&slot->reserved, end, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* a reader that sees new words also sees that they were reserved */
    *position = at;
    return true;
}

static inline void opd_ring_publish(opd_slot *slot, uint64_t position, uint32_t words)
{
    atomic_store_explicit(&slot->head, position + words, memory_order_release);
}

/* Does the record at position still stand (owner's view)? An outer call may be lapped by the calls inside it. */
static inline bool opd_ring_stands(opd_slot *slot, uint64_t position)
{
    return atomic_load_explicit(&slot->reserved, memory_order_relaxed) - position <= OPD_RING_WORDS;
}

/* Release store of the state: what was written before it is visible to a reader of it. */
static inline void opd_ring_state(opd_slot *slot, uint64_t position, opd_record_state state)
{
    atomic_store_explicit(opd_ring_at(slot, position + OPD_R_STATE), (uint64_t)state, memory_order_release);
}

typedef struct opd_ring_record {
    uint64_t position;
    uint32_t size, words, operands, depth, pattern;
    opd_record_kind kind;
    opd_record_state state; /* as it was before the copy: parts beyond it are not valid */
    uint64_t word[OPD_SEGMENT_WORDS];
} opd_ring_record;

typedef enum opd_ring_result {
    OPD_RING_RECORD, /* *record is filled, *position moved behind it */
    OPD_RING_EMPTY,  /* nothing published at *position yet */
    OPD_RING_LAPPED, /* the owner overtook the reader: *position moved to the oldest whole segment */
} opd_ring_result;

/* Reads the record at *position; pads are skipped. Any process that maps the slot. */
opd_ring_result opd_ring_read(opd_slot *slot, uint64_t *position, opd_ring_record *record);

/* The oldest position that can be read. */
uint64_t opd_ring_oldest(opd_slot *slot);

#endif
