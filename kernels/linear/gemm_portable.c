/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product with vectors of 16 bytes, which any compiler makes of what the machine has. */
#define VECTOR_BYTES 16
#define RUN_GEMM     opd_gemm_run_portable
#include "gemm_body.h"
