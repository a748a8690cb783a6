/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of opd_metrics against their textbook definitions: long double sums, sorted distances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/metrics.h>
#include <opsdebug/random.h>

static int order(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double nearest_rank(const double *sorted, int64_t count, int percent)
{
    int64_t rank = (count * percent + 99) / 100;
    return sorted[(rank > 0 ? rank : 1) - 1];
}

static bool is_near(double a, double b, double tolerance)
{
    return (isinf(a) && a == b) || fabs(a - b) <= tolerance * (fabs(a) + fabs(b)) || fabs(a - b) < 1e-300;
}

/* Definitions over finite pairs. */
static void check(const opd_metrics *got, const opd_tensor *a, const opd_tensor *b)
{
    int64_t count = opd_tensor_count(a);
    double *rel = calloc((size_t)count + 1, sizeof *rel);
    double *ulp = calloc((size_t)count + 1, sizeof *ulp);
    int64_t n = 0;
    uint64_t differing = 0;
    uint64_t classes = 0;
    long double sums[5] = { 0 };
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t index[OPD_MAX_RANK];
        double x;
        double y;
        double im;
        opd_tensor_unflatten(a, i, index);
        opd_element_load(a->dtype, (uint8_t *)a->data + opd_tensor_offset(a, index), &x, &im);
        opd_element_load(b->dtype, (uint8_t *)b->data + opd_tensor_offset(b, index), &y, &im);
        bool is_same = x == y || (isnan(x) && isnan(y));
        differing += !is_same;
        if (!isfinite(x) || !isfinite(y)) {
            classes += !is_same;
            continue;
        }
        double error = fabs(x - y);
        largest = fmax(largest, error);
        rel[n] = error == 0 ? 0 : y == 0 ? HUGE_VAL : error / fabs(y);
        ulp[n++] = error / opd_dtype_ulp(a->dtype, y);
        sums[0] += (long double)x * x;
        sums[1] += (long double)y * y;
        sums[2] += (long double)x * y;
        sums[3] += (long double)error;
        sums[4] += (long double)error * error;
    }
    qsort(rel, (size_t)n, sizeof *rel, order);
    qsort(ulp, (size_t)n, sizeof *ulp, order);
    assert_true(got->finite == (uint64_t)n);
    assert_true(got->differing == differing);
    assert_true(got->class_differing == classes);
    assert_true(got->max_abs == largest);
    uint64_t decades = 0;
    for (int i = 0; i < OPD_DECADES; i++) {
        decades += got->decade[i];
    }
    assert_true(decades == (uint64_t)n);
    assert_true(got->decade[0] == (uint64_t)n - (differing - classes));
    if (n > 0) {
        static const int percents[] = { 50, 95, 99 };
        for (int i = 0; i < OPD_PERCENTILES; i++) {
            assert_true(is_near(got->rel[i], nearest_rank(rel, n, percents[i]), 3e-7));
            assert_true(is_near(got->ulp[i], nearest_rank(ulp, n, percents[i]), 3e-7));
        }
        assert_true(is_near(got->max_rel, rel[n - 1], 3e-7) || got->max_rel > 3e38);
        assert_true(is_near(got->max_ulp, ulp[n - 1], 3e-7));
        assert_true(is_near(got->mean_abs, (double)(sums[3] / n), 1e-12));
        assert_true(is_near(got->rmse, (double)sqrtl(sums[4] / n), 1e-12));
    }
    if (sums[0] > 0 && sums[1] > 0) {
        double want = (double)(sums[2] / (sqrtl(sums[0]) * sqrtl(sums[1])));
        assert_true(fabs(got->cosine - want) < 1e-13);
    }
    free(rel);
    free(ulp);
}

