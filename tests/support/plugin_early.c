/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose constructor calls a routine while the loader's lock is held. */
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);
double plugin_value;

__attribute__((constructor)) static void call_early(void)
{
    const double x[2] = { 3, 4 };
    plugin_value = cblas_ddot(2, x, 1, x, 1);
}
