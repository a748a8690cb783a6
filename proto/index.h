/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the records of a bundle are, in memory: built by the writer as it writes, read from index records, or rebuilt by
 * a scan. The blob table finds tensor data by digest.
 */
#ifndef OPD_PROTO_INDEX_H
#define OPD_PROTO_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/memory.h>
#include <opsdebug/tensor.h>

#include "frame.h"

#define INDEX_PART  8192u /* records per index record: stays far under the limit of a record */
#define BATCH_CALLS 4096u /* calls per batch */

typedef struct opd_index_entry {
    uint64_t offset;
    uint32_t size;
    uint32_t kind;
    uint32_t detail; /* BATCH: calls; TENSOR: chunk number */
} opd_index_entry;

typedef struct opd_index_blob {
    opd_digest digest;
    uint32_t entry; /* of chunk 0 */
} opd_index_blob;

typedef struct opd_index {
    opd_index_entry *entries;
    size_t count, capacity;
    opd_index_blob *blobs;
    size_t blob_count, blob_capacity;
    uint32_t *slots;   /* open addressing: blob number + 1; 0 = free */
    size_t slot_count; /* power of two, at least twice blob_capacity */
} opd_index;

void index_done(opd_index *index);
/* Room for count more records, so that adding them cannot fail. */
opd_status index_reserve(opd_index *index, size_t count);
/* digest: of a tensor's chunk 0, else NULL. A digest known already keeps its first place. */
opd_status index_add(opd_index *index, const opd_index_entry *entry, const opd_digest *digest);
/* Adds a verified record found by a scan. errors: E_FORMAT its message is malformed; E_NOMEM. */
opd_status index_add_frame(opd_index *index, const opd_frame_view *frame);
/* NULL when the digest is not there. */
const opd_index_blob *index_find(const opd_index *index, const opd_digest *digest);

/* Appends the Index message of entries [first, first + count) to out. */
opd_status index_encode(opd_buffer *out, const opd_index *index, size_t first, size_t count);
/* Appends the entries of an Index message; all must lie in file_size bytes. errors: E_FORMAT, E_LIMIT, E_NOMEM. */
opd_status index_decode(opd_index *index, const uint8_t *message, size_t size, uint64_t file_size);

#endif
