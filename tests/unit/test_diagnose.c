// SPDX-License-Identifier: Apache-2.0
// Diagnosis rules on calls made by hand; the list of labels against docs/labels.md.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/reduce.h>

static void make_call(opd_call *call, const char *routine_name)
{
    const opd_routine *routine = opd_routine_find(routine_name);
    assert_non_null(routine);
    assert_int_equal(opd_call_init(call, routine->op, routine->name, routine->dtype), OPD_OK);
    for (int i = 0; i < call->symbol_count; i++) {
        assert_int_equal(opd_call_set(call, call->symbols[i].name, 4), OPD_OK);
    }
    call->flags |= OPD_CALL_CBLAS;
}

/* Statistics of an operand as the recorder takes them. */
static void set_health(opd_call *call, const char *operand, double largest, uint64_t nan, uint64_t inf)
{
    opd_operand *bound = opd_call_operand(call, operand);
    assert_non_null(bound);
    bound->flags |= OPD_OPERAND_HAS_HEALTH;
    bound->health_before = (opd_health){ .count = 16, .nan = nan, .pos_inf = inf, .min = -largest, .max = largest };
}

static void set_healths(opd_call *call, double largest)
{
    for (int i = 0; i < call->operand_count; i++) {
        set_health(call, call->operands[i].name, largest, 0, 0);
    }
}

static opd_failure failure_of(opd_outcome outcome, const char *operand)
{
    opd_failure failure = { .outcome = outcome, .index_rank = -1 };
    snprintf(failure.operand, sizeof(failure.operand), "%s", operand);
    return failure;
}

static void check_tried(const opd_call *call, opd_failure failure, const opd_failure *observed,
                        const opd_experiments *tried, const char *label, const char *in_reason)
{
    opd_diagnose(&failure, call, observed, tried);
    assert_string_equal(failure.label, label);
    if (label[0] == '\0') {
        assert_true(failure.confidence == 0);
        return;
    }
    print_message("%s (%.2f): %s\n", failure.label, (double)failure.confidence, failure.reason);
    assert_true(opd_label_known(failure.label));
    assert_true(failure.confidence > 0 && failure.confidence <= 0.95F);
    assert_non_null(strstr(failure.reason, in_reason));
}

static void check(const opd_call *call, opd_failure failure, const opd_failure *observed, const char *label,
                  const char *in_reason)
{
    check_tried(call, failure, observed, NULL, label, in_reason);
}

static void a_nan_from_an_operand_behind_alpha_zero_names_it(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    assert_int_equal(opd_call_set(&call, "alpha", 0), OPD_OK);
    set_healths(&call, 1);
    set_health(&call, "A", 1, 3, 0);
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "C"), NULL, "unread-operand-read",
          "A, which must not be read (alpha = 0)");
}

static void a_nan_from_the_old_output_behind_beta_zero_names_it(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "zgemv");
    assert_int_equal(opd_call_set(&call, "beta", 0), OPD_OK);
    set_healths(&call, 1);
    set_health(&call, "y", 1, 4, 0);
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "y"), NULL, "unread-operand-read",
          "y, which must not be read (beta = 0)");
}

static void a_crash_over_an_unmapped_pointer_blames_the_caller(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    set_healths(&call, 1);
    opd_call_operand(&call, "B")->flags = OPD_OPERAND_UNREADABLE;
    opd_call_operand(&call, "B")->address = 0x10;
    check(&call, failure_of(OPD_OUTCOME_CRASH, ""), NULL, "bad-args", "B at 0x10 could not be read");
}

static void a_nan_of_a_singular_triangle_says_so(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dtrsm");
    set_healths(&call, 1);
    opd_call_operand(&call, "A")->health_before.zero = 2;
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "B"), NULL, "nan-made", "divides by its diagonal");
}