static void figures_are_their_definitions(void **state)
{
    (void)state;
    static const opd_dtype dtypes[] = { OPD_F32, OPD_F64, OPD_F16, OPD_BF16, OPD_I32 };
    static const int64_t counts[] = { 0, 1, 2, 3, 7, 1023, 1024, 1025, 5000 };
    static const char *const fills[] = { "normal", "longtail:1:8", "special", "integers:-3:3", "constant:0" };
    static const double scales[] = { 0, 1e-7, 1e-3, 10 };
    static const char *const isas[] = { "base", NULL };
    double memory[2][5000];
    for (int round = 0; round < 1200; round++) {
        opd_tensor view[2];
        opd_dtype dtype = dtypes[round % 5];
        const int64_t count = counts[round / 5 % 9];
        opd_fill fill;
        assert_int_equal(opd_fill_parse(&fill, fills[round / 45 % 5]), OPD_OK);
        fill.seed = (uint64_t)round;
        assert_true(opd_kernels_choose(isas[round / 225 % 2]));
        for (int i = 0; i < 2; i++) {
            opd_tensor_contiguous(&view[i], dtype, 1, &count, memory[i]);
        }
        opd_tensor_fill(&view[1], &fill);
        for (int64_t i = 0; i < count; i++) {
            double value;
            double im;
            double scale = scales[opd_random_u64(3, 0, (uint64_t)(round + i)) % 4];
            uint8_t *to = (uint8_t *)memory[0] + i * (int64_t)opd_dtype_size(dtype);
            opd_element_load(dtype, (uint8_t *)memory[1] + i * (int64_t)opd_dtype_size(dtype), &value, &im);
            double jump = scale > 1 ? (double)(i % 3) : value * scale;
            opd_element_store(dtype, to, value + (round % 2 == 0 && i % 7 == 0 ? jump : 0), 0);
        }
        opd_metrics metrics;
        assert_int_equal(opd_metrics_compare(&metrics, &view[0], &view[1]), OPD_OK);
        check(&metrics, &view[0], &view[1]);
    }
    assert_true(opd_kernels_choose(NULL));
}

static void strides_and_shapes_do_not_matter(void **state)
{
    (void)state;
    float memory[2][600];
    double wide[600];
    opd_fill fill = { .kind = OPD_FILL_NORMAL, .b = 1 };
    opd_tensor flat;
    const int64_t count = 600;
    for (int i = 0; i < 2; i++) {
        opd_tensor_contiguous(&flat, OPD_F32, 1, &count, memory[i]);
        fill.seed = (uint64_t)i / 2 + 5;
        opd_tensor_fill(&flat, &fill);
    }
    memory[0][77] += 1;
    opd_tensor one = { .data = memory[0], .dtype = OPD_F32, .rank = 2, .shape = { 30, 20 }, .stride = { 1, 30 } };
    opd_tensor two = { .data = wide, .dtype = OPD_F64, .rank = 2, .shape = { 30, 20 }, .stride = { 20, 1 } };
    for (int64_t i = 0; i < 30; i++) {
        for (int64_t k = 0; k < 20; k++) {
            wide[i * 20 + k] = (double)memory[1][i + 30 * k];
        }
    }
    opd_metrics metrics;
    assert_int_equal(opd_metrics_compare(&metrics, &one, &two), OPD_OK);
    check(&metrics, &one, &two);
    assert_int_equal(metrics.differing, 1);
    assert_int_equal(metrics.max_abs_at, 77 % 30 * 20 + 77 / 30);
    assert_int_equal(metrics.first_differing, 77 % 30 * 20 + 77 / 30);
    two.shape[0] = 29;
    assert_int_equal(opd_metrics_compare(&metrics, &one, &two), OPD_E_INVALID);
}

static void a_line_through_the_points_is_found(void **state)
{
    (void)state;
    double memory[2][100];
    const int64_t count = 100;
    opd_tensor view[2];
    for (int i = 0; i < 2; i++) {
        opd_tensor_contiguous(&view[i], OPD_F64, 1, &count, memory[i]);
    }
    for (int i = 0; i < 100; i++) {
        memory[1][i] = i * 0.25 - 3;
        memory[0][i] = 1.5 * memory[1][i] + 0.125;
    }
    opd_metrics metrics;
    assert_int_equal(opd_metrics_compare(&metrics, &view[0], &view[1]), OPD_OK);
    assert_true(fabs(metrics.slope - 1.5) < 1e-14);
    assert_true(fabs(metrics.offset - 0.125) < 1e-14);
}

