/* SPDX-License-Identifier: Apache-2.0 */
/* A leading dimension that is too small: the library prints a line, computes nothing, and the program goes on with what C held. */
#include <stdio.h>

void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);

int main(void)
{
    double a[16] = { 1 }, b[16] = { 1 }, c[16] = { 7 };
    cblas_dgemm(101, 111, 111, 4, 4, 4, 1.0, a, 3, b, 4, 0.0, c, 4);
    printf("%g\n", c[0]);
    return 0;
}
