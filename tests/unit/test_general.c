/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of general operators: what their patterns make of shapes, and the one line that says why they refuse some.
 * Expected shapes follow from the ONNX definitions and numpy's broadcasting rules, worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/memory.h>

#include "general_ops.h"

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < general_op_count; i++) {
        if (opd_op_register(&general_ops[i]) != OPD_OK) {
            print_error("%s\n", opd_error_text());
            return -1;
        }
    }
    return 0;
}

static opd_status make(opd_call *out, const char *name, const char *shapes, const char *attributes, const char *outputs)
{
    const opd_op *op = opd_op_find("test", name);
    assert_non_null(op);
    opd_error_clear();
    return opd_call_make(out, op, &(opd_call_wish){ .shapes = shapes, .attributes = attributes, .outputs = outputs });
}

static opd_call made(const char *name, const char *shapes, const char *attributes)
{
    opd_call call;
    if (make(&call, name, shapes, attributes, NULL) != OPD_OK) {
        fail_msg("%s", opd_error_text());
    }
    return call;
}

/* "f32[2, 3] - i64[4]": the outputs. */
static void print_outputs(char *text, size_t size, const opd_call *call)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        char view[128] = "-";
        if (operand->role != OPD_ROLE_OUT) {
            continue;
        }
        if ((operand->flags & OPD_OPERAND_ABSENT) == 0) {
            opd_tensor_describe(view, sizeof view, &operand->view);
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "", view);
    }
}

/* "n0=2 k=3" */
static void print_symbols(char *text, size_t size, const opd_call *call)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < call->symbol_count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s=%lld", used > 0 ? " " : "", call->symbols[i].name,
                                 (long long)call->symbols[i].i);
    }
}

