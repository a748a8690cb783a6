/* SPDX-License-Identifier: Apache-2.0 */
/* References at the edges: values that must not count, ties, declined calls, gauges known by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

static opd_call call_of(const char *name, int64_t n)
{
    const opd_routine *routine = opd_routine_find(name);
    opd_call call;
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    for (int i = 0; i < call.symbol_count; i++) {
        assert_int_equal(opd_call_set(&call, call.symbols[i].name, n), OPD_OK);
    }
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    return call;
}

static void nan_behind_a_zero_factor_does_not_count(void **state)
{
    (void)state;
    double a[4] = { NAN, NAN, NAN, NAN };
    double c[4] = { 1, 2, 3, 4 };
    long double value[4];
    long double gauge[4];
    opd_call call = call_of("dgemm", 2);
    assert_int_equal(opd_call_set(&call, "alpha", 0), OPD_OK);
    call.operands[0].view.data = a;
    call.operands[1].view.data = a;
    call.operands[2].view.data = c;
    assert_int_equal(opd_reference_run(value, gauge, &call, 2), OPD_OK);
    /* Column-major memory, row-major result. */
    assert_true(value[0] == 1 && value[1] == 3 && value[2] == 2 && value[3] == 4);
    assert_true(gauge[1] == 3);
    assert_int_equal(opd_call_set(&call, "beta", 0), OPD_OK);
    call.operands[2].view.data = a;
    assert_int_equal(opd_reference_run(value, gauge, &call, 2), OPD_OK);
    assert_true(value[0] == 0 && value[3] == 0 && gauge[0] == 0);
}

static void nan_in_x_stays_in_the_rows_that_use_it(void **state)
{
    (void)state;
    double a[9] = { 1, NAN, NAN, 2, 3, NAN, 4, 5, 6 };
    double x[3] = { NAN, 1, 1 };
    long double value[3];
    long double gauge[3];
    opd_call call = call_of("dtrmv", 3);
    call.operands[0].view.data = a;
    call.operands[1].view.data = x;
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_OK);
    assert_true(isnan(value[0]) && value[1] == 8 && value[2] == 6);
    assert_true(gauge[1] == 8);
}

static void gauge_of_a_solution_follows_the_comparison_matrix(void **state)
{
    (void)state;
    /* Lower triangle (2; -3 4) by columns, b = (2, -1): x = (1, 0.5); g1 = 1, g2 = (1 + 3) / 4 = 1. */
    double a[4] = { 2, -3, NAN, 4 };
    double x[2] = { 2, -1 };
    long double value[2];
    long double gauge[2];
    opd_call call = call_of("dtrsv", 2);
    assert_int_equal(opd_call_set(&call, "uplo", 'L'), OPD_OK);
    call.operands[0].view.data = a;
    call.operands[1].view.data = x;
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_OK);
    assert_true(value[0] == 1 && value[1] == 0.5L);
    assert_true(gauge[0] == 1 && gauge[1] == 1);
}

static void the_imaginary_diagonal_of_a_hermitian_matrix_is_ignored(void **state)
{
    (void)state;
    double a[8] = { 2, 99, 1, 1, 1, -1, 3, NAN };
    double x[4] = { 1, 0, 0, 1 };
    double y[4] = { 0 };
    long double value[4];
    long double gauge[2];
    opd_call call = call_of("zhemv", 2);
    call.operands[0].view.data = a;
    call.operands[1].view.data = x;
    call.operands[2].view.data = y;
    assert_int_equal(opd_reference_run(value, gauge, &call, 2), OPD_OK);
    /* Upper: A = (2, 1-i; 1+i, 3); A (1, i) = (2 + i + 1, 1 + i + 3i). */
    assert_true(value[0] == 3 && value[1] == 1 && value[2] == 1 && value[3] == 4);
}

static void the_first_largest_element_is_found(void **state)
{
    (void)state;
    float x[8] = { 1, 0, -2, 1, 3, 0, 0, 2 };
    long double value[1];
    long double gauge[1];
    opd_call call = call_of("icamax", 4);
    call.operands[0].view.data = x;
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_OK);
    assert_true(value[0] == 2 && gauge[0] == 0);
    call.flags |= OPD_CALL_CBLAS;
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_OK);
    assert_true(value[0] == 1);
    x[7] = NAN;
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_E_DECLINED);
    assert_int_equal(opd_call_set(&call, "n", 0), OPD_OK);
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_OK);
    assert_true(value[0] == 0);
}

