/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts that are refused, each with the one line that says why; contracts from outside beside those of the build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

#include "general_ops.h"

static void a_malformed_contract_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *signature, *attributes, *types, *defaults, *text;
    } cases[] = {
        { "X:T[n]", NULL, "f32", NULL, "no ->: X:T[n]" },
        { "X[n] -> Y:T[n]", NULL, "f32", NULL, "an operand is NAME:TYPE[dims]: X[n]" },
        { "X:T -> Y:T[n]", NULL, "f32", NULL, "an operand is NAME:TYPE[dims]: X:T" },
        { "X:Q[n] -> Y:T[n]", NULL, "f32", NULL, "unknown type: Q" },
        { "3X:T[n] -> Y:T[n]", NULL, "f32", NULL, "not a name: 3X" },
        { "X:T[n] -> Y:T[n]", NULL, NULL, NULL, "types says T first: " },
        { "X:T[n] -> Y:T[n]", NULL, "U: f32", NULL, "types says T first: U: f32" },
        { "X:T[n] -> Y:T[n]", NULL, "f32 f99", NULL, "unknown or too many dtypes: f99" },
        { "X:T[n] -> Y:T[n]", NULL, "T: f32; U:", NULL, "a type variable without dtypes: U" },
        { "X:T[n] -> Y:T[n]", "axis", "f32", NULL, "attribute without a type, or too many: axis" },
        { "X:T[n] -> Y:T[n]", "axis:x=1", "f32", NULL, "an attribute is NAME:i, f, is or s: axis" },
        { "X:T[n] -> Y:T[n]", "axis:i", "f32", NULL, "an attribute without a name or a legal default: axis" },
        { "X:T[n] -> Y:T[n]", "axis:i=1.5", "f32", NULL, "an attribute without a name or a legal default: axis" },
        { "X:T[n] -> Y:T[n]", "e:f=1,5", "f32", NULL, "an attribute without a name or a legal default: e" },
        { "X:T[n] -> Y:T[n]", "p:is=[1,2,3,4,5,6,7,8,9]", "f32", NULL,
          "an attribute without a name or a legal default: p" },
        { "X:T[n] -> Y:T[n]", "X:i=1", "f32", NULL, "too many attributes, or one with a name that is taken: X" },
        { "X:T[X] -> Y:T[X]", NULL, "f32", NULL, "too many symbols, or one with the name of an operand: X" },
        { "X:T[n] -> Y:T[m]", NULL, "f32", NULL, "no input and no shape function gives the dimensions of: Y" },
        { "X:T[n] -> Y:T[...]", NULL, "f32", NULL, "no input and no shape function gives the dimensions of: Y" },
        { "X:T[n] -> Y:T[n~]", NULL, "f32", NULL, "an output is not broadcast: Y" },
        { "X:T[n, n...] -> Y:T[n]", NULL, "f32", NULL, "a symbol that stands for other dimensions elsewhere: n" },
        { "X:T[a..., b..., c...] split(1) -> Y:T[a...]", NULL, "f32", NULL,
          "one NAME+ on a side, an output with times(); at most two NAME... in: X" },
        { "X+:T[n], Z+:T[n] -> Y:T[n]", NULL, "f32", NULL,
          "one NAME+ on a side, an output with times(); at most two NAME... in: Z" },
        { "X:T[n] -> Y+:T[n]", NULL, "f32", NULL,
          "one NAME+ on a side, an output with times(); at most two NAME... in: Y" },
        { "X:T[n] -> Y+:T[n] times(2), Z:T[n]", NULL, "f32", NULL, "an output NAME+ is the last: Y" },
        { "X:T[c+] -> Y:T[n]", NULL, "f32", NULL, "NAME+ in dimensions needs NAME+ as the operand: X" },
        { "X:T[a,b,c,d,e,f,g,h,i] -> Y:T[a]", NULL, "f32", NULL, "more than 8 dimensions: i" },
        { "X:T[n] ld(lda) -> Y:T[n]", NULL, "f32", NULL, "a modifier of BLAS routines: ld(lda)" },
        { "X:T[n] foo(1) -> Y:T[n]", NULL, "f32", NULL, "unknown modifier: foo(1)" },
        { "X:T[n] fill(index(m)) -> Y:T[n]", NULL, "f32", NULL, "unknown name: m" },
        { "X:T[n] -> Y:T[n + ]", NULL, "f32", NULL, "the expression ends where a value is expected: n +" },
        { "X:T[n] -> Y:T[dim(Z, 0)]", NULL, "f32", NULL,
          "a function of a name that is no such operand, symbol or attribute: dim(Z, 0)" },
        { "X:T[n] -> Y:T[mode == 'foo']", "mode:s=a|b", "f32", NULL,
          "a word that is not in the attribute's list: mode == 'foo'" },
        { "X:T[n...] -> Y:T[n + 1]", NULL, "f32", NULL,
          "several values, of which prod(), dim(), at() or len() make one: n + 1" },
        { "X:T[n] -> Y:T[n]", NULL, "f32", "n=x", "a default that is no size: n" },
        { "X:T[n] -> Y:T[n]", NULL, "f32", "n=1,2", "a default that is no size: n" },
        { "X:T[n..., n0] split(1) -> Y:T[n0]", NULL, "f32", NULL,
          "a symbol with the name of a dimension of another: n0" },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        char expected[256];
        char name[16];
        snprintf(name, sizeof name, "bad%zu", i);
        opd_op op = { .domain = "test",
                      .name = name,
                      .types = cases[i].types,
                      .signature = cases[i].signature,
                      .attributes = cases[i].attributes,
                      .defaults = cases[i].defaults };
        opd_error_clear();
        assert_int_equal(opd_op_register(&op), OPD_E_INVALID);
        snprintf(expected, sizeof expected, "contract of %s: %s", name, cases[i].text);
        assert_string_equal(opd_error_text(), expected);
        assert_null(opd_op_find("test", name));
    }
}

