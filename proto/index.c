/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index: an array of records in file order and a hash table from digest to a tensor's first chunk.
 */
#include "index.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "bundle.pb-c.h"
#include "capped.h"
#include "wire.h"

#define INDEX_FIRST_CAPACITY 64

void index_done(opd_index *index)
{
    opd_free(index->entries);
    opd_free(index->blobs);
    opd_free(index->slots);
    *index = (opd_index){ 0 };
}

static size_t slot_of(const opd_index *index, const opd_digest *digest)
{
    size_t slot = (size_t)XXH3_64bits(digest->bytes, sizeof(digest->bytes)) & (index->slot_count - 1);

    while (index->slots[slot] != 0 && !opd_digest_equal(&index->blobs[index->slots[slot] - 1].digest, digest)) {
        slot = (slot + 1) & (index->slot_count - 1);
    }
    return slot;
}

static opd_status grow_blobs(opd_index *index)
{
    size_t capacity = index->blob_capacity ? index->blob_capacity * 2 : INDEX_FIRST_CAPACITY;
    uint32_t *slots = NULL;
    opd_status status = opd_alloc_array((void **)&slots, capacity * 2, sizeof(*slots));

    if (status != OPD_OK) {
        return status;
    }
    status = opd_grow((void **)&index->blobs, capacity, sizeof(*index->blobs));
    if (status != OPD_OK) {
        opd_free(slots);
        return status;
    }
    opd_free(index->slots);
    index->slots = slots;
    index->slot_count = capacity * 2;
    index->blob_capacity = capacity;
    for (size_t i = 0; i < index->blob_count; i++) {
        index->slots[slot_of(index, &index->blobs[i].digest)] = (uint32_t)(i + 1);
    }
    return OPD_OK;
}

opd_status index_reserve(opd_index *index, size_t count)
{
    size_t capacity = index->capacity ? index->capacity : INDEX_FIRST_CAPACITY;

    if (count > UINT32_MAX - index->count) {
        return opd_fail(OPD_E_LIMIT, "a bundle holds at most %" PRIu32 " records", UINT32_MAX);
    }
    while (capacity < index->count + count) {
        capacity *= 2;
    }
    if (capacity > index->capacity) {
        opd_status status = opd_grow((void **)&index->entries, capacity, sizeof(*index->entries));
        if (status != OPD_OK) {
            return status;
        }
        index->capacity = capacity;
    }
    return index->blob_count == index->blob_capacity ? grow_blobs(index) : OPD_OK;
}

opd_status index_add(opd_index *index, const opd_index_entry *entry, const opd_digest *digest)
{
    opd_status status = index_reserve(index, 1);

    if (status != OPD_OK) {
        return status;
    }
    if (digest && entry->kind == KIND_TENSOR && entry->detail == 0) {
        size_t slot = slot_of(index, digest);
        if (index->slots[slot] == 0) {
            index->blobs[index->blob_count] = (opd_index_blob){ .digest = *digest, .entry = (uint32_t)index->count };
            index->slots[slot] = (uint32_t)++index->blob_count;
        }
    }
    index->entries[index->count++] = *entry;
    return OPD_OK;
}

const opd_index_blob *index_find(const opd_index *index, const opd_digest *digest)
{
    if (index->blob_count == 0) {
        return NULL;
    }
    uint32_t number = index->slots[slot_of(index, digest)];
    return number ? &index->blobs[number - 1] : NULL;
}

opd_status index_add_frame(opd_index *index, const opd_frame_view *frame)
{
    opd_index_entry entry = { .offset = frame->offset, .size = (uint32_t)frame->size, .kind = frame->kind };
    opd_digest digest = { { 0 } };
    opd_frame_parts parts;
    wire_field field;
    size_t at = 0;

    if (frame->kind == KIND_BATCH || frame->kind == KIND_TENSOR) {
        opd_status status = frame_split(&parts, frame);
        if (status != OPD_OK) {
            return status;
        }
        while (wire_next(&field, parts.message, parts.message_size, &at)) {
            bool is_tensor = frame->kind == KIND_TENSOR;
            uint64_t most = is_tensor ? UINT32_MAX : BATCH_CALLS;
            if (is_tensor && field.number == 1 && field.size == sizeof(digest.bytes)) {
                memcpy(digest.bytes, field.bytes, sizeof(digest.bytes));
            } else if (field.number == (is_tensor ? 2u : 1u) && field.value <= most) {
                entry.detail = (uint32_t)field.value; /* chunk number; calls */
            }
        }
    }
    return index_add(index, &entry, &digest);
}

/* Columns of an Index message under construction. */
typedef struct index_columns {
    Opsdebug__Index message;
    uint64_t *memory;
    uint8_t *digests;
} index_columns;

