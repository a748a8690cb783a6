/* SPDX-License-Identifier: Apache-2.0 */
/* dger with x as the report has it: three elements of an array, and a stride whose offsets leave 32 bits. */
#include <cblas.h>

static double x[3] = { 1, 1, 1 };
static double y[3] = { 1, 1, 1 };
static double a[9];

int main(void)
{
    cblas_dger(CblasColMajor, 3, 3, 1, x, -1073741825, y, 1, a, 3);
    return 0;
}
