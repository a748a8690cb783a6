/* SPDX-License-Identifier: Apache-2.0 */
/* Error text: one bounded line per thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/status.h>

static void failing_sets_the_text_and_returns_the_code(void **state)
{
    (void)state;
    assert_int_equal(opd_fail(OPD_E_FORMAT, "chunk %d ends early", 7), OPD_E_FORMAT);
    assert_string_equal(opd_error_text(), "chunk 7 ends early");
    assert_int_equal(opd_fail_in(OPD_E_FORMAT, "%s", "a.opsb"), OPD_E_FORMAT);
    assert_string_equal(opd_error_text(), "a.opsb: chunk 7 ends early");
    opd_error_clear();
    assert_string_equal(opd_error_text(), "");
}

static void text_may_quote_the_earlier_text(void **state)
{
    (void)state;
    (void)opd_fail(OPD_E_IO, "inner");
    (void)opd_fail(OPD_E_IO, "outer of %s", opd_error_text());
    assert_string_equal(opd_error_text(), "outer of inner");
}

static void text_is_one_line_without_control_characters(void **state)
{
    (void)state;
    (void)opd_fail(OPD_E_IO, "%s", "a\nb\tc\x1b[31md\x7f \xc3\xa9");
    assert_string_equal(opd_error_text(), "a b c?[31md? \xc3\xa9");
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char many[2000];
    memset(many, 'x', sizeof(many) - 1);
    many[sizeof(many) - 1] = '\0';
    (void)opd_fail(OPD_E_IO, "%s", many);
    assert_int_equal(strlen(opd_error_text()), 511);
    (void)opd_fail_in(OPD_E_IO, "path");
    assert_int_equal(strlen(opd_error_text()), 511);
    assert_memory_equal(opd_error_text(), "path: xxx", 9);
    (void)opd_fail_in(OPD_E_IO, "%s", many);
    assert_int_equal(strlen(opd_error_text()), 511);
}

static void *fail_elsewhere(void *seen)
{
    *(int *)seen = (int)strlen(opd_error_text());
    (void)opd_fail(OPD_E_IO, "of the other thread");
    return NULL;
}

static void each_thread_has_its_own_text(void **state)
{
    (void)state;
    pthread_t thread;
    int seen = -1;
    (void)opd_fail(OPD_E_IO, "mine");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(seen, 0);
    assert_string_equal(opd_error_text(), "mine");
}

/* The numbers are in bundles and exit paths: pinned. */
static void codes_have_names_and_sentences(void **state)
{
    (void)state;
    assert_int_equal(OPD_OK, 0);
    assert_int_equal(OPD_E_NOFAILURE, 12);
    assert_string_equal(opd_status_name(OPD_OK), "OK");
    assert_string_equal(opd_status_name(OPD_E_FORMAT), "E_FORMAT");
    assert_string_equal(opd_status_sentence(OPD_E_NOMEM), "out of memory");
    assert_string_equal(opd_status_name((opd_status)999), "E_UNKNOWN");
    assert_non_null(opd_status_sentence((opd_status)999));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_sets_the_text_and_returns_the_code),
        cmocka_unit_test(text_may_quote_the_earlier_text),
        cmocka_unit_test(text_is_one_line_without_control_characters),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(each_thread_has_its_own_text),
        cmocka_unit_test(codes_have_names_and_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
