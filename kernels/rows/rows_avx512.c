/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of rows.h for AVX-512 F, BW, DQ and VL; the source is rows_template.h, the compiler flags are in kernels/CMakeLists.txt. */
#define LANES_BYTES 64
#define ROWS_TABLES opd_rows_avx512
#include "rows_build.h"
