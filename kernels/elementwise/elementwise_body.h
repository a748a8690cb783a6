/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of the elementwise operators over strips, in plain C that the compiler vectorises for the instruction set at hand. Included by one
 * .c file per instruction set, which defines OPD_STRIPS (the set's name) and, for loops that call libm (f64 only), OPD_STRIPS_LIBM.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize( \
    "no-tree-pre") /* it computes a clamped argument's constants apart and blends them in at every step */
#endif

#include <opsdebug/memory.h>

#include "elementwise.h"
#include "elementwise_convert.h"
#include "elementwise_math.h"

/*
 * y = expression of a, b, c, the inputs at one position. y may lie on an input, element on element. The count is read first: y's type may alias it.
 */
#define LOOP1(name, type, expression)                            \
    static void name(const opd_strip *strip)                     \
    {                                                            \
        const int64_t count = strip->count;                      \
        type *y = strip->y;                                      \
        const type *x0 = strip->x[0];                            \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) \
        {                                                        \
            type a = x0[i];                                      \
            y[i] = (type)(expression);                           \
        }                                                        \
    }
#define LOOP2(name, type, second, expression)                    \
    static void name(const opd_strip *strip)                     \
    {                                                            \
        const int64_t count = strip->count;                      \
        type *y = strip->y;                                      \
        const type *x0 = strip->x[0];                            \
        const second *x1 = strip->x[1];                          \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) \
        {                                                        \
            type a = x0[i];                                      \
            second b = x1[i];                                    \
            y[i] = (type)(expression);                           \
        }                                                        \
    }
#define LOOP3(name, type, first, expression)                     \
    static void name(const opd_strip *strip)                     \
    {                                                            \
        const int64_t count = strip->count;                      \
        type *y = strip->y;                                      \
        const first *x0 = strip->x[0];                           \
        const type *x1 = strip->x[1];                            \
        const type *x2 = strip->x[2];                            \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) \
        {                                                        \
            first a = x0[i];                                     \
            type b = x1[i];                                      \
            type c = x2[i];                                      \
            y[i] = (type)(expression);                           \
        }                                                        \
    }

#define LEAKY(name, type)                                        \
    static void name(const opd_strip *strip)                     \
    {                                                            \
        const type alpha = (type)strip->alpha;                   \
        const int64_t count = strip->count;                      \
        type *y = strip->y;                                      \
        const type *x = strip->x[0];                             \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) \
        {                                                        \
            type product = alpha * x[i];                         \
            y[i] = x[i] < 0 ? product : x[i];                    \
        }                                                        \
    }

/* ------------------------------------------------------------------------------------------------- any numbers */

/* The second of two equal ones gives way; a NaN wins over all. */
#define LESSER(a, b)   ((((b) < (a)) | ((b) != (b))) ? (b) : (a))
#define GREATER(a, b)  ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
#define AT_LEAST(a, b) ((a) < (b) ? (b) : (a))
#define CLAMP(a, b, c) ((c) < AT_LEAST(a, b) ? (c) : AT_LEAST(a, b))

