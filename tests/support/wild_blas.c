/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BLAS that goes wrong: dscal_ writes one element past the end, dgemm_ reads before A in a worker thread of its own, dasum_ says that it has begun
 * and does not return.
 */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

void dscal_(const int *n, const double *alpha, double *x, const int *incx);
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc, size_t one, size_t two);
double dasum_(const int *n, const double *x, const int *incx);
void *wild_worker(void *operand);

void dscal_(const int *n, const double *alpha, double *x, const int *incx)
{
    for (int i = 0; i <= *n; i++) {
        ((volatile double *)x)[i * *incx] = *alpha;
    }
}

double dasum_(const int *n, const double *x, const int *incx)
{
    (void)n, (void)x, (void)incx;
    if (write(STDOUT_FILENO, "begun\n", 6) != 6) {
        return 0;
    }
    for (;;) {
        pause();
    }
}

__attribute__((noinline)) void *wild_worker(void *operand)
{
    volatile double *a = operand;
    a[0] = a[-2];
    return NULL;
}

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc, size_t one, size_t two)
{
    pthread_t worker;
    (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)lda, (void)b, (void)ldb, (void)beta;
    (void)c, (void)ldc, (void)one, (void)two;
    pthread_create(&worker, NULL, wild_worker, (void *)(size_t)a);
    pthread_join(worker, NULL);
}
