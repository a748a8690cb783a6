/* SPDX-License-Identifier: Apache-2.0 */
/* Replay of a library that misbehaves to order: each misdeed gets its outcome, operand and distance. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "handmade.h"

static const char *bad_blas(void)
{
    const char *path = getenv("OPD_BAD_BLAS");
    assert_non_null(path);
    return path;
}

/* dcopy of n elements under a misdeed. */
static opd_replay_result copy_under(const char *mode, const char *settings, opd_guard guard, uint32_t repeat)
{
    opd_call call = handmade_call("dcopy", settings);
    opd_case item = handmade_case(&call, 1);
    opd_replay_options options = handmade_options(bad_blas(), NULL, guard);
    options.repeat = repeat;
    if (strcmp(mode, "hang") == 0) { /* any other misdeed ends by itself, however busy the machine is */
        options.timeout_ms = 500;
    }
    if (strcmp(mode, "sleep") == 0 || strcmp(mode, "nap") == 0) {
        options.timeout_ms = 300;
        options.is_timeout_cpu = true;
    }
    setenv("BAD_BLAS", mode, 1);
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    setenv("BAD_BLAS", "", 1);
    opd_case_done(&item);
    return result;
}

static void right_library_is_clean(void **state)
{
    static const opd_guard guards[] = { OPD_GUARD_NONE, OPD_GUARD_END, OPD_GUARD_START, OPD_GUARD_BOTH };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(guards); i++) {
        opd_replay_result result = copy_under("", "n=9 incx=2 incy=-3", guards[i], 3);
        assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
        assert_int_equal(result.runs, guards[i] == OPD_GUARD_BOTH ? 6 : 3);
        assert_int_equal(result.runs_failed, 0);
        assert_true(result.is_repeatable);
        assert_true(result.run_ns > 0);
        assert_non_null(strstr(result.library, "bad_blas"));
    }
}

static void crash_is_the_routines_and_names_the_place(void **state)
{
    opd_replay_result result = copy_under("wild", "n=4", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_CRASH);
    assert_int_equal(result.observed.signal, SIGSEGV);
    assert_int_equal(result.observed.fault_address, 0x10);
    assert_string_equal(result.observed.operand, "");
    assert_non_null(strstr(result.observed.reason, "near no operand"));
    result = copy_under("abort", "n=4", OPD_GUARD_NONE, 1);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_CRASH);
    assert_int_equal(result.observed.signal, SIGABRT);
    result = copy_under("kill", "n=4", OPD_GUARD_NONE, 1);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_CRASH);
    assert_int_equal(result.observed.signal, SIGKILL);
}

static void stack_overflow_is_a_crash(void **state)
{
    opd_replay_result result = copy_under("deep", "n=4", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_CRASH);
    assert_int_equal(result.observed.signal, SIGSEGV);
}

static void process_that_ends_itself_is_a_crash_with_its_last_words(void **state)
{
    opd_replay_result result = copy_under("exit", "n=4", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_CRASH);
    assert_non_null(strstr(result.observed.reason, "status 3"));
    assert_non_null(strstr(result.observed.reason, "On entry to DCOPY"));
}

static void illegal_instruction_is_unsupported(void **state)
{
    opd_replay_result result = copy_under("ill", "n=4", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_UNSUPPORTED);
    assert_non_null(strstr(result.observed.reason, "bad_blas"));
}

static void hang_is_found_in_time_and_place(void **state)
{
    opd_replay_result result = copy_under("hang", "n=4", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_HANG);
    assert_non_null(strstr(result.observed.reason, "500 ms"));
    assert_non_null(strstr(result.observed.pc_symbol, "bad_blas"));
}

static void processes_left_behind_do_not_hold_the_replay(void **state)
{
    opd_replay_result result = copy_under("child", "n=4", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
}

static void born_nan_and_inf_are_placed(void **state)
{
    opd_replay_result result = copy_under("nan", "n=7 incy=2", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_NAN_BORN);
    assert_string_equal(result.observed.operand, "y");
    assert_int_equal(result.observed.index_rank, 1);
    assert_int_equal(result.observed.index[0], 6);
    assert_int_equal(result.observed.bad_count, 1);
    result = copy_under("inf", "n=7", OPD_GUARD_NONE, 1);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_INF_BORN);
    assert_int_equal(result.observed.index[0], 0);
}

