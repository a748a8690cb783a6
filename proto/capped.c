/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator that protobuf-c is given when it unpacks. protobuf-c 1.4 turns every unknown field into an allocation
 * of its own, so a message may ask for fifty times its size: the cap makes that an error instead of a dead machine.
 */
#include "capped.h"

#include <stdbool.h>
#include <stdlib.h>

#include <opsdebug/memory.h>

/* Room before each block for its size, kept so that blocks stay aligned for any type. */
#define CAPPED_HEAD 16

typedef struct capped_state {
    size_t live;
    bool is_over;
    bool is_out;
} capped_state;

static void *capped_alloc(void *context, size_t size)
{
    capped_state *state = context;
    size_t whole = 0;
    void *block = NULL;

    if (!opd_add_size(&whole, size, CAPPED_HEAD) || whole > CAPPED_LIMIT - state->live) {
        state->is_over = true;
        return NULL;
    }
    if (opd_alloc(&block, whole) != OPD_OK) {
        state->is_out = true;
        return NULL;
    }
    state->live += whole;
    *(size_t *)block = whole;
    return (char *)block + CAPPED_HEAD;
}

static void capped_release(void *context, void *block)
{
    capped_state *state = context;

    if (!block) {
        return;
    }
    block = (char *)block - CAPPED_HEAD;
    if (state) {
        state->live -= *(size_t *)block;
    }
    opd_free(block);
}

opd_status capped_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                         size_t size)
{
    capped_state state = { 0 };
    ProtobufCAllocator allocator = { .alloc = capped_alloc, .free = capped_release, .allocator_data = &state };
    ProtobufCMessage *message = protobuf_c_message_unpack(type, &allocator, size, bytes);

    if (message) {
        *out = message;
        return OPD_OK;
    }
    if (state.is_over) {
        return opd_fail(OPD_E_LIMIT, "a %s of %zu bytes takes over %zu MiB to unpack", type->short_name, size,
                        CAPPED_LIMIT >> 20);
    }
    if (state.is_out) {
        return OPD_E_NOMEM;
    }
    return opd_fail(OPD_E_FORMAT, "%zu bytes are no %s message", size, type->short_name);
}

void capped_free(ProtobufCMessage *message)
{
    ProtobufCAllocator allocator = { .alloc = capped_alloc, .free = capped_release, .allocator_data = NULL };

    if (message) {
        protobuf_c_message_free_unpacked(message, &allocator);
    }
}
