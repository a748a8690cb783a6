/* SPDX-License-Identifier: Apache-2.0 */
/* Fills: distributions, bounds, and that an element depends on its position only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>

#define COUNT 200000

static double values[2 * COUNT];

static opd_tensor row(opd_dtype dtype)
{
    return (opd_tensor){ .data = values, .dtype = dtype, .rank = 1, .shape = { COUNT }, .stride = { 1 } };
}

static opd_fill fill_of(const char *text)
{
    opd_fill fill = { 0 };
    assert_int_equal(opd_fill_parse(&fill, text), OPD_OK);
    fill.seed = 42;
    fill.stream = 7;
    return fill;
}

static double re_at(const opd_tensor *view, int64_t i)
{
    double re;
    double im;
    opd_element_load(view->dtype, (const uint8_t *)view->data + (size_t)i * opd_dtype_size(view->dtype), &re, &im);
    return re;
}

static void texts_are_parsed(void **state)
{
    (void)state;
    opd_fill fill = fill_of("uniform:-2.5:3e1");
    assert_int_equal(fill.kind, OPD_FILL_UNIFORM);
    assert_true(fill.a == -2.5 && fill.b == 30.0);
    fill = fill_of("normal");
    assert_true(fill.kind == OPD_FILL_NORMAL && fill.a == 0.0 && fill.b == 1.0);
    fill = fill_of("constant:0.5");
    assert_true(fill.kind == OPD_FILL_CONSTANT && fill.a == 0.5);
    fill = fill_of("integers");
    assert_true(fill.a == -4.0 && fill.b == 4.0);
    const char *bad[] = { "",         "norm",         "normals",   "normal:",    "normal:1:",
                          "normal:x", "normal:1:2:3", "normal:1x", "uniform 1 2" };
    for (size_t i = 0; i < OPD_COUNT(bad); i++) {
        opd_error_clear();
        assert_int_equal(opd_fill_parse(&fill, bad[i]), OPD_E_INVALID);
        assert_string_not_equal(opd_error_text(), "");
        assert_true(fill.a == -4.0);
    }
    (void)opd_fill_parse(&fill, "gauss");
    assert_non_null(strstr(opd_error_text(), "uniform normal constant integers ramp longtail special"));
}

/* Kolmogorov-Smirnov distance would need sorting; counts in 64 equal cells and their chi-square serve as well. */
static void uniform_fills_its_range_evenly(void **state)
{
    (void)state;
    opd_tensor view = row(OPD_F64);
    opd_fill fill = fill_of("uniform:-1:3");
    opd_tensor_fill(&view, &fill);
    int cells[64] = { 0 };
    for (int i = 0; i < COUNT; i++) {
        assert_true(values[i] >= -1.0 && values[i] < 3.0);
        cells[(int)((values[i] + 1.0) * 16.0)]++;
    }
    double chi = 0.0;
    for (int c = 0; c < 64; c++) {
        double off = cells[c] - COUNT / 64.0;
        chi += off * off / (COUNT / 64.0);
    }
    assert_true(chi > 30.0 && chi < 110.0); /* 63 degrees of freedom: both ends beyond 1 in 2000 */
}

/* The upper bound stays out after rounding to a short type too. */
static void uniform_never_reaches_its_upper_bound(void **state)
{
    (void)state;
    const opd_dtype dtypes[] = { OPD_F16, OPD_BF16, OPD_F32, OPD_F64, OPD_C64 };
    const char *texts[] = { "uniform:0:1", "uniform:1:1.0078125", "uniform:-1:0", "uniform:1000:1001" };
    for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
        for (size_t t = 0; t < OPD_COUNT(texts); t++) {
            opd_tensor view = row(dtypes[d]);
            opd_fill fill = fill_of(texts[t]);
            opd_tensor_fill(&view, &fill);
            opd_health health;
            opd_tensor_health(&health, &view);
            double low = fill.a;
            if (dtypes[d] == OPD_BF16 && fill.a == 1000.0) {
                continue; /* 1000..1001 has no bf16 inside */
            }
            assert_true(health.min >= low && health.max < fill.b);
        }
    }
}

