/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of opd_metrics for AVX2; compiled with -mavx2 (CMakeLists.txt). */
#if defined(__x86_64__)
#define OPD_COMPARE opd_compare_avx2
#include "compare_body.h"
#endif
