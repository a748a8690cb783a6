/* SPDX-License-Identifier: Apache-2.0 */
/* The C API of a recorded program: any operator, recorded as the BLAS wrappers record theirs. */
#include <string.h>

#include <opsdebug/record.h>

#include "api.h"
#include "attach.h"
#include "calls.h"
#include "capture.h"
#include "counts.h"
#include "firsts.h"
#include "load.h"
#include "ring_note.h"

const opd_record_api *opd_api_other;

_Static_assert(OPD_CALL_HEAD_BYTES % 8 == 0 && sizeof(opd_value) % 8 == 0 && sizeof(opd_operand) % 8 == 0,
               "copied as words");

/* A call as it goes into the ring: its head, then the values and operands in use. */
typedef struct piece {
    const void *start;
    size_t bytes;
} piece;
enum { PIECES = 4 };

static uint32_t split_call(piece pieces[PIECES], const opd_call *call)
{
    pieces[0] = (piece){ call, OPD_CALL_HEAD_BYTES };
    pieces[1] = (piece){ call->symbols, (size_t)call->symbol_count * sizeof(opd_value) };
    pieces[2] = (piece){ call->attrs, (size_t)call->attr_count * sizeof(opd_value) };
    pieces[3] = (piece){ call->operands, (size_t)call->operand_count * sizeof(opd_operand) };
    uint32_t words = 1; /* the counts */
    for (int i = 0; i < PIECES; i++) {
        words += (uint32_t)(pieces[i].bytes / 8);
    }
    return words;
}

static uint64_t put_bytes(opd_slot *slot, uint64_t at, const void *start, size_t bytes)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)start + i, sizeof(word));
        opd_ring_set(slot, at++, word);
    }
    return at;
}

void opd_api_head(opd_slot *slot, uint64_t at, uint32_t size, opd_record_kind kind, uint32_t words, uint32_t operands)
{
    uint32_t depth = slot->depth - (kind != OPD_RECORD_EVENT); /* of the calls around it */
    opd_ring_set(slot, at + OPD_R_HEAD, opd_ring_head_word(size, kind, depth, words, operands, 0));
    opd_ring_set(slot, at + OPD_R_NUMBER, slot->number);
    opd_ring_set(slot, at + OPD_R_WHO, (uint64_t)slot->tid | (uint64_t)(operands > 0) << 48);
    opd_ring_set(slot, at + OPD_R_MODULES, (uint64_t)opd_here_mxcsr() << 48);
    opd_ring_set(slot, at + OPD_R_END, 0);
    opd_ring_set(slot, at + OPD_R_SEED, slot->seed);
    opd_ring_set(slot, at + OPD_R_ADDRESS, 0);
    opd_ring_set(slot, at + OPD_R_BEGIN, opd_here_ticks());
}

bool opd_api_is_plausible(const opd_call *call)
{
    return call->symbol_count >= 0 && call->symbol_count <= OPD_MAX_SYMBOLS && call->attr_count >= 0 &&
           call->attr_count <= OPD_MAX_ATTRS + OPD_MAX_OPERANDS && call->operand_count >= 0 &&
           call->operand_count <= OPD_MAX_OPERANDS;
}

opd_slot *opd_api_enter(const void *frame)
{
    opd_slot *slot = opd_record_enabled ? opd_here_slot() : NULL;
    return slot != NULL && opd_calls_enter(slot, (uint64_t)(uintptr_t)frame) ? slot : NULL;
}

void opd_api_leave(opd_slot *slot)
{
    atomic_signal_fence(memory_order_seq_cst);
    slot->busy = 0;
}

uint64_t opd_api_begin(opd_slot *slot, const opd_call *call, uint64_t frame)
{
    const opd_control *control = opd_recorder.control;
    opd_open_call *open = opd_calls_push(slot, frame, OPD_CALLER_API);
    if (open == NULL || !opd_calls_in_range(control, slot->number)) {
        opd_calls_leave(slot, open);
        return 0;
    }
    const bool is_counting = control->capture == OPD_CAPTURE_COUNTS;
    if (is_counting &&
        !opd_counts_begin(slot, open, opd_counts_base(slot, opd_mix(opd_firsts_kind(call), call->provider)), 0, call)) {
        uint64_t token = OPD_NO_LIMIT << 8 | slot->depth;
        opd_api_leave(slot);
        return token;
    }
    piece pieces[PIECES];
    uint32_t words = split_call(pieces, call);
    uint32_t operands = 0;
    if (opd_capture_wants(control, slot->number)) {
        open->flags |= OPD_OPEN_DATA | ((call->flags & OPD_CALL_BAD_ARGS) != 0 ? OPD_OPEN_BAD_ARGS : 0);
        operands = (uint32_t)call->operand_count;
    }
    open->parts = is_counting ? open->parts : OPD_R_WORDS + words;
    uint32_t size = OPD_R_WORDS + words + operands * (uint32_t)OPD_PART_WORDS;
    if (opd_calls_reserve(slot, &open->position, size)) {
        uint64_t at = open->position;
        opd_api_head(slot, at, size, OPD_RECORD_CALL, words, operands);
        opd_ring_set(slot, at + OPD_R_STATE, operands > 0 ? OPD_STATE_PUBLISHED : OPD_STATE_SUBMITTED);
        uint64_t next = at + OPD_R_WORDS;
        opd_ring_set(slot, next++,
                     (uint64_t)call->symbol_count | (uint64_t)call->attr_count << 8 |
                         (uint64_t)call->operand_count << 16);
        for (int i = 0; i < PIECES; i++) {
            next = put_bytes(slot, next, pieces[i].start, pieces[i].bytes);
        }
        opd_ring_publish(slot, at, size);
        if ((open->flags & OPD_OPEN_DATA) != 0) {
            opd_capture_before(slot, open, call);
            opd_ring_set(slot, at + OPD_R_BEGIN, opd_here_ticks());
            opd_ring_state(slot, at, OPD_STATE_SUBMITTED);
        }
        if (is_counting) {
            opd_counts_recorded(slot, open->parts);
        }
    }
    uint64_t token = open->position << 8 | slot->depth;
    opd_api_leave(slot);
    return token;
}

