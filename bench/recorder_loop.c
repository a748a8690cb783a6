/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop of calls for bench_recorder: recorder_loop calls N [THREADS [KINDS]] | hook N | data N MIB. Prints ns a call (processor time
 * of a thread, the mean of all; KINDS different sizes in turn), ns of a hook that is off, or seconds for N calls on MIB of fresh random
 * floats each. Built three times: plain, with an LTTng-ust tracepoint in the loop, and with -pg for uftrace.
 */
#include <pthread.h>
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

#include <opsdebug/record.h>

enum { MAX_THREADS = 64 };

void cblas_sscal(int n, float alpha, float *x, int incx);

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void one_call(int n, float *x)
{
#ifdef OPD_WITH_LTTNG
    lttng_ust_tracepoint(opd_bench, call, n, 1.0F, x, 1);
#endif
    cblas_sscal(n, 1.0F, x, 1);
}

/* What each thread does. */
static long call_count;
static int kind_count = 1;

static void *run_thread(void *out)
{
    static float x[4] = { 1, 2, 3, 4 };
    int n = 0;
    one_call(0, x); /* binds the symbol, attaches the thread */
    double begin = thread_seconds();
    for (long i = 0; i < call_count; i++) {
        one_call(n, x);
        n = n + 1 < kind_count ? n + 1 : 0;
    }
    *(double *)out = (thread_seconds() - begin) * 1e9 / (double)call_count;
    return NULL;
}

static int run_calls(int thread_count)
{
    double nanoseconds[MAX_THREADS] = { 0 };
    pthread_t threads[MAX_THREADS];
    double sum = 0;
    for (int i = 1; i < thread_count; i++) {
        if (pthread_create(&threads[i], NULL, run_thread, &nanoseconds[i]) != 0) {
            return 1;
        }
    }
    run_thread(&nanoseconds[0]);
    for (int i = 0; i < thread_count; i++) {
        if (i > 0) {
            pthread_join(threads[i], NULL);
        }
        sum += nanoseconds[i];
    }
    printf("%.2f\n", sum / thread_count);
    return 0;
}

/* A hook of the C API while nothing records, LTTng's in its program. */
static void run_hook(long count)
{
    double seconds[2];
    for (int has_hook = 0; has_hook < 2; has_hook++) {
        double begin = thread_seconds();
        for (long i = 0; i < count; i++) {
            if (has_hook != 0) {
#ifdef OPD_WITH_LTTNG
                lttng_ust_tracepoint(opd_bench, call, 0, 1.0F, NULL, 1);
#else
                opd_range_pop();
#endif
            }
            __asm__ volatile("" ::: "memory");
        }
        seconds[has_hook] = thread_seconds() - begin;
    }
    printf("%.3f\n", (seconds[1] - seconds[0]) * 1e9 / (double)count);
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
    if (count >= 3 && count <= 5 && strcmp(words[1], "calls") == 0) {
        int threads = count > 3 ? (int)strtol(words[3], NULL, 10) : 1;
        call_count = strtol(words[2], NULL, 10);
        kind_count = count > 4 ? (int)strtol(words[4], NULL, 10) : 1;
        return threads > 0 && threads <= MAX_THREADS ? run_calls(threads) : 2;
    }
    if (count == 3 && strcmp(words[1], "hook") == 0) {
        run_hook(strtol(words[2], NULL, 10));
        return 0;
    }
    if (count == 4 && strcmp(words[1], "data") == 0) {
        run_data(strtol(words[2], NULL, 10), (size_t)strtoul(words[3], NULL, 10));
        return 0;
    }
    fputs("recorder_loop calls N [THREADS [KINDS]] | hook N | data N MIB\n", stderr);
    return 2;
}
