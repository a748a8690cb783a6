/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which inner loops run: the best the CPU has, found at the first use.
 */
#include "kernels.h"

#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/tensor.h>

#include "compare.h"

static const opd_kernels *chosen;

static bool always(void)
{
    return true;
}

#if defined(__x86_64__)
static bool has_avx2(void)
{
    __builtin_cpu_init(); /* we may run before libgcc's constructor */
    return __builtin_cpu_supports("avx2");
}
#endif

/* Best first. */
static const struct {
    const opd_kernels *kernels;
    bool (*runs_here)(void);
} all[] = {
#if defined(__x86_64__)
    { &opd_kernels_avx2, has_avx2 },
#endif
    { &opd_kernels_base, always },
};

bool opd_kernels_choose(const char *isa)
{
    for (size_t i = 0; i < OPD_COUNT(all); i++) {
        if ((isa == NULL || strcmp(all[i].kernels->isa, isa) == 0) && all[i].runs_here()) {
            __atomic_store_n(&chosen, all[i].kernels, __ATOMIC_RELAXED);
            return true;
        }
    }
    return false;
}

const opd_compare_loops *opd_compare_loops_get(void)
{
#if defined(__x86_64__)
    if (opd_kernels_get() == &opd_kernels_avx2) {
        return &opd_compare_avx2;
    }
#endif
    return &opd_compare_base;
}

const opd_kernels *opd_kernels_get(void)
{
    const opd_kernels *kernels = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (__builtin_expect(kernels == NULL, 0)) {
        (void)opd_kernels_choose(NULL); /* threads that race here find the same */
        kernels = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    }
    return kernels;
}
