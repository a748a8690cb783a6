/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows with vectors of 16 bytes, which any compiler makes of what the machine has. */
#define VECTOR_BYTES 16
#define RUN_WINDOW   opd_window_run_portable
#include "window_body.h"