static void nan_that_was_read_is_not_born(void **state)
{
    opd_call call = handmade_call("dcopy", "n=5");
    opd_case item = handmade_case(&call, 1);
    opd_replay_options options = handmade_options(bad_blas(), NULL, OPD_GUARD_NONE);
    (void)state;
    handmade_set(&item, "x", 4, (double)NAN, 0);
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    assert_int_equal(result.outputs[0].health_after.nan, 1);
    opd_case_done(&item);
}

static void wrong_value_is_a_mismatch(void **state)
{
    opd_replay_result result = copy_under("wrong", "n=7 incy=2", OPD_GUARD_NONE, 1);
    (void)state;
    if (!result.numbers.is_valid) {
        skip(); /* no reference for copy in this build */
    }
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_MISMATCH);
    assert_string_equal(result.observed.operand, "y");
    assert_int_equal(result.observed.index[0], 1);
    assert_int_equal(result.observed.bad_count, 1);
}

static void stray_writes_are_found_and_measured(void **state)
{
    static const opd_guard plain = OPD_GUARD_NONE;
    opd_replay_result result = copy_under("write-past", "n=5", plain, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_WRITE);
    assert_string_equal(result.observed.operand, "y");
    assert_int_equal(result.observed.distance, 0);
    result = copy_under("write-past", "n=5", OPD_GUARD_BOTH, 1);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_WRITE);
    assert_string_equal(result.observed.operand, "y");
    assert_int_equal(result.observed.distance, 0);
    assert_non_null(strstr(result.observed.pc_symbol, "cblas_dcopy"));
    result = copy_under("write-before", "n=5", plain, 1);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_WRITE);
    assert_int_equal(result.observed.distance, -8);
    result = copy_under("write-before", "n=5", OPD_GUARD_START, 1);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_WRITE);
    assert_int_equal(result.observed.distance, -8);
    result = copy_under("write-gap", "n=5 incy=2", plain, 1);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_WRITE);
    assert_non_null(strstr(result.observed.reason, "between the elements of y"));
    assert_int_equal(result.observed.distance, 8);
}

static void stray_reads_are_found_by_guards(void **state)
{
    opd_replay_result result = copy_under("read-past", "n=5", OPD_GUARD_END, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_READ);
    assert_string_equal(result.observed.operand, "x");
    assert_int_equal(result.observed.distance, 0);
    result = copy_under("read-before", "n=5", OPD_GUARD_BOTH, 1);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_READ);
    assert_string_equal(result.observed.operand, "x");
    assert_int_equal(result.observed.distance, -8);
}

static void stray_read_without_guards_shows_as_a_canary(void **state)
{
    opd_replay_result result = copy_under("read-past", "n=5", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_NAN_BORN);
    assert_non_null(strstr(result.observed.reason, "memory around operand x was read"));
}

static void fault_in_a_thread_of_the_library_is_placed(void **state)
{
    opd_replay_result result = copy_under("thread", "n=5", OPD_GUARD_END, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_READ);
    assert_string_equal(result.observed.operand, "x");
    assert_non_null(strstr(result.observed.reason, "in a thread of the library"));
}

static void a_limit_of_cpu_time_accuses_who_sleeps_for_ever_and_nobody_slow(void **state)
{
    opd_replay_result result = copy_under("sleep", "n=4", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_HANG);
    result = copy_under("nap", "n=4", OPD_GUARD_NONE, 1); /* 1.8 s and more */
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    assert_true(result.run_ns > UINT64_C(1800000000));
}

static void changed_input_is_reported(void **state)
{
    opd_replay_result result = copy_under("mutate", "n=5 incx=3", OPD_GUARD_NONE, 1);
    (void)state;
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_INPUT_MUTATED);
    assert_string_equal(result.observed.operand, "x");
    assert_int_equal(result.observed.index[0], 1);
}

static void output_never_written_is_told(void **state)
{
    opd_call call = handmade_call("dcopy", "n=5");
    opd_case item = handmade_case(&call, 1);
    opd_replay_options options = handmade_options(bad_blas(), NULL, OPD_GUARD_NONE);
    (void)state;
    item.call.operands[1].view.data = NULL; /* as when only the inputs were kept */
    setenv("BAD_BLAS", "idle", 1);
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    setenv("BAD_BLAS", "", 1);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_NAN_BORN);
    assert_non_null(strstr(result.observed.reason, "not written"));
    opd_case_done(&item);
}

