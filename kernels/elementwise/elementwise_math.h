/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions of f32 without branches, for loops that the compiler turns into vectors. Included once per instruction set.
 * Polynomials: scripts/minimax derives and prints them, with their errors; the comments say interval and error of each. Greatest errors
 * measured over all floats: docs/kernels.md. Needs -ffp-contract=off, and rounding to nearest.
 *
 * order of use: multiply-add, bits, exp, log, then what is made of them.
 */
#ifndef OPD_KERNELS_ELEMENTWISE_MATH_H
#define OPD_KERNELS_ELEMENTWISE_MATH_H

#include <stdint.h>
#include <string.h>

/* One rounding where the instruction exists, two elsewhere: the constants are cut so that both are within the bounds. */
#if defined(__FMA__)
#define MULTIPLY_ADD(a, b, c)   __builtin_fmaf(a, b, c)
#define MULTIPLY_ADD_D(a, b, c) __builtin_fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c)   ((a) * (b) + (c))
#define MULTIPLY_ADD_D(a, b, c) ((a) * (b) + (c))
#endif

#define F32_INFINITY __builtin_inff()
#define F32_NAN      __builtin_nanf("")

static inline uint32_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double f64_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ------------------------------------------------------------------------------------------------- exponential */

/*
 * x = k ln 2 + r, |r| <= ln(2)/2; exp(r) = 1 + r + r^2 P(r), P of degree 4 with error 2^-28 of exp. k by adding and taking away 1.5 * 2^23,
 * whose low bits then hold it. ln 2 in two parts, the first with 9 bits, so that k times it is exact.
 */
static inline float exp_parts(float x, uint32_t *k)
{
    const float shift = 0x1.8p23F;
    float shifted = x * 0x1.715476p0F + shift;
    float n = shifted - shift;
    float r = MULTIPLY_ADD(-n, 0x1.63p-1F, x);
    r = MULTIPLY_ADD(-n, -0x1.bd0106p-13F, r);
    float square = r * r;
    float p = MULTIPLY_ADD(0x1.6ac82ep-10F, r, 0x1.123decp-7F);
    float q = MULTIPLY_ADD(0x1.555858p-5F, r, 0x1.55548cp-3F);
    p = MULTIPLY_ADD(p, square, q);
    p = MULTIPLY_ADD(p, r, 0x1.fffffcp-2F);
    *k = f32_bits(shifted) - f32_bits(shift);
    return 1.0F + MULTIPLY_ADD(square, p, r);
}

/* Any x. 2^k in two halves: each is a normal number, and only the last product rounds, also where the result is subnormal. */
static inline float exp_f32(float x)
{
    uint32_t k;
    float within = x > 89.0F ? 89.0F : x; /* a NaN stays */
    within = within < -104.5F ? -104.5F : within;
    float y = exp_parts(within, &k);
    uint32_t half = (uint32_t)((int32_t)k >> 1);
    return y * f32_of_bits((half + 127) << 23) * f32_of_bits((k - half + 127) << 23);
}

/* |x| <= 87: the result is a normal number. */
static inline float exp_normal_f32(float x)
{
    uint32_t k;
    float y = exp_parts(x, &k);
    return y * f32_of_bits((k + 127) << 23);
}

/* -------------------------------------------------------------------------------------------------- logarithm */

/*
 * x = 2^k m, sqrt(1/2) <= m < sqrt(2), f = m - 1 exactly; log(1+f) = f - f^2/2 + f^3 P(f), P of degree 8 with error 2^-29 of log. k = 0
 * around 1, so that nothing cancels there.
 */
static inline float log_f32(float x)
{
    const uint32_t root = 0x3f3504f3U; /* sqrt(1/2) */
    uint32_t is_small = x < 0x1p-126F;
    float scaled = is_small ? x * 0x1p23F : x;
    uint32_t above = f32_bits(scaled) - root;
    int32_t k = ((int32_t)above >> 23) - (is_small ? 23 : 0);
    float f = f32_of_bits((above & 0x7fffffU) + root) - 1.0F;
    float n = (float)k;
    float p = 0x1.b565d6p-5F;
    p = MULTIPLY_ADD(p, f, -0x1.bf35f6p-4F);
    p = MULTIPLY_ADD(p, f, 0x1.f0030cp-4F);
    p = MULTIPLY_ADD(p, f, -0x1.010470p-3F);
    p = MULTIPLY_ADD(p, f, 0x1.2302e6p-3F);
    p = MULTIPLY_ADD(p, f, -0x1.552f12p-3F);
    p = MULTIPLY_ADD(p, f, 0x1.99a542p-3F);
    p = MULTIPLY_ADD(p, f, -0x1.000070p-2F);
    p = MULTIPLY_ADD(p, f, 0x1.555548p-2F);
    float low = MULTIPLY_ADD(f * f * f, p, n * -0x1.bd0106p-13F);
    low = MULTIPLY_ADD(-0.5F * f, f, low);
    float y = MULTIPLY_ADD(n, 0x1.63p-1F, f + low);
    y = x == F32_INFINITY ? x : y;
    y = x == 0.0F ? -F32_INFINITY : y;
    y = x < 0.0F ? F32_NAN : y;
    return x != x ? x : y;
}

