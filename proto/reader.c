/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a bundle: by the index when the file ends in a good end record, else by a scan. Small records are verified and
 * decoded at once, calls and tensors when asked for; tensor records are not even touched before.
 */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire.h"

/* 0x0A, one byte of length, prefix, tag and length of the message (3), its three fields (9 + 9 + 5). */
#define END_SIZE (2 + FRAME_PREFIX + 3 + 23)

void opd_bundle_close(opd_bundle *bundle)
{
    if (!bundle) {
        return;
    }
    for (size_t i = 0; i < bundle->backtrace_count; i++) {
        opd_free(bundle->backtraces[i].frames);
    }
    opd_free(bundle->backtraces);
    opd_free(bundle->modules);
    opd_free(bundle->threads);
    opd_free(bundle->events);
    opd_free(bundle->failures);
    opd_free(bundle->lineage);
    opd_free(bundle->counts);
    opd_free(bundle->places);
    index_done(&bundle->index);
    if (bundle->cache) {
        batch_done(&bundle->cache->batch);
        pthread_mutex_destroy(&bundle->cache->lock);
        opd_free(bundle->cache);
    }
    if (bundle->is_mapped) {
        opd_mapping_close(&bundle->mapping);
    }
    opd_free(bundle->path);
    opd_free(bundle->store);
    opd_free(bundle);
}

static opd_status bundle_new(opd_bundle **out)
{
    opd_bundle *bundle = NULL;
    const char *store = getenv("OPSDEBUG_STORE");
    opd_status status = opd_alloc((void **)&bundle, sizeof(*bundle));

    if (status != OPD_OK) {
        return status;
    }
    status = opd_alloc((void **)&bundle->cache, sizeof(*bundle->cache));
    if (status == OPD_OK) {
        pthread_mutex_init(&bundle->cache->lock, NULL);
        batch_init(&bundle->cache->batch);
        bundle->cache->place = -1;
        status = opd_bundle_set_store(bundle, store && store[0] ? store : NULL);
    }
    if (status != OPD_OK) {
        opd_bundle_close(bundle);
        return status;
    }
    *out = bundle;
    return OPD_OK;
}

void reader_damage(const opd_bundle *bundle, uint64_t offset)
{
    opd_bundle_state *state = &bundle->cache->state;

    pthread_mutex_lock(&bundle->cache->lock);
    if (!bundle->cache->is_complete) {
        if (state->damaged == 0 || offset < state->first_damage) {
            state->first_damage = offset;
        }
        state->damaged++;
    }
    pthread_mutex_unlock(&bundle->cache->lock);
}

opd_status reader_frame(opd_frame_view *out, const opd_bundle *bundle, uint32_t entry)
{
    const opd_index_entry *at = &bundle->index.entries[entry];

    if (frame_read(out, bundle->bytes, bundle->size, at->offset) != FRAME_GOOD) {
        return opd_fail(OPD_E_FORMAT, "record at offset %" PRIu64 ": check fails", at->offset);
    }
    if (out->kind != at->kind || out->size != at->size) {
        return opd_fail(OPD_E_FORMAT,
                        "record at offset %" PRIu64 ": is of kind %u and %zu bytes, the index says %u and %u",
                        at->offset, out->kind, out->size, at->kind, at->size);
    }
    return OPD_OK;
}

/* What the end record says. False: there is none, or it does not hold. */
static bool read_end(opd_frame_view *frame, uint64_t *index_offset, uint64_t *records, const opd_bundle *bundle)
{
    opd_frame_parts parts;
    wire_field field;
    size_t at = 0;

    if (bundle->size < END_SIZE ||
        frame_read(frame, bundle->bytes, bundle->size, bundle->size - END_SIZE) != FRAME_GOOD ||
        frame->kind != KIND_END || frame->size != END_SIZE || frame_split(&parts, frame) != OPD_OK) {
        return false;
    }
    *index_offset = UINT64_MAX;
    *records = 0;
    while (wire_next(&field, parts.message, parts.message_size, &at)) {
        if (field.number == 1) {
            *index_offset = field.value;
        } else if (field.number == 2) {
            *records = field.value;
        }
    }
    return true;
}

