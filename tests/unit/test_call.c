/* SPDX-License-Identifier: Apache-2.0 */
/* Calls read, changed and described by name; symbol names and argument lists of routines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

static opd_call call_of(const char *name)
{
    const opd_routine *routine = opd_routine_find(name);
    opd_call call;
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    return call;
}

static void expect_text(const opd_call *call, const char *wanted)
{
    char text[256];
    opd_call_describe(text, sizeof text, call);
    assert_string_equal(text, wanted);
}

static void a_new_call_has_defaults(void **state)
{
    (void)state;
    opd_call call = call_of("dgemm");
    expect_text(&call, "dgemm(N, N, m=128, n=128, k=128, alpha=1, beta=1)");
    assert_string_equal(call.domain, "blas");
    assert_int_equal(opd_call_value(&call, "lda")->i, 128);
    assert_null(opd_call_value(&call, "nothing"));
    assert_null(opd_call_operand(&call, "D"));
    assert_true(opd_call_flops(&call) == 2.0 * 128 * 128 * 128);
    assert_true(opd_call_bytes(&call) == 3.0 * 128 * 128 * 8);
}

static void setting_a_dimension_changes_every_operand_it_links(void **state)
{
    (void)state;
    opd_call call = call_of("dgemm");
    assert_int_equal(opd_call_set(&call, "transb", 'T'), OPD_OK);
    assert_int_equal(opd_call_set(&call, "k", 3), OPD_OK);
    assert_int_equal(opd_call_set(&call, "n", 200), OPD_OK);
    expect_text(&call, "dgemm(N, T, m=128, n=200, k=3, alpha=1, beta=1)");
    assert_int_equal(opd_call_operand(&call, "A")->view.shape[1], 3);
    assert_int_equal(opd_call_operand(&call, "B")->view.shape[0], 200);
    assert_int_equal(opd_call_operand(&call, "B")->view.shape[1], 3);
    assert_int_equal(opd_call_value(&call, "ldb")->i, 200);
    assert_int_equal(opd_call_set(&call, "n", 7), OPD_OK);
    assert_int_equal(opd_call_value(&call, "ldb")->i, 200);
    expect_text(&call, "dgemm(N, T, m=128, n=7, k=3, alpha=1, ldb=200, beta=1)");
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    expect_text(&call, "dgemm(N, T, m=128, n=7, k=3, alpha=1, beta=1)");
    assert_true(opd_call_flops(&call) == 2.0 * 128 * 7 * 3);
}

static void illegal_settings_are_refused_and_said(void **state)
{
    (void)state;
    opd_call call = call_of("dgemm");
    assert_int_equal(opd_call_set(&call, "m", -1), OPD_E_INVALID);
    assert_string_equal(opd_error_text(), "m = -1 is negative");
    call = call_of("dgemm");
    assert_int_equal(opd_call_set(&call, "transa", 'Z'), OPD_E_INVALID);
    assert_int_equal(opd_call_set(&call, "q", 1), OPD_E_INVALID);
    call = call_of("dgemv");
    assert_int_equal(opd_call_set(&call, "incx", 0), OPD_OK);
    assert_int_equal(opd_call_value(&call, "incx")->i, 1);
}

static void texts_tell_what_differs_from_the_plain_call(void **state)
{
    (void)state;
    opd_call call = call_of("zgemv");
    call.flags |= OPD_CALL_CBLAS | OPD_CALL_ROW_MAJOR;
    assert_int_equal(opd_call_set(&call, "m", 6), OPD_OK);
    assert_int_equal(opd_call_set(&call, "n", 1), OPD_OK);
    assert_int_equal(opd_call_set(&call, "incy", -2), OPD_OK);
    assert_int_equal(opd_call_set(&call, "beta", 0), OPD_OK);
    opd_call_value(&call, "lda")->i = 3;
    opd_call_value(&call, "alpha")->im = -0.5;
    assert_int_equal(opd_call_bind(&call), OPD_OK);
    expect_text(&call, "zgemv(row-major, N, m=6, n=1, alpha=1-0.5i, lda=3, beta=0, incy=-2)");
    assert_true(opd_call_flops(&call) == 4.0 * 2 * 6);
    assert_true(opd_call_bytes(&call) == 16.0 * (6 + 1 + 6));
    char small[12];
    opd_call_describe(small, sizeof small, &call);
    assert_string_equal(small, "zgemv(row-m");
}

static void floating_point_modes_are_described_when_not_the_default(void **state)
{
    (void)state;
    static const struct {
        uint32_t mxcsr;
        const char *text;
    } modes[] = {
        { 0, "" },
        { 0x1f80, "" },
        { 0x1fbf, "" }, /* sticky flags are no mode */
        { 0x9fc0, "FTZ DAZ" },
        { 0x9f80, "FTZ" },
        { 0x1fc0, "DAZ" },
        { 0x3f80, "round down" },
        { 0x5f80, "round up" },
        { 0xffc0, "FTZ DAZ, round toward zero" },
        { 0x1980, "traps zero-divide, traps overflow" }, /* a set mask bit is an exception that does not trap */
    };
    char text[OPD_MODE_TEXT];
    for (size_t i = 0; i < OPD_COUNT(modes); i++) {
        opd_mxcsr_describe(text, sizeof text, modes[i].mxcsr);
        if (strcmp(text, modes[i].text) != 0) {
            fail_msg("0x%x is \"%s\", not \"%s\"", modes[i].mxcsr, text, modes[i].text);
        }
    }
    opd_mxcsr_describe(text, sizeof text, 0xe040); /* the longest */
    assert_int_equal(strlen(text), 124);
    opd_mxcsr_describe(text, 4, 0x9fc0);
    assert_string_equal(text, "FTZ");
}

