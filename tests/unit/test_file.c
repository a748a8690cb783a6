/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks, mappings and whole-file writes in a directory of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opsdebug/memory.h>

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[2][512];
    static int turn;
    turn = 1 - turn;
    (void)snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
    return path[turn];
}

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/opd-test-file-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') {
            (void)remove(in_folder(entry->d_name));
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return rmdir(folder);
}

static int count_files(void)
{
    DIR *directory = opendir(folder);
    int count = 0;
    const struct dirent *entry;
    assert_non_null(directory);
    while ((entry = readdir(directory)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(directory);
    return count;
}

static void require_content(const char *path, const void *bytes, size_t size)
{
    opd_mapping mapping = { 0 };
    assert_int_equal(opd_mapping_open(&mapping, path), OPD_OK);
    assert_non_null(mapping.bytes);
    assert_int_equal(mapping.size, size);
    assert_memory_equal(mapping.bytes, bytes, size);
    opd_mapping_close(&mapping);
    opd_mapping_close(&mapping);
}

static void written_bytes_are_mapped_back(void **state)
{
    (void)state;
    static uint8_t bytes[300000];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i >> 3);
    }
    const size_t sizes[] = { 0, 1, 65536, 65537, sizeof(bytes) };
    for (size_t i = 0; i < OPD_COUNT(sizes); i++) {
        opd_sink *sink = NULL;
        assert_int_equal(opd_sink_open_file(&sink, in_folder("sink")), OPD_OK);
        assert_int_equal(sink->write(sink, bytes, sizes[i] / 2), OPD_OK);
        assert_int_equal(sink->write(sink, bytes + sizes[i] / 2, sizes[i] - sizes[i] / 2), OPD_OK);
        assert_int_equal(sink->flush(sink), OPD_OK);
        assert_int_equal(sink->close(sink), OPD_OK);
        require_content(in_folder("sink"), bytes, sizes[i]);
        assert_int_equal(opd_write_file(in_folder("whole"), bytes, sizes[i]), OPD_OK);
        require_content(in_folder("whole"), bytes, sizes[i]);
    }
    assert_int_equal(count_files(), 2);
    opd_mapping_close(NULL);
}

