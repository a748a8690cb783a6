/* SPDX-License-Identifier: Apache-2.0 */
/* True values of the elementary operators, by MPFR. */
#ifndef OPD_TEST_MPFR_FUNCTIONS_H
#define OPD_TEST_MPFR_FUNCTIONS_H

#include <stdbool.h>

typedef struct mpfr_function {
    const char *name; /* of the operator */
    int inputs;
    int lost_bits; /* of long double, that its definition may lose */
    bool is_steep; /* and x^2 times as much, as exp(-x^2/2) makes of an error of x */
} mpfr_function;

int mpfr_function_count(void);
const mpfr_function *mpfr_function_at(int index);
const mpfr_function *mpfr_function_find(const char *name); /* NULL: not known here */
/* With 160 bits, then rounded to long double. y is read when there are two inputs. */
long double mpfr_function_value(const mpfr_function *function, long double x, long double y);

#endif
