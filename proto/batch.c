/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch under construction: rows, the operands of all rows, and the signatures and threads they refer to, each kept
 * once. Everything that can fail happens before the row is counted, so a failed add changes nothing.
 */
#include "batch.h"

#include <string.h>
#include <xxhash.h>

#include "capped.h"
#include "frame.h"
#include "index.h"

#define BATCH_SLOTS      ((size_t)BATCH_CALLS * 2)
#define BATCH_POOL_LIMIT FRAME_LIMIT
#define BATCH_BOUND      (FRAME_LIMIT - (64u << 10)) /* leaves room for one more call and the framing */

/* Largest encodings: 11 columns of 10 bytes; an operand's address, parts, digests, storage; a health's 11 columns. */
#define ROW_BOUND            110
#define OPERAND_BOUND        64
#define HEALTH_BOUND         110
#define THREAD_BOUND         16
#define SIGNATURE_HEAD_BOUND 8

void batch_init(opd_batch *batch)
{
    *batch = (opd_batch){ 0 };
    opd_buffer_init(&batch->pool, BATCH_POOL_LIMIT);
}

void batch_clear(opd_batch *batch)
{
    batch->count = 0;
    batch->operand_count = 0;
    batch->thread_count = 0;
    batch->signature_count = 0;
    batch->bound = 0;
    batch->pool.size = 0;
    if (batch->slots) {
        memset(batch->slots, 0, BATCH_SLOTS * sizeof(*batch->slots));
    }
}

void batch_done(opd_batch *batch)
{
    opd_free(batch->rows);
    opd_free(batch->operands);
    opd_free(batch->threads);
    opd_free(batch->signatures);
    opd_free(batch->slots);
    opd_buffer_done(&batch->pool);
    capped_free(batch->message);
    batch_init(batch);
}

bool batch_is_full(const opd_batch *batch)
{
    return batch->count >= BATCH_CALLS || batch->bound >= BATCH_BOUND;
}

/* A Signature message and all it points to, on the stack. */
typedef struct signature_build {
    Opsdebug__Signature message;
    Opsdebug__Value values[OPD_MAX_SYMBOLS + BATCH_MAX_ATTRS];
    Opsdebug__Value *value_pointers[OPD_MAX_SYMBOLS + BATCH_MAX_ATTRS];
    Opsdebug__Operand operands[OPD_MAX_OPERANDS];
    Opsdebug__Operand *operand_pointers[OPD_MAX_OPERANDS];
    Opsdebug__Mask masks[OPD_MAX_OPERANDS];
    int64_t ints[OPD_MAX_SYMBOLS + BATCH_MAX_ATTRS][OPD_MAX_INTS];
    int64_t shapes[OPD_MAX_OPERANDS][OPD_MAX_RANK];
    int64_t strides[OPD_MAX_OPERANDS][OPD_MAX_RANK];
} signature_build;

/* Sets an optional field of a message, present only when it is not zero or empty. */
#define PUT(message, field, from)             \
    do {                                      \
        (message)->field = (from);            \
        (message)->has_##field = (from) != 0; \
    } while (0)
#define PUT_TEXT(message, field, text)                                           \
    do {                                                                         \
        (message)->field = capped_borrow((text), strnlen((text), sizeof(text))); \
        (message)->has_##field = (message)->field.len > 0;                       \
    } while (0)

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Value number i of the signature. */
static void build_value(signature_build *build, int i, const opd_value *value)
{
    Opsdebug__Value *message = &build->values[i];

    opsdebug__value__init(message);
    build->value_pointers[i] = message;
    PUT_TEXT(message, name, value->name);
    PUT(message, kind, (uint32_t)value->kind);
    PUT(message, i, value->i);
    PUT(message, re, bits_of(value->re));
    PUT(message, im, bits_of(value->im));
    if (value->kind == OPD_VALUE_INTS) { /* text and ints share their place */
        memcpy(build->ints[i], value->ints, sizeof(build->ints[i]));
        message->ints = build->ints[i];
        message->n_ints = value->i < 0 ? 0 : value->i < OPD_MAX_INTS ? (size_t)value->i : OPD_MAX_INTS;
    } else if (value->kind == OPD_VALUE_TEXT) {
        PUT_TEXT(message, text, value->text);
    }
}

