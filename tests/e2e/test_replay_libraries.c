/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay on the BLAS libraries of Debian 12: defects that are really there must be found, and healthy calls must not be called
 * faults. Cases the CPU or the installed libraries cannot show are skipped with the reason.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "handmade.h"

static bool has_library(const char *name)
{
    opd_call call = handmade_call("dscal", "n=1");
    opd_case item = handmade_case(&call, 1);
    opd_replay_options options = handmade_options(name, NULL, OPD_GUARD_NONE);
    opd_replay_result result;
    bool is_there = opd_replay(&result, NULL, &item, NULL, &options) == OPD_OK;
    opd_case_done(&item);
    return is_there;
}

static void need(const char *library, const char *core)
{
    const char *reason = core != NULL ? opd_core_missing(core) : NULL;
    if (reason != NULL) {
        print_message("skipped: %s\n", reason);
        skip();
    }
    if (!has_library(library)) {
        print_message("skipped: %s is not installed\n", library);
        skip();
    }
}

/* The known defects below are those of the version Debian 12 ships. */
static bool is_openblas_0_3_21(const opd_replay_result *result)
{
    return strstr(result->library, "0.3.21") != NULL;
}

static opd_replay_result run(const char *routine, const char *settings, const char *library, const char *core,
                             opd_guard guard)
{
    opd_call call = handmade_call(routine, settings);
    opd_case item = handmade_case(&call, 7);
    opd_replay_options options = handmade_options(library, core, guard);
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    opd_case_done(&item);
    return result;
}

/* ------------------------------------------------------------------- reads past x in complex matrix-vector products */

static void zgemv_reads_past_x_on(const char *core)
{
    need("openblas", core);
    opd_replay_result result = run("zgemv", "trans=N m=6 n=1", "openblas", core, OPD_GUARD_NONE);
    if (!is_openblas_0_3_21(&result)) {
        skip();
    }
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK); /* plain memory shows nothing */
    assert_string_equal(result.core, core);
    result = run("zgemv", "trans=N m=6 n=1", "openblas", core, OPD_GUARD_END);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_READ);
    assert_string_equal(result.observed.operand, "x");
    assert_int_equal(result.observed.distance, 0);
    assert_int_equal(result.observed.signal, SIGSEGV);
    assert_non_null(strstr(result.observed.pc_symbol, "zgemv_n_"));
    /* The law of the defect: m = 2 modulo 4, from 6 on. */
    result = run("zgemv", "trans=N m=5 n=1", "openblas", core, OPD_GUARD_END);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    result = run("zgemv", "trans=N m=7 n=1", "openblas", core, OPD_GUARD_END);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
}

static void zgemv_reads_past_x_haswell(void **state)
{
    (void)state;
    zgemv_reads_past_x_on("Haswell");
}

static void zgemv_reads_past_x_zen(void **state)
{
    (void)state;
    zgemv_reads_past_x_on("Zen");
}

static void zgemv_reads_past_x_sandybridge(void **state)
{
    (void)state;
    zgemv_reads_past_x_on("Sandybridge");
}

static void zgemv_keeps_to_x_on_nehalem_and_elsewhere(void **state)
{
    (void)state;
    need("openblas", "Nehalem");
    opd_replay_result result = run("zgemv", "trans=N m=6 n=1", "openblas", "Nehalem", OPD_GUARD_BOTH);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    need("netlib", NULL);
    result = run("zgemv", "trans=N m=6 n=1", "netlib", NULL, OPD_GUARD_BOTH);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    need("blis", NULL);
    result = run("zgemv", "trans=N m=6 n=1", "blis", NULL, OPD_GUARD_BOTH);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
}

/* Found by the sweep: the strided loop loads the element after the last one. */
static void zdotc_with_a_stride_reads_past_x(void **state)
{
    (void)state;
    need("openblas", "Haswell");
    opd_replay_result result = run("zdotc", "n=1 incx=2", "openblas", "Haswell", OPD_GUARD_END);
    if (!is_openblas_0_3_21(&result)) {
        skip();
    }
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OOB_READ);
    assert_string_equal(result.observed.operand, "x");
    assert_int_equal(result.observed.distance, 16); /* the next element, 2 * 16 bytes on from the last */
    result = run("zdotc", "n=1 incx=1", "openblas", "Haswell", OPD_GUARD_END);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    result = run("zdotc", "n=1 incx=2", "openblas", "Nehalem", OPD_GUARD_END);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
}

