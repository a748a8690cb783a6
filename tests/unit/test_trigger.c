/* SPDX-License-Identifier: Apache-2.0 */
/* Which triggers get a bundle: many of a few kinds, a new kind after them, a full queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/mman.h>

#include "trigger.h"

static opd_process *new_process(void)
{
    void *start = mmap(NULL, sizeof(opd_process), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(start, MAP_FAILED);
    return start;
}

static bool fire(const opd_control *control, opd_process *process, const char *routine)
{
    opd_shared_trigger trigger = { .outcome = OPD_OUTCOME_NAN_BORN };
    snprintf(trigger.routine, sizeof(trigger.routine), "%s", routine);
    return opd_trigger_fire(control, process, &trigger);
}

/* As the collector does. Returns how many. */
static int write_all(opd_process *process)
{
    opd_shared_trigger trigger;
    int count = 0;
    while (opd_trigger_take(&trigger, process)) {
        opd_trigger_thaw(process);
        count++;
    }
    return count;
}

static int fire_noise(const opd_control *control, opd_process *process)
{
    static const char *const noisy[] = { "dgemm", "sgemm", "dscal", "daxpy" };
    int written = 0;
    for (int i = 0; i < 400; i++) {
        fire(control, process, noisy[i % 4]);
        written += write_all(process);
    }
    return written;
}

static void test_noisy_kinds_leave_room_for_a_new_one(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t cap;
        int noise, later;
    } cases[] = { { 16, 12, 4 }, { 8, 6, 2 }, { 4, 4, 0 }, { 3, 3, 0 }, { 0, 0, 0 }, { 100, 16, 84 } };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        static opd_control control;
        control.max_bundles = cases[i].cap;
        control.per_failure = 4;
        opd_process *process = new_process();
        assert_int_equal(fire_noise(&control, process), cases[i].noise);
        int later = 0;
        for (int kind = 0; kind < 10; kind++) {
            char name[16];
            snprintf(name, sizeof(name), "later%d", kind);
            later += fire(&control, process, name);
            write_all(process);
        }
        assert_int_equal(later, cases[i].later < 10 ? cases[i].later : 10);
        assert_int_equal(atomic_load(&process->suppressed), 410 - cases[i].noise - later);
        munmap(process, sizeof(*process));
    }
}

/* What finds the queue full is counted, and may have its bundle later: neither cap has lost anything. */
static void test_a_full_queue_uses_up_no_bundle(void **unused)
{
    (void)unused;
    static opd_control control;
    control.max_bundles = 40;
    control.per_failure = 30;
    opd_process *process = new_process();
    int taken = 0;
    for (int i = 0; i < 1000; i++) {
        taken += fire(&control, process, "dgemm");
    }
    assert_int_equal(taken, 1 + (int)OPD_TRIGGER_QUEUE);
    assert_false(fire(&control, process, "dscal")); /* the first of its kind, and no room in the queue */
    assert_int_equal(atomic_load(&process->suppressed), 1001 - taken);
    assert_int_equal(write_all(process), taken);
    for (int i = 0; i < 1000; i++) {
        taken += fire(&control, process, "dgemm");
        write_all(process);
    }
    assert_int_equal(taken, 30); /* also all that repeats may have of 40 */
    assert_true(fire(&control, process, "dscal"));
    munmap(process, sizeof(*process));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noisy_kinds_leave_room_for_a_new_one),
        cmocka_unit_test(test_a_full_queue_uses_up_no_bundle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
