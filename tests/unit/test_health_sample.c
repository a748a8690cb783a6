/* SPDX-License-Identifier: Apache-2.0 */
/* Health of a sample: which elements are in it, told by values that are their places in the walk, found here index by index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/tensor.h>

#define CELLS (1 << 18)
#define BASE  (1 << 17) /* element 0 of the views: strides may be negative */

static double memory[CELLS];
static int64_t offsets[CELLS];

static int compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a;
    int64_t two = *(const int64_t *)b;
    return (one > two) - (one < two);
}

/* Sets each existing element to its place in storage order; those from bad on to NaN. All else is a value that no sample may show. */
static int64_t number_elements(const opd_tensor *view, int64_t bad)
{
    int64_t count = 0;
    int64_t places = 0;
    for (int64_t i = 0; i < CELLS; i++) {
        memory[i] = -1e9;
    }
    for (int64_t flat = 0; flat < opd_tensor_count(view); flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, flat, index);
        if (opd_tensor_exists(view, index)) {
            offsets[count++] = opd_tensor_offset(view, index) / 8;
        }
    }
    qsort(offsets, (size_t)count, sizeof(offsets[0]), compare);
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || offsets[i] != offsets[i - 1]) {
            memory[BASE + offsets[i]] = places < bad ? (double)places : NAN;
            places++;
        }
    }
    return places;
}

static const opd_tensor views[] = {
    { .rank = 1, .shape = { 100000 }, .stride = { 1 } },
    { .rank = 1, .shape = { 4000 }, .stride = { -7 } },
    { .rank = 2, .shape = { 64, 64 }, .stride = { 100, 1 } },
    { .rank = 2, .shape = { 61, 53 }, .stride = { 1, 61 } },
    { .rank = 4, .shape = { 3, 40, 5, 8 }, .stride = { 1, 3, -2000, 200 } },
    { .rank = 3, .shape = { 50, 9, 50 }, .stride = { 50, 0, 1 } },
    { .rank = 2, .shape = { 90, 90 }, .stride = { 90, 1 }, .mask = { .kind = OPD_MASK_UPPER, .unit = 1 } },
    { .rank = 2, .shape = { 80, 80 }, .stride = { 1, 85 }, .mask = { .kind = OPD_MASK_LOWER } },
    { .rank = 1,
      .shape = { 5050 },
      .stride = { 1 },
      .mask = { .kind = OPD_MASK_PACKED, .upper = 1, .unit = 1, .rows = 100 } },
    { .rank = 2,
      .shape = { 7, 700 },
      .stride = { 1, 7 },
      .mask = { .kind = OPD_MASK_BAND, .kl = 3, .ku = 3, .rows = 700, .cols = 700 } },
};

static opd_tensor view_at(size_t i)
{
    opd_tensor view = views[i];
    view.data = memory + BASE;
    view.dtype = OPD_F64;
    assert_int_equal(opd_tensor_check(&view), OPD_OK);
    return view;
}

/* Where the k-th of 1024 parts begins: they are equal but for one element, the longer ones first. */
static int64_t part_start(int64_t k, int64_t count)
{
    int64_t longer = count % OPD_SAMPLE_RANDOM;
    return k * (count / OPD_SAMPLE_RANDOM) + (k < longer ? k : longer);
}

/* Smallest and largest sum of one element of each part. */
static void part_sums(double *low, double *high, int64_t count)
{
    *low = 0;
    *high = 0;
    for (int64_t k = 0; k < OPD_SAMPLE_RANDOM; k++) {
        *low += (double)part_start(k, count);
        *high += (double)part_start(k + 1, count) - 1;
    }
}

static void first_elements_and_one_of_each_part_are_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(views); i++) {
        opd_tensor view = view_at(i);
        int64_t count = number_elements(&view, INT64_MAX);
        double means[2];
        for (uint64_t seed = 0; seed < 2; seed++) {
            opd_health health;
            double low;
            double high;
            assert_true(opd_tensor_sample(&health, &view, seed));
            assert_int_equal(health.count, OPD_SAMPLE_FIRST + OPD_SAMPLE_RANDOM);
            assert_true(health.min == 0 && health.max < (double)count && health.max > (double)count * 0.99);
            double random = health.mean * (double)health.count - OPD_SAMPLE_FIRST * (OPD_SAMPLE_FIRST - 1) / 2.0;
            part_sums(&low, &high, count);
            assert_true(random >= low && random <= high);
            assert_true(health.nan == 0 && health.first_nan == -1);
            means[seed] = health.mean;
        }
        assert_true(i > 0 || means[0] != means[1]); /* those of few elements a part may meet */
    }
}

static void nan_is_counted_and_placed(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(views); i++) {
        opd_tensor view = view_at(i);
        int64_t half = number_elements(&view, INT64_MAX) / 2;
        half = half > OPD_SAMPLE_FIRST ? half : OPD_SAMPLE_FIRST;
        int64_t count = number_elements(&view, half);
        uint64_t bad = 0; /* parts that lie in the second half */
        for (int64_t k = 0; k < OPD_SAMPLE_RANDOM; k++) {
            bad += part_start(k, count) >= half;
        }
        opd_health health;
        assert_true(opd_tensor_sample(&health, &view, 5));
        assert_true(health.nan == bad || health.nan == bad + 1);
        assert_true(health.first_nan >= half && health.first_nan < half + 2 * (count / OPD_SAMPLE_RANDOM + 1));
        assert_true(isnan(memory[BASE + offsets[health.first_nan]]) || view.stride[1] == 0);
    }
}

static void what_is_no_larger_than_a_sample_is_read_whole(void **state)
{
    (void)state;
    opd_tensor view = view_at(0);
    for (int64_t size = 0; size <= OPD_SAMPLE_FIRST + OPD_SAMPLE_RANDOM; size += 512) {
        opd_health sampled;
        opd_health whole;
        view.shape[0] = size;
        number_elements(&view, size - 1);
        assert_false(opd_tensor_sample(&sampled, &view, 1));
        opd_tensor_health(&whole, &view);
        assert_memory_equal(&sampled, &whole, sizeof(whole));
    }
    view.shape[0] = OPD_SAMPLE_FIRST + OPD_SAMPLE_RANDOM + 1;
    assert_true(opd_tensor_sample(&(opd_health){ 0 }, &view, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_elements_and_one_of_each_part_are_seen),
        cmocka_unit_test(nan_is_counted_and_placed),
        cmocka_unit_test(what_is_no_larger_than_a_sample_is_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
