/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of opd_metrics for the baseline of the architecture. */
#define OPD_COMPARE opd_compare_base
#include "compare_body.h"
