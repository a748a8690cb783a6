/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How definitions meet a call's operands: every dtype loaded exactly, any strides, what is not there left out, results
 * confined to the output's dtype, each precision rounded as it is. Expected values are two's complement and IEEE facts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include <opsdebug/bundle.h>
#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "kernel_lists.h"

/* Y = A + B + sum of what is there of C; the gauge is the sum of the absolute values. */
static opd_status define_sum(opd_definition_work *work)
{
    const opd_array *a = &work->array[0];
    const opd_array *b = &work->array[1];
    const opd_array *c = &work->array[2];
    opd_array *y = &work->array[3];
    for (int64_t i = 0; i < y->count; i++) {
        long double extra = c->value != NULL ? c->value[i] : 0;
        y->value[i] = opd_round(work, opd_round(work, a->value[i] + b->value[i]) + extra);
        if (y->gauge != NULL) {
            y->gauge[i] = fabsl(a->value[i]) + fabsl(b->value[i]) + fabsl(extra);
        }
    }
    return OPD_OK;
}

#define SUM(text, rule)                                                                                       \
    {                                                                                                         \
        .domain = "test", .name = (text), .types = "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool c64", \
        .signature = "A:T[n...], B:T[n...], C?:T[n...] if(beta != 0) -> Y:T[n...]", .attributes = "beta:f=1", \
        .overflow = (rule)                                                                                    \
    }
static const opd_op ops[] = { SUM("Wrapping", OPD_OVERFLOW_WRAP), SUM("Saturating", OPD_OVERFLOW_SATURATE) };
static const opd_kernel kernels[] = {
    { .domain = "test", .name = "Wrapping", .define = define_sum },
    { .domain = "test", .name = "Saturating", .define = define_sum },
};

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(ops); i++) {
        if (opd_op_register(&ops[i]) != OPD_OK) {
            return -1;
        }
    }
    return opd_kernels_add(kernels, (int)OPD_COUNT(kernels)) == OPD_OK ? 0 : -1;
}

static opd_case made(const char *name, const char *shapes, const char *attributes)
{
    opd_call call;
    opd_case item;
    opd_call_wish wish = { .shapes = shapes, .attributes = attributes };
    assert_int_equal(opd_call_make(&call, opd_op_find("test", name), &wish), OPD_OK);
    assert_int_equal(opd_case_allocate(&item, &call, UINT64_MAX), OPD_OK);
    return item;
}

/* a + b in one dtype, as the definition leaves it. */
static long double sum_of(const char *name, opd_dtype dtype, long double a, long double b, bool is_wide)
{
    char shapes[64];
    long double result = 0;
    snprintf(shapes, sizeof shapes, "%s[1];%s[1]", opd_dtype_name(dtype), opd_dtype_name(dtype));
    opd_case item = made(name, shapes, NULL);
    opd_element_store_wide(dtype, item.call.operands[0].view.data, a);
    opd_element_store_wide(dtype, item.call.operands[1].view.data, b);
    opd_status status =
        is_wide ? opd_reference_run(&result, NULL, &item.call, 3) : opd_naive_run(&result, &item.call, 3);
    if (status != OPD_OK) {
        fail_msg("%s", opd_error_text());
    }
    opd_case_done(&item);
    return result;
}