static void repeats_start_alike_and_are_counted(void **state)
{
    opd_replay_result result = copy_under("flaky", "n=5", OPD_GUARD_NONE, 5);
    (void)state;
    assert_int_equal(result.runs, 5);
    assert_int_equal(result.runs_failed, 1);
    assert_int_equal(result.runs_differing, 1);
    assert_false(result.is_repeatable);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_NAN_BORN);
    result = copy_under("unsteady", "n=5", OPD_GUARD_NONE, 4);
    assert_int_equal(result.runs_differing, 2);
    assert_false(result.is_repeatable);
}

static opd_replay_result off_by(const char *routine, const char *settings, double fill, const char *number)
{
    opd_call call = handmade_call(routine, settings);
    opd_case item = handmade_case(&call, 3);
    opd_replay_options options = handmade_options(bad_blas(), NULL, OPD_GUARD_NONE);
    for (int i = 0; fill != 0 && i < item.call.operand_count; i++) {
        opd_operand *operand = &item.call.operands[i];
        for (int64_t k = 0; (operand->role & OPD_ROLE_IN) != 0 && k < opd_tensor_count(&operand->view); k++) {
            handmade_set(&item, operand->name, k, fill, 0);
        }
    }
    setenv("BAD_BLAS", "off", 1);
    setenv("BAD_BLAS_NUMBER", number, 1);
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    setenv("BAD_BLAS", "", 1);
    opd_case_done(&item);
    return result;
}

/* scal: the gauge of an element is |alpha x|, n = 0, so the limit is 16 with no second band. */
static void elementwise_limit_is_sixteen_gauges(void **state)
{
    opd_replay_result result = off_by("dscal", "n=50 alpha=0.7", 0, "12");
    (void)state;
    if (!result.numbers.is_valid) {
        skip();
    }
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    assert_true(result.numbers.ratio > 10.5 && result.numbers.ratio < 13);
    result = off_by("dscal", "n=50 alpha=0.7", 0, "18");
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_MISMATCH);
    assert_true(result.numbers.ratio > 16.5 && result.numbers.ratio < 19);
}

/* dot: between 16 and n/2 + 16 the serial sum decides; random signs let it be exact to a few eps, constant data do not. */
static void between_the_bands_the_serial_sum_decides(void **state)
{
    opd_replay_result result = off_by("ddot", "n=200", 0, "40");
    (void)state;
    if (!result.numbers.is_valid) {
        skip();
    }
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_MISMATCH);
    assert_true(fabs(result.numbers.ratio - 40) < 1);
    assert_true(result.numbers.cap == 116);
    assert_true(result.numbers.naive_ratio < 16);
    result = off_by("ddot", "n=65536", 0.1, "40");
    assert_true(result.numbers.naive_ratio > 100);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    result = off_by("ddot", "n=200", 0, "120");
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_MISMATCH);
}

static void outputs_come_back_when_wanted(void **state)
{
    opd_call call = handmade_call("dcopy", "n=6 incy=-2");
    opd_case item = handmade_case(&call, 9);
    opd_replay_options options = handmade_options(bad_blas(), NULL, OPD_GUARD_NONE);
    (void)state;
    options.keep_outputs = true;
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    assert_int_equal(result.output_count, 1);
    const opd_tensor *y = &result.outputs[0].view;
    const opd_tensor *x = &item.call.operands[0].view;
    assert_non_null(y->data);
    for (int64_t i = 0; i < 6; i++) {
        assert_memory_equal((uint8_t *)y->data + opd_tensor_offset(y, &i),
                            (uint8_t *)x->data + opd_tensor_offset(x, &i), 8);
    }
    opd_digest digest = opd_tensor_digest(y);
    assert_true(opd_digest_equal(&digest, &result.outputs[0].after));
    opd_replay_result_done(&result);
    opd_case_done(&item);
}

static void expected_failure_comes_back(void **state)
{
    opd_call call = handmade_call("dcopy", "n=5");
    opd_case item = handmade_case(&call, 1);
    opd_replay_options options = handmade_options(bad_blas(), NULL, OPD_GUARD_NONE);
    opd_failure nan = { .outcome = OPD_OUTCOME_NAN_BORN, .operand = "y" };
    opd_failure crash = { .outcome = OPD_OUTCOME_CRASH, .signal = SIGSEGV };
    (void)state;
    setenv("BAD_BLAS", "nan", 1);
    assert_true(handmade_replay(&item, &nan, &options).came_back);
    assert_false(handmade_replay(&item, &crash, &options).came_back);
    setenv("BAD_BLAS", "read-past", 1);
    options.guard = OPD_GUARD_END;
    assert_true(handmade_replay(&item, &crash, &options).came_back);
    setenv("BAD_BLAS", "", 1);
    opd_case_done(&item);
}

