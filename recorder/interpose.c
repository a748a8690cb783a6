/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begin and end of a wrapped BLAS call: the fast path. At capture level meta it writes the argument words and two time
 * stamps into the thread's ring, nothing else.
 */
#include "interpose.h"

#include "calls.h"
#include "capture.h"
#include "counts.h"
#include "here.h"

/* Fills the record's fixed words and the argument words. */
static inline void write_record(opd_slot *slot, uint32_t size, const opd_wrapped *frame, const opd_target *target,
                                const uint64_t *words, const void *return_address)
{
    const opd_site *site = frame->site;
    _Atomic uint64_t *record = opd_ring_at(slot, slot->open[frame->depth].position);
    bool has_data = (slot->open[frame->depth].flags & OPD_OPEN_DATA) != 0;
    uint64_t modules = target->modules | (uint64_t)site->flags << 32 | (uint64_t)opd_here_mxcsr() << 48;
    if (frame->depth > 0) {
        modules |= (uint64_t)OPD_CALL_NESTED << 32;
    }
    opd_ring_put(record, OPD_R_HEAD,
                 opd_ring_head_word(size, OPD_RECORD_BLAS, frame->depth, site->words, has_data ? site->operands : 0,
                                    site->pattern));
    opd_ring_put(record, OPD_R_STATE, has_data ? OPD_STATE_PUBLISHED : OPD_STATE_SUBMITTED);
    opd_ring_put(record, OPD_R_NUMBER, slot->number);
    opd_ring_put(record, OPD_R_WHO, (uint64_t)slot->tid | (uint64_t)site->routine << 32 | (uint64_t)has_data << 48);
    opd_ring_put(record, OPD_R_MODULES, modules);
    opd_ring_put(record, OPD_R_END, 0);
    opd_ring_put(record, OPD_R_SEED, slot->seed);
    opd_ring_put(record, OPD_R_ADDRESS, (uint64_t)(uintptr_t)return_address);
    for (uint32_t i = 0; i < site->words; i++) {
        opd_ring_put(record, OPD_R_WORDS + i, words[i]);
    }
    opd_ring_put(record, OPD_R_BEGIN, opd_here_ticks());
}

/* The operands of a BLAS call, bound in the slot's scratch by the contract. */
static void capture_operands(opd_slot *slot, opd_open_call *open, const opd_site *site, const uint64_t *words)
{
    opd_call *call = &slot->scratch;
    const opd_routine *routine = opd_routine_at(site->routine);
    if (opd_call_from_words(call, routine, site->flags, words, site->words) != OPD_OK) {
        open->flags &= ~(uint32_t)OPD_OPEN_DATA;
        return;
    }
    const opd_operand *overflow;
    if (!opd_call_check(call, slot->reason, sizeof(slot->reason), &overflow)) {
        open->flags |= OPD_OPEN_BAD_ARGS;
    }
    opd_capture_before(slot, open, call);
}

/* At capture level counts. true: the first of its kind, to be recorded as well. */
static __attribute__((noinline)) bool count_call(opd_slot *slot, opd_open_call *open, const opd_site *site,
                                                 const opd_target *target, const uint64_t *words)
{
    uint64_t one = (uint64_t)(uintptr_t)target;
    uint64_t other = 0; /* two chains that do not wait for each other */
    for (uint32_t left = site->kind_words; left != 0; left &= left - 1) {
        uint64_t mixed = opd_mix(other, words[__builtin_ctz(left)]);
        other = one;
        one = mixed;
    }
    uint64_t key = opd_counts_base(slot, opd_mix(one, other));
    return opd_counts_begin(slot, open, key, opd_mix(site->routine, 1), NULL);
}

