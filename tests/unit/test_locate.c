/* SPDX-License-Identifier: Apache-2.0 */
/* Index tuples from places in walk order, against opd_tensor_offset of every index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector.h"

/* Walks the view by runs and checks that each place comes back as an index that exists and lies at that offset. */
static void check_every_place(const opd_tensor *view)
{
    opd_runs runs;
    opd_run run;
    int64_t place = 0;
    opd_runs_begin(&runs, view);
    while (opd_runs_next(&runs, &run)) {
        for (int64_t i = 0; i < run.count; i++) {
            int64_t index[OPD_MAX_RANK] = { 0 };
            assert_true(opd_window_locate(index, view, place++));
            assert_true(opd_tensor_exists(view, index));
            assert_int_equal(opd_tensor_offset(view, index), run.offset + i * run.step);
        }
    }
    assert_int_equal(place, opd_tensor_existing(view));
    int64_t index[OPD_MAX_RANK];
    assert_false(opd_window_locate(index, view, place));
    assert_false(opd_window_locate(index, view, -1));
}

static void every_place_has_its_index(void **state)
{
    (void)state;
    const opd_tensor views[] = {
        { .dtype = OPD_F64, .rank = 2, .shape = { 3, 4 }, .stride = { 4, 1 } },
        { .dtype = OPD_F64, .rank = 2, .shape = { 3, 4 }, .stride = { 1, 7 } },
        { .dtype = OPD_F32, .rank = 1, .shape = { 5 }, .stride = { -3 } },
        { .dtype = OPD_C64, .rank = 2, .shape = { 3, 2 }, .stride = { -8, -2 } },
        { .dtype = OPD_F64, .rank = 2, .shape = { 4, 4 }, .stride = { 1, 5 }, .mask = { .kind = OPD_MASK_UPPER } },
        { .dtype = OPD_F64,
          .rank = 2,
          .shape = { 4, 4 },
          .stride = { 5, 1 },
          .mask = { .kind = OPD_MASK_LOWER, .unit = 1 } },
        { .dtype = OPD_F16, .rank = 3, .shape = { 2, 1, 3 }, .stride = { 3, 99, 1 } },
        { .dtype = OPD_F64, .rank = 0 },
    };
    for (size_t i = 0; i < OPD_COUNT(views); i++) {
        assert_int_equal(opd_tensor_check(&views[i]), OPD_OK);
        check_every_place(&views[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_place_has_its_index) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
