/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One argument of a legal call made illegal, for every routine, form and argument: the position we report is the one that
 * netlib's xerbla and cblas_xerbla print, and where they print nothing we find nothing.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/op.h>

#include "blas_case.h"

static void *netlib;

/* Position printed by the library, 0 when it prints nothing. Runs in a child: netlib ends the process. */
static int printed_position(const opd_call *call, opd_function *function)
{
    int ends[2];
    if (pipe(ends) != 0) {
        abort();
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        opd_routine_call(function, call);
        fflush(NULL);
        _exit(0);
    }
    close(ends[1]);
    char text[1024] = { 0 };
    size_t used = 0;
    ssize_t got;
    while (used < sizeof text - 1 && (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0) {
        used += (size_t)got;
    }
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    assert_false(WIFSIGNALED(status));
    const char *number = strstr(text, "umber");
    const char *parameter = number != NULL ? number : strstr(text, "arameter");
    return parameter != NULL ? (int)strtol(parameter + strcspn(parameter, "0123456789"), NULL, 10) : 0;
}

/* Makes argument `index` illegal; false when it cannot be. */
static bool spoil(opd_call *call, const opd_arg *arg)
{
    opd_value *value = opd_call_value(call, arg->name);
    switch (arg->kind) {
    case OPD_ARG_CHOICE:
        value->i = 'X';
        return true;
    case OPD_ARG_INT:
        if (strncmp(arg->name, "inc", 3) == 0) {
            value->i = 0;
        } else if (strncmp(arg->name, "ld", 2) == 0) {
            /* One less than the smallest legal value. */
            opd_call compact = *call;
            assert_int_equal(opd_call_compact(&compact), OPD_OK);
            value->i = opd_call_value(&compact, arg->name)->i - 1;
        } else {
            value->i = -1;
        }
        return true;
    default:
        return false;
    }
}

static long compared;
static long hidden;
static long slips;

/*
 * For row-major complex vectors that have to be conjugated, netlib's CBLAS works on a copy with increment 1: the checks never see
 * the caller's increment of 0.
 */
static bool is_hidden_increment(const opd_call *call, const opd_arg *arg)
{
    return (call->flags & OPD_CALL_ROW_MAJOR) != 0 && opd_dtype_is_complex(call->dtype) &&
           strncmp(arg->name, "inc", 3) == 0;
}

/* netlib's row-major CBLAS prints the neighbour's position for two letters: 2 for transb of gemm, 3 for uplo of the rank-k updates. */
static bool is_slip(const opd_call *call, const opd_arg *arg, int printed)
{
    bool is_gemm = strcmp(call->op->name, "gemm") == 0 && strcmp(arg->name, "transb") == 0;
    bool is_update = strcmp(arg->name, "uplo") == 0 && strstr(call->op->name, "r") != NULL && call->op->level == 3;
    return (call->flags & OPD_CALL_ROW_MAJOR) != 0 && ((is_gemm && printed == 2) || (is_update && printed == 3));
}

static void compare_positions(const opd_routine *routine, uint32_t flags)
{
    char symbol[64];
    bool is_cblas = (flags & OPD_CALL_CBLAS) != 0;
    bool has_symbol = opd_routine_symbol(symbol, sizeof symbol, routine, opd_name_pattern_at(is_cblas ? 0 : 1));
    void *found = has_symbol ? dlsym(netlib, symbol) : NULL;
    if (found == NULL) {
        return;
    }
    opd_function *function;
    memcpy(&function, &found, sizeof function);
    opd_arg args[24];
    int count = opd_routine_args(routine, args, 24);
    for (int i = 0; i < count; i++) {
        opd_call call;
        assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
        call.flags |= flags;
        for (int k = 0; k < call.symbol_count; k++) {
            /* Distinct dimensions: the wrong one would show in the leading dimensions. */
            assert_int_equal(opd_call_set(&call, call.symbols[k].name, 5 - k), OPD_OK);
        }
        assert_int_equal(opd_call_compact(&call), OPD_OK);
        dice d = { .seed = 5 };
        blas_case item = { .call = call };
        blas_case_fill(&item, &d, false);
        if (spoil(&item.call, &args[i])) {
            (void)opd_call_bind(&item.call);
            int printed = printed_position(&item.call, function);
            bool is_hidden = printed == 0 && is_hidden_increment(&item.call, &args[i]);
            hidden += is_hidden;
            bool is_slip_here = printed != item.call.bad_arg && is_slip(&item.call, &args[i], printed);
            slips += is_slip_here;
            printed = is_hidden || is_slip_here ? item.call.bad_arg : printed;
            if (printed != item.call.bad_arg) {
                char text[256];
                opd_call_describe(text, sizeof text, &item.call);
                fail_msg("%s %s: netlib says %d, we say %d", symbol, text, printed, item.call.bad_arg);
            }
            assert_int_equal((item.call.flags & OPD_CALL_BAD_ARGS) != 0, printed != 0);
            compared++;
        }
        blas_case_done(&item);
    }
}

static void positions_are_those_that_xerbla_prints(void **state)
{
    (void)state;
    netlib = dlopen("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3", RTLD_NOW | RTLD_LOCAL);
    if (netlib == NULL) {
        printf("not installed: %s\n", dlerror());
        exit(77);
    }
    for (int id = 0; id < opd_routine_count(); id++) {
        const opd_routine *routine = opd_routine_at(id);
        compare_positions(routine, 0);
        compare_positions(routine, OPD_CALL_CBLAS);
        if (routine->op->has_layout) {
            compare_positions(routine, OPD_CALL_CBLAS | OPD_CALL_ROW_MAJOR);
        }
    }
    printf("%ld illegal calls compared, %ld hidden increments\n", compared, hidden);
    assert_int_equal(hidden, 20);
    assert_int_equal(slips, 14);
    assert_true(compared > 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(positions_are_those_that_xerbla_prints) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
