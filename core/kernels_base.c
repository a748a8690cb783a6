/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops for the baseline of the architecture. */
#define OPD_KERNELS     opd_kernels_base
#define OPD_KERNELS_ISA "base"
#include "kernels_body.h"
