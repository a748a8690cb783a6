/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written: the small records at once, calls in batches with their timeline, tensors in chunks.
 */
#include <string.h>
#include <zlib.h>

#include "capped.h"
#include "writer.h"

#define TENSOR_MESSAGE_MAX 128
#define TIMELINE_LIMIT     ((size_t)16 << 20) /* packets of one batch before compression */
#define TIMELINE_LEVEL     1

/* The buffer of the record being made, empty and sound. */
static opd_buffer *begin_message(opd_writer *writer)
{
    if (writer->message.status != OPD_OK) {
        opd_buffer_done(&writer->message);
        opd_buffer_init(&writer->message, FRAME_LIMIT);
    }
    writer->message.size = 0;
    return &writer->message;
}

static opd_status end_message(opd_writer *writer, uint32_t kind, opd_status status)
{
    if (status != OPD_OK) {
        return status;
    }
    opd_record_part part = { .field = kind, .bytes = writer->message.bytes, .size = writer->message.size };
    return writer_record(writer, &part, 1, 0, NULL);
}

opd_status opd_writer_environment(opd_writer *writer, const opd_environment_info *environment)
{
    return end_message(writer, KIND_ENVIRONMENT, info_put_environment(begin_message(writer), environment));
}

/* Grows an array of a writer by one item when it is full. */
static opd_status make_room(void **array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) {
        return OPD_OK;
    }
    uint32_t grown = *capacity ? *capacity * 2 : 16;
    opd_status status = opd_grow(array, grown, size);
    if (status == OPD_OK) {
        *capacity = grown;
    }
    return status;
}

opd_status opd_writer_module(opd_writer *writer, uint32_t *out, const opd_module *module)
{
    for (uint32_t i = 0; i < writer->module_count; i++) {
        if (strncmp(writer->modules[i].path, module->path, sizeof(module->path)) == 0 &&
            strncmp(writer->modules[i].build_id, module->build_id, sizeof(module->build_id)) == 0) {
            *out = i + 1;
            return OPD_OK;
        }
    }
    opd_status status =
        make_room((void **)&writer->modules, writer->module_count, &writer->module_capacity, sizeof(*writer->modules));
    if (status == OPD_OK) {
        status =
            end_message(writer, KIND_MODULE, info_put_module(begin_message(writer), module, writer->module_count + 1));
    }
    if (status == OPD_OK) {
        opd_module_key *key = &writer->modules[writer->module_count++];
        memcpy(key->path, module->path, sizeof(key->path));
        memcpy(key->build_id, module->build_id, sizeof(key->build_id));
        *out = writer->module_count;
    }
    return status;
}

opd_status opd_writer_thread(opd_writer *writer, uint32_t pid, uint32_t tid, const char *name)
{
    opd_thread_info thread = { .pid = pid, .tid = tid };
    opd_status status =
        make_room((void **)&writer->threads, writer->thread_count, &writer->thread_capacity, sizeof(*writer->threads));

    strncpy(thread.name, name ? name : "", sizeof(thread.name) - 1);
    if (status == OPD_OK) {
        status = end_message(writer, KIND_THREAD, info_put_thread(begin_message(writer), &thread));
    }
    if (status == OPD_OK) {
        writer->threads[writer->thread_count++] = thread;
    }
    return status;
}

opd_status opd_writer_event(opd_writer *writer, const opd_event *event)
{
    return end_message(writer, KIND_EVENT, info_put_event(begin_message(writer), event));
}

opd_status opd_writer_backtrace(opd_writer *writer, uint32_t thread, const opd_frame *frames, int count)
{
    const opd_stack stack = { .thread = thread, .frames = frames, .frame_count = count > 0 ? (uint32_t)count : 0 };

    return opd_writer_stack(writer, &stack);
}

opd_status opd_writer_stack(opd_writer *writer, const opd_stack *stack)
{
    return end_message(writer, KIND_BACKTRACE, info_put_backtrace(begin_message(writer), stack));
}

opd_status opd_writer_crash(opd_writer *writer, const opd_crash_info *crash)
{
    return end_message(writer, KIND_CRASH, info_put_crash(begin_message(writer), crash));
}

opd_status opd_writer_count(opd_writer *writer, const opd_count *count)
{
    return end_message(writer, KIND_COUNT, info_put_count(begin_message(writer), count));
}

