// SPDX-License-Identifier: Apache-2.0
// The ledger of runs: counts, reuse of an earlier search's runs, damaged logs.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/memory.h>

#include "ledger.h"

static char path[] = "/tmp/opd-ledger-XXXXXX";

static opd_ledger_key key_of(uint64_t number, opd_purpose purpose)
{
    opd_ledger_key key;
    memset(&key, 0, sizeof(key));
    memcpy(key.id.bytes, &number, sizeof(number));
    key.placement = number * 77;
    key.purpose = purpose;
    return key;
}

static const opd_failure sample = {
    .outcome = OPD_OUTCOME_NAN_BORN, .operand = "C", .index = { 3, 4 }, .index_rank = 2, .bad_count = 5, .distance = -7
};
static const opd_failure nothing = { .index_rank = -1 };

static int clear(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void runs_are_counted_by_what_was_judged_and_why(void **state)
{
    (void)state;
    opd_ledger *ledger = NULL;
    assert_int_equal(opd_ledger_open(&ledger, NULL, "s"), OPD_OK);
    for (uint64_t i = 0; i < 3000; i++) {
        opd_ledger_key key = key_of(i % 1000, OPD_PURPOSE_JUDGE);
        opd_verdict verdict = i < 1000 ? OPD_VERDICT_SAME : OPD_VERDICT_PASS;
        assert_int_equal(opd_ledger_add(ledger, &key, verdict, &nothing), OPD_OK);
    }
    for (uint64_t i = 0; i < 1000; i++) {
        opd_ledger_key key = key_of(i, OPD_PURPOSE_JUDGE);
        opd_ledger_key other = key_of(i, OPD_PURPOSE_VERIFY);
        opd_ledger_count count = opd_ledger_counted(ledger, &key);
        assert_int_equal(count.runs, 3);
        assert_int_equal(count.same, 1);
        assert_int_equal(count.last, OPD_VERDICT_PASS);
        assert_int_equal(opd_ledger_counted(ledger, &other).runs, 0);
    }
    opd_ledger_close(ledger);
}

static void write_three(void)
{
    opd_ledger *ledger = NULL;
    opd_ledger_key key = key_of(5, OPD_PURPOSE_JUDGE);
    assert_int_equal(opd_ledger_open(&ledger, path, "s"), OPD_OK);
    assert_int_equal(opd_ledger_add(ledger, &key, OPD_VERDICT_SAME, &sample), OPD_OK);
    assert_int_equal(opd_ledger_add(ledger, &key, OPD_VERDICT_PASS, &nothing), OPD_OK);
    key = key_of(6, OPD_PURPOSE_MONITOR);
    assert_int_equal(opd_ledger_add(ledger, &key, OPD_VERDICT_OTHER, &sample), OPD_OK);
    opd_ledger_close(ledger);
}

/* Runs of an earlier search that this one can use. */
static uint32_t reusable(const char *section, uint64_t number, opd_purpose purpose)
{
    opd_ledger *ledger = NULL;
    opd_ledger_key key = key_of(number, purpose);
    opd_verdict verdict;
    opd_failure observed;
    uint32_t count = 0;
    assert_int_equal(opd_ledger_open(&ledger, path, section), OPD_OK);
    while (opd_ledger_reuse(ledger, &verdict, &observed, &key)) {
        count++;
    }
    opd_ledger_close(ledger);
    return count;
}

static void earlier_runs_come_back_once_each_in_order(void **state)
{
    (void)state;
    opd_ledger *ledger = NULL;
    opd_ledger_key key = key_of(5, OPD_PURPOSE_JUDGE);
    opd_verdict verdict;
    opd_failure observed;
    write_three();
    assert_int_equal(opd_ledger_open(&ledger, path, "s"), OPD_OK);
    assert_int_equal(opd_ledger_counted(ledger, &key).runs, 0);
    assert_true(opd_ledger_reuse(ledger, &verdict, &observed, &key));
    assert_int_equal(verdict, OPD_VERDICT_SAME);
    assert_int_equal(observed.outcome, OPD_OUTCOME_NAN_BORN);
    assert_string_equal(observed.operand, "C");
    assert_int_equal(observed.index_rank, 2);
    assert_int_equal(observed.index[0], 3);
    assert_int_equal(observed.index[1], 4);
    assert_int_equal(observed.bad_count, 5);
    assert_int_equal(observed.distance, -7);
    assert_true(opd_ledger_reuse(ledger, &verdict, &observed, &key));
    assert_int_equal(verdict, OPD_VERDICT_PASS);
    assert_string_equal(observed.operand, "");
    assert_int_equal(observed.index_rank, -1);
    assert_false(opd_ledger_reuse(ledger, &verdict, &observed, &key));
    assert_int_equal(opd_ledger_counted(ledger, &key).runs, 2);
    opd_ledger_close(ledger);
}

static void another_search_does_not_use_them(void **state)
{
    (void)state;
    write_three();
    assert_int_equal(reusable("other", 5, OPD_PURPOSE_JUDGE), 0);
    assert_int_equal(reusable("s", 5, OPD_PURPOSE_JUDGE), 2);
    assert_int_equal(reusable("s", 6, OPD_PURPOSE_MONITOR), 1);
}

static void a_log_cut_anywhere_loses_the_torn_line_only(void **state)
{
    (void)state;
    write_three();
    opd_mapping whole;
    char *copy = NULL;
    assert_int_equal(opd_mapping_open(&whole, path), OPD_OK);
    assert_int_equal(opd_alloc((void **)&copy, whole.size), OPD_OK);
    memcpy(copy, whole.bytes, whole.size);
    size_t size = whole.size;
    opd_mapping_close(&whole);
    for (size_t cut = 0; cut <= size; cut++) {
        uint32_t lines = 0;
        for (size_t i = 0; i <= cut && i < size; i++) {
            lines += copy[i] == '\n'; /* one that lacks only its newline counts */
        }
        assert_int_equal(opd_write_file(path, copy, cut), OPD_OK);
        uint32_t runs = lines < 2 ? 0 : lines - 2; /* an empty line and the section come first */
        assert_int_equal(reusable("s", 5, OPD_PURPOSE_JUDGE), runs > 2 ? 2 : runs);
        /* Opening ends the torn line, so the file is cut anew. */
        assert_int_equal(opd_write_file(path, copy, cut), OPD_OK);
        assert_int_equal(reusable("s", 6, OPD_PURPOSE_MONITOR), runs > 2 ? 1 : 0);
    }
    opd_free(copy);
}

static void nonsense_lines_are_skipped(void **state)
{
    (void)state;
    static const char text[] = "# section s\nJ\nJ 00 00 0\n\xff\xfe\n"
                               "J 05000000000000000000000000000000 0000000000000181 9 0 0 0 0 -1 - - .\n"
                               "J 05000000000000000000000000000000 0000000000000181 0 0 0 0 0 99 - - .\n"
                               "J 05000000000000000000000000000000 0000000000000181 0 0 0 0 0 -1 - -\n"
                               "J 05000000000000000000000000000000 0000000000000181 0 99 0 0 0 -1 - - .\n"
                               "J 05000000000000000000000000000000 0000000000000181 0 0 0 0 0 -1 - - . and more .\n"
                               "J 05000000000000000000000000000000 0000000000000181 0 0 0 0 0 -1 - "
                               "a_label_that_is_longer_than_any_label_of_ours .\n"
                               "J 05000000000000000000000000000000 0000000000000181 0 0 0 0 0 -1 - - .\n";
    assert_int_equal(opd_write_file(path, text, sizeof(text) - 1), OPD_OK);
    assert_int_equal(reusable("s", 5, OPD_PURPOSE_JUDGE), 1);
}

static void a_log_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    opd_ledger *ledger = NULL;
    assert_int_equal(opd_ledger_open(&ledger, "/nonexistent/folder/log", "s"), OPD_E_IO);
    assert_non_null(strstr(opd_error_text(), "/nonexistent/folder/log"));
    opd_ledger_close(NULL);
}

