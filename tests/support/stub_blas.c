/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small BLAS for recorder tests: the 64-bit and prefixed names of wheels, a routine that takes its time, a Fortran
 * routine that looks at nothing but the first letter of its characters, 64-bit integers under a plain name, and a name
 * that no pattern knows.
 */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SLOW_ALPHA 12345.0 /* scal by this sleeps for 1.2 s first */

static void multiply(int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda, const double *b,
                     int64_t ldb, double beta, double *c, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++) {
                sum += a[i * lda + l] * b[l * ldb + j];
            }
            c[i * ldc + j] = alpha * sum + (beta != 0 ? beta * c[i * ldc + j] : 0);
        }
    }
}

#define CBLAS_GEMM(name)                                                                                         \
    void name(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha, const double *a, \
              int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc)                    \
    {                                                                                                            \
        (void)order;                                                                                             \
        (void)transa;                                                                                            \
        (void)transb;                                                                                            \
        multiply(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                                  \
    }
CBLAS_GEMM(cblas_dgemm64_)
CBLAS_GEMM(scipy_cblas_dgemm64_)
CBLAS_GEMM(cblas_dgemm_odd)

/* Column-major product as a row-major one of the transposes; hidden lengths are not looked at. */
#define FORTRAN_GEMM(name, integer)                                                                          \
    void name(const char *transa, const char *transb, const integer *m, const integer *n, const integer *k,  \
              const double *alpha, const double *a, const integer *lda, const double *b, const integer *ldb, \
              const double *beta, double *c, const integer *ldc)                                             \
    {                                                                                                        \
        (void)transa;                                                                                        \
        (void)transb;                                                                                        \
        multiply(*n, *m, *k, *alpha, b, *ldb, a, *lda, *beta, c, *ldc);                                      \
    }
FORTRAN_GEMM(dgemm_64_, int64_t)
/* As in OpenBLAS built with INTERFACE64 and no suffix: 64-bit integers under the name that has 32-bit ones elsewhere. */
FORTRAN_GEMM(dgemm_, int64_t)

char *openblas_get_config(void);
char *openblas_get_config(void)
{
    static char text[] = "OpenBLAS 0.3.21 USE64BITINT NO_AFFINITY stub";
    return text;
}

void cblas_dscal(int n, double alpha, double *x, int incx)
{
    if (alpha == SLOW_ALPHA) {
        struct timespec rest = { .tv_sec = 1, .tv_nsec = 200000000 };
        nanosleep(&rest, NULL);
    }
    for (int i = 0; i < n && incx > 0; i++) {
        x[(ptrdiff_t)i * incx] *= alpha;
    }
}
