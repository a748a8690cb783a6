/* SPDX-License-Identifier: Apache-2.0 */
/* Cores of OpenBLAS against the flags that the kernel reports for this CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/replay.h>

/* The kernel's own word list, read by grep: not through the code under test. */
static bool cpu_has(const char *flag)
{
    char command[128];
    snprintf(command, sizeof command, "grep -m1 -qw '%s' /proc/cpuinfo", flag);
    return system(command) == 0;
}

static void core_is_refused_without_its_flags(void **state)
{
    static const struct {
        const char *core, *flag;
    } needs[] = {
        { "Haswell", "avx2" },     { "Zen", "fma" },         { "SkylakeX", "avx512f" },      { "Sandybridge", "avx" },
        { "Bulldozer", "fma4" },   { "Piledriver", "fma4" }, { "Nehalem", "sse4_2" },        { "Prescott", "pni" },
        { "Steamroller", "fma4" }, { "Excavator", "fma4" },  { "Cooperlake", "avx512_bf16" }
    };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(needs); i++) {
        const char *reason = opd_core_missing(needs[i].core);
        if (!cpu_has(needs[i].flag)) {
            assert_non_null(reason);
            assert_non_null(strstr(reason, needs[i].core));
        }
    }
    if (cpu_has("avx2") && cpu_has("fma")) {
        assert_null(opd_core_missing("Haswell"));
        assert_null(opd_core_missing("zen")); /* OpenBLAS compares without case */
    }
}

static void unknown_core_is_refused(void **state)
{
    static const char *const names[] = { "", "foo", "Sapphire", "Haswell ", "Haswel" };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(names); i++) {
        const char *reason = opd_core_missing(names[i]);
        assert_non_null(reason);
        assert_non_null(strstr(reason, "knows no core"));
    }
}

static void listed_cores_are_all_fit(void **state)
{
    const char *names[64];
    int count = opd_core_list(names, 64);
    (void)state;
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        assert_null(opd_core_missing(names[i]));
    }
    assert_int_equal(opd_core_list(names, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_is_refused_without_its_flags),
        cmocka_unit_test(unknown_core_is_refused),
        cmocka_unit_test(listed_cores_are_all_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
