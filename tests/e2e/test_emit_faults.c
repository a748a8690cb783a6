// SPDX-License-Identifier: Apache-2.0
// Stand-alone programs of faults that are real in Debian 12's OpenBLAS: the program alone must show them (exit 1), and must end with 0
// where the fault is absent (another core, another shape).
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

/* Exit status of the case's program; its output in text. */
static int run_program(char *text, size_t size, const opd_case *item, opd_failure *failure, const char *core)
{
    char path[128];
    char command[512];
    opd_buffer program;
    const opd_emit_options options = { .core = core, .threads = 1 };
    failure->index_rank = -1;
    opd_diagnose(failure, &item->call, NULL);
    opd_buffer_init(&program, 1 << 20);
    assert_int_equal(opd_emit_c(&program, item, failure, &options), OPD_OK);
    size_t lines = 0;
    for (size_t i = 0; i < program.size; i++) {
        lines += program.bytes[i] == '\n';
    }
    assert_true(lines < 100);
    snprintf(path, sizeof(path), "%s/min.c", folder);
    assert_int_equal(opd_write_file(path, program.bytes, program.size), OPD_OK);
    opd_buffer_done(&program);
    snprintf(command, sizeof(command),
             "cd %s && cc -std=c17 -Wall -Wextra -Werror min.c -lopenblas -lm 2>&1 && ./a.out 2>&1", folder);
    FILE *output = popen(command, "r"); // NOLINT(cert-env33-c): the compiler is part of what is tested
    assert_non_null(output);
    size_t used = fread(text, 1, size - 1, output);
    text[used] = '\0';
    int status = pclose(output);
    print_message("%s", text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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
    assert_non_null(strstr(text, "refuses argument"));
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
        cmocka_unit_test(dgemm_reads_a_behind_alpha_zero),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
