// SPDX-License-Identifier: Apache-2.0
// Reduction with synthetic oracles: pure functions of a call's values and data, so that the smallest form is known.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/random.h>
#include <opsdebug/reduce.h>

typedef struct world {
    opd_verdict (*verdict)(const opd_case *candidate, opd_failure *observed);
    uint32_t judged, accepted, bycatches;
    uint32_t refuse_accept; /* accept says PASS to the n-th step, from 1; 0 = never */
    uint32_t stop_after;    /* judge fails from here on; 0 = never: a search that is killed */
    double rate;            /* of the failure; 0 = always */
    opd_failure caught;
} world;

static int64_t value_of(const opd_case *item, const char *name)
{
    opd_call copy = item->call;
    const opd_value *value = opd_call_value(&copy, name);
    assert_non_null(value);
    return value->i;
}

static void element_of(const opd_case *item, const char *operand, int64_t flat, double *re, double *im)
{
    opd_call copy = item->call;
    const opd_tensor *view = &opd_call_operand(&copy, operand)->view;
    int64_t index[OPD_MAX_RANK];
    opd_tensor_unflatten(view, flat, index);
    opd_element_load(view->dtype, (const char *)view->data + opd_tensor_offset(view, index), re, im);
}

static int64_t count_of(const opd_case *item, const char *operand)
{
    opd_call copy = item->call;
    return opd_tensor_count(&opd_call_operand(&copy, operand)->view);
}

static opd_status judge(void *context, opd_verdict *verdict, opd_failure *observed, const opd_case *candidate)
{
    world *w = context;
    w->judged++;
    if (w->stop_after != 0 && w->judged > w->stop_after) {
        return opd_fail(OPD_E_CHILD, "killed");
    }
    memset(observed, 0, sizeof(*observed));
    observed->index_rank = -1;
    *verdict = w->verdict(candidate, observed);
    if (w->rate > 0 && *verdict == OPD_VERDICT_SAME) {
        double draw = (double)(opd_random_u64(11, 5, w->judged) >> 11) * 0x1p-53;
        *verdict = draw < w->rate ? OPD_VERDICT_SAME : OPD_VERDICT_PASS;
    }
    return OPD_OK;
}

static opd_status accept(void *context, opd_verdict *verdict, const opd_case *best, const opd_failure *observed,
                         const opd_lineage *step)
{
    world *w = context;
    opd_failure seen = *observed;
    assert_int_equal(strlen(step->parent), 32);
    assert_true(step->step[0] != '\0');
    w->accepted++;
    *verdict = w->accepted == w->refuse_accept ? OPD_VERDICT_PASS : w->verdict(best, &seen);
    return OPD_OK;
}

static void bycatch(void *context, const opd_case *candidate, const opd_failure *observed)
{
    world *w = context;
    assert_true(candidate->call.operand_count > 0);
    w->bycatches++;
    w->caught = *observed;
}

static opd_oracle oracle_of(world *w)
{
    return (opd_oracle){ .judge = judge, .accept = accept, .bycatch = bycatch, .context = w };
}

static void make_case(opd_case *out, const char *routine_name, const char *const *names, const int64_t *values)
{
    const opd_routine *routine = opd_routine_find(routine_name);
    opd_call call;
    assert_non_null(routine);
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    call.flags |= OPD_CALL_CBLAS;
    for (int i = 0; names[i] != NULL; i++) {
        assert_int_equal(opd_call_set(&call, names[i], values[i]), OPD_OK);
    }
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    assert_int_equal(opd_case_allocate(out, &call, UINT64_MAX), OPD_OK);
    for (int i = 0; i < out->call.operand_count; i++) {
        opd_fill fill = { .kind = OPD_FILL_NORMAL, .a = 0, .b = 1, .seed = 3, .stream = (uint64_t)i };
        opd_tensor_fill(&out->call.operands[i].view, &fill);
    }
}