/* Memory that is used again holds an old NaN; huge products make one without reading it. */
/* Values by hand: 3 x 3 triangles of twos but for one element of the diagonal, in each storage. */
static void an_inf_of_a_triangular_solve_names_the_diagonal_element(void **state)
{
    (void)state;
    static const struct {
        const char *routine, *matrix, *result, *uplo;
        int place; /* of the diagonal element 1 in memory */
    } cases[] = {
        { "dtrsm", "A", "B", "U", 4 }, { "dtrsv", "A", "x", "L", 4 },  { "dtbsv", "A", "x", "U", 3 },
        { "dtbsv", "A", "x", "L", 2 }, { "dtpsv", "AP", "x", "U", 2 }, { "dtpsv", "AP", "x", "L", 3 },
    };
    static const struct {
        double element;
        const char *label, *reason;
    } elements[] = { { 0, "overflow", "[1,1] of the diagonal is 0 and" },
                     { 1e-310, "overflow", "[1,1] of the diagonal is of size 1e-310 and" },
                     { 1e-3, "", "" } };
    for (size_t i = 0; i < OPD_COUNT(cases) * OPD_COUNT(elements); i++) {
        const size_t at = i / OPD_COUNT(elements);
        const size_t kind = i % OPD_COUNT(elements);
        double data[9] = { 2, 2, 2, 2, 2, 2, 2, 2, 2 };
        double right[9] = { 5, 5, 5, 5, 5, 5, 5, 5, 5 };
        opd_call call;
        const opd_routine *routine = opd_routine_find(cases[at].routine);
        assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
        opd_call_value(&call, "uplo")->i = cases[at].uplo[0];
        for (int k = 0; k < call.symbol_count; k++) {
            assert_int_equal(opd_call_set(&call, call.symbols[k].name, 3), OPD_OK);
        }
        bool is_band = opd_call_value(&call, "k") != NULL;
        if (is_band) {
            assert_int_equal(opd_call_set(&call, "k", 1), OPD_OK);
        }
        if (opd_call_value(&call, "lda") != NULL) {
            assert_int_equal(opd_call_set(&call, "lda", is_band ? 2 : 3), OPD_OK);
        }
        data[cases[at].place] = elements[kind].element;
        opd_call_operand(&call, cases[at].matrix)->view.data = data;
        opd_call_operand(&call, cases[at].result)->view.data = right;
        print_message("%s %s %g\n", cases[at].routine, cases[at].uplo, elements[kind].element);
        check(&call, failure_of(OPD_OUTCOME_INF_BORN, cases[at].result), NULL, elements[kind].label,
              elements[kind].reason);
        opd_call_value(&call, "diag")->i = 'U';
        assert_int_equal(opd_call_bind(&call), OPD_OK);
        check(&call, failure_of(OPD_OUTCOME_INF_BORN, cases[at].result), NULL, "", "");
    }
}

static void a_scalar_that_is_a_term_is_no_factor(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "sdsdot");
    set_health(&call, "x", 1e15, 0, 0);
    set_health(&call, "y", 1e15, 0, 0);
    opd_call_value(&call, "sb")->re = 1e15; /* 1e15 + 4 * 1e30 is in the range, 1e45 is not */
    check(&call, failure_of(OPD_OUTCOME_INF_BORN, "result"), NULL, "", "");
    set_health(&call, "x", 1e25, 0, 0);
    check(&call, failure_of(OPD_OUTCOME_INF_BORN, "result"), NULL, "overflow", "about 1e40");
}

static void a_nan_behind_beta_zero_is_not_blamed_for_an_overflow(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "zgemm");
    assert_int_equal(opd_call_set(&call, "beta", 0), OPD_OK);
    set_healths(&call, 1e200);
    set_health(&call, "C", 1, 2, 0);
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "C"), NULL, "nan-made", "all operands that must be read are finite");
    set_healths(&call, 1);
    set_health(&call, "C", 1, 2, 0);
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "C"), NULL, "unread-operand-read", "C, which must not be read");
}

static void a_nan_that_also_stands_in_a_read_operand_is_no_unread_operand(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "zgemv");
    assert_int_equal(opd_call_set(&call, "beta", 0), OPD_OK);
    set_healths(&call, 1);
    set_health(&call, "y", 1, 4, 0);
    set_health(&call, "x", 1, 1, 0);
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "y"), NULL, "", "");
}

