/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of known operands (see known.h): four entries for each hash, read and written without waiting by a version that is odd while an
 * entry changes. Life of an entry: seen once; seen unchanged, so kept; unchanged for longer, so watched for writes where that is possible. A
 * change begins it anew, and it takes longer each time until it is watched again.
 */
#include "known.h"

#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "chunks.h"
#include "crash.h"
#include "guarded.h"

#define KNOWN_COUNT   2048u
#define LEAST_BYTES   UINT64_C(1024)        /* smaller ones are copied as fast as they are looked up */
#define WATCHED_BYTES (UINT64_C(256) << 10) /* what is less is read as fast as the kernel is asked */
#define PATIENCE      3u
#define PATIENCE_MOST (1u << 16)
#define VERIFY_EVERY  64u /* hits of a watch: one of them is read all the same */
#define WAYS          4u
#define PROBE_BYTES   64
#define PAGE          UINT64_C(4096)

static opd_known_entry table[KNOWN_COUNT];
static opd_writes writes;
static uint64_t attachment; /* part of what an operand is known by */

void opd_known_reset(void)
{
    attachment++;
    opd_writes_reset(&writes);
}

static uint64_t form_of(const opd_tensor *view)
{
    uint64_t hash = opd_mix((uint64_t)view->dtype << 32 | (uint32_t)view->rank, view->mask.kind | attachment << 8);
    for (int i = 0; i < view->rank; i++) {
        hash = opd_mix(opd_mix(hash, (uint64_t)view->shape[i]), (uint64_t)view->stride[i]);
    }
    if (view->mask.kind != OPD_MASK_NONE) {
        hash = opd_mix(hash, (uint64_t)view->mask.unit | (uint64_t)view->mask.by_rows << 8 |
                                 (uint64_t)view->mask.upper << 16);
        hash = opd_mix(opd_mix(hash, (uint64_t)view->mask.kl), (uint64_t)view->mask.ku);
        hash = opd_mix(opd_mix(hash, (uint64_t)view->mask.rows), (uint64_t)view->mask.cols);
    }
    return hash;
}

/* ---------------------------------------------------------------------------------------------------- the table */

static bool read_entry(opd_known *out, uint64_t *version, const opd_known_entry *entry)
{
    uint64_t words[sizeof(*out) / 8];
    *version = atomic_load_explicit(&entry->version, memory_order_acquire);
    for (size_t i = 0; i < OPD_COUNT(words); i++) {
        words[i] = atomic_load_explicit(&entry->words[i], memory_order_relaxed);
    }
    atomic_thread_fence(memory_order_acquire);
    memcpy(out, words, sizeof(*out));
    return (*version & 1) == 0 && atomic_load_explicit(&entry->version, memory_order_relaxed) == *version;
}

/* Only if nobody else has changed it since it was read. */
static bool write_entry(opd_known_entry *entry, uint64_t version, const opd_known *known)
{
    uint64_t words[sizeof(*known) / 8];
    if ((version & 1) != 0 || !atomic_compare_exchange_strong(&entry->version, &version, version + 1)) {
        return false;
    }
    atomic_thread_fence(memory_order_release);
    memcpy(words, known, sizeof(*known));
    for (size_t i = 0; i < OPD_COUNT(words); i++) {
        atomic_store_explicit(&entry->words[i], words[i], memory_order_relaxed);
    }
    atomic_store_explicit(&entry->version, version + 2, memory_order_release);
    return true;
}

/* The entry of the operand, or the one that it may have: of its hash the one that promises least. */
static void look_up(opd_sighting *out, const opd_known *key)
{
    opd_known_entry *first = &table[opd_mix(key->address, key->form) % (KNOWN_COUNT / WAYS) * WAYS];
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < WAYS; i++) {
        opd_known known;
        uint64_t version;
        if (!read_entry(&known, &version, &first[i])) {
            continue;
        }
        bool is_same = known.address == key->address && known.form == key->form && known.bytes == key->bytes;
        if (is_same || known.streak < least) {
            out->entry = &first[i];
            out->version = version;
            out->known = known;
            out->is_found = is_same;
            least = known.streak;
        }
        if (is_same) {
            return;
        }
    }
}

/* ------------------------------------------------------------------------------------------------------- watches */

/* Pages that are the operand's alone; false: it has too few, or gaps. */
static bool own_pages(uint64_t *start, uint64_t *end, const opd_tensor *view)
{
    int64_t low;
    int64_t high;
    opd_tensor_span(view, &low, &high);
    uint64_t first = (uint64_t)(uintptr_t)view->data + (uint64_t)low;
    uint64_t last = (uint64_t)(uintptr_t)view->data + (uint64_t)high;
    *start = (first + PAGE - 1) & ~(PAGE - 1);
    *end = last & ~(PAGE - 1);
    return (uint64_t)(high - low) == opd_tensor_packed_bytes(view) && last - first >= WATCHED_BYTES;
}

