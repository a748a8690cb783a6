/* SPDX-License-Identifier: Apache-2.0 */
/* Gelu of rows with GELU_OF, the name of its entry. Included once by each instruction set's file. */
#include <math.h>

#include "../elementwise/elementwise_math.h"
#include "gelu_rows.h"

static void erf_row_f32(void *row, int64_t count)
{
    float *x = row;
    for (int64_t i = 0; i < count; i++) {
        x[i] = gelu_f32(x[i]);
    }
}

static void tanh_row_f32(void *row, int64_t count)
{
    float *x = row;
    for (int64_t i = 0; i < count; i++) {
        x[i] = gelu_tanh_f32(x[i]);
    }
}

static void erf_row_f64(void *row, int64_t count)
{
    double *x = row;
    for (int64_t i = 0; i < count; i++) {
        x[i] = x[i] / 2 * (1 + erf(x[i] * 0x1.6a09e667f3bcdp-1));
    }
}

static void tanh_row_f64(void *row, int64_t count)
{
    double *x = row;
    for (int64_t i = 0; i < count; i++) {
        double inner = 0x1.9884533d43651p-1 * (x[i] + 0.044715 * (x[i] * x[i] * x[i])); /* sqrt(2 / pi) */
        x[i] = x[i] / 2 * (1 + tanh(inner));
    }
}

opd_gemm_finish *GELU_OF(bool is_tanh, bool is_double)
{
    if (is_double) {
        return is_tanh ? tanh_row_f64 : erf_row_f64;
    }
    return is_tanh ? tanh_row_f32 : erf_row_f32;
}
