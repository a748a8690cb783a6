/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a process, its differences, and the variables a worker starts with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "job.h"

static void environment_names_this_machine(void **state)
{
    opd_environment_info info;
    struct utsname host;
    (void)state;
    setenv("OPENBLAS_NUM_THREADS", "3", 1);
    setenv("OPD_UNRELATED", "1", 1);
    assert_int_equal(opd_environment_read(&info), OPD_OK);
    uname(&host);
    assert_non_null(strstr(info.kernel, host.release));
    assert_int_equal(info.cpu_count, sysconf(_SC_NPROCESSORS_ONLN));
    assert_non_null(strstr(info.variables, "OPENBLAS_NUM_THREADS=3"));
    assert_null(strstr(info.variables, "OPD_UNRELATED"));
    assert_int_equal(strncmp(info.libc, "glibc 2.", 8), 0);
#if defined(__x86_64__)
    assert_non_null(strstr(info.isa, "sse2"));
    assert_int_equal(info.mxcsr & 0x1f80, 0x1f80);
#endif
}

static void differences_are_named_once_each(void **state)
{
    opd_environment_info then = {
        .cpu_model = "Xeon 1", .isa = "sse2 avx2 avx512f", .kernel = "Linux 5", .libc = "glibc 2.31"
    };
    opd_environment_info here = {
        .cpu_model = "EPYC 2", .isa = "sse2 avx2", .kernel = "Linux 5", .libc = "glibc 2.36"
    };
    char text[2048] = "";
    (void)state;
    opd_environment_compare(text, sizeof text, &then, &here);
    assert_string_equal(
        text, "cpu: recorded Xeon 1, here EPYC 2\nisa: recorded avx512f, here absent\nlibc: recorded glibc 2.31, "
              "here glibc 2.36");
    text[0] = '\0';
    opd_environment_compare(text, sizeof text, &here, &here);
    assert_string_equal(text, "");
    /* What was not recorded does not differ; more flags here are no loss. */
    memset(&then, 0, sizeof then);
    opd_environment_compare(text, sizeof text, &then, &here);
    assert_string_equal(text, "");
}

static void notes_never_overflow(void **state)
{
    char text[24] = "";
    (void)state;
    for (int i = 0; i < 10; i++) {
        opd_line(text, sizeof text, "line %d of many", i);
    }
    assert_true(strlen(text) < sizeof text);
    assert_int_equal(strncmp(text, "line 0 of many\nline 1", 21), 0);
}

static const char *find(char **environment, const char *name)
{
    const char *found = NULL;
    int count = 0;
    for (char **entry = environment; *entry != NULL; entry++) {
        if (strncmp(*entry, name, strlen(name)) == 0 && (*entry)[strlen(name)] == '=') {
            found = *entry + strlen(name) + 1;
            count++;
        }
    }
    assert_true(count <= 1);
    return found;
}

static void worker_gets_the_wanted_variables(void **state)
{
    opd_environment_info then = { .variables =
                                      "OMP_PROC_BIND=close\nOPENBLAS_CORETYPE=Bulldozer\nOPENBLAS_NUM_THREADS=8\n"
                                      "LD_PRELOAD=/tmp/evil.so\nLD_LIBRARY_PATH=/tmp\nPATH=/tmp" };
    char **environment = NULL;
    (void)state;
    setenv("PATH", "/usr/bin", 1);
    setenv("LD_PRELOAD", "", 1);
    setenv("GOTO_NUM_THREADS", "5", 1);
    unsetenv("LD_LIBRARY_PATH");
    assert_int_equal(opd_worker_environment(&environment, &then, "Haswell", NULL, 2), OPD_OK);
    assert_string_equal(find(environment, "OPENBLAS_CORETYPE"), "Haswell");
    assert_string_equal(find(environment, "OPENBLAS_NUM_THREADS"), "2");
    assert_string_equal(find(environment, "OMP_NUM_THREADS"), "2");
    assert_string_equal(find(environment, "OMP_PROC_BIND"), "close");
    assert_string_equal(find(environment, "PATH"), "/usr/bin"); /* of here, not of the record */
    assert_null(find(environment, "LD_PRELOAD"));
    assert_null(find(environment, "LD_LIBRARY_PATH"));
    assert_null(find(environment, "GOTO_NUM_THREADS")); /* the record had none */
    opd_free(environment);
}

static void without_wishes_the_record_rules_but_for_the_core(void **state)
{
    opd_environment_info then = { .variables = "OPENBLAS_CORETYPE=Bulldozer\nOPENBLAS_NUM_THREADS=8" };
    char **environment = NULL;
    (void)state;
    assert_int_equal(opd_worker_environment(&environment, &then, NULL, NULL, 0), OPD_OK);
    assert_null(find(environment, "OPENBLAS_CORETYPE"));
    assert_string_equal(find(environment, "OPENBLAS_NUM_THREADS"), "8");
    opd_free(environment);
    setenv("OPENBLAS_NUM_THREADS", "3", 1);
    assert_int_equal(opd_worker_environment(&environment, NULL, NULL, NULL, 0), OPD_OK);
    assert_string_equal(find(environment, "OPENBLAS_NUM_THREADS"), "3");
    opd_free(environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_names_this_machine),
        cmocka_unit_test(differences_are_named_once_each),
        cmocka_unit_test(notes_never_overflow),
        cmocka_unit_test(worker_gets_the_wanted_variables),
        cmocka_unit_test(without_wishes_the_record_rules_but_for_the_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