static void shapes_give_symbols_and_outputs(void **state)
{
    (void)state;
    static const struct {
        const char *name, *shapes, *attributes, *outputs, *symbols, *made;
    } cases[] = {
        { "Add", "[3,1];[4]", NULL, NULL, "n0=3 n1=4", "f32[3, 4]" },
        { "Add", "[];[]", NULL, NULL, "", "f32[]" },
        { "Add", "[];[2]", NULL, NULL, "n0=2", "f32[2]" },
        { "Add", "[0];[1]", NULL, NULL, "n0=0", "f32[0]" },
        { "Add", "[0,3];[1,3]", NULL, NULL, "n0=0 n1=3", "f32[0, 3]" },
        { "Add", "[1,2,1,4,1,6,1,8];[7,1]", NULL, NULL, "n0=1 n1=2 n2=1 n3=4 n4=1 n5=6 n6=7 n7=8",
          "f32[1, 2, 1, 4, 1, 6, 7, 8]" },
        { "Add", "f64[2];[2]", NULL, NULL, "n0=2", "f64[2]" },
        { "Add", "[2];i64[2]", NULL, NULL, "n0=2", "i64[2]" },
        { "Softmax", "[2,3]", NULL, NULL, "a0=2 k=3", "f32[2, 3]" },
        { "Softmax", "[2,3]", "axis=0", NULL, "k=2 b0=3", "f32[2, 3]" },
        { "Softmax", "[2,3]", "axis=-2", NULL, "k=2 b0=3", "f32[2, 3]" },
        { "Softmax", "[5]", NULL, NULL, "k=5", "f32[5]" },
        { "Softmax", "[2,3,4]", "axis=1", NULL, "a0=2 k=3 b0=4", "f32[2, 3, 4]" },
        { "LayerNormalization", "[2,3,4];[4]", NULL, NULL, "n0=2 n1=3 d0=4", "f32[2, 3, 4] - -" },
        { "LayerNormalization", "[2,3,4];[4]", NULL, "Mean", "n0=2 n1=3 d0=4", "f32[2, 3, 4] f32[2, 3] -" },
        { "LayerNormalization", "f64[2,3,4];[1,4];[3,1]", "axis=1", "*", "n0=2 d0=3 d1=4",
          "f64[2, 3, 4] f32[2] f32[2]" },
        { "LayerNormalization", "[2,3];[]", "axis=2", NULL, "n0=2 n1=3", "f32[2, 3] - -" },
        { "Gemm", "[3,4];[4,5];[5]", NULL, NULL, "k=4 m=3 n=5", "f32[3, 5]" },
        { "Gemm", "[4,3];[5,4];[3,1]", "transA=1,transB=1", NULL, "k=4 m=3 n=5", "f32[3, 5]" },
        { "Gemm", "[3,4];[4,5];[]", NULL, NULL, "k=4 m=3 n=5", "f32[3, 5]" },
        { "Gemm", "[3,4];[4,5]", NULL, NULL, "k=4 m=3 n=5", "f32[3, 5]" },
        { "Gemm", "[0,4];[4,5];-", NULL, NULL, "k=4 m=0 n=5", "f32[0, 5]" },
        { "MatMul", "[4];[4]", NULL, NULL, "k=4", "f32[]" },
        { "MatMul", "[4];[4,5]", NULL, NULL, "k=4 n=5", "f32[5]" },
        { "MatMul", "[3,4];[4]", NULL, NULL, "m=3 k=4", "f32[3]" },
        { "MatMul", "[7,1,3,4];[6,4,5]", NULL, NULL, "b0=7 b1=6 m=3 k=4 n=5", "f32[7, 6, 3, 5]" },
        { "MatMul", "[2,0,4];[4,5]", NULL, NULL, "b0=2 m=0 k=4 n=5", "f32[2, 0, 5]" },
        { "Conv", "[1,4,8,9];[6,2,3,3];[6]", "group=2,strides=[2,2]", NULL,
          "N=1 C=4 s0=8 s1=9 M=6 kernel0=3 kernel1=3 o0=3 o1=4", "f32[1, 6, 3, 4]" },
        { "Conv", "[1,4,8];[6,4,3]", NULL, NULL, "N=1 C=4 s0=8 M=6 kernel0=3 o0=6", "f32[1, 6, 6]" },
        { "Concat", "[2,3];[5,3];[1,3]", NULL, NULL, "c0=2 c1=5 c2=1 b0=3", "f32[8, 3]" },
        { "Concat", "[2,3];[2,4]", "axis=-1", NULL, "a0=2 c0=3 c1=4", "f32[2, 7]" },
        { "Concat", "i64[2]", NULL, NULL, "c0=2", "i64[2]" },
        { "Split", "[7,2]", "num_outputs=3", NULL, "k=7 b0=2 c0=3 c1=3 c2=1", "f32[3, 2] f32[3, 2] f32[1, 2]" },
        { "Split", "[7,2]", "axis=1", NULL, "a0=7 k=2 c0=1 c1=1", "f32[7, 1] f32[7, 1]" },
        { "Expand", "[3,1];[3]", NULL, NULL, "r=3 o0=2 o1=2 o2=4", "f32[2, 2, 4]" },
        { "Gather", "[7,2];[3,5]", NULL, NULL, "k=7 n0=2 q0=3 q1=5", "f32[3, 5, 2]" },
        { "Gather", "i32[7];i32[]", NULL, NULL, "k=7", "i32[]" },
        { "Heads", "[3,16];[4,16]", "heads=4", NULL, "s=3 t=4 d=4", "f32[4, 3, 4]" },
        { "Pad", "[5]", NULL, NULL, "n=5", "f32[8]" },
        { "Pad", "[5]", "mode=reflect", NULL, "n=5", "f32[7]" },
        { "Pad", "[5]", "mode=edge", NULL, "n=5", "f32[9]" },
        { "Pad", "[5]", "pads=[-3,-4]", NULL, "n=5", "f32[0]" },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        opd_call call;
        char text[256];
        opd_status status = make(&call, cases[i].name, cases[i].shapes, cases[i].attributes, cases[i].outputs);
        if (status != OPD_OK) {
            fail_msg("%s %s: %s", cases[i].name, cases[i].shapes, opd_error_text());
        }
        print_symbols(text, sizeof text, &call);
        assert_string_equal(text, cases[i].symbols);
        print_outputs(text, sizeof text, &call);
        assert_string_equal(text, cases[i].made);
        const opd_operand *overflow = NULL;
        assert_true(opd_call_check(&call, text, sizeof text, &overflow));
        assert_string_equal(text, "");
    }
}

