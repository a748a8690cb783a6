/* SPDX-License-Identifier: Apache-2.0 */
/* A caller of the one routine of wheel_blas. */
#include <stdint.h>
#include <stdio.h>

void scipy_cblas_dgemm64_(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha,
                          const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                          int64_t ldc);

int main(void)
{
    double a[20], b[30], c[24] = { 0 };
    for (int i = 0; i < 30; i++) {
        a[i % 20] = i + 0.5;
        b[i] = 1.0 / (i + 1);
    }
    scipy_cblas_dgemm64_(101, 111, 111, 4, 6, 5, 0.5, a, 5, b, 6, 1, c, 6);
    printf("%g\n", c[0]);
    return 0;
}
