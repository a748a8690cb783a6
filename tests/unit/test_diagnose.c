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

static void check(const opd_call *call, opd_failure failure, const opd_failure *observed, const char *label,
                  const char *in_reason)
{
    opd_diagnose(&failure, call, observed);
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

static void a_call_of_an_unknown_operator_is_survived(void **state)
{
    (void)state;
    opd_call call;
    memset(&call, 0, sizeof(call));
    snprintf(call.name, sizeof(call.name), "unknown");
    for (int outcome = 0; outcome <= OPD_OUTCOME_INPUT_MUTATED; outcome++) {
        opd_failure failure = failure_of((opd_outcome)outcome, "x");
        opd_diagnose(&failure, &call, NULL);
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
        cmocka_unit_test(a_nan_behind_beta_zero_is_not_blamed_for_an_overflow),
        cmocka_unit_test(a_nan_that_also_stands_in_a_read_operand_is_no_unread_operand),
        cmocka_unit_test(a_nan_from_finite_data_says_how),
        cmocka_unit_test(unknown_statistics_decide_nothing),
        cmocka_unit_test(an_access_out_of_bounds_is_taken_from_the_replay),
        cmocka_unit_test(a_huge_stride_is_an_index_overflow),
        cmocka_unit_test(illegal_arguments_are_named),
        cmocka_unit_test(an_empty_sum_that_leaves_its_output_is_empty),
        cmocka_unit_test(differences_by_convention_are_named),
        cmocka_unit_test(a_hang_and_a_rounding_difference_are_labelled),
        cmocka_unit_test(a_call_of_an_unknown_operator_is_survived),
        cmocka_unit_test(the_list_and_the_document_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