static void norms_neither_overflow_nor_vanish(void **state)
{
    (void)state;
    double x[2] = { 3e300, 4e300 };
    long double value[1];
    long double gauge[1];
    opd_call call = call_of("dnrm2", 2);
    call.operands[0].view.data = x;
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_OK);
    assert_true(fabsl(value[0] / 5e300L - 1) < 1e-15L);
    assert_int_equal(opd_naive_run(value, &call, 1), OPD_OK);
    assert_true(fabsl(value[0] / 5e300L - 1) < 1e-15L);
    x[0] = 3e-310;
    x[1] = 4e-310;
    assert_int_equal(opd_naive_run(value, &call, 1), OPD_OK);
    assert_true(fabsl(value[0] / 5e-310L - 1) < 1e-12L);
    x[1] = INFINITY;
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_OK);
    assert_true(isinf(value[0]));
}

static void calls_without_one_right_value_are_declined(void **state)
{
    (void)state;
    double x[4] = { 1, 2, 3, 4 };
    long double value[4];
    long double gauge[4];
    opd_call call = call_of("daxpy", 4);
    call.operands[0].view.data = x;
    call.operands[1].view.data = x;
    assert_int_equal(opd_call_set(&call, "incy", 0), OPD_OK);
    opd_error_clear();
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_E_DECLINED);
    assert_string_not_equal(opd_error_text(), "");
    call.op = NULL;
    assert_int_equal(opd_reference_run(value, gauge, &call, 1), OPD_E_DECLINED);
}

static void the_naive_variant_rounds_each_operation(void **state)
{
    (void)state;
    /* 2^24 + 1 + 1: single precision drops both ones, the reference keeps them. */
    float x[3] = { 16777216, 1, 1 };
    float y[3] = { 1, 1, 1 };
    long double value[1];
    long double gauge[1];
    opd_call call = call_of("sdot", 3);
    call.operands[0].view.data = x;
    call.operands[1].view.data = y;
    assert_int_equal(opd_reference_run(value, gauge, &call, 2), OPD_OK);
    assert_true(value[0] == 16777218);
    assert_int_equal(opd_naive_run(value, &call, 2), OPD_OK);
    assert_true(value[0] == 16777216);
    call = call_of("sdsdot", 3);
    call.operands[0].view.data = x;
    call.operands[1].view.data = y;
    opd_call_value(&call, "sb")->re = 0;
    assert_int_equal(opd_naive_run(value, &call, 2), OPD_OK);
    assert_true(value[0] == 16777218);
}

/*
 * LAPACK's complex symmetric routines: nothing is conjugated, and a negative increment walks x from its far end. Values of numpy (integers, exact):
 * S @ x, numpy.outer(x, y) of the same data.
 */
static const double matrix[] = { 0, -1, 3, -2, 2, -1, 0, 3, -3, 2, 3, 1, 2, -1, -2, -2, -2, 0 }; /* by columns */
static const double packed[] = { 0, -1, 0, 3, -3, 2, 2, -1, -2, -2, -2, 0 };
static const double band[] = { 0, 0, 0, -1, 0, 3, -3, 2, -2, -2, -2, 0 }; /* one diagonal above */
static const double vector_x[] = { -3, 2, -3, 2, 3, 0 };
static const double vector_y[] = { 2, 2, -1, -3, 0, -1 };

static const struct symmetric_case {
    const char *routine;
    char uplo;
    int64_t incx;
    const double *a;
    double want[18]; /* of the output, row by row; 0 where nothing exists */
} symmetric_cases[] = {
    { "symv", 'U', 1, matrix, { 26, -3, 42, -46, -19, 7 } },
    { "symv", 'L', 1, matrix, { -15, 20, -2, 16, -42, -34 } },
    { "symv", 'U', -1, matrix, { 6, -23, 12, 24, 31, 37 } },
    { "spmv", 'U', 1, packed, { 26, -3, 42, -46, -19, 7 } },
    { "sbmv", 'U', 1, band, { 14, -12, 42, -46, -1, 8 } },
    { "syr", 'U', 1, matrix, { 29, -3, 29, 1, -19, -13, 0, 0, 26, 0, -23, -14, 0, 0, 0, 0, 7, 18 } },
    { "syr", 'U', -1, matrix, { 9, 17, -21, -9, -19, -13, 0, 0, 26, 0, 27, -4, 0, 0, 0, 0, 27, -2 } },
    { "syr", 'L', 1, matrix, { 29, -3, 0, 0, 0, 0, 32, -4, 26, 0, 0, 0, -19, -13, -18, -11, 7, 18 } },
    { "syr2", 'U', 1, matrix, { -12, -45, -11, 6, -8, 24, 0, 0, -13, 52, 9, -10, 0, 0, 0, 0, 10, -6 } },
    { "spr", 'U', -1, packed, { 9, 17, -21, -9, 26, 0, -19, -13, 27, -4, 27, -2 } },
    { "spr2", 'U', 1, packed, { -12, -45, -11, 6, -13, 52, -8, 24, 9, -10, 10, -6 } },
};

