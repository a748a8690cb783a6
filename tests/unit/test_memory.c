/* SPDX-License-Identifier: Apache-2.0 */
/* The allocation seam, its fault counter, and checked arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include <opsdebug/memory.h>

#define THREADS 4
#define TRIES   2000

static void blocks_are_zeroed(void **state)
{
    (void)state;
    void *block = NULL;
    static const uint8_t zero[1000];
    assert_int_equal(opd_alloc(&block, sizeof(zero)), OPD_OK);
    assert_memory_equal(block, zero, sizeof(zero));
    opd_free(block);
    void *a = NULL;
    void *b = NULL;
    assert_int_equal(opd_alloc(&a, 0), OPD_OK);
    assert_int_equal(opd_alloc(&b, 0), OPD_OK);
    assert_non_null(a);
    assert_ptr_not_equal(a, b);
    opd_free(a);
    opd_free(b);
    opd_free(NULL);
}

static void impossible_sizes_are_refused_and_out_is_untouched(void **state)
{
    (void)state;
    int marker;
    void *block = &marker;
    opd_error_clear();
    assert_int_equal(opd_alloc_array(&block, SIZE_MAX / 2, 3), OPD_E_NOMEM);
    assert_string_not_equal(opd_error_text(), "");
    assert_int_equal(opd_alloc(&block, SIZE_MAX), OPD_E_NOMEM);
    assert_int_equal(opd_alloc(&block, (size_t)PTRDIFF_MAX + 1), OPD_E_NOMEM);
    assert_int_equal(opd_grow(&block, SIZE_MAX / 2, 3), OPD_E_NOMEM);
    assert_ptr_equal(block, &marker);
}

static void growing_keeps_the_bytes(void **state)
{
    (void)state;
    void *block = NULL;
    assert_int_equal(opd_grow(&block, 4, 2), OPD_OK);
    memcpy(block, "1234567", 8);
    assert_int_equal(opd_grow(&block, 100000, 3), OPD_OK);
    assert_string_equal(block, "1234567");
    void *before = block;
    opd_fail_allocation_after(0);
    assert_int_equal(opd_grow(&block, 200000, 3), OPD_E_NOMEM);
    assert_ptr_equal(block, before);
    assert_string_equal(block, "1234567");
    opd_free(block);
}

static void the_chosen_allocation_fails_once(void **state)
{
    (void)state;
    char *text = NULL;
    opd_fail_allocation_after(2);
    for (int i = 0; i < 5; i++) {
        opd_status status = opd_strdup(&text, "abc");
        assert_int_equal(status, i == 2 ? OPD_E_NOMEM : OPD_OK);
        if (status == OPD_OK) {
            assert_string_equal(text, "abc");
            opd_free(text);
        }
    }
    opd_fail_allocation_after(1);
    opd_fail_allocation_after(-1);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(opd_strdup(&text, ""), OPD_OK);
        opd_free(text);
    }
}

static void *allocate_many(void *failures)
{
    for (int i = 0; i < TRIES; i++) {
        void *block = NULL;
        if (opd_alloc(&block, 16) != OPD_OK) {
            (*(int *)failures)++;
        }
        opd_free(block);
    }
    return NULL;
}

static void one_thread_sees_the_fault(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int failures[THREADS] = { 0 };
    int total = 0;
    opd_fail_allocation_after(TRIES);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_many, &failures[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        total += failures[i];
    }
    assert_int_equal(total, 1);
}

static void arithmetic_is_checked(void **state)
{
    (void)state;
    size_t size = 5;
    int64_t number = 5;
    assert_true(opd_mul_size(&size, SIZE_MAX / 3, 3));
    assert_int_equal(size, SIZE_MAX);
    size = 5;
    assert_false(opd_mul_size(&size, SIZE_MAX / 3 + 1, 3));
    assert_false(opd_add_size(&size, SIZE_MAX, 1));
    assert_int_equal(size, 5);
    assert_true(opd_add_size(&size, SIZE_MAX - 1, 1));
    assert_int_equal(size, SIZE_MAX);
    assert_false(opd_mul_i64(&number, INT64_MIN, -1));
    assert_false(opd_add_i64(&number, INT64_MIN, -1));
    assert_int_equal(number, 5);
    assert_true(opd_mul_i64(&number, INT64_MIN, 1));
    assert_true(number == INT64_MIN);
    assert_true(opd_add_i64(&number, number, INT64_MAX));
    assert_int_equal(number, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_zeroed),
        cmocka_unit_test(impossible_sizes_are_refused_and_out_is_untouched),
        cmocka_unit_test(growing_keeps_the_bytes),
        cmocka_unit_test(the_chosen_allocation_fails_once),
        cmocka_unit_test(one_thread_sees_the_fault),
        cmocka_unit_test(arithmetic_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
