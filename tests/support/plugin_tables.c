/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that reaches its BLAS by calls, by a constant table (relocated, then sealed), by a writable one and by addresses taken. */
#include <stddef.h>

typedef double dot(const int *n, const double *x, const int *incx, const double *y, const int *incy);
double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy);

typedef struct entry {
    const char *name;
    dot *routine;
} entry;

extern const entry plugin_constant_table[2];
extern entry plugin_table[2];
const entry plugin_constant_table[2] = { { "ddot", ddot_ }, { NULL, NULL } };
entry plugin_table[2] = { { "ddot", ddot_ }, { NULL, NULL } };

double plugin_run(void);

static double call(dot *routine)
{
    const int n = 2;
    const int one = 1;
    const double x[2] = { 3, 4 };
    return routine(&n, x, &one, x, &one);
}

double plugin_run(void)
{
    dot *volatile taken = ddot_;
    const int n = 2;
    const int one = 1;
    const double x[2] = { 3, 4 };
    return call(plugin_constant_table[0].routine) + 10 * call(plugin_table[0].routine) + 100 * call(taken) +
           1000 * ddot_(&n, x, &one, x, &one);
}