/* A name that nothing has; a text that is no shape or no value of its kind; else what does not fit. */
static opd_status status_of(const char *text)
{
    static const char *const malformed[] = {
        "the shape of A is", "is negative", "is a whole number", "NAME=VALUE", "is one of", "is a list",
    };
    for (size_t i = 0; i < OPD_COUNT(malformed); i++) {
        if (strstr(text, malformed[i]) != NULL) {
            return OPD_E_SYNTAX;
        }
    }
    return strstr(text, "has no attribute") != NULL ? OPD_E_NAME : OPD_E_INVALID;
}

static void refusals_say_what_does_not_fit(void **state)
{
    (void)state;
    static const struct {
        const char *name, *shapes, *attributes, *text;
    } cases[] = {
        { "Add", "[3,2];[4]", NULL, "Add: B f32[4] cannot be broadcast with A f32[3, 2]" },
        { "Add", "[2,3];[2,1,2]", NULL, "Add: B f32[2, 1, 2] cannot be broadcast with A f32[2, 3]" },
        { "Add", "[0];[2]", NULL, "Add: B f32[2] cannot be broadcast with A f32[0]" },
        { "Add", "f64[2];f32[2]", NULL, "Add: B is f32, A is f64" },
        { "Add", "c64[2];[2]", NULL, "Add: A is c64, where it can be f32, f64, f16, i32 or i64" },
        { "Add", "[2]", NULL, "Add needs a shape of B" },
        { "Add", "[2];-", NULL, "Add needs a shape of B" },
        { "Add", "[2];[2];[2]", NULL, "Add has 2 inputs, not 3" },
        { "Add", "[2];[2]", "axis=1", "Add has no attribute axis; it has none" },
        { "Add", "2,3;4", NULL, "Add: the shape of A is [2,3] or f32[2,3] of at most 8 dimensions, not 2,3" },
        { "Add", "f33[2];[2]", NULL, "Add: the shape of A is [2,3] or f32[2,3] of at most 8 dimensions, not f33[2]" },
        { "Add", "[1,2,3,4,5,6,7,8,9];[9]", NULL,
          "Add: the shape of A is [2,3] or f32[2,3] of at most 8 dimensions, not [1,2,3,4,5,6,7,8,9]" },
        { "Add", "[2,-3];[2]", NULL, "Add: a dimension of A is negative: [2,-3]" },
        { "Add", "[9223372036854775807,9];[2]", NULL, "Add: A: the shape has more elements than 64 bits can count" },
        { "Softmax", "[2,3]", "axis=2", "Softmax: axis = 2 is not in [-2, 1] for X f32[2, 3]" },
        { "Softmax", "[2,3]", "axis=-3", "Softmax: axis = -3 is not in [-2, 1] for X f32[2, 3]" },
        { "Softmax", "[2,3]", "axis=0.5", "Softmax: axis is a whole number, not 0.5" },
        { "Softmax", "[2,3]", "axis", "Softmax: attributes are NAME=VALUE with commas between them, not axis" },
        { "Softmax", "[2,3]", "axes=1", "Softmax has no attribute axes; it has axis" },
        { "Softmax", "[]", NULL, "Softmax: X has 0 dimensions, which is too few" },
        { "LayerNormalization", "[2,3,4];[5]", NULL,
          "LayerNormalization: Scale f32[5] cannot be broadcast with X f32[2, 3, 4]" },
        { "LayerNormalization", "[2,3,4];[3,4]", NULL,
          "LayerNormalization: Scale f32[3, 4] cannot be broadcast with X f32[2, 3, 4]" },
        { "LayerNormalization", "f32[2,3,4];f64[4]", NULL, "LayerNormalization: Scale is f64, X is f32" },
        { "Gemm", "[3,4];[5,4]", NULL, "Gemm: B f32[5, 4] has k = 5 in dimension 0, A f32[3, 4] has 4" },
        { "Gemm", "[3,4];[4,5];[4,5]", NULL, "Gemm: C f32[4, 5] cannot be broadcast with A f32[3, 4]" },
        { "Gemm", "[3,4];[4,5];[1,3,5]", NULL, "Gemm: C has 3 dimensions, which is too many" },
        { "MatMul", "[7,2,3,4];[6,4,5]", NULL, "MatMul: B f32[6, 4, 5] cannot be broadcast with A f32[7, 2, 3, 4]" },
        { "MatMul", "[];[3]", NULL, "MatMul: A has 0 dimensions, which is too few" },
        { "Conv", "[1,4,8,8];[6,3,3,3]", "group=2",
          "Conv: W f32[6, 3, 3, 3] has 3 in dimension 1, where C / group is 2" },
        { "Conv", "[1,4,8,8];[6,4,3]", NULL, "Conv: X has 4 dimensions, W 3" },
        { "Conv", "[1,4,8,8];[6,4,3,3]", "group=0", "Conv: W f32[6, 4, 3, 3]: C / group has no value" },
        { "Concat", "[2,3];[5,4]", NULL, "Concat: X1 f32[5, 4] has b0 = 4 in dimension 1, X0 f32[2, 3] has 3" },
        { "Split", "[7,2]", "num_outputs=32", "Split: 32 operands Y, from 1 to 31 can be" },
        { "Gather", "[7];f32[2]", NULL, "Gather: I is f32, where it can be i64 or i32" },
        { "Expand", "[7];i32[2]", NULL, "Expand: shape is i32, where it can only be i64" },
        { "Heads", "[3,16];[4,8]", NULL, "Heads: K f32[4, 8] has 8 in dimension 1, where heads * d is 16" },
        { "Pad", "[5]", "mode=foo", "Pad: mode is one of constant|reflect|edge, not foo" },
        { "Pad", "[5]", "pads=[1,x]", "Pad: pads is a list of at most 8 whole numbers, [1,2], not [1,x]" },
        { "Pad", "[5]", "pads=-", "Pad: pads is a list of at most 8 whole numbers, [1,2], not -" },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        opd_call call = { .number = 77 };
        opd_status status = status_of(cases[i].text);
        assert_int_equal(make(&call, cases[i].name, cases[i].shapes, cases[i].attributes, NULL), status);
        assert_int_equal(opd_error_status(), status);
        assert_string_equal(opd_error_text(), cases[i].text);
        assert_int_equal(call.number, 77); /* written on success only */
    }
    opd_call call;
    assert_int_equal(make(&call, "Add", NULL, NULL, "D"), OPD_E_NAME);
    assert_string_equal(opd_error_text(), "Add has no output D; it has C");
    opd_call_wish wish = { .dtype = OPD_U8 };
    assert_int_equal(opd_call_make(&call, opd_op_find("test", "Add"), &wish), OPD_E_INVALID);
    assert_string_equal(opd_error_text(), "Add is not made for u8; its types are T: f32 f64 f16 i32 i64");
}