/* Digest of what lies on pages shared with others; false: it cannot be read. */
static bool digest_edges(uint64_t *out, const opd_tensor *view)
{
    int64_t low;
    int64_t high;
    uint64_t start;
    uint64_t end;
    opd_tensor_span(view, &low, &high);
    own_pages(&start, &end, view);
    uint64_t first = (uint64_t)(uintptr_t)view->data + (uint64_t)low;
    const uint64_t at[2] = { first, end };
    const int64_t bytes[2] = { (int64_t)(start - first), (int64_t)(first + (uint64_t)(high - low) - end) };
    *out = 0;
    for (int i = 0; i < 2; i++) {
        opd_tensor edge;
        opd_digest digest;
        if (bytes[i] == 0) {
            continue;
        }
        if (opd_tensor_contiguous(&edge, OPD_U8, 1, &bytes[i], (void *)(uintptr_t)at[i]) != OPD_OK ||
            !opd_guarded_scan(&edge, NULL, &digest, NULL)) {
            return false;
        }
        uint64_t word;
        memcpy(&word, &digest, sizeof(word));
        *out = opd_mix(*out, word);
    }
    return true;
}

static bool is_unwritten(const opd_known *known, const opd_tensor *view)
{
    uint64_t edges;
    return opd_writes_none(&writes, &known->watch) && digest_edges(&edges, view) && edges == known->edges;
}

static void stop_watching(opd_known *known)
{
    opd_writes_drop(&writes, &known->watch);
    known->watch = (opd_watch){ .range = 0 };
    known->patience = known->patience < PATIENCE_MOST ? known->patience * 2 : PATIENCE_MOST;
}

static void tell_why_not(void)
{
    opd_process *process = opd_recorder.process;
    if (atomic_load_explicit(&writes.state, memory_order_acquire) == OPD_WRITES_OFF &&
        process->why_untracked[0] == '\0') {
        memcpy(process->why_untracked, writes.why_off, sizeof(process->why_untracked));
    }
}

void opd_known_give_way(const char *why)
{
    if (opd_writes_give_way(&writes, why) && opd_recorder.process != NULL && opd_recorder.pid == getpid()) {
        tell_why_not();
    }
}

/* Begins to watch before it is read. */
static void start_watching(opd_known *known, const opd_tensor *view)
{
    uint64_t start;
    uint64_t end;
    known->hits = 0;
    known->watch = (opd_watch){ .range = 0 };
    if (known->streak < known->patience || opd_recorder.control->tracks_writes == 0 || !own_pages(&start, &end, view)) {
        return;
    }
    bool is_off = atomic_load_explicit(&writes.state, memory_order_acquire) == OPD_WRITES_OFF;
    if (is_off || !digest_edges(&known->edges, view) || !opd_writes_watch(&known->watch, &writes, start, end)) {
        known->watch = (opd_watch){ .range = 0 };
        /* Refused: asked again when it has been there twice as long, for asking reads its edges and this process's map. */
        known->patience = known->streak < UINT32_MAX / 2 ? known->streak * 2 : UINT32_MAX;
        tell_why_not();
    }
}

/* ------------------------------------------------------------------------------------------------------ sightings */

static void refer(opd_operand_part *part, const opd_known *known, uint64_t how)
{
    part->before = known->digest;
    part->health_before = known->health;
    part->place_before = known->place;
    part->flags |= OPD_OPERAND_HAS_HEALTH | how;
    if (known->place.bytes == 0 && opd_recorder.control->capture >= OPD_CAPTURE_INPUTS) {
        part->flags |= OPD_OPERAND_NOT_KEPT;
    }
}

/* Hash of the first bytes that exist. 0: they cannot be read, or to ask costs as much as to read all. */
static uint32_t probe(const opd_tensor *view)
{
    opd_runs runs;
    opd_run run;
    opd_tensor first;
    opd_digest digest;
    int64_t bytes = (int64_t)opd_dtype_size(view->dtype);
    opd_runs_begin(&runs, view);
    if (opd_crash_guards == 0 || !opd_runs_next(&runs, &run)) {
        return 0;
    }
    if (run.step == bytes) {
        bytes *= run.count;
        bytes = bytes < PROBE_BYTES ? bytes : PROBE_BYTES;
    }
    if (opd_tensor_contiguous(&first, OPD_U8, 1, &bytes, (uint8_t *)view->data + run.offset) != OPD_OK ||
        !opd_guarded_scan(&first, NULL, &digest, NULL)) {
        return 0;
    }
    uint32_t word;
    memcpy(&word, &digest, sizeof(word));
    return word;
}