static void recorded_crash_comes_back_as_the_read_that_explains_it(void **state)
{
    opd_call call = handmade_call("zgemv", "trans=N m=6 n=1");
    opd_case item = handmade_case(&call, 7);
    opd_replay_options options = handmade_options("openblas", "Haswell", OPD_GUARD_BOTH);
    opd_failure crash = { .outcome = OPD_OUTCOME_CRASH, .signal = SIGSEGV };
    (void)state;
    need("openblas", "Haswell");
    opd_replay_result result = handmade_replay(&item, &crash, &options);
    opd_case_done(&item);
    if (is_openblas_0_3_21(&result)) {
        assert_true(result.came_back);
    }
}

/* --------------------------------------------------------------------------- alpha = 0 must not read A and B */

static opd_replay_result alpha_zero(const char *library, const char *core)
{
    opd_call call = handmade_call("dgemm", "m=2 n=2 k=2 alpha=0 beta=1");
    opd_case item = handmade_case(&call, 7);
    opd_replay_options options = handmade_options(library, core, OPD_GUARD_NONE);
    for (int i = 0; i < 4; i++) {
        handmade_set(&item, "A", i, (double)NAN, 0);
        handmade_set(&item, "C", i, 1, 0);
    }
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    opd_case_done(&item);
    return result;
}

static void alpha_zero_lets_nan_through_on_avx512(void **state)
{
    (void)state;
    need("openblas", "SkylakeX");
    opd_replay_result result = alpha_zero("openblas", "SkylakeX");
    if (!is_openblas_0_3_21(&result)) {
        skip();
    }
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_NAN_BORN);
    assert_string_equal(result.observed.operand, "C");
}

static void alpha_zero_keeps_c_elsewhere(void **state)
{
    static const char *const cores[] = { "Haswell", "Zen", "Nehalem" };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(cores); i++) {
        need("openblas", cores[i]);
        assert_int_equal(alpha_zero("openblas", cores[i]).observed.outcome, OPD_OUTCOME_OK);
    }
    need("blis", NULL);
    assert_int_equal(alpha_zero("blis", NULL).observed.outcome, OPD_OUTCOME_OK);
    need("netlib", NULL);
    assert_int_equal(alpha_zero("netlib", NULL).observed.outcome, OPD_OUTCOME_OK);
}

/* ------------------------------------------------------------------------------------------- a huge stride */

static void huge_stride_crashes_rank_one_update(void **state)
{
    opd_call call = handmade_call("dger", "m=3 n=3 incx=-1073741825");
    opd_case item = handmade_case(&call, 7); /* x spans 17 GB and holds three numbers */
    opd_replay_options options = handmade_options("openblas", NULL, OPD_GUARD_NONE);
    opd_failure crash = { .outcome = OPD_OUTCOME_CRASH, .signal = SIGSEGV };
    (void)state;
    need("openblas", NULL);
    opd_replay_result result = handmade_replay(&item, &crash, &options);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_CRASH);
    assert_int_equal(result.observed.signal, SIGSEGV);
    assert_true(result.came_back);
    assert_non_null(strstr(result.observed.reason, "operand x overflow 32-bit integers"));
    /* The span is no trouble of ours: a stride that fits runs on the same kind of mapping. */
    opd_case_done(&item);
    call = handmade_call("dger", "m=3 n=3 incx=-536870912");
    item = handmade_case(&call, 7);
    result = handmade_replay(&item, NULL, &options);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    opd_case_done(&item);
}

/* ------------------------------------------------------------------------- other cores and threads: rounding only */

