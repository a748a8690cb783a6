/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of the elementwise operators, ONNX names and semantics. Where ONNX leaves a choice: Min and Max pass NaN on as numpy does,
 * also beside a number; Clip is ONNX's function body (a bound of NaN is none, max wins over min); integers wrap, their division goes
 * towards zero and a divisor of 0 gives 0; Cast of a float to an integer goes towards zero and saturates, NaN gives 0, and integers
 * among themselves keep their low bits. Attributes of type float have 32 bits, for every dtype.
 */
#include <opsdebug/memory.h>

#include "registry.h"

#define ONNX(version) .domain = "ai.onnx", .since_version = (version), .reduction = "0", .flops = "prod(s)"

#define FLOATS  "f32 f64 f16 bf16"
#define SIGNED  FLOATS " i8 i16 i32 i64"
#define NUMBERS SIGNED " u8 u16 u32 u64"
#define ALL     NUMBERS " bool"

#define UNARY  "X:T[s...] -> Y:T[s...]"
#define BINARY "A:T[s...~], B:T[s...~] -> C:T[s...]"

/* Moves and comparisons; one IEEE operation; exp and log; what is made of them. Sources: the table of classes, numerics section 3. */
#define BITS .bound = { .kind = OPD_BOUND_BITS }, .determinism = OPD_DETERMINISM_ISA
#define ONE_OP \
    .bound = { .kind = OPD_BOUND_ULP, .limit = 0.5F, .narrow_limit = 0.5F }, .determinism = OPD_DETERMINISM_ISA
#define CLOSE \
    .bound = { .kind = OPD_BOUND_ULP, .limit = 2.0F, .narrow_limit = 1.0F }, .determinism = OPD_DETERMINISM_BATCH
#define NEAR \
    .bound = { .kind = OPD_BOUND_ULP, .limit = 4.0F, .narrow_limit = 1.0F }, .determinism = OPD_DETERMINISM_BATCH
#define MEASURE .bound = { .kind = OPD_BOUND_GAUGE }, .determinism = OPD_DETERMINISM_BATCH

static opd_status cast_shape(opd_call *call)
{
    const opd_value *to = opd_call_value(call, "to");
    int64_t code = to != NULL ? to->i : 1;
    opd_dtype dtype = opd_dtype_from_onnx(code);
    if (dtype == OPD_DTYPE_NONE || opd_dtype_is_complex(dtype)) {
        return opd_fail(
            OPD_E_INVALID,
            "attribute to of Cast is no number of a supported ONNX type: 1 f32, 2 u8, 3 i8, 4 u16, 5 i16, 6 i32, "
            "7 i64, 9 bool, 10 f16, 11 f64, 12 u32, 13 u64, 16 bf16");
    }
    call->operands[1].view.dtype = dtype;
    return OPD_OK;
}

