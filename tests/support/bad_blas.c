/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that misbehaves to order: cblas_dcopy, cblas_dscal and cblas_ddot do what the variable BAD_BLAS says, right when it says
 * nothing. For the tests of replay.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cblas_dcopy(int n, const double *x, int incx, double *y, int incy);
void cblas_dscal(int n, double alpha, double *x, int incx);
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);

static int is_mode(const char *name)
{
    const char *mode = getenv("BAD_BLAS");
    return mode != NULL && strcmp(mode, name) == 0;
}

static double number(void)
{
    const char *text = getenv("BAD_BLAS_NUMBER");
    return text != NULL ? strtod(text, NULL) : 0;
}

static void *read_far(void *address)
{
    static volatile double sink;
    sink = *(const volatile double *)address;
    (void)sink;
    return NULL;
}

static int deep(volatile char *above)
{
    volatile char page[4096];
    page[0] = (char)(above[0] + 1);
    return deep(page) + page[0];
}

/* Modes that do not return, or return by accident. */
__attribute__((noinline)) static void misbehave(const double *x, int n)
{
    pthread_t thread;
    if (is_mode("sleep")) {
        for (;;) {
            pause();
        }
    }
    for (int i = 0; is_mode("nap") && i < 1800; i++) { /* slow, and still at work */
        usleep(1000);
    }
    if (is_mode("hang")) {
        for (volatile int spin = 0;; spin = spin == 0) {
        }
    }
    if (is_mode("exit")) {
        puts(" ** On entry to DCOPY parameter number 1 had an illegal value");
        exit(3);
    }
    if (is_mode("abort")) {
        abort();
    }
    if (is_mode("ill")) {
        __builtin_trap();
    }
    if (is_mode("deep")) {
        char start = 0;
        deep(&start);
    }
    if (is_mode("kill")) {
        kill(getpid(), 9);
    }
    if (is_mode("wild")) {
        read_far((void *)(uintptr_t)0x10);
    }
    if (is_mode("thread")) {
        pthread_create(&thread, NULL, read_far, (void *)(uintptr_t)(x + n));
        pthread_join(thread, NULL);
    }
    if (is_mode("child") && fork() == 0) {
        sleep(1000);
    }
}

void cblas_dcopy(int n, const double *x, int incx, double *y, int incy)
{
    static int calls;
    x -= incx < 0 ? (long)(n - 1) * incx : 0;
    y -= incy < 0 ? (long)(n - 1) * incy : 0;
    misbehave(x, n);
    calls++;
    if (is_mode("idle")) {
        return;
    }
    for (int i = 0; i < n; i++) {
        y[(long)i * incy] = x[(long)i * incx];
    }
    if (is_mode("nan")) {
        y[(n - 1) * incy] = NAN;
    } else if (is_mode("inf")) {
        y[0] = INFINITY;
    } else if (is_mode("wrong")) {
        y[incy] += 1;
    } else if (is_mode("write-past")) {
        y[(n - 1) * incy + 1] = 1;
    } else if (is_mode("write-before")) {
        y[-1] = 1;
    } else if (is_mode("write-gap")) {
        y[1] = 1;
    } else if (is_mode("read-past")) {
        y[0] = 0.5 * x[(n - 1) * incx + 1];
    } else if (is_mode("read-before")) {
        y[0] = 0.5 * x[-1];
    } else if (is_mode("mutate")) {
        ((double *)(uintptr_t)x)[incx] += 1;
    } else if (is_mode("flaky") && calls == 3) {
        y[0] = NAN;
    } else if (is_mode("unsteady")) {
        y[0] = nextafter(y[0], calls % 2 == 0 ? 10 : y[0]);
    }
}

/* BAD_BLAS=off: each element off by number() times eps. */
void cblas_dscal(int n, double alpha, double *x, int incx)
{
    for (int i = 0; i < n; i++) {
        double right = alpha * x[(long)i * incx];
        x[(long)i * incx] = is_mode("off") ? right * (1 + number() * 0x1p-52) : right;
    }
}

/* BAD_BLAS=off: off by number() times eps times the sum of the absolute terms. */
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy)
{
    long double sum = 0;
    long double gauge = 0;
    for (int i = 0; i < n; i++) {
        long double term = (long double)x[(long)i * incx] * (long double)y[(long)i * incy];
        sum += term;
        gauge += fabsl(term);
    }
    return (double)(is_mode("off") ? sum + (long double)number() * 0x1p-52L * gauge : sum);
}
