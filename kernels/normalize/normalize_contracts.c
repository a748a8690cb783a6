/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of Softmax and of norms, and of fused operators of them.
 *
 * bounds    numerics, by class. Softmax: R (1 + |x - max|), as an error of x - max multiplies the exponential. LogSoftmax: |x| + |max| + |log sum| +
 *           1. Norms: |scale| rstd (|x| + mean |x|) + |bias|, the reach of the difference x - mean; RMS and Lp: |R|.
 * special   Softmax along an axis with NaN or +Inf, or of -Inf alone, is NaN throughout. Lp of zeros alone is zeros. A variance of 0 with epsilon
 *           0 gives NaN. Statistics have at least the accumulator's precision (f32; f64 for f64), whatever stash_type says;
 *           it sets the dtype of Mean and InvStdDev.
 * left out  scale and bias of LayerNormalization that have dimensions to the left of axis; BatchNormalization of rank 1.
 */
#include <opsdebug/memory.h>

#include "../registry.h"
#include "normalize_shapes.h"

#define ONNX .domain = "ai.onnx", .bound = { .kind = OPD_BOUND_GAUGE, .limit = 16 }
#define FUSED \
    .domain = "opsdebug", .bound = { .kind = OPD_BOUND_GAUGE, .limit = 16 }, .determinism = OPD_DETERMINISM_ISA
#define FLOATS "T: f32 f64 f16 bf16"

#define ALONG_AXIS                                                                                                   \
    .types = FLOATS, .signature = "input:T[n..., d, m...] split(axis) -> output:T[n..., d, m...]", .reduction = "d", \
    .in_place = "output=input"

