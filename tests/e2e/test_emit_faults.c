// SPDX-License-Identifier: Apache-2.0
// Stand-alone programs of faults that are real in Debian 12's OpenBLAS: the program alone must show them (exit 1), and must end with 0
// where the fault is absent (another core, another shape); and of faults of a routine written here, beside sound elements.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/random.h>
#include <opsdebug/reduce.h>

static char folder[] = "/tmp/opd-faults-XXXXXX";

typedef struct setting {
    const char *name; /* ends with NULL */
    int64_t value;
} setting;

static void make_case(opd_case *out, const char *routine_name, const setting *settings)
{
    const opd_routine *routine = opd_routine_find(routine_name);
    opd_call call;
    assert_non_null(routine);
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    call.flags |= OPD_CALL_CBLAS;
    for (int i = 0; i < call.symbol_count; i++) {
        assert_int_equal(opd_call_set(&call, call.symbols[i].name, 1), OPD_OK);
    }
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    for (; settings->name != NULL; settings++) {
        assert_int_equal(opd_call_set(&call, settings->name, settings->value), OPD_OK);
    }
    assert_int_equal(opd_case_allocate(out, &call, UINT64_MAX), OPD_OK);
    for (int i = 0; i < out->call.operand_count; i++) {
        const opd_fill fill = { .kind = OPD_FILL_CONSTANT, .a = 1 };
        opd_tensor_fill(&out->call.operands[i].view, &fill);
    }
}

static void write_program(const opd_case *item, opd_failure *failure, const opd_emit_options *options)
{
    char path[128];
    opd_buffer program;
    failure->index_rank = -1;
    opd_diagnose(failure, &item->call, NULL, NULL);
    opd_buffer_init(&program, 1 << 20);
    assert_int_equal(opd_emit_c(&program, item, failure, options), OPD_OK);
    size_t lines = 0;
    for (size_t i = 0; i < program.size; i++) {
        lines += program.bytes[i] == '\n';
    }
    assert_true(lines < 100);
    snprintf(path, sizeof(path), "%s/min.c", folder);
    assert_int_equal(opd_write_file(path, program.bytes, program.size), OPD_OK);
    opd_buffer_done(&program);
}

/* Exit status of the program, compiled with OpenBLAS or, when not NULL, the routine in C as stub; its output in text. */
static int compile_and_run(char *text, size_t size, const char *stub)
{
    char path[128];
    char command[512];
    snprintf(path, sizeof(path), "%s/stub.c", folder);
    if (stub != NULL) {
        assert_int_equal(opd_write_file(path, stub, strlen(stub)), OPD_OK);
    }
    snprintf(command, sizeof(command), "cd %s && cc -std=c17 -Wall -Wextra -Werror min.c %s -lm 2>&1 && ./a.out 2>&1",
             folder, stub != NULL ? "stub.c" : "-lopenblas");
    FILE *output = popen(command, "r"); // NOLINT(cert-env33-c): the compiler is part of what is tested
    assert_non_null(output);
    size_t used = fread(text, 1, size - 1, output);
    text[used] = '\0';
    int status = pclose(output);
    print_message("%s", text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The case's program with OpenBLAS, without right values. */
static int run_program(char *text, size_t size, const opd_case *item, opd_failure *failure, const char *core)
{
    const opd_emit_options options = { .core = core, .threads = 1 };
    write_program(item, failure, &options);
    return compile_and_run(text, size, NULL);
}

static void zgemv_reads_past_x(void **state)
{
    (void)state;
    const setting shape[] = { { "m", 6 }, { "n", 1 }, { NULL, 0 } };
    const setting sound[] = { { "m", 5 }, { "n", 1 }, { NULL, 0 } };
    opd_failure failure = { .outcome = OPD_OUTCOME_OOB_READ, .operand = "x" };
    char text[4096];
    opd_case item;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        print_message("the fault is in the Haswell kernels, which need AVX2 and FMA\n");
        skip();
    }
    make_case(&item, "zgemv", shape);
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, "Haswell"), 1);
    assert_non_null(strstr(text, "past the end of x"));
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, "Nehalem"), 0);
    opd_case_done(&item);
    make_case(&item, "zgemv", sound);
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, "Haswell"), 0);
    opd_case_done(&item);
}