static void defaults_make_a_call_of_every_contract(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } cases[] = {
        { "Add", "Add(A f32[1, 128, 128], B f32[1, 128, 128])" },
        { "Softmax", "Softmax(X f32[1, 128, 128])" },
        { "LayerNormalization", "LayerNormalization(X f32[1, 128, 128], Scale f32[128], B f32[128])" },
        { "Gemm", "Gemm(A f32[4, 6], B f32[6, 5], C f32[4, 5])" },
        { "MatMul", "MatMul(A f32[2, 3, 5], B f32[2, 5, 4])" },
        { "Conv", "Conv(X f32[1, 4, 8, 8], W f32[6, 4, 3, 3])" },
        { "Concat", "Concat(X0 f32[2, 3], X1 f32[2, 3])" },
        { "Split", "Split(X f32[128, 1, 128])" },
        { "Expand", "Expand(X f32[1, 128, 128], shape i64[3])" },
        { "Gather", "Gather(X f32[7, 2], I i64[3, 5])" },
        { "Heads", "Heads(Q f32[3, 16], K f32[4, 16])" },
        { "Max", "Max(X0 f32[3, 4], X1 f32[3, 4])" },
        { "Pad", "Pad(X f32[5])" },
    };
    assert_int_equal(OPD_COUNT(cases), general_op_count);
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        char text[256];
        opd_call call = made(cases[i].name, NULL, NULL);
        opd_call_describe(text, sizeof text, &call);
        assert_string_equal(text, cases[i].text);
        opd_call again;
        assert_int_equal(opd_call_init(&again, call.op, cases[i].name, OPD_DTYPE_NONE), OPD_OK);
        assert_memory_equal(&again, &call, sizeof call);
    }
}