opd_status opd_writer_lineage(opd_writer *writer, const opd_lineage *lineage)
{
    return end_message(writer, KIND_LINEAGE, info_put_lineage(begin_message(writer), lineage));
}

/* ---------------------------------------------------------------------------------------------------- calls */

static opd_status write_compressed(opd_writer *writer, const opd_buffer *packets)
{
    uLongf size = compressBound((uLong)packets->size);
    uint8_t *bytes = NULL;
    opd_status status = opd_alloc((void **)&bytes, size);

    if (status != OPD_OK) {
        return status;
    }
    if (compress2(bytes, &size, packets->bytes, (uLong)packets->size, TIMELINE_LEVEL) == Z_OK) {
        opd_record_part part = { .field = KIND_TIMELINE, .bytes = bytes, .size = size };
        status = writer_record(writer, &part, 1, 0, NULL);
    }
    opd_free(bytes);
    return status;
}

/* What a timeline could not draw for want of memory is not worth an error: the records themselves are written. */
static opd_status end_timeline(opd_writer *writer, opd_buffer *packets, opd_status status)
{
    if (status == OPD_OK && packets->size > 0) {
        status = write_compressed(writer, packets);
    }
    opd_buffer_done(packets);
    if (status != OPD_OK && writer->broken == OPD_OK) {
        opd_error_clear();
    }
    return writer->broken;
}

opd_status opd_writer_failure(opd_writer *writer, const opd_failure *failure)
{
    opd_buffer packets;
    opd_status status = end_message(writer, KIND_FAILURE, info_put_failure(begin_message(writer), failure));

    if (status != OPD_OK || failure->time_ns == 0) {
        return status;
    }
    opd_buffer_init(&packets, TIMELINE_LIMIT);
    return end_timeline(writer, &packets, timeline_failure(&packets, writer, failure));
}

/* The batch just encoded, drawn for Perfetto. It is read back first: what is drawn is what was written. */
static opd_status write_timeline(opd_writer *writer, const opd_buffer *message)
{
    opd_batch batch;
    opd_buffer packets;
    opd_status status = OPD_OK;

    batch_init(&batch);
    opd_buffer_init(&packets, TIMELINE_LIMIT);
    status = batch_decode(&batch, message->bytes, message->size);
    if (status == OPD_OK) {
        status = timeline_packets(&packets, writer, &batch);
    }
    batch_done(&batch);
    return end_timeline(writer, &packets, status);
}

opd_status writer_flush_batch(opd_writer *writer)
{
    opd_buffer *message = begin_message(writer);

    if (writer->batch.count == 0) {
        return OPD_OK;
    }
    opd_status status = batch_encode(message, &writer->batch);
    if (status != OPD_OK) {
        return status;
    }
    opd_record_part part = { .field = KIND_BATCH, .bytes = message->bytes, .size = message->size };
    status = writer_record(writer, &part, 1, (uint32_t)writer->batch.count, NULL);
    if (status != OPD_OK) {
        return status;
    }
    batch_clear(&writer->batch);
    return write_timeline(writer, message);
}

opd_status opd_writer_call(opd_writer *writer, const opd_call *call)
{
    if (batch_is_full(&writer->batch)) {
        opd_status status = writer_flush_batch(writer);
        if (status != OPD_OK) {
            return status;
        }
    }
    return batch_add(&writer->batch, call);
}

opd_status opd_writer_call_with_data(opd_writer *writer, opd_call *call)
{
    for (int i = 0; i < call->operand_count && i < OPD_MAX_OPERANDS; i++) {
        opd_operand *operand = &call->operands[i];
        void *packed = NULL;
        opd_digest digest;
        if (!operand->view.data ||
            (operand->flags & (OPD_OPERAND_UNREADABLE | OPD_OPERAND_NOT_KEPT | OPD_OPERAND_RETURNED)) ||
            opd_tensor_check(&operand->view) != OPD_OK) {
            continue;
        }
        opd_status status = opd_alloc(&packed, (size_t)opd_tensor_packed_bytes(&operand->view));
        if (status == OPD_OK) {
            opd_tensor_scan(&operand->view, packed, &digest, NULL);
            status = opd_writer_tensor(writer, &digest, &operand->view, packed);
        }
        opd_free(packed);
        if (status != OPD_OK) {
            return status;
        }
        operand->before = digest;
    }
    return opd_writer_call(writer, call);
}

