/* SPDX-License-Identifier: Apache-2.0 */
/* The growing byte buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <opsdebug/memory.h>

static void bytes_come_out_as_they_went_in(void **state)
{
    (void)state;
    opd_buffer buffer;
    opd_buffer_init(&buffer, SIZE_MAX);
    uint8_t expected[5000];
    for (size_t i = 0; i < sizeof(expected); i++) {
        expected[i] = (uint8_t)(i * 7);
        opd_buffer_append(&buffer, &expected[i], 1);
    }
    assert_int_equal(buffer.status, OPD_OK);
    assert_int_equal(buffer.size, sizeof(expected));
    assert_memory_equal(buffer.bytes, expected, sizeof(expected));
    opd_buffer_append(&buffer, NULL, 0);
    uint8_t *room = opd_buffer_reserve(&buffer, 3);
    assert_ptr_equal(room, buffer.bytes + sizeof(expected));
    assert_int_equal(buffer.size, sizeof(expected) + 3);
    opd_buffer_done(&buffer);
    assert_null(buffer.bytes);
    opd_buffer_done(&buffer);
    opd_buffer_done(NULL);
}

static void the_limit_is_reached_but_not_passed(void **state)
{
    (void)state;
    opd_buffer buffer;
    opd_buffer_init(&buffer, 10);
    opd_buffer_append(&buffer, "0123456789", 10);
    assert_int_equal(buffer.status, OPD_OK);
    opd_error_clear();
    opd_buffer_append(&buffer, "a", 1);
    assert_int_equal(buffer.status, OPD_E_LIMIT);
    assert_string_not_equal(opd_error_text(), "");
    opd_buffer_append(&buffer, "", 0); /* stays failed */
    assert_null(opd_buffer_reserve(&buffer, 0));
    assert_int_equal(buffer.status, OPD_E_LIMIT);
    assert_int_equal(buffer.size, 10);
    assert_memory_equal(buffer.bytes, "0123456789", 10);
    opd_buffer_done(&buffer);
    opd_buffer_init(&buffer, SIZE_MAX);
    opd_buffer_append(&buffer, "a", 1);
    assert_null(opd_buffer_reserve(&buffer, SIZE_MAX));
    assert_int_equal(buffer.status, OPD_E_LIMIT);
    opd_buffer_done(&buffer);
}

static void printing_adds_text_without_an_end(void **state)
{
    (void)state;
    opd_buffer buffer;
    opd_buffer_init(&buffer, 1 << 20);
    for (int i = 0; i < 300; i++) {
        opd_buffer_print(&buffer, "%04d,", i);
    }
    assert_int_equal(buffer.status, OPD_OK);
    assert_int_equal(buffer.size, 1500);
    assert_memory_equal(buffer.bytes + 1495, "0299,", 5);
    opd_buffer_done(&buffer);
}

static void failed_growth_sticks_and_keeps_the_bytes(void **state)
{
    (void)state;
    opd_buffer buffer;
    opd_buffer_init(&buffer, 1 << 20);
    opd_buffer_append(&buffer, "abc", 3);
    opd_fail_allocation_after(0);
    uint8_t block[4096] = { 0 };
    opd_buffer_append(&buffer, block, sizeof(block));
    assert_int_equal(buffer.status, OPD_E_NOMEM);
    opd_buffer_print(&buffer, "more");
    assert_int_equal(buffer.status, OPD_E_NOMEM);
    assert_int_equal(buffer.size, 3);
    assert_memory_equal(buffer.bytes, "abc", 3);
    opd_buffer_done(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_out_as_they_went_in),
        cmocka_unit_test(the_limit_is_reached_but_not_passed),
        cmocka_unit_test(printing_adds_text_without_an_end),
        cmocka_unit_test(failed_growth_sticks_and_keeps_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
