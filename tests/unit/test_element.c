/* SPDX-License-Identifier: Apache-2.0 */
/* One element as a number. The short floats against numpy and exact rational arithmetic are in test_element_numpy.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>
#include <opsdebug/tensor.h>

/* Stores to and loads from an odd address. */
static double there_and_back(opd_dtype dtype, double value)
{
    uint8_t room[40];
    memset(room, 0xA7, sizeof(room));
    opd_element_store(dtype, room + 5, value, 0.0);
    for (size_t i = 0; i < sizeof(room); i++) {
        if (i < 5 || i >= 5 + opd_dtype_size(dtype)) {
            assert_int_equal(room[i], 0xA7);
        }
    }
    double re;
    double im;
    opd_element_load(dtype, room + 5, &re, &im);
    assert_true(im == 0.0);
    return re;
}

static void integers_truncate_and_saturate(void **state)
{
    (void)state;
    static const struct {
        opd_dtype dtype;
        double low, high;
    } ranges[] = {
        { OPD_I8, -128, 127 },        { OPD_I16, -32768, 32767 }, { OPD_I32, -2147483648.0, 2147483647.0 },
        { OPD_I64, -0x1p63, 0x1p63 }, /* 2^63 - 1 loads as 2^63 */
        { OPD_U8, 0, 255 },           { OPD_U16, 0, 65535 },      { OPD_U32, 0, 4294967295.0 },
        { OPD_U64, 0, 0x1p64 },
    };
    for (size_t i = 0; i < OPD_COUNT(ranges); i++) {
        opd_dtype dtype = ranges[i].dtype;
        assert_true(there_and_back(dtype, 1e300) == ranges[i].high);
        assert_true(there_and_back(dtype, -1e300) == ranges[i].low);
        assert_true(there_and_back(dtype, (double)INFINITY) == ranges[i].high);
        assert_true(there_and_back(dtype, ranges[i].high) == ranges[i].high);
        assert_true(there_and_back(dtype, ranges[i].low) == ranges[i].low);
        assert_true(there_and_back(dtype, 100.999) == 100.0);
        assert_true(there_and_back(dtype, -100.999) == (ranges[i].low < 0 ? -100.0 : 0.0));
        assert_true(there_and_back(dtype, -0.9) == 0.0);
        assert_true(there_and_back(dtype, (double)NAN) == 0.0);
    }
    uint64_t all = UINT64_MAX;
    uint64_t stored = 0;
    opd_element_store(OPD_U64, &stored, 0x1p64, 0.0);
    assert_memory_equal(&stored, &all, sizeof(all));
    int64_t top = INT64_MAX;
    opd_element_store(OPD_I64, &stored, 0x1p63, 0.0);
    assert_memory_equal(&stored, &top, sizeof(top));
    opd_element_store(OPD_I64, &stored, 9007199254740993.0, 0.0);
    assert_int_equal(stored, INT64_C(9007199254740992));
}

static void bool_is_whether_not_zero(void **state)
{
    (void)state;
    assert_true(there_and_back(OPD_BOOL, 0.25) == 1.0);
    assert_true(there_and_back(OPD_BOOL, -0.0) == 0.0);
    assert_true(there_and_back(OPD_BOOL, (double)NAN) == 1.0);
    uint8_t odd = 0xFE;
    double re;
    double im;
    opd_element_load(OPD_BOOL, &odd, &re, &im);
    assert_true(re == 1.0);
}

/* Any float pattern comes back; NaNs stay NaN. The hardware rounds doubles to float as we must. */
static void single_precision_agrees_with_the_hardware(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000000; i++) {
        uint64_t bits = opd_random_u64(7, 7, i);
        float single;
        double wide;
        double re;
        double im;
        memcpy(&single, &bits, sizeof(single));
        opd_element_load(OPD_F32, &single, &re, &im);
        assert_true(single != single ? re != re : re == (double)single && !signbit(re) == !signbit(single));
        /* Exponents around the range of float, so that subnormals and overflow are met often. */
        bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (uint64_t)(1023 - 160 + (int)((bits >> 52) & 0x1ff) % 300) << 52;
        memcpy(&wide, &bits, sizeof(wide));
        float expected = (float)wide;
        float stored;
        opd_element_store(OPD_F32, &stored, wide, 0.0);
        assert_memory_equal(&stored, &expected, sizeof(stored));
    }
}

static void nan_stays_nan_and_keeps_its_sign(void **state)
{
    (void)state;
    const opd_dtype dtypes[] = { OPD_F16, OPD_BF16, OPD_F32, OPD_F64 };
    /* Signalling, with a payload only in the lowest bit, which the narrow types cannot hold. */
    const uint64_t patterns[] = { UINT64_C(0x7ff0000000000001), UINT64_C(0xfff0000000000001) };
    for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
        for (size_t i = 0; i < OPD_COUNT(patterns); i++) {
            double value;
            memcpy(&value, &patterns[i], sizeof(value));
            double back = there_and_back(dtypes[d], value);
            assert_true(back != back);
            assert_int_equal(signbit(back) != 0, i == 1);
        }
    }
}

static void complex_parts_stand_side_by_side(void **state)
{
    (void)state;
    float single[2];
    double wide[2];
    double re;
    double im;
    opd_element_store(OPD_C64, single, 1.5, -2.5);
    assert_true(single[0] == 1.5F && single[1] == -2.5F);
    opd_element_load(OPD_C64, single, &re, &im);
    assert_true(re == 1.5 && im == -2.5);
    opd_element_store(OPD_C128, wide, 0.1, -0.2);
    assert_true(wide[0] == 0.1 && wide[1] == -0.2);
    opd_element_load(OPD_C128, wide, &re, &im);
    assert_true(re == 0.1 && im == -0.2);
}

static void wide_elements_keep_every_bit_and_round_once(void **state)
{
    (void)state;
    static const int64_t whole[] = { INT64_MAX, INT64_MIN, -1, (INT64_C(1) << 53) + 1 };
    for (size_t i = 0; i < OPD_COUNT(whole); i++) {
        int64_t back = 0;
        assert_true(opd_element_load_wide(OPD_I64, &whole[i]) == (long double)whole[i]);
        opd_element_store_wide(OPD_I64, &back, (long double)whole[i]);
        assert_true(back == whole[i]);
    }
    uint64_t large = 0;
    opd_element_store_wide(OPD_U64, &large, 18446744073709551615.0L);
    assert_true(large == UINT64_MAX);
    opd_element_store_wide(OPD_U64, &large, -3.0L);
    assert_true(large == 0);
    /* 1 + 2^-24 + 2^-60 is above the middle of two floats; as a double it would be in the middle, and round to even. */
    float rounded = 0;
    opd_element_store_wide(OPD_F32, &rounded, 1.0L + 0x1p-24L + 0x1p-60L);
    assert_true(rounded == 1.0F + 0x1p-23F);
    opd_element_store_wide(OPD_F32, &rounded, -1.0L - 0x1p-24L + 0x1p-60L);
    assert_true(rounded == -1.0F);
    opd_element_store_wide(OPD_F32, &rounded, 1e4000L);
    assert_true(isinf(rounded));
    opd_element_store_wide(OPD_F32, &rounded, (long double)NAN);
    assert_true(isnan(rounded));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_truncate_and_saturate),
        cmocka_unit_test(bool_is_whether_not_zero),
        cmocka_unit_test(single_precision_agrees_with_the_hardware),
        cmocka_unit_test(nan_stays_nan_and_keeps_its_sign),
        cmocka_unit_test(complex_parts_stand_side_by_side),
        cmocka_unit_test(wide_elements_keep_every_bit_and_round_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
