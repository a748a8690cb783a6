/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f16 and bf16 to and from f32, inline so that loops over rows stay loops: by the F16C instructions where the file is compiled for them, by bits
 * elsewhere. Rounding is to nearest even, NaN stays NaN. Private to kernels/linear.
 */
#ifndef OPD_KERNELS_NARROW_H
#define OPD_KERNELS_NARROW_H

#include <stdint.h>
#include <string.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

static inline float opd_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t opd_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float opd_from_bf16(uint16_t half)
{
    return opd_float_of_bits((uint32_t)half << 16);
}

static inline uint16_t opd_to_bf16(float value)
{
    uint32_t bits = opd_bits_of_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#ifdef __F16C__
static inline float opd_from_f16(uint16_t half)
{
    return _cvtsh_ss(half);
}

static inline uint16_t opd_to_f16(float value)
{
    return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
}
#else
static inline float opd_from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t rest = (uint32_t)(half & 0x7fffu) << 13;
    if (rest >= 0x0f800000u) { /* Inf, NaN */
        return opd_float_of_bits(sign | (rest + 0x70000000u) | (rest > 0x0f800000u ? 0x400000u : 0));
    }
    /* The exponent is 112 too small, subnormals included: the product is exact. */
    return opd_float_of_bits(sign | opd_bits_of_float(opd_float_of_bits(rest) * 0x1p112f));
}

static inline uint16_t opd_to_f16(float value)
{
    uint32_t bits = opd_bits_of_float(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
    }
    if (bits >= 0x477ff000u) { /* 65520 and above */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (bits < 0x38800000u) { /* subnormal: adding 0.5 leaves its multiples of 2^-24 in the last bits, rounded */
        return (uint16_t)(sign | (opd_bits_of_float(opd_float_of_bits(bits) + 0.5f) - 0x3f000000u));
    }
    return (uint16_t)(sign | ((bits - 0x38000000u + 0xfffu + (bits >> 13 & 1u)) >> 13));
}
#endif

#endif