static void integers_wrap_or_saturate_as_the_contract_says(void **state)
{
    (void)state;
    static const struct {
        opd_dtype dtype;
        long double a, b, wrapped, saturated;
    } cases[] = {
        { OPD_I8, 127, 1, -128, 127 },
        { OPD_I8, -128, -1, 127, -128 },
        { OPD_I8, -128, -128, 0, -128 },
        { OPD_I8, 100, 27, 127, 127 },
        { OPD_U8, 255, 1, 0, 255 },
        { OPD_U8, 255, 255, 254, 255 },
        { OPD_I16, 32767, 1, -32768, 32767 },
        { OPD_U16, 65535, 2, 1, 65535 },
        { OPD_I32, 2147483647, 1, -2147483648.0L, 2147483647 },
        { OPD_U32, 4294967295.0L, 1, 0, 4294967295.0L },
        { OPD_I64, 9223372036854775807.0L, 1, -9223372036854775808.0L, 9223372036854775807.0L },
        { OPD_I64, -9223372036854775808.0L, -9223372036854775808.0L, 0, -9223372036854775808.0L },
        { OPD_I64, 9007199254740993.0L, 0, 9007199254740993.0L, 9007199254740993.0L },
        { OPD_U64, 18446744073709551615.0L, 18446744073709551615.0L, 18446744073709551614.0L, 18446744073709551615.0L },
        { OPD_BOOL, 1, 1, 1, 1 },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        for (int is_wide = 0; is_wide < 2; is_wide++) {
            long double wrapped = sum_of("Wrapping", cases[i].dtype, cases[i].a, cases[i].b, is_wide != 0);
            long double saturated = sum_of("Saturating", cases[i].dtype, cases[i].a, cases[i].b, is_wide != 0);
            if (wrapped != cases[i].wrapped || saturated != cases[i].saturated) {
                fail_msg("%s %.0Lf + %.0Lf: %.0Lf, %.0Lf", opd_dtype_name(cases[i].dtype), cases[i].a, cases[i].b,
                         wrapped, saturated);
            }
        }
    }
}

static void floats_round_in_the_accumulator_then_in_the_output(void **state)
{
    (void)state;
    assert_true(sum_of("Wrapping", OPD_F32, 1, 0x1p-24L, false) == 1);
    assert_true(sum_of("Wrapping", OPD_F32, 1, 0x1p-24L, true) == 1 + 0x1p-24L);
    assert_true(sum_of("Wrapping", OPD_F32, 1, 0x1.8p-24L, false) == 1 + 0x1p-23L);
    assert_true(sum_of("Wrapping", OPD_F64, 1, 0x1p-53L, false) == 1);
    assert_true(sum_of("Wrapping", OPD_F64, 1, 0x1p-53L, true) == 1 + 0x1p-53L);
    assert_true(sum_of("Wrapping", OPD_F16, 2048, 1, false) == 2048);
    assert_true(sum_of("Wrapping", OPD_F16, 2048, 1, true) == 2049);
    assert_true(isinf(sum_of("Wrapping", OPD_F16, 65504, 65504, false)));
    assert_true(sum_of("Wrapping", OPD_F16, 65504, 65504, true) == 131008);
    assert_true(sum_of("Wrapping", OPD_BF16, 256, 1, false) == 256);
    assert_true(isnan(sum_of("Wrapping", OPD_F32, INFINITY, -INFINITY, false)));
}

static void strides_and_absent_operands_are_as_the_call_has_them(void **state)
{
    (void)state;
    float a[12] = { 0 };
    float b[6];
    float y[6] = { 0 };
    long double value[6];
    long double gauge[6];
    opd_case item = made("Wrapping", "f32[2,3];f32[2,3];f32[2,3]", "beta=0");
    opd_call *call = &item.call;
    for (int i = 0; i < 6; i++) {
        b[i] = (float)(10 * i);
    }
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            a[11 - (i + 4 * j)] = (float)(-1 - i - 2 * j); /* element (i, j): columns apart, backwards */
        }
    }
    call->operands[0].view.data = a + 11;
    call->operands[0].view.stride[0] = -1;
    call->operands[0].view.stride[1] = -4;
    call->operands[1].view.data = b;
    call->operands[2].view.data = NULL; /* beta = 0: must not be read */
    call->operands[3].view.data = y;
    assert_int_equal(opd_call_bind(call), OPD_OK);
    assert_int_equal(opd_reference_run(value, gauge, call, 3), OPD_OK);
    for (int i = 0; i < 6; i++) {
        assert_true(value[i] == 10 * i - 1 - i / 3 - 2 * (i % 3));
        assert_true(gauge[i] == 10 * i + 1 + i / 3 + 2 * (i % 3));
    }
    assert_int_equal(opd_reference_run(value, gauge, call, 0), OPD_E_INVALID);
    const opd_variant *naive = NULL;
    assert_int_equal(opd_kernel_choose(&naive, &kernels[0], call, "naive"), OPD_OK);
    assert_int_equal(opd_variant_run(naive, call, NULL), OPD_OK);
    assert_true(y[5] == 50 - 2 - 4);
    opd_case_done(&item);
}