/* A limit on the size of files stands for a full disk. The name of the search takes 12 bytes, a run some 80. */
static void a_log_that_could_hold_no_run_is_gone_and_one_that_holds_some_is_kept(void **state)
{
    (void)state;
    static const rlim_t sizes[] = { 0, 5, 12, 60, 150 };
    const opd_ledger_key key = key_of(5, OPD_PURPOSE_JUDGE);
    struct rlimit old;
    opd_fail_without_signal(SIGXFSZ);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (size_t i = 0; i < OPD_COUNT(sizes); i++) {
        opd_ledger *ledger = NULL;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ sizes[i], old.rlim_max }), 0);
        opd_status status = opd_ledger_open(&ledger, path, "s");
        for (int run = 0; run < 3 && status == OPD_OK; run++) {
            status = opd_ledger_add(ledger, &key, OPD_VERDICT_SAME, &nothing);
        }
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(status, OPD_E_IO);
        assert_non_null(strstr(opd_error_text(), path));
        opd_ledger_close(ledger);
        assert_int_equal(access(path, F_OK), i < 4 ? -1 : 0);
    }
    /* What an earlier search has left is not this one's to remove. */
    opd_ledger *again = NULL;
    assert_int_equal(opd_ledger_open(&again, path, "other"), OPD_OK);
    opd_ledger_close(again);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_are_counted_by_what_was_judged_and_why, clear, clear),
        cmocka_unit_test_setup_teardown(earlier_runs_come_back_once_each_in_order, clear, clear),
        cmocka_unit_test_setup_teardown(another_search_does_not_use_them, clear, clear),
        cmocka_unit_test_setup_teardown(a_log_cut_anywhere_loses_the_torn_line_only, clear, clear),
        cmocka_unit_test_setup_teardown(nonsense_lines_are_skipped, clear, clear),
        cmocka_unit_test_setup_teardown(a_log_that_cannot_be_written_is_an_error, clear, clear),
        cmocka_unit_test_setup_teardown(a_log_that_could_hold_no_run_is_gone_and_one_that_holds_some_is_kept, clear,
                                        clear),
    };
    int fd = mkstemp(path);
    if (fd < 0) {
        return 1;
    }
    close(fd);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
