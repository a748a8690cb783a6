/* SPDX-License-Identifier: Apache-2.0 */
/* What signatures of norms cannot say. Private to kernels/normalize/. */
#ifndef OPD_KERNELS_NORMALIZE_SHAPES_H
#define OPD_KERNELS_NORMALIZE_SHAPES_H

#include <opsdebug/op.h>

/* Mean and InvStdDev: as X with 1 along the normalized dimensions, of the dtype that stash_type names. */
opd_shape_function opd_shape_layer_norm;
/* Training has two more outputs, inference has not. */
opd_shape_function opd_shape_batch_norm;

#endif
