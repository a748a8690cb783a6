/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for records in damaged, hostile and sparse files: what it finds, what it says, and how many bytes it hashes for that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>

#include "bundle_forge.h"
#include "frame.h"

#define SYNC 0x9d3c5ab2f1e6874bu

typedef struct found {
    uint64_t records, damaged, lost;
    char text[160]; /* of the last damage */
} found;

static bool count_record(void *context, const opd_frame_view *frame)
{
    found *of = context;

    (void)frame;
    of->records++;
    return true;
}

static void count_damage(void *context, uint64_t offset, uint64_t bytes, const char *text)
{
    found *of = context;

    (void)offset;
    of->damaged++;
    of->lost += bytes;
    (void)snprintf(of->text, sizeof(of->text), "%s", text);
}

/* Bytes hashed. */
static uint64_t walk(found *of, const forge *file)
{
    *of = (found){ 0 };
    return frame_walk(&(opd_frame_walk){ .on_record = count_record, .on_damage = count_damage, .context = of },
                      file->bytes, file->size);
}

/* The start of a tensor record that claims `rest` bytes after its check, the first field being of `field` bytes; the check is wrong. */
static void forge_false_start(forge *file, uint64_t rest, uint64_t field)
{
    forge_varint(file, 0x0a);
    forge_varint(file, rest + 20);
    forge_fixed64(file, 2000, SYNC);
    forge_fixed64(file, 2001, 0);
    forge_varint(file, 2015 << 3 | 2);
    forge_varint(file, field);
}

static void forge_event(forge *file, size_t size)
{
    forge rest;
    uint8_t *bytes = NULL;

    forge_init(&rest);
    assert_int_equal(opd_alloc((void **)&bytes, size + 1), OPD_OK);
    forge_bytes(&rest, 2017, bytes, size);
    forge_record(file, &rest);
    opd_free(bytes);
    forge_done(&rest);
}

/* Starts by the hundred thousand, each claiming much of what follows: hashing them all would be quadratic. */
static void overlapping_false_records_cost_a_small_multiple_of_the_file(void **state)
{
    found got;
    forge file;

    (void)state;
    forge_init(&file);
    forge_header(&file, 1);
    size_t good = file.size;
    while (file.size < (size_t)5 << 20) {
        forge_false_start(&file, 900000, 800000);
    }
    uint64_t hashed = walk(&got, &file);
    assert_in_range(hashed, 900000, 5 * file.size + 900000);
    assert_int_equal(got.records, 1);
    assert_int_equal(got.damaged, 1);
    assert_int_equal(got.lost, file.size - good);
    assert_non_null(strstr(got.text, "too many false records"));
    forge_done(&file);
}

/* Each false record is met where a record should be, right after a good one. */
static void false_records_between_good_ones_are_counted_too(void **state)
{
    found got;
    forge file;

    (void)state;
    forge_init(&file);
    while (file.size < (size_t)1 << 20) {
        forge_event(&file, 4);
        forge_false_start(&file, 900000, 800000);
    }
    uint64_t hashed = walk(&got, &file);
    assert_in_range(hashed, 900000, 5 * file.size + file.size);
    assert_in_range(got.records, 1, 10);
    assert_non_null(strstr(got.text, "too many false records"));
    forge_done(&file);
}

/* A first field that runs out of its record, or is a number: no writer makes that, so nothing is hashed. */
static void starts_that_do_not_fit_cost_nothing(void **state)
{
    found got;
    forge file;

    (void)state;
    forge_init(&file);
    forge_event(&file, 100);
    for (int i = 0; i < 20000; i++) {
        forge_false_start(&file, 50000, 60000);
        forge_varint(&file, 0x0a);
        forge_varint(&file, 50020);
        forge_fixed64(&file, 2000, SYNC);
        forge_fixed64(&file, 2001, 0);
        forge_number(&file, 2015, 7);
    }
    forge_event(&file, 50000 + 77);
    uint64_t hashed = walk(&got, &file);
    assert_int_equal(got.records, 2);
    assert_int_equal(got.damaged, 1);
    assert_null(strstr(got.text, "false"));
    assert_int_equal(hashed, (100 + 3) + (50077 + 5)); /* the two good records: tag, length, content */
    forge_done(&file);
}

