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
    uint32_t bits = 0;
    uint32_t timeout_ms = 7;
    assert_int_equal(opd_triggers_parse(&bits, &timeout_ms, "nan,crash"), OPD_OK);
    assert_int_equal(bits, OPD_TRIGGER_NAN | OPD_TRIGGER_CRASH | OPD_TRIGGER_API);
    assert_int_equal(timeout_ms, 7);
    const struct {
        const char *text;
        uint32_t ms;
    } times[] = {
        { "timeout=60s", 60000 }, { "timeout=250ms", 250 }, { "timeout=2m", 120000 }, { "timeout=1.5", 1500 }
    };
    for (size_t i = 0; i < OPD_COUNT(times); i++) {
        assert_int_equal(opd_triggers_parse(&bits, &timeout_ms, times[i].text), OPD_OK);
        assert_int_equal(bits, OPD_TRIGGER_TIMEOUT | OPD_TRIGGER_API);
        assert_int_equal(timeout_ms, times[i].ms);
    }
}

static void bad_triggers_are_named(void **state)
{
    (void)state;
    const char *const bad[] = { "",         "nan,",        "nans",       "nan,what",      "nan=3",
                                "timeout=", "timeout=-1s", "timeout=5h", "timeout=1e30s", "nan inf" };
    for (size_t i = 0; i < OPD_COUNT(bad); i++) {
        uint32_t bits = 99;
        uint32_t timeout_ms = 5;
        opd_error_clear();
        assert_int_equal(opd_triggers_parse(&bits, &timeout_ms, bad[i]), OPD_E_INVALID);
        assert_non_null(strstr(opd_error_text(), "unknown trigger"));
        assert_int_equal(bits, 99);
        assert_int_equal(timeout_ms, 5);
    }
}

static void capture_levels_have_names(void **state)
{
    (void)state;
    opd_capture capture = OPD_CAPTURE_META;
    for (int level = OPD_CAPTURE_META; level <= OPD_CAPTURE_FULL; level++) {
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
        cmocka_unit_test(bad_triggers_are_named),
        cmocka_unit_test(capture_levels_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
