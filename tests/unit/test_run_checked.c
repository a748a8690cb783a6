/* SPDX-License-Identifier: Apache-2.0 */
/* An operator with a safety net: whatever is wrong with its fast form, the caller gets the reference's result. No recorder is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/record.h>

enum { COUNT = 4 };

typedef enum fault { FAULT_NONE, FAULT_NAN, FAULT_WRONG, FAULT_GIVES_UP } fault;

typedef struct runs {
    fault fault;
    int fast, reference;
} runs;

/* acc += x * x, in place */
static void compute(const opd_call *call)
{
    const float *x = call->operands[0].view.data;
    float *acc = call->operands[1].view.data;
    for (int i = 0; i < COUNT; i++) {
        acc[i] += x[i] * x[i];
    }
}

static opd_status run_fast(const opd_call *call, void *context)
{
    runs *own = context;
    own->fast++;
    compute(call);
    float *acc = call->operands[1].view.data;
    switch (own->fault) {
    case FAULT_NAN:
        acc[2] = NAN;
        return OPD_OK;
    case FAULT_WRONG:
        acc[3] += 1;
        return OPD_OK;
    case FAULT_GIVES_UP:
        acc[0] = -1;
        return OPD_E_LIMIT;
    default:
        return OPD_OK;
    }
}

static opd_status run_reference(const opd_call *call, void *context)
{
    ((runs *)context)->reference++;
    compute(call);
    return OPD_OK;
}

static void make_call(opd_call *call, float *x, float *acc)
{
    memset(call, 0, sizeof(*call));
    snprintf(call->domain, sizeof(call->domain), "%s", "example");
    snprintf(call->name, sizeof(call->name), "%s", "SquareAdd");
    call->operand_count = 2;
    for (int i = 0; i < 2; i++) {
        call->operands[i].role = i == 0 ? OPD_ROLE_IN : OPD_ROLE_INOUT;
        snprintf(call->operands[i].name, sizeof(call->operands[i].name), "%s", i == 0 ? "X" : "Acc");
        call->operands[i].view =
            (opd_tensor){ .data = i == 0 ? x : acc, .dtype = OPD_F32, .rank = 1, .shape = { COUNT }, .stride = { 1 } };
    }
}

static void call_once(opd_checked *checked, float x0, float want0)
{
    float x[COUNT] = { x0, 1, 2, 3 };
    float acc[COUNT] = { 10, 20, 30, 40 };
    opd_call call;
    make_call(&call, x, acc);
    assert_int_equal(opd_run_checked(checked, &call), OPD_OK);
    const float want[COUNT] = { want0, 21, 34, 49 };
    for (int i = 0; i < COUNT; i++) {
        assert_true(acc[i] == want[i] || (isnan(acc[i]) && isnan(want[i])));
    }
}

static void a_right_operator_runs_alone(void **state)
{
    (void)state;
    runs own = { .fault = FAULT_NONE };
    opd_checked checked = {
        .fast = run_fast, .reference = run_reference, .context = &own, .shadow_every = 4, .tolerance = 1e-6
    };
    for (int i = 0; i < 8; i++) {
        call_once(&checked, 3, 19);
    }
    assert_int_equal(own.fast, 8);
    assert_int_equal(own.reference, 2);
    assert_int_equal(checked.shadows, 2);
    assert_false(checked.is_unstable);
    call_once(&checked, NAN, NAN); /* NaN that comes in may go out */
    assert_false(checked.is_unstable);
}

static void a_faulty_one_costs_the_caller_nothing(void **state)
{
    (void)state;
    const fault faults[] = { FAULT_NAN, FAULT_WRONG, FAULT_GIVES_UP };
    for (size_t i = 0; i < OPD_COUNT(faults); i++) {
        runs own = { .fault = faults[i] };
        opd_checked checked = {
            .fast = run_fast, .reference = run_reference, .context = &own, .shadow_every = 1, .tolerance = 1e-6
        };
        call_once(&checked, 3, 19);
        assert_true(checked.is_unstable);
        assert_int_equal(checked.fallbacks, 1);
        call_once(&checked, 3, 19);
        assert_int_equal(own.fast, 1); /* never again */
        assert_int_equal(checked.fallbacks, 1);
    }
}

static void what_no_shadow_run_sees_is_believed(void **state)
{
    (void)state;
    runs own = { .fault = FAULT_WRONG };
    opd_checked checked = { .fast = run_fast, .reference = run_reference, .context = &own };
    float x[COUNT] = { 3, 1, 2, 3 };
    float acc[COUNT] = { 10, 20, 30, 40 };
    opd_call call;
    make_call(&call, x, acc);
    assert_int_equal(opd_run_checked(&checked, &call), OPD_OK);
    assert_true(acc[3] == 50 && !checked.is_unstable && own.reference == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_operator_runs_alone),
        cmocka_unit_test(a_faulty_one_costs_the_caller_nothing),
        cmocka_unit_test(what_no_shadow_run_sees_is_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