/* Recorded: Haswell, one thread. Nothing but digest and statistics is kept of the outputs, as with `--capture inputs`. */
static void other_cores_and_threads_are_never_different(const char *routine, const char *settings)
{
    static const char *const cores[] = { "Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott", "SkylakeX" };
    opd_call call = handmade_call(routine, settings);
    opd_case item = handmade_case(&call, 7);
    opd_replay_options options = handmade_options("openblas", "Haswell", OPD_GUARD_NONE);
    int bitwise = 0;
    int bound = 0;
    options.threads = 1;
    opd_replay_result recorded = handmade_replay(&item, NULL, &options);
    assert_int_equal(recorded.same, OPD_SAME_UNKNOWN);
    for (int i = 0; i < recorded.output_count; i++) {
        opd_operand *operand = opd_call_operand(&item.call, recorded.outputs[i].name);
        operand->after = recorded.outputs[i].after;
        operand->health_after = recorded.outputs[i].health_after;
        operand->flags |= OPD_OPERAND_HAS_HEALTH;
    }
    options.repeat = 3;
    for (size_t i = 0; i < OPD_COUNT(cores); i++) {
        for (int threads = 1; threads <= 2 && opd_core_missing(cores[i]) == NULL; threads++) {
            options.core = cores[i];
            options.threads = threads;
            opd_replay_result result = handmade_replay(&item, NULL, &options);
            assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
            assert_string_equal(result.core, cores[i]);
            assert_int_equal(result.threads, threads);
            assert_true(result.is_repeatable);
            assert_true(result.same == OPD_SAME_BITWISE || result.same == OPD_SAME_BOUND);
            assert_true(result.numbers.is_valid && result.numbers.ratio <= 16);
            bitwise += result.same == OPD_SAME_BITWISE;
            bound += result.same == OPD_SAME_BOUND;
        }
    }
    print_message("%s(%s): %d cells bitwise the same, %d within the bound\n", routine, settings, bitwise, bound);
    assert_true(bitwise >= 1); /* the recorded cell itself */
    opd_case_done(&item);
}

/* The reference of a large product would keep the user waiting; the replay says that it left it out. By default from 1600^3 on. */
static void reference_of_a_huge_product_is_left_out(void **state)
{
    (void)state;
    need("openblas", NULL);
    opd_call call = handmade_call("dgemm", "m=160 n=160 k=160");
    opd_case item = handmade_case(&call, 7);
    opd_replay_options options = handmade_options("openblas", NULL, OPD_GUARD_NONE);
    options.reference_limit = 2 * 160.0 * 160 * 159;
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    assert_false(result.numbers.is_valid);
    assert_non_null(strstr(result.environment, "reference: not run"));
    opd_replay_result_done(&result);
    /* Other bits than the recorded ones: only the reference can tell rounding from a fault. */
    memset(opd_call_operand(&item.call, "C")->after.bytes, 1, sizeof(opd_digest));
    result = handmade_replay(&item, NULL, &options);
    assert_true(result.numbers.is_valid && result.same == OPD_SAME_BOUND);
    opd_replay_result_done(&result);
    opd_case_done(&item);
    result = run("dgemm", "m=160 n=160 k=160", "openblas", NULL, OPD_GUARD_NONE); /* under the limit that holds else */
    assert_true(result.numbers.is_valid);
    assert_null(strstr(result.environment, "reference: not run"));
    opd_replay_result_done(&result);
}

static void product_is_rounding_only_across_cores_and_threads(void **state)
{
    (void)state;
    need("openblas", "Haswell");
    other_cores_and_threads_are_never_different("dgemm", "m=127 n=65 k=333");
    other_cores_and_threads_are_never_different("sgemm", "m=100 n=33 k=770 transa=T");
    other_cores_and_threads_are_never_different("dgemv", "m=500 n=2000 trans=N");
    other_cores_and_threads_are_never_different("dgemm", "m=1 n=128 k=90");
    other_cores_and_threads_are_never_different("zgemm", "m=20 n=30 k=40");
}

static void altered_output_is_different(void **state)
{
    opd_call call = handmade_call("dgemm", "m=20 n=20 k=20");
    opd_case item = handmade_case(&call, 7);
    opd_replay_options options = handmade_options("openblas", NULL, OPD_GUARD_NONE);
    (void)state;
    need("openblas", NULL);
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    opd_operand *c = opd_call_operand(&item.call, "C");
    c->after = result.outputs[0].after;
    c->health_after = result.outputs[0].health_after;
    c->flags |= OPD_OPERAND_HAS_HEALTH;
    assert_int_equal(handmade_replay(&item, NULL, &options).same, OPD_SAME_BITWISE);
    c->after.bytes[0] ^= 1;
    assert_int_equal(handmade_replay(&item, NULL, &options).same, OPD_SAME_BOUND);
    c->health_after.max += 1e-6;
    assert_int_equal(handmade_replay(&item, NULL, &options).same, OPD_SAME_DIFFERENT);
    c->health_after.max -= 1e-6;
    c->health_after.nan = 1; /* classes are never within a bound */
    assert_int_equal(handmade_replay(&item, NULL, &options).same, OPD_SAME_DIFFERENT);
    opd_case_done(&item);
}

