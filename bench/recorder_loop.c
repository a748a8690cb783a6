/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop of calls for bench_recorder: recorder_loop calls N | data N MIB. Prints ns a call (processor time of the thread), or
 * seconds for N calls on MIB of fresh random floats each. Built three times: plain, with an LTTng-ust tracepoint in the
 * loop, and with -pg for uftrace.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#ifdef OPD_WITH_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "recorder_lttng.h"
#endif

void cblas_sscal(int n, float alpha, float *x, int incx);

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void one_call(float *x)
{
#ifdef OPD_WITH_LTTNG
    lttng_ust_tracepoint(opd_bench, call, 0, 1.0F, x, 1);
#endif
    cblas_sscal(0, 1.0F, x, 1);
}

static void run_calls(long count)
{
    float x[4] = { 1, 2, 3, 4 };
    one_call(x); /* binds the symbol, attaches the thread */
    double begin = thread_seconds();
    for (long i = 0; i < count; i++) {
        one_call(x);
    }
    printf("%.2f\n", (thread_seconds() - begin) * 1e9 / (double)count);
}

/* xorshift64*: fast enough not to hide what is measured; its own time is measured by the plain run. */
static void fill(float *x, size_t count, uint64_t *state)
{
    for (size_t i = 0; i < count; i++) {
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        x[i] = (float)((*state * UINT64_C(2685821657736338717)) >> 40) * 0x1p-24F;
    }
}

static void run_data(long count, size_t mib)
{
    size_t floats = mib << 18;
    float *x = malloc(floats * sizeof(float));
    uint64_t state = 88172645463325252U;
    double begin = thread_seconds();
    for (long i = 0; x != NULL && i < count; i++) {
        fill(x, floats, &state);
        cblas_sscal((int)floats, 1.0F, x, 1);
    }
    double seconds = thread_seconds() - begin;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.4f %ld\n", seconds, usage.ru_maxrss);
    free(x);
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "calls") == 0) {
        run_calls(strtol(words[2], NULL, 10));
        return 0;
    }
    if (count == 4 && strcmp(words[1], "data") == 0) {
        run_data(strtol(words[2], NULL, 10), (size_t)strtoul(words[3], NULL, 10));
        return 0;
    }
    fputs("recorder_loop calls N | data N MIB\n", stderr);
    return 2;
}
