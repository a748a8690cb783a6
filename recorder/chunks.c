/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of data chunks and the references into them; see chunks.h and the layout in session.h. */
#include "chunks.h"

void opd_arena_init(opd_arena *arena, uint64_t offset, uint64_t chunk_bytes)
{
    arena->offset = offset;
    arena->chunk_bytes = chunk_bytes;
    arena->is_off = chunk_bytes == 0;
    atomic_store(&arena->count, OPD_ARENA_CHUNKS);
    atomic_store(&arena->frozen, OPD_NO_LIMIT);
}

uint64_t opd_arena_limit(const opd_arena *arena)
{
    return arena->is_off ? 0 : OPD_ARENA_CHUNKS / 4 * arena->chunk_bytes;
}

/* Chunk index changes hands from its old lease to serial, written to by us; false: it is frozen or being written to. */
static bool claim(opd_arena *arena, uint64_t index, uint64_t serial)
{
    uint64_t tag = atomic_load_explicit(&arena->tags[index], memory_order_relaxed);
    uint64_t frozen = atomic_load_explicit(&arena->frozen, memory_order_acquire);
    if (tag >= OPD_TAG_KEEP || (tag != 0 && tag - 1 >= frozen)) {
        return false;
    }
    return atomic_compare_exchange_strong(&arena->tags[index], &tag, OPD_TAG_PIN | (serial + 1));
}

/* Pages of chunks used for the first time must be there before they are touched: a full tmpfs answers with SIGBUS. */
static bool make_present(opd_process *process, uint64_t index, uint64_t chunks, opd_populate_fn *populate)
{
    opd_arena *arena = &process->arena;
    uint8_t *start = (uint8_t *)process + arena->offset + index * arena->chunk_bytes;
    bool is_new = false;
    for (uint64_t i = index; i < index + chunks; i++) {
        is_new |= atomic_load_explicit(&arena->tags[i], memory_order_relaxed) == 0;
    }
    if (!is_new || populate(start, chunks * arena->chunk_bytes)) {
        return true;
    }
    uint32_t count = atomic_load(&arena->count);
    while (index < count && !atomic_compare_exchange_weak(&arena->count, &count, (uint32_t)index)) {
    }
    return false;
}

/* Claims all of the chunks or none. */
static bool claim_all(opd_arena *arena, uint64_t index, uint64_t chunks, uint64_t serial)
{
    for (uint64_t i = 0; i < chunks; i++) {
        if (!claim(arena, index + i, serial + i)) {
            while (i-- > 0) {
                atomic_store(&arena->tags[index + i], 0);
            }
            return false;
        }
    }
    return true;
}

/* Leases neighbouring chunks for the slot, pinned. */
static bool lease(opd_process *process, opd_slot *slot, uint64_t chunks, opd_populate_fn *populate)
{
    opd_arena *arena = &process->arena;
    slot->lease = 0;
    for (int attempt = 0; attempt < 3; attempt++) {
        uint64_t count = atomic_load_explicit(&arena->count, memory_order_relaxed);
        if (count < chunks) {
            return false;
        }
        uint64_t serial = atomic_fetch_add_explicit(&arena->next, chunks, memory_order_relaxed);
        uint64_t index = serial % count;
        if (index + chunks > count) {
            continue; /* would wrap: the end of the arena is skipped this time */
        }
        if (!make_present(process, index, chunks, populate)) {
            continue;
        }
        if (!claim_all(arena, index, chunks, serial)) {
            if (atomic_load_explicit(&arena->count, memory_order_relaxed) == count) {
                return false;
            }
            continue; /* the keep area has grown into it */
        }
        slot->lease = serial + 1;
        slot->lease_index = index;
        slot->lease_used = 0;
        slot->lease_bytes = chunks * arena->chunk_bytes;
        return true;
    }
    return false;
}

/* Pins the chunks of the slot's lease again; false when they have been leased to somebody else. */
static bool pin(opd_arena *arena, const opd_slot *slot)
{
    uint64_t chunks = slot->lease_bytes / arena->chunk_bytes;
    for (uint64_t i = 0; i < chunks; i++) {
        uint64_t tag = slot->lease + i;
        if (!atomic_compare_exchange_strong(&arena->tags[slot->lease_index + i], &tag, tag | OPD_TAG_PIN)) {
            while (i-- > 0) {
                atomic_fetch_sub(&arena->tags[slot->lease_index + i], OPD_TAG_PIN);
            }
            return false;
        }
    }
    return true;
}

/* It is counted, and announced when there is room for that (allowance.h). */
static void *refuse(opd_arena *arena, opd_slot *slot, uint64_t bytes)
{
    atomic_fetch_add_explicit(&arena->refused, 1, memory_order_relaxed);
    slot->missed++;
    slot->missed_bytes = bytes;
    return NULL;
}

