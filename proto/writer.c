/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer: framing, the pending buffer, completion. A record is given to the sink whole or, when large, in two pieces;
 * after a failed write the file may end in a torn record, so the writer refuses everything more and leaves the .partial.
 *
 * order: writer_create -> records -> opd_writer_close, or opd_writer_abandon.
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capped.h"
#include "wire.h"

#define PENDING_SIZE ((size_t)256 << 10)
#define FRONT_SIZE   512 /* fields before the last part's bytes */

static void writer_free(opd_writer *writer)
{
    if (!writer) {
        return;
    }
    if (writer->sink) {
        writer->sink->close(writer->sink);
    }
    opd_free(writer->path);
    opd_free(writer->temporary);
    opd_free(writer->pending);
    opd_buffer_done(&writer->message);
    index_done(&writer->index);
    batch_done(&writer->batch);
    codec_free(writer->codec);
    opd_free(writer->modules);
    opd_free(writer->threads);
    opd_free(writer);
}

static opd_status writer_new(opd_writer **out)
{
    opd_writer *writer = NULL;
    opd_status status = opd_alloc((void **)&writer, sizeof(*writer));

    if (status != OPD_OK) {
        return status;
    }
    opd_buffer_init(&writer->message, FRAME_LIMIT);
    batch_init(&writer->batch);
    status = opd_alloc((void **)&writer->pending, PENDING_SIZE);
    if (status == OPD_OK) {
        status = codec_new(&writer->codec);
    }
    if (status != OPD_OK) {
        writer_free(writer);
        return status;
    }
    *out = writer;
    return OPD_OK;
}

/* path with ".partial" behind it. */
static opd_status partial_name(char **out, const char *path)
{
    char *name = NULL;
    size_t size = strlen(path) + sizeof(".partial");
    opd_status status = opd_alloc((void **)&name, size);

    if (status == OPD_OK) {
        snprintf(name, size, "%s.partial", path);
        *out = name;
    }
    return status;
}

opd_status writer_create(opd_writer **out, const char *path, const char *temporary)
{
    opd_writer *writer = NULL;
    opd_status status = writer_new(&writer);

    if (status == OPD_OK) {
        status = opd_strdup(&writer->path, path);
    }
    if (status == OPD_OK) {
        status = temporary ? opd_strdup(&writer->temporary, temporary) : partial_name(&writer->temporary, path);
    }
    if (status == OPD_OK) {
        status = opd_sink_open_own(&writer->sink, writer->temporary, path);
    }
    if (status != OPD_OK) {
        writer_free(writer);
        return status;
    }
    *out = writer;
    return OPD_OK;
}

static opd_status give(opd_writer *writer, const void *bytes, size_t size)
{
    if (writer->broken == OPD_OK && size > 0) {
        writer->broken = writer->sink->write(writer->sink, bytes, size);
    }
    return writer->broken;
}

static opd_status flush_pending(opd_writer *writer)
{
    opd_status status = give(writer, writer->pending, writer->pending_size);

    writer->pending_size = 0;
    return status;
}

/* The pieces go to the sink in order, by way of the pending buffer where they fit. */
static opd_status put_bytes(opd_writer *writer, const void *bytes, size_t size)
{
    if (size > PENDING_SIZE - writer->pending_size) {
        opd_status status = flush_pending(writer);
        if (status != OPD_OK) {
            return status;
        }
    }
    if (size > PENDING_SIZE / 4) {
        opd_status status = flush_pending(writer);
        return status == OPD_OK ? give(writer, bytes, size) : status;
    }
    if (size > 0) {
        memcpy(writer->pending + writer->pending_size, bytes, size);
    }
    writer->pending_size += size;
    return OPD_OK;
}

