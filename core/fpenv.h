/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A default floating-point environment for our own arithmetic inside somebody's program: no traps, no FTZ/DAZ, nearest even;
 * afterwards rounding and sticky flags are as the program left them (numpy warns from those flags).
 */
#ifndef OPD_CORE_FPENV_H
#define OPD_CORE_FPENV_H

#if defined(__SSE2__)
#include <xmmintrin.h>

typedef unsigned opd_fpenv;

/* The compiler knows nothing of the register: without these, arithmetic on loaded values could move across its change. */
#define OPD_FPENV_BARRIER() __asm__ volatile("" ::: "memory")

static inline opd_fpenv opd_fpenv_enter(void)
{
    opd_fpenv saved = _mm_getcsr();
    _mm_setcsr(0x1f80);
    OPD_FPENV_BARRIER();
    return saved;
}

static inline void opd_fpenv_leave(opd_fpenv saved)
{
    OPD_FPENV_BARRIER();
    _mm_setcsr(saved);
}
#else
#include <fenv.h>

typedef fenv_t opd_fpenv;

static inline opd_fpenv opd_fpenv_enter(void)
{
    opd_fpenv saved;
    (void)feholdexcept(&saved);
    (void)fesetround(FE_TONEAREST);
    return saved;
}

static inline void opd_fpenv_leave(opd_fpenv saved)
{
    (void)fesetenv(&saved);
}
#endif

#endif