const opd_op opd_contracts_normalize[] = {
    {
        ONNX,
        ALONG_AXIS,
        .name = "Softmax",
        .determinism = OPD_DETERMINISM_BATCH,
        .since_version = 13,
        .attributes = "axis:i=-1[axis(input)]",
        .defaults = "n...=1,128 d=128 m...=",
        .flops = "4 * count(input)",
        .checkpoints = "max exp sum",
        .summary = "exp(x - max) / sum of exp(x - max) along an axis",
    },
    {
        ONNX,
        ALONG_AXIS,
        .name = "LogSoftmax",
        .determinism = OPD_DETERMINISM_BATCH,
        .since_version = 13,
        .attributes = "axis:i=-1[axis(input)]",
        .defaults = "n...=1,128 d=128 m...=",
        .flops = "4 * count(input)",
        .checkpoints = "max exp sum",
        .summary = "x - max - log of the sum of exp(x - max) along an axis",
    },
    {
        ONNX,
        ALONG_AXIS,
        .name = "LpNormalization",
        .determinism = OPD_DETERMINISM_ISA,
        .since_version = 22,
        .attributes = "axis:i=-1[axis(input)] p:i=2[1|2]",
        .defaults = "n...=1,128 d=128 m...=",
        .flops = "3 * count(input)",
        .checkpoints = "norm",
        .summary = "x over its 1-norm or 2-norm along an axis",
    },
    {
        ONNX,
        .name = "LayerNormalization",
        .determinism = OPD_DETERMINISM_ISA,
        .since_version = 17,
        .types = FLOATS "; U: f32 f64 f16 bf16",
        .signature =
            "X:T[n..., d...] split(axis), Scale:T[d...~], B?:T[d...~] -> Y:T[n..., d...], Mean?:U[...], InvStdDev?:U[...]",
        .attributes = "axis:i=-1[axis(X)] epsilon:f=1e-5[0:] stash_type:i=1[1|10|11|16]",
        .defaults = "n...=1,128 d...=128 B",
        .flops = "8 * count(X)",
        .reduction = "prod(d)",
        .shape = opd_shape_layer_norm,
        .in_place = "Y=X",
        .checkpoints = "mean variance normalized",
        .summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over the dimensions from axis on",
    },
    {
        ONNX,
        .name = "RMSNormalization",
        .determinism = OPD_DETERMINISM_ISA,
        .since_version = 23,
        .types = FLOATS,
        .signature = "X:T[n..., d...] split(axis), scale:T[d...~] -> Y:T[n..., d...]",
        .attributes = "axis:i=-1[axis(X)] epsilon:f=1e-5[0:] stash_type:i=1[1|10|11|16]",
        .defaults = "n...=1,128 d...=128",
        .flops = "4 * count(X)",
        .reduction = "prod(d)",
        .in_place = "Y=X",
        .checkpoints = "mean_square normalized",
        .summary = "x / sqrt(mean of squares + epsilon) * scale over the dimensions from axis on",
    },
    {
        ONNX,
        .name = "GroupNormalization",
        .determinism = OPD_DETERMINISM_ISA,
        .since_version = 21,
        .types = FLOATS,
        .signature =
            "X:T[N, num_groups * c, s...], scale:T[num_groups * c], bias:T[num_groups * c] -> Y:T[N, num_groups * c, s...]",
        .attributes = "num_groups:i=4[1:] epsilon:f=1e-5[0:] stash_type:i=1[1|10|11|16]",
        .defaults = "N=1 c=4 s...=32,32",
        .flops = "8 * count(X)",
        .reduction = "c * prod(s)",
        .in_place = "Y=X",
        .checkpoints = "mean variance normalized",
        .summary = "(x - mean) / sqrt(variance + epsilon) over groups of channels, scale and bias by channel",
    },
    {
        ONNX,
        .name = "InstanceNormalization",
        .determinism = OPD_DETERMINISM_ISA,
        .since_version = 22,
        .types = FLOATS,
        .signature = "input:T[N, C, s...], scale:T[C], B:T[C] -> output:T[N, C, s...]",
        .attributes = "epsilon:f=1e-5[0:]",
        .defaults = "N=1 C=16 s...=32,32",
        .flops = "8 * count(input)",
        .reduction = "prod(s)",
        .in_place = "output=input",
        .checkpoints = "mean variance normalized",
        .summary = "(x - mean) / sqrt(variance + epsilon) over each channel of each image, scale and bias by channel",
    },
    {
        ONNX,
        .name = "BatchNormalization",
        .determinism = OPD_DETERMINISM_ISA,
        .since_version = 15,
        .types = FLOATS "; U: f32 f64 f16 bf16; V: f32 f64 f16 bf16",
        .signature = "X:T[N, C, s...], scale:U[C], B:U[C], input_mean:V[C], input_var:V[C] fill(uniform:0.5:2) -> "
                     "Y:T[N, C, s...], running_mean?:V[C], running_var?:V[C]",
        .attributes = "epsilon:f=1e-5[0:] momentum:f=0.9[0:1] training_mode:i=0[0|1]",
        .defaults = "N=1 C=16 s...=32,32",
        .flops = "4 * count(X)",
        .reduction = "training_mode ? N * prod(s) : 0",
        .shape = opd_shape_batch_norm,
        .in_place = "Y=X",
        .checkpoints = "mean variance normalized",
        .summary =
            "(x - mean) / sqrt(variance + epsilon) * scale + bias by channel; statistics are given, or with training_mode made",
    },
    {
        FUSED,
        .name = "LayerNormBias",
        .types = FLOATS,
        .signature = "X:T[n..., d], Bias:T[d], Scale:T[d], B?:T[d] -> Y:T[n..., d]",
        .attributes = "epsilon:f=1e-5[0:]",
        .defaults = "n...=1,128 d=128 B",
        .flops = "9 * count(X)",
        .reduction = "d",
        .in_place = "Y=X",
        .checkpoints = "added mean variance normalized",
        .summary = "LayerNormalization(X + Bias); unfused: Add, then LayerNormalization",
    },
    {
        FUSED,
        .name = "AddLayerNorm",
        .types = FLOATS,
        .signature = "X:T[n..., d], Residual:T[n..., d], Scale:T[d], B?:T[d] -> Y:T[n..., d], Sum:T[n..., d]",
        .attributes = "epsilon:f=1e-5[0:]",
        .defaults = "n...=1,128 d=128 B",
        .flops = "9 * count(X)",
        .reduction = "d",
        .in_place = "Sum=X Sum=Residual",
        .checkpoints = "added mean variance normalized",
        .summary =
            "Sum = X + Residual, Y = LayerNormalization of the sum before it is rounded; unfused: Add, then LayerNormalization",
    },
    {
        FUSED,
        .name = "WindowL2Normalization",
        .types = FLOATS,
        .signature = "X:T[N, C, H, W] -> Y:T[N, C, H, W]",
        .defaults = "N=1 C=16 H=32 W=32",
        .flops = "12 * count(X)",
        .reduction = "9 * C",
        .checkpoints = "windowed norm",
        .summary =
            "mean of the 3 x 3 window around each position, of what of it lies in the image, then over the 2-norm of the channels; "
            "unfused: AveragePool without padding in its count, then LpNormalization",
    },
};
const int opd_contracts_normalize_count = (int)OPD_COUNT(opd_contracts_normalize);