static void normal_has_the_normal_distribution(void **state)
{
    (void)state;
    opd_tensor view = row(OPD_F64);
    opd_fill fill = fill_of("normal:5:2");
    opd_tensor_fill(&view, &fill);
    double sums[4] = { 0 };
    for (int i = 0; i < COUNT; i++) {
        double z = (values[i] - 5.0) / 2.0;
        sums[0] += z;
        sums[1] += z * z;
        sums[2] += z * z * z;
        sums[3] += z * z * z * z;
        /* Backwards through libm: the probability must be the uniform number that was drawn. */
        double p = ((double)(opd_random_u64(42, 7, (uint64_t)i) >> 12) + 0.5) * 0x1p-52;
        double back = z < 0 ? 0.5 * erfc(-z * M_SQRT1_2) : 1.0 - 0.5 * erfc(z * M_SQRT1_2);
        assert_true(fabs(back - p) <= 1e-13);
    }
    assert_true(fabs(sums[0] / COUNT) < 0.01);
    assert_true(fabs(sums[1] / COUNT - 1.0) < 0.015);
    assert_true(fabs(sums[2] / COUNT) < 0.03);
    assert_true(fabs(sums[3] / COUNT - 3.0) < 0.1);
}

static void integers_cover_their_range(void **state)
{
    (void)state;
    const opd_dtype dtypes[] = { OPD_I8, OPD_I64, OPD_F16, OPD_F64 };
    for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
        opd_tensor view = row(dtypes[d]);
        opd_fill fill = fill_of("integers:-3.5:6.9");
        opd_tensor_fill(&view, &fill);
        int counts[10] = { 0 };
        for (int64_t i = 0; i < COUNT; i++) {
            double value = re_at(&view, i);
            assert_true(value == floor(value) && value >= -3.0 && value <= 6.0);
            counts[(int)value + 3]++;
        }
        for (int c = 0; c < 10; c++) {
            assert_true(abs(counts[c] - COUNT / 10) < COUNT / 100);
        }
    }
    opd_fill wide = { .kind = OPD_FILL_INTEGERS, .a = -1e300, .b = (double)INFINITY, .seed = 1 };
    opd_fill empty = { .kind = OPD_FILL_INTEGERS, .a = 2.5, .b = 2.6 };
    opd_tensor view = row(OPD_F64);
    opd_tensor_fill(&view, &wide);
    assert_true(fabs(values[0]) <= 0x1p61);
    opd_tensor_fill(&view, &empty);
    assert_true(values[0] == 3.0);
}

static void ramp_and_constant_are_exact(void **state)
{
    (void)state;
    opd_tensor view = row(OPD_C128);
    opd_fill fill = fill_of("ramp:1:0.5");
    opd_tensor_fill(&view, &fill);
    for (int i = 0; i < COUNT; i++) {
        assert_true(values[2 * i] == 1.0 + 0.5 * i && values[2 * i + 1] == 0.0);
    }
    fill = fill_of("constant:-2");
    opd_tensor_fill(&view, &fill);
    assert_true(values[0] == -2.0 && values[1] == 0.0 && values[2 * COUNT - 2] == -2.0);
}

/* |x| = a exp(b z) with the z of the normal fill, by libm; the signs are fair. */
static void long_tailed_is_log_normal_with_random_sign(void **state)
{
    (void)state;
    static double normals[COUNT];
    opd_tensor view = row(OPD_F64);
    opd_fill fill = fill_of("normal");
    opd_tensor_fill(&view, &fill);
    memcpy(normals, values, sizeof(normals));
    const double spreads[] = { 1.0, 2.0, 180.0 };
    for (size_t s = 0; s < OPD_COUNT(spreads); s++) {
        fill = fill_of("longtail:3");
        fill.b = spreads[s];
        opd_tensor_fill(&view, &fill);
        int negative = 0;
        for (int i = 0; i < COUNT; i++) {
            double expected = 3.0 * exp(spreads[s] * normals[i]);
            double size = fabs(values[i]);
            assert_true(size == expected || fabs(size - expected) <= 8e-16 * expected || expected < 1e-300);
            negative += signbit(values[i]) != 0;
        }
        assert_true(abs(negative - COUNT / 2) < COUNT / 100);
    }
}

