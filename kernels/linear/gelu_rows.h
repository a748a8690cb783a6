/* SPDX-License-Identifier: Apache-2.0 */
/* Gelu of rows of accumulator numbers, as the last step of a product. Private to kernels/linear. */
#ifndef OPD_KERNELS_GELU_ROWS_H
#define OPD_KERNELS_GELU_ROWS_H

#include "gemm.h"

/* By erf (false) or tanh (true), for f64 (true) or f32 numbers. */
opd_gemm_finish *opd_gelu_of_avx512(bool is_tanh, bool is_double);
opd_gemm_finish *opd_gelu_of_avx2(bool is_tanh, bool is_double);
opd_gemm_finish *opd_gelu_of_portable(bool is_tanh, bool is_double);

#endif