static void unknown_operators_are_described_by_what_they_carry(void **state)
{
    (void)state;
    opd_call call = { .name = "LayerNormalization", .symbol_count = 1, .attr_count = 1 };
    snprintf(call.symbols[0].name, sizeof call.symbols[0].name, "d");
    call.symbols[0].kind = OPD_VALUE_INT;
    call.symbols[0].i = 64;
    snprintf(call.attrs[0].name, sizeof call.attrs[0].name, "epsilon");
    call.attrs[0].kind = OPD_VALUE_REAL;
    call.attrs[0].re = 1e-5;
    expect_text(&call, "LayerNormalization(d=64, epsilon=1e-05)");
    assert_true(opd_call_flops(&call) == 0);
}

static void symbols_follow_the_patterns_of_the_field(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "cblas_dgemm",
        "dgemm_",
        "dgemm_64_",
        "cblas_dgemm64_",
        "scipy_cblas_dgemm64_",
        "scipy_dgemm_64_",
        "scipy_cblas_dgemm",
        "scipy_dgemm_",
        "cblas_cdotu_sub",
        "cblas_cdotu_sub64_",
        "cdotu_",
        "cdotu_64_",
        "scipy_cblas_cdotu_sub64_",
        "cblas_cdotu", /* those that return the result */
        "cblas_cdotu64_",
        "cblas_cdotu_64",
        "scipy_cblas_cdotu",
        "scipy_cblas_cdotu64_",
        "csymv_",
        "csymv_64_",
        "scipy_csymv_",
        "scipy_csymv_64_",
    };
    for (size_t i = 0; i < OPD_COUNT(wanted); i++) {
        int found = 0;
        for (int p = 0; p < opd_name_pattern_count(); p++) {
            const opd_name_pattern *pattern = opd_name_pattern_at(p);
            static const char *const names[] = { "dgemm", "cdotu", "csymv" };
            for (size_t r = 0; r < OPD_COUNT(names); r++) {
                char text[64];
                bool has_none = (r == 0 && pattern->is_direct) || (r == 2 && pattern->is_cblas);
                assert_int_equal(opd_routine_symbol(text, sizeof text, opd_routine_find(names[r]), pattern), !has_none);
                if (!has_none && strcmp(text, wanted[i]) == 0) {
                    assert_int_equal(pattern->is_direct, strncmp(wanted[i], "scipy_cblas_cdotu", 17) != 0
                                                             ? strncmp(wanted[i], "cblas_cdotu", 11) == 0 &&
                                                                   strstr(wanted[i], "_sub") == NULL
                                                             : strstr(wanted[i], "_sub") == NULL);
                    assert_int_equal(pattern->int_bytes, strstr(text, "64") != NULL ? 8 : 4);
                    assert_int_equal(pattern->is_cblas, strstr(text, "cblas") != NULL);
                    found++;
                }
            }
        }
        if (found != 1) {
            fail_msg("%s is made by %d patterns", wanted[i], found);
        }
    }
    char tiny[4];
    assert_false(opd_routine_symbol(tiny, sizeof tiny, opd_routine_find("dgemm"), opd_name_pattern_at(0)));
    assert_null(opd_name_pattern_at(-1));
}

static void arguments_are_listed_in_call_order(void **state)
{
    (void)state;
    opd_arg args[24];
    int count = opd_routine_args(opd_routine_find("zher2k"), args, 24);
    static const struct {
        const char *name;
        opd_arg_kind kind;
        opd_dtype dtype;
        bool is_output;
        const char *letters;
    } wanted[] = {
        { "uplo", OPD_ARG_CHOICE, OPD_DTYPE_NONE, false, "UL" },
        { "trans", OPD_ARG_CHOICE, OPD_DTYPE_NONE, false, "NC" },
        { "n", OPD_ARG_INT, OPD_DTYPE_NONE, false, "" },
        { "k", OPD_ARG_INT, OPD_DTYPE_NONE, false, "" },
        { "alpha", OPD_ARG_SCALAR, OPD_C128, false, "" },
        { "A", OPD_ARG_OPERAND, OPD_C128, false, "" },
        { "lda", OPD_ARG_INT, OPD_DTYPE_NONE, false, "" },
        { "B", OPD_ARG_OPERAND, OPD_C128, false, "" },
        { "ldb", OPD_ARG_INT, OPD_DTYPE_NONE, false, "" },
        { "beta", OPD_ARG_SCALAR, OPD_F64, false, "" },
        { "C", OPD_ARG_OPERAND, OPD_C128, true, "" },
        { "ldc", OPD_ARG_INT, OPD_DTYPE_NONE, false, "" },
    };
    assert_int_equal(count, OPD_COUNT(wanted));
    for (int i = 0; i < count; i++) {
        assert_string_equal(args[i].name, wanted[i].name);
        assert_int_equal(args[i].kind, wanted[i].kind);
        assert_int_equal(args[i].dtype, wanted[i].dtype);
        assert_int_equal(args[i].is_output, wanted[i].is_output);
        assert_string_equal(args[i].letters, wanted[i].letters);
    }
    count = opd_routine_args(opd_routine_find("dimatcopy"), args, 24);
    assert_int_equal(count, 7);
    assert_true(args[4].is_output);
    assert_int_equal(opd_routine_returns(opd_routine_find("scnrm2")), OPD_F32);
    assert_int_equal(opd_routine_returns(opd_routine_find("dsdot")), OPD_F64);
    assert_int_equal(opd_routine_returns(opd_routine_find("icamax")), OPD_I64);
    assert_int_equal(opd_routine_returns(opd_routine_find("dgemm")), OPD_DTYPE_NONE);
}

