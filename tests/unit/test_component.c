/* SPDX-License-Identifier: Apache-2.0 */
/* The distance of neighbouring numbers and the error of one element against published limits and libm. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "component.h"

static void ulp_agrees_with_nextafter(void **state)
{
    static const double values[] = { 1, 1.5, 2, 3, 0.1, 1e300, 1e-300, 1e-308, 5e-324, 2.2250738585072014e-308, -7.25 };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(values); i++) {
        double size = fabs(values[i]);
        double above = nextafter(size, (double)INFINITY) - size;
        assert_true(opd_dtype_ulp(OPD_F64, values[i]) == above);
        float small = (float)size;
        if (small > 0 && isfinite(small)) {
            assert_true(opd_dtype_ulp(OPD_F32, (double)small) == (double)(nextafterf(small, INFINITY) - small));
        }
    }
    assert_true(opd_dtype_ulp(OPD_F64, 0) == 5e-324);
    assert_true(opd_dtype_ulp(OPD_F32, 0) == 0x1p-149);
    assert_true(opd_dtype_ulp(OPD_F16, 1) == 0x1p-10);
    assert_true(opd_dtype_ulp(OPD_F16, 0) == 0x1p-24);
    assert_true(opd_dtype_ulp(OPD_BF16, 1) == 0x1p-7);
}

static double ratio_of(opd_dtype dtype, double re, double im, long double want_re, long double want_im,
                       long double gauge)
{
    opd_operand operand = { .view = { .dtype = dtype } };
    opd_component item = {
        .operand = &operand, .part = { re, im }, .exact = (long double)re, .parts = opd_dtype_is_complex(dtype) ? 2 : 1
    };
    long double want[2] = { want_re, want_im };
    return opd_component_ratio(&item, want, gauge, 0x1f80);
}

static void error_counts_in_gauges_after_half_an_ulp(void **state)
{
    (void)state;
    assert_true(ratio_of(OPD_F64, 1, 0, 1, 0, 1) == 0);
    assert_true(ratio_of(OPD_F64, 1, 0, 1 + 0x1p-54L, 0, 1) == 0); /* correctly rounded */
    assert_true(fabs(ratio_of(OPD_F64, 1 + 10 * 0x1p-52, 0, 1, 0, 1) - 9.5) < 1e-6);
    assert_true(fabs(ratio_of(OPD_F64, 1 + 10 * 0x1p-52, 0, 1, 0, 10) - 0.95) < 1e-6);
    assert_true(fabs(ratio_of(OPD_F32, 1 + 10 * 0x1p-23, 0, 1, 0, 1) - 9.5) < 1e-6);
    assert_true(fabs(ratio_of(OPD_C128, 1, 1 + 10 * 0x1p-52, 1, 1, 1) - 9.5) < 1e-6);
}

/* Terms that are all zero are exact, but for what a flushing mode may or may not have flushed. */
static void flushed_terms_may_be_off_by_a_subnormal(void **state)
{
    opd_operand operand = { .view = { .dtype = OPD_F64 } };
    opd_component item = { .operand = &operand, .part = { 7e-310 }, .parts = 1 };
    const long double want = 0;
    (void)state;
    assert_true(isinf(opd_component_ratio(&item, &want, 0, 0x1f80)));
    assert_true(opd_component_ratio(&item, &want, 0, 0x9f80) == 0);
    assert_true(opd_component_ratio(&item, &want, 0, 0x1fc0) == 0);
    item.part[0] = 3e-308;
    assert_true(isinf(opd_component_ratio(&item, &want, 0, 0x9fc0)));
}

static void classes_come_before_distances(void **state)
{
    const double nan = (double)NAN;
    const double inf = (double)INFINITY;
    (void)state;
    assert_true(ratio_of(OPD_F64, nan, 0, (long double)nan, 0, 1) == 0);
    assert_true(isinf(ratio_of(OPD_F64, nan, 0, 1, 0, 1)));
    assert_true(isinf(ratio_of(OPD_F64, 1, 0, (long double)nan, 0, 1)));
    assert_true(isinf(ratio_of(OPD_F64, inf, 0, -(long double)inf, 0, 1)));
    assert_true(isinf(ratio_of(OPD_F64, inf, 0, 1, 0, 1)));
    assert_true(ratio_of(OPD_F32, inf, 0, 1e39L, 0, 1e39L) == 0); /* rounds to Inf in its type */
    assert_true(ratio_of(OPD_F32, nan, 0, 1, 0, 1e39L) == 0);     /* partial sums may overflow */
    assert_true(ratio_of(OPD_C128, nan, inf, (long double)inf, (long double)nan, 1) == 0); /* either part */
    assert_true(isinf(ratio_of(OPD_C128, nan, 1, 1, 1, 1)));
}

static void element_without_terms_must_be_exact(void **state)
{
    (void)state;
    assert_true(ratio_of(OPD_F64, 0, 0, 0, 0, 0) == 0);
    assert_true(ratio_of(OPD_F64, -0.0, 0, 0, 0, 0) == 0);
    assert_true(isinf(ratio_of(OPD_F64, 5e-324, 0, 0, 0, 0)));
    assert_true(isinf(ratio_of(OPD_I64, 3, 0, 4, 0, 0)));
    assert_true(ratio_of(OPD_I64, 4, 0, 4, 0, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ulp_agrees_with_nextafter),
        cmocka_unit_test(error_counts_in_gauges_after_half_an_ulp),
        cmocka_unit_test(flushed_terms_may_be_off_by_a_subnormal),
        cmocka_unit_test(classes_come_before_distances),
        cmocka_unit_test(element_without_terms_must_be_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
