/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of calls between opd_call and its columns. The writer adds calls and encodes; the reader decodes and takes
 * calls out; both sides share the rows in between.
 */
#ifndef OPD_PROTO_BATCH_H
#define OPD_PROTO_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

#include "bundle.pb-c.h"

#define BATCH_MAX_ATTRS (OPD_MAX_ATTRS + OPD_MAX_OPERANDS)

/* Bits of the parts column. */
enum {
    PART_BEFORE = 1,
    PART_AFTER = 2,
    PART_HEALTH_BEFORE = 4,
    PART_HEALTH_AFTER = 8,
    PART_STORAGE = 16,
    PART_ALL = 31
};

/* What differs from call to call. */
typedef struct opd_batch_row {
    uint32_t signature;
    uint32_t thread; /* index into threads */
    uint32_t depth;
    uint32_t first_operand;
    uint64_t number, op_id;
    uint64_t begin_ns, queued_ns, start_ns, end_ns, sync_ns;
    uint64_t seed;
} opd_batch_row;

typedef struct opd_batch_operand {
    uint64_t address;
    uint64_t storage_bytes;
    uint32_t parts;
    opd_digest before, after;
    opd_health health_before, health_after;
} opd_batch_operand;

typedef struct opd_batch_thread {
    uint32_t pid, tid;
} opd_batch_thread;

/* The packed bytes of one Signature message: borrowed from the record (reader) or at an offset in pool (writer). */
typedef struct opd_batch_signature {
    size_t offset, size; /* writer */
    uint64_t hash;
    uint32_t operand_count;
    const Opsdebug__Signature *message; /* reader */
} opd_batch_signature;

typedef struct opd_batch {
    opd_batch_row *rows;
    size_t count, capacity;
    opd_batch_operand *operands;
    size_t operand_count, operand_capacity;
    opd_batch_thread *threads;
    size_t thread_count, thread_capacity;
    opd_batch_signature *signatures;
    size_t signature_count, signature_capacity;
    uint32_t *slots; /* writer: signature number + 1 by hash */
    opd_buffer pool;
    size_t bound;              /* writer: no encoding of this batch is larger */
    ProtobufCMessage *message; /* reader: owns what signatures point to */
} opd_batch;

void batch_init(opd_batch *batch);
void batch_done(opd_batch *batch);
/* Empties it, keeping its memory. */
void batch_clear(opd_batch *batch);

/* No room for another call: encode and clear first. */
bool batch_is_full(const opd_batch *batch);
/* Adds a copy. errors: E_NOMEM, E_INVALID counts or ranks out of range; the batch is unchanged then. */
opd_status batch_add(opd_batch *batch, const opd_call *call);
/* Appends the Batch message to out. */
opd_status batch_encode(opd_buffer *out, const opd_batch *batch);

/* Decodes a Batch message into an empty batch. errors: E_FORMAT, E_LIMIT, E_NOMEM. */
opd_status batch_decode(opd_batch *batch, const uint8_t *bytes, size_t size);
/* Call i of either side's rows. errors: E_FORMAT. */
opd_status batch_call(opd_call *out, const opd_batch *batch, size_t i);

#endif
