/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's inside, shared by its files, salvage and pack. */
#ifndef OPD_PROTO_READER_H
#define OPD_PROTO_READER_H

#include <pthread.h>

#include <opsdebug/bundle.h>

#include "batch.h"
#include "codec.h"
#include "frame.h"
#include "index.h"
#include "info.h"

typedef struct opd_batch_place {
    uint64_t first_call; /* position of its first call */
    uint32_t calls;
    uint32_t entry; /* in the index */
} opd_batch_place;

/* What changes while a bundle is read; under lock. */
typedef struct opd_reader_cache {
    pthread_mutex_t lock;
    opd_batch batch;  /* decoded */
    int64_t place;    /* its number in places; -1 = none */
    bool is_complete; /* a full verification has counted everything */
    opd_bundle_state state;
} opd_reader_cache;

struct opd_bundle {
    char *path;
    opd_mapping mapping;
    bool is_mapped;
    const uint8_t *bytes;
    size_t size;
    opd_index index;
    opd_header_info header;
    opd_environment_info environment;
    bool has_header, has_environment;
    opd_module *modules;
    size_t module_count, module_capacity;
    opd_thread_info *threads;
    size_t thread_count, thread_capacity;
    opd_event *events;
    size_t event_count, event_capacity;
    opd_failure *failures;
    size_t failure_count, failure_capacity;
    opd_lineage *lineage;
    size_t lineage_count, lineage_capacity;
    opd_count *counts;
    size_t count_count, count_capacity;
    opd_crash_info crash;
    bool has_crash;
    opd_backtrace *backtraces;
    size_t backtrace_count, backtrace_capacity;
    opd_batch_place *places;
    size_t place_count, place_capacity;
    uint64_t call_count;
    char *store;
    opd_reader_cache *cache;
};

/* Reads one verified small record into the bundle; kinds that are read lazily are passed over. errors: E_FORMAT, E_LIMIT, E_NOMEM, E_VERSION. */
opd_status reader_take(opd_bundle *bundle, const opd_frame_view *frame, uint32_t entry);
bool reader_knows(uint32_t kind);
/* Counts a damaged place. */
void reader_damage(const opd_bundle *bundle, uint64_t offset);
/* The record of an index entry, verified. errors: E_FORMAT with its offset. */
opd_status reader_frame(opd_frame_view *out, const opd_bundle *bundle, uint32_t entry);
/* What a tensor record says of its place. errors: E_FORMAT, E_NOMEM. */
typedef struct opd_tensor_place {
    opd_digest digest;
    uint64_t bytes; /* of the whole tensor */
    uint32_t chunk;
    opd_coded coded; /* this chunk, borrowed from the record */
    opd_fill recipe; /* of CODEC_RECIPE */
} opd_tensor_place;
opd_status reader_tensor_place(opd_tensor_place *out, const opd_frame_view *frame);
/* Content of a digest from the bundle itself, not verified against the digest. errors: E_NOTFOUND, E_FORMAT, E_NOMEM. */
opd_status reader_tensor(void *dst, uint64_t size, const opd_bundle *bundle, const opd_digest *digest);
/* opd_bundle_tensor() without the store; its text does not name the bundle. */
opd_status reader_content(void *dst, size_t size, const opd_bundle *bundle, const opd_digest *digest,
                          const opd_tensor *view);

#endif
