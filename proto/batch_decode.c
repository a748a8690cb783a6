/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the columns of a Batch message back to rows and calls. The message is verified but not trusted: every column must have
 * the length the others imply, every index must point somewhere, before a row is made.
 */
#include <inttypes.h>
#include <string.h>

#include "batch.h"
#include "capped.h"
#include "index.h"

#define DIGEST sizeof(((opd_digest *)NULL)->bytes)

/* All columns of protobuf-c are arrays of 64-bit integers here; signed ones are read by their bits. */
static uint64_t value_at(const void *column, size_t count, size_t i)
{
    uint64_t value = 0;

    if (count > 0) {
        memcpy(&value, (const char *)column + i * sizeof(value), sizeof(value));
    }
    return value;
}

#define AT(message, field, i)                  value_at((message)->field, (message)->n_##field, (i))
#define CHECK_COLUMN(message, field, expected) check_column(#field, (message)->n_##field, (expected))

static opd_status check_column(const char *name, size_t count, size_t expected)
{
    if (count == 0 || count == expected) {
        return OPD_OK;
    }
    return opd_fail(OPD_E_FORMAT, "batch: column %s has %zu values, not %zu", name, count, expected);
}

static opd_status first_failure(const opd_status *statuses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (statuses[i] != OPD_OK) {
            return statuses[i];
        }
    }
    return OPD_OK;
}

static opd_status check_row_columns(const Opsdebug__Batch *message)
{
    size_t n = message->count;
    opd_status statuses[] = {
        CHECK_COLUMN(message, call_signature, n), CHECK_COLUMN(message, call_thread, n),
        CHECK_COLUMN(message, number, n),         CHECK_COLUMN(message, op_id, n),
        CHECK_COLUMN(message, depth, n),          CHECK_COLUMN(message, begin_ns, n),
        CHECK_COLUMN(message, queued_ns, n),      CHECK_COLUMN(message, start_ns, n),
        CHECK_COLUMN(message, end_ns, n),         CHECK_COLUMN(message, sync_ns, n),
        CHECK_COLUMN(message, seed, n),
    };

    return first_failure(statuses, OPD_COUNT(statuses));
}

static opd_status check_operand(const Opsdebug__Operand *operand)
{
    if (operand->n_shape > OPD_MAX_RANK || operand->n_stride != operand->n_shape) {
        return opd_fail(OPD_E_FORMAT, "batch: an operand has %zu dimensions and %zu strides", operand->n_shape,
                        operand->n_stride);
    }
    if (operand->mask && (operand->mask->kind > OPD_MASK_PACKED || operand->mask->unit > 1 ||
                          operand->mask->by_rows > 1 || operand->mask->upper > 1)) {
        return opd_fail(OPD_E_FORMAT, "batch: an operand has mask kind %u", operand->mask->kind);
    }
    return OPD_OK;
}

static opd_status check_values(Opsdebug__Value *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i]->n_ints > OPD_MAX_INTS) {
            return opd_fail(OPD_E_FORMAT, "batch: a value has %zu integers", values[i]->n_ints);
        }
    }
    return OPD_OK;
}

static opd_status check_signature(const Opsdebug__Signature *signature)
{
    if (signature->n_symbols > OPD_MAX_SYMBOLS || signature->n_attrs > BATCH_MAX_ATTRS ||
        signature->n_operands > OPD_MAX_OPERANDS) {
        return opd_fail(OPD_E_FORMAT, "batch: a signature has %zu symbols, %zu attributes, %zu operands",
                        signature->n_symbols, signature->n_attrs, signature->n_operands);
    }
    opd_status status = check_values(signature->symbols, signature->n_symbols);
    if (status == OPD_OK) {
        status = check_values(signature->attrs, signature->n_attrs);
    }
    for (size_t i = 0; i < signature->n_operands && status == OPD_OK; i++) {
        status = check_operand(signature->operands[i]);
    }
    return status;
}

static opd_status read_signatures(opd_batch *batch, const Opsdebug__Batch *message)
{
    opd_status status =
        opd_alloc_array((void **)&batch->signatures, message->n_signature + 1, sizeof(*batch->signatures));

    for (size_t i = 0; status == OPD_OK && i < message->n_signature; i++) {
        status = check_signature(message->signature[i]);
        batch->signatures[i].message = message->signature[i];
        batch->signatures[i].operand_count = (uint32_t)message->signature[i]->n_operands;
    }
    batch->signature_count = message->n_signature;
    return status;
}