static opd_status reduce(opd_reduce_report *report, opd_case *item, world *w, const opd_reduce_options *options)
{
    opd_failure expected = { .outcome = OPD_OUTCOME_OOB_READ, .index_rank = -1 };
    opd_oracle oracle = oracle_of(w);
    return opd_reduce(report, item, &expected, &oracle, options);
}

static opd_verdict fails_if(bool condition)
{
    return condition ? OPD_VERDICT_SAME : OPD_VERDICT_PASS;
}

/* ----------------------------------------------------------------------------------------------------- sizes */

static opd_verdict residue_two_of_four(const opd_case *c, opd_failure *observed)
{
    (void)observed;
    int64_t m = value_of(c, "m");
    return fails_if(m % 4 == 2 && m >= 6);
}

static void make_gemv_of(opd_case *item, int64_t m, int64_t n)
{
    const char *names[] = { "m", "n", NULL };
    const int64_t sizes[] = { m, n };
    make_case(item, "zgemv", names, sizes);
}

static void make_gemv(opd_case *item)
{
    make_gemv_of(item, 126, 77);
}

static void residue_of_rows_is_found_and_explained(void **state)
{
    (void)state;
    world w = { .verdict = residue_two_of_four };
    opd_case item;
    opd_reduce_report report;
    make_gemv_of(&item, 1022, 777);
    assert_int_equal(reduce(&report, &item, &w, NULL), OPD_OK);
    print_message("%u runs, %u verifications\n%s", w.judged, w.accepted, report.explain);
    assert_int_equal(value_of(&item, "m"), 6);
    assert_int_equal(value_of(&item, "n"), 1);
    assert_int_equal(value_of(&item, "lda"), 6);
    assert_int_equal(report.runs, w.judged);
    assert_true(w.judged <= 60);
    assert_true(report.is_complete && !report.is_flaky);
    assert_int_equal(report.elements_after, 6 + 1 + 6);
    assert_string_equal(report.explain, "fails: m % 4 == 2 and m >= 6; passes at m = 5, 7\n");
    opd_case_done(&item);
}

static opd_verdict four_tails(const opd_case *c, opd_failure *observed)
{
    (void)observed;
    int64_t m = value_of(c, "m");
    int64_t k = value_of(c, "k");
    return fails_if(m > 16 && m % 16 != 0 && k >= 40);
}

static void linked_sizes_shrink_together(void **state)
{
    (void)state;
    const char *names[] = { "m", "n", "k", NULL };
    const int64_t sizes[] = { 333, 250, 401 };
    world w = { .verdict = four_tails };
    opd_case item;
    opd_reduce_report report;
    make_case(&item, "sgemm", names, sizes);
    assert_int_equal(reduce(&report, &item, &w, NULL), OPD_OK);
    print_message("%u runs\n%s", w.judged, report.explain);
    assert_int_equal(value_of(&item, "m"), 17);
    assert_int_equal(value_of(&item, "n"), 1);
    assert_int_equal(value_of(&item, "k"), 40);
    assert_int_equal(value_of(&item, "lda"), 17);
    assert_int_equal(value_of(&item, "ldb"), 40);
    assert_non_null(strstr(report.explain, "m % 16 != 0"));
    assert_non_null(strstr(report.explain, "k >= 40; passes at k = 39"));
    opd_case_done(&item);
}

/* ---------------------------------------------------------------------------------------------------- values */

/* alpha = 0 and a NaN in A reach C: the position does not matter, the value does. */
static opd_verdict nan_through_zero(const opd_case *c, opd_failure *observed)
{
    opd_call copy = c->call;
    bool has_nan = false;
    for (int64_t i = 0; i < count_of(c, "A"); i++) {
        double re;
        double im;
        element_of(c, "A", i, &re, &im);
        has_nan = has_nan || isnan(re);
    }
    snprintf(observed->operand, sizeof(observed->operand), "C");
    return fails_if(has_nan && opd_call_value(&copy, "alpha")->re == 0);
}

