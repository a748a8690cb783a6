/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time stamps of the recorded processes as CLOCK_MONOTONIC. The rate is measured between the start of the session and
 * the first moment it is needed, at least 10 ms later: an error of two reads, some 100 ns, is then 1e-5.
 */
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "collector.h"

#define BASELINE_NS UINT64_C(10000000)

uint64_t opd_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t opd_now_ticks(bool has_tsc)
{
#if defined(__x86_64__)
    if (has_tsc) {
        return __rdtsc();
    }
#endif
    (void)has_tsc;
    return opd_now_ns();
}

void opd_ticks_start(opd_ticks *ticks, const opd_control *control)
{
    ticks->tick_base = control->tsc_base;
    ticks->ns_base = control->ns_base;
    ticks->ns_per_tick = control->has_tsc ? control->ns_per_tick : 1.0;
}

void opd_ticks_calibrate(opd_ticks *ticks, opd_control *control)
{
    if (ticks->ns_per_tick != 0) {
        return;
    }
    uint64_t passed = opd_now_ns() - ticks->ns_base;
    if (passed < BASELINE_NS) {
        struct timespec rest = { .tv_nsec = (long)(BASELINE_NS - passed) };
        nanosleep(&rest, NULL);
    }
    uint64_t now = opd_now_ns();
    uint64_t tick = opd_now_ticks(true);
    ticks->ns_per_tick = (double)(now - ticks->ns_base) / (double)(tick - ticks->tick_base);
    control->ns_per_tick = ticks->ns_per_tick;
}

uint64_t opd_ticks_to_ns(const opd_ticks *ticks, uint64_t value)
{
    if (value == 0) {
        return 0;
    }
    double delta = (double)(int64_t)(value - ticks->tick_base) * ticks->ns_per_tick;
    return ticks->ns_base + (uint64_t)(int64_t)delta;
}