/* ------------------------------------------------------------------------------------------------------- erf */

/*
 * |x| <= 1: x + x P(x^2), P of degree 6 with error 2^-29. Beyond: 1 - exp(-Q(|x|)), Q = -log erfc of degree 7, an error of 2^-35 in erf;
 * from 3.95 on it is 1 in f32.
 */
static inline float erf_f32(float x)
{
    float size = __builtin_fabsf(x);
    float z = x * x;
    float p = 0x1.477204p-14F;
    p = MULTIPLY_ADD(p, z, -0x1.a3515ep-11F);
    p = MULTIPLY_ADD(p, z, 0x1.53f224p-8F);
    p = MULTIPLY_ADD(p, z, -0x1.b7f71ap-6F);
    p = MULTIPLY_ADD(p, z, 0x1.ce2ce6p-4F);
    p = MULTIPLY_ADD(p, z, -0x1.81273ep-2F);
    p = MULTIPLY_ADD(p, z, 0x1.06eba8p-3F);
    float inner = MULTIPLY_ADD(x, p, x);
    float t = size > 3.95F ? 3.95F : size;
    float q = 0x1.6bcb18p-16F;
    q = MULTIPLY_ADD(q, t, -0x1.cebd70p-12F);
    q = MULTIPLY_ADD(q, t, 0x1.138a7ap-8F);
    q = MULTIPLY_ADD(q, t, -0x1.9d01ccp-6F);
    q = MULTIPLY_ADD(q, t, 0x1.bc14bap-4F);
    q = MULTIPLY_ADD(q, t, 0x1.44356ep-1F);
    q = MULTIPLY_ADD(q, t, 0x1.212c0cp0F);
    q = MULTIPLY_ADD(q, t, -0x1.8a56b8p-13F);
    float outer = __builtin_copysignf(1.0F - exp_normal_f32(-q), x);
    return size <= 1.0F ? inner : outer;
}

/* ---------------------------------------------------------------------------------------------- made of exp, erf */

/* |x| <= 0.625: x + x z P(z), z = x^2, P of degree 4 with error 2^-27.7. Beyond: 1 - 2 / (exp(2|x|) + 1); from 10 on it is 1. */
static inline float tanh_f32(float x)
{
    float size = __builtin_fabsf(x);
    float z = x * x;
    float p = -0x1.750cc4p-8F;
    p = MULTIPLY_ADD(p, z, 0x1.51f8ccp-6F);
    p = MULTIPLY_ADD(p, z, -0x1.b835a4p-5F);
    p = MULTIPLY_ADD(p, z, 0x1.1106f6p-3F);
    p = MULTIPLY_ADD(p, z, -0x1.555532p-2F);
    float inner = MULTIPLY_ADD(x * z, p, x);
    float t = size > 10.0F ? 10.0F : size;
    float outer = __builtin_copysignf(1.0F - 2.0F / (exp_normal_f32(2.0F * t) + 1.0F), x);
    return size <= 0.625F ? inner : outer;
}

/* exp(-|x|) does not overflow, and the quotient is a right subnormal number far below 0. */
static inline float sigmoid_f32(float x)
{
    float power = exp_f32(-__builtin_fabsf(x));
    return (x < 0.0F ? power : 1.0F) / (1.0F + power);
}

/*
 * 1 + erf(t) needs erf to an absolute error only, so one form does for all t: 1 - exp(-Q(|t|)), Q of degree 8 without a constant, with an
 * error of 2^-25.8 in erf.
 */
static inline float gelu_f32(float x)
{
    float t = x * 0x1.6a09e6p-1F; /* x / sqrt 2 */
    float size = __builtin_fabsf(t);
    float z = size > 3.95F ? 3.95F : size;
    float q = 0x1.020b9cp-15F;
    q = MULTIPLY_ADD(q, z, -0x1.3ebc3cp-12F);
    q = MULTIPLY_ADD(q, z, 0x1.0b1bc8p-10F);
    q = MULTIPLY_ADD(q, z, 0x1.2353e4p-11F);
    q = MULTIPLY_ADD(q, z, -0x1.4116c4p-6F);
    q = MULTIPLY_ADD(q, z, 0x1.a59474p-4F);
    q = MULTIPLY_ADD(q, z, 0x1.45f006p-1F);
    q = MULTIPLY_ADD(q, z, 0x1.20dd88p0F);
    float bend = __builtin_copysignf(1.0F - exp_normal_f32(-q * z), x);
    return 0.5F * x * (1.0F + bend);
}

