/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dtype table, from the one list in tensor.h, and the conversion of short floating formats in integer arithmetic:
 * it depends neither on the rounding mode nor on FTZ/DAZ of the calling thread.
 */
#include "dtype.h"

#include <string.h>

#include <opsdebug/memory.h>

/* Floating formats: exponent and fraction bits of one component. */
#define FORMAT_F16  5, 10, OPD_CLASS_FLOAT
#define FORMAT_BF16 8, 7, OPD_CLASS_FLOAT
#define FORMAT_F32  8, 23, OPD_CLASS_FLOAT
#define FORMAT_F64  11, 52, OPD_CLASS_FLOAT
#define FORMAT_C64  FORMAT_F32
#define FORMAT_C128 FORMAT_F64
#define FORMAT_I8   0, 0, OPD_CLASS_SIGNED
#define FORMAT_I16  FORMAT_I8
#define FORMAT_I32  FORMAT_I8
#define FORMAT_I64  FORMAT_I8
#define FORMAT_U8   0, 0, OPD_CLASS_UNSIGNED
#define FORMAT_U16  FORMAT_U8
#define FORMAT_U32  FORMAT_U8
#define FORMAT_U64  FORMAT_U8
#define FORMAT_BOOL 0, 0, OPD_CLASS_BOOL

static const opd_dtype_info table[] = { [OPD_DTYPE_NONE] = { "?", 0, 0, 0, 0, OPD_CLASS_NONE },
#define OPD_X(id, number, size, part, text) [number] = { text, size, part, FORMAT_##id },
                                        OPD_DTYPE_LIST(OPD_X)
#undef OPD_X
};

const opd_dtype_info *opd_dtype_info_of(opd_dtype dtype)
{
    return (unsigned)dtype < OPD_COUNT(table) ? &table[(unsigned)dtype] : &table[OPD_DTYPE_NONE];
}

size_t opd_dtype_size(opd_dtype dtype)
{
    return opd_dtype_info_of(dtype)->size;
}

const char *opd_dtype_name(opd_dtype dtype)
{
    return opd_dtype_info_of(dtype)->name;
}

opd_dtype opd_dtype_parse(const char *text)
{
    for (unsigned i = 1; i < OPD_COUNT(table); i++) {
        if (strcmp(text, table[i].name) == 0) {
            return (opd_dtype)i;
        }
    }
    return OPD_DTYPE_NONE;
}

opd_dtype opd_dtype_from_onnx(int64_t number)
{
    static const opd_dtype numbers[] = {
        [1] = OPD_F32,  [2] = OPD_U8,   [3] = OPD_I8,   [4] = OPD_U16,   [5] = OPD_I16,
        [6] = OPD_I32,  [7] = OPD_I64,  [9] = OPD_BOOL, [10] = OPD_F16,  [11] = OPD_F64,
        [12] = OPD_U32, [13] = OPD_U64, [14] = OPD_C64, [15] = OPD_C128, [16] = OPD_BF16,
    };
    return number >= 0 && number < (int64_t)OPD_COUNT(numbers) ? numbers[number] : OPD_DTYPE_NONE;
}

bool opd_dtype_is_float(opd_dtype dtype)
{
    return opd_dtype_info_of(dtype)->kind == OPD_CLASS_FLOAT;
}

bool opd_dtype_is_complex(opd_dtype dtype)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    return info->size != info->part;
}

opd_dtype opd_dtype_real(opd_dtype dtype)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    if (info->size == info->part) {
        return dtype;
    }
    return info->part == 4 ? OPD_F32 : OPD_F64;
}

