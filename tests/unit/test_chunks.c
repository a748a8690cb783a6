/* SPDX-License-Identifier: Apache-2.0 */
/* The data arena: placing, overwriting the oldest, freezing, running out of memory, many threads at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "chunks.h"

#define CHUNK UINT64_C(4096)
#define SLOTS 4u

static uint64_t file_bytes;

static opd_process *new_process(void)
{
    uint64_t offset = opd_session_arena_offset(SLOTS);
    file_bytes = offset + OPD_ARENA_CHUNKS * CHUNK;
    void *start = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(start, MAP_FAILED);
    opd_process *process = start;
    process->thread_limit = SLOTS;
    opd_arena_init(&process->arena, offset, CHUNK);
    return process;
}

static void free_process(opd_process *process)
{
    munmap(process, file_bytes);
}

static bool has_memory(void *start, uint64_t bytes)
{
    (void)start;
    (void)bytes;
    return true;
}

static bool has_no_memory(void *start, uint64_t bytes)
{
    (void)start;
    (void)bytes;
    return false;
}

static bool put(opd_process *process, opd_slot *slot, uint64_t bytes, int fill, opd_place *place)
{
    void *room = opd_arena_take(process, slot, bytes, place, has_memory);
    if (room == NULL) {
        return false;
    }
    memset(room, fill, bytes);
    opd_arena_release(process, slot);
    return true;
}

static bool is_filled(const uint8_t *content, uint64_t bytes, int fill)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if (content[i] != (uint8_t)fill) {
            return false;
        }
    }
    return true;
}

static void content_is_found_until_it_is_overwritten(void **state)
{
    (void)state;
    opd_process *process = new_process();
    opd_place places[200];
    for (int i = 0; i < 200; i++) {
        assert_true(put(process, &process->slots[0], 3000, i, &places[i]));
    }
    for (int i = 0; i < 200; i++) {
        const uint8_t *content = opd_arena_find(process, file_bytes, &places[i]);
        assert_true((content != NULL) == (i >= 200 - (int)OPD_ARENA_CHUNKS));
        assert_true(content == NULL || is_filled(content, 3000, i));
    }
    free_process(process);
}

static void long_content_takes_neighbouring_chunks(void **state)
{
    (void)state;
    opd_process *process = new_process();
    opd_place place;
    for (int i = 0; i < 40; i++) {
        uint64_t bytes = CHUNK * (uint64_t)(1 + i % 16) - 100;
        assert_true(put(process, &process->slots[0], bytes, i, &place));
        const uint8_t *content = opd_arena_find(process, file_bytes, &place);
        assert_non_null(content);
        assert_true(is_filled(content, bytes, i));
    }
    assert_false(put(process, &process->slots[0], opd_arena_limit(&process->arena) + 1, 0, &place));
    free_process(process);
}

static void frozen_half_stays_while_the_other_is_used(void **state)
{
    (void)state;
    opd_process *process = new_process();
    opd_place kept[32];
    opd_place place;
    for (int i = 0; i < 100; i++) {
        put(process, &process->slots[0], CHUNK, i, i >= 68 ? &kept[i - 68] : &place);
    }
    opd_arena_freeze(&process->arena);
    int taken = 0;
    for (int i = 0; i < 100; i++) {
        taken += put(process, &process->slots[1], CHUNK, 200, &place);
    }
    assert_int_equal(taken, 32);
    for (int i = 0; i < 32; i++) {
        const uint8_t *content = opd_arena_find(process, file_bytes, &kept[i]);
        assert_non_null(content);
        assert_true(is_filled(content, CHUNK, 68 + i));
    }
    opd_arena_thaw(&process->arena);
    assert_true(put(process, &process->slots[1], CHUNK, 201, &place));
    free_process(process);
}

static void lack_of_memory_shrinks_the_arena(void **state)
{
    (void)state;
    opd_process *process = new_process();
    opd_place place;
    for (int i = 0; i < 10; i++) {
        assert_true(put(process, &process->slots[0], CHUNK, i, &place));
    }
    assert_null(opd_arena_take(process, &process->slots[1], 20 * CHUNK, &place, has_no_memory));
    opd_arena_take(process, &process->slots[1], CHUNK, &place, has_no_memory);
    assert_true(atomic_load(&process->arena.count) <= 11);
    assert_true(put(process, &process->slots[0], CHUNK, 77, &place));
    assert_true(is_filled(opd_arena_find(process, file_bytes, &place), CHUNK, 77));
    free_process(process);
}

static void implausible_places_are_not_followed(void **state)
{
    (void)state;
    opd_process *process = new_process();
    opd_place place;
    assert_true(put(process, &process->slots[0], 100, 1, &place));
    opd_place wild[] = { { place.serial, UINT64_MAX, 100 },
                         { place.serial, 0, UINT64_MAX },
                         { place.serial, CHUNK - 50, 100 },
                         { place.serial + 1, 0, 100 },
                         { UINT64_MAX, 0, 100 },
                         { place.serial, UINT64_MAX - 50, 100 },
                         { place.serial, 0, 0 } };
    for (size_t i = 0; i < OPD_COUNT(wild); i++) {
        assert_null(opd_arena_find(process, file_bytes, &wild[i]));
    }
    assert_null(opd_arena_find(process, sizeof(opd_process), &place));
    free_process(process);
}

typedef struct worker {
    opd_process *process;
    uint32_t index;
    uint64_t torn, kept;
} worker;

/* Content that is still found right after it was written is the writer's own, however fast the others lap the arena. */
static void *fill_and_check(void *context)
{
    worker *self = context;
    opd_slot *slot = &self->process->slots[self->index];
    for (int i = 0; i < 3000; i++) {
        opd_place place;
        uint64_t bytes = 64 + (uint64_t)(i * 37 % 9) * 4000;
        void *room = opd_arena_take(self->process, slot, bytes, &place, has_memory);
        if (room == NULL) {
            continue;
        }
        int fill = (int)self->index * 50 + i % 50;
        memset(room, fill, bytes);
        self->torn += !is_filled(room, bytes, fill); /* pinned: nobody else may write here */
        self->kept++;
        opd_arena_release(self->process, slot);
    }
    return NULL;
}