static void build_operand(signature_build *build, int i, const opd_operand *operand)
{
    Opsdebug__Operand *message = &build->operands[i];
    Opsdebug__Mask *mask = &build->masks[i];
    const opd_tensor *view = &operand->view;

    opsdebug__operand__init(message);
    PUT_TEXT(message, name, operand->name);
    PUT(message, role, (uint32_t)operand->role);
    PUT(message, flags, operand->flags);
    PUT(message, dtype, (uint32_t)view->dtype);
    memcpy(build->shapes[i], view->shape, sizeof(build->shapes[i]));
    memcpy(build->strides[i], view->stride, sizeof(build->strides[i]));
    message->shape = build->shapes[i];
    message->stride = build->strides[i];
    message->n_shape = message->n_stride = (size_t)view->rank;
    if (view->mask.kind != OPD_MASK_NONE) {
        opsdebug__mask__init(mask);
        PUT(mask, kind, view->mask.kind);
        PUT(mask, unit, view->mask.unit);
        PUT(mask, by_rows, view->mask.by_rows);
        PUT(mask, upper, view->mask.upper);
        PUT(mask, kl, view->mask.kl);
        PUT(mask, ku, view->mask.ku);
        PUT(mask, rows, view->mask.rows);
        PUT(mask, cols, view->mask.cols);
        message->mask = mask;
    }
    build->operand_pointers[i] = message;
}

static void build_signature(signature_build *build, const opd_call *call)
{
    Opsdebug__Signature *message = &build->message;

    opsdebug__signature__init(message);
    PUT_TEXT(message, domain, call->domain);
    PUT_TEXT(message, name, call->name);
    PUT_TEXT(message, symbol, call->symbol);
    PUT(message, dtype, (uint32_t)call->dtype);
    PUT(message, flags, call->flags);
    PUT(message, bad_arg, call->bad_arg);
    PUT(message, order, call->order);
    PUT(message, provider, call->provider);
    PUT(message, caller, call->caller);
    PUT(message, mxcsr, call->mxcsr);
    for (int i = 0; i < call->symbol_count; i++) {
        build_value(build, i, &call->symbols[i]);
    }
    message->symbols = build->value_pointers;
    message->n_symbols = (size_t)call->symbol_count;
    for (int i = 0; i < call->attr_count; i++) {
        build_value(build, call->symbol_count + i, &call->attrs[i]);
    }
    message->attrs = build->value_pointers + call->symbol_count;
    message->n_attrs = (size_t)call->attr_count;
    for (int i = 0; i < call->operand_count; i++) {
        build_operand(build, i, &call->operands[i]);
    }
    message->operands = build->operand_pointers;
    message->n_operands = (size_t)call->operand_count;
}

static bool is_same_signature(const opd_batch *batch, const opd_batch_signature *a, const opd_batch_signature *b)
{
    return a->hash == b->hash && a->size == b->size &&
           memcmp(batch->pool.bytes + a->offset, batch->pool.bytes + b->offset, a->size) == 0;
}

/* Finds or adds the call's signature. */
static opd_status intern_signature(uint32_t *out, opd_batch *batch, const opd_call *call)
{
    signature_build build;
    opd_batch_signature signature = { .offset = batch->pool.size, .operand_count = (uint32_t)call->operand_count };

    build_signature(&build, call);
    signature.size = protobuf_c_message_get_packed_size(&build.message.base);
    uint8_t *room = opd_buffer_reserve(&batch->pool, signature.size);
    if (!room) {
        opd_status status = batch->pool.status;
        batch->pool.status = OPD_OK; /* what was in it before is whole */
        return status;
    }
    protobuf_c_message_pack(&build.message.base, room);
    signature.hash = XXH3_64bits(room, signature.size);
    size_t slot = (size_t)signature.hash & (BATCH_SLOTS - 1);
    while (batch->slots[slot] != 0) {
        uint32_t number = batch->slots[slot] - 1;
        if (is_same_signature(batch, &batch->signatures[number], &signature)) {
            batch->pool.size = signature.offset;
            *out = number;
            return OPD_OK;
        }
        slot = (slot + 1) & (BATCH_SLOTS - 1);
    }
    *out = (uint32_t)batch->signature_count;
    batch->signatures[batch->signature_count++] = signature;
    batch->slots[slot] = (uint32_t)batch->signature_count;
    batch->bound += signature.size + SIGNATURE_HEAD_BOUND;
    return OPD_OK;
}

static uint32_t intern_thread(opd_batch *batch, uint32_t pid, uint32_t tid)
{
    for (size_t i = batch->thread_count; i-- > 0;) {
        if (batch->threads[i].tid == tid && batch->threads[i].pid == pid) {
            return (uint32_t)i;
        }
    }
    batch->threads[batch->thread_count] = (opd_batch_thread){ .pid = pid, .tid = tid };
    batch->bound += THREAD_BOUND;
    return (uint32_t)batch->thread_count++;
}

