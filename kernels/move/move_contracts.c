/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of the operators that move elements, ONNX names and semantics. Where ONNX leaves a choice: pads beyond the input reflect and
 * wrap as often as it takes, as numpy does; negative pads cut first; axes may not be named twice. Resize computes coordinates in f64 for every
 * dtype and skips taps of weight 0, so that a NaN beside them does not matter; it does not smooth (antialias), and interpolates floats only.
 */
#include <opsdebug/memory.h>

#include "move.h"
#include "registry.h"

#define MOVE(version)                                                                \
    .domain = "ai.onnx", .since_version = (version), .flops = "0", .reduction = "0", \
    .determinism = OPD_DETERMINISM_ISA, .generate = opd_move_generate

#define BITS .bound = { .kind = OPD_BOUND_BITS }

#define ALL   "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool"
#define INDEX "; I: i64 i32"

const opd_op opd_contracts_move[] = {
    { MOVE(13), BITS, .name = "Transpose", .types = ALL, .signature = "data:T[n...] -> transposed:T[...]",
      .attributes = "perm:is?", .shape = opd_transpose_shape,
      .summary = "transposed axis d = axis perm[d] of data; all in reverse without perm" },
    { MOVE(14), BITS, .name = "Reshape", .types = ALL, .signature = "data:T[n...], shape:i64[r] -> reshaped:T[...]",
      .attributes = "allowzero:i=0[0|1]", .defaults = "n...=4,6,10 r=3", .shape = opd_reshape_shape,
      .in_place = "reshaped=data",
      .summary =
          "reshaped = the elements of data under another shape; -1: what is left, 0: as data (allowzero: none)" },
    { MOVE(13), BITS, .name = "Concat", .types = ALL, .attributes = "axis:i=0[axis(inputs0)]",
      .signature = "inputs+:T[a..., c+, b...] split(axis) -> concat_result:T[a..., sum(c), b...]",
      .defaults = "a...= b...=48,33 c=16", .summary = "concat_result = the inputs one after another along axis" },
    { MOVE(13), BITS, .name = "Slice", .types = "T: " ALL INDEX,
      .signature = "data:T[n...], starts:I[k], ends:I[k], axes?:I[k], steps?:I[k] -> output:T[...]",
      .defaults = "n...=12,20,33 k=2 axes steps", .shape = opd_slice_shape,
      .summary = "output = data[start:end:step] along each of axes, as Python counts" },
    { MOVE(18), BITS, .name = "Split", .types = ALL, .attributes = "axis:i=0[axis(input)] num_outputs:i?[1:]",
      .signature =
          "input:T[n...], split?:i64[k] -> outputs+:T[...] times(has(num_outputs) ? num_outputs : has(split) ? "
          "dim(split, 0) : 2)",
      .defaults = "n...=31,20,8 k=3", .shape = opd_split_shape,
      .summary =
          "outputs = parts of input along axis, of the sizes split or as equal as can be (the last the smallest)" },
    { MOVE(19), BITS, .name = "Pad", .types = "T: " ALL INDEX, .attributes = "mode:s=" OPD_PAD_MODES,
      .signature = "data:T[n...], pads:i64[2 * (has(axes) ? dim(axes, 0) : rank(data))], constant_value?:T[] "
                   "if(mode == 'constant'), axes?:I[k] -> output:T[...]",
      .defaults = "n...=3,20,33 k=2 constant_value", .shape = opd_pad_shape,
      .summary = "output = data with elements before and after it along axes; negative pads cut" },
    { MOVE(13), BITS, .name = "Gather", .types = "T: " ALL INDEX, .attributes = "axis:i=0[axis(data)]",
      .signature = "data:T[a..., k, b...] split(axis), indices:I[q...] -> output:T[...]",
      .defaults = "a...= k=40 b...=64 q...=6,5", .shape = opd_gather_shape,
      .summary = "output = the entries of data along axis that indices name, from the end when negative" },
    { MOVE(13), BITS, .name = "Expand", .types = ALL, .signature = "input:T[n...], shape:i64[r] -> output:T[...]",
      .defaults = "n...=3,1,40 r=4", .shape = opd_expand_shape,
      .summary = "output = input broadcast with shape, both ways" },
    { MOVE(19), .name = "Resize", .types = "T: " ALL "; U: f32 f64 f16", .bound = { .kind = OPD_BOUND_GAUGE },
      .signature = "X:T[n...], roi?:U[p] if(coordinate_transformation_mode == 'tf_crop_and_resize'), scales?:f32[q], "
                   "sizes?:i64[r] -> Y:T[...]",
      .attributes =
          "mode:s=" OPD_RESIZE_MODES " coordinate_transformation_mode:s=" OPD_RESIZE_COORDINATES
          " nearest_mode:s=" OPD_RESIZE_NEARESTS " exclude_outside:i=0[0|1] cubic_coeff_a:f=-0.75 "
          "extrapolation_value:f=0 axes:is? keep_aspect_ratio_policy:s=" OPD_RESIZE_POLICIES " antialias:i=0[0|1]",
      .defaults = "n...=1,3,17,20 p=8 q=4 r=4 roi scales", .shape = opd_resize_shape,
      .summary = "Y = X at other sizes: nearest element, or linear or cubic interpolation; gauge sum |weight| |x|" },
};
const int opd_contracts_move_count = (int)OPD_COUNT(opd_contracts_move);