static void a_nan_from_finite_data_says_how(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    set_healths(&call, 1e200);
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "C"), NULL, "nan-made", "intermediate overflow");
    set_healths(&call, 2);
    set_health(&call, "B", 2, 0, 1);
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "C"), NULL, "nan-made", "Inf - Inf or 0 * Inf");
    set_healths(&call, 2);
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "C"), NULL, "nan-made", "no product can overflow");
    set_healths(&call, 1e200);
    check(&call, failure_of(OPD_OUTCOME_INF_BORN, "C"), NULL, "overflow", "beyond the range of f64");
}

/*
 * Finite operands and scalars whose product is out of range; with everything at the small value the product is in range, and the Inf has
 * no such cause. Powers of ten of operands and scalars, by hand from the routine's definition.
 */
static void an_inf_from_finite_factors_is_an_overflow_whatever_the_routine(void **state)
{
    (void)state;
    static const struct {
        const char *routine, *result;
        struct {
            const char *name;
            double large, small;
        } operands[3], scalars[2];
    } cases[] = {
        { "dscal", "x", { { "x", 1e200, 1e100 } }, { { "alpha", 1e200, 1e100 } } },
        { "sscal", "x", { { "x", 1e30, 1e10 } }, { { "alpha", 1e30, 1e10 } } },
        { "zscal", "x", { { "x", 1e300, 1e100 } }, { { "alpha", -1e20, 1e20 } } },
        { "zdscal", "x", { { "x", 1e300, 1e100 } }, { { "alpha", 1e20, 1e20 } } },
        { "csscal", "x", { { "x", 1e30, 1e20 } }, { { "alpha", 1e12, 1e12 } } },
        { "daxpy", "y", { { "x", 1e200, 1e100 }, { "y", 1, 1 } }, { { "alpha", 1e200, 1e100 } } },
        { "daxpby", "y", { { "x", 1, 1 }, { "y", 1e200, 1e100 } }, { { "alpha", 1, 1 }, { "beta", 1e200, 1e100 } } },
        { "domatcopy", "B", { { "A", 1e200, 1e100 } }, { { "alpha", 1e200, 1e100 } } },
        { "dimatcopy", "B", { { "A", 1e200, 1e100 } }, { { "alpha", 1e200, 1e100 } } },
        { "drot", "x", { { "x", 1e200, 1e100 }, { "y", 1, 1 } }, { { "c", 1e200, 1e100 }, { "s", 0, 0 } } },
        { "drotm", "x", { { "x", 1e200, 1e100 }, { "y", 1, 1 }, { "param", 1e200, 1e100 } }, { { NULL } } },
        { "dgemv",
          "y",
          { { "A", 1, 1 }, { "x", 1, 1 }, { "y", 1e200, 1e100 } },
          { { "alpha", 1, 1 }, { "beta", 1e200, 1e100 } } },
        { "dger", "A", { { "x", 1e100, 1e50 }, { "y", 1e100, 1e50 }, { "A", 1, 1 } }, { { "alpha", 1e150, 1e150 } } },
        { "dsyr", "A", { { "x", 1e200, 1e100 }, { "A", 1, 1 } }, { { "alpha", 1, 1 } } },
        { "dtrmv", "x", { { "A", 1e200, 1e100 }, { "x", 1e200, 1e100 } }, { { NULL } } },
        { "dgemm",
          "C",
          { { "A", 1e100, 1e50 }, { "B", 1e100, 1e50 }, { "C", 1, 1 } },
          { { "alpha", 1e150, 1e150 }, { "beta", 1, 1 } } },
        { "dsyrk", "C", { { "A", 1e200, 1e100 }, { "C", 1, 1 } }, { { "alpha", 1, 1 }, { "beta", 1, 1 } } },
        { "dtrmm", "B", { { "A", 1e100, 1e50 }, { "B", 1e100, 1e50 } }, { { "alpha", 1e150, 1e150 } } },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        for (int is_large = 0; is_large < 2; is_large++) {
            opd_call call;
            make_call(&call, cases[i].routine);
            for (size_t k = 0; k < 3 && cases[i].operands[k].name != NULL; k++) {
                set_health(&call, cases[i].operands[k].name,
                           is_large ? cases[i].operands[k].large : cases[i].operands[k].small, 0, 0);
            }
            for (size_t k = 0; k < 2 && cases[i].scalars[k].name != NULL; k++) {
                opd_value *value = opd_call_value(&call, cases[i].scalars[k].name);
                assert_non_null(value);
                value->re = is_large ? cases[i].scalars[k].large : cases[i].scalars[k].small;
            }
            print_message("%s %s\n", cases[i].routine, is_large ? "beyond its range" : "in range");
            check(&call, failure_of(OPD_OUTCOME_INF_BORN, cases[i].result), NULL, is_large ? "overflow" : "",
                  "beyond the range of");
        }
    }
}

