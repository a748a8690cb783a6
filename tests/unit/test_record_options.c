/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers and capture levels as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <opsdebug/record.h>

static void triggers_are_read_with_their_time(void **state)
{
    (void)state;
    opd_record_options options = { .timeout_ms = 7 };
    assert_int_equal(opd_triggers_parse(&options, "nan,crash"), OPD_OK);
    assert_int_equal(options.triggers, OPD_TRIGGER_NAN | OPD_TRIGGER_CRASH | OPD_TRIGGER_API);
    assert_int_equal(options.timeout_ms, 7);
    const struct {
        const char *text;
        uint32_t ms;
    } times[] = {
        { "timeout=60s", 60000 }, { "timeout=250ms", 250 }, { "timeout=2m", 120000 }, { "timeout=1.5", 1500 }
    };
    for (size_t i = 0; i < OPD_COUNT(times); i++) {
        assert_int_equal(opd_triggers_parse(&options, times[i].text), OPD_OK);
        assert_int_equal(options.triggers, OPD_TRIGGER_TIMEOUT | OPD_TRIGGER_API);
        assert_int_equal(options.timeout_ms, times[i].ms);
    }
}

static void the_magnitude_trigger_has_a_limit(void **state)
{
    (void)state;
    opd_record_options options = { .timeout_ms = 7 };
    assert_int_equal(opd_triggers_parse(&options, "nan,abs>1e4,exit"), OPD_OK);
    assert_int_equal(options.triggers, OPD_TRIGGER_NAN | OPD_TRIGGER_MAGNITUDE | OPD_TRIGGER_EXIT | OPD_TRIGGER_API);
    assert_true(options.magnitude == 10000.0);
}

static void bad_triggers_are_named(void **state)
{
    (void)state;
    const char *const bad[] = { "",         "nan,",        "nans",       "nan,what",      "nan=3",
                                "timeout=", "timeout=-1s", "timeout=5h", "timeout=1e30s", "nan inf",
                                "abs",      "abs>",        "abs>-1",     "abs>big",       "max>3",
                                "abs=3",    "abs>inf" };
    for (size_t i = 0; i < OPD_COUNT(bad); i++) {
        opd_record_options options = { .triggers = 99, .timeout_ms = 5, .magnitude = 3 };
        opd_error_clear();
        assert_int_equal(opd_triggers_parse(&options, bad[i]), OPD_E_INVALID);
        assert_non_null(strstr(opd_error_text(), "unknown trigger"));
        assert_int_equal(options.triggers, 99);
        assert_int_equal(options.timeout_ms, 5);
        assert_true(options.magnitude == 3);
    }
}

static void capture_levels_have_names(void **state)
{
    (void)state;
    opd_capture capture = OPD_CAPTURE_META;
    for (int level = OPD_CAPTURE_COUNTS; level <= OPD_CAPTURE_FULL; level++) {
        assert_int_equal(opd_capture_parse(&capture, opd_capture_name((opd_capture)level)), OPD_OK);
        assert_int_equal(capture, level);
    }
    assert_int_equal(opd_capture_parse(&capture, "everything"), OPD_E_INVALID);
    assert_non_null(strstr(opd_error_text(), "everything"));
    assert_int_equal(capture, OPD_CAPTURE_FULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triggers_are_read_with_their_time),
        cmocka_unit_test(the_magnitude_trigger_has_a_limit),
        cmocka_unit_test(bad_triggers_are_named),
        cmocka_unit_test(capture_levels_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