static opd_status read_rows(opd_batch *batch, const Opsdebug__Batch *message)
{
    uint64_t *numbers = NULL;
    uint64_t begin = 0;
    size_t operands = 0;
    opd_status status = opd_alloc_array((void **)&numbers, message->n_thread + 1, sizeof(*numbers));

    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&batch->rows, message->count, sizeof(*batch->rows));
    }
    for (size_t i = 0; status == OPD_OK && i < message->count; i++) {
        opd_batch_row *row = &batch->rows[i];
        uint64_t signature = AT(message, call_signature, i);
        uint64_t thread = AT(message, call_thread, i);
        if (signature >= message->n_signature || thread >= message->n_thread) {
            status = opd_fail(OPD_E_FORMAT, "batch: call %zu has no signature or thread", i);
            break;
        }
        begin += AT(message, begin_ns, i);
        numbers[thread] += AT(message, number, i);
        *row = (opd_batch_row){ .signature = (uint32_t)signature,
                                .thread = (uint32_t)thread,
                                .depth = (uint32_t)AT(message, depth, i),
                                .first_operand = (uint32_t)operands,
                                .number = numbers[thread],
                                .op_id = AT(message, op_id, i),
                                .begin_ns = begin,
                                .queued_ns = message->n_queued_ns ? begin + AT(message, queued_ns, i) : 0,
                                .start_ns = message->n_start_ns ? begin + AT(message, start_ns, i) : 0,
                                .end_ns = message->n_end_ns ? begin + AT(message, end_ns, i) : 0,
                                .sync_ns = message->n_sync_ns ? begin + AT(message, sync_ns, i) : 0,
                                .seed = AT(message, seed, i) };
        operands += batch->signatures[signature].operand_count;
    }
    batch->count = message->count;
    batch->operand_count = operands;
    opd_free(numbers);
    return status;
}

/* How many values the columns that exist only for some operands must have. */
typedef struct part_counts {
    size_t before, after, health, storage;
} part_counts;

static opd_status check_operand_columns(const Opsdebug__Batch *message, size_t operands)
{
    part_counts counts = { 0 };

    for (size_t i = 0; i < message->n_parts; i++) {
        uint64_t parts = message->parts[i];
        if (parts & ~(uint64_t)PART_ALL) {
            return opd_fail(OPD_E_FORMAT, "batch: operand parts %" PRIu64 " are not known", parts);
        }
        counts.before += (parts & PART_BEFORE) != 0;
        counts.after += (parts & PART_AFTER) != 0;
        counts.health += (parts & PART_HEALTH_BEFORE) != 0;
        counts.health += (parts & PART_HEALTH_AFTER) != 0;
        counts.storage += (parts & PART_STORAGE) != 0;
    }
    if (message->before.len != counts.before * DIGEST || message->after.len != counts.after * DIGEST) {
        return opd_fail(OPD_E_FORMAT, "batch: %zu and %zu bytes of digests for %zu and %zu operands",
                        message->before.len, message->after.len, counts.before, counts.after);
    }
    opd_status statuses[] = {
        CHECK_COLUMN(message, parts, operands),
        CHECK_COLUMN(message, address, operands),
        CHECK_COLUMN(message, storage_bytes, counts.storage),
        CHECK_COLUMN(message, health_count, counts.health),
        CHECK_COLUMN(message, health_nan, counts.health),
        CHECK_COLUMN(message, health_pos_inf, counts.health),
        CHECK_COLUMN(message, health_neg_inf, counts.health),
        CHECK_COLUMN(message, health_subnormal, counts.health),
        CHECK_COLUMN(message, health_zero, counts.health),
        CHECK_COLUMN(message, health_min, counts.health),
        CHECK_COLUMN(message, health_max, counts.health),
        CHECK_COLUMN(message, health_mean, counts.health),
        CHECK_COLUMN(message, health_first_nan, counts.health),
        CHECK_COLUMN(message, health_first_inf, counts.health),
    };
    return first_failure(statuses, OPD_COUNT(statuses));
}

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static opd_health read_health(const Opsdebug__Batch *message, size_t i)
{
    return (opd_health){ .count = AT(message, health_count, i),
                         .nan = AT(message, health_nan, i),
                         .pos_inf = AT(message, health_pos_inf, i),
                         .neg_inf = AT(message, health_neg_inf, i),
                         .subnormal = AT(message, health_subnormal, i),
                         .zero = AT(message, health_zero, i),
                         .min = double_of(AT(message, health_min, i)),
                         .max = double_of(AT(message, health_max, i)),
                         .mean = double_of(AT(message, health_mean, i)),
                         .first_nan = (int64_t)AT(message, health_first_nan, i),
                         .first_inf = (int64_t)AT(message, health_first_inf, i) };
}

