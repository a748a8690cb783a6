/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language of contracts, through opd_call_eval on a dgemm call: m = 7, n = 5, k = 3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

static opd_call call;

static int setup(void **state)
{
    (void)state;
    const opd_routine *routine = opd_routine_find("dgemm");
    return opd_call_init(&call, routine->op, routine->name, routine->dtype) != OPD_OK ||
           opd_call_set(&call, "m", 7) != OPD_OK || opd_call_set(&call, "n", 5) != OPD_OK ||
           opd_call_set(&call, "k", 3) != OPD_OK || opd_call_compact(&call) != OPD_OK;
}

static void values_follow_the_grammar(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        { "42", 42 },
        { " m ", 7 },
        { "m + n * k", 22 },
        { "(m + n) * k", 36 },
        { "m - n - k", -1 },
        { "m / k", 2 },
        { "-m / k", -3 },
        { "m / -k", -3 },
        { "-7 / -3", 2 },
        { "m % k", 1 },
        { "-m % k", 2 },
        { "m % -k", -2 },
        { "ceil(m, k)", 3 },
        { "ceil(-m, k)", -2 },
        { "ceil(6, k)", 2 },
        { "min(m, max(n, k))", 5 },
        { "max(m, min(n, k)) + 1", 8 },
        { "m < n", 0 },
        { "m > n", 1 },
        { "m <= 7 && n >= 5", 1 },
        { "m == 7 || 1 / 0 == 1", 1 },
        { "m != 7 && 1 / 0 == 1", 0 },
        { "!m", 0 },
        { "!(m < n)", 1 },
        { "!m == 0", 1 },
        { "--3", 3 },
        { "2 - -3", 5 },
        { "m < n ? 1 : 2", 2 },
        { "m > n ? n > k ? 1 : 2 : 3", 1 },
        { "m < n ? 1 : n < k ? 2 : 3", 3 },
        { "(m < n ? 1 : 2) * 10", 20 },
        { "m > 0 ? m : 1 / 0", 7 },
        { "m < 0 ? 1 / 0 : n", 5 },
        { "m < 0 ? 9223372036854775807 + 1 : n", 5 },
        { "9223372036854775807", INT64_MAX },
        { "-9223372036854775807 - 1", INT64_MIN },
        { "t(transa) ? k : m", 7 },
        { "transa == 'N'", 1 },
        { "alpha", 1 },
        { "lda", 7 },
        { "1 + 2 == 3 && 2 * 2 < 5", 1 },
        { "1 || 0 && 0", 1 },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        int64_t value = 12345;
        opd_status status = opd_call_eval(&value, &call, cases[i].text);
        if (status != OPD_OK || value != cases[i].value) {
            fail_msg("%s: status %d, value %lld, wanted %lld", cases[i].text, status, (long long)value,
                     (long long)cases[i].value);
        }
    }
}

static void malformed_and_overflowing_expressions_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "m +",
        "+ m",
        "m n",
        "(m",
        "m)",
        "m ? n",
        "m : n",
        "m ? n : ",
        "min(m)",
        "min(m, n, k)",
        "min m, n",
        "unknown",
        "foo(m)",
        "'N",
        "m,n",
        "t()",
        "t(transa, m)",
        "m = n",
        "m & n",
        "1 / 0",
        "m % 0",
        "m / (n - 5)",
        "9223372036854775807 + 1",
        "9223372036854775808",
        "-(-9223372036854775807 - 1)",
        "(-9223372036854775807 - 1) / -1",
        "3037000500 * 3037000500",
        "m > 0 ? 1 / 0 : 2",
        "1 / 0 ? 1 : 2",
        "1 / 0 || 1",
        "1 && 1 / 0",
        "0 || 1 / 0",
        "(1 ? 2) : 3",
        "1 ? (2 : 3)",
        "@",
    };
    for (size_t i = 0; i < OPD_COUNT(texts); i++) {
        int64_t value = 12345;
        opd_error_clear();
        opd_status status = opd_call_eval(&value, &call, texts[i]);
        if (status != OPD_E_INVALID || value != 12345 || opd_error_text()[0] == '\0') {
            fail_msg("\"%s\": status %d, value %lld", texts[i], status, (long long)value);
        }
    }
}

static void deep_nesting_is_refused_not_overrun(void **state)
{
    (void)state;
    char text[900];
    int64_t value;
    size_t used = 0;
    for (int i = 0; i < 400; i++) {
        text[used++] = '(';
    }
    text[used++] = 'm';
    for (int i = 0; i < 400; i++) {
        text[used++] = ')';
    }
    text[used] = '\0';
    assert_int_equal(opd_call_eval(&value, &call, text), OPD_E_INVALID);
    used = 0;
    for (int i = 0; i < 40; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "max(%d,", i);
    }
    assert_int_equal(opd_call_eval(&value, &call, text), OPD_E_INVALID);
    used = 0;
    for (int i = 0; i < 200; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "1+");
    }
    snprintf(text + used, sizeof text - used, "1");
    assert_int_equal(opd_call_eval(&value, &call, text), OPD_E_INVALID);
}

static void a_scalar_reads_as_zero_one_or_other(void **state)
{
    (void)state;
    static const struct {
        double value;
        int64_t read;
    } cases[] = {
        { 0, 0 }, { -0.0, 0 }, { 1, 1 }, { 1.0000000000000002, 2 }, { -1, 2 }, { 1e-320, 2 }, { 0.0 / 0.0, 2 }
    };
    opd_call copy = call;
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        int64_t value;
        opd_call_value(&copy, "alpha")->re = cases[i].value;
        assert_int_equal(opd_call_eval(&value, &copy, "alpha"), OPD_OK);
        assert_int_equal(value, cases[i].read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_grammar),
        cmocka_unit_test(malformed_and_overflowing_expressions_are_refused),
        cmocka_unit_test(deep_nesting_is_refused_not_overrun),
        cmocka_unit_test(a_scalar_reads_as_zero_one_or_other),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