static void what_cannot_run_is_an_error_with_its_reason(void **state)
{
    opd_call call = handmade_call("dcopy", "n=5");
    opd_call gemm = handmade_call("dgemm", "m=2 n=2 k=2");
    opd_call fortran = handmade_call("dcopy", "n=5 fortran");
    opd_case item = handmade_case(&call, 1);
    opd_replay_options options = handmade_options("libno-such-blas.so.7", NULL, OPD_GUARD_NONE);
    opd_replay_result result;
    (void)state;
    assert_int_equal(opd_replay(&result, NULL, &item, NULL, &options), OPD_E_NOTFOUND);
    assert_non_null(strstr(opd_error_text(), "libno-such-blas"));
    options = handmade_options(bad_blas(), "Haswel", OPD_GUARD_NONE);
    assert_int_equal(opd_replay(&result, NULL, &item, NULL, &options), OPD_E_UNSUPPORTED);
    options = handmade_options(bad_blas(), NULL, OPD_GUARD_NONE);
    options.worker = "/nonexistent/opd-worker";
    assert_int_equal(opd_replay(&result, NULL, &item, NULL, &options), OPD_E_CHILD);
    options = handmade_options(bad_blas(), NULL, OPD_GUARD_NONE);
    options.worker = "/bin/true";
    assert_int_equal(opd_replay(&result, NULL, &item, NULL, &options), OPD_E_CHILD);
    options = handmade_options(bad_blas(), NULL, OPD_GUARD_NONE);
    options.memory_limit = 16;
    assert_int_equal(opd_replay(&result, NULL, &item, NULL, &options), OPD_E_LIMIT);
    options = handmade_options(bad_blas(), NULL, OPD_GUARD_NONE);
    item.call.operands[0].view.data = NULL;
    assert_int_equal(opd_replay(&result, NULL, &item, NULL, &options), OPD_E_NOTFOUND);
    assert_non_null(strstr(opd_error_text(), "operand x"));
    opd_case_done(&item);
    item = handmade_case(&gemm, 1);
    assert_int_equal(opd_replay(&result, NULL, &item, NULL, &options), OPD_E_NOTFOUND);
    assert_non_null(strstr(opd_error_text(), "dgemm"));
    opd_case_done(&item);
    item = handmade_case(&fortran, 1);
    assert_int_equal(opd_replay(&result, NULL, &item, NULL, &options), OPD_E_NOTFOUND);
    assert_non_null(strstr(opd_error_text(), "cblas_dcopy")); /* the form it does have */
    opd_case_done(&item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_library_is_clean),
        cmocka_unit_test(crash_is_the_routines_and_names_the_place),
        cmocka_unit_test(stack_overflow_is_a_crash),
        cmocka_unit_test(process_that_ends_itself_is_a_crash_with_its_last_words),
        cmocka_unit_test(illegal_instruction_is_unsupported),
        cmocka_unit_test(hang_is_found_in_time_and_place),
        cmocka_unit_test(processes_left_behind_do_not_hold_the_replay),
        cmocka_unit_test(born_nan_and_inf_are_placed),
        cmocka_unit_test(nan_that_was_read_is_not_born),
        cmocka_unit_test(wrong_value_is_a_mismatch),
        cmocka_unit_test(stray_writes_are_found_and_measured),
        cmocka_unit_test(stray_reads_are_found_by_guards),
        cmocka_unit_test(stray_read_without_guards_shows_as_a_canary),
        cmocka_unit_test(fault_in_a_thread_of_the_library_is_placed),
        cmocka_unit_test(a_limit_of_cpu_time_accuses_who_sleeps_for_ever_and_nobody_slow),
        cmocka_unit_test(changed_input_is_reported),
        cmocka_unit_test(output_never_written_is_told),
        cmocka_unit_test(repeats_start_alike_and_are_counted),
        cmocka_unit_test(elementwise_limit_is_sixteen_gauges),
        cmocka_unit_test(between_the_bands_the_serial_sum_decides),
        cmocka_unit_test(outputs_come_back_when_wanted),
        cmocka_unit_test(expected_failure_comes_back),
        cmocka_unit_test(what_cannot_run_is_an_error_with_its_reason),
    };
    if (getenv("OPD_BAD_BLAS") == NULL) {
        puts("skipped: OPD_BAD_BLAS does not name the library");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
