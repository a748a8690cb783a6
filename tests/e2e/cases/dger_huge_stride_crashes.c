/* SPDX-License-Identifier: Apache-2.0 */
/* x lies in one mapping of its full span, so that every element may be read; the library computes its offsets in 32 bits. */
#include <stdio.h>
#include <sys/mman.h>

void cblas_dger(int order, int m, int n, double alpha, const double *x, int incx, const double *y, int incy, double *a,
                int lda);

int main(void)
{
    enum { INCREMENT = -1073741825 };
    double y[3] = { 1, 2, 3 }, a[9] = { 0 };
    size_t bytes = (2 * (size_t)1073741825 + 1) * sizeof(double);
    double *x = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (x == MAP_FAILED) {
        perror("mmap");
        return 77;
    }
    for (size_t i = 0; i < 3; i++) {
        x[i * 1073741825] = (double)i + 1;
    }
    cblas_dger(102, 3, 3, 1.0, x, INCREMENT, y, 1, a, 3);
    printf("%g\n", a[0]);
    return 0;
}
