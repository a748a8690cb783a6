/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product with vectors of 64 bytes, AVX-512; compiled for it (CMakeLists.txt). */
#define VECTOR_BYTES 64
#define RUN_GEMM     opd_gemm_run_avx512
#include "gemm_body.h"
