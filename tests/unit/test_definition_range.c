/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What leaves f32's range on the way to a result that does not is open: its gauge is infinite, or as large as what underflow loses. What is merely excluded, or
 * infinite from the start, is not. Expected values are sums and products of the few numbers written here.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>
#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#define MOST  FLT_MAX
#define LEAST 0x1p-149F /* subnormal of f32 */

enum { INPUTS = 5, ELEMENTS = 8 };

typedef struct range_case {
    const char *domain, *name, *shapes, *attributes;
    float in[INPUTS][ELEMENTS];
    int output;   /* operand */
    bool open[2]; /* is its element open? */
} range_case;

/* Runs the definition in long double; the arrays are the caller's to free. */
static int64_t define(long double **value, long double **gauge, const range_case *at)
{
    opd_call call;
    opd_case item;
    long double *values[OPD_MAX_OPERANDS] = { NULL };
    long double *gauges[OPD_MAX_OPERANDS] = { NULL };
    opd_call_wish wish = { .shapes = at->shapes, .attributes = at->attributes };
    if (opd_call_make(&call, opd_op_find(at->domain, at->name), &wish) != OPD_OK) {
        fail_msg("%s", opd_error_text());
    }
    assert_int_equal(opd_case_allocate(&item, &call, UINT64_MAX), OPD_OK);
    for (int i = 0, given = 0; i < item.call.operand_count; i++) {
        opd_operand *operand = &item.call.operands[i];
        if (operand->role == OPD_ROLE_IN && operand->view.data != NULL) {
            memcpy(operand->view.data, at->in[given++], (size_t)opd_tensor_count(&operand->view) * sizeof(float));
        }
    }
    assert_int_equal(opd_definition_run(values, gauges, &item.call, true), OPD_OK);
    int64_t count = opd_tensor_count(&item.call.operands[at->output].view);
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        if (i != at->output) {
            opd_free(values[i]);
            opd_free(gauges[i]);
        }
    }
    *value = values[at->output];
    *gauge = gauges[at->output];
    opd_case_done(&item);
    return count;
}

static void check(const range_case *at)
{
    long double *value = NULL;
    long double *gauge = NULL;
    int64_t count = define(&value, &gauge, at);
    assert_true(count >= 1);
    for (int64_t i = 0; i < count && i < 2; i++) {
        if (isinf(gauge[i]) != at->open[i]) {
            fail_msg("%s %s: element %lld is %s", at->name, at->shapes, (long long)i, at->open[i] ? "closed" : "open");
        }
        assert_true(at->open[i] || isfinite(value[i]));
    }
    opd_free(value);
    opd_free(gauge);
}

#define ATTENTION(keys) \
    .domain = "opsdebug", .name = "FusedAttention", .shapes = "[1,1,1,1];[1,1," keys ",1];[1,1," keys ",1]", .output = 4

static void keys_that_the_mask_excludes_leave_a_result_judged(void **state)
{
    (void)state;
    const range_case causal = { ATTENTION("2"), .attributes = "is_causal=1", .in = { { 1 }, { 1, 2 }, { 3, 5 } } };
    const range_case values = { ATTENTION("2"), .attributes = "is_causal=1",
                                .in = { { 1 }, { 1, 2 }, { MOST, MOST } } };
    check(&causal);
    check(&values);
}

static void scores_and_weighed_sums_may_leave_the_range(void **state)
{
    (void)state;
    const range_case cases[] = {
        { ATTENTION("2"), .in = { { 1e30F }, { 1e30F, 1 }, { 3, 5 } }, .open = { true } },
        /* Half of each, but the whole of both before the division by the sum of weights. */
        { ATTENTION("2"), .in = { { 1 }, { 1, 1 }, { MOST, MOST } }, .open = { true } },
        { ATTENTION("2"), .in = { { 1 }, { 1, 1 }, { MOST / 4, MOST / 4 } } },
        /* Half of the least number is none, and none of Inf is NaN; without the half it is -Inf, which another key outweighs. */
        { .domain = "opsdebug",
          .name = "FusedAttention",
          .shapes = "[1,1,1,4];[1,1,2,4];[1,1,2,1]",
          .output = 4,
          .in = { { -LEAST, 0, 0, 0 }, { INFINITY, 0, 0, 0, 1, 0, 0, 0 }, { 0, 0 } },
          .open = { true } },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        check(&cases[i]);
    }
}