static void an_inf_of_a_half_is_held_against_the_range_of_halves(void **state)
{
    (void)state;
    opd_call call;
    opd_call_wish wish = { .dtype = OPD_F16, .shapes = "[2,4];[4,2]" };
    assert_int_equal(opd_call_make(&call, opd_op_find("ai.onnx", "MatMul"), &wish), OPD_OK);
    set_healths(&call, 300);
    check(&call, failure_of(OPD_OUTCOME_INF_BORN, "Y"), NULL, "fp16-overflow", "beyond the range of f16");
    set_healths(&call, 30);
    check(&call, failure_of(OPD_OUTCOME_INF_BORN, "Y"), NULL, "", "");
}

static void unknown_statistics_decide_nothing(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    check(&call, failure_of(OPD_OUTCOME_NAN_BORN, "C"), NULL, "", "");
    check(&call, failure_of(OPD_OUTCOME_CRASH, ""), NULL, "", "");
    check(&call, failure_of(OPD_OUTCOME_OK, ""), NULL, "", "");
}

static void an_access_out_of_bounds_is_taken_from_the_replay(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "zgemv");
    opd_failure observed = failure_of(OPD_OUTCOME_OOB_READ, "x");
    observed.distance = 16;
    check(&call, failure_of(OPD_OUTCOME_CRASH, ""), &observed, "oob-read", "past the end of x, at byte 16");
    observed.outcome = OPD_OUTCOME_OOB_WRITE;
    observed.distance = -8;
    check(&call, failure_of(OPD_OUTCOME_CRASH, ""), &observed, "oob-write", "before the start of x, 8 bytes away");
}

static void a_huge_stride_is_an_index_overflow(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dger");
    assert_int_equal(opd_call_set(&call, "incx", -1073741825), OPD_OK);
    check(&call, failure_of(OPD_OUTCOME_CRASH, ""), NULL, "index-overflow", "x spans");
}

static void illegal_arguments_are_named(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    call.flags |= OPD_CALL_ROW_MAJOR;
    opd_call_value(&call, "ldb")->i = 3;
    assert_int_equal(opd_call_bind(&call), OPD_E_INVALID);
    check(&call, failure_of(OPD_OUTCOME_BAD_ARGS, ""), NULL, "bad-args", "ldb");
    call.flags |= OPD_CALL_ABI_SUSPECT;
    check(&call, failure_of(OPD_OUTCOME_BAD_ARGS, ""), NULL, "abi-mismatch", "high half");
}

static void an_empty_sum_that_leaves_its_output_is_empty(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "sgemm");
    assert_int_equal(opd_call_set(&call, "k", 0), OPD_OK);
    assert_int_equal(opd_call_set(&call, "beta", 0), OPD_OK);
    opd_operand *c = opd_call_operand(&call, "C");
    memset(&c->before, 7, sizeof(c->before));
    memset(&c->after, 9, sizeof(c->after));
    check(&call, failure_of(OPD_OUTCOME_MISMATCH, "C"), NULL, "", "");
    memset(&c->after, 7, sizeof(c->after));
    check(&call, failure_of(OPD_OUTCOME_MISMATCH, "C"), NULL, "empty", "k = 0");
}