static void what_is_no_regular_file_is_refused_by_name(void **state)
{
    (void)state;
    opd_mapping mapping = { 0 };
    assert_int_equal(opd_mapping_open(&mapping, folder), OPD_E_IO);
    assert_non_null(strstr(opd_error_text(), folder));
    assert_non_null(strstr(opd_error_text(), "is a directory"));
    const char *fifo = in_folder("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(opd_mapping_open(&mapping, fifo), OPD_E_IO); /* and does not wait for a writer */
    assert_non_null(strstr(opd_error_text(), "is not a regular file"));
    assert_int_equal(opd_mapping_open(&mapping, "/dev/zero"), OPD_E_IO);
    assert_int_equal(opd_mapping_open(&mapping, in_folder("absent")), OPD_E_NOTFOUND);
    assert_non_null(strstr(opd_error_text(), "absent"));
    assert_int_equal(opd_mapping_open(&mapping, "/dev/null/x"), OPD_E_NOTFOUND);
    assert_null(mapping.bytes);
    assert_int_equal(unlink(fifo), 0);
}

static void a_file_that_cannot_be_created_is_named(void **state)
{
    (void)state;
    opd_sink *sink = NULL;
    assert_int_equal(opd_sink_open_file(&sink, folder), OPD_E_IO);
    assert_non_null(strstr(opd_error_text(), folder));
    assert_int_equal(opd_sink_open_file(&sink, in_folder("no/such")), OPD_E_IO);
    assert_null(sink);
    assert_int_equal(opd_write_file(in_folder("no/such"), "x", 1), OPD_E_IO);
    assert_non_null(strstr(opd_error_text(), "no/such"));
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    opd_sink *sink = NULL;
    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    assert_int_equal(opd_sink_open_file(&sink, "/dev/full"), OPD_OK);
    assert_int_equal(sink->write(sink, "x", 1), OPD_E_IO);
    assert_non_null(strstr(opd_error_text(), "No space left"));
    assert_int_equal(sink->flush(sink), OPD_OK); /* no stable storage to sync */
    assert_int_equal(sink->close(sink), OPD_OK);
}

static void the_chosen_write_fails_once(void **state)
{
    (void)state;
    opd_sink *sink = NULL;
    assert_int_equal(opd_sink_open_file(&sink, in_folder("fault")), OPD_OK);
    opd_fail_write_after(1);
    assert_int_equal(sink->write(sink, "a", 1), OPD_OK);
    assert_int_equal(sink->write(sink, "b", 1), OPD_E_IO);
    assert_int_equal(sink->write(sink, "c", 1), OPD_OK);
    assert_int_equal(sink->close(sink), OPD_OK);
    require_content(in_folder("fault"), "ac", 2);
    assert_int_equal(unlink(in_folder("fault")), 0);
}

/* Whatever fails, the old file stays whole and nothing is left beside it. */
static void a_failed_whole_write_leaves_the_old_file(void **state)
{
    (void)state;
    const char *path = in_folder("kept");
    assert_int_equal(opd_write_file(path, "old", 3), OPD_OK);
    int files = count_files();
    opd_fail_write_after(0);
    assert_int_equal(opd_write_file(path, "newer", 5), OPD_E_IO);
    int failures = 0;
    for (long n = 0;; n++) {
        opd_fail_allocation_after(n);
        opd_error_clear();
        opd_status status = opd_write_file(path, "newer", 5);
        opd_fail_allocation_after(-1);
        if (status == OPD_OK) {
            break;
        }
        failures++;
        assert_int_equal(status, OPD_E_NOMEM);
        assert_string_not_equal(opd_error_text(), "");
        require_content(path, "old", 3);
        assert_int_equal(count_files(), files);
    }
    assert_true(failures >= 2);
    require_content(path, "newer", 5);
    assert_int_equal(count_files(), files);
}

static void mapping_survives_failed_allocations(void **state)
{
    (void)state;
    opd_mapping mapping = { 0 };
    assert_int_equal(opd_write_file(in_folder("map"), "abc", 3), OPD_OK);
    opd_fail_allocation_after(0);
    assert_int_equal(opd_mapping_open(&mapping, in_folder("map")), OPD_E_NOMEM);
    assert_non_null(strstr(opd_error_text(), "/map"));
    assert_null(mapping.bytes);
    require_content(in_folder("map"), "abc", 3);
}

/* Both this process and a child of it, whose number is told. */
static void live_on(int told)
{
    pid_t child = fork();
    if (child > 0 && write(told, &child, sizeof(child)) != (ssize_t)sizeof(child)) {
        _exit(1);
    }
    for (;;) {
        pause();
    }
}

static void hold_with_a_child(const char *out, int told)
{
    opd_claim claim;
    if (opd_claim_take(&claim, out) == OPD_OK) {
        live_on(told);
    }
    _exit(1);
}

static void own_with_a_child(const char *path, int told)
{
    opd_sink *sink = NULL;
    if (opd_sink_open_own(&sink, path, path) == OPD_OK) {
        live_on(told);
    }
    _exit(1);
}

static void a_file_of_its_own_goes_with_its_process_though_a_child_lives_on(void **state)
{
    (void)state;
    opd_sink *sink = NULL;
    opd_sink *again = NULL;
    pid_t child = 0;
    int ends[2];
    const char *path = in_folder("owned");
    assert_int_equal(pipe(ends), 0);
    pid_t holder = fork();
    if (holder == 0) {
        own_with_a_child(path, ends[1]);
    }
    assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
    opd_status held = opd_sink_open_own(&sink, path, path);
    (void)kill(holder, SIGKILL);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    opd_status left = opd_sink_open_own(&sink, path, path);
    (void)kill(child, SIGKILL);
    assert_int_equal(held, OPD_E_IO);
    assert_int_equal(left, OPD_OK);
    /* A second one of the same process is refused, and does not cost the first its lock. */
    assert_int_equal(opd_sink_open_own(&again, path, path), OPD_E_IO);
    assert_non_null(strstr(opd_error_text(), "written already"));
    pid_t other = fork();
    if (other == 0) {
        struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        int file = open(path, O_WRONLY | O_CLOEXEC);
        _exit(file >= 0 && fcntl(file, F_SETLK, &whole) != 0 ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    assert_int_equal(sink->close(sink), OPD_OK);
    assert_int_equal(opd_sink_open_own(&again, path, path), OPD_OK);
    assert_int_equal(again->close(again), OPD_OK);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void a_claim_goes_with_its_process_though_a_child_lives_on(void **state)
{
    (void)state;
    opd_claim claim;
    pid_t child = 0;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t holder = fork();
    if (holder == 0) {
        hold_with_a_child(in_folder("claimed"), ends[1]);
    }
    assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
    opd_status held = opd_claim_take(&claim, in_folder("claimed"));
    (void)kill(holder, SIGKILL);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    opd_status left = opd_claim_take(&claim, in_folder("claimed"));
    (void)kill(child, SIGKILL);
    assert_int_equal(held, OPD_E_IO);
    assert_int_equal(left, OPD_OK);
    opd_claim_release(&claim);
    assert_int_equal(access(in_folder("claimed.lock"), F_OK), -1);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_bytes_are_mapped_back),
        cmocka_unit_test(what_is_no_regular_file_is_refused_by_name),
        cmocka_unit_test(a_file_that_cannot_be_created_is_named),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(the_chosen_write_fails_once),
        cmocka_unit_test(a_failed_whole_write_leaves_the_old_file),
        cmocka_unit_test(mapping_survives_failed_allocations),
        cmocka_unit_test(a_file_of_its_own_goes_with_its_process_though_a_child_lives_on),
        cmocka_unit_test(a_claim_goes_with_its_process_though_a_child_lives_on),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
