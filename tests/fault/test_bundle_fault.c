/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and disk that fail at every possible moment: an error with a text each time, no leak (sanitizers see to that), nothing
 * half-written under the final name, and what was flushed stays readable.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>

#include "bundle_make.h"

#define TRIES_MAX 3000
#define CALLS     6

static char path[128];
static char partial[160];

/* How far a writing got. */
typedef struct progress {
    uint64_t flushed; /* calls that a flush said are in the file */
    bool is_complete;
} progress;

static opd_status write_calls(opd_writer *writer, progress *to)
{
    static float values[2000];
    opd_status status = OPD_OK;

    for (uint64_t i = 1; status == OPD_OK && i <= CALLS; i++) {
        opd_call call = { .name = "op", .thread = 1, .number = i, .operand_count = 1, .begin_ns = i, .end_ns = i };
        values[0] = (float)i;
        status = opd_tensor_contiguous(&call.operands[0].view, OPD_F32, 1, (int64_t[]){ 2000 }, values);
        if (status == OPD_OK) {
            status = opd_writer_call_with_data(writer, &call);
        }
        if (status == OPD_OK) {
            status = opd_writer_flush(writer);
        }
        to->flushed += status == OPD_OK;
    }
    return status;
}

static opd_status write_all(progress *to)
{
    opd_header_info header = { .kind = "run" };
    opd_event event = { .kind = "mark" };
    opd_frame frame = { .address = 1 };
    opd_writer *writer = NULL;
    opd_status status = opd_writer_open(&writer, path, &header);

    *to = (progress){ 0 };
    if (status != OPD_OK) {
        assert_null(writer);
        return status;
    }
    status = opd_writer_event(writer, &event);
    if (status == OPD_OK) {
        status = opd_writer_backtrace(writer, 1, &frame, 1);
    }
    if (status == OPD_OK) {
        status = write_calls(writer, to);
    }
    if (status != OPD_OK) {
        opd_writer_abandon(writer, true);
        return status;
    }
    status = opd_writer_close(writer);
    to->is_complete = status == OPD_OK;
    return status;
}

static void check_file(const progress *got)
{
    opd_bundle *bundle = NULL;
    opd_call call;
    float back[2000];

    assert_int_equal(access(path, F_OK) == 0, got->is_complete);
    if (got->flushed == 0 && !got->is_complete) {
        return;
    }
    assert_int_equal(opd_bundle_open(&bundle, path), OPD_OK);
    assert_in_range(opd_bundle_call_count(bundle), got->flushed, CALLS);
    for (uint64_t i = 0; i < got->flushed; i++) {
        assert_int_equal(opd_bundle_call(&call, bundle, i), OPD_OK);
        assert_int_equal(call.number, i + 1);
        assert_int_equal(
            opd_bundle_tensor(back, sizeof(back), bundle, &call.operands[0].before, &call.operands[0].view), OPD_OK);
        assert_true(back[0] == (float)(i + 1));
    }
    opd_bundle_close(bundle);
}

static void fail_each(void (*fail_after)(long), opd_status expected)
{
    long n = 0;
    progress got;

    for (; n < TRIES_MAX; n++) {
        unlink(path);
        unlink(partial);
        opd_error_clear();
        fail_after(n);
        opd_status status = write_all(&got);
        fail_after(-1);
        if (status == OPD_OK) {
            check_file(&got);
            /* Only what may be lost without a word, the timeline, can have failed; go on until nothing can. */
            if (got.is_complete && n > 250) {
                break;
            }
            continue;
        }
        assert_int_equal(status, expected);
        assert_true(strlen(opd_error_text()) > 0);
        check_file(&got);
    }
    assert_true(n < TRIES_MAX);
}

static void a_failing_allocation_loses_nothing_written(void **state)
{
    (void)state;
    fail_each(opd_fail_allocation_after, OPD_E_NOMEM);
}

static void a_failing_write_loses_nothing_written(void **state)
{
    (void)state;
    fail_each(opd_fail_write_after, OPD_E_IO);
}

