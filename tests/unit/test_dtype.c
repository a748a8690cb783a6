/* SPDX-License-Identifier: Apache-2.0 */
/* The dtype table. Its numbers are in bundles: pinned here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>

#include <opsdebug/memory.h>
#include <opsdebug/tensor.h>

static const struct {
    opd_dtype dtype;
    int number;
    size_t size;
    const char *name;
    bool is_float, is_complex;
    opd_dtype real;
    double epsilon;
} rows[] = {
    { OPD_F16, 1, 2, "f16", true, false, OPD_F16, 0.0009765625 },
    { OPD_BF16, 2, 2, "bf16", true, false, OPD_BF16, 0.0078125 },
    { OPD_F32, 3, 4, "f32", true, false, OPD_F32, FLT_EPSILON },
    { OPD_F64, 4, 8, "f64", true, false, OPD_F64, DBL_EPSILON },
    { OPD_C64, 5, 8, "c64", true, true, OPD_F32, FLT_EPSILON },
    { OPD_C128, 6, 16, "c128", true, true, OPD_F64, DBL_EPSILON },
    { OPD_I8, 7, 1, "i8", false, false, OPD_I8, 0 },
    { OPD_I16, 8, 2, "i16", false, false, OPD_I16, 0 },
    { OPD_I32, 9, 4, "i32", false, false, OPD_I32, 0 },
    { OPD_I64, 10, 8, "i64", false, false, OPD_I64, 0 },
    { OPD_U8, 11, 1, "u8", false, false, OPD_U8, 0 },
    { OPD_U16, 12, 2, "u16", false, false, OPD_U16, 0 },
    { OPD_U32, 13, 4, "u32", false, false, OPD_U32, 0 },
    { OPD_U64, 14, 8, "u64", false, false, OPD_U64, 0 },
    { OPD_BOOL, 15, 1, "bool", false, false, OPD_BOOL, 0 },
};

static void properties_are_as_pinned(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(rows); i++) {
        opd_dtype dtype = rows[i].dtype;
        assert_int_equal(dtype, rows[i].number);
        assert_int_equal(opd_dtype_size(dtype), rows[i].size);
        assert_string_equal(opd_dtype_name(dtype), rows[i].name);
        assert_int_equal(opd_dtype_parse(rows[i].name), dtype);
        assert_int_equal(opd_dtype_is_float(dtype), rows[i].is_float);
        assert_int_equal(opd_dtype_is_complex(dtype), rows[i].is_complex);
        assert_int_equal(opd_dtype_real(dtype), rows[i].real);
        assert_true(opd_dtype_epsilon(dtype) == rows[i].epsilon);
    }
}

static void the_largest_number_has_none_above_it(void **state)
{
    (void)state;
    assert_true(opd_dtype_largest(OPD_F32) == (double)FLT_MAX && opd_dtype_largest(OPD_C64) == (double)FLT_MAX);
    assert_true(opd_dtype_largest(OPD_F64) == DBL_MAX && opd_dtype_largest(OPD_C128) == DBL_MAX);
    assert_true(opd_dtype_largest(OPD_F16) == 65504 && opd_dtype_largest(OPD_BF16) == 0x1.FEp127);
    assert_true(opd_dtype_largest(OPD_I32) == 0 && opd_dtype_largest(OPD_BOOL) == 0);
}

static void unknown_codes_are_harmless(void **state)
{
    (void)state;
    const int codes[] = { 0, 16, 1000, -1 };
    for (size_t i = 0; i < OPD_COUNT(codes); i++) {
        opd_dtype dtype = (opd_dtype)codes[i];
        double re = 1.0;
        double im = 1.0;
        assert_int_equal(opd_dtype_size(dtype), 0);
        assert_string_equal(opd_dtype_name(dtype), "?");
        assert_false(opd_dtype_is_float(dtype));
        assert_false(opd_dtype_is_complex(dtype));
        opd_element_load(dtype, "", &re, &im);
        assert_true(re == 0.0 && im == 0.0);
        opd_element_store(dtype, NULL, 1.0, 0.0);
    }
    assert_int_equal(opd_dtype_parse("f128"), OPD_DTYPE_NONE);
    assert_int_equal(opd_dtype_parse(""), OPD_DTYPE_NONE);
    assert_int_equal(opd_dtype_parse("?"), OPD_DTYPE_NONE);
}

static void onnx_numbers_are_those_of_its_schema(void **state)
{
    static const char *const names[] = { "?",    "f32", "u8",  "i8",  "u16", "i16", "i32",  "i64", "?",
                                         "bool", "f16", "f64", "u32", "u64", "c64", "c128", "bf16" };
    (void)state;
    for (int number = -2; number < 40; number++) {
        bool is_known = number >= 0 && number < (int)OPD_COUNT(names);
        assert_string_equal(opd_dtype_name(opd_dtype_from_onnx(number)), is_known ? names[number] : "?");
    }
    assert_int_equal(opd_dtype_from_onnx(INT64_MAX), OPD_DTYPE_NONE);
    assert_int_equal(opd_dtype_from_onnx(INT64_MIN), OPD_DTYPE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(onnx_numbers_are_those_of_its_schema),
        cmocka_unit_test(properties_are_as_pinned),
        cmocka_unit_test(the_largest_number_has_none_above_it),
        cmocka_unit_test(unknown_codes_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