static void differences_by_convention_are_named(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dnrm2");
    assert_int_equal(opd_call_set(&call, "incx", -1), OPD_OK);
    check(&call, failure_of(OPD_OUTCOME_MISMATCH, "result"), NULL, "attr-semantics", "LAPACK 3.10");
    make_call(&call, "dscal");
    assert_int_equal(opd_call_set(&call, "alpha", 0), OPD_OK);
    set_health(&call, "x", 1, 1, 1);
    check(&call, failure_of(OPD_OUTCOME_MISMATCH, "x"), NULL, "nan-lost", "by design");
}

static void a_hang_and_a_rounding_difference_are_labelled(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    check(&call, failure_of(OPD_OUTCOME_HANG, ""), NULL, "hang", "time limit");
    const opd_failure fine = { .outcome = OPD_OUTCOME_OK, .index_rank = -1 };
    check(&call, failure_of(OPD_OUTCOME_MISMATCH, "C"), &fine, "rounding-only", "no fault");
}

/* 4 x 4 doubles by columns, 128 bytes each. */
static void set_addresses(opd_call *call, uint64_t a, uint64_t b, uint64_t c)
{
    opd_call_operand(call, "A")->address = a;
    opd_call_operand(call, "B")->address = b;
    opd_call_operand(call, "C")->address = c;
}

static void an_output_that_overlaps_an_input_is_an_alias(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    const opd_failure wrong = failure_of(OPD_OUTCOME_MISMATCH, "C");
    set_addresses(&call, 0x10000, 0x20000, 0x30000);
    check(&call, wrong, NULL, "", "");
    set_addresses(&call, 0x10000, 0x20000, 0x20000 + 128); /* right behind: no byte is shared */
    check(&call, wrong, NULL, "", "");
    set_addresses(&call, 0x10000, 0x10000, 0x30000); /* two inputs may be one matrix */
    check(&call, wrong, NULL, "", "");
    set_addresses(&call, 0x10000, 0x20000, 0x20000 + 120);
    check(&call, wrong, NULL, "alias", "C, which dgemm writes, overlaps B");
    set_addresses(&call, 0x30000 + 64, 0x20000, 0x30000);
    check(&call, wrong, NULL, "alias", "overlaps A");
    /* Blocks of one larger matrix interleave without meeting: columns 8 elements apart, rows 0..3 and 4..7. */
    for (int i = 0; i < 3; i++) {
        opd_call_value(&call, (const char *const[]){ "lda", "ldb", "ldc" }[i])->i = 8;
    }
    assert_int_equal(opd_call_bind(&call), OPD_OK);
    set_addresses(&call, 0x10000, 0x30000 + 32, 0x30000);
    check(&call, wrong, NULL, "", "");
    set_addresses(&call, 0x10000, 0x30000 + 24, 0x30000);
    check(&call, wrong, NULL, "alias", "overlaps B");
}

static void strided_vectors_that_interleave_are_no_alias(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "daxpy");
    assert_int_equal(opd_call_set(&call, "incx", 2), OPD_OK);
    assert_int_equal(opd_call_set(&call, "incy", 2), OPD_OK);
    opd_call_operand(&call, "x")->address = 0x10000;
    opd_call_operand(&call, "y")->address = 0x10008;
    check(&call, failure_of(OPD_OUTCOME_MISMATCH, "y"), NULL, "", "");
    opd_call_operand(&call, "y")->address = 0x10010;
    check(&call, failure_of(OPD_OUTCOME_MISMATCH, "y"), NULL, "alias", "overlaps x");
}

static void runs_that_differ_only_with_threads_are_a_race(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    const opd_failure wrong = failure_of(OPD_OUTCOME_MISMATCH, "C");
    opd_experiments tried = { .threads = 4, .runs = 8, .failed = 3, .differing = 5, .runs_alone = 8 };
    check_tried(&call, wrong, &wrong, &tried, "race", "with 4 threads 5 of 8 runs differ");
    tried.failed_alone = 8; /* steady with one thread, if wrong */
    check_tried(&call, wrong, &wrong, &tried, "race", "with one thread all 8 agree");
    tried.runs_alone = 0; /* nothing to compare with */
    tried.failed_alone = 0;
    check_tried(&call, wrong, &wrong, &tried, "", "");
}

