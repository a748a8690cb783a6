/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of reductions, ArgMax, ArgMin, CumSum and TopK. Axes are inputs, as in the latest operator sets; older forms are translated where
 * models are read.
 *
 * special   an empty set gives 0 (sum, L2), NaN (mean; integers: 0), and for max and min the dtype's lowest and highest value; NaN comes through
 *           all of them, and counts as the extreme for ArgMax and ArgMin, as the largest value for TopK.
 *           Integer sums wrap; integer means are the exact sum divided towards zero; L2 of integers is rounded down and saturates.
 */
#include <opsdebug/memory.h>

#include "../registry.h"
#include "axes.h"

#define REDUCTION                                                                                           \
    .domain = "ai.onnx", .signature = "data:T[n...], axes?:i64[a] -> reduced:T[...]",                       \
    .attributes = "keepdims:i=1[0|1] noop_with_empty_axes:i=0[0|1]", .defaults = "n...=1,128,128 a=1",      \
    .flops = "count(data)", .reduction = "count(data) / max(count(reduced), 1)", .shape = opd_shape_reduce, \
    .generate = opd_generate_axes, .determinism = OPD_DETERMINISM_ISA
#define SUMMABLE "T: f32 f64 f16 bf16 i32 i64 u32 u64"
#define ORDERED  "T: f32 f64 f16 bf16 i32 i64 u32 u64 i8 u8"
#define NUMBERS  "T: f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64"

/* Gauge of sums: the sum of absolute values (of a mean: over n); of L2 the result itself. numerics: class "reduce". */
#define GAUGE .bound = { .kind = OPD_BOUND_GAUGE, .limit = 16 }
#define SUM   .bound = { .kind = OPD_BOUND_GAUGE, .limit = 16, .is_sum = true }
#define BITS  .bound = { .kind = OPD_BOUND_BITS }

#define ARG_EXTREME                                                                                                  \
    .domain = "ai.onnx", .since_version = 13, .types = NUMBERS, .signature = "data:T[n...] -> reduced:i64[...]",     \
    .attributes = "axis:i=0[axis(data)] keepdims:i=1[0|1] select_last_index:i=0[0|1]", .defaults = "n...=1,128,128", \
    .flops = "count(data)", .reduction = "dim(data, axis)", .shape = opd_shape_arg_extreme, BITS,                    \
    .determinism = OPD_DETERMINISM_ISA

const opd_op opd_contracts_reduce[] = {
    {
        REDUCTION,
        SUM,
        .name = "ReduceSum",
        .since_version = 13,
        .types = SUMMABLE,
        .overflow = OPD_OVERFLOW_WRAP,
        .summary = "sum over axes",
    },
    {
        REDUCTION,
        SUM,
        .name = "ReduceMean",
        .since_version = 18,
        .types = SUMMABLE,
        .summary = "mean over axes",
    },
    {
        REDUCTION,
        BITS,
        .name = "ReduceMax",
        .since_version = 20,
        .types = ORDERED,
        .summary = "largest value over axes",
    },
    {
        REDUCTION,
        BITS,
        .name = "ReduceMin",
        .since_version = 20,
        .types = ORDERED,
        .summary = "smallest value over axes",
    },
    {
        REDUCTION,
        GAUGE,
        .name = "ReduceL2",
        .since_version = 18,
        .types = SUMMABLE,
        .overflow = OPD_OVERFLOW_SATURATE,
        .summary = "square root of the sum of squares over axes",
    },
    {
        ARG_EXTREME,
        .name = "ArgMax",
        .summary = "index of the largest value along an axis",
    },
    {
        ARG_EXTREME,
        .name = "ArgMin",
        .summary = "index of the smallest value along an axis",
    },
    {
        GAUGE,
        .domain = "ai.onnx",
        .name = "CumSum",
        .since_version = 14,
        .types = "T: f32 f64 f16 bf16 i32 i64 u32 u64; U: i64 i32",
        .signature = "x:T[n...], axis:U[] value(-1) -> y:T[n...]",
        .attributes = "exclusive:i=0[0|1] reverse:i=0[0|1]",
        .flops = "count(x)",
        .reduction = "dim(x, -1)", /* the axis is data; for another the bound is the last one's */
        .shape = opd_shape_cumulative_sum,
        .overflow = OPD_OVERFLOW_WRAP,
        .in_place = "y=x",
        .determinism = OPD_DETERMINISM_ISA,
        .summary = "running sum along an axis",
    },
    {
        BITS,
        .domain = "ai.onnx",
        .name = "TopK",
        .since_version = 24,
        .types = NUMBERS,
        .signature = "X:T[n...], K:i64[1] -> Values:T[...], Indices:i64[...]",
        .attributes = "axis:i=-1[axis(X)] largest:i=1[0|1] sorted:i=1[0|1]",
        .flops = "count(X)",
        .reduction = "dim(X, axis)",
        .shape = opd_shape_top_k,
        .generate = opd_generate_top_k,
        .determinism = OPD_DETERMINISM_ISA,
        .summary = "the K largest or smallest values along an axis, in order, and where they are; ties by lower index",
    },
};
const int opd_contracts_reduce_count = (int)OPD_COUNT(opd_contracts_reduce);
