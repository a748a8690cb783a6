/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a view that copies, digests and takes the health, in blocks that stay in the first-level cache. Long dense runs
 * are read where they lie; short or strided ones are gathered first, into the copy or a block on the stack.
 * Digest and health are taken from the copy where there is one, so that they describe what was kept, whatever other
 * threads do to the original meanwhile.
 */
#include <string.h>

#include "digest.h"
#include "fpenv.h"
#include "health.h"
#include "walk.h"

#define BLOCK_BYTES   (32 * 1024) /* of a direct piece */
#define STAGING_BYTES (16 * 1024) /* on the stack */
#define DIRECT_BYTES  (2 * 1024)  /* a dense run of this many bytes is worth no copy */

typedef struct cursor {
    opd_runs runs;
    opd_run run; /* the rest of the current run */
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

static void consume(cursor *at, int64_t count)
{
    at->run.offset += count * at->run.step;
    at->run.count -= count;
    at->has_run = at->run.count > 0 || opd_runs_next(&at->runs, &at->run);
}

/* Gathers up to room bytes; stops before a direct run when it may. Returns the bytes gathered. */
static size_t fill(cursor *at, uint8_t *block, size_t room, bool may_stop)
{
    size_t used = 0;
    size_t size = (size_t)at->size;
    while (at->has_run && room - used >= size && !(may_stop && used > 0 && is_direct(at))) {
        int64_t fits = (int64_t)((room - used) / size);
        int64_t count = at->run.count < fits ? at->run.count : fits;
        opd_gather(block + used, at->data + at->run.offset, count, at->run.step, size);
        used += (size_t)count * size;
        consume(at, count);
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

static void scan(const opd_tensor *view, uint8_t *packed, opd_digester *digester, opd_health_state *health)
{
    _Alignas(64) uint8_t staging[STAGING_BYTES];
    cursor at;
    cursor_begin(&at, view);
    if (digester != NULL) {
        opd_digester_begin(digester, &at.runs);
    }
    at.has_run = opd_runs_next(&at.runs, &at.run);
    const uint8_t *piece;
    size_t bytes;
    while ((bytes = next_piece(&at, &piece, staging, &packed)) > 0) {
        if (digester != NULL) {
            opd_digester_update(digester, piece, bytes);
        }
        if (health != NULL) {
            opd_health_update(health, piece, bytes / (size_t)at.size);
        }
    }
}

static void scan_health(const opd_tensor *view, uint8_t *packed, opd_digester *digester, opd_health *out, bool is_full)
{
    opd_health_state state;
    opd_fpenv saved = opd_fpenv_enter();
    opd_health_begin(&state, out, view->dtype, is_full);
    scan(view, packed, digester, &state);
    opd_health_end(&state);
    opd_fpenv_leave(saved);
}

void opd_tensor_scan(const opd_tensor *view, void *packed, opd_digest *digest, opd_health *health)
{
    opd_digester digester;
    opd_digester *taken = digest != NULL ? &digester : NULL;
    if (health != NULL) {
        scan_health(view, packed, taken, health, true);
    } else if (taken != NULL) {
        scan(view, packed, taken, NULL);
    } else if (packed != NULL) {
        opd_tensor_pack(packed, view);
    }
    if (digest != NULL) {
        *digest = opd_digester_end(&digester);
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
    scan_health(view, NULL, NULL, out, true);
}

void opd_tensor_nonfinite(opd_health *out, const opd_tensor *view)
{
    scan_health(view, NULL, NULL, out, false);
}
