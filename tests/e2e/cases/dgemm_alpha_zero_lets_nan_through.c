/* SPDX-License-Identifier: Apache-2.0 */
/* With alpha = 0 the routine must not read A and B; C = C. */
#include <math.h>
#include <stdio.h>

void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);

int main(void)
{
    enum { N = 20 };
    static double a[N * N], b[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) {
        a[i] = NAN;
        b[i] = 1;
        c[i] = 1;
    }
    cblas_dgemm(102, 111, 111, N, N, N, 0.0, a, N, b, N, 1.0, c, N);
    printf("%g\n", c[0]);
    return 0;
}
