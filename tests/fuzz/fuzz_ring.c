/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any words as what a recorded program left in the ring of a thread, read and decoded as the collector does. The program may
 * have written anything there, so whatever is decoded must be bounded before it is used.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS_MAX ((size_t)3 * OPD_SEGMENT_WORDS)

static void check_text(const char *text, size_t size)
{
    if (strnlen(text, size) == size) {
        abort();
    }
}

static void check_call(const opd_call *call)
{
    char text[512];

    check_text(call->domain, sizeof(call->domain));
    check_text(call->name, sizeof(call->name));
    check_text(call->symbol, sizeof(call->symbol));
    if (call->symbol_count > OPD_MAX_SYMBOLS || call->operand_count > OPD_MAX_OPERANDS ||
        (size_t)call->attr_count > OPD_COUNT(call->attrs)) {
        abort();
    }
    for (int i = 0; i < call->operand_count; i++) {
        check_text(call->operands[i].name, sizeof(call->operands[i].name));
        bool is_absent = (call->operands[i].flags & OPD_OPERAND_ABSENT) != 0; /* and has no view */
        if (!is_absent && opd_tensor_check(&call->operands[i].view) != OPD_OK) {
            abort();
        }
    }
    opd_call_describe(text, sizeof(text), call);
}

/* Reads all there is; each step moves on. */
static void read_ring(opd_slot *slot, opd_ring_record *record)
{
    static const opd_collector collector = { .ticks = { .ns_per_tick = 1.0 } };
    static opd_process process; /* of no modules */
    static opd_watched watched = { .process = &process };
    static opd_call call;
    opd_event event;
    uint64_t position = 0;

    for (;;) {
        uint64_t before = position;
        opd_ring_result result = opd_ring_read(slot, &position, record);
        if (result == OPD_RING_EMPTY) {
            return;
        }
        if (position <= before) {
            abort();
        }
        if (result == OPD_RING_LAPPED) {
            continue;
        }
        if (opd_decode_call(&call, &collector, &watched, record) == OPD_OK) {
            check_call(&call);
        }
        if (opd_decode_event(&event, &collector, record) == OPD_OK) {
            check_text(event.kind, sizeof(event.kind));
            check_text(event.name, sizeof(event.name));
        }
        opd_error_clear();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static opd_slot slot;
    static opd_ring_record record;
    size_t words = size / 8;

    if (words > WORDS_MAX) {
        return 0;
    }
    for (size_t i = 0; i < WORDS_MAX; i++) { /* all of them: nothing of the input before is left */
        uint64_t word = 0;
        if (i < words) {
            memcpy(&word, data + 8 * i, 8);
        }
        opd_ring_set(&slot, i, word);
    }
    atomic_store(&slot.reserved, words);
    atomic_store(&slot.head, words);
    read_ring(&slot, &record);
    return 0;
}