static bool is_set(const opd_health *health)
{
    return health->count != 0 || health->nan != 0 || health->pos_inf != 0 || health->neg_inf != 0 ||
           health->subnormal != 0 || health->zero != 0 || health->first_nan != 0 || health->first_inf != 0 ||
           health->min != 0 || health->max != 0 || health->mean != 0;
}

static void fill_operand(opd_batch *batch, opd_batch_operand *item, const opd_operand *operand)
{
    *item = (opd_batch_operand){ .address = operand->address, .storage_bytes = operand->view.storage_bytes };
    item->before = operand->before;
    item->after = operand->after;
    item->health_before = operand->health_before;
    item->health_after = operand->health_after;
    item->parts = (opd_digest_is_none(&operand->before) ? 0u : PART_BEFORE) |
                  (opd_digest_is_none(&operand->after) ? 0u : PART_AFTER) |
                  (is_set(&operand->health_before) ? PART_HEALTH_BEFORE : 0u) |
                  (is_set(&operand->health_after) ? PART_HEALTH_AFTER : 0u) |
                  (operand->view.storage_bytes ? PART_STORAGE : 0u);
    batch->bound += OPERAND_BOUND;
    batch->bound += item->parts & PART_HEALTH_BEFORE ? HEALTH_BOUND : 0;
    batch->bound += item->parts & PART_HEALTH_AFTER ? HEALTH_BOUND : 0;
}

/* Doubles an array until it holds wanted items. */
static opd_status make_room(void **array, size_t *capacity, size_t wanted, size_t size)
{
    size_t grown = *capacity ? *capacity : 64;

    while (grown < wanted) {
        grown *= 2;
    }
    if (grown == *capacity) {
        return OPD_OK;
    }
    opd_status status = opd_grow(array, grown, size);
    if (status == OPD_OK) {
        *capacity = grown;
    }
    return status;
}

static opd_status make_all_room(opd_batch *batch, size_t operands)
{
    opd_status status = OPD_OK;

    if (!batch->slots) {
        status = opd_alloc_array((void **)&batch->slots, BATCH_SLOTS, sizeof(*batch->slots));
    }
    if (status == OPD_OK) {
        status = make_room((void **)&batch->rows, &batch->capacity, batch->count + 1, sizeof(*batch->rows));
    }
    if (status == OPD_OK) {
        status = make_room((void **)&batch->operands, &batch->operand_capacity, batch->operand_count + operands,
                           sizeof(*batch->operands));
    }
    if (status == OPD_OK) {
        status = make_room((void **)&batch->threads, &batch->thread_capacity, batch->thread_count + 1,
                           sizeof(*batch->threads));
    }
    if (status == OPD_OK) {
        status = make_room((void **)&batch->signatures, &batch->signature_capacity, batch->signature_count + 1,
                           sizeof(*batch->signatures));
    }
    return status;
}

static opd_status check_counts(const opd_call *call)
{
    if (call->symbol_count < 0 || call->symbol_count > OPD_MAX_SYMBOLS || call->attr_count < 0 ||
        call->attr_count > BATCH_MAX_ATTRS || call->operand_count < 0 || call->operand_count > OPD_MAX_OPERANDS) {
        return opd_fail(OPD_E_INVALID, "a call with %d symbols, %d attributes, %d operands cannot be written",
                        call->symbol_count, call->attr_count, call->operand_count);
    }
    for (int i = 0; i < call->operand_count; i++) {
        if (call->operands[i].view.rank < 0 || call->operands[i].view.rank > OPD_MAX_RANK) {
            return opd_fail(OPD_E_INVALID, "an operand of rank %d cannot be written", call->operands[i].view.rank);
        }
    }
    return OPD_OK;
}

opd_status batch_add(opd_batch *batch, const opd_call *call)
{
    opd_batch_row row = { .first_operand = (uint32_t)batch->operand_count,
                          .depth = call->depth,
                          .number = call->number,
                          .op_id = call->op_id,
                          .begin_ns = call->begin_ns,
                          .queued_ns = call->queued_ns,
                          .start_ns = call->start_ns,
                          .end_ns = call->end_ns,
                          .sync_ns = call->sync_ns,
                          .seed = call->seed };
    opd_status status = check_counts(call);

    if (status == OPD_OK) {
        status = make_all_room(batch, (size_t)call->operand_count);
    }
    if (status == OPD_OK) {
        status = intern_signature(&row.signature, batch, call);
    }
    if (status != OPD_OK) {
        return status;
    }
    row.thread = intern_thread(batch, call->pid, call->thread);
    for (int i = 0; i < call->operand_count; i++) {
        fill_operand(batch, &batch->operands[batch->operand_count++], &call->operands[i]);
    }
    batch->rows[batch->count++] = row;
    batch->bound += ROW_BOUND;
    return OPD_OK;
}
