/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One element as a number, both ways. Elements may lie at any address.
 */
#include "dtype.h"

#include <string.h>

#define LOAD(type)                              \
    {                                           \
        type value;                             \
        memcpy(&value, element, sizeof(value)); \
        return (double)value;                   \
    }

static double load_component(opd_dtype dtype, const uint8_t *element)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    switch (dtype) {
    case OPD_F16:
    case OPD_BF16: {
        uint16_t bits;
        memcpy(&bits, element, sizeof(bits));
        return opd_widen(bits, info->exponent_bits, info->fraction_bits);
    }
    case OPD_F32:
    case OPD_C64: {
        uint32_t bits;
        memcpy(&bits, element, sizeof(bits));
        return opd_widen(bits, info->exponent_bits, info->fraction_bits);
    }
    case OPD_F64:
    case OPD_C128:
        LOAD(double)
    case OPD_I8:
        LOAD(int8_t)
    case OPD_I16:
        LOAD(int16_t)
    case OPD_I32:
        LOAD(int32_t)
    case OPD_I64:
        LOAD(int64_t)
    case OPD_U8:
        LOAD(uint8_t)
    case OPD_U16:
        LOAD(uint16_t)
    case OPD_U32:
        LOAD(uint32_t)
    case OPD_U64:
        LOAD(uint64_t)
    case OPD_BOOL:
        return *element != 0 ? 1.0 : 0.0;
    case OPD_DTYPE_NONE:
        break;
    }
    return 0.0;
}

void opd_element_load(opd_dtype dtype, const void *element, double *re, double *im)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    const uint8_t *bytes = element;
    *re = load_component(dtype, bytes);
    *im = info->size != info->part ? load_component(dtype, bytes + info->part) : 0.0;
}

/* Towards zero, saturating; NaN gives 0. */
static void store_signed(uint8_t *element, size_t size, double value)
{
    double limit = (double)(UINT64_C(1) << (8 * size - 1));
    int64_t whole = 0;
    if (value >= limit) {
        whole = (int64_t)((UINT64_C(1) << (8 * size - 1)) - 1);
    } else if (value <= -limit) {
        whole = -(int64_t)((UINT64_C(1) << (8 * size - 1)) - 1) - 1;
    } else if (value == value) {
        whole = (int64_t)value;
    }
    memcpy(element, &whole, size); /* little endian: the low bytes come first */
}

static void store_unsigned(uint8_t *element, size_t size, double value)
{
    double limit = 2.0 * (double)(UINT64_C(1) << (8 * size - 1));
    uint64_t whole = 0;
    if (value >= limit) {
        whole = UINT64_MAX >> (64 - 8 * size);
    } else if (value >= 1.0) {
        whole = (uint64_t)value;
    }
    memcpy(element, &whole, size);
}

static void store_component(opd_dtype dtype, uint8_t *element, double value)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    if (info->kind == OPD_CLASS_SIGNED) {
        store_signed(element, info->size, value);
    } else if (info->kind == OPD_CLASS_UNSIGNED) {
        store_unsigned(element, info->size, value);
    } else if (info->part == 8) {
        memcpy(element, &value, sizeof(value));
    } else if (info->kind == OPD_CLASS_FLOAT) {
        uint32_t bits = opd_narrow(value, info->exponent_bits, info->fraction_bits);
        memcpy(element, &bits, info->part);
    }
}

void opd_element_store(opd_dtype dtype, void *element, double re, double im)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    uint8_t *bytes = element;
    if (info->kind == OPD_CLASS_BOOL) {
        *bytes = re != 0.0 || im != 0.0;
        return;
    }
    store_component(dtype, bytes, re);
    if (info->size != info->part) {
        store_component(dtype, bytes + info->part, im);
    }
}

long double opd_element_load_wide(opd_dtype dtype, const void *element)
{
    if (dtype == OPD_I64) {
        int64_t value;
        memcpy(&value, element, sizeof(value));
        return (long double)value;
    }
    if (dtype == OPD_U64) {
        uint64_t value;
        memcpy(&value, element, sizeof(value));
        return (long double)value;
    }
    return (long double)load_component(dtype, element);
}

/* The double next to value whose last bit is odd when value is none: rounding it again gives what rounding once would. */
static double round_to_odd(long double value)
{
    double near = (double)value;
    long double back = (long double)near;
    uint64_t bits;
    if (back == value || value != value || near - near != 0.0) {
        return near;
    }
    memcpy(&bits, &near, sizeof(bits));
    bits -= (back < 0 ? -back : back) > (value < 0 ? -value : value);
    bits |= 1;
    memcpy(&near, &bits, sizeof(near));
    return near;
}

void opd_element_store_wide(opd_dtype dtype, void *element, long double value)
{
    const long double two63 = 9223372036854775808.0L;
    if (dtype == OPD_I64) {
        int64_t whole = value >= two63 ? INT64_MAX : value <= -two63 ? INT64_MIN : value == value ? (int64_t)value : 0;
        memcpy(element, &whole, sizeof(whole));
    } else if (dtype == OPD_U64) {
        uint64_t whole = value >= 2.0L * two63 ? UINT64_MAX : value >= 1.0L ? (uint64_t)value : 0;
        memcpy(element, &whole, sizeof(whole));
    } else if (dtype == OPD_F64) {
        double narrow = (double)value;
        memcpy(element, &narrow, sizeof(narrow));
    } else {
        opd_element_store(dtype, element, round_to_odd(value), 0.0);
    }
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "element bytes, digests and bundles are little endian");