/* Values of cblas.h. */
static void choices_have_their_cblas_values(void **state)
{
    (void)state;
    assert_int_equal(opd_choice_to_cblas("RC", 'R'), 101);
    assert_int_equal(opd_choice_to_cblas("RC", 'C'), 102);
    assert_int_equal(opd_choice_to_cblas("NTCR", 'N'), 111);
    assert_int_equal(opd_choice_to_cblas("NT", 'T'), 112);
    assert_int_equal(opd_choice_to_cblas("NC", 'C'), 113);
    assert_int_equal(opd_choice_to_cblas("NTCR", 'R'), 114);
    assert_int_equal(opd_choice_to_cblas("UL", 'U'), 121);
    assert_int_equal(opd_choice_to_cblas("UL", 'L'), 122);
    assert_int_equal(opd_choice_to_cblas("NU", 'N'), 131);
    assert_int_equal(opd_choice_to_cblas("NU", 'U'), 132);
    assert_int_equal(opd_choice_to_cblas("LR", 'L'), 141);
    assert_int_equal(opd_choice_to_cblas("LR", 'R'), 142);
    assert_int_equal(opd_choice_to_cblas("UL", 999), 999);
    assert_int_equal(opd_choice_to_cblas("UL", OPD_CHOICE_NUMBER - 5), -5);
}

/* Values of cblas.h are letters of their own kind of choice only: any other number, a letter's code too, comes back as it was given. */
static void numbers_that_are_no_value_of_a_choice_stay_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *legal;
        int first;
        const char *letters;
    } kinds[] = {
        { "RC", 101, "RC" }, { "NTC", 111, "NTCR" }, { "UL", 121, "UL" }, { "NU", 131, "NU" }, { "LR", 141, "LR" }
    };
    for (size_t k = 0; k < OPD_COUNT(kinds); k++) {
        int count = (int)strlen(kinds[k].letters);
        for (int value = -130; value <= 999; value++) {
            int64_t choice = opd_choice_from_cblas(kinds[k].legal, value);
            bool is_of_kind = value >= kinds[k].first && value < kinds[k].first + count;
            assert_int_equal(opd_choice_is_letter(choice), is_of_kind);
            assert_int_equal(choice, is_of_kind ? kinds[k].letters[value - kinds[k].first] : OPD_CHOICE_NUMBER + value);
            assert_int_equal(opd_choice_to_cblas(kinds[k].legal, choice), value);
        }
        assert_int_equal(opd_choice_to_cblas(kinds[k].legal, opd_choice_from_cblas(kinds[k].legal, INT32_MIN)),
                         INT32_MIN);
        assert_int_equal(opd_choice_to_cblas(kinds[k].legal, opd_choice_from_cblas(kinds[k].legal, INT32_MAX)),
                         INT32_MAX);
    }
    static const struct {
        int64_t choice;
        const char *text;
    } texts[] = {
        { 'N', "N" }, { OPD_CHOICE_NUMBER + 78, "78" }, { OPD_CHOICE_NUMBER - 1, "-1" }, { 7, "7" }, { 999, "999" }
    };
    for (size_t i = 0; i < OPD_COUNT(texts); i++) {
        char text[OPD_CHOICE_TEXT];
        opd_choice_print(text, texts[i].choice);
        assert_string_equal(text, texts[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_call_has_defaults),
        cmocka_unit_test(setting_a_dimension_changes_every_operand_it_links),
        cmocka_unit_test(illegal_settings_are_refused_and_said),
        cmocka_unit_test(texts_tell_what_differs_from_the_plain_call),
        cmocka_unit_test(floating_point_modes_are_described_when_not_the_default),
        cmocka_unit_test(unknown_operators_are_described_by_what_they_carry),
        cmocka_unit_test(symbols_follow_the_patterns_of_the_field),
        cmocka_unit_test(arguments_are_listed_in_call_order),
        cmocka_unit_test(choices_have_their_cblas_values),
        cmocka_unit_test(numbers_that_are_no_value_of_a_choice_stay_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
