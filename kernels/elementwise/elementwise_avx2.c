/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise loops for AVX2 with FMA and F16C; compiled with -mavx2 -mfma -mf16c (CMakeLists.txt). */
#if defined(__x86_64__)
#define OPD_STRIPS opd_strips_avx2
#include "elementwise_body.h"
#endif
