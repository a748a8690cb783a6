// SPDX-License-Identifier: Apache-2.0
// Stand-alone programs of the routines of the table, in both forms: each must compile without a warning and link with OpenBLAS; with the
// right expected values it ends with 0, with one of them wrong it ends with 1.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/random.h>
#include <opsdebug/reduce.h>

enum { MAX_ELEMENTS = 4096 };

static char folder[] = "/tmp/opd-emit-XXXXXX";

typedef struct values {
    long double want[OPD_MAX_OPERANDS][2 * MAX_ELEMENTS];
    long double gauge[OPD_MAX_OPERANDS][MAX_ELEMENTS];
} values;

/* An operand that the routine takes by another one's pointer lies where that one does, in the larger memory of the two. */
static void join_operands(opd_case *item)
{
    for (int o = 0; o < item->call.operand_count; o++) {
        int shared = opd_call_shared(&item->call, o);
        if (shared >= 0) {
            opd_tensor *a = &item->call.operands[o].view;
            opd_tensor *b = &item->call.operands[shared].view;
            void *data = a->storage_bytes > b->storage_bytes ? a->data : b->data;
            a->data = data;
            b->data = data;
        }
    }
}

static void make_case(opd_case *out, const opd_routine *routine, uint32_t flags, int size)
{
    opd_call call;
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    call.flags |= flags;
    /* OpenBLAS 0.3.21's imatcopy overruns its own buffer of ld * ld elements unless the matrix is square. */
    bool is_square = strstr(routine->name, "imatcopy") != NULL;
    for (int i = 0; i < call.symbol_count; i++) {
        assert_int_equal(opd_call_set(&call, call.symbols[i].name, is_square ? size : size + i), OPD_OK);
    }
    for (int i = 0; i < call.attr_count; i++) {
        char name[OPD_NAME];
        memcpy(name, call.attrs[i].name, sizeof(name));
        if (strcmp(name, "kl") == 0 || strcmp(name, "ku") == 0 || strcmp(name, "k") == 0) {
            assert_int_equal(opd_call_set(&call, name, 1), OPD_OK);
        }
        if (call.attrs[i].kind == OPD_VALUE_REAL || call.attrs[i].kind == OPD_VALUE_COMPLEX) {
            call.attrs[i].re = 0.5;
        }
    }
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    assert_int_equal(opd_case_allocate(out, &call, UINT64_MAX), OPD_OK);
    join_operands(out);
    for (int i = 0; i < out->call.operand_count; i++) {
        const opd_fill fill = { .kind = OPD_FILL_UNIFORM, .a = 1, .b = 2, .seed = 9, .stream = (uint64_t)i };
        opd_tensor_fill(&out->call.operands[i].view, &fill);
    }
}

static bool reference(values *v, opd_emit_options *options, const opd_case *item)
{
    memset(v, 0, sizeof(*v));
    for (int o = 0; o < item->call.operand_count; o++) {
        const opd_operand *operand = &item->call.operands[o];
        if ((operand->role & OPD_ROLE_OUT) == 0) {
            continue;
        }
        assert_true(opd_tensor_count(&operand->view) <= MAX_ELEMENTS);
        if (opd_reference_run(v->want[o], v->gauge[o], &item->call, o) != OPD_OK) {
            print_message("%s %s: %s\n", item->call.name, operand->name, opd_error_text());
            return false;
        }
        options->want[o] = v->want[o];
        options->gauge[o] = v->gauge[o];
    }
    return true;
}

static size_t count_lines(const opd_buffer *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->size; i++) {
        lines += text->bytes[i] == '\n';
    }
    return lines;
}

static void write_program(const char *name, const opd_case *item, const opd_failure *failure,
                          const opd_emit_options *options, size_t most_lines)
{
    char path[256];
    opd_buffer text;
    opd_buffer_init(&text, 1 << 24);
    assert_int_equal(opd_emit_c(&text, item, failure, options), OPD_OK);
    if (count_lines(&text) >= most_lines) {
        fail_msg("%s has %zu lines", name, count_lines(&text));
    }
    snprintf(path, sizeof(path), "%s/%s.c", folder, name);
    assert_int_equal(opd_write_file(path, text.bytes, text.size), OPD_OK);
    opd_buffer_done(&text);
}