static inline float gelu_tanh_f32(float x)
{
    float inner = MULTIPLY_ADD(x * x * x, 0.044715F, x);
    return 0.5F * x * (1.0F + tanh_f32(inner * 0x1.988454p-1F));
}

static inline float hard_swish_f32(float x)
{
    float line = MULTIPLY_ADD(x, 0x1.555556p-3F, 0.5F);
    line = line < 0.0F ? 0.0F : line;
    return x * (line > 1.0F ? 1.0F : line);
}

/* ------------------------------------------------------------------------------------------------------- power */

/*
 * log2 of a positive number: 2^k m as above, s = (m-1)/(m+1), log2(m) = s P(s^2), P of degree 4 with error 2^-37. The exponent is taken
 * by a shift without sign and turned into a double by its bits, since AVX2 has neither shift nor conversion of signed 64-bit integers.
 */
static inline double log2_f64(double x)
{
    const uint64_t root = UINT64_C(0x3fe6a09e667f3bcd), one = UINT64_C(0x3ff0000000000000);
    uint64_t above = f64_bits(x) + (one - root);
    double k = f64_of_bits((above >> 52) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    double m = f64_of_bits((above & UINT64_C(0xfffffffffffff)) + root);
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s;
    double p = 0x1.5ce867181e988p-2;
    p = MULTIPLY_ADD_D(p, z, 0x1.a58d8788648cfp-2);
    p = MULTIPLY_ADD_D(p, z, 0x1.27777fec1f03dp-1);
    p = MULTIPLY_ADD_D(p, z, 0x1.ec709d12c7c08p-1);
    p = MULTIPLY_ADD_D(p, z, 0x1.71547652bee05p+1);
    return MULTIPLY_ADD_D(s, p, k);
}

/* 2^x, |x| <= 1000; P of degree 7 with error 2^-34. */
static inline double exp2_f64(double x)
{
    const double shift = 0x1.8p52;
    double shifted = x + shift;
    double f = x - (shifted - shift);
    double p = 0x1.fe177f442959cp-17;
    p = MULTIPLY_ADD_D(p, f, 0x1.446a1fe3940f3p-13);
    p = MULTIPLY_ADD_D(p, f, 0x1.5d8a708c13e1bp-10);
    p = MULTIPLY_ADD_D(p, f, 0x1.3b29dc40f3ceep-7);
    p = MULTIPLY_ADD_D(p, f, 0x1.c6b08aaf2b6f7p-5);
    p = MULTIPLY_ADD_D(p, f, 0x1.ebfbe0a4bdf11p-3);
    p = MULTIPLY_ADD_D(p, f, 0x1.62e42ff1162c2p-1);
    p = MULTIPLY_ADD_D(p, f, 0x1.ffffffffabbe7p-1);
    return p * f64_of_bits((f64_bits(shifted) + 1023) << 52);
}

/* Whole numbers; those from 2^52 on are. */
static inline uint64_t is_whole(double y)
{
    double rounded = (y + 0x1.8p52) - 0x1.8p52;
    return (uint64_t)(rounded == y) | (uint64_t)(__builtin_fabs(y) >= 0x1p51);
}

/* In f64, rounded once at the end: the error of y log2(x) is 2^-30 where the result does not overflow. Special values as IEEE 754 pow. */
static inline float pow_f32(float x, double y)
{
    double size = __builtin_fabs((double)x);
    double exponent = log2_f64(size);
    exponent = size == 0.0 ? -__builtin_inf() : exponent;
    exponent = size > 0x1p200 ? __builtin_inf() : exponent;
    double product = exponent * y;
    product = product > 1000.0 ? 1000.0 : product;
    product = product < -1000.0 ? -1000.0 : product;
    float power = (float)exp2_f64(product);
    uint64_t is_odd = is_whole(y) & (is_whole(0.5 * y) ^ 1);
    uint32_t sign = is_odd != 0 ? f32_bits(x) & 0x80000000U : 0;
    power = size == 1.0 && y == y ? 1.0F : power; /* also of an infinite y */
    power = f32_of_bits(f32_bits(power) | sign);
    power = x < 0.0F && size < 0x1p200 && is_whole(y) == 0 ? F32_NAN : power;
    power = x != x ? x : power;
    return y == 0.0 || x == 1.0F ? 1.0F : power;
}

#endif