static void runs_that_differ_with_one_thread_are_stale_scratch(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    const opd_failure wrong = failure_of(OPD_OUTCOME_MISMATCH, "C");
    const opd_experiments tried = {
        .threads = 4, .runs = 8, .differing = 5, .failed = 3, .runs_alone = 8, .failed_alone = 1, .differing_alone = 1
    };
    check_tried(&call, wrong, &wrong, &tried, "stale-scratch", "1 of 8 runs differ");
}

static void a_failure_that_one_thread_does_not_show_depends_on_threads(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    const opd_failure wrong = failure_of(OPD_OUTCOME_MISMATCH, "C");
    opd_experiments tried = { .threads = 4, .runs = 8, .failed = 8, .runs_alone = 8 };
    check_tried(&call, wrong, &wrong, &tried, "thread-dependent", "with 4 threads (8 of 8 runs) and not with one");
    tried.threads = 1;
    check_tried(&call, wrong, &wrong, &tried, "", "");
    tried.threads = 4;
    tried.failed_alone = 8;
    check_tried(&call, wrong, &wrong, &tried, "", "");
}

static void a_failure_that_other_kernels_do_not_show_depends_on_the_isa(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    const opd_failure wrong = failure_of(OPD_OUTCOME_MISMATCH, "C");
    opd_experiments tried = { .threads = 1,
                              .runs = 8,
                              .failed = 8,
                              .runs_alone = 8,
                              .failed_alone = 8,
                              .core = "SkylakeX",
                              .other_core = "Prescott" };
    check_tried(&call, wrong, &wrong, &tried, "isa-dependent", "SkylakeX and not with those for Prescott");
    tried.has_other_failed = true;
    check_tried(&call, wrong, &wrong, &tried, "", "");
}

static void a_stride_that_the_smallest_failing_call_keeps_is_its_layout(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "daxpy");
    const opd_failure wrong = failure_of(OPD_OUTCOME_MISMATCH, "y");
    opd_experiments tried = { .is_reduced = true };
    check_tried(&call, wrong, &wrong, &tried, "", "");
    assert_int_equal(opd_call_set(&call, "incy", 3), OPD_OK);
    check_tried(&call, wrong, &wrong, &tried, "layout", "keeps incy = 3: with 1");
    tried.is_reduced = false;
    check_tried(&call, wrong, &wrong, &tried, "", "");
}

static void a_double_sum_with_the_error_of_a_float_is_low_precision(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "dgemm");
    const opd_failure wrong = failure_of(OPD_OUTCOME_MISMATCH, "C");
    opd_experiments tried = { .ratio = 0.4 * 0x1p29, .cap = 18 };
    check_tried(&call, wrong, &wrong, &tried, "low-prec-accum", "0.4 of that of f32");
    tried.ratio = 0.25 * 0x1p52; /* a quarter of the gauge: a wrong value */
    check_tried(&call, wrong, &wrong, &tried, "", "");
    tried.ratio = 100; /* hardly beyond rounding */
    check_tried(&call, wrong, &wrong, &tried, "", "");
    make_call(&call, "sgemm");
    tried.ratio = 0.4 * 0x1p29;
    check_tried(&call, wrong, &wrong, &tried, "", "");
}

static void a_large_relative_error_within_the_bound_is_cancellation(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call, "sgemm");
    const opd_failure fine = { .outcome = OPD_OUTCOME_OK, .index_rank = -1 };
    opd_experiments tried = { .ratio = 0.3, .cap = 18, .max_rel = 0.25 };
    check_tried(&call, failure_of(OPD_OUTCOME_MISMATCH, "C"), &fine, &tried, "cancellation", "terms cancel");
    tried.max_rel = 1e-6;
    check_tried(&call, failure_of(OPD_OUTCOME_MISMATCH, "C"), &fine, &tried, "rounding-only", "no fault");
}