void *opd_arena_take(opd_process *process, opd_slot *slot, uint64_t bytes, opd_place *place, opd_populate_fn *populate)
{
    opd_arena *arena = &process->arena;
    uint64_t wanted = (bytes + 63) / 64 * 64;
    if (bytes == 0 || arena->is_off) {
        return NULL;
    }
    if (wanted < bytes || wanted > opd_arena_limit(arena)) {
        return refuse(arena, slot, bytes);
    }
    bool has_room = slot->lease != 0 && slot->lease_bytes - slot->lease_used >= wanted && pin(arena, slot);
    if (!has_room) {
        uint64_t chunks = (wanted + arena->chunk_bytes - 1) / arena->chunk_bytes;
        if (!lease(process, slot, chunks, populate)) {
            return refuse(arena, slot, bytes);
        }
    }
    slot->is_pinned = 1;
    place->serial = slot->lease - 1;
    place->offset = slot->lease_used;
    place->bytes = bytes;
    slot->lease_used += wanted;
    return (uint8_t *)process + arena->offset + slot->lease_index * arena->chunk_bytes + place->offset;
}

void opd_arena_release(opd_process *process, opd_slot *slot)
{
    opd_arena *arena = &process->arena;
    uint64_t chunks = slot->lease_bytes / arena->chunk_bytes;
    slot->is_pinned = 0;
    for (uint64_t i = 0; i < chunks; i++) {
        atomic_fetch_sub(&arena->tags[slot->lease_index + i], OPD_TAG_PIN);
    }
}

void opd_arena_return(opd_slot *slot, const opd_place *place)
{
    if (slot->lease == place->serial + 1 && slot->lease_used == place->offset + (place->bytes + 63) / 64 * 64) {
        slot->lease_used = place->offset;
    }
}

/* ------------------------------------------------------------------------------------------------- the keep area */

/* Takes chunks from the end of those that are leased. */
static opd_keep_part *grow(opd_process *process, uint32_t chunks, opd_populate_fn *populate)
{
    opd_arena *arena = &process->arena;
    uint32_t count = atomic_load(&arena->count);
    if (arena->keep_parts >= OPD_KEEP_PARTS || arena->keep_chunks + chunks > OPD_ARENA_CHUNKS / 2 ||
        count < chunks + OPD_ARENA_CHUNKS / 2) {
        return NULL;
    }
    uint32_t index = count - chunks;
    uint64_t serial = OPD_TAG_KEEP | atomic_fetch_add_explicit(&arena->next, chunks, memory_order_relaxed);
    if (!make_present(process, index, chunks, populate) || !claim_all(arena, index, chunks, serial)) {
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&arena->count, &count, index)) { /* memory ran out elsewhere */
        for (uint32_t i = 0; i < chunks; i++) {
            atomic_store(&arena->tags[index + i], 0);
        }
        return NULL;
    }
    for (uint32_t i = 0; i < chunks; i++) {
        atomic_fetch_sub(&arena->tags[index + i], OPD_TAG_PIN);
    }
    opd_keep_part *part = &arena->keep[arena->keep_parts++];
    arena->keep_chunks += chunks;
    part->index = index;
    part->chunks = chunks;
    part->serial = serial;
    part->filled = 0;
    return part;
}

/* The part that was referred to longest ago, if no call of the window can refer to it any more. */
static opd_keep_part *recycle(opd_arena *arena, uint32_t chunks)
{
    uint64_t next = atomic_load(&arena->next);
    opd_keep_part *oldest = NULL;
    for (uint32_t i = 0; i < arena->keep_parts; i++) {
        opd_keep_part *part = &arena->keep[i];
        uint64_t touched = atomic_load_explicit(&part->touched, memory_order_relaxed);
        if (part->chunks >= chunks && touched + OPD_ARENA_CHUNKS < next &&
            (oldest == NULL || touched < atomic_load_explicit(&oldest->touched, memory_order_relaxed))) {
            oldest = part;
        }
    }
    if (oldest == NULL || atomic_load(&arena->frozen) != OPD_NO_LIMIT) {
        return NULL;
    }
    oldest->serial = OPD_TAG_KEEP | atomic_fetch_add(&arena->next, oldest->chunks);
    oldest->filled = 0;
    for (uint32_t i = 0; i < oldest->chunks; i++) {
        atomic_store(&arena->tags[oldest->index + i], oldest->serial + i + 1);
    }
    return oldest;
}

static opd_keep_part *find_room(opd_arena *arena, uint64_t wanted)
{
    for (uint32_t i = 0; i < arena->keep_parts; i++) {
        opd_keep_part *part = &arena->keep[i];
        if (part->chunks * arena->chunk_bytes - part->filled >= wanted) {
            return part;
        }
    }
    return NULL;
}

