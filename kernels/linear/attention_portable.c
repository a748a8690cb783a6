/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with vectors of 16 bytes, which any compiler makes of what the machine has. */
#define VECTOR_BYTES  16
#define RUN_ATTENTION opd_attention_run_portable
#define RUN_SOFTMAX   opd_softmax_run_portable
#include "attention_body.h"
