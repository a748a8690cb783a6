/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array response by a complex matrix-vector product. Every argument is right and so is the printed sum; yet OpenBLAS 0.3.21 reads past
 * the end of x on most AVX machines, which only guard pages show (the report upstream is OpenBLAS #4013).
 *
 * cc blas_oob.c -lopenblas
 */
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>

void cblas_zgemv(int order, int transposed, int m, int n, const void *alpha, const void *a, int lda, const void *x,
                 int incx, const void *beta, void *y, int incy);

enum { COLUMN_MAJOR = 102, PLAIN = 111, ROWS = 102, COLUMNS = 9 };

int main(void)
{
    double complex *a = calloc((size_t)ROWS * COLUMNS, sizeof *a), *x = calloc(COLUMNS, sizeof *x),
                   *y = calloc(ROWS, sizeof *y);
    const double complex one = 1.0, zero = 0.0;
    if (a == NULL || x == NULL || y == NULL) {
        return 1;
    }
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        a[i] = cexp(I * 0.01 * i);
    }
    for (int i = 0; i < COLUMNS; i++) {
        x[i] = i + 1 - 0.5 * I;
    }
    cblas_zgemv(COLUMN_MAJOR, PLAIN, ROWS, COLUMNS, &one, a, ROWS, x, 1, &zero, y, 1);
    double complex sum = 0.0;
    for (int i = 0; i < ROWS; i++) {
        sum += y[i];
    }
    printf("response %.6f %+.6fi\n", creal(sum), cimag(sum));
    free(a);
    free(x);
    free(y);
    return 0;
}
