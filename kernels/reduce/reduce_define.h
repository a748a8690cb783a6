/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of the operators of reduce/. Private to the folder. */
#ifndef OPD_KERNELS_REDUCE_DEFINE_H
#define OPD_KERNELS_REDUCE_DEFINE_H

#include <opsdebug/kernel.h>

opd_definition opd_define_reduce_sum;
opd_definition opd_define_reduce_mean;
opd_definition opd_define_reduce_max;
opd_definition opd_define_reduce_min;
opd_definition opd_define_reduce_l2;
opd_definition opd_define_arg_max;
opd_definition opd_define_arg_min;
opd_definition opd_define_cumulative_sum;
opd_definition opd_define_top_k;

#endif
