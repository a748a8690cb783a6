/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's inside, shared by its two files, salvage and the store. */
#ifndef OPD_PROTO_WRITER_H
#define OPD_PROTO_WRITER_H

#include <opsdebug/bundle.h>

#include "batch.h"
#include "codec.h"
#include "frame.h"
#include "index.h"
#include "info.h"

typedef struct opd_module_key {
    char path[512];
    char build_id[41];
} opd_module_key;

struct opd_writer {
    opd_sink *sink;
    char *path;        /* final name; NULL = a sink was given */
    char *temporary;   /* name while growing */
    uint64_t offset;   /* bytes of records so far, pending ones included */
    opd_status broken; /* a write failed: nothing more is written */
    uint8_t *pending;  /* small records, not yet given to the sink */
    size_t pending_size;
    opd_buffer message; /* of the record being made */
    opd_index index;
    opd_batch batch;
    opd_codec *codec;
    opd_module_key *modules;
    uint32_t module_count, module_capacity;
    opd_thread_info *threads;
    uint32_t thread_count, thread_capacity;
    uint32_t pid;
    char program[256];
    char command[1024];
};

/* A writer with no header record yet. temporary NULL: path with ".partial". */
opd_status writer_create(opd_writer **out, const char *path, const char *temporary);

/* Writes the header record; version and producer are filled in when not given. */
opd_status writer_header(opd_writer *writer, const opd_header_info *header);

/* One field of a record. */
typedef struct opd_record_part {
    uint32_t field;
    const void *bytes;
    size_t size;
} opd_record_part;

/*
 * Writes a record of one or two parts; its kind is the first part's field. detail, digest: for the index.
 * errors    E_LIMIT over the record's limit; E_NOMEM (nothing was written); E_IO (the writer is broken then).
 */
opd_status writer_record(opd_writer *writer, const opd_record_part *parts, size_t count, uint32_t detail,
                         const opd_digest *digest);
/* Writes a verified record of another bundle. */
opd_status writer_copy(opd_writer *writer, const opd_frame_view *frame);
opd_status writer_flush_batch(opd_writer *writer);

/* Appends `0x0A len packet`... of the calls of a Batch message to out. */
opd_status timeline_packets(opd_buffer *out, const opd_writer *writer, const opd_batch *batch);
/* A failure with a time, as an instant on its thread. */
opd_status timeline_failure(opd_buffer *out, const opd_writer *writer, const opd_failure *failure);

#endif