static void a_nan_far_inside_is_kept_by_the_window(void **state)
{
    (void)state;
    const char *names[] = { "m", "n", "k", "alpha", NULL };
    const int64_t sizes[] = { 100, 90, 80, 0 };
    world w = { .verdict = nan_through_zero };
    opd_case item;
    opd_reduce_report report;
    double re;
    double im;
    make_case(&item, "dgemm", names, sizes);
    opd_operand *a = opd_call_operand(&item.call, "A");
    int64_t at[OPD_MAX_RANK] = { 71, 53 };
    opd_element_store(OPD_F64, (char *)a->view.data + opd_tensor_offset(&a->view, at), (double)NAN, 0);
    assert_int_equal(reduce(&report, &item, &w, NULL), OPD_OK);
    print_message("%u runs\n%s", w.judged, report.explain);
    assert_int_equal(value_of(&item, "m") * value_of(&item, "n") * value_of(&item, "k"), 1);
    element_of(&item, "A", 0, &re, &im);
    assert_true(isnan(re));
    element_of(&item, "B", 0, &re, &im);
    assert_true(re == 0);
    assert_non_null(strstr(report.explain, "alpha = 0; passes at alpha = 1"));
    opd_case_done(&item);
}

/* A product of two large numbers in one row and column: two elements matter. */
static opd_verdict product_overflows(const opd_case *c, opd_failure *observed)
{
    (void)observed;
    for (int64_t i = 0; i < count_of(c, "x") && i < count_of(c, "y"); i++) {
        double x;
        double y;
        double im;
        element_of(c, "x", i, &x, &im);
        element_of(c, "y", i, &y, &im);
        if (isinf((float)(x * y))) {
            return OPD_VERDICT_SAME;
        }
    }
    return OPD_VERDICT_PASS;
}

static void large_values_become_simple_ones(void **state)
{
    (void)state;
    const char *names[] = { "n", NULL };
    const int64_t sizes[] = { 5000 };
    world w = { .verdict = product_overflows };
    opd_case item;
    opd_reduce_report report;
    make_case(&item, "sdot", names, sizes);
    float *x = opd_call_operand(&item.call, "x")->view.data;
    float *y = opd_call_operand(&item.call, "y")->view.data;
    x[4321] = 3.7e30F;
    y[4321] = -8.9e25F;
    assert_int_equal(reduce(&report, &item, &w, NULL), OPD_OK);
    print_message("%u runs\n", w.judged);
    assert_int_equal(value_of(&item, "n"), 1);
    x = opd_call_operand(&item.call, "x")->view.data;
    y = opd_call_operand(&item.call, "y")->view.data;
    assert_true(isinf(x[0] * y[0]));
    print_message("x = %g, y = %g\n", (double)x[0], (double)y[0]);
    assert_true(x[0] == 1e30F && y[0] == 1e25F);
    opd_case_done(&item);
}

/* ---------------------------------------------------------------------------------------------------- layout */

static opd_verdict negative_stride(const opd_case *c, opd_failure *observed)
{
    (void)observed;
    return fails_if(value_of(c, "incx") < 0 && value_of(c, "n") >= 2);
}

static void a_stride_that_matters_keeps_its_sign_only(void **state)
{
    (void)state;
    const char *names[] = { "n", "incx", "incy", NULL };
    const int64_t values[] = { 100, -7, 3 };
    const opd_routine *routine = opd_routine_find("daxpy");
    world w = { .verdict = negative_stride };
    opd_case item;
    opd_call call;
    opd_reduce_report report;
    assert_non_null(routine);
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(opd_call_set(&call, names[i], values[i]), OPD_OK);
    }
    assert_int_equal(opd_case_allocate(&item, &call, UINT64_MAX), OPD_OK);
    assert_int_equal(reduce(&report, &item, &w, NULL), OPD_OK);
    assert_int_equal(value_of(&item, "n"), 2);
    assert_int_equal(value_of(&item, "incx"), -1);
    assert_int_equal(value_of(&item, "incy"), 1);
    opd_case_done(&item);
}

