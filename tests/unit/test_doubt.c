/* SPDX-License-Identifier: Apache-2.0 */
/* How far off the reference may be: known errors of long double are seen by the run with more bits, and no more than they. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include <opsdebug/bundle.h>
#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>
#include <opsdebug/random.h>

typedef struct doubted {
    opd_case item;
    long double *value[OPD_MAX_OPERANDS], *gauge[OPD_MAX_OPERANDS];
    double *doubt[OPD_MAX_OPERANDS];
    opd_status status;
} doubted;

static void make(doubted *out, const char *name, const char *shapes)
{
    opd_call call;
    opd_call_wish wish = { .shapes = shapes };
    memset(out, 0, sizeof *out);
    assert_int_equal(opd_call_make(&call, opd_op_find("ai.onnx", name), &wish), OPD_OK);
    assert_int_equal(opd_case_allocate(&out->item, &call, UINT64_MAX), OPD_OK);
    assert_int_equal(opd_call_generate(&out->item.call, 1, NULL), OPD_OK);
}

static void run(doubted *out, double cap)
{
    assert_int_equal(opd_definition_run(out->value, out->gauge, &out->item.call, true), OPD_OK);
    out->status = opd_definition_doubt(out->doubt, out->value, out->gauge, &out->item.call, cap);
}

static void done(doubted *out)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(out->value[i]);
        opd_free(out->gauge[i]);
        opd_free(out->doubt[i]);
    }
    opd_case_done(&out->item);
}

/* Has this machine a long double of 64 bits and one of 113? */
static void skip_without(const doubted *of)
{
    if (of->status == OPD_E_UNSUPPORTED) {
        skip();
    }
    assert_int_equal(of->status, OPD_OK);
}

/* 1 + 1000 times 2^-65 in order: each is less than half a unit in the last place of 1 in long double, which keeps 1. */
static void what_long_double_loses_is_known(void **state)
{
    doubted of;
    (void)state;
    make(&of, "ReduceSum", "f64[1001]");
    double *x = of.item.call.operands[0].view.data;
    for (int i = 0; i < 1001; i++) {
        x[i] = i == 0 ? 1 : 0x1p-65;
    }
    run(&of, 0);
    skip_without(&of);
    int y = of.item.call.operand_count - 1;
    assert_true(of.value[y][0] == 1);
    assert_true(of.doubt[y][0] == 1000 * 0x1p-65);
    done(&of);
}

/* The bound of the run with more bits is added: cap 2^-112 gauge. */
static void the_longer_run_has_a_doubt_of_its_own(void **state)
{
    doubted of;
    (void)state;
    make(&of, "ReduceSum", "f64[3]");
    double *x = of.item.call.operands[0].view.data;
    x[0] = 1;
    x[1] = -3;
    x[2] = 4;
    run(&of, 16);
    skip_without(&of);
    assert_true(of.doubt[of.item.call.operand_count - 1][0] == 16 * 0x1p-112 * 8);
    done(&of);
}

/* Functions of the C library in long double are good to two units in the last place; the doubt says so, not less than nothing. */
static void functions_are_doubted_by_units_in_the_last_place(void **state)
{
    static const char *const names[] = { "Exp", "Erf", "Tanh", "Sigmoid", "Gelu", "Softmax", "LayerNormalization" };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(names); i++) {
        doubted of;
        bool is_norm = strcmp(names[i], "LayerNormalization") == 0;
        make(&of, names[i], is_norm ? "f64[4,64];f64[64]" : "f64[4,64]");
        run(&of, 0);
        skip_without(&of);
        int y = is_norm ? 3 : of.item.call.operand_count - 1;
        double worst = 0;
        for (int64_t k = 0; k < opd_tensor_count(&of.item.call.operands[y].view); k++) {
            double ratio = of.doubt[y][k] / (0x1p-63 * (double)of.gauge[y][k]);
            assert_true(ratio >= 0 && ratio < 16);
            worst = ratio > worst ? ratio : worst;
        }
        assert_true(worst > 0); /* they are not the same computation */
        done(&of);
    }
}

static void special_values_raise_no_doubt(void **state)
{
    doubted of;
    (void)state;
    make(&of, "Exp", "f64[4]");
    double *x = of.item.call.operands[0].view.data;
    x[0] = (double)NAN;
    x[1] = (double)INFINITY;
    x[2] = -(double)INFINITY;
    x[3] = 0;
    run(&of, 0);
    skip_without(&of);
    for (int i = 0; i < 4; i++) {
        assert_true(of.doubt[1][i] == 0);
    }
    done(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_long_double_loses_is_known),
        cmocka_unit_test(the_longer_run_has_a_doubt_of_its_own),
        cmocka_unit_test(functions_are_doubted_by_units_in_the_last_place),
        cmocka_unit_test(special_values_raise_no_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
