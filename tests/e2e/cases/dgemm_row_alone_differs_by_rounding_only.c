/* SPDX-License-Identifier: Apache-2.0 */
/* One row alone goes to a matrix-vector kernel, the same row in a batch to a matrix-matrix kernel: other last digits. */
#include <math.h>
#include <stdio.h>

enum { ROWS = 2, K = 90, N = 128 };

void cblas_dgemv(int order, int trans, int m, int n, double alpha, const double *a, int lda, const double *x, int incx,
                 double beta, double *y, int incy);
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);

static double a[ROWS * K], b[K * N], alone[N], batch[ROWS * N];

int main(void)
{
    unsigned state = 1;
    for (int i = 0; i < ROWS * K; i++) {
        state = state * 1664525u + 1013904223u;
        a[i] = 0.5 + state / 4294967296.0;
    }
    for (int i = 0; i < K * N; i++) {
        state = state * 1664525u + 1013904223u;
        b[i] = 0.5 + state / 4294967296.0;
    }
    cblas_dgemv(101, 112, K, N, 1.0, b, N, a, 1, 0.0, alone, 1);
    cblas_dgemm(101, 111, 111, ROWS, N, K, 1.0, a, K, b, N, 0.0, batch, N);
    int differing = 0;
    double largest = 0;
    for (int j = 0; j < N; j++) {
        differing += alone[j] != batch[j];
        largest = fmax(largest, fabs(alone[j] - batch[j]));
    }
    printf("%s, %s\n", differing > 0 ? "other bits" : "the same bits", largest < 1e-12 ? "rounding" : "wrong");
    return 0;
}