/* A record whose rest is front then back. Everything that can fail for want of memory comes before the first byte. */
static opd_status put_record(opd_writer *writer, const opd_record_part *front, const opd_record_part *back,
                             opd_index_entry *entry, const opd_digest *digest)
{
    uint8_t head[FRAME_HEAD_MAX];
    size_t rest_size = front->size + back->size;
    size_t limit = entry->kind == KIND_TENSOR ? FRAME_LIMIT_TENSOR : FRAME_LIMIT;

    if (writer->broken != OPD_OK) {
        return opd_fail(writer->broken, "an earlier write failed");
    }
    if (rest_size > limit - FRAME_PREFIX) {
        return opd_fail(OPD_E_LIMIT, "a record of %zu bytes is over the limit of %zu", rest_size, limit - FRAME_PREFIX);
    }
    opd_status status = index_reserve(&writer->index, 1);
    if (status != OPD_OK) {
        return status;
    }
    uint64_t check = frame_check(writer->offset, front->bytes, front->size, back->bytes, back->size);
    size_t head_size = frame_put_head(head, rest_size, check);
    status = put_bytes(writer, head, head_size);
    if (status == OPD_OK) {
        status = put_bytes(writer, front->bytes, front->size);
    }
    if (status == OPD_OK) {
        status = put_bytes(writer, back->bytes, back->size);
    }
    if (status != OPD_OK) {
        return status;
    }
    entry->offset = writer->offset;
    entry->size = (uint32_t)(head_size + rest_size);
    writer->offset += entry->size;
    return entry->kind == KIND_END ? OPD_OK : index_add(&writer->index, entry, digest);
}

opd_status writer_record(opd_writer *writer, const opd_record_part *parts, size_t count, uint32_t detail,
                         const opd_digest *digest)
{
    uint8_t front[FRONT_SIZE];
    size_t used = 0;
    opd_index_entry entry = { .kind = parts[0].field, .detail = detail };

    for (size_t i = 0; i < count; i++) {
        bool is_last = i + 1 == count;
        if (used + (size_t)2 * WIRE_VARINT_MAX + (is_last ? 0 : parts[i].size) > sizeof(front)) {
            return opd_fail(OPD_E_LIMIT, "a record's first part of %zu bytes is too long", parts[i].size);
        }
        used += wire_put_length(front + used, parts[i].field, parts[i].size);
        if (!is_last) {
            memcpy(front + used, parts[i].bytes, parts[i].size);
            used += parts[i].size;
        }
    }
    return put_record(writer, &(opd_record_part){ .bytes = front, .size = used }, &parts[count - 1], &entry, digest);
}

opd_status writer_copy(opd_writer *writer, const opd_frame_view *frame)
{
    opd_index one = { 0 };
    opd_record_part rest = { .bytes = frame->rest, .size = frame->rest_size };
    opd_record_part none = { .bytes = "", .size = 0 };
    opd_status status = index_add_frame(&one, frame);

    if (status == OPD_OK) {
        status = put_record(writer, &rest, &none, &one.entries[0], one.blob_count > 0 ? &one.blobs[0].digest : NULL);
    }
    index_done(&one);
    return status;
}

uint64_t opd_writer_size(const opd_writer *writer)
{
    return writer->offset;
}

void opd_writer_reserve(opd_writer *writer, uint64_t bytes)
{
    if (writer->sink->reserve && writer->broken == OPD_OK) {
        writer->sink->reserve(writer->sink, bytes);
    }
}

opd_status opd_writer_flush(opd_writer *writer)
{
    opd_status status = writer_flush_batch(writer);

    if (status == OPD_OK) {
        status = flush_pending(writer);
    }
    return status;
}

static opd_status write_end(opd_writer *writer, uint64_t index_offset, uint64_t records, uint32_t parts)
{
    Opsdebug__End message = OPSDEBUG__END__INIT;
    uint8_t bytes[64];

    message.has_index_offset = message.has_records = message.has_parts = 1;
    message.index_offset = index_offset;
    message.records = records;
    message.parts = parts;
    opd_record_part part = { .field = KIND_END, .bytes = bytes, .size = protobuf_c_message_pack(&message.base, bytes) };
    return writer_record(writer, &part, 1, 0, NULL);
}

