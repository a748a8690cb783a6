/* SPDX-License-Identifier: Apache-2.0 */
/* The lap ring: order, wrapping, lapped readers, frozen windows, and one owner with one reader at full speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/mman.h>

#include "ring.h"

static opd_slot *new_slot(void)
{
    void *start = mmap(NULL, sizeof(opd_slot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(start, MAP_FAILED);
    opd_slot *slot = start;
    atomic_store(&slot->limit, OPD_NO_LIMIT);
    return slot;
}

static void free_slot(opd_slot *slot)
{
    munmap(slot, sizeof(*slot));
}

/* A record of `size` words whose words all derive from its number. */
static bool put(opd_slot *slot, uint64_t number, uint32_t size)
{
    uint64_t at;
    if (!opd_ring_reserve(slot, &at, size)) {
        return false;
    }
    opd_ring_set(slot, at + OPD_R_HEAD, opd_ring_head_word(size, OPD_RECORD_BLAS, 0, size - OPD_R_WORDS, 0, 0));
    opd_ring_set(slot, at + OPD_R_STATE, OPD_STATE_SUBMITTED);
    opd_ring_set(slot, at + OPD_R_NUMBER, number);
    for (uint32_t i = OPD_R_WHO; i < size; i++) {
        opd_ring_set(slot, at + i, number * 1000003 + i);
    }
    opd_ring_publish(slot, at, size);
    opd_ring_state(slot, at, OPD_STATE_COMPLETE);
    return true;
}

static void assert_whole(const opd_ring_record *record)
{
    uint64_t number = record->word[OPD_R_NUMBER];
    for (uint32_t i = OPD_R_WHO; i < record->size; i++) {
        assert_int_equal(record->word[i], number * 1000003 + i);
    }
}

static uint32_t size_of(uint64_t number)
{
    return OPD_R_WORDS + (uint32_t)(number * 7919 % 300);
}

static opd_ring_record record;

static void records_come_back_in_order(void **state)
{
    (void)state;
    opd_slot *slot = new_slot();
    uint64_t position = 0;
    uint64_t read = 0;
    for (uint64_t number = 1; number <= 5000; number++) {
        assert_true(put(slot, number, size_of(number)));
        if (number % 50 != 0) {
            continue;
        }
        while (opd_ring_read(slot, &position, &record) == OPD_RING_RECORD) {
            assert_int_equal(record.word[OPD_R_NUMBER], ++read);
            assert_int_equal(record.size, size_of(read));
            assert_int_equal(record.state, OPD_STATE_COMPLETE);
            assert_whole(&record);
        }
    }
    assert_int_equal(read, 5000);
    free_slot(slot);
}

static void lapped_reader_goes_on_at_a_whole_record(void **state)
{
    (void)state;
    opd_slot *slot = new_slot();
    uint64_t position = 0;
    for (uint64_t number = 1; number <= 20000; number++) {
        put(slot, number, size_of(number));
    }
    assert_int_equal(opd_ring_read(slot, &position, &record), OPD_RING_LAPPED);
    assert_int_equal(position, opd_ring_oldest(slot));
    assert_int_equal(position % OPD_SEGMENT_WORDS, 0);
    uint64_t last = 0;
    uint64_t words = 0;
    while (opd_ring_read(slot, &position, &record) == OPD_RING_RECORD) {
        assert_true(last == 0 || record.word[OPD_R_NUMBER] == last + 1);
        last = record.word[OPD_R_NUMBER];
        words += record.size;
        assert_whole(&record);
    }
    assert_int_equal(last, 20000);
    assert_true(words > OPD_RING_WORDS * 3 / 4);
    free_slot(slot);
}

static void frozen_ring_keeps_its_window_and_counts_the_rest(void **state)
{
    (void)state;
    opd_slot *slot = new_slot();
    uint64_t number = 0;
    while (atomic_load(&slot->head) < OPD_RING_WORDS) {
        put(slot, ++number, 64);
    }
    uint64_t head = atomic_load(&slot->head);
    uint64_t kept = head - OPD_RING_WORDS / 2;
    atomic_store(&slot->limit, head + OPD_RING_WORDS / 2);
    uint64_t refused = 0;
    for (int i = 0; i < 2000; i++) {
        refused += put(slot, ++number, 64) ? 0 : 1;
    }
    assert_true(refused > 0);
    assert_int_equal(atomic_load(&slot->dropped), refused);
    assert_true(opd_ring_oldest(slot) <= kept + OPD_SEGMENT_WORDS);
    uint64_t position = kept;
    assert_int_equal(opd_ring_read(slot, &position, &record), OPD_RING_RECORD);
    assert_whole(&record);
    atomic_store(&slot->limit, OPD_NO_LIMIT);
    assert_true(put(slot, ++number, 64));
    free_slot(slot);
}

static void outer_record_that_was_lapped_is_known(void **state)
{
    (void)state;
    opd_slot *slot = new_slot();
    uint64_t outer;
    assert_true(opd_ring_reserve(slot, &outer, 32));
    opd_ring_publish(slot, outer, 32);
    put(slot, 2, 64);
    assert_true(opd_ring_stands(slot, outer));
    for (uint64_t number = 3; number < 3000; number++) {
        put(slot, number, 64);
    }
    assert_false(opd_ring_stands(slot, outer));
    free_slot(slot);
}

static void record_longer_than_a_segment_is_refused(void **state)
{
    (void)state;
    opd_slot *slot = new_slot();
    uint64_t at;
    assert_false(opd_ring_reserve(slot, &at, OPD_SEGMENT_WORDS + 1));
    assert_int_equal(atomic_load(&slot->dropped), 1);
    assert_true(opd_ring_reserve(slot, &at, OPD_SEGMENT_WORDS));
    free_slot(slot);
}

static void *write_records(void *context)
{
    opd_slot *slot = context;
    for (uint64_t number = 1; number <= 60000; number++) {
        put(slot, number, size_of(number));
    }
    return NULL;
}

/* Whatever the reader is given is whole, and numbers only grow. */
static void reader_at_full_speed_sees_whole_records_only(void **state)
{
    (void)state;
    opd_slot *slot = new_slot();
    pthread_t writer;
    uint64_t position = 0;
    uint64_t last = 0;
    uint64_t seen = 0;
    assert_int_equal(pthread_create(&writer, NULL, write_records, slot), 0);
    while (last < 60000) {
        if (opd_ring_read(slot, &position, &record) != OPD_RING_RECORD) {
            continue;
        }
        assert_true(record.word[OPD_R_NUMBER] > last);
        last = record.word[OPD_R_NUMBER];
        seen++;
        assert_int_equal(record.size, size_of(last));
        assert_whole(&record);
    }
    pthread_join(writer, NULL);
    assert_true(seen > 0);
    free_slot(slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back_in_order),
        cmocka_unit_test(lapped_reader_goes_on_at_a_whole_record),
        cmocka_unit_test(frozen_ring_keeps_its_window_and_counts_the_rest),
        cmocka_unit_test(outer_record_that_was_lapped_is_known),
        cmocka_unit_test(record_longer_than_a_segment_is_refused),
        cmocka_unit_test(reader_at_full_speed_sees_whole_records_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
