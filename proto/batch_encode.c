/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From rows to the columns of a Batch message. Signatures were packed when they were interned; they are copied before the
 * columns, which protobuf reads as one message.
 */
#include <string.h>

#include "batch.h"
#include "capped.h"
#include "frame.h"
#include "wire.h"

#define DIGEST          sizeof(((opd_digest *)NULL)->bytes)
#define SIGNATURE_FIELD 2

/* A column being filled; it is left out when nothing in it was ever set. */
typedef struct column {
    uint64_t *values;
    size_t count;
    bool is_used;
} column;

/* code may be zero where value is not (a delta) and the other way round: a column is left out by its values. */
static void put(column *to, uint64_t value, uint64_t code)
{
    to->values[to->count++] = code;
    to->is_used = to->is_used || value != 0;
}

#define SET_COLUMN(message, field, from)                            \
    do {                                                            \
        (message)->n_##field = (from)->is_used ? (from)->count : 0; \
        (message)->field = (void *)(from)->values;                  \
    } while (0)

enum {
    C_SIGNATURE,
    C_THREAD,
    C_NUMBER,
    C_OP_ID,
    C_DEPTH,
    C_BEGIN,
    C_QUEUED,
    C_START,
    C_END,
    C_SYNC,
    C_SEED,
    ROW_COLUMNS
};
enum { C_PARTS, C_ADDRESS, C_STORAGE, OPERAND_COLUMNS };
enum { C_COUNT, C_NAN, C_POS, C_NEG, C_SUB, C_ZERO, C_MIN, C_MAX, C_MEAN, C_FIRST_NAN, C_FIRST_INF, HEALTH_COLUMNS };

/* Everything an encoding needs besides the batch, in one allocation. */
typedef struct encoding {
    Opsdebug__Batch message;
    column row[ROW_COLUMNS], operand[OPERAND_COLUMNS], health[HEALTH_COLUMNS];
    uint64_t *numbers; /* per thread: number of its last call */
    Opsdebug__CallThread *threads;
    Opsdebug__CallThread **thread_pointers;
    uint8_t *before, *after;
    void *memory;
} encoding;

