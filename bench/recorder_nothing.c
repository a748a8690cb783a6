/* SPDX-License-Identifier: Apache-2.0 */
/* A BLAS of one routine that does nothing, so that what is measured is the recording of its calls. */
void cblas_sscal(int n, float alpha, float *x, int incx);

void cblas_sscal(int n, float alpha, float *x, int incx)
{
    (void)n;
    (void)alpha;
    (void)incx;
    __asm__ volatile("" : : "r"(x) : "memory");
}