static void a_call_of_an_unknown_operator_is_survived(void **state)
{
    (void)state;
    opd_call call;
    memset(&call, 0, sizeof(call));
    snprintf(call.name, sizeof(call.name), "unknown");
    for (int outcome = 0; outcome <= OPD_OUTCOME_INPUT_MUTATED; outcome++) {
        opd_failure failure = failure_of((opd_outcome)outcome, "x");
        opd_diagnose(&failure, &call, NULL, NULL);
        assert_true(failure.label[0] == '\0' || opd_label_known(failure.label));
    }
}

static void the_list_and_the_document_agree(void **state)
{
    (void)state;
    opd_mapping document;
    const char *meaning = NULL;
    int count = 0;
    assert_int_equal(opd_mapping_open(&document, OPD_LABELS_DOCUMENT), OPD_OK);
    char *text = NULL;
    assert_int_equal(opd_alloc((void **)&text, document.size + 1), OPD_OK);
    memcpy(text, document.bytes, document.size);
    for (const char *word = NULL; (word = opd_label_at(count, &meaning)) != NULL; count++) {
        char row[256];
        snprintf(row, sizeof(row), "\n| %s | %s | ", word, meaning);
        if (strstr(text, row) == NULL) {
            fail_msg("docs/labels.md has no row '%s'", row + 1);
        }
    }
    int rows = -2; /* head and rule */
    for (const char *at = text; (at = strstr(at, "\n|")) != NULL; at++) {
        rows++;
    }
    assert_int_equal(rows, count);
    assert_false(opd_label_known("no-such-label"));
    opd_free(text);
    opd_mapping_close(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nan_from_an_operand_behind_alpha_zero_names_it),
        cmocka_unit_test(a_nan_from_the_old_output_behind_beta_zero_names_it),
        cmocka_unit_test(a_crash_over_an_unmapped_pointer_blames_the_caller),
        cmocka_unit_test(a_nan_of_a_singular_triangle_says_so),
        cmocka_unit_test(an_inf_of_a_triangular_solve_names_the_diagonal_element),
        cmocka_unit_test(a_scalar_that_is_a_term_is_no_factor),
        cmocka_unit_test(a_nan_behind_beta_zero_is_not_blamed_for_an_overflow),
        cmocka_unit_test(an_inf_from_finite_factors_is_an_overflow_whatever_the_routine),
        cmocka_unit_test(an_inf_of_a_half_is_held_against_the_range_of_halves),
        cmocka_unit_test(a_nan_that_also_stands_in_a_read_operand_is_no_unread_operand),
        cmocka_unit_test(a_nan_from_finite_data_says_how),
        cmocka_unit_test(unknown_statistics_decide_nothing),
        cmocka_unit_test(an_access_out_of_bounds_is_taken_from_the_replay),
        cmocka_unit_test(a_huge_stride_is_an_index_overflow),
        cmocka_unit_test(illegal_arguments_are_named),
        cmocka_unit_test(an_empty_sum_that_leaves_its_output_is_empty),
        cmocka_unit_test(differences_by_convention_are_named),
        cmocka_unit_test(a_hang_and_a_rounding_difference_are_labelled),
        cmocka_unit_test(an_output_that_overlaps_an_input_is_an_alias),
        cmocka_unit_test(strided_vectors_that_interleave_are_no_alias),
        cmocka_unit_test(runs_that_differ_only_with_threads_are_a_race),
        cmocka_unit_test(runs_that_differ_with_one_thread_are_stale_scratch),
        cmocka_unit_test(a_failure_that_one_thread_does_not_show_depends_on_threads),
        cmocka_unit_test(a_failure_that_other_kernels_do_not_show_depends_on_the_isa),
        cmocka_unit_test(a_stride_that_the_smallest_failing_call_keeps_is_its_layout),
        cmocka_unit_test(a_double_sum_with_the_error_of_a_float_is_low_precision),
        cmocka_unit_test(a_large_relative_error_within_the_bound_is_cancellation),
        cmocka_unit_test(a_call_of_an_unknown_operator_is_survived),
        cmocka_unit_test(the_list_and_the_document_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
