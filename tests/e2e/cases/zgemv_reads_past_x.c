/* SPDX-License-Identifier: Apache-2.0 */
/* A right call with a right result; the library reads behind x. */
#include <complex.h>
#include <stdlib.h>

void cblas_zgemv(int order, int transposed, int m, int n, const void *alpha, const void *a, int lda, const void *x,
                 int incx, const void *beta, void *y, int incy);

int main(void)
{
    enum { ROWS = 126, COLUMNS = 13 };
    const double complex one = 1.0, zero = 0.0;
    double complex *a = calloc((size_t)ROWS * COLUMNS, sizeof *a), *x = calloc(COLUMNS, sizeof *x),
                   *y = calloc(ROWS, sizeof *y);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        a[i] = i % 7 - 3.0 + I * (i % 5);
    }
    for (int i = 0; i < COLUMNS; i++) {
        x[i] = i - 4.0 * I;
    }
    cblas_zgemv(102, 111, ROWS, COLUMNS, &one, a, ROWS, x, 1, &zero, y, 1);
    free(a);
    free(x);
    free(y);
    return 0;
}
