/* SPDX-License-Identifier: Apache-2.0 */
/* Gelu of a row, compiled for AVX-512: the loops of f32 become vectors. */
#define GELU_OF opd_gelu_of_avx512
#include "gelu_body.h"