static void dger_crashes_on_a_huge_stride(void **state)
{
    (void)state;
    const setting shape[] = { { "m", 3 }, { "n", 3 }, { "incx", -1073741825 }, { NULL, 0 } };
    const setting sound[] = { { "m", 3 }, { "n", 3 }, { "incx", -3 }, { NULL, 0 } };
    opd_failure failure = { .outcome = OPD_OUTCOME_CRASH, .signal = 11 };
    char text[4096];
    opd_case item;
    make_case(&item, "dger", shape);
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, NULL), 1);
    assert_string_equal(failure.label, "index-overflow");
    assert_non_null(strstr(text, "killed by signal 11"));
    opd_case_done(&item);
    make_case(&item, "dger", sound);
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, NULL), 0);
    opd_case_done(&item);
}

static void dgemm_refuses_a_short_leading_dimension(void **state)
{
    (void)state;
    const setting shape[] = { { "m", 4 }, { "n", 4 }, { "k", 4 }, { NULL, 0 } };
    opd_failure failure = { .outcome = OPD_OUTCOME_BAD_ARGS };
    char text[4096];
    opd_case item;
    make_case(&item, "dgemm", shape);
    item.call.flags |= OPD_CALL_ROW_MAJOR;
    assert_int_equal(opd_call_bind(&item.call), OPD_OK);
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, NULL), 0);
    opd_call_value(&item.call, "ldb")->i = 3;
    assert_int_equal(opd_call_bind(&item.call), OPD_E_INVALID);
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, NULL), 1);
    assert_string_equal(failure.label, "bad-args");
    assert_non_null(strstr(text, "DGEMM refuses argument")); /* the library hands over "DGEMM " */
    opd_case_done(&item);
}

static void ddot_makes_a_nan_from_finite_data(void **state)
{
    (void)state;
    const setting shape[] = { { "n", 2 }, { NULL, 0 } };
    opd_failure failure = { .outcome = OPD_OUTCOME_NAN_BORN, .operand = "result" };
    char text[4096];
    opd_case item;
    make_case(&item, "ddot", shape);
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, NULL), 0);
    double *x = opd_call_operand(&item.call, "x")->view.data;
    double *y = opd_call_operand(&item.call, "y")->view.data;
    x[0] = 1e200;
    x[1] = -1e200;
    y[0] = y[1] = 1e200;
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, NULL), 1);
    assert_string_equal(failure.label, "nan-made");
    opd_case_done(&item);
}

static void dgemm_reads_a_behind_alpha_zero(void **state)
{
    (void)state;
    const setting shape[] = { { "alpha", 0 }, { NULL, 0 } };
    opd_failure failure = { .outcome = OPD_OUTCOME_NAN_BORN, .operand = "C" };
    char text[4096];
    opd_case item;
    make_case(&item, "dgemm", shape);
    *(double *)opd_call_operand(&item.call, "A")->view.data = (double)NAN;
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, "Nehalem"), 0);
    assert_string_equal(failure.label, "unread-operand-read");
    if (!__builtin_cpu_supports("avx512f")) {
        opd_case_done(&item);
        print_message("the fault is in the SkylakeX kernels, which need AVX-512\n");
        skip();
    }
    assert_int_equal(run_program(text, sizeof(text), &item, &failure, "SkylakeX"), 1);
    opd_case_done(&item);
}

/* ------------------------------------------------------------------------------------- beside right values */

typedef struct right_values {
    long double want[OPD_MAX_OPERANDS][16], gauge[OPD_MAX_OPERANDS][16];
} right_values;

