/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows with vectors of 64 bytes, AVX-512; compiled for it (CMakeLists.txt). */
#define VECTOR_BYTES 64
#define RUN_WINDOW   opd_window_run_avx512
#include "window_body.h"