static void run_symmetric(const struct symmetric_case *c, char precision)
{
    char name[16];
    union {
        float single[18];
        double real[18];
    } memory[3];
    const double *data[] = { NULL, vector_x, vector_y };
    long double value[18];
    long double gauge[9];
    int output = -1;
    snprintf(name, sizeof name, "%c%s", precision, c->routine);
    opd_call call = call_of(name, 3);
    if (opd_call_value(&call, "k") != NULL) {
        assert_int_equal(opd_call_set(&call, "k", 1), OPD_OK);
    }
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    assert_int_equal(opd_call_set(&call, "uplo", c->uplo), OPD_OK);
    assert_int_equal(opd_call_set(&call, "incx", c->incx), OPD_OK);
    opd_call_value(&call, "alpha")->im = 2;
    if (opd_call_value(&call, "beta") != NULL) {
        *opd_call_value(&call, "beta") = (opd_value){ .name = "beta", .kind = OPD_VALUE_COMPLEX, .re = 2, .im = -1 };
    }
    assert_int_equal(opd_call_bind(&call), OPD_OK);
    data[0] = c->a;
    for (int i = 0; i < call.operand_count; i++) {
        opd_operand *operand = &call.operands[i];
        int which = operand->name[0] == 'x' ? 1 : operand->name[0] == 'y' ? 2 : 0;
        for (int k = 0; k < (which > 0 ? 6 : c->a == matrix ? 18 : 12); k++) {
            if (precision == 'c') {
                memory[which].single[k] = (float)data[which][k];
            } else {
                memory[which].real[k] = data[which][k];
            }
        }
        /* Element 0 of a vector that is walked backwards is its last one in memory. */
        size_t start = which == 1 && c->incx < 0 ? 2 * opd_dtype_size(call.dtype) : 0;
        operand->view.data = (char *)&memory[which] + start;
        output = (operand->role & OPD_ROLE_OUT) != 0 ? i : output;
    }
    assert_int_equal(opd_reference_run(value, gauge, &call, output), OPD_OK);
    for (int64_t k = 0; k < 2 * opd_tensor_count(&call.operands[output].view); k++) {
        if (value[k] != (long double)c->want[k]) {
            fail_msg("%s %c incx=%d: element %d is %Lg, not %g", name, c->uplo, (int)c->incx, (int)k, value[k],
                     c->want[k]);
        }
    }
}

static void complex_symmetric_routines_conjugate_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(symmetric_cases); i++) {
        run_symmetric(&symmetric_cases[i], 'c');
        run_symmetric(&symmetric_cases[i], 'z');
    }
}

/* numpy: c x + s y and c y - conj(s) x. */
static void a_rotation_with_a_complex_sine_conjugates_it_for_y(void **state)
{
    (void)state;
    double x[6];
    double y[6];
    long double value[6];
    long double gauge[3];
    static const double want[2][6] = { { 2, 0, -16, 4, 3, -1 }, { 13, 11, 7, 1, -3, -11 } };
    memcpy(x, vector_x, sizeof x);
    memcpy(y, vector_y, sizeof y);
    opd_call call = call_of("zrot", 3);
    opd_call_value(&call, "c")->re = 2;
    opd_call_value(&call, "s")->im = -3;
    call.operands[0].view.data = x;
    call.operands[1].view.data = y;
    for (int operand = 0; operand < 2; operand++) {
        assert_int_equal(opd_reference_run(value, gauge, &call, operand), OPD_OK);
        for (int k = 0; k < 6; k++) {
            assert_true(value[k] == (long double)want[operand][k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nan_behind_a_zero_factor_does_not_count),
        cmocka_unit_test(nan_in_x_stays_in_the_rows_that_use_it),
        cmocka_unit_test(gauge_of_a_solution_follows_the_comparison_matrix),
        cmocka_unit_test(the_imaginary_diagonal_of_a_hermitian_matrix_is_ignored),
        cmocka_unit_test(the_first_largest_element_is_found),
        cmocka_unit_test(norms_neither_overflow_nor_vanish),
        cmocka_unit_test(calls_without_one_right_value_are_declined),
        cmocka_unit_test(the_naive_variant_rounds_each_operation),
        cmocka_unit_test(complex_symmetric_routines_conjugate_nothing),
        cmocka_unit_test(a_rotation_with_a_complex_sine_conjugates_it_for_y),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