static opd_status write_index(opd_writer *writer)
{
    size_t records = writer->index.count;
    uint64_t index_offset = writer->offset;
    uint32_t parts = 0;

    for (size_t first = 0; first < records; first += INDEX_PART, parts++) {
        size_t count = records - first < INDEX_PART ? records - first : INDEX_PART;
        opd_buffer_done(&writer->message);
        opd_buffer_init(&writer->message, FRAME_LIMIT);
        opd_status status = index_encode(&writer->message, &writer->index, first, count);
        if (status != OPD_OK) {
            return status;
        }
        opd_record_part part = { .field = KIND_INDEX, .bytes = writer->message.bytes, .size = writer->message.size };
        status = writer_record(writer, &part, 1, 0, NULL);
        if (status != OPD_OK) {
            return status;
        }
    }
    return write_end(writer, index_offset, records, parts);
}

/* Makes the rename itself durable. */
static void sync_directory(const char *path)
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;

    if (length >= sizeof(directory) - 1) {
        return;
    }
    if (slash) {
        memcpy(directory, path, length + 1);
        directory[length + 1] = '\0';
    } else {
        memcpy(directory, ".", 2);
    }
    int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
}

opd_status opd_writer_close(opd_writer *writer)
{
    opd_status status = OPD_OK;

    if (!writer) {
        return OPD_OK;
    }
    status = writer_flush_batch(writer);
    if (status == OPD_OK) {
        status = write_index(writer);
    }
    if (flush_pending(writer) != OPD_OK && status == OPD_OK) {
        status = writer->broken;
    }
    if (status == OPD_OK) {
        status = writer->sink->flush(writer->sink);
    }
    /* Renamed before it is closed: with the close goes the lock, and another may take up the name. */
    if (status == OPD_OK && writer->path) {
        if (rename(writer->temporary, writer->path) != 0) {
            status =
                opd_fail(OPD_E_IO, "%s: cannot rename to %s: %s", writer->temporary, writer->path, strerror(errno));
        } else {
            sync_directory(writer->path);
        }
    }
    opd_status closed = writer->sink->close(writer->sink);
    writer->sink = NULL;
    if (status == OPD_OK && !writer->path) { /* a file is on disk and in its place by now */
        status = closed;
    }
    writer_free(writer);
    return status;
}

void opd_writer_abandon(opd_writer *writer, bool keep)
{
    if (!writer) {
        return;
    }
    if (keep) {
        opd_writer_flush(writer);
    } else if (writer->temporary) {
        unlink(writer->temporary);
    }
    writer_free(writer);
}

/* The header record, and what the timeline needs of it. */
opd_status writer_header(opd_writer *writer, const opd_header_info *header)
{
    opd_header_info filled = *header;

    if (filled.version == 0) {
        filled.version = OPD_FORMAT_VERSION;
    }
    if (filled.producer[0] == '\0') {
        snprintf(filled.producer, sizeof(filled.producer), "ops-debug %s", OPD_VERSION);
    }
    writer->pid = header->pid;
    memcpy(writer->program, header->program, sizeof(writer->program));
    memcpy(writer->command, header->command, sizeof(writer->command));
    opd_status status = info_put_header(&writer->message, &filled);
    if (status == OPD_OK) {
        opd_record_part part = { .field = KIND_HEADER, .bytes = writer->message.bytes, .size = writer->message.size };
        status = writer_record(writer, &part, 1, 0, NULL);
    }
    /* A file that holds its header at once is known for what it is, whatever happens next. */
    return status == OPD_OK ? flush_pending(writer) : status;
}

opd_status opd_writer_open(opd_writer **out, const char *path, const opd_header_info *header)
{
    opd_writer *writer = NULL;
    opd_status status = writer_create(&writer, path, NULL);

    if (status != OPD_OK) {
        return status;
    }
    status = writer_header(writer, header);
    if (status != OPD_OK) {
        opd_writer_abandon(writer, false);
        return opd_fail_at(status, path);
    }
    *out = writer;
    return OPD_OK;
}

opd_status opd_writer_open_sink(opd_writer **out, opd_sink *take_sink, const opd_header_info *header)
{
    opd_writer *writer = NULL;
    opd_status status = writer_new(&writer);

    if (status != OPD_OK) {
        take_sink->close(take_sink);
        return status;
    }
    writer->sink = take_sink;
    status = writer_header(writer, header);
    if (status != OPD_OK) {
        writer_free(writer);
        return status;
    }
    *out = writer;
    return OPD_OK;
}