/* By bits: ilogb and ldexp were half of the time of a comparison. */
double opd_dtype_ulp(opd_dtype dtype, double value)
{
    static const struct {
        opd_dtype part;
        int digits, least;
    } formats[] = { { OPD_F64, 53, -1022 }, { OPD_F32, 24, -126 }, { OPD_F16, 11, -14 }, { OPD_BF16, 8, -126 } };
    opd_dtype part = opd_dtype_real(dtype);
    uint64_t bits = 0;
    double ulp = 1.0;
    memcpy(&bits, &value, sizeof bits);
    for (size_t i = 0; i < OPD_COUNT(formats); i++) {
        if (formats[i].part == part) {
            bool is_finite = (bits >> 52 & 0x7ff) != 0x7ff;
            int exponent = is_finite ? (int)(bits >> 52 & 0x7ff) - 1023 : formats[i].least;
            exponent = (exponent < formats[i].least ? formats[i].least : exponent) - formats[i].digits + 1;
            bits = exponent >= -1022 ? (uint64_t)(exponent + 1023) << 52 : UINT64_C(1) << (exponent + 1074);
            memcpy(&ulp, &bits, sizeof ulp);
            break;
        }
    }
    return ulp;
}

double opd_dtype_epsilon(opd_dtype dtype)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    return info->kind == OPD_CLASS_FLOAT ? 1.0 / (double)(UINT64_C(1) << info->fraction_bits) : 0.0;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

double opd_dtype_largest(opd_dtype dtype)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    if (info->kind != OPD_CLASS_FLOAT) {
        return 0.0;
    }
    uint64_t exponent = 1023 + (UINT64_C(1) << (info->exponent_bits - 1)) - 1;
    uint64_t fraction = (UINT64_C(1) << info->fraction_bits) - 1;
    return double_of(exponent << 52 | fraction << (52 - info->fraction_bits));
}

double opd_widen(uint32_t bits, int exponent_bits, int fraction_bits)
{
    uint64_t sign = (uint64_t)(bits >> (exponent_bits + fraction_bits)) << 63;
    int exponent_top = (1 << exponent_bits) - 1;
    int exponent = (int)(bits >> fraction_bits) & exponent_top;
    uint64_t fraction = bits & ((UINT32_C(1) << fraction_bits) - 1);
    int bias = exponent_top >> 1;
    if (exponent == exponent_top) {
        return double_of(sign | UINT64_C(0x7ff) << 52 | fraction << (52 - fraction_bits));
    }
    if (exponent == 0) {
        if (fraction == 0) {
            return double_of(sign);
        }
        /* A subnormal has a place among the normal doubles: shift its leading one up to the hidden bit. */
        int shift = __builtin_clzll(fraction) - (63 - fraction_bits);
        fraction = (fraction << shift) & ((UINT64_C(1) << fraction_bits) - 1);
        exponent = 1 - shift;
    }
    return double_of(sign | (uint64_t)(exponent - bias + 1023) << 52 | fraction << (52 - fraction_bits));
}

uint32_t opd_narrow(double value, int exponent_bits, int fraction_bits)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint32_t sign = (uint32_t)(bits >> 63) << (exponent_bits + fraction_bits);
    int exponent_top = (1 << exponent_bits) - 1;
    uint32_t infinity = (uint32_t)exponent_top << fraction_bits;
    int exponent = (int)(bits >> 52) & 0x7ff;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7ff) {
        if (fraction == 0) {
            return sign | infinity;
        }
        return sign | infinity | UINT32_C(1) << (fraction_bits - 1) | (uint32_t)(fraction >> (52 - fraction_bits));
    }
    int target = exponent - 1023 + (exponent_top >> 1);
    if (target >= exponent_top) {
        return sign | infinity;
    }
    int shift = 52 - fraction_bits;
    uint64_t whole = fraction | UINT64_C(1) << 52;
    if (target <= 0) {
        shift += 1 - target;
        target = 0;
        if (exponent == 0 || shift > 53) {
            return sign; /* under half of the smallest subnormal */
        }
    } else {
        whole = fraction;
    }
    uint64_t kept = whole >> shift;
    uint64_t half = UINT64_C(1) << (shift - 1);
    uint64_t rest = whole & ((UINT64_C(1) << shift) - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) {
        kept++; /* a carry runs into the exponent, up to Inf, as it should */
    }
    return sign | (((uint32_t)target << fraction_bits) + (uint32_t)kept);
}
