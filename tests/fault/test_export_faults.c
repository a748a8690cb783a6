/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export when memory or the disk fails: for n = 0, 1, 2, ... the n-th allocation, then the n-th write, until it succeeds. Each time a status
 * with a text, no file at the path and nothing beside it.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>
#include <opsdebug/view.h>

enum { CALLS = 300 };

static char folder[] = "/tmp/opd-export-XXXXXX";
static char bundle_path[64];
static char out_path[64];
static opd_bundle *bundle;

static opd_digest digest(int number)
{
    opd_digest result = { { 0 } };

    result.bytes[0] = (uint8_t)number;
    result.bytes[1] = 1;
    return result;
}

/* Two threads, calls that overlap, arrows, a range, a failure: every track has something to draw. */
static void write_bundle(void)
{
    opd_header_info header = { .version = OPD_FORMAT_VERSION, .kind = "run", .pid = 9 };
    opd_event event = { .kind = "range-push", .name = "step", .thread = 10, .time_ns = 5 };
    opd_failure failure = { .outcome = OPD_OUTCOME_CRASH, .thread = 10, .call_number = 1, .signal = 11 };
    const opd_routine *routine = opd_routine_find("dgemv");
    opd_writer *writer = NULL;
    opd_call call;

    assert_non_null(routine);
    assert_int_equal(opd_writer_open(&writer, bundle_path, &header), OPD_OK);
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    call.pid = 9;
    for (int i = 0; i < CALLS; i++) {
        call.thread = 10 + (uint32_t)i % 2;
        call.number = 1 + (uint64_t)i / 2;
        call.begin_ns = 10 + 10 * (uint64_t)i;
        call.end_ns = call.begin_ns + 25; /* crosses the next one of its thread */
        call.operands[0].before = digest(i % 100 + 99);
        call.operands[call.operand_count - 1].after = digest(i % 100 + 100);
        assert_int_equal(opd_writer_call(writer, &call), OPD_OK);
    }
    assert_int_equal(opd_writer_event(writer, &event), OPD_OK);
    assert_int_equal(opd_writer_failure(writer, &failure), OPD_OK);
    memcpy(event.kind, "mark", sizeof("mark"));
    assert_int_equal(opd_writer_event(writer, &event), OPD_OK);
    assert_int_equal(opd_writer_close(writer), OPD_OK);
}

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(bundle_path, sizeof(bundle_path), "%s/run.opsb", folder);
    (void)snprintf(out_path, sizeof(out_path), "%s/out", folder);
    write_bundle();
    return opd_bundle_open(&bundle, bundle_path) == OPD_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    opd_bundle_close(bundle);
    (void)unlink(bundle_path);
    (void)unlink(out_path);
    return rmdir(folder);
}

static int files_in_folder(void)
{
    DIR *directory = opendir(folder);
    int count = 0;

    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        count += entry->d_name[0] != '.';
    }
    closedir(directory);
    return count;
}

/* Fails the n-th of what fail_after counts until the export succeeds; step skips ahead in long runs. */
static void fail_one_by_one(opd_view_format format, void (*fail_after)(long count), opd_status wanted, long step)
{
    long failures = 0;

    for (long n = 0;; n += n < 60 ? 1 : step) {
        opd_view_report report = { .slices = 12345 };
        opd_error_clear();
        fail_after(n);
        opd_status status = opd_view_export(&report, bundle, out_path, format);
        fail_after(-1);
        if (status == OPD_OK) {
            assert_int_equal(report.slices, CALLS + 1);
            break;
        }
        failures++;
        assert_int_equal(status, wanted);
        assert_string_not_equal(opd_error_text(), "");
        assert_int_equal(report.slices, 12345);
        assert_int_equal(files_in_folder(), 1);
    }
    assert_true(failures > 1);
    assert_int_equal(files_in_folder(), 2);
    assert_int_equal(unlink(out_path), 0);
}

static void a_failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    for (int format = 0; format < OPD_VIEW_FORMATS; format++) {
        fail_one_by_one((opd_view_format)format, opd_fail_allocation_after, OPD_E_NOMEM, 23);
    }
}

static void a_failed_write_leaves_nothing(void **state)
{
    (void)state;
    for (int format = 0; format < OPD_VIEW_FORMATS; format++) {
        fail_one_by_one((opd_view_format)format, opd_fail_write_after, OPD_E_IO, 1);
    }
}

static void an_old_file_stays_when_the_export_fails(void **state)
{
    opd_view_report report;
    struct stat known;

    (void)state;
    assert_int_equal(opd_write_file(out_path, "old", 3), OPD_OK);
    opd_fail_write_after(0);
    assert_int_equal(opd_view_export(&report, bundle, out_path, OPD_VIEW_CSV), OPD_E_IO);
    opd_fail_write_after(-1);
    assert_int_equal(stat(out_path, &known), 0);
    assert_int_equal(known.st_size, 3);
}

static void refuses_what_cannot_be_written(void **state)
{
    opd_view_report report;
    static const char *const paths[] = { "/tmp", "/nowhere/at/all.json", "" };

    (void)state;
    for (size_t i = 0; i < OPD_COUNT(paths); i++) {
        opd_error_clear();
        assert_int_equal(opd_view_export(&report, bundle, paths[i], OPD_VIEW_CHROME), OPD_E_IO);
        assert_string_not_equal(opd_error_text(), "");
    }
    opd_error_clear();
    assert_int_equal(opd_view_export(&report, bundle, out_path, (opd_view_format)77), OPD_E_INVALID);
    assert_string_not_equal(opd_error_text(), "");
}

/* Not replaced by a regular file: as root that would take the device from everyone. */
static void a_device_is_written_to_and_stays_one(void **state)
{
    opd_view_report report;
    struct stat known;

    (void)state;
    assert_int_equal(opd_view_export(&report, bundle, "/dev/null", OPD_VIEW_CHROME), OPD_OK);
    assert_int_equal(stat("/dev/null", &known), 0);
    assert_true(S_ISCHR(known.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_allocation_leaves_nothing),      cmocka_unit_test(a_failed_write_leaves_nothing),
        cmocka_unit_test(an_old_file_stays_when_the_export_fails), cmocka_unit_test(refuses_what_cannot_be_written),
        cmocka_unit_test(a_device_is_written_to_and_stays_one),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