/* Reads it, without a copy, and compares; equal digests have equal statistics. false: it has changed, or cannot be read. */
static bool is_same_content(const opd_known *known, const opd_tensor *view)
{
    opd_digest digest;
    return opd_guarded_scan(view, NULL, &digest, NULL) && opd_digest_equal(&digest, &known->digest);
}

/* The kernel says that nobody wrote to it, and it has changed: then the kernel is not to be believed here. */
static void check_honesty(const opd_known *known, const opd_tensor *view)
{
    if (known->watch.range != 0 && is_unwritten(known, view)) {
        opd_writes_disable(&writes, "a write was missed");
    }
}

/* Is it to be in the bundle? What is too large for the budget never is. */
static bool needs_copy(const opd_process *process, const opd_known *key)
{
    return opd_recorder.control->capture >= OPD_CAPTURE_INPUTS && key->bytes <= opd_arena_limit(&process->arena);
}

/* A watched operand. true: unwritten, and not this time's to be verified. */
static bool take_watched(opd_sighting *at, const opd_tensor *view, opd_operand_part *part)
{
    opd_known *known = &at->known;
    if (known->watch.range == 0) {
        return false;
    }
    if (!is_unwritten(known, view)) {
        stop_watching(known);
        known->streak = 1;
        return false;
    }
    known->hits++;
    if (known->hits % VERIFY_EVERY == 0) {
        return false;
    }
    refer(part, known, OPD_OPERAND_KNOWN | OPD_OPERAND_TRACKED);
    return true;
}

bool opd_known_take(opd_sighting *sighting, const opd_tensor *view, opd_operand_part *part)
{
    opd_process *process = opd_recorder.process;
    opd_known *known = &sighting->known;
    opd_known key = { .address = (uint64_t)(uintptr_t)view->data, .bytes = opd_tensor_packed_bytes(view) };
    sighting->entry = NULL;
    sighting->is_found = false;
    if (key.bytes < LEAST_BYTES) {
        return false;
    }
    key.form = form_of(view);
    look_up(sighting, &key);
    if (!sighting->is_found) {
        if (sighting->entry != NULL && known->watch.range != 0) {
            opd_writes_drop(&writes, &known->watch); /* it has to go */
        }
        *known = key;
        known->patience = PATIENCE;
        sighting->probe = sighting->entry != NULL ? probe(view) : 0;
        return false;
    }
    if (needs_copy(process, &key) && !opd_arena_touch(process, &known->place)) {
        opd_writes_drop(&writes, &known->watch); /* has to be copied, so it is read */
        known->watch = (opd_watch){ .range = 0 };
        known->place.bytes = 0;
        sighting->probe = probe(view);
        return false;
    }
    bool is_taken = take_watched(sighting, view, part);
    if (!is_taken) {
        sighting->probe = probe(view);
        bool is_verified = known->watch.range != 0; /* in full, whatever its first bytes say */
        bool has_changed = !is_verified && known->probe != sighting->probe;
        if (!is_verified && !has_changed) {
            start_watching(known, view);
        }
        if (has_changed || !is_same_content(known, view)) {
            check_honesty(known, view);
            if (known->watch.range != 0) {
                stop_watching(known);
            }
            known->place.bytes = 0;
            return false;
        }
        refer(part, known, OPD_OPERAND_KNOWN);
    }
    known->streak += known->streak < UINT32_MAX;
    write_entry(sighting->entry, sighting->version, known);
    return true;
}

/* A second copy, where laps do not come. */
static bool keep(opd_known *known, const void *copy)
{
    opd_process *process = opd_recorder.process;
    void *room = opd_arena_keep(process, known->bytes, &known->place, opd_here_populate);
    if (room == NULL) {
        return false;
    }
    memcpy(room, copy, known->bytes);
    opd_arena_kept(process);
    return true;
}

bool opd_known_note(const opd_sighting *sighting, opd_operand_part *part, const void *copy)
{
    if (sighting->entry == NULL) {
        return false;
    }
    opd_known known = sighting->known;
    bool is_same = sighting->is_found && opd_digest_equal(&known.digest, &part->before);
    known.streak = is_same ? known.streak + 1 : 1;
    known.digest = part->before;
    known.health = part->health_before;
    known.probe = sighting->probe;
    bool is_kept = is_same && copy != NULL && known.streak >= 2 && keep(&known, copy);
    if (is_kept) {
        part->place_before = known.place;
    }
    write_entry(sighting->entry, sighting->version, &known);
    return is_kept;
}