static opd_verdict leading_dimension(const opd_case *c, opd_failure *observed)
{
    (void)observed;
    return fails_if(value_of(c, "lda") >= 20 && value_of(c, "lda") % 4 != 0);
}

static void a_leading_dimension_that_matters_is_kept_small(void **state)
{
    (void)state;
    const char *names[] = { "m", "n", NULL };
    const int64_t sizes[] = { 30, 40 };
    world w = { .verdict = leading_dimension };
    opd_case item;
    opd_call call;
    opd_case wide;
    opd_reduce_report report;
    make_case(&item, "dgemv", names, sizes);
    call = item.call;
    assert_int_equal(opd_call_set(&call, "lda", 101), OPD_OK);
    assert_int_equal(opd_case_allocate(&wide, &call, UINT64_MAX), OPD_OK);
    assert_int_equal(reduce(&report, &wide, &w, NULL), OPD_OK);
    assert_int_equal(value_of(&wide, "m"), 1);
    assert_int_equal(value_of(&wide, "n"), 1);
    assert_int_equal(value_of(&wide, "lda"), 21);
    opd_case_done(&item);
    opd_case_done(&wide);
}

static intptr_t apart(const opd_case *c)
{
    opd_call copy = c->call;
    return (intptr_t)opd_call_operand(&copy, "y")->view.data - (intptr_t)opd_call_operand(&copy, "x")->view.data;
}

static opd_verdict overlap_of_one(const opd_case *c, opd_failure *observed)
{
    (void)observed;
    return fails_if(apart(c) == 8 && value_of(c, "n") >= 3);
}

static opd_verdict size_of_three(const opd_case *c, opd_failure *observed)
{
    (void)observed;
    return fails_if(value_of(c, "n") >= 3);
}

/* y starts at the second element of x. */
static void make_overlapping(opd_case *item)
{
    const char *names[] = { "n", NULL };
    const int64_t sizes[] = { 100 };
    make_case(item, "daxpy", names, sizes);
    assert_int_equal(opd_call_set(&item->call, "n", 90), OPD_OK);
    opd_operand *y = opd_call_operand(&item->call, "y");
    const opd_operand *x = opd_call_operand(&item->call, "x");
    y->view.data = (double *)x->view.data + 1;
    y->view.storage = x->view.storage;
    y->view.storage_bytes = x->view.storage_bytes;
}

static void an_overlap_is_kept_only_when_it_matters(void **state)
{
    (void)state;
    world kept = { .verdict = overlap_of_one };
    world dropped = { .verdict = size_of_three };
    opd_case item;
    opd_reduce_report report;
    make_overlapping(&item);
    assert_int_equal(reduce(&report, &item, &kept, NULL), OPD_OK);
    assert_int_equal(value_of(&item, "n"), 3);
    assert_int_equal(apart(&item), 8);
    opd_case_done(&item);
    make_overlapping(&item);
    assert_int_equal(reduce(&report, &item, &dropped, NULL), OPD_OK);
    assert_int_equal(value_of(&item, "n"), 3);
    assert_true(apart(&item) >= 3 * 8 || apart(&item) <= -3 * 8);
    opd_case_done(&item);
}

static opd_verdict refuses_ldb(const opd_case *c, opd_failure *observed)
{
    opd_call copy = c->call;
    char text[256];
    const opd_operand *overflow = NULL;
    observed->outcome = OPD_OUTCOME_BAD_ARGS;
    bool is_legal = opd_call_check(&copy, text, sizeof(text), &overflow);
    return fails_if(!is_legal && copy.bad_arg == 11);
}

