/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of rows.h for AVX2, FMA and F16C; the source is rows_template.h, the compiler flags are in kernels/CMakeLists.txt. */
#define LANES_BYTES 32
#define ROWS_TABLES opd_rows_avx2
#include "rows_build.h"