void *opd_arena_keep(opd_process *process, uint64_t bytes, opd_place *place, opd_populate_fn *populate)
{
    opd_arena *arena = &process->arena;
    uint64_t wanted = (bytes + 63) / 64 * 64;
    uint32_t none = 0;
    if (bytes == 0 || arena->is_off || wanted > opd_arena_limit(arena) ||
        !atomic_compare_exchange_strong(&arena->keep_busy, &none, 1)) {
        return NULL;
    }
    uint32_t chunks = (uint32_t)((wanted + arena->chunk_bytes - 1) / arena->chunk_bytes);
    opd_keep_part *part = find_room(arena, wanted);
    if (part == NULL) {
        part = grow(process, chunks, populate);
    }
    if (part == NULL) {
        part = recycle(arena, chunks);
    }
    if (part == NULL) {
        opd_arena_kept(process);
        return NULL;
    }
    *place = (opd_place){ .serial = part->serial, .offset = part->filled, .bytes = bytes };
    part->filled += wanted;
    atomic_store(&part->touched, atomic_load(&arena->next));
    atomic_fetch_add(&arena->keep_bytes, bytes);
    return (uint8_t *)process + arena->offset + part->index * arena->chunk_bytes + place->offset;
}

void opd_arena_kept(opd_process *process)
{
    atomic_store_explicit(&process->arena.keep_busy, 0, memory_order_release);
}

bool opd_arena_touch(opd_process *process, const opd_place *place)
{
    opd_arena *arena = &process->arena;
    uint64_t next = atomic_load_explicit(&arena->next, memory_order_relaxed);
    for (uint32_t i = 0; i < OPD_KEEP_PARTS; i++) {
        opd_keep_part *part = &arena->keep[i];
        if (place->bytes > 0 && part->serial == place->serial) {
            uint64_t tag = atomic_load_explicit(&arena->tags[part->index % OPD_ARENA_CHUNKS], memory_order_acquire);
            if (atomic_load_explicit(&part->touched, memory_order_relaxed) != next) {
                atomic_store_explicit(&part->touched, next, memory_order_relaxed);
            }
            return (tag & OPD_TAG_SERIAL) == place->serial + 1;
        }
    }
    return false;
}

void opd_arena_narrow(opd_arena *arena, uint32_t count)
{
    uint32_t now = atomic_load(&arena->count);
    while (now > count && !atomic_compare_exchange_weak(&arena->count, &now, count)) {
    }
}

bool opd_arena_give_back(opd_arena *arena, uint32_t index)
{
    uint64_t tag = atomic_load(&arena->tags[index]);
    uint64_t frozen = atomic_load(&arena->frozen);
    return tag < OPD_TAG_KEEP && (tag == 0 || tag - 1 < frozen) &&
           atomic_compare_exchange_strong(&arena->tags[index], &tag, OPD_TAG_GONE);
}

bool opd_arena_is_gone(const opd_arena *arena, uint32_t index)
{
    return atomic_load(&arena->tags[index]) == OPD_TAG_GONE;
}

void opd_arena_freeze(opd_arena *arena)
{
    uint64_t next = atomic_load(&arena->next);
    uint64_t keep = atomic_load(&arena->count) / 2;
    atomic_store_explicit(&arena->frozen, next > keep ? next - keep : 0, memory_order_release);
}

void opd_arena_thaw(opd_arena *arena)
{
    atomic_store_explicit(&arena->frozen, OPD_NO_LIMIT, memory_order_release);
}

/* Do the chunks from index on belong to the lease that starts at serial? */
static bool is_owned(const opd_arena *arena, uint64_t index, uint64_t chunks, uint64_t serial)
{
    for (uint64_t i = 0; i < chunks; i++) {
        uint64_t tag = atomic_load_explicit(&arena->tags[index + i], memory_order_acquire);
        if (tag == 0 || (tag & OPD_TAG_SERIAL) != serial + i + 1) {
            return false;
        }
    }
    return true;
}

const void *opd_arena_find(opd_process *process, uint64_t size, const opd_place *place)
{
    const opd_arena *arena = &process->arena;
    uint64_t span = OPD_ARENA_CHUNKS * arena->chunk_bytes;
    if (place->bytes == 0 || span == 0 || place->bytes > span || place->offset > span - place->bytes ||
        arena->offset > size || span > size - arena->offset) {
        return NULL;
    }
    uint64_t chunks = (place->offset + place->bytes + arena->chunk_bytes - 1) / arena->chunk_bytes;
    for (uint64_t index = 0; index + chunks <= OPD_ARENA_CHUNKS; index++) {
        if (is_owned(arena, index, chunks, place->serial)) {
            return (const uint8_t *)process + arena->offset + index * arena->chunk_bytes + place->offset;
        }
    }
    return NULL;
}