/* ------------------------------------------------------------------------------------ callers and conventions */

static void bad_leading_dimension_is_the_callers_fault(void **state)
{
    static const char *const libraries[] = { "openblas", "blis", "netlib" };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(libraries); i++) {
        need(libraries[i], NULL);
        opd_replay_result result = run("dgemm", "row m=4 n=4 k=4 ldb=3", libraries[i], NULL, OPD_GUARD_NONE);
        print_message("%s: %s\n", libraries[i], result.observed.reason);
        assert_int_equal(result.observed.outcome, OPD_OUTCOME_BAD_ARGS);
        assert_non_null(strstr(result.observed.reason, "ldb"));
    }
}

static double norm_of(const char *library, const char *settings, opd_replay_result *result)
{
    opd_call call = handmade_call("dnrm2", settings);
    opd_case item = handmade_case(&call, 7);
    opd_replay_options options = handmade_options(library, NULL, OPD_GUARD_NONE);
    handmade_set(&item, "x", 0, 3, 0);
    handmade_set(&item, "x", 1, 4, 0);
    options.keep_outputs = true;
    *result = handmade_replay(&item, NULL, &options);
    double norm = *(const double *)result->outputs[0].view.data;
    opd_replay_result_done(result);
    opd_case_done(&item);
    return norm;
}

static void norm_with_negative_stride_shows_two_conventions(void **state)
{
    opd_replay_result result;
    (void)state;
    need("netlib", NULL);
    assert_true(norm_of("netlib", "n=2 incx=-1", &result) == 5.0);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    need("blis", NULL);
    assert_true(norm_of("blis", "n=2 incx=-1", &result) == 5.0);
    need("openblas", NULL);
    assert_true(norm_of("openblas", "n=2 incx=1", &result) == 5.0);
    double norm = norm_of("openblas", "n=2 incx=-1", &result);
    if (is_openblas_0_3_21(&result)) {
        assert_true(norm == 0.0);
        assert_int_equal(result.observed.outcome, OPD_OUTCOME_MISMATCH);
    }
}

static void fortran_and_cblas_forms_agree(void **state)
{
    opd_replay_result cblas;
    opd_replay_result fortran;
    (void)state;
    need("openblas", NULL);
    cblas = run("zdotc", "n=17 incx=1", "openblas", NULL, OPD_GUARD_BOTH);
    fortran = run("zdotc", "fortran n=17 incx=1", "openblas", NULL, OPD_GUARD_BOTH);
    assert_int_equal(cblas.observed.outcome, OPD_OUTCOME_OK);
    assert_int_equal(fortran.observed.outcome, OPD_OUTCOME_OK);
    assert_true(opd_digest_equal(&cblas.outputs[0].after, &fortran.outputs[0].after));
    cblas = run("dsyrk", "n=9 k=4 uplo=L", "openblas", NULL, OPD_GUARD_BOTH);
    fortran = run("dsyrk", "fortran n=9 k=4 uplo=L", "openblas", NULL, OPD_GUARD_BOTH);
    assert_true(opd_digest_equal(&cblas.outputs[0].after, &fortran.outputs[0].after));
}

static void unfit_core_is_refused_before_anything_runs(void **state)
{
    opd_call call = handmade_call("dscal", "n=3");
    opd_case item = handmade_case(&call, 7);
    opd_replay_options options = handmade_options("openblas", "Bulldozer", OPD_GUARD_NONE);
    opd_replay_result result;
    (void)state;
    if (opd_core_missing("Bulldozer") == NULL) {
        skip();
    }
    assert_int_equal(opd_replay(&result, NULL, &item, NULL, &options), OPD_E_UNSUPPORTED);
    assert_non_null(strstr(opd_error_text(), "fma4"));
    opd_case_done(&item);
}

