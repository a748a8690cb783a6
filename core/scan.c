/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a view that copies, digests and takes the health, in blocks that stay in the first-level cache. Long dense runs
 * are read where they lie; short or strided ones are gathered first, into the copy or a block on the stack.
 * Digest and health are taken from the copy where there is one, so that they describe what was kept, whatever other
 * threads do to the original meanwhile.
 */
#include <string.h>

#include "digest.h"
#include "health.h"
#include "walk.h"

#define BLOCK_BYTES   32768 /* of a direct piece */
#define STAGING_BYTES 4096  /* on the stack, which may be one of 16 KiB (recorded programs) */
#define DIRECT_BYTES  2048  /* a dense run of this many bytes is worth no copy */
#define SMALL_BYTES   1024  /* up to here one call hashes all, without the streaming state */

typedef struct cursor {
    opd_runs runs;
    opd_run run;   /* the rest of the current run */
    int64_t whole; /* its count when it was whole */
    const uint8_t *data;
    int64_t size; /* of an element */
    bool has_run;
} cursor;

static void cursor_begin(cursor *at, const opd_tensor *view)
{
    at->data = view->data;
    at->size = (int64_t)opd_dtype_size(view->dtype);
    opd_runs_begin(&at->runs, view);
}

static bool is_direct(const cursor *at)
{
    return at->run.step == at->size && at->run.count * at->size >= DIRECT_BYTES;
}

static void next_run(cursor *at)
{
    at->has_run = opd_runs_next(&at->runs, &at->run);
    at->whole = at->run.count;
}

static void consume(cursor *at, int64_t count)
{
    at->run.offset += count * at->run.step;
    at->run.count -= count;
    if (at->run.count == 0) {
        next_run(at);
    }
}

/* Gathers up to room bytes; stops before a direct run when it may. Returns the bytes gathered. */
static size_t fill(cursor *at, uint8_t *block, size_t room, bool may_stop)
{
    size_t used = 0;
    size_t size = (size_t)at->size;
    while (at->has_run && room - used >= size && !(may_stop && used > 0 && is_direct(at))) {
        int64_t fits = (int64_t)((room - used) / size);
        opd_rows rows = { .rows = 1, .count = at->run.count, .step = at->run.step, .size = size };
        const uint8_t *from = at->data + at->run.offset;
        if (rows.count > fits) {
            rows.count = fits;
        } else if (rows.count == at->whole) { /* short runs: as many as fit at once */
            rows.rows += opd_walk_take_rows(&at->runs, fits / rows.count - 1, &rows.row_step);
        }
        opd_gather(block + used, from, &rows);
        used += (size_t)(rows.rows * rows.count) * size;
        consume(at, rows.count);
    }
    return used;
}

/* The next piece in memory that will not be copied further; its bytes, 0 at the end. */
static size_t next_piece(cursor *at, const uint8_t **piece, uint8_t *staging, uint8_t **packed)
{
    size_t bytes;
    if (!at->has_run) {
        return 0;
    }
    if (*packed != NULL) {
        bytes = fill(at, *packed, BLOCK_BYTES, false);
        *piece = *packed;
        *packed += bytes;
        return bytes;
    }
    if (!is_direct(at)) {
        *piece = staging;
        return fill(at, staging, STAGING_BYTES, true);
    }
    int64_t most = BLOCK_BYTES / at->size;
    int64_t count = at->run.count < most ? at->run.count : most;
    *piece = at->data + at->run.offset;
    consume(at, count);
    return (size_t)(count * at->size);
}

/* What one pass takes. */
typedef struct takes {
    uint8_t *packed;          /* NULL = no copy */
    opd_digest *digest;       /* NULL = none */
    opd_health_state *health; /* NULL = none */
} takes;

static void scan_small(cursor *at, const takes *take)
{
    uint8_t block[OPD_DIGEST_HEADER + SMALL_BYTES];
    size_t header = take->digest != NULL ? opd_digest_header(block, &at->runs) : 0;
    uint8_t *elements = block + header;
    next_run(at);
    size_t bytes = fill(at, elements, SMALL_BYTES, false);
    if (take->packed != NULL) {
        memcpy(take->packed, elements, bytes);
    }
    if (take->digest != NULL) {
        *take->digest = opd_digest_whole(block, header + bytes);
    }
    if (take->health != NULL) {
        opd_health_update(take->health, elements, bytes / (size_t)at->size);
    }
}

static void scan_large(cursor *at, const takes *take)
{
    _Alignas(64) uint8_t staging[STAGING_BYTES];
    opd_digester digester;
    uint8_t *packed = take->packed;
    if (take->digest != NULL) {
        opd_digester_begin(&digester, &at->runs);
    }
    next_run(at);
    const uint8_t *piece;
    size_t bytes;
    while ((bytes = next_piece(at, &piece, staging, &packed)) > 0) {
        if (take->digest != NULL) {
            opd_digester_update(&digester, piece, bytes);
        }
        if (take->health != NULL) {
            opd_health_update(take->health, piece, bytes / (size_t)at->size);
        }
    }
    if (take->digest != NULL) {
        *take->digest = opd_digester_end(&digester);
    }
}

static void scan(const opd_tensor *view, const takes *take)
{
    cursor at;
    cursor_begin(&at, view);
    if (opd_walk_count(&at.runs) <= SMALL_BYTES / at.size) {
        scan_small(&at, take);
    } else {
        scan_large(&at, take);
    }
}

static void scan_health(const opd_tensor *view, takes take, opd_health *out, bool is_full)
{
    opd_health_state state;
    opd_health_begin(&state, out, view->dtype, is_full);
    take.health = &state;
    scan(view, &take);
    opd_health_end(&state);
}

void opd_tensor_scan(const opd_tensor *view, void *packed, opd_digest *digest, opd_health *health)
{
    takes take = { .packed = packed, .digest = digest };
    if (health != NULL) {
        scan_health(view, take, health, true);
    } else if (digest != NULL) {
        scan(view, &take);
    } else if (packed != NULL) {
        opd_tensor_pack(packed, view);
    }
}

opd_digest opd_tensor_digest(const opd_tensor *view)
{
    opd_digest digest;
    opd_tensor_scan(view, NULL, &digest, NULL);
    return digest;
}

void opd_tensor_health(opd_health *out, const opd_tensor *view)
{
    scan_health(view, (takes){ .packed = NULL }, out, true);
}

void opd_tensor_nonfinite(opd_health *out, const opd_tensor *view)
{
    if (opd_dtype_is_float(view->dtype)) {
        scan_health(view, (takes){ .packed = NULL }, out, false);
        return;
    }
    opd_runs runs; /* nothing to look for */
    opd_runs_begin(&runs, view);
    *out = (opd_health){ .count = (uint64_t)opd_walk_count(&runs), .first_nan = -1, .first_inf = -1 };
}