static void after_a_failed_allocation_the_writer_goes_on(void **state)
{
    opd_header_info header = { .kind = "run" };
    uint64_t written = 0;

    (void)state;
    for (long n = 0; n < 40; n++) {
        memory_file file;
        opd_writer *writer = NULL;
        opd_bundle *bundle = NULL;
        make_random random = { 11 };
        opd_call call;
        assert_int_equal(opd_writer_open_sink(&writer, make_sink(&file), &header), OPD_OK);
        written = 0;
        for (int i = 0; i < 200; i++) {
            make_call(&random, &call);
            opd_fail_allocation_after(i == 100 ? n : -1);
            written += opd_writer_call(writer, &call) == OPD_OK;
        }
        opd_fail_allocation_after(-1);
        assert_int_equal(opd_writer_close(writer), OPD_OK);
        assert_int_equal(opd_bundle_open_memory(&bundle, file.bytes, file.size), OPD_OK);
        assert_int_equal(opd_bundle_call_count(bundle), written);
        opd_bundle_close(bundle);
        opd_free(file.bytes);
    }
}

/* Everything a reader does, with the status of the first thing that failed. */
static opd_status read_all(const memory_file *file)
{
    opd_bundle *bundle = NULL;
    opd_call call;
    opd_case item;
    opd_case copy;
    opd_status status = opd_bundle_open_memory(&bundle, file->bytes, file->size);

    for (uint64_t i = 0; status == OPD_OK && i < opd_bundle_call_count(bundle); i++) {
        status = opd_bundle_call(&call, bundle, i);
        if (status == OPD_OK) {
            status = opd_case_load(&item, bundle, &call, 1 << 20);
        }
        if (status == OPD_OK) {
            status = opd_case_copy(&copy, &item);
            if (status == OPD_OK) {
                opd_case_done(&copy);
            }
            opd_case_done(&item);
        }
    }
    opd_bundle_close(bundle);
    return status;
}

static void a_failing_allocation_while_reading_is_an_error_and_no_damage(void **state)
{
    memory_file file;
    long n = 0;

    (void)state;
    make_bundle(&file, 4, 3);
    for (; n < TRIES_MAX; n++) {
        opd_error_clear();
        opd_fail_allocation_after(n);
        opd_status status = read_all(&file);
        opd_fail_allocation_after(-1);
        if (status == OPD_OK) {
            break;
        }
        assert_int_equal(status, OPD_E_NOMEM);
        assert_true(strlen(opd_error_text()) > 0);
    }
    assert_true(n > 20 && n < TRIES_MAX);
    opd_free(file.bytes);
}

static void salvage_leaves_nothing_behind_when_it_fails(void **state)
{
    opd_salvage_report report;
    memory_file file;
    char to[160];
    char temporary[192];
    long n = 0;
    FILE *out = fopen(partial, "wb");

    (void)state;
    snprintf(to, sizeof(to), "%s.mended", path);
    snprintf(temporary, sizeof(temporary), "%s.salvage", to);
    make_bundle(&file, 4, 3);
    assert_non_null(out);
    assert_int_equal(fwrite(file.bytes, 1, file.size / 2, out), file.size / 2);
    fclose(out);
    unlink(path);
    for (; n < TRIES_MAX; n++) {
        opd_fail_allocation_after(n);
        opd_status status = opd_salvage(&report, path, to, NULL, NULL);
        opd_fail_allocation_after(-1);
        assert_int_not_equal(access(temporary, F_OK), 0);
        if (status == OPD_OK) {
            break;
        }
        assert_int_equal(status, OPD_E_NOMEM);
        assert_int_not_equal(access(to, F_OK), 0);
    }
    assert_true(n > 20 && n < TRIES_MAX);
    unlink(to);
    for (n = 0; n < 20; n++) {
        opd_fail_write_after(n);
        opd_status status = opd_salvage(&report, path, to, NULL, NULL);
        opd_fail_write_after(-1);
        assert_int_not_equal(access(temporary, F_OK), 0);
        if (status == OPD_OK) {
            break;
        }
        assert_int_equal(status, OPD_E_IO);
    }
    assert_true(n > 0 && n < 20);
    unlink(to);
    opd_free(file.bytes);
}

static int begin(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/opd-fault-%ld.opsb", (long)getpid());
    snprintf(partial, sizeof(partial), "%s.partial", path);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    unlink(partial);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_allocation_loses_nothing_written),
        cmocka_unit_test(a_failing_write_loses_nothing_written),
        cmocka_unit_test(after_a_failed_allocation_the_writer_goes_on),
        cmocka_unit_test(a_failing_allocation_while_reading_is_an_error_and_no_damage),
        cmocka_unit_test(salvage_leaves_nothing_behind_when_it_fails),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