static void fill_rows(encoding *to, const opd_batch *batch)
{
    Opsdebug__Batch *message = &to->message;
    uint64_t begin = 0;

    for (size_t i = 0; i < batch->count; i++) {
        const opd_batch_row *row = &batch->rows[i];
        put(&to->row[C_SIGNATURE], row->signature, row->signature);
        put(&to->row[C_THREAD], row->thread, row->thread);
        put(&to->row[C_NUMBER], row->number, row->number - to->numbers[row->thread]);
        put(&to->row[C_OP_ID], row->op_id, row->op_id);
        put(&to->row[C_DEPTH], row->depth, row->depth);
        put(&to->row[C_BEGIN], row->begin_ns, row->begin_ns - begin);
        put(&to->row[C_QUEUED], row->queued_ns, row->queued_ns - row->begin_ns);
        put(&to->row[C_START], row->start_ns, row->start_ns - row->begin_ns);
        put(&to->row[C_END], row->end_ns, row->end_ns - row->begin_ns);
        put(&to->row[C_SYNC], row->sync_ns, row->sync_ns - row->begin_ns);
        put(&to->row[C_SEED], row->seed, row->seed);
        to->numbers[row->thread] = row->number;
        begin = row->begin_ns;
    }
    SET_COLUMN(message, call_signature, &to->row[C_SIGNATURE]);
    SET_COLUMN(message, call_thread, &to->row[C_THREAD]);
    SET_COLUMN(message, number, &to->row[C_NUMBER]);
    SET_COLUMN(message, op_id, &to->row[C_OP_ID]);
    SET_COLUMN(message, depth, &to->row[C_DEPTH]);
    SET_COLUMN(message, begin_ns, &to->row[C_BEGIN]);
    SET_COLUMN(message, queued_ns, &to->row[C_QUEUED]);
    SET_COLUMN(message, start_ns, &to->row[C_START]);
    SET_COLUMN(message, end_ns, &to->row[C_END]);
    SET_COLUMN(message, sync_ns, &to->row[C_SYNC]);
    SET_COLUMN(message, seed, &to->row[C_SEED]);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static void fill_health(encoding *to, const opd_health *health)
{
    uint64_t values[HEALTH_COLUMNS] = {
        [C_COUNT] = health->count,
        [C_NAN] = health->nan,
        [C_POS] = health->pos_inf,
        [C_NEG] = health->neg_inf,
        [C_SUB] = health->subnormal,
        [C_ZERO] = health->zero,
        [C_MIN] = bits_of(health->min),
        [C_MAX] = bits_of(health->max),
        [C_MEAN] = bits_of(health->mean),
        [C_FIRST_NAN] = (uint64_t)health->first_nan,
        [C_FIRST_INF] = (uint64_t)health->first_inf,
    };

    for (size_t c = 0; c < HEALTH_COLUMNS; c++) {
        put(&to->health[c], values[c], values[c]);
    }
}

static void set_health(encoding *to)
{
    Opsdebug__Batch *message = &to->message;

    SET_COLUMN(message, health_count, &to->health[C_COUNT]);
    SET_COLUMN(message, health_nan, &to->health[C_NAN]);
    SET_COLUMN(message, health_pos_inf, &to->health[C_POS]);
    SET_COLUMN(message, health_neg_inf, &to->health[C_NEG]);
    SET_COLUMN(message, health_subnormal, &to->health[C_SUB]);
    SET_COLUMN(message, health_zero, &to->health[C_ZERO]);
    SET_COLUMN(message, health_min, &to->health[C_MIN]);
    SET_COLUMN(message, health_max, &to->health[C_MAX]);
    SET_COLUMN(message, health_mean, &to->health[C_MEAN]);
    SET_COLUMN(message, health_first_nan, &to->health[C_FIRST_NAN]);
    SET_COLUMN(message, health_first_inf, &to->health[C_FIRST_INF]);
}

static void fill_operand(encoding *to, const opd_batch_operand *operand, uint64_t *last_address)
{
    Opsdebug__Batch *message = &to->message;

    put(&to->operand[C_PARTS], operand->parts, operand->parts);
    put(&to->operand[C_ADDRESS], operand->address, operand->address - *last_address);
    *last_address = operand->address;
    if (operand->parts & PART_STORAGE) {
        put(&to->operand[C_STORAGE], operand->storage_bytes, operand->storage_bytes);
    }
    if (operand->parts & PART_BEFORE) {
        memcpy(to->before + message->before.len, operand->before.bytes, DIGEST);
        message->before.len += DIGEST;
    }
    if (operand->parts & PART_AFTER) {
        memcpy(to->after + message->after.len, operand->after.bytes, DIGEST);
        message->after.len += DIGEST;
    }
    if (operand->parts & PART_HEALTH_BEFORE) {
        fill_health(to, &operand->health_before);
    }
    if (operand->parts & PART_HEALTH_AFTER) {
        fill_health(to, &operand->health_after);
    }
}

static void fill_operands(encoding *to, const opd_batch *batch)
{
    Opsdebug__Batch *message = &to->message;
    uint64_t last_address[OPD_MAX_OPERANDS] = { 0 };

    for (size_t i = 0; i < batch->count; i++) {
        const opd_batch_row *row = &batch->rows[i];
        uint32_t operands = batch->signatures[row->signature].operand_count;
        for (uint32_t k = 0; k < operands; k++) {
            fill_operand(to, &batch->operands[row->first_operand + k], &last_address[k]);
        }
    }
    SET_COLUMN(message, parts, &to->operand[C_PARTS]);
    SET_COLUMN(message, address, &to->operand[C_ADDRESS]);
    SET_COLUMN(message, storage_bytes, &to->operand[C_STORAGE]);
    set_health(to);
    message->before.data = to->before;
    message->has_before = message->before.len > 0;
    message->after.data = to->after;
    message->has_after = message->after.len > 0;
}

static void fill_threads(encoding *to, const opd_batch *batch)
{
    for (size_t i = 0; i < batch->thread_count; i++) {
        Opsdebug__CallThread *thread = &to->threads[i];
        opsdebug__call_thread__init(thread);
        thread->has_pid = thread->has_tid = 1;
        thread->pid = batch->threads[i].pid;
        thread->tid = batch->threads[i].tid;
        to->thread_pointers[i] = thread;
    }
    to->message.thread = to->thread_pointers;
    to->message.n_thread = batch->thread_count;
    to->message.has_count = 1;
    to->message.count = (uint32_t)batch->count;
}

/* Parts are cut from one block, the widest alignment first. */
static opd_status encoding_begin(encoding *to, const opd_batch *batch)
{
    size_t rows = batch->count * ROW_COLUMNS;
    size_t operands = batch->operand_count * OPERAND_COLUMNS;
    size_t health = batch->operand_count * 2 * HEALTH_COLUMNS;
    size_t words = rows + operands + health + batch->thread_count;
    size_t thread_bytes = batch->thread_count * (sizeof(*to->threads) + sizeof(void *));
    size_t bytes = words * sizeof(uint64_t) + thread_bytes + batch->operand_count * 2 * DIGEST;
    opd_status status = opd_alloc(&to->memory, bytes);

    if (status != OPD_OK) {
        return status;
    }
    uint64_t *next = to->memory;
    for (size_t c = 0; c < ROW_COLUMNS; c++, next += batch->count) {
        to->row[c].values = next;
    }
    for (size_t c = 0; c < OPERAND_COLUMNS; c++, next += batch->operand_count) {
        to->operand[c].values = next;
    }
    for (size_t c = 0; c < HEALTH_COLUMNS; c++, next += 2 * batch->operand_count) {
        to->health[c].values = next;
    }
    to->numbers = next;
    to->threads = (void *)(to->numbers + batch->thread_count);
    to->thread_pointers = (void *)(to->threads + batch->thread_count);
    to->before = (void *)(to->thread_pointers + batch->thread_count);
    to->after = to->before + batch->operand_count * DIGEST;
    opsdebug__batch__init(&to->message);
    return OPD_OK;
}

static void append_signatures(opd_buffer *out, const opd_batch *batch)
{
    for (size_t i = 0; i < batch->signature_count; i++) {
        const opd_batch_signature *signature = &batch->signatures[i];
        uint8_t head[2 * WIRE_VARINT_MAX];
        opd_buffer_append(out, head, wire_put_length(head, SIGNATURE_FIELD, signature->size));
        opd_buffer_append(out, batch->pool.bytes + signature->offset, signature->size);
    }
}

opd_status batch_encode(opd_buffer *out, const opd_batch *batch)
{
    encoding to = { .memory = NULL };
    opd_status status = encoding_begin(&to, batch);

    if (status != OPD_OK) {
        return status;
    }
    fill_threads(&to, batch);
    fill_rows(&to, batch);
    fill_operands(&to, batch);
    append_signatures(out, batch);
    uint8_t *room = opd_buffer_reserve(out, protobuf_c_message_get_packed_size(&to.message.base));
    if (room) {
        protobuf_c_message_pack(&to.message.base, room);
    }
    opd_free(to.memory);
    return out->status;
}
