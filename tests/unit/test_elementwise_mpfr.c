/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions against MPFR: the definition in wide precision has to be true to a few bits of long double, every variant within
 * the bound of its contract.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include <mpfr.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>
#include <opsdebug/random.h>

#include "mpfr_functions.h"

#define COUNT 4000

static const opd_dtype dtypes[] = { OPD_F32, OPD_F64, OPD_F16, OPD_BF16 };

/* Any bit pattern, then numbers around 1, then near the ends of exp's range. */
static double input(opd_dtype dtype, uint64_t i, uint64_t stream)
{
    uint64_t bits = opd_random_u64(5, stream, i);
    double value = 0;
    double im;
    if (i % 4 == 0) {
        opd_element_load(dtype, &bits, &value, &im);
        return value;
    }
    double unit = (double)(bits >> 11) * 0x1p-53 - 0.5;
    return i % 4 == 1 ? 12 * unit : i % 4 == 2 ? 1.5 * unit + 0.9 : 210 * unit;
}

static void fill(const opd_tensor *view, uint64_t stream)
{
    for (int64_t i = 0; i < COUNT; i++) {
        opd_element_store(view->dtype, (uint8_t *)view->data + i * (int64_t)opd_dtype_size(view->dtype),
                          input(view->dtype, (uint64_t)i, stream), 0);
    }
}

static long double element(const opd_tensor *view, int64_t i)
{
    return opd_element_load_wide(view->dtype, (const uint8_t *)view->data + i * (int64_t)opd_dtype_size(view->dtype));
}

/* True values, rounded to long double. */
static void evaluate(long double *out, const mpfr_function *function, const opd_call *call)
{
    for (int64_t i = 0; i < COUNT; i++) {
        long double y = function->inputs > 1 ? element(&call->operands[1].view, i) : 0;
        out[i] = mpfr_function_value(function, element(&call->operands[0].view, i), y);
    }
}

static void require_definition_is_true(const mpfr_function *function, const opd_call *call, const long double *want)
{
    long double *values[OPD_MAX_OPERANDS] = { NULL };
    assert_int_equal(opd_definition_run(values, NULL, call, true), OPD_OK);
    const long double *got = values[call->operand_count - 1];
    for (int64_t i = 0; i < COUNT; i++) {
        long double x = element(&call->operands[0].view, i);
        long double allowed = ldexpl(LDBL_EPSILON, function->lost_bits) * (function->is_steep ? 1 + x * x : 1);
        bool is_same = got[i] == want[i] || (isnan(got[i]) && isnan(want[i]));
        if (!is_same && !(fabsl(got[i] - want[i]) <= allowed * fabsl(want[i]) + 0x1p-16440L)) {
            fail_msg("%s of %.20Lg is %.20Lg, not %.20Lg", function->name, x, got[i], want[i]);
        }
    }
    opd_free(values[call->operand_count - 1]);
}

/* The gauge rule for Gelu, units in the last place for the others. */
static double limit_at(const opd_call *call, int64_t i, long double want)
{
    const opd_bound *bound = &call->op->bound;
    opd_dtype dtype = call->dtype;
    double ulp = opd_dtype_ulp(dtype, (double)want);
    bool is_narrow = dtype == OPD_F16 || dtype == OPD_BF16;
    if (bound->kind == OPD_BOUND_GAUGE) {
        double size = fabs((double)element(&call->operands[0].view, i));
        return 0.5 * ulp + 16 * opd_dtype_epsilon(dtype == OPD_F64 ? OPD_F64 : OPD_F32) * size / 4;
    }
    return (double)(is_narrow ? bound->narrow_limit : bound->limit) * ulp;
}

static void require_variant_is_near(const char *variant, const opd_call *call, const long double *want)
{
    const opd_tensor *output = &call->operands[call->operand_count - 1].view;
    for (int64_t i = 0; i < COUNT; i++) {
        long double got = element(output, i);
        uint64_t bits = 0;
        opd_element_store_wide(call->dtype, &bits, want[i]);
        long double rounded = opd_element_load_wide(call->dtype, &bits);
        bool is_same = got == rounded || (isnan(got) && isnan(rounded));
        if (!is_same && !(fabsl(got - want[i]) <= (long double)limit_at(call, i, want[i]))) {
            fail_msg("%s %s of %s %.20Lg is %.20Lg, not %.20Lg", variant, call->name, opd_dtype_name(call->dtype),
                     element(&call->operands[0].view, i), got, want[i]);
        }
    }
}

static void variants_are_within_their_bounds(void **state)
{
    (void)state;
    static uint64_t memory[3][COUNT];
    static long double want[COUNT];
    for (int f = 0; f < mpfr_function_count(); f++) {
        const mpfr_function *function = mpfr_function_at(f);
        const opd_kernel *kernel = opd_kernel_find("ai.onnx", function->name);
        const opd_op *op = opd_op_find("ai.onnx", function->name);
        assert_non_null(kernel);
        assert_non_null(op);
        for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
            opd_call call;
            const opd_call_wish wish = { .dtype = dtypes[d],
                                         .shapes = function->inputs == 1 ? "[4000]" : "[4000];[4000]" };
            assert_int_equal(opd_call_make(&call, op, &wish), OPD_OK);
            for (int i = 0; i < call.operand_count; i++) {
                call.operands[i].view.data = memory[i];
                fill(&call.operands[i].view, (uint64_t)i);
            }
            evaluate(want, function, &call);
            require_definition_is_true(function, &call, want);
            const opd_variant *variant = NULL;
            for (int v = 0; (variant = opd_kernel_variant(kernel, v)) != NULL; v++) {
                const opd_variant *chosen = NULL;
                bool is_meant = opd_variant_is_choice(variant);
                if (is_meant && opd_kernel_choose(&chosen, kernel, &call, variant->name) == OPD_OK) {
                    assert_int_equal(opd_variant_run(chosen, &call, NULL), OPD_OK);
                    require_variant_is_near(variant->name, &call, want);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(variants_are_within_their_bounds) };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpfr_free_cache();
    return failed;
}