static void compute_right_values(right_values *values, opd_emit_options *options, const opd_case *item)
{
    for (int o = 0; o < item->call.operand_count; o++) {
        if ((item->call.operands[o].role & OPD_ROLE_OUT) != 0) {
            assert_true(opd_tensor_count(&item->call.operands[o].view) <= 8);
            assert_int_equal(opd_reference_run(values->want[o], values->gauge[o], &item->call, o), OPD_OK);
            options->want[o] = values->want[o];
            options->gauge[o] = values->gauge[o];
        }
    }
}

#define DGEMM                                                                                                   \
    "void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, " \
    "double *, int);\nvoid cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, "          \
    "const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc)\n{\n"                 \
    "    (void)order, (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)lda, (void)ldb;\n"      \
    "    (void)beta, (void)ldc, (void)a, (void)b, (void)c;\n"

/* C = a * [ b, 1 ]: 1e400 is beyond the range, so Inf is right there; 1e200 is not. Each must come out as itself. */
static void an_element_is_compared_with_its_own_right_value(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int status;
        const char *says;
    } stubs[] = {
        { DGEMM "    c[0] = 1e200 * 1e200;\n    c[1] = 1e200;\n}\n", 0, "ok" },
        { DGEMM "    c[0] = 1e200 * 1e200;\n    c[1] = 0.0 / 0.0;\n}\n", 1, "C[1]: got" },
        { DGEMM "    c[0] = 1e200 * 1e200;\n    c[1] = 1.0 / 0.0;\n}\n", 1, "C[1]: got inf, want" },
        { DGEMM "    c[0] = 0.0 / 0.0;\n    c[1] = 1e200;\n}\n", 1, "want inf" },
        { DGEMM "    c[0] = -1e200 * 1e200;\n    c[1] = 1e200;\n}\n", 1, "C[0]: got -inf, want inf" },
        { DGEMM "    c[0] = 1e200;\n    c[1] = 1e200;\n}\n", 1, "want inf" },
        { NULL, 0, "ok" },
    };
    const setting shape[] = { { "m", 1 }, { "n", 2 }, { "k", 1 }, { NULL, 0 } };
    const opd_outcome outcomes[] = { OPD_OUTCOME_NAN_BORN, OPD_OUTCOME_INF_BORN };
    static right_values values;
    char text[4096];
    for (size_t i = 0; i < OPD_COUNT(outcomes); i++) {
        opd_failure failure = { .outcome = outcomes[i], .operand = "C" };
        opd_emit_options options = { 0 };
        opd_case item;
        make_case(&item, "dgemm", shape);
        opd_call_value(&item.call, "beta")->re = 0;
        assert_int_equal(opd_call_bind(&item.call), OPD_OK);
        *(double *)opd_call_operand(&item.call, "A")->view.data = 1e200;
        *(double *)opd_call_operand(&item.call, "B")->view.data = 1e200;
        compute_right_values(&values, &options, &item);
        write_program(&item, &failure, &options);
        for (size_t k = 0; k < OPD_COUNT(stubs); k++) {
            assert_int_equal(compile_and_run(text, sizeof(text), stubs[k].body), stubs[k].status);
            assert_non_null(strstr(text, stubs[k].says));
        }
        opd_case_done(&item);
    }
}

/* Data beyond the range: Inf is the right value, and that it was born is all there is to show. */
static void a_birth_with_right_values_is_the_failure(void **state)
{
    (void)state;
    const setting shape[] = { { "n", 2 }, { NULL, 0 } };
    static right_values values;
    char text[4096];
    for (int knows_got = 0; knows_got < 2; knows_got++) {
        opd_failure failure = { .outcome = OPD_OUTCOME_INF_BORN, .operand = "x" };
        opd_emit_options options = { 0 };
        opd_case item;
        make_case(&item, "dscal", shape);
        opd_call_value(&item.call, "alpha")->re = 1e200;
        double *x = opd_call_operand(&item.call, "x")->view.data;
        double left[2] = { (double)INFINITY, 1e200 };
        x[0] = 1e200;
        x[1] = knows_got ? 1 : 1e200;
        opd_tensor got = opd_call_operand(&item.call, "x")->view;
        got.data = left;
        options.got[0] = knows_got ? &got : NULL;
        compute_right_values(&values, &options, &item);
        write_program(&item, &failure, &options);
        assert_int_equal(compile_and_run(text, sizeof(text), NULL), 1);
        assert_non_null(strstr(text, "x[0]: got inf, not a finite number"));
        left[1] = (double)INFINITY; /* now a value is wrong, and that is what is checked: OpenBLAS is sound */
        write_program(&item, &failure, &options);
        assert_int_equal(compile_and_run(text, sizeof(text), NULL), knows_got ? 0 : 1);
        opd_case_done(&item);
    }
}