/* -------------------------------------------------------------------------------------------------- tensors */

opd_status opd_writer_recipe(opd_writer *writer, const opd_digest *digest, const opd_tensor *view, const opd_fill *fill)
{
    Opsdebug__Tensor message = OPSDEBUG__TENSOR__INIT;
    uint8_t bytes[TENSOR_MESSAGE_MAX];

    if (opd_digest_is_none(digest)) {
        return opd_fail(OPD_E_INVALID, "a recipe needs the digest of what it makes");
    }
    if (index_find(&writer->index, digest)) {
        return OPD_OK;
    }
    opd_status status = index_reserve(&writer->index, 1);
    if (status != OPD_OK) {
        return status;
    }
    message.digest = capped_borrow(digest->bytes, sizeof(digest->bytes));
    message.has_digest = message.has_chunk = message.has_bytes = message.has_codec = message.has_dtype = 1;
    message.has_fill = message.has_a = message.has_b = message.has_seed = message.has_stream = 1;
    message.bytes = opd_tensor_packed_bytes(view);
    message.codec = CODEC_RECIPE;
    message.dtype = (uint32_t)view->dtype;
    message.fill = (uint32_t)fill->kind;
    memcpy(&message.a, &fill->a, sizeof(message.a));
    memcpy(&message.b, &fill->b, sizeof(message.b));
    message.seed = fill->seed;
    message.stream = fill->stream;
    opd_record_part parts[] = {
        { .field = KIND_TENSOR, .bytes = bytes, .size = protobuf_c_message_pack(&message.base, bytes) },
        { .field = KIND_TENSOR_DATA, .bytes = (const uint8_t *)"", .size = 0 },
    };
    return writer_record(writer, parts, OPD_COUNT(parts), 0, digest);
}

static opd_status write_chunk(opd_writer *writer, const opd_digest *digest, uint64_t total, uint32_t chunk,
                              const opd_coded *coded, opd_dtype dtype)
{
    Opsdebug__Tensor message = OPSDEBUG__TENSOR__INIT;
    uint8_t bytes[TENSOR_MESSAGE_MAX];

    message.digest = capped_borrow(digest->bytes, sizeof(digest->bytes));
    message.has_digest = message.has_chunk = message.has_bytes = message.has_codec = message.has_dtype = 1;
    message.chunk = chunk;
    message.bytes = total;
    message.codec = coded->codec;
    message.width = coded->width;
    message.has_width = coded->width != 0;
    message.dtype = (uint32_t)dtype;
    opd_record_part parts[] = {
        { .field = KIND_TENSOR, .bytes = bytes, .size = protobuf_c_message_pack(&message.base, bytes) },
        { .field = KIND_TENSOR_DATA, .bytes = coded->bytes, .size = coded->size },
    };
    return writer_record(writer, parts, OPD_COUNT(parts), chunk, digest);
}

opd_status opd_writer_tensor(opd_writer *writer, const opd_digest *digest, const opd_tensor *view, const void *packed)
{
    uint64_t total = opd_tensor_packed_bytes(view);
    uint64_t chunks = total == 0 ? 1 : (total + CODEC_CHUNK - 1) / CODEC_CHUNK;

    if (opd_digest_is_none(digest)) {
        return opd_fail(OPD_E_INVALID, "a tensor needs a digest to be stored");
    }
    if (index_find(&writer->index, digest)) {
        return OPD_OK;
    }
    /* All memory first: a tensor half written for want of it would be taken for a whole one. */
    opd_status status = index_reserve(&writer->index, (size_t)chunks);
    if (status == OPD_OK) {
        status = codec_prepare(writer->codec);
    }
    for (uint64_t i = 0; status == OPD_OK && i < chunks; i++) {
        const uint8_t *at = (const uint8_t *)packed + i * CODEC_CHUNK;
        uint64_t left = total - i * CODEC_CHUNK;
        opd_coded coded;
        status = codec_encode(&coded, writer->codec, at, left < CODEC_CHUNK ? (size_t)left : CODEC_CHUNK, view->dtype);
        if (status == OPD_OK) {
            status = write_chunk(writer, digest, total, (uint32_t)i, &coded, view->dtype);
        }
    }
    return status;
}