static void fill_columns(index_columns *columns, const opd_index *index, size_t first, size_t count)
{
    Opsdebug__Index *message = &columns->message;

    opsdebug__index__init(message);
    message->size = columns->memory;
    message->kind = columns->memory + count;
    message->calls = columns->memory + 2 * count;
    message->chunk = columns->memory + 3 * count;
    message->digest.data = columns->digests;
    message->has_digest = 1;
    message->has_first_offset = 1;
    message->first_offset = count > 0 ? index->entries[first].offset : 0;
    /* Chunks of one tensor stand together, so the blob of a chunk 0 is found by position; a repeated digest is not in the table. */
    size_t blob = 0;
    while (blob < index->blob_count && index->blobs[blob].entry < first) {
        blob++;
    }
    for (size_t i = 0; i < count; i++) {
        const opd_index_entry *entry = &index->entries[first + i];
        message->size[message->n_size++] = entry->size;
        message->kind[message->n_kind++] = entry->kind;
        if (entry->kind == KIND_BATCH) {
            message->calls[message->n_calls++] = entry->detail;
        }
        if (entry->kind != KIND_TENSOR) {
            continue;
        }
        message->chunk[message->n_chunk++] = entry->detail;
        if (entry->detail == 0) {
            if (blob < index->blob_count && index->blobs[blob].entry == first + i) {
                memcpy(columns->digests + message->digest.len, index->blobs[blob++].digest.bytes, 16);
            }
            message->digest.len += 16;
        }
    }
}

opd_status index_encode(opd_buffer *out, const opd_index *index, size_t first, size_t count)
{
    index_columns columns = { .memory = NULL };
    opd_status status = opd_alloc_array((void **)&columns.memory, count * 4 + 1, sizeof(uint64_t));

    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&columns.digests, count + 1, 16);
    }
    if (status == OPD_OK) {
        fill_columns(&columns, index, first, count);
        uint8_t *room = opd_buffer_reserve(out, protobuf_c_message_get_packed_size(&columns.message.base));
        if (room) {
            protobuf_c_message_pack(&columns.message.base, room);
        }
        status = out->status;
    }
    opd_free(columns.memory);
    opd_free(columns.digests);
    return status;
}

/* Cursors into the columns of a part that have a value only for some records. */
typedef struct index_cursor {
    size_t batch, tensor, digest;
} index_cursor;

static opd_status decode_entry(opd_index *index, const Opsdebug__Index *message, size_t i, uint64_t offset,
                               index_cursor *at)
{
    opd_index_entry entry = { .offset = offset,
                              .size = (uint32_t)message->size[i],
                              .kind = (uint32_t)message->kind[i] };
    opd_digest digest = { { 0 } };
    uint64_t detail = 0;

    if (entry.kind == KIND_BATCH) {
        if (at->batch >= message->n_calls || message->calls[at->batch] > BATCH_CALLS) {
            return opd_fail(OPD_E_FORMAT, "the index disagrees about its batches");
        }
        detail = message->calls[at->batch++];
    } else if (entry.kind == KIND_TENSOR) {
        if (at->tensor >= message->n_chunk || message->chunk[at->tensor] > UINT32_MAX) {
            return opd_fail(OPD_E_FORMAT, "the index disagrees about its tensors");
        }
        detail = message->chunk[at->tensor++];
        if (detail == 0) {
            if (at->digest + sizeof(digest.bytes) > message->digest.len) {
                return opd_fail(OPD_E_FORMAT, "the index has fewer digests than tensors");
            }
            memcpy(digest.bytes, message->digest.data + at->digest, sizeof(digest.bytes));
            at->digest += sizeof(digest.bytes);
        }
    }
    entry.detail = (uint32_t)detail;
    return index_add(index, &entry, opd_digest_is_none(&digest) ? NULL : &digest);
}

opd_status index_decode(opd_index *index, const uint8_t *message_bytes, size_t size, uint64_t file_size)
{
    ProtobufCMessage *unpacked = NULL;
    index_cursor at = { 0 };
    opd_status status = capped_unpack(&unpacked, &opsdebug__index__descriptor, message_bytes, size);

    if (status != OPD_OK) {
        return status;
    }
    const Opsdebug__Index *message = (const Opsdebug__Index *)unpacked;
    uint64_t offset = message->first_offset;
    const opd_index_entry *last = index->count > 0 ? &index->entries[index->count - 1] : NULL;
    if (message->n_size != message->n_kind || offset > file_size) {
        status = opd_fail(OPD_E_FORMAT, "the index has %zu sizes for %zu kinds", message->n_size, message->n_kind);
    } else if (last && offset < last->offset + last->size) {
        /* Records in order and apart: what they all cost to read is bounded by the size of the file. */
        status = opd_fail(OPD_E_FORMAT, "the index goes back to offset %" PRIu64, offset);
    }
    for (size_t i = 0; status == OPD_OK && i < message->n_size; i++) {
        if (message->size[i] > file_size - offset || message->size[i] < FRAME_MIN || message->size[i] > UINT32_MAX ||
            message->kind[i] > UINT32_MAX) {
            status = opd_fail(OPD_E_FORMAT, "the index leaves the file at offset %" PRIu64, offset);
            break;
        }
        status = decode_entry(index, message, i, offset, &at);
        offset += message->size[i];
    }
    capped_free(unpacked);
    return status;
}
