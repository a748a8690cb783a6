/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose threads call BLAS, and an operator of its own, under different floating-point modes: main under FTZ and DAZ, a second thread rounding
 * toward zero, a third in the default mode, and main again, rounding up. Results are printed as bits.
 */
#include <fenv.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>

#include <opsdebug/record.h>

void cblas_dscal(int n, double alpha, double *x, int incx);
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);

enum { COUNT = 9, DEFAULT_MODE = 0x1f80, FLUSHING = 0x8040 };

/* Halves of the smaller ones are subnormal, some are so themselves; no sum of products is exact. */
static void fill(double *x, double *y)
{
    for (int i = 0; i < COUNT; i++) {
        x[i] = i % 3 == 0 ? 3e-308 : i % 3 == 1 ? 7e-310 : 1.0 / (i + 1);
        y[i] = 1.0 / (3 * i + 1);
    }
}

static void print_bits(const char *name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    printf("%s %016llx\n", name, (unsigned long long)bits);
}

/* An operator of the program's own, by the C API. */
static void halve(double *x)
{
    opd_call call = { .domain = "example", .name = "Halve", .dtype = OPD_F64 };
    uint64_t token = opd_record_begin(&call);
    x[0] /= 2;
    opd_record_end(token, &call, 0);
}

static void compute(const char *name)
{
    double x[COUNT];
    double y[COUNT];
    fill(x, y);
    cblas_dscal(COUNT, 1.0 / 3, x, 1);
    for (int i = 0; i < COUNT; i++) {
        print_bits(name, x[i]);
    }
    print_bits(name, cblas_ddot(COUNT, y, 1, y, 1));
    print_bits(name, cblas_ddot(COUNT / 3, x, 3, y, 3)); /* subnormal alone */
    halve(x);
    print_bits(name, x[0]);
}

static void *run(void *context)
{
    const int *rounding = context;
    _mm_setcsr(DEFAULT_MODE); /* a new thread has its creator's mode */
    fesetround(*rounding);
    compute(*rounding == FE_TOWARDZERO ? "zero" : "nearest");
    return NULL;
}

static void run_thread(int rounding)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &rounding) == 0) {
        pthread_join(thread, NULL);
    }
}

/* With an argument, main flushes nothing. */
int main(int count, char **arguments)
{
    (void)arguments;
    compute("start");
    _mm_setcsr(count > 1 ? DEFAULT_MODE : DEFAULT_MODE | FLUSHING);
    compute("flush");
    run_thread(FE_TOWARDZERO);
    run_thread(FE_TONEAREST);
    _mm_setcsr(DEFAULT_MODE);
    fesetround(FE_UPWARD);
    compute("up");
    return 0;
}