/* Compiles every program of the folder; any output of the compiler is a failure. */
static void compile_all(void)
{
    char command[512];
    snprintf(
        command, sizeof(command),
        "cd %s && rm -f *.log && ls *.c | sed 's/\\.c$//' | xargs -P 2 -I{} sh -c "
        "'cc -pipe -std=c17 -Wall -Wextra -Werror -o {}.out {}.c -lopenblas -lm > {}.log 2>&1' ; find . -name '*.log' -size +0 "
        "-exec head -5 {} + ; test -z \"$(find . -name '*.log' -size +0)\"",
        folder);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the compiler is what is tested
}

static int run_program(const char *name)
{
    char command[320];
    snprintf(command, sizeof(command), "cd %s && OPENBLAS_NUM_THREADS=1 ./%s.out > %s.txt 2>&1", folder, name, name);
    int status = system(command); // NOLINT(cert-env33-c)
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void remove_programs(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s/*", folder);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
}

/* The first expected value becomes wrong. */
static void spoil(values *v, const opd_case *item)
{
    for (int o = 0; o < item->call.operand_count; o++) {
        const opd_tensor *view = &item->call.operands[o].view;
        int parts = opd_dtype_is_complex(view->dtype) ? 2 : 1;
        for (int64_t i = 0; (item->call.operands[o].role & OPD_ROLE_OUT) != 0 && i < opd_tensor_count(view); i++) {
            int64_t index[OPD_MAX_RANK];
            opd_tensor_unflatten(view, i, index);
            if (opd_tensor_exists(view, index)) {
                v->want[o][i * parts] += 1;
                return;
            }
        }
    }
    fail_msg("%s has no output", item->call.name);
}

/* Every step-th routine from first on; a quick run takes a fifth of them, in alternating forms: OPD_TEST_FULL asks for all. */
typedef struct choice {
    int first, step;
} choice;

static choice choose(int quick_first)
{
    bool is_full = getenv("OPD_TEST_FULL") != NULL;
    return is_full ? (choice){ 0, 1 } : (choice){ quick_first, 10 };
}

/* Programs of routines in one form; the spoiled ones have their expected values wrong. */
static void programs_of(choice chosen, uint32_t flags, bool is_spoiled)
{
    static values v;
    bool is_written[1024] = { false };
    const opd_failure failure = { .outcome = OPD_OUTCOME_MISMATCH, .index_rank = -1 };
    assert_true(opd_routine_count() < 1024);
    for (int i = chosen.first; i < opd_routine_count(); i += chosen.step) {
        const opd_routine *routine = opd_routine_at(i);
        opd_emit_options options = { 0 };
        opd_case item;
        bool has_cblas = !routine->op->is_complex_fortran_only || !opd_dtype_is_complex(routine->dtype);
        make_case(&item, routine, has_cblas ? flags : 0, 3);
        if (reference(&v, &options, &item)) {
            if (is_spoiled) {
                spoil(&v, &item);
            }
            write_program(routine->name, &item, &failure, &options, 100);
            is_written[i] = true;
        }
        opd_case_done(&item);
    }
    compile_all();
    int failures = 0;
    int count = 0;
    for (int i = 0; i < opd_routine_count(); i++) {
        if (is_written[i]) {
            int status = run_program(opd_routine_at(i)->name);
            bool is_right = status == (is_spoiled ? 1 : 0);
            failures += !is_right;
            count++;
            if (!is_right) {
                print_message("%s ends with %d\n", opd_routine_at(i)->name, status);
            }
        }
    }
    print_message("%d programs, %d wrong\n", count, failures);
    assert_int_equal(failures, 0);
    assert_true(count > 100 / chosen.step);
    remove_programs();
}

static void cblas_programs_of_healthy_calls_end_with_zero(void **state)
{
    (void)state;
    programs_of(choose(0), OPD_CALL_CBLAS | OPD_CALL_ROW_MAJOR, false);
}

static void fortran_programs_of_healthy_calls_end_with_zero(void **state)
{
    (void)state;
    programs_of(choose(5), 0, false);
}

static void programs_with_a_wrong_expectation_end_with_one(void **state)
{
    (void)state;
    programs_of(getenv("OPD_TEST_FULL") != NULL ? (choice){ 0, 7 } : (choice){ 3, 28 }, OPD_CALL_CBLAS, true);
}

/* A complex dot by the name that returns its result, right and with a wrong expectation. */
static void programs_take_a_returned_complex_result(void **state)
{
    static values v;
    static const char *const names[] = { "cdotu", "zdotc" };
    const opd_failure failure = { .outcome = OPD_OUTCOME_MISMATCH, .index_rank = -1 };
    (void)state;
    for (int i = 0; i < 4; i++) {
        opd_case item;
        opd_emit_options options = { 0 };
        char name[32];
        const opd_routine *routine = opd_routine_find(names[i % 2]);
        make_case(&item, routine, OPD_CALL_CBLAS | OPD_CALL_DIRECT, 3);
        snprintf(item.call.symbol, sizeof(item.call.symbol), "cblas_%s", routine->name);
        assert_true(reference(&v, &options, &item));
        if (i >= 2) {
            spoil(&v, &item);
        }
        snprintf(name, sizeof(name), "%s_%d", routine->name, i);
        write_program(name, &item, &failure, &options, 100);
        opd_case_done(&item);
    }
    compile_all();
    assert_int_equal(run_program("cdotu_0"), 0);
    assert_int_equal(run_program("zdotc_1"), 0);
    assert_int_equal(run_program("cdotu_2"), 1);
    assert_int_equal(run_program("zdotc_3"), 1);
    remove_programs();
}

/* The call's mode is set around it; what is expected only comes out under that mode. */
static void programs_set_the_floating_point_mode_of_the_call(void **state)
{
    static const struct {
        const char *name;
        uint32_t mxcsr;
        double x, alpha, want;
        int status;
    } modes[] = {
        { "zero", 0x7f80, 1e300, 1e300, DBL_MAX, 0 }, /* not beyond the largest number */
        { "nearest", 0x1f80, 1e300, 1e300, DBL_MAX, 1 }, { "unknown", 0, 1e300, 1e300, DBL_MAX, 1 },
        { "flush", 0x9fc0, 3e-308, 0.5, 0, 0 },          { "kept", 0x1f80, 3e-308, 0.5, 0, 1 },
    };
    const opd_failure failure = { .outcome = OPD_OUTCOME_MISMATCH, .index_rank = -1 };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(modes); i++) {
        opd_case item;
        long double want = (long double)modes[i].want;
        long double gauge = 0; /* exact */
        opd_emit_options options = { 0 };
        make_case(&item, opd_routine_find("dscal"), OPD_CALL_CBLAS, 1);
        item.call.mxcsr = modes[i].mxcsr;
        *(double *)opd_call_operand(&item.call, "x")->view.data = modes[i].x;
        opd_call_value(&item.call, "alpha")->re = modes[i].alpha;
        for (int o = 0; o < item.call.operand_count; o++) {
            options.want[o] = &want;
            options.gauge[o] = &gauge;
        }
        write_program(modes[i].name, &item, &failure, &options, 100);
        opd_case_done(&item);
    }
    compile_all();
    for (size_t i = 0; i < OPD_COUNT(modes); i++) {
        if (run_program(modes[i].name) != modes[i].status) {
            fail_msg("%s does not end with %d", modes[i].name, modes[i].status);
        }
    }
    remove_programs();
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    remove_programs();
    return rmdir(folder);
}

/* Names in a failure come from a bundle, which anyone may have written: they stay inside the comment. */
static void names_of_the_failure_cannot_end_the_comment(void **state)
{
    const opd_failure failures[] = {
        { .outcome = OPD_OUTCOME_MISMATCH, .operand = "*/ #error out /*", .index_rank = -1 },
        { .outcome = OPD_OUTCOME_MISMATCH, .label = "x\n*/ #error out /*", .index_rank = -1 },
        { .outcome = OPD_OUTCOME_MISMATCH, .reason = "**//\n*/ #error out", .index_rank = -1 },
    };
    opd_case item;
    (void)state;
    make_case(&item, opd_routine_find("dscal"), OPD_CALL_CBLAS, 1);
    for (size_t i = 0; i < OPD_COUNT(failures); i++) {
        opd_buffer text;
        opd_emit_options options = { 0 };
        opd_buffer_init(&text, (size_t)1 << 20);
        assert_int_equal(opd_emit_c(&text, &item, &failures[i], &options), OPD_OK);
        const uint8_t *end = memmem(text.bytes, text.size, "*/", 2);
        assert_non_null(end);
        assert_memory_equal(end, "*/\n#define _GNU_SOURCE\n", 23);
        opd_buffer_done(&text);
    }
    opd_case_done(&item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cblas_programs_of_healthy_calls_end_with_zero),
        cmocka_unit_test(fortran_programs_of_healthy_calls_end_with_zero),
        cmocka_unit_test(programs_with_a_wrong_expectation_end_with_one),
        cmocka_unit_test(programs_take_a_returned_complex_result),
        cmocka_unit_test(programs_set_the_floating_point_mode_of_the_call),
        cmocka_unit_test(names_of_the_failure_cannot_end_the_comment),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