/* Terms beyond the range whose sum is 0: the bound leaves the range too, so that any finite number will do. */
static void a_sum_of_huge_terms_must_be_finite(void **state)
{
    (void)state;
    const setting shape[] = { { "n", 2 }, { NULL, 0 } };
    opd_failure failure = { .outcome = OPD_OUTCOME_NAN_BORN, .operand = "result" };
    static right_values values;
    opd_emit_options options = { 0 };
    char text[4096];
    opd_case item;
    make_case(&item, "ddot", shape);
    double *x = opd_call_operand(&item.call, "x")->view.data;
    double *y = opd_call_operand(&item.call, "y")->view.data;
    x[0] = 1e200;
    x[1] = -1e200;
    y[0] = y[1] = 1e200;
    compute_right_values(&values, &options, &item);
    write_program(&item, &failure, &options);
    assert_int_equal(compile_and_run(text, sizeof(text), NULL), 1);
    const char *in_long_double = "double cblas_ddot(int, const double *, int, const double *, int);\n"
                                 "double cblas_ddot(int n, const double *x, int incx, const double *y, int incy)\n{\n"
                                 "    long double sum = 0;\n    for (int i = 0; i < n; i++) {\n"
                                 "        sum += (long double)x[i * incx] * y[i * incy];\n    }\n"
                                 "    return (double)sum;\n}\n";
    assert_int_equal(compile_and_run(text, sizeof(text), in_long_double), 0);
    opd_case_done(&item);
}

static void an_input_that_changes_is_the_failure(void **state)
{
    (void)state;
    const setting shape[] = { { "m", 1 }, { "n", 1 }, { "k", 2 }, { "ldb", 3 }, { NULL, 0 } };
    opd_failure failure = { .outcome = OPD_OUTCOME_INPUT_MUTATED, .operand = "B" };
    static right_values values;
    opd_emit_options options = { 0 };
    char text[4096];
    opd_case item;
    make_case(&item, "dgemm", shape);
    compute_right_values(&values, &options, &item);
    write_program(&item, &failure, &options);
    assert_int_equal(compile_and_run(text, sizeof(text), NULL), 0);
    assert_int_equal(compile_and_run(text, sizeof(text), DGEMM "    c[0] = 3;\n}\n"), 0);
    assert_int_equal(compile_and_run(text, sizeof(text), DGEMM "    c[0] = 3;\n    *(double *)&b[1] = 7;\n}\n"), 1);
    assert_non_null(strstr(text, "B[1]: got 7, want 1"));
    opd_case_done(&item);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command); // NOLINT(cert-env33-c)
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zgemv_reads_past_x),
        cmocka_unit_test(dger_crashes_on_a_huge_stride),
        cmocka_unit_test(dgemm_refuses_a_short_leading_dimension),
        cmocka_unit_test(ddot_makes_a_nan_from_finite_data),
        cmocka_unit_test(an_element_is_compared_with_its_own_right_value),
        cmocka_unit_test(a_birth_with_right_values_is_the_failure),
        cmocka_unit_test(a_sum_of_huge_terms_must_be_finite),
        cmocka_unit_test(an_input_that_changes_is_the_failure),
        cmocka_unit_test(dgemm_reads_a_behind_alpha_zero),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