static void nan_and_infinity_are_classes(void **state)
{
    (void)state;
    float got[] = { NAN, INFINITY, -INFINITY, 1, NAN, 2 };
    float want[] = { NAN, INFINITY, INFINITY, NAN, 1, 2 };
    const int64_t count = 6;
    opd_tensor view[2];
    opd_tensor_contiguous(&view[0], OPD_F32, 1, &count, got);
    opd_tensor_contiguous(&view[1], OPD_F32, 1, &count, want);
    opd_metrics metrics;
    assert_int_equal(opd_metrics_compare(&metrics, &view[0], &view[1]), OPD_OK);
    assert_int_equal(metrics.count, 6);
    assert_int_equal(metrics.finite, 1);
    assert_int_equal(metrics.differing, 3);
    assert_int_equal(metrics.class_differing, 3);
    assert_int_equal(metrics.first_differing, 2);
    assert_true(metrics.cosine == 1 && metrics.max_abs == 0 && metrics.max_abs_at == -1);
}

/* Equal bits from start to end, but for one element anywhere; zeros of both signs are equal, NaN and Inf are not finite, equal or not. */
static void one_element_decides_whether_arrays_are_equal(void **state)
{
    static const char *const isas[] = { "base", NULL };
    enum { COUNT = 2500 };
    static const int places[] = { 0, 1023, 1024, 2047, 2048, 2499 };
    static float memory[2][COUNT];
    opd_metrics metrics;
    opd_tensor view[2];
    const int64_t count = COUNT;
    (void)state;
    for (size_t round = 0; round < 2 * OPD_COUNT(places); round++) {
        int at = places[round / 2];
        assert_true(opd_kernels_choose(isas[round % 2]));
        for (int i = 0; i < 2; i++) {
            opd_tensor_contiguous(&view[i], OPD_F32, 1, &count, memory[i]);
            for (int k = 0; k < COUNT; k++) {
                memory[i][k] = (float)(k - 1000) * 0.5F;
            }
        }
        assert_int_equal(opd_metrics_compare(&metrics, &view[0], &view[1]), OPD_OK);
        check(&metrics, &view[0], &view[1]);
        assert_true(metrics.count == COUNT && metrics.finite == COUNT && metrics.decade[0] == COUNT);
        assert_true(metrics.differing == 0 && metrics.cosine == 1 && metrics.slope == 1 && metrics.max_abs_at == -1);
        memory[0][at] += 1;
        assert_int_equal(opd_metrics_compare(&metrics, &view[0], &view[1]), OPD_OK);
        check(&metrics, &view[0], &view[1]);
        assert_true(metrics.differing == 1 && metrics.first_differing == at && metrics.max_abs == 1);
        memory[0][at] = 0.0F;
        memory[1][at] = -0.0F;
        assert_int_equal(opd_metrics_compare(&metrics, &view[0], &view[1]), OPD_OK);
        assert_true(metrics.differing == 0 && metrics.finite == COUNT);
        memory[0][at] = memory[1][at] = INFINITY;
        assert_int_equal(opd_metrics_compare(&metrics, &view[0], &view[1]), OPD_OK);
        assert_true(metrics.differing == 0 && metrics.finite == COUNT - 1 && metrics.count == COUNT);
        memory[0][at] = memory[1][at] = NAN;
        assert_int_equal(opd_metrics_compare(&metrics, &view[0], &view[1]), OPD_OK);
        assert_true(metrics.differing == 0 && metrics.finite == COUNT - 1);
    }
    assert_true(opd_kernels_choose(NULL));
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    float got[] = { 1, 2 };
    float want[] = { 1, 3 };
    const int64_t count = 2;
    opd_tensor view[2];
    opd_tensor_contiguous(&view[0], OPD_F32, 1, &count, got);
    opd_tensor_contiguous(&view[1], OPD_F32, 1, &count, want);
    opd_metrics metrics;
    for (int i = 0; i < 4; i++) {
        opd_fail_allocation_after(i);
        assert_int_equal(opd_metrics_compare(&metrics, &view[0], &view[1]), OPD_E_NOMEM);
    }
    opd_fail_allocation_after(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_their_definitions),
        cmocka_unit_test(strides_and_shapes_do_not_matter),
        cmocka_unit_test(a_line_through_the_points_is_found),
        cmocka_unit_test(nan_and_infinity_are_classes),
        cmocka_unit_test(running_out_of_memory_is_an_error),
        cmocka_unit_test(one_element_decides_whether_arrays_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