static void attributes_are_read_described_and_absent(void **state)
{
    (void)state;
    char text[256];
    opd_call call = made("Pad", "[5]", "mode=edge, pads=[1,2,-3], value=2.5, note=hello");
    opd_call_describe(text, sizeof text, &call);
    assert_string_equal(text, "Pad(X f32[5], mode=edge, pads=[1, 2, -3], value=2.5, note=hello)");
    assert_int_equal(opd_call_value(&call, "mode")->i, 2);
    int64_t value = 0;
    assert_int_equal(opd_call_eval(&value, &call, "has(value) + 2 * has(pads) + 4 * has(X) + 8 * len(pads)"), OPD_OK);
    assert_int_equal(value, 31);
    call = made("Pad", "[5]", "value=-,note=-");
    assert_int_equal(opd_call_value(&call, "value")->kind, OPD_VALUE_NONE);
    assert_int_equal(opd_call_eval(&value, &call, "has(value) + has(note)"), OPD_OK);
    assert_int_equal(value, 0);
}

static void expressions_ask_about_operands_symbols_and_lists(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        { "dim(X, 0) * 100 + dim(X, -1)", 109 },
        { "rank(X) + count(X)", 4 + 288 },
        { "count(B) + rank(B) + has(B)", 0 },
        { "prod(s)", 72 },
        { "sum(s)", 17 },
        { "s0 - s1", -1 },
        { "dim(s, -1)", 9 },
        { "rank(s) + rank(o)", 4 },
        { "prod(o)", 12 },
        { "at(strides, 1) + len(strides)", 4 },
        { "mode == 'valid'", 1 },
        { "mode != 'same'", 1 },
        { "has(B) ? dim(B, 0) : -5", -5 },
        { "C / group + N", 3 },
    };
    opd_call call = made("Conv", "[1,4,8,9];[6,2,3,3]", "group=2,strides=[2,2]");
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        int64_t value = 0;
        if (opd_call_eval(&value, &call, cases[i].text) != OPD_OK) {
            fail_msg("%s", opd_error_text());
        }
        assert_int_equal(value, cases[i].value);
    }
    static const char *const bad[] = {
        "dim(X, 4)", "dim(X, -5)", "dim(B, 0)",   "at(strides, 2)", "dim(Z, 0)", "dim(X)",          "prod(N)",
        "prod(X)",   "s",          "strides",     "mode == 'foo'",  "'valid'",   "'valid' == mode", "rank(X, 1)",
        "len(mode)", "s9",         "has(nobody)", "dim(X, 0",       "X",         "mode == ''",
    };
    for (size_t i = 0; i < OPD_COUNT(bad); i++) {
        int64_t value = 5;
        opd_error_clear();
        assert_int_equal(opd_call_eval(&value, &call, bad[i]), OPD_E_INVALID);
        assert_true(strlen(opd_error_text()) > 0);
        assert_int_equal(value, 5);
    }
    assert_true(opd_call_flops(&call) == 2.0 * 6 * 12 * 2 * 9);
    assert_true(opd_call_bytes(&call) == 4.0 * (288 + 108 + 72));
}

/* ------------------------------------------------------------------------------------------------------- sizes */

