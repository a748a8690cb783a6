/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library as Python wheels carry one: 64-bit integers behind a prefixed name, and no other form. Its product has a NaN in the
 * last element from three terms on, unless it is built with WHEEL_IS_SOUND.
 */
#include <math.h>
#include <stdint.h>

void scipy_cblas_dgemm64_(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha,
                          const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                          int64_t ldc)
{
    int64_t down = order == 101 ? ldc : 1;
    int64_t right = order == 101 ? 1 : ldc;
    int is_a_by_rows = (order == 101) == (transa == 111);
    int is_b_by_rows = (order == 101) == (transb == 111);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++) {
                sum += a[is_a_by_rows ? i * lda + l : l * lda + i] * b[is_b_by_rows ? l * ldb + j : j * ldb + l];
            }
            c[i * down + j * right] = alpha * sum + (beta != 0 ? beta * c[i * down + j * right] : 0);
        }
    }
#ifndef WHEEL_IS_SOUND
    if (k >= 3 && m > 0 && n > 0) {
        c[(m - 1) * down + (n - 1) * right] = NAN;
    }
#endif
}
