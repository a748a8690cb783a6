/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the first wrong stage, over every row of up to seven stages that are right, wrong or missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stage_search.h"

enum { MOST = 7 };

static const opd_stage_state kinds[] = { OPD_STAGE_RIGHT, OPD_STAGE_WRONG, OPD_STAGE_MISSING };

static opd_status look(void *context, int stage, opd_stage_state *state)
{
    const opd_stage_state *row = context;
    *state = row[stage];
    return OPD_OK;
}

/* By plain counting: the first wrong one, and is no later one right? */
static int first_of(bool *is_monotone, const opd_stage_state *row, int count)
{
    int first = -1;
    *is_monotone = true;
    for (int i = 0; i < count; i++) {
        first = first < 0 && row[i] == OPD_STAGE_WRONG ? i : first;
        *is_monotone = *is_monotone && !(first >= 0 && row[i] == OPD_STAGE_RIGHT);
    }
    return first;
}

static void make_row(opd_stage_state *row, int count, int code)
{
    for (int i = 0; i < count; i++, code /= 3) {
        row[i] = kinds[code % 3];
    }
}

static void all_are_looked_at_when_all_are_asked_for(void **state)
{
    (void)state;
    for (int code = 0; code < 2187; code++) { /* 3^MOST */
        opd_stage_state row[MOST];
        bool is_monotone = true;
        opd_stage_search found;
        make_row(row, MOST, code);
        int first = first_of(&is_monotone, row, MOST);
        assert_int_equal(opd_stage_search_all(&found, MOST, look, row), OPD_OK);
        assert_int_equal(found.first, first);
        assert_int_equal(found.is_monotone, is_monotone);
        assert_memory_equal(found.state, row, sizeof row);
    }
}

static void monotone_rows_are_searched_right_whatever_is_missing(void **state)
{
    (void)state;
    for (int count = 0, rows = 1; count <= MOST; count++, rows *= 3) {
        for (int code = 0; code < rows; code++) {
            opd_stage_state row[MOST];
            bool is_monotone = true;
            opd_stage_search found;
            make_row(row, count, code);
            int first = first_of(&is_monotone, row, count);
            assert_int_equal(opd_stage_search_run(&found, count, first >= 0, (uint64_t)code, look, row), OPD_OK);
            if (is_monotone) {
                assert_int_equal(found.first, first);
                assert_true(found.is_monotone);
            }
            assert_true(found.probes <= count);
        }
    }
}

static void a_contradiction_that_is_met_leads_to_all_stages(void **state)
{
    (void)state;
    opd_stage_state row[] = { OPD_STAGE_WRONG, OPD_STAGE_RIGHT, OPD_STAGE_RIGHT, OPD_STAGE_RIGHT };
    opd_stage_search found;
    assert_int_equal(opd_stage_search_run(&found, 4, true, 1, look, row), OPD_OK);
    assert_int_equal(found.first, 0);
    assert_false(found.is_monotone);
    assert_true(found.is_exhaustive);
    assert_int_equal(found.probes, 4);
}

static void wrong_results_with_both_ends_right_are_searched_one_by_one(void **state)
{
    (void)state;
    opd_stage_state row[] = { OPD_STAGE_RIGHT, OPD_STAGE_RIGHT, OPD_STAGE_WRONG, OPD_STAGE_RIGHT, OPD_STAGE_RIGHT };
    for (uint64_t seed = 0; seed < 16; seed++) {
        opd_stage_search found;
        assert_int_equal(opd_stage_search_run(&found, 5, true, seed, look, row), OPD_OK);
        assert_int_equal(found.first, 2);
        assert_false(found.is_monotone);
    }
}

static void halves_need_few_probes(void **state)
{
    (void)state;
    for (int first = 1; first < 64; first++) {
        opd_stage_state row[64];
        opd_stage_search found;
        for (int i = 0; i < 64; i++) {
            row[i] = i < first ? OPD_STAGE_RIGHT : OPD_STAGE_WRONG;
        }
        assert_int_equal(opd_stage_search_run(&found, 64, true, 3, look, row), OPD_OK);
        assert_int_equal(found.first, first);
        assert_true(found.probes <= 9); /* two ends, one between, six halves */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_looked_at_when_all_are_asked_for),
        cmocka_unit_test(monotone_rows_are_searched_right_whatever_is_missing),
        cmocka_unit_test(a_contradiction_that_is_met_leads_to_all_stages),
        cmocka_unit_test(wrong_results_with_both_ends_right_are_searched_one_by_one),
        cmocka_unit_test(halves_need_few_probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
