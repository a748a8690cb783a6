/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data arena of a process: operand bytes under the byte budget. Threads lease whole chunks (one shared atomic per
 * chunk, not per call), fill them, and the oldest lease is overwritten. While a window is frozen the younger half of
 * the chunks stays as it is and the older half goes on being used.
 */
#ifndef OPD_CHUNKS_H
#define OPD_CHUNKS_H

#include "session.h"

/* A chunk whose address space the process has given back: no lease owns it any more. */
#define OPD_TAG_GONE OPD_TAG_KEEP

/* Makes the pages of [start, start + bytes) of a shared file present without a fault; false: no memory for them. */
typedef bool opd_populate_fn(void *start, uint64_t bytes);

void opd_arena_init(opd_arena *arena, uint64_t offset, uint64_t chunk_bytes);

/*
 * Room for bytes, 64-byte aligned, NULL when there is none (budget, frozen, memory). slot is the caller's own. What was
 * taken is to be filled and released before the next take.
 */
void *opd_arena_take(opd_process *process, opd_slot *slot, uint64_t bytes, opd_place *place, opd_populate_fn *populate);
void opd_arena_release(opd_process *process, opd_slot *slot);

/* Largest operand that is kept. */
uint64_t opd_arena_limit(const opd_arena *arena);

/*
 * Room in the keep area, from where laps do not take it away; NULL when there is none now. Between keep and kept no other thread can.
 */
void *opd_arena_keep(opd_process *process, uint64_t bytes, opd_place *place, opd_populate_fn *populate);
void opd_arena_kept(opd_process *process);
/* What lies at a place of the keep area is referred to once more; false when it is gone. */
bool opd_arena_touch(opd_process *process, const opd_place *place);
/* Gives back what was taken last and released since. */
void opd_arena_return(opd_slot *slot, const opd_place *place);

/*
 * For a process that has to give address space back: from now on no chunk from count on is leased (narrow); may this one be
 * unmapped (give_back)? Not while it is frozen, kept or being written to. Nothing leads to it any more then.
 */
void opd_arena_narrow(opd_arena *arena, uint32_t count);
bool opd_arena_give_back(opd_arena *arena, uint32_t index);
bool opd_arena_is_gone(const opd_arena *arena, uint32_t index);

void opd_arena_freeze(opd_arena *arena);
void opd_arena_thaw(opd_arena *arena);

/* The content of place, NULL when it has been overwritten or place is not plausible (size: of the mapped file). */
const void *opd_arena_find(opd_process *process, uint64_t size, const opd_place *place);

#endif
