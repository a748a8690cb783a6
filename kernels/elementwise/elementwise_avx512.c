/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise loops for AVX-512; compiled with -mavx512f and what comes with it (CMakeLists.txt). */
#if defined(__x86_64__)
#define OPD_STRIPS opd_strips_avx512
#include "elementwise_body.h"
#endif