static void read_operand(opd_batch_operand *out, const Opsdebug__Batch *message, size_t i, part_counts *at)
{
    out->parts = (uint32_t)AT(message, parts, i);
    if (out->parts & PART_STORAGE) {
        out->storage_bytes = AT(message, storage_bytes, at->storage);
        at->storage++;
    }
    if (out->parts & PART_BEFORE) {
        memcpy(out->before.bytes, message->before.data + DIGEST * at->before++, DIGEST);
    }
    if (out->parts & PART_AFTER) {
        memcpy(out->after.bytes, message->after.data + DIGEST * at->after++, DIGEST);
    }
    if (out->parts & PART_HEALTH_BEFORE) {
        out->health_before = read_health(message, at->health++);
    }
    if (out->parts & PART_HEALTH_AFTER) {
        out->health_after = read_health(message, at->health++);
    }
}

static opd_status read_operands(opd_batch *batch, const Opsdebug__Batch *message)
{
    uint64_t last_address[OPD_MAX_OPERANDS] = { 0 };
    part_counts at = { 0 };
    opd_status status = check_operand_columns(message, batch->operand_count);

    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&batch->operands, batch->operand_count + 1, sizeof(*batch->operands));
    }
    for (size_t i = 0; status == OPD_OK && i < batch->count; i++) {
        const opd_batch_row *row = &batch->rows[i];
        for (uint32_t k = 0; k < batch->signatures[row->signature].operand_count; k++) {
            size_t item = row->first_operand + k;
            last_address[k] += AT(message, address, item);
            batch->operands[item].address = last_address[k];
            read_operand(&batch->operands[item], message, item, &at);
        }
    }
    return status;
}

opd_status batch_decode(opd_batch *batch, const uint8_t *bytes, size_t size)
{
    opd_status status = capped_unpack(&batch->message, &opsdebug__batch__descriptor, bytes, size);

    if (status != OPD_OK) {
        return status;
    }
    const Opsdebug__Batch *message = (const Opsdebug__Batch *)batch->message;
    if (message->count > BATCH_CALLS) {
        return opd_fail(OPD_E_LIMIT, "batch: %u calls are over the limit of %u", message->count, BATCH_CALLS);
    }
    status = check_row_columns(message);
    if (status == OPD_OK) {
        status = read_signatures(batch, message);
    }
    if (status == OPD_OK) {
        status = read_rows(batch, message);
    }
    if (status == OPD_OK) {
        status = read_operands(batch, message);
    }
    if (status == OPD_OK) {
        batch->thread_count = message->n_thread;
        status = opd_alloc_array((void **)&batch->threads, message->n_thread + 1, sizeof(*batch->threads));
    }
    for (size_t i = 0; status == OPD_OK && i < message->n_thread; i++) {
        batch->threads[i] = (opd_batch_thread){ .pid = message->thread[i]->pid, .tid = message->thread[i]->tid };
    }
    return status;
}

static void take_text(char *to, size_t size, ProtobufCBinaryData from)
{
    size_t length = from.len < size ? from.len : size - 1;

    memset(to, 0, size);
    if (length > 0) {
        memcpy(to, from.data, length);
    }
}
#define TAKE_TEXT(to, from) take_text((to), sizeof(to), (from))

static void take_value(opd_value *out, const Opsdebug__Value *value)
{
    TAKE_TEXT(out->name, value->name);
    out->kind = value->kind <= OPD_VALUE_INTS ? (opd_value_kind)value->kind : OPD_VALUE_NONE;
    out->i = value->i;
    out->re = double_of(value->re);
    out->im = double_of(value->im);
    if (out->kind == OPD_VALUE_INTS) { /* text and ints share their place */
        out->i = (int64_t)value->n_ints;
        for (size_t i = 0; i < value->n_ints; i++) {
            out->ints[i] = value->ints[i];
        }
    } else {
        TAKE_TEXT(out->text, value->text);
    }
}