static void threads_never_share_a_chunk_in_use(void **state)
{
    (void)state;
    opd_process *process = new_process();
    pthread_t threads[SLOTS];
    worker workers[SLOTS];
    for (uint32_t i = 0; i < SLOTS; i++) {
        workers[i] = (worker){ .process = process, .index = i };
        assert_int_equal(pthread_create(&threads[i], NULL, fill_and_check, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].torn, 0);
        assert_true(workers[i].kept > 0);
    }
    free_process(process);
}

static bool keep(opd_process *process, uint64_t bytes, int fill, opd_place *place)
{
    void *room = opd_arena_keep(process, bytes, place, has_memory);
    if (room == NULL) {
        return false;
    }
    memset(room, fill, bytes);
    opd_arena_kept(process);
    return true;
}

static void run_laps(opd_process *process, int laps)
{
    opd_place place;
    for (int i = 0; i < laps * (int)OPD_ARENA_CHUNKS; i++) {
        assert_true(put(process, &process->slots[0], CHUNK - 64, i, &place));
        assert_non_null(opd_arena_find(process, file_bytes, &place));
    }
}

static void kept_content_survives_laps(void **state)
{
    (void)state;
    opd_process *process = new_process();
    opd_place places[3];
    static const uint64_t sizes[3] = { 1000, 3 * CHUNK, 2000 };
    run_laps(process, 2);
    for (int i = 0; i < 3; i++) {
        assert_true(keep(process, sizes[i], i + 1, &places[i]));
    }
    run_laps(process, 3);
    for (int i = 0; i < 3; i++) {
        const uint8_t *content = opd_arena_find(process, file_bytes, &places[i]);
        assert_non_null(content);
        assert_true(is_filled(content, sizes[i], i + 1));
        assert_true(opd_arena_touch(process, &places[i]));
    }
    free_process(process);
}

/* Half of the budget at most; what has not been referred to for a lap makes room, what has been does not. */
static void keep_area_is_bounded_and_used_anew(void **state)
{
    (void)state;
    opd_process *process = new_process();
    opd_place places[OPD_ARENA_CHUNKS];
    int count = 0;
    while (keep(process, CHUNK, count, &places[count])) {
        count++;
    }
    assert_int_equal(count, OPD_ARENA_CHUNKS / 2);
    run_laps(process, 3);
    assert_true(opd_arena_touch(process, &places[0]));
    opd_arena_freeze(&process->arena);
    opd_place late;
    assert_false(keep(process, CHUNK, 99, &late));
    opd_arena_thaw(&process->arena);
    assert_true(keep(process, CHUNK, 99, &late));
    int gone = 0;
    for (int i = 0; i < count; i++) {
        gone += opd_arena_find(process, file_bytes, &places[i]) == NULL;
        assert_true((opd_arena_find(process, file_bytes, &places[i]) != NULL) == opd_arena_touch(process, &places[i]));
    }
    assert_int_equal(gone, 1);
    assert_non_null(opd_arena_find(process, file_bytes, &places[0]));
    assert_true(is_filled(opd_arena_find(process, file_bytes, &late), CHUNK, 99));
    free_process(process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_found_until_it_is_overwritten),
        cmocka_unit_test(long_content_takes_neighbouring_chunks),
        cmocka_unit_test(frozen_half_stays_while_the_other_is_used),
        cmocka_unit_test(lack_of_memory_shrinks_the_arena),
        cmocka_unit_test(implausible_places_are_not_followed),
        cmocka_unit_test(kept_content_survives_laps),
        cmocka_unit_test(keep_area_is_bounded_and_used_anew),
        cmocka_unit_test(threads_never_share_a_chunk_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