void opd_interpose_begin(opd_wrapped *frame, const opd_site *site, const opd_target *target, const uint64_t *words,
                         const void *return_address)
{
    const opd_control *control = opd_recorder.control;
    opd_slot *slot = opd_here_slot();
    uint64_t place = (uint64_t)(uintptr_t)frame;
    frame->slot = NULL;
    if (__builtin_expect(slot == NULL, 0) || !opd_calls_enter(slot, place)) {
        return;
    }
    bool is_from_library = (target->modules >> 32 & OPD_CALL_FROM_LIBRARY) != 0;
    opd_open_call *open = opd_calls_push(slot, place, is_from_library ? OPD_CALLER_LIBRARY : OPD_CALLER_PROGRAM);
    if (__builtin_expect(open == NULL || !opd_calls_in_range(control, slot->number), 0)) {
        opd_calls_leave(slot, open);
        return;
    }
    frame->slot = slot;
    frame->site = site;
    frame->depth = slot->depth - 1;
    bool is_inner = frame->depth > 0 && (slot->open[frame->depth - 1].flags & OPD_OPEN_BLAS) != 0;
    open->flags = OPD_OPEN_BLAS;
    const bool is_counting = __builtin_expect(control->capture == OPD_CAPTURE_COUNTS, 0);
    if (is_counting && !count_call(slot, open, site, target, words)) {
        atomic_signal_fence(memory_order_seq_cst);
        slot->busy = 0;
        return;
    }
    if (!is_inner && opd_capture_wants(control, slot->number)) {
        open->flags |= OPD_OPEN_DATA;
    }
    uint32_t size = OPD_R_WORDS + site->words;
    if ((open->flags & OPD_OPEN_DATA) != 0) {
        open->parts = size;
        size += site->operands * (uint32_t)OPD_PART_WORDS;
    }
    if (__builtin_expect(opd_calls_reserve(slot, &open->position, size), 1)) {
        uint64_t at = open->position;
        write_record(slot, size, frame, target, words, return_address);
        opd_ring_publish(slot, at, size);
        if ((open->flags & OPD_OPEN_DATA) != 0) {
            capture_operands(slot, open, site, words);
            opd_ring_set(slot, at + OPD_R_BEGIN, opd_here_ticks());
            opd_ring_state(slot, at, OPD_STATE_SUBMITTED);
        }
        if (is_counting) {
            opd_counts_recorded(slot, open->parts);
        }
    }
    atomic_signal_fence(memory_order_seq_cst);
    slot->busy = 0;
}

void opd_interpose_end(opd_wrapped *frame, const void *result, size_t size)
{
    opd_slot *slot = frame->slot;
    if (slot == NULL || !opd_here_is_same()) {
        return; /* not recorded, or the child of a fork made inside the call */
    }
    uint64_t now = opd_here_ticks();
    slot->busy = (uint64_t)(uintptr_t)frame;
    atomic_signal_fence(memory_order_seq_cst);
    opd_open_call *open = &slot->open[frame->depth];
    uint64_t at = open->position;
    if (__builtin_expect(slot->depth <= frame->depth || open->frame != (uint64_t)(uintptr_t)frame, 0)) {
        slot->busy = 0; /* given up as lost: a signal handler called a routine meanwhile */
        return;
    }
    while (slot->depth > frame->depth + 1) {
        opd_calls_lose(slot);
    }
    if (__builtin_expect((open->flags & OPD_OPEN_COUNTED) != 0, 0)) {
        opd_counts_end(slot, open, now);
    }
    if (at != OPD_NO_LIMIT && opd_ring_stands(slot, at)) {
        uint64_t words[2] = { 0, 0 };
        if (size > 0) {
            memcpy(words, result, size <= sizeof(words) ? size : sizeof(words));
        }
        _Atomic uint64_t *record = opd_ring_at(slot, at);
        opd_ring_put(record, OPD_R_END, now);
        opd_ring_put(record, OPD_R_RETURN, words[0]);
        opd_ring_put(record, OPD_R_RETURN2, words[1]);
        if ((open->flags & OPD_OPEN_DATA) != 0) {
            opd_capture_after(slot, open, &slot->scratch, size > 0 ? result : NULL);
        }
        opd_ring_state(slot, at, OPD_STATE_COMPLETE);
        if ((open->flags & OPD_OPEN_DATA) != 0) {
            opd_calls_settle(slot);
        }
    }
    opd_calls_pop(slot);
}
