/* SPDX-License-Identifier: Apache-2.0 */
/* opd_parallel: each part once, whoever asks, from inside a part, from many threads, after fork. opd_isa_missing names what lacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opsdebug/kernel.h>

enum { PARTS = 1000 };

static void count_part(void *context, int64_t part)
{
    atomic_int *seen = context;
    atomic_fetch_add(&seen[part], 1);
}

static bool does_each_once(int32_t threads)
{
    static _Thread_local atomic_int seen[PARTS];
    memset(seen, 0, sizeof seen);
    opd_parallel(threads, PARTS, count_part, seen);
    for (int i = 0; i < PARTS; i++) {
        if (atomic_load(&seen[i]) != 1) {
            return false;
        }
    }
    return true;
}

static void every_part_is_done_once(void **state)
{
    (void)state;
    const int32_t threads[] = { 0, 1, 2, 3, 8, 200 };
    for (int round = 0; round < 200; round++) {
        assert_true(does_each_once(threads[round % 6]));
    }
    opd_parallel(4, 0, count_part, NULL); /* nothing to do, nothing touched */
}

static void nest(void *context, int64_t part)
{
    (void)part;
    atomic_int *right = context;
    atomic_fetch_add(right, does_each_once(4) ? 1 : 0);
}

static void parts_may_ask_again(void **state)
{
    (void)state;
    atomic_int right = 0;
    opd_parallel(4, 16, nest, &right);
    assert_int_equal(atomic_load(&right), 16);
}

static void *ask_often(void *result)
{
    bool *is_right = result;
    *is_right = true;
    for (int i = 0; i < 100; i++) {
        *is_right &= does_each_once(4);
    }
    return NULL;
}

static void many_threads_may_ask_at_once(void **state)
{
    (void)state;
    pthread_t threads[6];
    bool is_right[6] = { false };
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &is_right[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
        assert_true(is_right[i]);
    }
}

static void a_forked_child_has_a_pool_of_its_own(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizer does not take a child of threads that starts threads */
#endif
    assert_true(does_each_once(4));
    pid_t child = fork();
    if (child == 0) {
        _exit(does_each_once(4) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_missing_instruction_set_is_named(void **state)
{
    (void)state;
    assert_null(opd_isa_missing(""));
    assert_null(opd_isa_missing(NULL));
    assert_string_equal(opd_isa_missing("quantum"), "quantum");
#if defined(__x86_64__)
    assert_true((opd_isa_missing("avx2") == NULL) == (__builtin_cpu_supports("avx2") != 0));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_done_once),
        cmocka_unit_test(parts_may_ask_again),
        cmocka_unit_test(many_threads_may_ask_at_once),
        cmocka_unit_test(a_forked_child_has_a_pool_of_its_own),
        cmocka_unit_test(a_missing_instruction_set_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
