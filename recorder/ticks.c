/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time stamps of the recorded processes as CLOCK_MONOTONIC. The rate is measured between the start of the session and
 * the first moment it is needed, at least 10 ms later: an error of two reads, some 100 ns, is then 1e-5.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "collector.h"

#define BASELINE_NS UINT64_C(10000000)
#define CHECK_NS    UINT64_C(500000000) /* the first checks are as good as the calibration is old */
#define DRIFT_MOST  1e-3
#define PAIR_TRIES  8

/* Does a line of the file hold all of the words? */
static bool has_words(const char *path, const char *const *words, size_t count)
{
    char line[8192];
    bool is_found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !is_found && fgets(line, sizeof(line), file) != NULL) {
        is_found = true;
        for (size_t i = 0; i < count; i++) {
            is_found = is_found && strstr(line, words[i]) != NULL;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return is_found;
}

/*
 * The processor says that it counts evenly and in all states, and the kernel, which watches the counters of all cores, has not turned away from
 * it: it then takes one of these slow clocks.
 */
bool opd_ticks_are_steady(void)
{
#if defined(__x86_64__)
    static const char *const flags[] = { "constant_tsc", "nonstop_tsc" };
    static const char *const slow[] = { "hpet", "acpi_pm", "jiffies", "refined-jiffies" };
    const char *asked = getenv(OPD_CLOCK_VARIABLE);
    bool is_distrusted = asked != NULL && strcmp(asked, "monotonic") == 0;
    for (size_t i = 0; i < OPD_COUNT(slow) && !is_distrusted; i++) {
        is_distrusted = has_words("/sys/devices/system/clocksource/clocksource0/current_clocksource", &slow[i], 1);
    }
    return !is_distrusted && has_words("/proc/cpuinfo", flags, OPD_COUNT(flags));
#else
    return false;
#endif
}

/* Both clocks at one moment: of some readings the one that was interrupted least. */
void opd_ticks_pair(uint64_t *ticks, uint64_t *ns, bool has_tsc)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < PAIR_TRIES; i++) {
        uint64_t before = opd_now_ticks(has_tsc);
        uint64_t now = opd_now_ns();
        uint64_t span = opd_now_ticks(has_tsc) - before;
        if (span < least) {
            least = span;
            *ticks = before + span / 2;
            *ns = now;
        }
    }
}

/* Counters that stop or jump in spite of all are noticed, while the calls so far are being written. */
void opd_ticks_check(opd_collector *collector)
{
    const opd_ticks *ticks = &collector->ticks;
    uint64_t now = opd_now_ns();
    uint64_t tick = 0;
    if (!collector->control->has_tsc || now - ticks->ns_base < CHECK_NS) {
        return;
    }
    opd_ticks_pair(&tick, &now, true);
    double error = (double)(int64_t)(opd_ticks_to_ns(ticks, tick) - now);
    double drift = error / (double)(now - ticks->ns_base);
    collector->report->clock_drift = drift;
    if (drift > DRIFT_MOST || drift < -DRIFT_MOST) {
        opd_collector_trouble(collector, "the processor's time stamps drift by %.2g of the time: set %s=monotonic",
                              drift, OPD_CLOCK_VARIABLE);
    }
}

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
    uint64_t now = 0;
    uint64_t tick = 0;
    opd_ticks_pair(&tick, &now, true);
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