static void an_illegal_call_stays_illegal_in_the_same_way(void **state)
{
    (void)state;
    const char *names[] = { "m", "n", "k", NULL };
    const int64_t sizes[] = { 40, 50, 60 };
    world w = { .verdict = refuses_ldb };
    opd_case item;
    opd_reduce_report report;
    make_case(&item, "dgemm", names, sizes);
    item.call.flags |= OPD_CALL_ROW_MAJOR;
    opd_call_value(&item.call, "lda")->i = 60;
    opd_call_value(&item.call, "ldb")->i = 49;
    opd_call_value(&item.call, "ldc")->i = 50;
    assert_int_equal(opd_call_bind(&item.call), OPD_E_INVALID);
    assert_int_equal(reduce(&report, &item, &w, NULL), OPD_OK);
    assert_int_equal(value_of(&item, "m"), 1);
    assert_int_equal(value_of(&item, "k"), 1);
    assert_int_equal(value_of(&item, "ldb"), value_of(&item, "n") - 1);
    assert_true(value_of(&item, "n") <= 2);
    opd_case_done(&item);
}

/* ------------------------------------------------------------------------------------------ verdicts, budget */

static opd_verdict slips(const opd_case *c, opd_failure *observed)
{
    int64_t n = value_of(c, "n");
    if (n >= 6) {
        return OPD_VERDICT_SAME;
    }
    observed->outcome = OPD_OUTCOME_CRASH;
    observed->signal = 6;
    return OPD_VERDICT_OTHER;
}

static void another_failure_is_never_accepted_and_reported_once(void **state)
{
    (void)state;
    world w = { .verdict = slips };
    opd_case item;
    opd_reduce_report report;
    make_gemv(&item);
    assert_int_equal(reduce(&report, &item, &w, NULL), OPD_OK);
    assert_int_equal(value_of(&item, "n"), 6);
    assert_int_equal(w.bycatches, 1);
    assert_int_equal(w.caught.signal, 6);
    assert_true(report.others > 1);
    opd_case_done(&item);
}

static opd_verdict never(const opd_case *c, opd_failure *observed)
{
    (void)c;
    (void)observed;
    return OPD_VERDICT_PASS;
}

static void an_original_that_passes_is_refused(void **state)
{
    (void)state;
    world w = { .verdict = never };
    opd_case item;
    opd_reduce_report report;
    make_gemv(&item);
    assert_int_equal(reduce(&report, &item, &w, NULL), OPD_E_NOFAILURE);
    assert_int_equal(report.failure.outcome, OPD_OUTCOME_OK);
    assert_int_equal(value_of(&item, "m"), 126);
    opd_case_done(&item);
}

static void a_step_that_does_not_hold_on_disk_is_undone(void **state)
{
    (void)state;
    opd_case item;
    opd_reduce_report report;
    for (uint32_t step = 1; step <= 3; step++) {
        world w = { .verdict = residue_two_of_four, .refuse_accept = step };
        opd_failure seen;
        make_gemv(&item);
        assert_int_equal(reduce(&report, &item, &w, NULL), OPD_OK);
        assert_int_equal(residue_two_of_four(&item, &seen), OPD_VERDICT_SAME);
        assert_int_equal(report.accepted, w.accepted - 1);
        opd_case_done(&item);
    }
}

static void the_budget_ends_the_search_with_a_failing_case(void **state)
{
    (void)state;
    for (uint64_t budget = 1; budget < 60; budget += 7) {
        world w = { .verdict = residue_two_of_four };
        opd_reduce_options options = { .max_runs = budget };
        opd_failure seen;
        opd_case item;
        opd_reduce_report report;
        make_gemv(&item);
        assert_int_equal(reduce(&report, &item, &w, &options), OPD_OK);
        assert_true(w.judged <= budget);
        assert_int_equal(residue_two_of_four(&item, &seen), OPD_VERDICT_SAME);
        opd_case_done(&item);
    }
}

static void what_ended_a_search_is_told(void **state)
{
    static const opd_reduce_options options[] = { { .max_runs = 0 }, { .max_runs = 8 }, { .max_sweeps = 1 } };
    static const char *const names[] = { "fixpoint", "runs", "sweeps" };
    (void)state;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        world w = { .verdict = residue_two_of_four };
        opd_failure seen;
        opd_case item;
        opd_reduce_report report;
        make_gemv(&item);
        assert_int_equal(reduce(&report, &item, &w, &options[i]), OPD_OK);
        assert_string_equal(opd_reduce_end_name(report.end), names[i]);
        assert_true(report.is_complete == (i == 0) && (i < 2 || report.sweeps == 1));
        assert_int_equal(residue_two_of_four(&item, &seen), OPD_VERDICT_SAME);
        opd_case_done(&item);
    }
}

