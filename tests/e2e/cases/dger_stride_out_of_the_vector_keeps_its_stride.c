/* SPDX-License-Identifier: Apache-2.0 */
/* dger with x as the report has it: an array, two rows, and a stride that leads out of it: the caller's fault, which takes that stride. */
#include <cblas.h>

static double x[3] = { 1, 1, 1 };
static double y[3] = { 1, 1, 1 };
static double a[9];

int main(void)
{
    cblas_dger(CblasColMajor, 2, 3, 1, x, -1073741825, y, 1, a, 3);
    return 0;
}
