/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every routine of the contract table, random legal arguments, each library at hand, both guards, the gauge rule. Healthy libraries must
 * come out clean: what does not is either in the table of known defects or a false alarm of ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/random.h>

#include "handmade.h"

#define ROUNDS_DEFAULT 2

static uint64_t seed_now;
static uint64_t draws;

static uint64_t draw(uint64_t below)
{
    return opd_random_u64(seed_now, 99, draws++) % below;
}

static int64_t draw_size(void)
{
    static const int sizes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33 };
    return sizes[draw(OPD_COUNT(sizes))];
}

/* Letter R (conjugate without transposing) is an extension of OpenBLAS. */
static char draw_letter(const char *letters, bool has_extensions)
{
    char letter = letters[draw(strlen(letters))];
    bool is_extension = letter == 'R' && strchr(letters, 'N') != NULL && !has_extensions;
    return is_extension ? 'N' : letter;
}

static void draw_value(const opd_routine *routine, opd_value *value, bool has_extensions)
{
    static const int increments[] = { 1, 1, 2, -1, -3 };
    static const double scalars[] = { 1, 0, -1, 0.7 };
    opd_arg args[OPD_MAX_WORDS];
    int count = opd_routine_args(routine, args, OPD_MAX_WORDS);
    if (value->kind == OPD_VALUE_CHOICE) {
        for (int i = 0; i < count; i++) {
            if (strcmp(args[i].name, value->name) == 0 && args[i].kind == OPD_ARG_CHOICE) {
                value->i = draw_letter(args[i].letters, has_extensions);
            }
        }
    } else if (value->kind == OPD_VALUE_REAL || value->kind == OPD_VALUE_COMPLEX) {
        value->re = scalars[draw(OPD_COUNT(scalars))];
        value->im = value->kind == OPD_VALUE_COMPLEX && draw(2) == 1 ? 0.3 : 0;
    } else if (strncmp(value->name, "inc", 3) == 0) {
        value->i = increments[draw(OPD_COUNT(increments))];
    }
}

/* Random legal arguments; false when the routine's contract refuses what was drawn. */
static bool draw_call(opd_call *call, const opd_routine *routine, bool has_extensions)
{
    char text[256];
    const opd_operand *overflow = NULL;
    *call = handmade_call(routine->name, "");
    for (int i = 0; i < call->symbol_count; i++) {
        bool is_band = strcmp(call->symbols[i].name, "kl") == 0 || strcmp(call->symbols[i].name, "ku") == 0;
        call->symbols[i].i = is_band ? (int64_t)draw(4) : draw_size();
    }
    for (int i = 0; i < call->attr_count; i++) {
        draw_value(routine, &call->attrs[i], has_extensions);
    }
    if (routine->op->is_complex_fortran_only && opd_dtype_is_complex(routine->dtype)) {
        call->flags &= ~(uint32_t)OPD_CALL_CBLAS;
    } else if (routine->op->has_layout && draw(2) == 1) {
        call->flags |= OPD_CALL_ROW_MAJOR;
    }
    for (int i = 0; i < call->attr_count; i++) {
        if (strncmp(call->attrs[i].name, "ld", 2) == 0) {
            call->attrs[i].i = 1;
        }
    }
    for (int i = 0; i < call->attr_count; i++) { /* the smallest legal one, or one more */
        if (strncmp(call->attrs[i].name, "ld", 2) == 0 &&
            (opd_call_set(call, call->attrs[i].name, 1) != OPD_OK ||
             opd_call_set(call, call->attrs[i].name, call->attrs[i].i + (int64_t)draw(2)) != OPD_OK)) {
            return false;
        }
    }
    return opd_call_bind(call) == OPD_OK && opd_call_check(call, text, sizeof text, &overflow);
}

/* Triangular solves amplify errors by the condition of the matrix: small entries beside a unit diagonal, which is not read then, keep it near 1. */
static void tame_solve(opd_case *item)
{
    opd_value *diag = opd_call_value(&item->call, "diag");
    opd_operand *a = opd_call_operand(&item->call, "A");
    if (diag == NULL || a == NULL) {
        return;
    }
    diag->i = 'U';
    if (opd_call_bind(&item->call) == OPD_OK) {
        opd_fill fill = { .kind = OPD_FILL_UNIFORM, .a = -0.1, .b = 0.1, .seed = seed_now, .stream = 50 };
        opd_tensor_fill(&a->view, &fill);
    }
}

