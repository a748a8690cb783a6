/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of rows.h for any processor; the source is rows_template.h, the compiler flags are in kernels/CMakeLists.txt. */
#define LANES_BYTES 16
#define ROWS_TABLES opd_rows_portable
#include "rows_build.h"