static void sums_that_are_normalized_may_leave_the_range(void **state)
{
    (void)state;
    const range_case cases[] = {
        /* Lines of one element each. */
        { .domain = "opsdebug",
          .name = "AddLayerNorm",
          .shapes = "[2,1];[2,1];[1];[1]",
          .output = 4,
          .in = { { MOST, 1 }, { MOST, 2 }, { 1 }, { 0 } },
          .open = { true, false } },
        { .domain = "ai.onnx",
          .name = "LpNormalization",
          .shapes = "[1,2]",
          .output = 1,
          .in = { { MOST, MOST } },
          .open = { true, true } },
        { .domain = "ai.onnx", .name = "LpNormalization", .shapes = "[1,2]", .output = 1, .in = { { MOST, 0 } } },
        { .domain = "opsdebug",
          .name = "WindowL2Normalization",
          .shapes = "[1,1,1,2]",
          .output = 1,
          .in = { { MOST, MOST } },
          .open = { true, true } },
        { .domain = "opsdebug",
          .name = "WindowL2Normalization",
          .shapes = "[1,1,1,2]",
          .output = 1,
          .in = { { MOST, 0 } } },
        { .domain = "ai.onnx",
          .name = "ReduceMean",
          .shapes = "[2]",
          .output = 2,
          .in = { { MOST, MOST } },
          .open = { true } },
        { .domain = "ai.onnx", .name = "ReduceMean", .shapes = "[2]", .output = 2, .in = { { MOST, 0 } } },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        check(&cases[i]);
    }
}

static void a_product_may_leave_the_range_before_alpha_shrinks_it(void **state)
{
    (void)state;
    const range_case cases[] = {
        { .domain = "ai.onnx",
          .name = "Gemm",
          .shapes = "[1,2];[2,1];[1,1]",
          .attributes = "alpha=0",
          .output = 3,
          .in = { { MOST, MOST }, { 1, -1 }, { 5 } },
          .open = { true } },
        { .domain = "ai.onnx",
          .name = "Gemm",
          .shapes = "[1,2];[2,1];[1,1]",
          .attributes = "alpha=0",
          .output = 3,
          .in = { { MOST, 0 }, { 1, -1 }, { 5 } } },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        check(&cases[i]);
    }
}

static void a_normalized_value_may_leave_the_range_before_a_scale_of_zero(void **state)
{
    (void)state;
    range_case norm = { .domain = "ai.onnx",
                        .name = "BatchNormalization",
                        .shapes = "[2,1,1,1];[1];[1];[1];[1]",
                        .output = 5,
                        .in = { { MOST, 1 }, { 0 }, { 7 }, { 0 }, { 0 } },
                        .open = { true, false } };
    check(&norm);
}

/* The sum of a gate; then the state is open, in the next step too. Without the overflow the output gate is shut: exactly 0. */
static void a_gate_may_leave_the_range_and_keeps_the_state_open(void **state)
{
    (void)state;
    const range_case sum = { .domain = "ai.onnx",
                             .name = "LSTM",
                             .shapes = "[2,1,2];[1,4,2];[1,4,1];-;-;-;-;-",
                             .output = 8,
                             .in = { { MOST, MOST, 0, 0 }, { -1, -1, -1, -1, -1, -1, -1, -1 }, { 1, 1, 1, 1 } },
                             .open = { true, true } };
    const range_case large = { .domain = "ai.onnx",
                               .name = "LSTM",
                               .shapes = "[2,1,2];[1,4,2];[1,4,1];-;-;-;-;-",
                               .output = 8,
                               .in = { { MOST, 0, 0, 0 }, { -1, -1, -1, -1, -1, -1, -1, -1 }, { 1, 1, 1, 1 } } };
    check(&sum);
    check(&large);
}

/* z = x / root mean square is below the least subnormal; the scale brings what is lost back to size. */
static void what_underflow_loses_counts_as_often_as_it_is_multiplied(void **state)
{
    (void)state;
    const range_case norm = { .domain = "ai.onnx",
                              .name = "RMSNormalization",
                              .shapes = "[1,2];[2]",
                              .output = 2,
                              .in = { { 0x1p-126F, MOST }, { MOST, 1 } } };
    const range_case usual = { .domain = "ai.onnx",
                               .name = "RMSNormalization",
                               .shapes = "[1,2];[2]",
                               .output = 2,
                               .in = { { 1, 2 }, { 1, 1 } } };
    long double *value = NULL;
    long double *gauge = NULL;
    (void)define(&value, &gauge, &norm);
    long double allowed = 16 * 0x1p-23L * gauge[0];
    assert_true(value[0] > 0 && allowed >= (long double)MOST * (long double)LEAST);
    assert_true(allowed <= 32 * (long double)MOST * (long double)LEAST);
    opd_free(value);
    opd_free(gauge);
    (void)define(&value, &gauge, &usual);
    assert_true(gauge[0] >= value[0] && gauge[0] <= value[0] * (1 + 1e-6L));
    opd_free(value);
    opd_free(gauge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_the_mask_excludes_leave_a_result_judged),
        cmocka_unit_test(scores_and_weighed_sums_may_leave_the_range),
        cmocka_unit_test(sums_that_are_normalized_may_leave_the_range),
        cmocka_unit_test(a_product_may_leave_the_range_before_alpha_shrinks_it),
        cmocka_unit_test(a_normalized_value_may_leave_the_range_before_a_scale_of_zero),
        cmocka_unit_test(a_gate_may_leave_the_range_and_keeps_the_state_open),
        cmocka_unit_test(what_underflow_loses_counts_as_often_as_it_is_multiplied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