const opd_op opd_contracts_elementwise[] = {
    { ONNX(13), BITS, .name = "Abs", .types = NUMBERS, .signature = UNARY, .in_place = "Y=X",
      .summary = "Y = |X|; the least integer stays itself" },
    { ONNX(13), BITS, .name = "Neg", .types = SIGNED, .signature = UNARY, .in_place = "Y=X",
      .summary = "Y = -X; the least integer stays itself" },
    { ONNX(14), ONE_OP, .name = "Add", .types = NUMBERS, .signature = BINARY, .in_place = "C=A",
      .summary = "C = A + B with broadcasting; integers wrap" },
    { ONNX(14), ONE_OP, .name = "Sub", .types = NUMBERS, .signature = BINARY, .in_place = "C=A",
      .summary = "C = A - B with broadcasting; integers wrap" },
    { ONNX(14), ONE_OP, .name = "Mul", .types = NUMBERS, .signature = BINARY, .in_place = "C=A",
      .summary = "C = A * B with broadcasting; integers wrap" },
    { ONNX(14), ONE_OP, .name = "Div", .types = NUMBERS, .signature = BINARY, .in_place = "C=A",
      .summary = "C = A / B with broadcasting; integers go towards zero, x / 0 = 0" },
    { ONNX(15), NEAR, .name = "Pow", .types = "T: " FLOATS " i32 i64; U: " NUMBERS, .in_place = "Z=X",
      .signature = "X:T[s...~] fill(uniform:0:4), Y:U[s...~] -> Z:T[s...]",
      .summary = "Z = X to the power Y, in the dtype of X; integers wrap, but a float exponent saturates" },
    { ONNX(13), ONE_OP, .name = "Sqrt", .types = FLOATS, .in_place = "Y=X",
      .signature = "X:T[s...] fill(uniform:0:8) -> Y:T[s...]", .summary = "Y = square root of X, NaN below 0" },
    { ONNX(13), ONE_OP, .name = "Reciprocal", .types = FLOATS, .signature = UNARY, .in_place = "Y=X",
      .summary = "Y = 1 / X" },
    { ONNX(13), CLOSE, .name = "Exp", .types = FLOATS, .signature = UNARY, .in_place = "Y=X", .summary = "Y = exp(X)" },
    { ONNX(13), CLOSE, .name = "Log", .types = FLOATS, .in_place = "Y=X",
      .signature = "X:T[s...] fill(uniform:0:8) -> Y:T[s...]", .summary = "Y = natural logarithm of X, NaN below 0" },
    { ONNX(13), NEAR, .name = "Erf", .types = FLOATS, .signature = UNARY, .in_place = "Y=X",
      .summary = "Y = error function of X" },
    { ONNX(14), BITS, .name = "Relu", .types = SIGNED, .signature = UNARY, .in_place = "Y=X",
      .summary = "Y = max(0, X), NaN stays NaN" },
    /* f16, bf16: the product is rounded to f32 and then again */
    { ONNX(16), .bound = { .kind = OPD_BOUND_ULP, .limit = 0.5F, .narrow_limit = 0.51F },
      .determinism = OPD_DETERMINISM_ISA, .name = "LeakyRelu", .types = FLOATS, .signature = UNARY,
      .attributes = "alpha:f=0.01", .in_place = "Y=X", .summary = "Y = X < 0 ? alpha X : X" },
    { ONNX(13), NEAR, .name = "Sigmoid", .types = FLOATS, .signature = UNARY, .in_place = "Y=X",
      .summary = "Y = 1 / (1 + exp(-X))" },
    { ONNX(13), NEAR, .name = "Tanh", .types = FLOATS, .signature = UNARY, .in_place = "Y=X",
      .summary = "Y = hyperbolic tangent of X" },
    { ONNX(20), MEASURE, .name = "Gelu", .types = FLOATS, .signature = UNARY, .attributes = "approximate:s=none|tanh",
      .in_place = "Y=X", .summary = "Y = X/2 (1 + erf(X/sqrt 2)), or with tanh for erf; gauge |X|/4" },
    { ONNX(22), MEASURE, .name = "HardSwish", .types = FLOATS, .signature = UNARY, .in_place = "Y=X",
      .summary = "Y = X max(0, min(1, X/6 + 1/2)); gauge |X|(|X|/6 + 1/2) between the corners" },
    { ONNX(13), BITS, .name = "Clip", .types = NUMBERS, .in_place = "output=input",
      .signature = "input:T[s...], min?:T[] fill(constant:-1), max?:T[] fill(constant:1) -> output:T[s...]",
      .defaults = "min max", .summary = "output = input, at least min, then at most max; NaN stays NaN" },
    { ONNX(13), BITS, .name = "Min", .types = NUMBERS, .signature = "data_+:T[s...~] -> min:T[s...]",
      .summary = "min = least of the inputs with broadcasting; NaN if one is NaN" },
    { ONNX(13), BITS, .name = "Max", .types = NUMBERS, .signature = "data_+:T[s...~] -> max:T[s...]",
      .summary = "max = greatest of the inputs with broadcasting; NaN if one is NaN" },
    { ONNX(16), BITS, .name = "Where", .types = ALL, .in_place = "output=X",
      .signature = "condition:bool[s...~] fill(integers:0:1), X:T[s...~], Y:T[s...~] -> output:T[s...]",
      .summary = "output = condition ? X : Y with broadcasting" },
    { ONNX(13), BITS, .name = "Cast", .types = "T: " ALL "; U: " ALL, .signature = "input:T[s...] -> output:U[s...]",
      .attributes = "to:i=1", .shape = cast_shape, .overflow = OPD_OVERFLOW_SATURATE,
      .summary =
          "output = input as another dtype (to: ONNX number); float to integer towards zero, saturating, NaN gives 0" },
    { .domain = "opsdebug",
      .reduction = "0",
      .flops = "2 * prod(s)",
      MEASURE,
      .name = "GeluAddResidual",
      .types = FLOATS,
      .signature = "X:T[s...], R:T[s...] -> Y:T[s...]",
      .attributes = "approximate:s=none|tanh",
      .in_place = "Y=X",
      .checkpoints = "gelu",
      .summary = "Y = Gelu(X) + R; gauge |X|/4 + |R|" },
};
const int opd_contracts_elementwise_count = (int)OPD_COUNT(opd_contracts_elementwise);