/*
 * Reads the index parts between the place the end record names and the end record. errors: E_NOMEM; anything else wrong means
 * that there is no index: E_NOTFOUND.
 */
static opd_status read_index(opd_bundle *bundle)
{
    opd_frame_view end;
    opd_frame_view frame;
    opd_frame_parts parts;
    uint64_t offset = 0;
    uint64_t records = 0;
    opd_status status = OPD_OK;

    if (!read_end(&end, &offset, &records, bundle)) {
        return OPD_E_NOTFOUND;
    }
    while (status == OPD_OK && offset < end.offset) {
        if (frame_read(&frame, bundle->bytes, bundle->size, offset) != FRAME_GOOD || frame.kind != KIND_INDEX) {
            status = OPD_E_NOTFOUND;
            break;
        }
        status = frame_split(&parts, &frame);
        if (status == OPD_OK) {
            status = index_decode(&bundle->index, parts.message, parts.message_size, bundle->size);
        }
        offset += frame.size;
    }
    if (status == OPD_OK && offset == end.offset && bundle->index.count == records) {
        return OPD_OK;
    }
    index_done(&bundle->index);
    return status == OPD_E_NOMEM ? status : OPD_E_NOTFOUND;
}

/* Records that are verified only when they are used. */
static bool is_lazy(uint32_t kind)
{
    return kind == KIND_TENSOR || kind == KIND_TIMELINE;
}

static opd_status take_entry(opd_bundle *bundle, uint32_t entry)
{
    opd_frame_view frame;
    const opd_index_entry *at = &bundle->index.entries[entry];

    if (is_lazy(at->kind)) {
        return OPD_OK;
    }
    if (!reader_knows(at->kind)) {
        bundle->cache->state.unknown++;
        return OPD_OK;
    }
    opd_status status = reader_frame(&frame, bundle, entry);
    if (status == OPD_OK) {
        status = reader_take(bundle, &frame, entry);
    }
    if (status == OPD_E_FORMAT || status == OPD_E_LIMIT) {
        reader_damage(bundle, at->offset);
        opd_error_clear();
        return OPD_OK;
    }
    return status;
}

static opd_status take_entries(opd_bundle *bundle)
{
    opd_status status = OPD_OK;

    for (size_t i = 0; status == OPD_OK && i < bundle->index.count; i++) {
        status = take_entry(bundle, (uint32_t)i);
    }
    bundle->cache->state.records = bundle->index.count;
    return status;
}

typedef struct scan {
    opd_bundle *bundle;
    opd_status status;
} scan;

static bool scan_record(void *context, const opd_frame_view *frame)
{
    scan *of = context;

    if (frame->kind == KIND_INDEX || frame->kind == KIND_END) {
        return true;
    }
    opd_status status = index_add_frame(&of->bundle->index, frame);
    if (status == OPD_E_FORMAT) {
        reader_damage(of->bundle, frame->offset);
        opd_error_clear();
        return true;
    }
    of->status = status;
    return status == OPD_OK;
}

static void scan_damage(void *context, uint64_t offset, uint64_t bytes, const char *text)
{
    scan *of = context;

    (void)bytes;
    (void)text;
    reader_damage(of->bundle, offset);
}

static void walk_all(const opd_bundle *bundle, opd_frame_walk *walk)
{
    walk->data = bundle->mapping.data;
    walk->data_count = bundle->mapping.data_count;
    frame_walk(walk, bundle->bytes, bundle->size);
}

