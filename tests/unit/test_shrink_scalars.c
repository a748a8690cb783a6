// SPDX-License-Identifier: Apache-2.0
// Scalars of a reduced call: which value counts as the simplest follows from what it leaves unread.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/random.h>
#include <opsdebug/reduce.h>

typedef bool fails_fn(const opd_case *candidate);

static double real_of(const opd_case *item, const char *name)
{
    opd_call copy = item->call;
    return opd_call_value(&copy, name)->re;
}

static bool always(const opd_case *candidate)
{
    (void)candidate;
    return true;
}

static bool needs_beta(const opd_case *candidate)
{
    return real_of(candidate, "beta") != 0;
}

static opd_status judge(void *context, opd_verdict *verdict, opd_failure *observed, const opd_case *candidate)
{
    fails_fn *const *fails = context;
    *observed = (opd_failure){ .outcome = OPD_OUTCOME_MISMATCH, .index_rank = -1 };
    *verdict = (*fails)(candidate) ? OPD_VERDICT_SAME : OPD_VERDICT_PASS;
    return OPD_OK;
}

static opd_status accept(void *context, opd_verdict *verdict, const opd_case *best, const opd_failure *observed,
                         const opd_lineage *step)
{
    opd_failure again;
    (void)observed;
    (void)step;
    return judge(context, verdict, &again, best);
}

static void reduce(opd_case *item, const char *routine_name, double alpha, double beta, fails_fn *fails)
{
    const opd_routine *routine = opd_routine_find(routine_name);
    const opd_failure expected = { .outcome = OPD_OUTCOME_MISMATCH, .index_rank = -1 };
    const opd_fill ones = { .kind = OPD_FILL_CONSTANT, .a = 1 };
    const opd_oracle oracle = { .judge = judge, .accept = accept, .context = &fails };
    opd_reduce_report report;
    opd_call call;
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    assert_int_equal(opd_call_set(&call, "n", 3), OPD_OK);
    opd_call_value(&call, "alpha")->re = alpha;
    if (opd_call_value(&call, "beta") != NULL) {
        opd_call_value(&call, "beta")->re = beta;
    }
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    assert_int_equal(opd_case_allocate(item, &call, UINT64_MAX), OPD_OK);
    for (int i = 0; i < item->call.operand_count; i++) {
        opd_tensor_fill(&item->call.operands[i].view, &ones);
    }
    assert_int_equal(opd_reduce(&report, item, &expected, &oracle, NULL), OPD_OK);
}

/* beta = 0 leaves the old output out of the call; alpha = 0 would leave out what the result is made of, or (scal) all there is. */
static void scalars_end_at_the_simplest_value_that_fails(void **state)
{
    (void)state;
    static const struct {
        const char *routine;
        double alpha, beta;
        fails_fn *fails;
        double alpha_left, beta_left;
    } rows[] = {
        { "dgemm", 2.5, 1, always, 1, 0 },   { "zgemm", 1, 1, always, 1, 0 },     { "zgemm", 0, 0.5, always, 0, 0 },
        { "dgemm", 1, 3, needs_beta, 1, 1 }, { "dgemm", 1, 1, needs_beta, 1, 1 }, { "dsymv", -1, 1, always, 1, 0 },
        { "dscal", 1, 0, always, 1, 0 },     { "daxpy", 7, 0, always, 1, 0 },
    };
    for (size_t i = 0; i < OPD_COUNT(rows); i++) {
        opd_case item;
        reduce(&item, rows[i].routine, rows[i].alpha, rows[i].beta, rows[i].fails);
        print_message("%s\n", rows[i].routine);
        assert_true(real_of(&item, "alpha") == rows[i].alpha_left);
        assert_true(opd_call_value(&item.call, "beta") == NULL || real_of(&item, "beta") == rows[i].beta_left);
        opd_case_done(&item);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_end_at_the_simplest_value_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
