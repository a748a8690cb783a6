/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory store on a disk that fails: full, broken, short of breath, unwilling to rename. The file functions below
 * take the place of the C library's for everything linked into this program.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>

#define VALUES 5000

/* What fails: the calls from number `after` on, with error; or writes take a few bytes only. */
static struct {
    long after;
    int error;
    size_t most; /* bytes that one write takes; 0 = all */
} writes, renames, syncs;

ssize_t write(int file, const void *bytes, size_t size);
int rename(const char *from, const char *to);
int fsync(int file);

ssize_t write(int file, const void *bytes, size_t size)
{
    if (writes.error != 0 && writes.after-- <= 0) {
        errno = writes.error;
        return -1;
    }
    return syscall(SYS_write, file, bytes, writes.most != 0 && writes.most < size ? writes.most : size);
}

int rename(const char *from, const char *to)
{
    if (renames.error != 0) {
        errno = renames.error;
        return -1;
    }
    return (int)syscall(SYS_rename, from, to);
}

int fsync(int file)
{
    if (syncs.error != 0) {
        errno = syncs.error;
        return -1;
    }
    return (int)syscall(SYS_fsync, file);
}

static char directory[64];
static double values[VALUES];
static opd_tensor view;
static opd_digest digest;

static void heal(void)
{
    memset(&writes, 0, sizeof(writes));
    memset(&renames, 0, sizeof(renames));
    memset(&syncs, 0, sizeof(syncs));
}

/* Files in the store, of whatever name; those in its folders count. remove: they go. */
static int count_files(const char *path, bool remove)
{
    DIR *listing = opendir(path);
    const struct dirent *entry;
    int count = 0;

    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        char full[512];
        struct stat status;
        snprintf(full, sizeof(full), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(full, &status) != 0) {
            continue;
        }
        count += S_ISDIR(status.st_mode) ? count_files(full, remove) : 1;
        if (remove && !S_ISDIR(status.st_mode)) {
            unlink(full);
        }
        if (remove && S_ISDIR(status.st_mode)) {
            rmdir(full);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return count;
}

static opd_status put(void)
{
    opd_error_clear();
    return opd_store_put(directory, &digest, &view, values);
}

static void expect_nothing_there(const char *word)
{
    assert_non_null(strstr(opd_error_text(), word));
    assert_non_null(strstr(opd_error_text(), directory));
    heal();
    assert_false(opd_store_has(directory, &digest));
    assert_int_equal(count_files(directory, false), 0);
}

static void expect_whole(void)
{
    static double back[VALUES];

    memset(back, 0, sizeof(back));
    assert_true(opd_store_has(directory, &digest));
    assert_int_equal(opd_store_get(back, sizeof(back), directory, &digest, &view), OPD_OK);
    assert_memory_equal(back, values, sizeof(values));
    assert_int_equal(count_files(directory, false), 1);
}

/* Every write in turn fails with the error; then the put succeeds and what it put is whole. */
static void fail_each_write(int error, const char *word)
{
    long n = 0;

    for (; n < 1000; n++) {
        writes.after = n;
        writes.error = error;
        opd_status status = put();
        if (status == OPD_OK) {
            break;
        }
        assert_int_equal(status, OPD_E_IO);
        expect_nothing_there(word);
    }
    heal();
    assert_in_range(n, 1, 999);
    expect_whole();
    count_files(directory, true);
}

static void full_disk_leaves_no_blob(void **state)
{
    (void)state;
    fail_each_write(ENOSPC, "No space left on device");
    fail_each_write(EDQUOT, "Disk quota exceeded");
}

static void broken_disk_leaves_no_blob(void **state)
{
    (void)state;
    fail_each_write(EIO, "Input/output error");
}

static void short_writes_are_continued(void **state)
{
    (void)state;
    writes.most = 7;
    assert_int_equal(put(), OPD_OK);
    heal();
    expect_whole();
    count_files(directory, true);
}

static void disk_that_fills_up_within_a_write_leaves_no_blob(void **state)
{
    (void)state;
    for (long n = 0; n < 40; n += 3) {
        writes.most = 1000;
        writes.after = n;
        writes.error = ENOSPC;
        if (put() == OPD_OK) {
            assert_true(n > 0);
            break;
        }
        expect_nothing_there("No space left on device");
    }
    heal();
    count_files(directory, true);
}

static void failed_rename_or_sync_leaves_no_blob(void **state)
{
    (void)state;
    renames.error = EACCES;
    assert_int_equal(put(), OPD_E_IO);
    expect_nothing_there("Permission denied");
    syncs.error = EIO;
    assert_int_equal(put(), OPD_E_IO);
    expect_nothing_there("Input/output error");
    assert_int_equal(put(), OPD_OK);
    expect_whole();
    renames.error = EACCES; /* what is there is not written again */
    assert_int_equal(put(), OPD_OK);
    heal();
    expect_whole();
    count_files(directory, true);
}

static void failed_allocation_leaves_no_blob(void **state)
{
    long n = 0;

    (void)state;
    for (; n < 1000; n++) {
        opd_fail_allocation_after(n);
        opd_status status = put();
        opd_fail_allocation_after(-1);
        if (status == OPD_OK) {
            break;
        }
        assert_int_equal(status, OPD_E_NOMEM);
        assert_false(opd_store_has(directory, &digest));
        assert_int_equal(count_files(directory, false), 0);
    }
    assert_in_range(n, 5, 999);
    expect_whole();
    count_files(directory, true);
}

static int begin(void **state)
{
    uint64_t seed = 1;

    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/opd-store-%ld", (long)getpid());
    for (int i = 0; i < VALUES; i++) { /* Knuth's MMIX generator: nothing that a codec makes small */
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = (double)(int64_t)seed;
    }
    if (opd_tensor_contiguous(&view, OPD_F64, 1, (int64_t[]){ VALUES }, values) != OPD_OK) {
        return -1;
    }
    digest = opd_packed_digest(&view, values);
    return 0;
}

static int end(void **state)
{
    (void)state;
    count_files(directory, true);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_disk_leaves_no_blob),
        cmocka_unit_test(broken_disk_leaves_no_blob),
        cmocka_unit_test(short_writes_are_continued),
        cmocka_unit_test(disk_that_fills_up_within_a_write_leaves_no_blob),
        cmocka_unit_test(failed_rename_or_sync_leaves_no_blob),
        cmocka_unit_test(failed_allocation_leaves_no_blob),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