static opd_status load(opd_bundle *bundle)
{
    opd_bundle_state *state = &bundle->cache->state;
    opd_status status = OPD_OK;

    state->bytes = bundle->size;
    status = read_index(bundle);
    if (status == OPD_E_NOTFOUND) {
        scan of = { .bundle = bundle, .status = OPD_OK };
        walk_all(bundle, &(opd_frame_walk){ .on_record = scan_record, .on_damage = scan_damage, .context = &of });
        opd_error_clear();
        status = of.status;
        state->index_rebuilt = true;
        state->is_partial = true;
    }
    if (status != OPD_OK) {
        return status;
    }
    if (bundle->index.count == 0) {
        return opd_fail(OPD_E_FORMAT, "not a bundle: %s",
                        bundle->size == 0 ? "the file is empty" : "no good record in it");
    }
    return take_entries(bundle);
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t suffix_length = strlen(suffix);

    return length >= suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

/* path, or path.partial when path is absent. */
static opd_status open_either(opd_bundle *bundle, const char *path)
{
    char partial[4096];
    opd_status status = OPD_OK;
    int length = snprintf(partial, sizeof(partial), "%s.partial", path);

    if (access(path, F_OK) != 0 && errno == ENOENT && length > 0 && (size_t)length < sizeof(partial) &&
        access(partial, F_OK) == 0) {
        path = partial;
    }
    status = opd_mapping_open(&bundle->mapping, path);
    if (status != OPD_OK) {
        return status;
    }
    bundle->is_mapped = true;
    bundle->bytes = bundle->mapping.bytes;
    bundle->size = bundle->mapping.size;
    bundle->cache->state.is_partial = has_suffix(path, ".partial");
    return opd_strdup(&bundle->path, path);
}

opd_status opd_bundle_open(opd_bundle **out, const char *path)
{
    opd_bundle *bundle = NULL;
    opd_status status = bundle_new(&bundle);

    if (status != OPD_OK) {
        return status;
    }
    status = open_either(bundle, path);
    if (status == OPD_OK) {
        status = load(bundle);
        if (status != OPD_OK) {
            opd_fail_in(status, "%s", path);
        }
    }
    if (status != OPD_OK) {
        opd_bundle_close(bundle);
        return status;
    }
    *out = bundle;
    return OPD_OK;
}

opd_status opd_bundle_open_memory(opd_bundle **out, const void *bytes, size_t size)
{
    opd_bundle *bundle = NULL;
    opd_status status = bundle_new(&bundle);

    if (status != OPD_OK) {
        return status;
    }
    bundle->bytes = bytes;
    bundle->size = size;
    status = opd_strdup(&bundle->path, "(memory)");
    if (status == OPD_OK) {
        status = load(bundle);
    }
    if (status != OPD_OK) {
        opd_bundle_close(bundle);
        return status;
    }
    *out = bundle;
    return OPD_OK;
}

/* A full verification in progress. */
typedef struct verification {
    const opd_bundle *bundle;
    opd_damage_fn *report;
    void *context;
    opd_bundle_state state;
} verification;

static bool count_record(void *context, const opd_frame_view *frame)
{
    verification *of = context;

    if (frame->kind != KIND_INDEX && frame->kind != KIND_END) {
        of->state.records++;
        of->state.unknown += !reader_knows(frame->kind);
    }
    return true;
}

static void count_damage(void *context, uint64_t offset, uint64_t bytes, const char *text)
{
    verification *of = context;

    if (of->state.damaged++ == 0) {
        of->state.first_damage = offset;
    }
    if (of->report) {
        of->report(of->context, offset, bytes, text);
    }
}

void opd_bundle_damage(const opd_bundle *bundle, opd_damage_fn *report, void *context)
{
    verification of = { .bundle = bundle, .report = report, .context = context };

    walk_all(bundle, &(opd_frame_walk){ .on_record = count_record, .on_damage = count_damage, .context = &of });
    pthread_mutex_lock(&bundle->cache->lock);
    opd_bundle_state *state = &bundle->cache->state;
    state->records = of.state.records;
    state->unknown = of.state.unknown;
    state->damaged = of.state.damaged;
    state->first_damage = of.state.first_damage;
    bundle->cache->is_complete = true;
    pthread_mutex_unlock(&bundle->cache->lock);
}
