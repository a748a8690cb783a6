/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of the operators of normalize/. Private to the folder. */
#ifndef OPD_KERNELS_NORMALIZE_DEFINE_H
#define OPD_KERNELS_NORMALIZE_DEFINE_H

#include <opsdebug/kernel.h>

opd_definition opd_define_softmax;
opd_definition opd_define_log_softmax;
opd_definition opd_define_lp_normalization;
opd_definition opd_define_layer_normalization;
opd_definition opd_define_rms_normalization;
opd_definition opd_define_group_normalization;
opd_definition opd_define_instance_normalization;
opd_definition opd_define_batch_normalization;
opd_definition opd_define_layer_norm_bias;
opd_definition opd_define_add_layer_norm;
opd_definition opd_define_window_l2;

#endif
