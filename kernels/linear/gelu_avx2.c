/* SPDX-License-Identifier: Apache-2.0 */
/* Gelu of a row, compiled for AVX2 and FMA: the loops of f32 become vectors. */
#define GELU_OF opd_gelu_of_avx2
#include "gelu_body.h"
