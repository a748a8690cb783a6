/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise loops for any machine, and for f64 with libm. */
#define OPD_STRIPS opd_strips_portable
#define OPD_STRIPS_LIBM
#include "elementwise_body.h"
