/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C API for runtimes that make the same calls again and again: a call's form is interned once, a record is its number, addresses
 * and scalars.
 */
#include <opsdebug/record.h>

#include "api.h"
#include "calls.h"
#include "capture.h"
#include "counts.h"
#include "forms.h"
#include "modules.h"

/* The caller promises an end for each begin, and its frames are an interpreter's: no address tells that a call was left. */
#define FRAME_STAYS UINT64_MAX

uint32_t opd_record_form(const opd_call *call)
{
    if (opd_api_other != NULL) {
        return opd_api_other->form(call);
    }
    opd_slot *slot = opd_api_enter(__builtin_frame_address(0));
    if (slot == NULL) {
        return 0;
    }
    uint32_t form = opd_form_add(opd_recorder.process, call, opd_here_populate);
    opd_api_leave(slot);
    return form;
}

/* Does this process have the form? A child of a fork may lack it. */
static bool is_known(uint32_t form)
{
    return form > 0 && form <= OPD_FORM_COUNT &&
           atomic_load_explicit(&opd_recorder.process->forms.places[form - 1], memory_order_relaxed) != 0;
}

static void put_words(opd_slot *slot, uint64_t at, uint32_t form, const uint64_t *words, uint32_t count)
{
    opd_ring_set(slot, at++, form);
    for (uint32_t i = 0; i < count; i++) {
        opd_ring_set(slot, at++, words[i]);
    }
}

static uint64_t begin(opd_slot *slot, uint32_t form, opd_call *call, const uint64_t *words)
{
    const opd_control *control = opd_recorder.control;
    opd_open_call *open = opd_calls_push(slot, FRAME_STAYS, OPD_CALLER_API);
    if (open == NULL || !opd_calls_in_range(control, slot->number)) {
        opd_calls_leave(slot, open);
        return 0;
    }
    const bool is_counting = control->capture == OPD_CAPTURE_COUNTS;
    if (is_counting) {
        uint64_t kind = opd_mix(form, call->provider);
        if (!opd_counts_begin(slot, open, opd_counts_base(slot, kind), 0, call)) {
            uint64_t token = OPD_NO_LIMIT << 8 | slot->depth;
            opd_api_leave(slot);
            return token;
        }
    }
    uint32_t count = 1 + opd_form_words(call);
    uint32_t operands = 0;
    if ((call->flags & OPD_CALL_VIEW) == 0 && opd_capture_wants(control, slot->number)) {
        open->flags |= OPD_OPEN_DATA;
        operands = (uint32_t)call->operand_count;
    }
    open->parts = is_counting ? open->parts : OPD_R_WORDS + count;
    uint32_t size = OPD_R_WORDS + count + operands * (uint32_t)OPD_PART_WORDS;
    if (opd_calls_reserve(slot, &open->position, size)) {
        uint64_t at = open->position;
        opd_api_head(slot, at, size, OPD_RECORD_FORM, count, operands);
        opd_ring_set(slot, at + OPD_R_MODULES, opd_ring_get(slot, at + OPD_R_MODULES) | (call->provider & 0xffff));
        opd_ring_set(slot, at + OPD_R_STATE, operands > 0 ? OPD_STATE_PUBLISHED : OPD_STATE_SUBMITTED);
        put_words(slot, at + OPD_R_WORDS, form, words, count - 1);
        opd_ring_publish(slot, at, size);
        if (operands > 0) {
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

uint32_t opd_record_provider(const void *address, int32_t threads)
{
    struct dl_find_object object;
    if (opd_api_other != NULL) {
        return opd_api_other->provider(address, threads);
    }
    opd_slot *slot = opd_api_enter(__builtin_frame_address(0));
    if (slot == NULL) {
        return 0;
    }
    uint32_t number = opd_module_find(&object, address) ? opd_module_number(&object, NULL) : 0;
    if (number > 0 && threads > 0) {
        opd_recorder.process->modules[number - 1].threads = threads;
    }
    opd_api_leave(slot);
    return number;
}

uint64_t opd_record_begin_as(uint32_t form, opd_call *call, const uint64_t *words)
{
    if (opd_api_other != NULL) {
        return opd_api_other->begin_as(form, call, words);
    }
    opd_slot *slot = opd_api_is_plausible(call) ? opd_api_enter(__builtin_frame_address(0)) : NULL;
    if (slot == NULL) {
        return 0;
    }
    opd_form_fill(call, words);
    return is_known(form) ? begin(slot, form, call, words) : opd_api_begin(slot, call, FRAME_STAYS);
}

/* The record gets the form that the call turned out to have; one that says all keeps what it said. */
static void settle_form(opd_slot *slot, uint64_t at, uint32_t form, const opd_call *call, const uint64_t *words)
{
    uint64_t head = at != OPD_NO_LIMIT && opd_ring_stands(slot, at) ? opd_ring_get(slot, at + OPD_R_HEAD) : 0;
    uint32_t count = 1 + opd_form_words(call);
    if ((head >> 16 & 255) == OPD_RECORD_FORM && (head >> 32 & 0xffff) == count && is_known(form)) {
        put_words(slot, at + OPD_R_WORDS, form, words, count - 1);
    }
}

void opd_record_end_as(uint64_t token, uint32_t form, opd_call *call, const uint64_t *words, int status)
{
    if (opd_api_other != NULL) {
        opd_api_other->end_as(token, form, call, words, status);
        return;
    }
    uint64_t now = token != 0 ? opd_here_ticks() : 0;
    opd_slot *slot;
    opd_open_call *open = opd_api_open(&slot, token, __builtin_frame_address(0));
    if (open == NULL) {
        return;
    }
    if (opd_api_is_plausible(call)) {
        opd_form_fill(call, words);
        settle_form(slot, open->position, form, call, words);
    }
    opd_api_complete(slot, open, call, status, now);
}

void opd_record_note_as(uint32_t form, opd_call *call, const uint64_t *words)
{
    if (opd_api_other != NULL) {
        opd_api_other->note_as(form, call, words);
        return;
    }
    opd_record_end_as(opd_record_begin_as(form, call, words), form, call, words, 0);
}

/* Numbers that opsdebug_aten.py has as well; sizes are compared when it starts. */
_Static_assert(OPD_ROLE_IN == 1 && OPD_ROLE_OUT == 2 && OPD_ROLE_INOUT == 3 && OPD_OPERAND_FRESH == 1 << 7 &&
                   OPD_OPERAND_STATE == 1 << 8 && OPD_OPERAND_ABSENT == 1 << 6 && OPD_CALL_VIEW == 1 << 10 &&
                   OPD_VALUE_INT == 1 && OPD_VALUE_REAL == 2 && OPD_VALUE_COMPLEX == 3 && OPD_VALUE_TEXT == 5 &&
                   OPD_VALUE_INTS == 6,
               "as the module for PyTorch has them");

void opd_record_layout(uint32_t bytes[4])
{
    const uint32_t sizes[] = { sizeof(opd_call), sizeof(opd_operand), sizeof(opd_value), sizeof(opd_tensor) };
    for (size_t i = 0; i < OPD_COUNT(sizes); i++) {
        bytes[i] = sizes[i];
    }
}
