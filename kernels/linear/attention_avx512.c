/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with vectors of 64 bytes, AVX-512; compiled for it (CMakeLists.txt). */
#define VECTOR_BYTES  64
#define RUN_ATTENTION opd_attention_run_avx512
#define RUN_SOFTMAX   opd_softmax_run_avx512
#include "attention_body.h"