static void a_symbol_changes_every_operand_that_has_it(void **state)
{
    (void)state;
    static const struct {
        const char *name, *shapes, *attributes, *symbol;
        int64_t value;
        const char *after; /* inputs, as they are described */
        const char *made;
    } cases[] = {
        { "Add", "[3,4];[4]", NULL, "n1", 2, "Add(A f32[3, 2], B f32[2])", "f32[3, 2]" },
        { "Add", "[3,1];[4]", NULL, "n0", 7, "Add(A f32[7, 1], B f32[4])", "f32[7, 4]" },
        { "Add", "[3,1];[4]", NULL, "n1", 0, "Add(A f32[3, 1], B f32[0])", "f32[3, 0]" },
        { "Add", "[1];[1]", NULL, "n0", 3, "Add(A f32[3], B f32[3])", "f32[3]" },
        { "Softmax", "[2,3]", NULL, "k", 9, "Softmax(X f32[2, 9])", "f32[2, 9]" },
        { "LayerNormalization", "[2,3,4];[4];[1]", NULL, "d0", 5,
          "LayerNormalization(X f32[2, 3, 5], Scale f32[5], B f32[1])", "f32[2, 3, 5] - -" },
        { "Gemm", "[3,4];[4,5];[5]", NULL, "k", 1, "Gemm(A f32[3, 1], B f32[1, 5], C f32[5])", "f32[3, 5]" },
        { "Gemm", "[4,3];[4,5];[3,1]", "transA=1", "m", 2, "Gemm(A f32[4, 2], B f32[4, 5], C f32[2, 1], transA=1)",
          "f32[2, 5]" },
        { "Gemm", "[3,4];[4,5]", NULL, "transA", 1, "Gemm(A f32[4, 3], B f32[4, 5], transA=1)", "f32[3, 5]" },
        { "MatMul", "[4];[4,5]", NULL, "k", 6, "MatMul(A f32[6], B f32[6, 5])", "f32[5]" },
        { "Conv", "[1,4,8,8];[6,2,3,3]", "group=2", "C", 6, "Conv(X f32[1, 6, 8, 8], W f32[6, 3, 3, 3], group=2)",
          "f32[1, 6, 6, 6]" },
        { "Conv", "[1,4,8,8];[6,2,3,3]", "group=2", "group", 4, "Conv(X f32[1, 4, 8, 8], W f32[6, 1, 3, 3], group=4)",
          "f32[1, 6, 6, 6]" },
        { "Conv", "[1,4,8,8];[6,2,3,3]", "group=2", "kernel1", 8, "Conv(X f32[1, 4, 8, 8], W f32[6, 2, 3, 8], group=2)",
          "f32[1, 6, 6, 1]" },
        { "Concat", "[2,3];[5,3]", NULL, "c1", 1, "Concat(X0 f32[2, 3], X1 f32[1, 3])", "f32[3, 3]" },
        { "Concat", "[2,3];[5,3]", NULL, "b0", 1, "Concat(X0 f32[2, 1], X1 f32[5, 1])", "f32[7, 1]" },
        { "Split", "[7,2]", NULL, "k", 4, "Split(X f32[4, 2])", "f32[2, 2] f32[2, 2]" },
        { "Split", "[7,2]", NULL, "axis", 1, "Split(X f32[7, 2], axis=1)", "f32[7, 1] f32[7, 1]" },
        { "Heads", "[3,16];[4,16]", NULL, "d", 5, "Heads(Q f32[3, 10], K f32[4, 10])", "f32[2, 3, 4]" },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        char text[256];
        opd_call call = made(cases[i].name, cases[i].shapes, cases[i].attributes);
        if (opd_call_set(&call, cases[i].symbol, cases[i].value) != OPD_OK) {
            fail_msg("%s %s: %s", cases[i].name, cases[i].symbol, opd_error_text());
        }
        opd_call_describe(text, sizeof text, &call);
        assert_string_equal(text, cases[i].after);
        print_outputs(text, sizeof text, &call);
        assert_string_equal(text, cases[i].made);
        assert_int_equal(opd_call_value(&call, cases[i].symbol)->i, cases[i].value);
    }
}

