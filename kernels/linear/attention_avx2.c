/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with vectors of 32 bytes, AVX2 and FMA; compiled for them (CMakeLists.txt). */
#define VECTOR_BYTES  32
#define RUN_ATTENTION opd_attention_run_avx2
#define RUN_SOFTMAX   opd_softmax_run_avx2
#include "attention_body.h"