uint64_t opd_record_begin(const opd_call *call)
{
    if (opd_api_other != NULL) {
        return opd_api_other->begin(call);
    }
    opd_slot *slot = opd_api_is_plausible(call) ? opd_api_enter(__builtin_frame_address(0)) : NULL;
    return slot != NULL ? opd_api_begin(slot, call, (uint64_t)(uintptr_t)__builtin_frame_address(0)) : 0;
}

opd_open_call *opd_api_open(opd_slot **out, uint64_t token, const void *frame)
{
    uint32_t depth = (uint32_t)(token & 255);
    opd_slot *slot = token != 0 && opd_here_is_same() ? opd_api_enter(frame) : NULL;
    if (slot == NULL) {
        return NULL;
    }
    if (depth == 0 || depth > slot->depth || slot->open[depth - 1].position << 8 >> 8 != token >> 8) {
        opd_api_leave(slot);
        return NULL;
    }
    while (slot->depth > depth) {
        opd_calls_lose(slot);
    }
    *out = slot;
    return &slot->open[depth - 1];
}

void opd_api_complete(opd_slot *slot, opd_open_call *open, const opd_call *call, int status, uint64_t now)
{
    uint64_t at = open->position;
    if ((open->flags & OPD_OPEN_COUNTED) != 0) {
        opd_counts_end(slot, open, now);
    }
    if (at != OPD_NO_LIMIT && opd_ring_stands(slot, at)) {
        opd_ring_set(slot, at + OPD_R_END, now);
        opd_ring_set(slot, at + OPD_R_RETURN, (uint64_t)(int64_t)status);
        /* The operands' places were taken at begin: a call with more has no place for them. */
        uint64_t operands = opd_ring_get(slot, at + OPD_R_HEAD) >> 48 & 255;
        bool has_data = (open->flags & OPD_OPEN_DATA) != 0 && opd_api_is_plausible(call) &&
                        (uint64_t)call->operand_count <= operands;
        if (has_data) {
            opd_capture_after(slot, open, call, NULL);
        }
        opd_ring_state(slot, at, OPD_STATE_COMPLETE);
        if (has_data) {
            opd_calls_settle(slot);
        }
    }
    opd_calls_pop(slot);
}

void opd_record_end(uint64_t token, const opd_call *call, int status)
{
    if (opd_api_other != NULL) {
        opd_api_other->end(token, call, status);
        return;
    }
    uint64_t now = token != 0 ? opd_here_ticks() : 0;
    opd_slot *slot;
    opd_open_call *open = opd_api_open(&slot, token, __builtin_frame_address(0));
    if (open != NULL) {
        opd_api_complete(slot, open, call, status, now);
    }
}

void opd_api_event(const char *kind, const char *name, int64_t value)
{
    opd_slot *slot = opd_api_enter(__builtin_frame_address(0));
    if (slot != NULL) {
        opd_note_put(slot, kind, name, value);
        opd_api_leave(slot);
    }
}

void opd_record_range_push(const char *name)
{
    if (opd_api_other != NULL) {
        opd_api_other->range_push(name);
        return;
    }
    opd_api_event("range-push", name, 0);
}

void opd_record_range_pop(void)
{
    if (opd_api_other != NULL) {
        opd_api_other->range_pop();
        return;
    }
    opd_api_event("range-pop", "", 0);
}

void opd_record_mark(const char *name, int64_t value)
{
    if (opd_api_other != NULL) {
        opd_api_other->mark(name, value);
        return;
    }
    opd_api_event("mark", name, value);
}

void opd_record_seed(uint64_t seed)
{
    if (opd_api_other != NULL) {
        opd_api_other->seed(seed);
        return;
    }
    opd_slot *slot = opd_api_enter(__builtin_frame_address(0));
    if (slot != NULL) {
        slot->seed = seed;
        opd_api_leave(slot);
    }
}

void opd_record_trigger(const char *reason)
{
    if (opd_api_other != NULL) {
        opd_api_other->trigger(reason);
        return;
    }
    opd_slot *slot = opd_api_enter(__builtin_frame_address(0));
    if (slot == NULL) {
        return;
    }
    slot->pending = (opd_shared_trigger){ .outcome = OPD_OUTCOME_REQUESTED,
                                          .tid = slot->tid,
                                          .slot = OPD_PROCESS_THREADS,
                                          .operand = -1,
                                          .element = -1,
                                          .ticks = opd_here_ticks() };
    strncpy(slot->pending.reason, reason != NULL ? reason : "", sizeof(slot->pending.reason) - 1);
    opd_calls_settle(slot);
    opd_api_leave(slot);
}

opd_status opd_record_start(const char *out)
{
    if (opd_api_other != NULL) {
        return opd_api_other->start(out);
    }
    char session[OPD_SESSION_PATH];
    if (opd_record_enabled) {
        return OPD_OK;
    }
    opd_status status = opd_attach_collector(session, out != NULL ? out : "ops-debug-out");
    if (status == OPD_OK && !(opd_load(session) && opd_here_attach() && opd_recorder.process != NULL)) {
        status = opd_fail(OPD_E_NOTFOUND, "%s: the session cannot be joined", session);
    }
    return status;
}

void opd_record_stop(void)
{
    if (opd_api_other != NULL) {
        opd_api_other->stop();
        return;
    }
    opd_record_enabled = false;
}