static void what_cannot_be_set_leaves_the_call_as_it_was(void **state)
{
    (void)state;
    static const struct {
        const char *name, *shapes, *attributes, *symbol;
        int64_t value;
        const char *text;
    } cases[] = {
        { "Conv", "[1,4,8,8];[6,4,3,3]", NULL, "o0", 3, "Conv: o0 follows from the inputs and attributes" },
        { "Add", "[3];[3]", NULL, "n1", 3, "Add has no symbol or attribute n1" },
        { "Add", "[3];[3]", NULL, "n0", -1, "Add: n0 = -1 is negative" },
        { "Pad", "[3]", NULL, "mode", 1, "Pad: mode is no number" },
        { "Softmax", "[3]", NULL, "axis", 1, "Softmax: axis = 1 is not in [-1, 0] for X f32[3]" },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        opd_call call = made(cases[i].name, cases[i].shapes, cases[i].attributes);
        opd_call before = call;
        assert_int_equal(opd_call_set(&call, cases[i].symbol, cases[i].value), OPD_E_INVALID);
        assert_string_equal(opd_error_text(), cases[i].text);
        assert_memory_equal(&call, &before, sizeof call);
    }
}

static void views_keep_strides_while_they_shrink(void **state)
{
    (void)state;
    opd_call call = made("Add", "[3,4];[4]", NULL);
    opd_tensor *a = &call.operands[0].view;
    a->stride[0] = 10;
    a->stride[1] = -2;
    assert_int_equal(opd_call_bind(&call), OPD_OK);
    assert_int_equal(a->stride[1], -2);
    assert_int_equal(opd_call_set(&call, "n0", 2), OPD_OK);
    assert_int_equal(a->stride[0], 10);
    assert_int_equal(a->stride[1], -2);
    assert_int_equal(call.operands[1].view.stride[0], 1);
    assert_int_equal(opd_call_set(&call, "n0", 5), OPD_OK); /* no room in what there was */
    assert_int_equal(a->stride[0], 4);
    assert_int_equal(a->stride[1], 1);
    a->stride[0] = 7;
    call.operands[2].view.stride[0] = 9;
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    assert_int_equal(a->stride[0], 4);
    assert_int_equal(call.operands[2].view.stride[0], 4);
}

static void a_bound_call_with_a_wrong_output_is_found(void **state)
{
    (void)state;
    char text[256];
    const opd_operand *overflow = NULL;
    opd_call call = made("Gemm", "[3,4];[4,5]", NULL);
    call.operands[3].view.shape[1] = 6;
    assert_false(opd_call_check(&call, text, sizeof text, &overflow));
    assert_string_equal(text, "Gemm: Y f32[3, 6] strides (5, 1), where it must be Y f32[3, 5]");
    assert_int_equal(call.bad_arg, 4);
    assert_true((call.flags & OPD_CALL_BAD_ARGS) != 0);
    assert_int_equal(opd_call_bind(&call), OPD_OK);
    assert_true((call.flags & OPD_CALL_BAD_ARGS) == 0);
    call.operands[1].view.shape[0] = 3;
    assert_int_equal(opd_call_bind(&call), OPD_E_INVALID);
    assert_true((call.flags & OPD_CALL_BAD_ARGS) != 0);
    assert_int_equal(call.bad_arg, 2);
    assert_int_equal(opd_tensor_count(&call.operands[3].view), 0);
}

static void what_a_condition_excludes_must_not_be_read(void **state)
{
    (void)state;
    opd_call call = made("Gemm", "[3,4];[4,5];[5]", "beta=0");
    assert_true((call.operands[2].flags & OPD_OPERAND_MUST_NOT_READ) != 0);
    call = made("Gemm", "[3,4];[4,5];[5]", "beta=0.5");
    assert_true((call.operands[2].flags & OPD_OPERAND_MUST_NOT_READ) == 0);
}

/* As a runtime may record them: names and views, nothing that follows from them. */
static opd_call by_hand(const char *name, const char *shapes, const char *wished, const char *outputs)
{
    opd_call call;
    assert_int_equal(make(&call, name, shapes, wished, outputs), OPD_OK);
    call.op = NULL;
    call.symbol_count = 0;
    memset(call.symbols, 0, sizeof call.symbols);
    call.attr_count = 0;
    memset(call.attrs, 0, sizeof call.attrs);
    int kept = 0;
    for (int i = 0; i < call.operand_count; i++) {
        if ((call.operands[i].flags & OPD_OPERAND_ABSENT) == 0) {
            call.operands[kept++] = call.operands[i];
        }
    }
    call.operand_count = kept;
    return call;
}