/* What OpenBLAS makes of each name is read back from it. */
static void every_listed_core_is_what_runs(void **state)
{
    const char *names[64];
    int count = opd_core_list(names, 64);
    int matches = 0;
    (void)state;
    need("openblas", NULL);
    for (int i = 0; i < count; i++) {
        opd_replay_result result = run("dgemm", "m=9 n=7 k=5", "openblas", names[i], OPD_GUARD_NONE);
        assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
        bool is_said = strstr(result.environment, names[i]) != NULL;
        assert_true((strcmp(result.core, names[i]) == 0) != is_said); /* another one took its place: it is said */
        matches += !is_said;
    }
    assert_true(matches >= 2);
}

static void flush_to_zero_is_restored(void **state)
{
    opd_call call = handmade_call("dscal", "n=4 alpha=0.5");
    opd_case item = handmade_case(&call, 7);
    opd_replay_options options = handmade_options("netlib", NULL, OPD_GUARD_NONE);
    (void)state;
    need("netlib", NULL);
    for (int i = 0; i < 4; i++) {
        handmade_set(&item, "x", i, 3e-308, 0); /* half of it is subnormal */
    }
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    assert_int_equal(result.outputs[0].health_after.subnormal, 4);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    opd_case_done(&item);
}

/* ------------------------------------------------------------------- healthy routines stay clean under guards */

static void small_vectors_are_clean_under_guards(void **state)
{
    static const char *const routines[] = { "daxpy", "ddot", "dcopy", "saxpy", "sdot", "scopy" };
    static const int sizes[] = { 0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 39 };
    char settings[64];
    (void)state;
    need("openblas", NULL);
    for (size_t i = 0; i < OPD_COUNT(routines); i++) {
        for (size_t k = 0; k < OPD_COUNT(sizes); k++) {
            snprintf(settings, sizeof settings, "n=%d incx=%d incy=%d", sizes[k], k % 2 == 0 ? 1 : -2,
                     k % 3 == 0 ? 2 : 1);
            opd_replay_result result = run(routines[i], settings, "openblas", NULL, OPD_GUARD_BOTH);
            if (result.observed.outcome != OPD_OUTCOME_OK) {
                fail_msg("%s %s: %s", routines[i], settings, result.observed.reason);
            }
        }
    }
}

static void small_products_are_clean_under_guards(void **state)
{
    static const int sizes[] = { 1, 2, 3, 5, 8, 13, 17 };
    char settings[96];
    (void)state;
    need("openblas", NULL);
    for (size_t i = 0; i < OPD_COUNT(sizes); i++) {
        for (size_t k = 0; k < OPD_COUNT(sizes); k++) {
            snprintf(settings, sizeof settings, "m=%d n=%d k=%d transa=%c", sizes[i], sizes[k],
                     sizes[(i + k) % OPD_COUNT(sizes)], i % 2 == 0 ? 'N' : 'T');
            opd_replay_result result = run(k % 2 == 0 ? "sgemm" : "dgemm", settings, "openblas", NULL, OPD_GUARD_BOTH);
            if (result.observed.outcome != OPD_OUTCOME_OK) {
                fail_msg("gemm %s: %s", settings, result.observed.reason);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zgemv_reads_past_x_haswell),
        cmocka_unit_test(zgemv_reads_past_x_zen),
        cmocka_unit_test(zgemv_reads_past_x_sandybridge),
        cmocka_unit_test(zgemv_keeps_to_x_on_nehalem_and_elsewhere),
        cmocka_unit_test(zdotc_with_a_stride_reads_past_x),
        cmocka_unit_test(recorded_crash_comes_back_as_the_read_that_explains_it),
        cmocka_unit_test(alpha_zero_lets_nan_through_on_avx512),
        cmocka_unit_test(alpha_zero_keeps_c_elsewhere),
        cmocka_unit_test(huge_stride_crashes_rank_one_update),
        cmocka_unit_test(product_is_rounding_only_across_cores_and_threads),
        cmocka_unit_test(altered_output_is_different),
        cmocka_unit_test(bad_leading_dimension_is_the_callers_fault),
        cmocka_unit_test(norm_with_negative_stride_shows_two_conventions),
        cmocka_unit_test(fortran_and_cblas_forms_agree),
        cmocka_unit_test(unfit_core_is_refused_before_anything_runs),
        cmocka_unit_test(every_listed_core_is_what_runs),
        cmocka_unit_test(flush_to_zero_is_restored),
        cmocka_unit_test(reference_of_a_huge_product_is_left_out),
        cmocka_unit_test(small_vectors_are_clean_under_guards),
        cmocka_unit_test(small_products_are_clean_under_guards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
