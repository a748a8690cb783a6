/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product with vectors of 32 bytes, AVX2 and FMA; compiled for them (CMakeLists.txt). */
#define VECTOR_BYTES 32
#define RUN_GEMM     opd_gemm_run_avx2
#include "gemm_body.h"