/* A damaged tensor whose content is a bundle, one level deep after the other: all that is whole behind it is found. */
static void bundles_within_a_damaged_tensor_do_not_use_up_the_search(void **state)
{
    found got;
    forge file;
    forge inner;

    (void)state;
    forge_init(&inner);
    for (int depth = 0; depth < 3; depth++) {
        forge outer;
        forge rest;
        forge_init(&outer);
        forge_init(&rest);
        forge_event(&outer, 1000);
        for (int i = 0; i < 50 && depth == 0; i++) {
            forge_event(&outer, 10000);
        }
        forge_bytes(&rest, 2015, "", 0);
        forge_bytes(&rest, 2016, inner.bytes, inner.size);
        forge_record(&outer, &rest);
        forge_done(&inner);
        forge_done(&rest);
        inner = outer;
    }
    forge_init(&file);
    forge_raw(&file, inner.bytes, inner.size);
    forge_done(&inner);
    file.bytes[file.size - 1] ^= 1; /* the outermost tensor */
    forge_event(&file, 200000);
    (void)walk(&got, &file);
    assert_int_equal(got.records, 2);
    assert_int_equal(got.damaged, 1);
    assert_null(strstr(got.text, "false"));
    forge_done(&file);
}

static void write_at(int fd, const forge *part, size_t first, size_t size, off_t offset)
{
    assert_int_equal(pwrite(fd, part->bytes + first, size, offset), (ssize_t)size);
}

/* 2 GiB of which three places are data: a header, a page of noise, a record of its own near the end. */
static void holes_of_a_sparse_file_are_not_read(void **state)
{
    const size_t last = ((size_t)2 << 30) - 65536;
    const uint8_t noise[] = { 0x0a, 0x81, 0x7d };
    opd_bundle *bundle = NULL;
    struct rusage before;
    struct rusage after;
    char path[] = "/tmp/opd-test-frame-XXXXXX";
    forge file;
    forge rest;

    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    forge_init(&file);
    forge_header(&file, 1);
    write_at(fd, &file, 0, file.size, 0);
    assert_int_equal(pwrite(fd, noise, sizeof(noise), 1 << 30), sizeof(noise));
    forge_init(&rest);
    forge_bytes(&rest, 2999, "late", 4);
    file.size = 0;
    forge_record_at(&file, &rest, last);
    write_at(fd, &file, 0, file.size, (off_t)last);
    assert_int_equal(ftruncate(fd, (off_t)2 << 30), 0);
    bool knows_holes = lseek(fd, 1 << 20, SEEK_DATA) >= 1 << 29;
    assert_int_equal(close(fd), 0);
    getrusage(RUSAGE_SELF, &before);
    opd_status status = opd_bundle_open(&bundle, path);
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(status, OPD_OK);
    assert_int_equal(opd_bundle_state_of(bundle)->records, 2);
    assert_int_equal(opd_bundle_state_of(bundle)->unknown, 1);
    assert_int_equal(opd_bundle_state_of(bundle)->damaged, 2);
    if (knows_holes) { /* pages touched; all of them would be 32768 faults at least, 16 pages at a time */
        assert_in_range(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt, 0, 2000);
    }
    opd_bundle_close(bundle);
    forge_done(&rest);
    forge_done(&file);
}

/* Larger than any memory: opened at no cost where it can be mapped, else refused; never read into memory. */
static void a_hostile_size_is_mapped_or_refused(void **state)
{
    opd_bundle *bundle = NULL;
    struct rusage after;
    char path[] = "/tmp/opd-test-frame-XXXXXX";
    off_t size = (off_t)1 << 62;

    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    while (ftruncate(fd, size) != 0) {
        size /= 2; /* to what this file system allows */
    }
    assert_int_equal(close(fd), 0);
    assert_true(size >= (off_t)1 << 31);
    opd_status status = opd_bundle_open(&bundle, path);
    assert_int_equal(unlink(path), 0);
    assert_true(status == OPD_E_FORMAT || status == OPD_E_NOMEM || status == OPD_E_IO || status == OPD_E_LIMIT);
    assert_non_null(strstr(opd_error_text(), path));
    assert_null(bundle);
    getrusage(RUSAGE_SELF, &after);
    assert_in_range(after.ru_maxrss, 0, 1 << 20); /* KiB */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_false_records_cost_a_small_multiple_of_the_file),
        cmocka_unit_test(false_records_between_good_ones_are_counted_too),
        cmocka_unit_test(starts_that_do_not_fit_cost_nothing),
        cmocka_unit_test(bundles_within_a_damaged_tensor_do_not_use_up_the_search),
        cmocka_unit_test(holes_of_a_sparse_file_are_not_read),
        cmocka_unit_test(a_hostile_size_is_mapped_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