static void empty_and_scalar_operands_have_no_and_one_element(void **state)
{
    (void)state;
    long double value[2] = { 5, 5 };
    opd_case item = made("Wrapping", "f32[0,3];f32[0,3]", NULL);
    assert_int_equal(opd_naive_run(value, &item.call, 3), OPD_OK);
    assert_true(value[0] == 5);
    opd_case_done(&item);
    item = made("Wrapping", "i64[];i64[]", NULL);
    *(int64_t *)item.call.operands[0].view.data = 41;
    *(int64_t *)item.call.operands[1].view.data = 1;
    assert_int_equal(opd_naive_run(value, &item.call, 3), OPD_OK);
    assert_true(value[0] == 42 && value[1] == 5);
    opd_case_done(&item);
}

static void calls_that_do_not_fit_are_refused_before_memory_is_touched(void **state)
{
    (void)state;
    long double value[64];
    opd_case item = made("Wrapping", "f32[4];f32[4]", NULL);
    opd_call call = item.call;
    call.operands[3].view.shape[0] = 5;
    assert_int_equal(opd_reference_run(value, NULL, &call, 3), OPD_E_INVALID);
    assert_string_equal(opd_error_text(), "Wrapping: Y f32[5], where it must be Y f32[4]");
    call = item.call;
    call.operands[1].view.data = NULL;
    assert_int_equal(opd_reference_run(value, NULL, &call, 3), OPD_E_INVALID);
    assert_string_equal(opd_error_text(), "B has no data");
    call = item.call;
    call.operand_count = 9;
    assert_int_equal(opd_reference_run(value, NULL, &call, 3), OPD_E_INVALID);
    opd_case_done(&item);
    item = made("Wrapping", "c64[4];c64[4]", NULL);
    assert_int_equal(opd_reference_run(value, NULL, &item.call, 3), OPD_E_DECLINED);
    opd_case_done(&item);
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    long double value[4];
    long double gauge[4];
    opd_case item = made("Wrapping", "f32[4];f32[4]", NULL);
    opd_status status = OPD_E_NOMEM;
    int failures = 0;
    for (long n = 0; status != OPD_OK; n++) {
        opd_error_clear();
        opd_fail_allocation_after(n);
        status = opd_reference_run(value, gauge, &item.call, 3);
        opd_fail_allocation_after(-1);
        assert_true(status == OPD_OK || (status == OPD_E_NOMEM && strlen(opd_error_text()) > 0));
        failures += status != OPD_OK;
    }
    assert_int_equal(failures, 4); /* two inputs, the output and its gauge */
    opd_fail_allocation_after(0);
    static const opd_op one = { .domain = "test", .name = "One", .types = "f32", .signature = "X:T[n] -> Y:T[n]" };
    assert_int_equal(opd_op_register(&one), OPD_E_NOMEM);
    opd_fail_allocation_after(-1);
    assert_null(opd_op_find("test", "One"));
    opd_case_done(&item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_wrap_or_saturate_as_the_contract_says),
        cmocka_unit_test(floats_round_in_the_accumulator_then_in_the_output),
        cmocka_unit_test(strides_and_absent_operands_are_as_the_call_has_them),
        cmocka_unit_test(empty_and_scalar_operands_have_no_and_one_element),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(calls_that_do_not_fit_are_refused_before_memory_is_touched),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