/* What the packaged versions are known to do; condition: an expression on the call's values, as in contracts. */
static const struct {
    const char *library; /* part of its path */
    const char *names;   /* operators */
    const char *condition;
    opd_outcome outcome;
    const char *why;
} known[] = {
    { "0.3.21", " gemv ", "m % 4 == 2", OPD_OUTCOME_OOB_READ, "complex kernels read past x" },
    { "0.3.21", " hemv ", "1", OPD_OUTCOME_OOB_READ, "z: past y for odd n; c: past x as in gemv" },
    { "0.3.21", " dotu dotc ", "incx != 1 || incy != 1", OPD_OUTCOME_OOB_READ,
      "the strided loop loads one element ahead" },
    { "0.3.21", " nrm2 ", "incx < 0", OPD_OUTCOME_MISMATCH, "0 instead of the norm" },
    { "0.3.21", " syr2 spr2 ", "incx < 0 || incy < 0", OPD_OUTCOME_OOB_READ,
      "complex: a negative increment is walked from half way" },
    { "0.3.21", " syr2 spr2 ", "incx < 0 || incy < 0", OPD_OUTCOME_MISMATCH, "the same" },
    { "0.3.21", " imatcopy ", "1", OPD_OUTCOME_CRASH, "the copy it allocates is too small: heap overrun" },
    { "libblis", " gemm ", "m > 0 && n > 0", OPD_OUTCOME_OOB_READ, "small transposed products read past B" },
    { "libblis", " gemv ", "m == 0 || n == 0", OPD_OUTCOME_HANG,
      "CBLAS by rows, conjugate transposed: the loop that conjugates an empty x never ends" },
    { "libblis", " scal rscal asum iamax ", "incx < 0", OPD_OUTCOME_OOB_READ,
      "walks the vector that the standard says is empty" },
    { "libblis", " scal rscal asum iamax ", "incx < 0", OPD_OUTCOME_OOB_WRITE, "the same" },
    { "libblis", " scal rscal asum iamax ", "incx < 0", OPD_OUTCOME_MISMATCH, "the same" },
};

static bool is_known(const opd_replay_result *result, const opd_call *call)
{
    char name[OPD_NAME + 2];
    snprintf(name, sizeof name, " %s ", call->op->name);
    for (size_t i = 0; i < OPD_COUNT(known); i++) {
        int64_t holds = 0;
        if (strstr(result->library, known[i].library) != NULL && known[i].outcome == result->observed.outcome &&
            strstr(known[i].names, name) != NULL && opd_call_eval(&holds, call, known[i].condition) == OPD_OK &&
            holds != 0) {
            return true;
        }
    }
    return false;
}

typedef struct tally {
    int runs, clean, known, missing, alarms, judged;
} tally;

static void sweep_routine(tally *count, const opd_routine *routine, const char *library, const char *core)
{
    opd_call call;
    opd_replay_result result;
    char text[256];
    for (int tries = 0; tries < 20; tries++) {
        if (!draw_call(&call, routine, strcmp(library, "openblas") == 0)) {
            continue;
        }
        opd_case item = handmade_case(&call, seed_now);
        tame_solve(&item);
        opd_replay_options options = handmade_options(library, core, OPD_GUARD_BOTH);
        opd_status status = opd_replay(&result, NULL, &item, NULL, &options);
        opd_call_describe(text, sizeof text, &item.call);
        opd_case_done(&item);
        if (status != OPD_OK) {
            count->missing++;
            if (status != OPD_E_NOTFOUND) {
                print_message("%s %s: %s\n", library, text, opd_error_text());
                count->alarms++;
            }
            return;
        }
        count->runs++;
        count->judged += result.numbers.is_valid;
        if (result.observed.outcome == OPD_OUTCOME_OK) {
            count->clean++;
        } else if (is_known(&result, &call)) {
            count->known++;
        } else {
            count->alarms++;
            print_message("%s %s %s: %s\n", library, core != NULL ? core : "", text, result.observed.reason);
        }
        return;
    }
}

static void every_routine_is_clean_or_known(void **state)
{
    static const struct {
        const char *library, *core;
    } cells[] = { { "openblas", "Haswell" }, { "openblas", "Nehalem" }, { "netlib", NULL }, { "blis", NULL } };
    const char *rounds_text = getenv("OPD_TEST_ROUNDS");
    int rounds = rounds_text != NULL ? (int)strtol(rounds_text, NULL, 10) : ROUNDS_DEFAULT;
    tally count = { .runs = 0 };
    (void)state;
    for (int round = 0; round < rounds; round++) {
        for (int id = 0; id < opd_routine_count(); id++) {
            size_t cell = (size_t)(id + round) % OPD_COUNT(cells);
            seed_now = (uint64_t)(round * 1000 + id + 1);
            draws = 0;
            if (cells[cell].core == NULL || opd_core_missing(cells[cell].core) == NULL) {
                sweep_routine(&count, opd_routine_at(id), cells[cell].library, cells[cell].core);
            }
        }
    }
    print_message(
        "%d runs: %d clean, %d known defects, %d alarms; %d judged by a reference; %d routines missing in a library\n",
        count.runs, count.clean, count.known, count.alarms, count.judged, count.missing);
    assert_true(count.runs > 0);
    assert_int_equal(count.alarms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_routine_is_clean_or_known) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