static void texts_that_are_missing_or_too_long_are_refused(void **state)
{
    (void)state;
    const opd_op none = { .domain = "test", .types = "f32", .signature = "X:T[n] -> Y:T[n]" };
    const opd_op longer = { .domain = "test",
                            .name = "a-name-that-is-longer-than-31-bytes-is-too-long",
                            .types = "f32",
                            .signature = "X:T[n] -> Y:T[n]" };
    const opd_op blas = {
        .domain = "test", .name = "b", .types = "f32", .signature = "X:T[n] -> Y:T[n]", .call = "n X Y"
    };
    const opd_op *const cases[] = { &none, &longer, &blas };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        opd_error_clear();
        assert_int_equal(opd_op_register(cases[i]), OPD_E_INVALID);
        assert_true(strlen(opd_error_text()) > 0);
    }
}

static void a_contract_from_outside_is_found_and_listed_once(void **state)
{
    (void)state;
    int before = opd_op_count();
    for (int i = 0; i < general_op_count; i++) {
        assert_int_equal(opd_op_register(&general_ops[i]), OPD_OK);
        assert_ptr_equal(opd_op_find("test", general_ops[i].name), &general_ops[i]);
        assert_ptr_equal(opd_op_at(before + i), &general_ops[i]);
    }
    assert_int_equal(opd_op_count(), before + general_op_count);
    assert_null(opd_op_at(before + general_op_count));
    assert_int_equal(opd_op_register(&general_ops[0]), OPD_E_INVALID);
    assert_string_equal(opd_error_text(), "there is an operator Add in test already");
    assert_int_equal(opd_op_count(), before + general_op_count);
    assert_int_equal(opd_ops_compile(), OPD_OK);
}

static void a_contract_lists_what_may_be_chosen(void **state)
{
    (void)state;
    opd_op_value values[OPD_MAX_SYMBOLS + OPD_MAX_ATTRS];
    opd_dtype dtypes[16];
    const opd_op *pad = opd_op_find("test", "Pad");
    assert_int_equal(opd_op_values(pad, values, (int)OPD_COUNT(values)), 5);
    static const struct {
        const char *name, *initial, *legal;
        opd_value_kind kind;
        bool is_symbol, is_optional;
    } expected[] = {
        { "n", "5", "", OPD_VALUE_INT, true, false },
        { "mode", "constant", "constant|reflect|edge", OPD_VALUE_TEXT, false, false },
        { "pads", "[1,2]", "", OPD_VALUE_INTS, false, false },
        { "value", "", "", OPD_VALUE_REAL, false, true },
        { "note", "", "", OPD_VALUE_TEXT, false, true },
    };
    for (size_t i = 0; i < OPD_COUNT(expected); i++) {
        assert_string_equal(values[i].name, expected[i].name);
        assert_string_equal(values[i].initial, expected[i].initial);
        assert_string_equal(values[i].legal, expected[i].legal);
        assert_int_equal(values[i].kind, expected[i].kind);
        assert_int_equal(values[i].is_symbol, expected[i].is_symbol);
        assert_int_equal(values[i].is_optional, expected[i].is_optional);
    }
    assert_int_equal(opd_op_values(pad, values, 2), 2);
    assert_int_equal(opd_op_dtypes(opd_op_find("test", "Add"), dtypes, 16), 5);
    assert_int_equal(dtypes[0], OPD_F32);
    assert_int_equal(dtypes[4], OPD_I64);
    assert_int_equal(opd_op_values(opd_op_find("test", "LayerNormalization"), values, 1), 1);
    assert_string_equal(values[0].name, "n...");
    const opd_op *gemm = opd_op_find("blas", "gemm");
    assert_int_equal(opd_op_values(gemm, values, (int)OPD_COUNT(values)), 7);
    assert_string_equal(values[3].legal, "N|T|C|R");
    assert_int_equal(opd_op_dtypes(gemm, dtypes, 16), 4);
    assert_int_equal(dtypes[3], OPD_C128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_malformed_contract_is_named),
        cmocka_unit_test(texts_that_are_missing_or_too_long_are_refused),
        cmocka_unit_test(a_contract_from_outside_is_found_and_listed_once),
        cmocka_unit_test(a_contract_lists_what_may_be_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
