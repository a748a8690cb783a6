/* SPDX-License-Identifier: Apache-2.0 */
/* The countdown behind opd_fail_allocation_after() and opd_fail_write_after(). */
#ifndef OPD_CORE_FAULT_H
#define OPD_CORE_FAULT_H

#include <stdbool.h>

/* < 0: never. One relaxed load when off; exactly one caller sees the fault, whatever the number of threads. */
static inline bool opd_fault_hits(long *countdown) /* NOLINT(readability-non-const-parameter): counted down */
{
    if (__builtin_expect(__atomic_load_n(countdown, __ATOMIC_RELAXED) < 0, 1)) {
        return false;
    }
    return __atomic_fetch_sub(countdown, 1, __ATOMIC_RELAXED) == 0;
}

#endif