static void special_has_every_kind(void **state)
{
    (void)state;
    const opd_dtype dtypes[] = { OPD_F16, OPD_BF16, OPD_F32, OPD_F64, OPD_C64, OPD_C128 };
    const double largest[] = { 65504.0,        0x1.fep127,
                               0x1.fffffep127, 0x1.fffffffffffffp1023,
                               0x1.fffffep127, 0x1.fffffffffffffp1023 };
    for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
        opd_tensor view = row(dtypes[d]);
        opd_fill fill = fill_of("special");
        opd_tensor_fill(&view, &fill);
        opd_health health;
        opd_tensor_health(&health, &view);
        assert_true(health.nan > COUNT / 20 && health.pos_inf > COUNT / 20 && health.neg_inf > COUNT / 20);
        assert_true(health.subnormal > COUNT / 10 && health.zero > COUNT / 400);
        assert_true(health.max == largest[d] && health.min == -largest[d]);
    }
    opd_tensor view = row(OPD_I16);
    opd_fill fill = fill_of("special");
    opd_tensor_fill(&view, &fill);
    opd_health health;
    opd_tensor_health(&health, &view);
    assert_true(health.min == -32768.0 && health.max == 32767.0);
}

/* Position is logical: neither strides, nor offset, nor a mask, nor gaps move a value. */
static void views_of_any_layout_hold_the_same_values(void **state)
{
    (void)state;
    static float dense[12 * 9];
    static float other[4000];
    opd_fill fill = fill_of("normal");
    opd_tensor view = { .data = dense, .dtype = OPD_F32, .rank = 2, .shape = { 12, 9 }, .stride = { 9, 1 } };
    opd_tensor_fill(&view, &fill);
    for (size_t i = 0; i < OPD_COUNT(other); i++) {
        other[i] = -99.0F;
    }
    opd_tensor odd = { .data = other + 2000, .dtype = OPD_F32, .rank = 2, .shape = { 12, 9 }, .stride = { -3, 40 } };
    odd.mask = (opd_mask){ .kind = OPD_MASK_UPPER, .unit = 1 };
    opd_tensor_fill(&odd, &fill);
    size_t written = 0;
    for (int64_t i = 0; i < 12; i++) {
        for (int64_t j = 0; j < 9; j++) {
            if (i < j) {
                assert_true(other[2000 - 3 * i + 40 * j] == dense[9 * i + j]);
                other[2000 - 3 * i + 40 * j] = -99.0F;
                written++;
            }
        }
    }
    assert_int_equal(written, 36);
    for (size_t i = 0; i < OPD_COUNT(other); i++) {
        assert_true(other[i] == -99.0F);
    }
}

/*
 * Recipes in bundles: the bits of a seed are pinned. Element 0 of seed 0 draws 0xe169c58d6627e8d5 (test_philox.c); python gives its uniform
 * number as (bits >> 11) * 2**-53 and, by statistics.NormalDist().inv_cdf, which is the same published algorithm, its normal.
 */
static void bits_of_a_seed_are_pinned(void **state)
{
    (void)state;
    double one;
    opd_tensor view = { .data = &one, .dtype = OPD_F64 };
    static const struct {
        opd_fill_kind kind;
        double expected;
    } pins[] = {
        { OPD_FILL_UNIFORM, 0x1.c2d38b1acc4fdp-1 },
        { OPD_FILL_NORMAL, 0x1.2d769e93cb51fp+0 },
        { OPD_FILL_INTEGERS, 1.0 },
    };
    for (size_t i = 0; i < OPD_COUNT(pins); i++) {
        opd_fill fill = { .kind = pins[i].kind, .a = 0.0, .b = 1.0 };
        opd_tensor_fill(&view, &fill);
        assert_true(one == pins[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_parsed),
        cmocka_unit_test(uniform_fills_its_range_evenly),
        cmocka_unit_test(uniform_never_reaches_its_upper_bound),
        cmocka_unit_test(normal_has_the_normal_distribution),
        cmocka_unit_test(integers_cover_their_range),
        cmocka_unit_test(ramp_and_constant_are_exact),
        cmocka_unit_test(long_tailed_is_log_normal_with_random_sign),
        cmocka_unit_test(special_has_every_kind),
        cmocka_unit_test(views_of_any_layout_hold_the_same_values),
        cmocka_unit_test(bits_of_a_seed_are_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
