/* SPDX-License-Identifier: Apache-2.0 */
/* A product whose last digits depend on the kernel and the number of threads. */
#include <stdio.h>
#include <stdlib.h>

void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);

int main(void)
{
    enum { N = 300 };
    double *a = calloc(N * N, sizeof *a), *b = calloc(N * N, sizeof *b), *c = calloc(N * N, sizeof *c);
    unsigned state = 1;
    for (int i = 0; i < N * N; i++) {
        state = state * 1664525u + 1013904223u;
        a[i] = state / 4294967296.0 - 0.5;
        state = state * 1664525u + 1013904223u;
        b[i] = state / 4294967296.0 - 0.5;
    }
    cblas_dgemm(102, 111, 111, N, N, N, 1.0, a, N, b, N, 0.0, c, N);
    printf("%.3f\n", c[N + 1]);
    free(a);
    free(b);
    free(c);
    return 0;
}
