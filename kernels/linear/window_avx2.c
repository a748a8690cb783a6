/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows with vectors of 32 bytes, AVX2 and FMA; compiled for them (CMakeLists.txt). */
#define VECTOR_BYTES 32
#define RUN_WINDOW   opd_window_run_avx2
#include "window_body.h"