#define COMPARISONS(name, type)                  \
    LOOP2(min_##name, type, type, LESSER(a, b))  \
    LOOP2(max_##name, type, type, GREATER(a, b)) \
    LOOP3(clip_##name, type, type, CLAMP(a, b, c))

/* ---------------------------------------------------------------------------------------------------- integers */

/* In an unsigned type of at least 32 bits: the low bits of the result are right, and nothing overflows. */
#define ARITHMETIC(name, type, wide)                 \
    COMPARISONS(name, type)                          \
    LOOP2(add_##name, type, type, (wide)a + (wide)b) \
    LOOP2(sub_##name, type, type, (wide)a - (wide)b) \
    LOOP2(mul_##name, type, type, (wide)a *(wide)b)

#define UNSIGNED(name, type, wide) \
    ARITHMETIC(name, type, wide)   \
    LOOP1(abs_##name, type, a)     \
    LOOP2(div_##name, type, type, b == 0 ? 0 : a / (b == 0 ? 1 : b))

#define SIGNED(name, type, wide)                                 \
    ARITHMETIC(name, type, wide)                                 \
    LOOP1(abs_##name, type, a < 0 ? (wide)0 - (wide)a : (wide)a) \
    LOOP1(neg_##name, type, (wide)0 - (wide)a)                   \
    LOOP1(relu_##name, type, a < 0 ? 0 : a)                      \
    LOOP2(div_##name, type, type, b == 0 ? 0 : b == -1 ? (type)((wide)0 - (wide)a) : (type)(a / b))

SIGNED(i8, int8_t, uint32_t)
SIGNED(i16, int16_t, uint32_t)
SIGNED(i32, int32_t, uint32_t)
SIGNED(i64, int64_t, uint64_t)
UNSIGNED(u8, uint8_t, uint32_t)
UNSIGNED(u16, uint16_t, uint32_t)
UNSIGNED(u32, uint32_t, uint32_t)
UNSIGNED(u64, uint64_t, uint64_t)

/* base^exponent, its low bits; a negative exponent: the quotient 1 / base^-exponent towards zero, of 0 the greatest number. */
static inline int64_t power_i64(int64_t base, int64_t exponent, int64_t most)
{
    uint64_t result = 1;
    uint64_t square = (uint64_t)base;
    if (exponent < 0) {
        return base == 0 ? most : base == 1 ? 1 : base != -1 ? 0 : (exponent & 1) != 0 ? -1 : 1;
    }
    for (; exponent > 0; exponent >>= 1) {
        result *= (exponent & 1) != 0 ? square : 1;
        square *= square;
    }
    return (int64_t)result;
}
LOOP2(pow_i32, int32_t, int64_t, power_i64(a, b, INT32_MAX))
LOOP2(pow_i64, int64_t, int64_t, power_i64(a, b, INT64_MAX))

/* ------------------------------------------------------------------------------------------------------ floats */

#define FLOATING(name, type, suffix)                    \
    COMPARISONS(name, type)                             \
    LOOP1(abs_##name, type, __builtin_fabs##suffix(a))  \
    LOOP1(neg_##name, type, -a)                         \
    LOOP2(add_##name, type, type, a + b)                \
    LOOP2(sub_##name, type, type, a - b)                \
    LOOP2(mul_##name, type, type, a *b)                 \
    LOOP2(div_##name, type, type, a / b)                \
    LOOP1(sqrt_##name, type, __builtin_sqrt##suffix(a)) \
    LOOP1(reciprocal_##name, type, 1 / a)               \
    LOOP1(relu_##name, type, a < 0 ? 0 : a)             \
    LEAKY(leaky_relu_##name, type)

FLOATING(f32, float, f)
FLOATING(f64, double, )

LOOP1(exp_of_f32, float, exp_f32(a))
LOOP1(log_of_f32, float, log_f32(a))
LOOP1(erf_of_f32, float, erf_f32(a))
LOOP1(sigmoid_of_f32, float, sigmoid_f32(a))
LOOP1(tanh_of_f32, float, tanh_f32(a))
LOOP1(gelu_of_f32, float, gelu_f32(a))
LOOP1(gelu_tanh_of_f32, float, gelu_tanh_f32(a))
LOOP1(hard_swish_of_f32, float, hard_swish_f32(a))
LOOP2(gelu_add_of_f32, float, float, gelu_f32(a) + b)
LOOP2(gelu_tanh_add_of_f32, float, float, gelu_tanh_f32(a) + b)
LOOP2(pow_of_f32, float, double, pow_f32(a, b))

/* An odd exponent that no double holds keeps the sign. */
static inline double with_sign(double power, double base, int64_t exponent)
{
    return base < 0.0 && (exponent & 1) != 0 ? -__builtin_fabs(power) : power;
}
LOOP2(pow_of_f32_i64, float, int64_t, with_sign((double)pow_f32(a, (double)b), a, b))

#if defined(OPD_STRIPS_LIBM)
#include <math.h>

static inline double sigmoid_f64(double x)
{
    double power = exp(-fabs(x));
    return (x < 0 ? power : 1) / (1 + power);
}

static inline double gelu_f64(double x)
{
    return 0.5 * x * (1 + erf(x * M_SQRT1_2));
}

static inline double gelu_tanh_f64(double x)
{
    return 0.5 * x * (1 + tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x)));
}

LOOP1(exp_of_f64, double, exp(a))
LOOP1(log_of_f64, double, log(a))
LOOP1(erf_of_f64, double, erf(a))
LOOP1(sigmoid_of_f64, double, sigmoid_f64(a))
LOOP1(tanh_of_f64, double, tanh(a))
LOOP1(gelu_of_f64, double, gelu_f64(a))
LOOP1(gelu_tanh_of_f64, double, gelu_tanh_f64(a))
LOOP2(gelu_add_of_f64, double, double, gelu_f64(a) + b)
LOOP2(gelu_tanh_add_of_f64, double, double, gelu_tanh_f64(a) + b)
LOOP2(pow_of_f64, double, double, pow(a, b))
LOOP2(pow_of_f64_i64, double, int64_t, with_sign(pow(a, (double)b), a, b))
#define IN_LIBM(loop) [OPD_F64] = loop
#else
#define IN_LIBM(loop) [OPD_F64] = NULL
#endif

static inline double hard_swish_f64(double x)
{
    double line = x / 6 + 0.5;
    line = line < 0 ? 0 : line;
    return x * (line > 1 ? 1 : line);
}
LOOP1(hard_swish_of_f64, double, hard_swish_f64(a))

/* ------------------------------------------------------------------------------------------------------- moves */

#define SELECTION(name, type) LOOP3(where_##name, type, uint8_t, a != 0 ? b : c)
SELECTION(8, uint8_t)
SELECTION(16, uint16_t)
SELECTION(32, uint32_t)
SELECTION(64, uint64_t)

/* ------------------------------------------------------------------------------------------------------- table */

#define OF_FLOATS(loop) [OPD_F32] = loop##_f32, [OPD_F64] = loop##_f64
#define OF_SIGNED(loop) \
    OF_FLOATS(loop), [OPD_I8] = loop##_i8, [OPD_I16] = loop##_i16, [OPD_I32] = loop##_i32, [OPD_I64] = loop##_i64
#define OF_NUMBERS(loop) \
    OF_SIGNED(loop), [OPD_U8] = loop##_u8, [OPD_U16] = loop##_u16, [OPD_U32] = loop##_u32, [OPD_U64] = loop##_u64
#define OF_CLOSE(loop) [OPD_F32] = loop##_of_f32, IN_LIBM(loop##_of_f64)

static const opd_strip_row rows[] = {
    { .name = "Abs", .inputs = 1, .by_dtype = { OF_NUMBERS(abs) } },
    { .name = "Neg", .inputs = 1, .by_dtype = { OF_SIGNED(neg) } },
    { .name = "Add", .inputs = 2, .by_dtype = { OF_NUMBERS(add) } },
    { .name = "Sub", .inputs = 2, .by_dtype = { OF_NUMBERS(sub) } },
    { .name = "Mul", .inputs = 2, .by_dtype = { OF_NUMBERS(mul) } },
    { .name = "Div", .inputs = 2, .by_dtype = { OF_NUMBERS(div) } },
    { .name = "Pow", .inputs = 2, .second = OPD_F64, .by_dtype = { OF_CLOSE(pow) } },
    { .name = "Pow",
      .inputs = 2,
      .second = OPD_I64,
      .by_dtype = { [OPD_F32] = pow_of_f32_i64, IN_LIBM(pow_of_f64_i64), [OPD_I32] = pow_i32, [OPD_I64] = pow_i64 } },
    { .name = "Sqrt", .inputs = 1, .by_dtype = { OF_FLOATS(sqrt) } },
    { .name = "Reciprocal", .inputs = 1, .by_dtype = { OF_FLOATS(reciprocal) } },
    { .name = "Exp", .inputs = 1, .by_dtype = { OF_CLOSE(exp) } },
    { .name = "Log", .inputs = 1, .by_dtype = { OF_CLOSE(log) } },
    { .name = "Erf", .inputs = 1, .by_dtype = { OF_CLOSE(erf) } },
    { .name = "Relu", .inputs = 1, .by_dtype = { OF_SIGNED(relu) } },
    { .name = "LeakyRelu", .inputs = 1, .by_dtype = { OF_FLOATS(leaky_relu) } },
    { .name = "Sigmoid", .inputs = 1, .by_dtype = { OF_CLOSE(sigmoid) } },
    { .name = "Tanh", .inputs = 1, .by_dtype = { OF_CLOSE(tanh) } },
    { .name = "Gelu", .form = "none", .inputs = 1, .by_dtype = { OF_CLOSE(gelu) } },
    { .name = "Gelu", .form = "tanh", .inputs = 1, .by_dtype = { OF_CLOSE(gelu_tanh) } },
    { .name = "HardSwish", .inputs = 1, .by_dtype = { [OPD_F32] = hard_swish_of_f32, [OPD_F64] = hard_swish_of_f64 } },
    { .name = "Clip", .inputs = 3, .by_dtype = { OF_NUMBERS(clip) } },
    { .name = "Min", .by_dtype = { OF_NUMBERS(min) } },
    { .name = "Max", .by_dtype = { OF_NUMBERS(max) } },
    { .name = "Where",
      .inputs = 3,
      .by_dtype = { [OPD_F16] = where_16,
                    [OPD_BF16] = where_16,
                    [OPD_F32] = where_32,
                    [OPD_F64] = where_64,
                    [OPD_I8] = where_8,
                    [OPD_I16] = where_16,
                    [OPD_I32] = where_32,
                    [OPD_I64] = where_64,
                    [OPD_U8] = where_8,
                    [OPD_U16] = where_16,
                    [OPD_U32] = where_32,
                    [OPD_U64] = where_64,
                    [OPD_BOOL] = where_8 } },
    { .name = "GeluAddResidual", .form = "none", .inputs = 2, .by_dtype = { OF_CLOSE(gelu_add) } },
    { .name = "GeluAddResidual", .form = "tanh", .inputs = 2, .by_dtype = { OF_CLOSE(gelu_tanh_add) } },
};

const opd_strip_set OPD_STRIPS = { .rows = rows, .row_count = (int)OPD_COUNT(rows), .conversions = &conversions };
