/* SPDX-License-Identifier: Apache-2.0 */
/* MXCSR and the x87 control word, read and written. Elsewhere than on x86-64 there is no mode to set, and none is seen to change. */
#include "mode.h"

#include <opsdebug/op.h>

#if defined(__x86_64__)

static opd_mode read_mode(void)
{
    opd_mode mode = { .mxcsr = __builtin_ia32_stmxcsr() & OPD_MXCSR_CONTROL };
    __asm__ volatile("fnstcw %0" : "=m"(mode.x87));
    return mode;
}

opd_mode opd_mode_enter(uint32_t mxcsr)
{
    opd_mode before = read_mode();
    __builtin_ia32_ldmxcsr(mxcsr);
    return before;
}

bool opd_mode_leave(opd_mode *left, const opd_mode *before, uint32_t mxcsr)
{
    *left = read_mode();
    __builtin_ia32_ldmxcsr(before->mxcsr);
    __asm__ volatile("fldcw %0" : : "m"(before->x87));
    return left->mxcsr != (mxcsr & OPD_MXCSR_CONTROL) || left->x87 != before->x87;
}

#else

opd_mode opd_mode_enter(uint32_t mxcsr)
{
    (void)mxcsr;
    return (opd_mode){ 0 };
}

bool opd_mode_leave(opd_mode *left, const opd_mode *before, uint32_t mxcsr)
{
    (void)mxcsr;
    *left = *before;
    return false;
}

#endif