static void a_killed_search_goes_on_without_a_lost_run(void **state)
{
    (void)state;
    char path[] = "/tmp/opd-reduce-log-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    opd_reduce_options options = { .log_path = path };
    opd_case item;
    opd_reduce_report report;
    world whole = { .verdict = residue_two_of_four };
    make_gemv(&item);
    assert_int_equal(reduce(&report, &item, &whole, NULL), OPD_OK);
    opd_digest wanted = opd_case_id(&item);
    opd_case_done(&item);
    uint32_t total = 0;
    for (uint32_t killed_after = 3; killed_after <= 12; killed_after += 9) {
        world w = { .verdict = residue_two_of_four, .stop_after = killed_after };
        make_gemv(&item);
        assert_int_equal(reduce(&report, &item, &w, &options), OPD_E_CHILD);
        total += killed_after;
        opd_case_done(&item);
    }
    world rest = { .verdict = residue_two_of_four };
    make_gemv(&item);
    assert_int_equal(reduce(&report, &item, &rest, &options), OPD_OK);
    assert_int_equal(total + rest.judged, whole.judged);
    opd_digest got = opd_case_id(&item);
    assert_true(opd_digest_equal(&wanted, &got));
    opd_case_done(&item);
    world again = { .verdict = residue_two_of_four };
    make_gemv(&item);
    assert_int_equal(reduce(&report, &item, &again, &options), OPD_OK);
    assert_int_equal(again.judged, 0);
    assert_int_equal(again.accepted, 0);
    got = opd_case_id(&item);
    assert_true(opd_digest_equal(&wanted, &got));
    opd_case_done(&item);
    unlink(path);
}

static void a_flaky_failure_is_reduced_with_repeats(void **state)
{
    (void)state;
    world w = { .verdict = residue_two_of_four, .rate = 0.3 };
    opd_reduce_options options = { .max_runs = 20000 };
    opd_case item;
    opd_reduce_report report;
    make_gemv(&item);
    assert_int_equal(reduce(&report, &item, &w, &options), OPD_OK);
    print_message("flaky: %u runs, rate %.2f (at least %.2f)\n", w.judged, report.rate, report.rate_low);
    assert_true(report.is_flaky);
    assert_int_equal(value_of(&item, "m"), 6);
    assert_int_equal(value_of(&item, "n"), 1);
    assert_true(report.rate > 0.1 && report.rate < 0.6 && report.rate_low < report.rate);
    opd_case_done(&item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residue_of_rows_is_found_and_explained),
        cmocka_unit_test(linked_sizes_shrink_together),
        cmocka_unit_test(a_nan_far_inside_is_kept_by_the_window),
        cmocka_unit_test(large_values_become_simple_ones),
        cmocka_unit_test(a_stride_that_matters_keeps_its_sign_only),
        cmocka_unit_test(a_leading_dimension_that_matters_is_kept_small),
        cmocka_unit_test(an_overlap_is_kept_only_when_it_matters),
        cmocka_unit_test(an_illegal_call_stays_illegal_in_the_same_way),
        cmocka_unit_test(another_failure_is_never_accepted_and_reported_once),
        cmocka_unit_test(an_original_that_passes_is_refused),
        cmocka_unit_test(a_step_that_does_not_hold_on_disk_is_undone),
        cmocka_unit_test(the_budget_ends_the_search_with_a_failing_case),
        cmocka_unit_test(what_ended_a_search_is_told),
        cmocka_unit_test(a_killed_search_goes_on_without_a_lost_run),
        cmocka_unit_test(a_flaky_failure_is_reduced_with_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