static void a_call_recorded_by_hand_is_adopted(void **state)
{
    (void)state;
    char text[256];
    const opd_op *norm = opd_op_find("test", "LayerNormalization");
    opd_call call = by_hand("LayerNormalization", "[2,3,4];[3,4]", "axis=1", "InvStdDev");
    call.attr_count = 1;
    call.attrs[0] = (opd_value){ .name = "axis", .kind = OPD_VALUE_INT, .i = 1 };
    call.number = 9;
    opd_operand swapped = call.operands[0];
    call.operands[0] = call.operands[3];
    call.operands[3] = swapped;
    assert_true(opd_call_adopt(&call, norm));
    opd_call_describe(text, sizeof text, &call);
    assert_string_equal(text, "LayerNormalization(X f32[2, 3, 4], Scale f32[3, 4], axis=1)");
    print_symbols(text, sizeof text, &call);
    assert_string_equal(text, "n0=2 d0=3 d1=4");
    print_outputs(text, sizeof text, &call);
    assert_string_equal(text, "f32[2, 3, 4] - f32[2]");
    assert_int_equal(call.number, 9);
    assert_true(opd_call_fits(&call));

    call = by_hand("Pad", "[5]", "mode=edge", NULL);
    call.attr_count = 2;
    call.attrs[0] = (opd_value){ .name = "mode", .kind = OPD_VALUE_TEXT, .text = "edge" };
    call.attrs[1] = (opd_value){ .name = "pads", .kind = OPD_VALUE_INTS, .i = 1, .ints = { 7 } };
    assert_true(opd_call_adopt(&call, opd_op_find("test", "Pad")));
    assert_int_equal(opd_call_value(&call, "mode")->i, 2);
    assert_int_equal(opd_call_value(&call, "pads")->i, 1);
    call = by_hand("Concat", "[2];[3];[4]", NULL, NULL);
    assert_true(opd_call_adopt(&call, opd_op_find("test", "Concat")));
    assert_int_equal(opd_call_value(&call, "c2")->i, 4);
}

static void a_call_of_another_operator_is_not_adopted(void **state)
{
    (void)state;
    opd_call calls[6];
    for (size_t i = 0; i < OPD_COUNT(calls); i++) {
        calls[i] = by_hand("Pad", "[5]", "mode=edge", NULL); /* the output has 9 elements */
        calls[i].attr_count = 1;
        calls[i].attrs[0] = (opd_value){ .name = "mode", .kind = OPD_VALUE_TEXT, .text = "edge" };
    }
    memcpy(calls[0].attrs[0].text, "foo", 4);
    memcpy(calls[1].attrs[0].name, "moda", 5);
    calls[2].attrs[0].kind = OPD_VALUE_INT;
    calls[3].operands[1].view.shape[0] = 8;
    memcpy(calls[4].operands[1].name, "Z", 2);
    calls[5].operands[0].view.dtype = OPD_I32;
    for (size_t i = 0; i < OPD_COUNT(calls); i++) {
        opd_call before = calls[i];
        assert_false(opd_call_adopt(&calls[i], opd_op_find("test", "Pad")));
        assert_memory_equal(&calls[i], &before, sizeof before);
        assert_string_equal(opd_error_text(), "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_give_symbols_and_outputs),
        cmocka_unit_test(refusals_say_what_does_not_fit),
        cmocka_unit_test(defaults_make_a_call_of_every_contract),
        cmocka_unit_test(attributes_are_read_described_and_absent),
        cmocka_unit_test(expressions_ask_about_operands_symbols_and_lists),
        cmocka_unit_test(a_symbol_changes_every_operand_that_has_it),
        cmocka_unit_test(what_cannot_be_set_leaves_the_call_as_it_was),
        cmocka_unit_test(views_keep_strides_while_they_shrink),
        cmocka_unit_test(a_bound_call_with_a_wrong_output_is_found),
        cmocka_unit_test(what_a_condition_excludes_must_not_be_read),
        cmocka_unit_test(a_call_recorded_by_hand_is_adopted),
        cmocka_unit_test(a_call_of_another_operator_is_not_adopted),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
