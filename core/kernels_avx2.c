/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops for AVX2; compiled with -mavx2 (CMakeLists.txt). */
#if defined(__x86_64__)
#define OPD_KERNELS     opd_kernels_avx2
#define OPD_KERNELS_ISA "avx2"
#include "kernels_body.h"
#endif
