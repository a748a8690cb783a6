/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture level counts, in the recorded process: a call adds to the count and the time of its kind, in a table that its thread alone writes. The
 * first of each kind is recorded as at level meta, so that the count has a name. A kind is hashed to 64 bits; two that meet are counted as one.
 */
#ifndef OPD_COUNTS_H
#define OPD_COUNTS_H

#include "here.h"

/* What makes a kind beside the call itself: the thread, and whether it is inside another call. */
static inline uint64_t opd_counts_base(const opd_slot *slot, uint64_t what)
{
    return opd_mix(what, (uint64_t)slot->tid << 1 | (slot->depth > 1));
}

/* Where a kind that has no place of its own is counted, by its operator: that of call, else operator_key. NULL: nowhere. */
opd_counted *opd_counts_rest(opd_slot *slot, uint64_t operator_key, const opd_call *call);

static inline opd_counted *opd_counts_find(opd_slot *slot, uint64_t key)
{
    enum { PROBES = 16 };
    for (uint32_t i = 0; i < PROBES; i++) {
        opd_counted *place = &slot->counts[((key >> 40) + i) & (OPD_COUNT_KINDS - 1)];
        uint64_t found = atomic_load_explicit(&place->key, memory_order_relaxed);
        if (__builtin_expect(found == key, 1)) {
            return place;
        }
        if (found == 0) {
            atomic_store_explicit(&place->key, key, memory_order_relaxed);
            return place;
        }
    }
    return NULL;
}

/*
 * Counts the call that was opened last. true: it is the first of its kind, and to be recorded; opd_counts_recorded() then says that it was. operator_key: of its operator alone, where no call is at hand.
 */
static inline bool opd_counts_begin(opd_slot *slot, opd_open_call *open, uint64_t key, uint64_t operator_key,
                                    const opd_call *call)
{
    opd_counted *place = opd_counts_find(slot, key | 1);
    if (__builtin_expect(place == NULL, 0)) {
        place = opd_counts_rest(slot, operator_key, call);
        if (place == NULL) {
            atomic_fetch_add_explicit(&slot->dropped, 1, memory_order_relaxed);
            return false;
        }
    }
    open->flags |= OPD_OPEN_COUNTED;
    open->parts = (uint32_t)(place - slot->counts);
    atomic_store_explicit(&place->calls, atomic_load_explicit(&place->calls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    open->begun = opd_here_ticks();
    return __builtin_expect(atomic_load_explicit(&place->first, memory_order_relaxed) == 0, 0);
}

/* The first of a kind has a record. place: open->parts, as opd_counts_begin set it. */
static inline void opd_counts_recorded(opd_slot *slot, uint32_t place)
{
    uint64_t first =
        (uint64_t)slot->tid << OPD_COUNT_NUMBER_BITS | (slot->number & ((UINT64_C(1) << OPD_COUNT_NUMBER_BITS) - 1));
    atomic_store_explicit(&slot->counts[place].first, first, memory_order_release);
}

/* A call of which OPD_OPEN_COUNTED is set has ended. */
static inline void opd_counts_end(opd_slot *slot, const opd_open_call *open, uint64_t now)
{
    opd_counted *place = &slot->counts[open->parts];
    uint64_t ticks = now > open->begun ? now - open->begun : 0;
    atomic_store_explicit(&place->ticks, atomic_load_explicit(&place->ticks, memory_order_relaxed) + ticks,
                          memory_order_relaxed);
}

#endif