static void take_view(opd_tensor *view, const Opsdebug__Operand *operand)
{
    *view = (opd_tensor){ .dtype = (opd_dtype)operand->dtype, .rank = (int32_t)operand->n_shape };
    for (size_t i = 0; i < operand->n_shape; i++) {
        view->shape[i] = operand->shape[i];
        view->stride[i] = operand->stride[i];
    }
    if (operand->mask) {
        view->mask = (opd_mask){ .kind = (uint8_t)operand->mask->kind,
                                 .unit = (uint8_t)operand->mask->unit,
                                 .by_rows = (uint8_t)operand->mask->by_rows,
                                 .upper = (uint8_t)operand->mask->upper,
                                 .kl = operand->mask->kl,
                                 .ku = operand->mask->ku,
                                 .rows = operand->mask->rows,
                                 .cols = operand->mask->cols };
    }
    /* Everyone downstream counts elements of a view: one that does not pass its check is no view. */
    if (opd_tensor_check(view) != OPD_OK) {
        opd_error_clear();
        *view = (opd_tensor){ .dtype = OPD_DTYPE_NONE };
    }
}

static void take_operand(opd_operand *out, const Opsdebug__Operand *shape, const opd_batch_operand *item)
{
    TAKE_TEXT(out->name, shape->name);
    out->role = (opd_role)(shape->role & OPD_ROLE_INOUT);
    out->flags = shape->flags;
    take_view(&out->view, shape);
    out->view.storage_bytes = item->storage_bytes;
    out->address = item->address;
    out->before = item->before;
    out->after = item->after;
    out->health_before = item->health_before;
    out->health_after = item->health_after;
}

/* The contract of a recorded name: a routine of the table, else an operator, else none. */
static const opd_op *find_op(const opd_call *call)
{
    const opd_routine *routine = strcmp(call->domain, "blas") == 0 ? opd_routine_find(call->name) : NULL;

    return routine ? routine->op : opd_op_find(call->domain, call->name);
}

opd_status batch_call(opd_call *out, const opd_batch *batch, size_t i)
{
    if (i >= batch->count) {
        return opd_fail(OPD_E_NOTFOUND, "batch: no call %zu of %zu", i, batch->count);
    }
    const opd_batch_row *row = &batch->rows[i];
    const Opsdebug__Signature *signature = batch->signatures[row->signature].message;
    memset(out, 0, sizeof(*out));
    TAKE_TEXT(out->domain, signature->domain);
    TAKE_TEXT(out->name, signature->name);
    TAKE_TEXT(out->symbol, signature->symbol);
    out->op = find_op(out);
    out->dtype = (opd_dtype)signature->dtype;
    out->flags = signature->flags;
    out->bad_arg = signature->bad_arg;
    out->order = signature->order;
    out->provider = signature->provider;
    out->caller = signature->caller;
    out->mxcsr = signature->mxcsr;
    out->pid = batch->threads[row->thread].pid;
    out->thread = batch->threads[row->thread].tid;
    out->number = row->number;
    out->op_id = row->op_id;
    out->depth = row->depth;
    out->begin_ns = row->begin_ns;
    out->queued_ns = row->queued_ns;
    out->start_ns = row->start_ns;
    out->end_ns = row->end_ns;
    out->sync_ns = row->sync_ns;
    out->seed = row->seed;
    out->symbol_count = (int32_t)signature->n_symbols;
    for (size_t k = 0; k < signature->n_symbols; k++) {
        take_value(&out->symbols[k], signature->symbols[k]);
    }
    out->attr_count = (int32_t)signature->n_attrs;
    for (size_t k = 0; k < signature->n_attrs; k++) {
        take_value(&out->attrs[k], signature->attrs[k]);
    }
    out->operand_count = (int32_t)signature->n_operands;
    for (size_t k = 0; k < signature->n_operands; k++) {
        take_operand(&out->operands[k], signature->operands[k], &batch->operands[row->first_operand + k]);
    }
    if (out->op != NULL && out->op->routines == NULL && !opd_call_fits(out) && !opd_call_adopt(out, out->op)) {
        out->op = NULL; /* another contract of the same name: what the views say is all that is known */
    }
    opd_call_infer(out);
    return OPD_OK;
}
