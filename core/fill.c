/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills: what an element holds is a function of (kind, a, b, seed, stream, position) and of the dtype, nothing else. The
 * imaginary part of a complex element uses the second half of its random block.
 */
#include <opsdebug/random.h>

#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "dtype.h"
#include "elementary.h"
#include "fpenv.h"

#define UNIT_53 (1.0 / 9007199254740992.0) /* 2^-53 */
#define UNIT_52 (1.0 / 4503599627370496.0) /* 2^-52 */

static const char *const kinds[] = {
#define OPD_X(id, text) [OPD_FILL_##id] = (text),
    OPD_FILL_LIST(OPD_X)
#undef OPD_X
};

static opd_fill default_of(opd_fill_kind kind)
{
    opd_fill fill = { .kind = kind, .a = 0.0, .b = 1.0 };
    if (kind == OPD_FILL_UNIFORM) {
        fill.a = -1.0;
    } else if (kind == OPD_FILL_INTEGERS) {
        fill.a = -4.0;
        fill.b = 4.0;
    } else if (kind == OPD_FILL_CONSTANT || kind == OPD_FILL_LONG_TAILED) {
        fill.a = 1.0;
    }
    return fill;
}

static opd_status unknown_kind(const char *text)
{
    char names[160];
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < OPD_COUNT(kinds); i++) {
        size_t length = strlen(kinds[i]);
        if (used + length + 2 < sizeof(names)) {
            names[used] = ' ';
            memcpy(names + used + 1, kinds[i], length + 1);
            used += length + 1;
        }
    }
    return opd_fail(OPD_E_INVALID, "fill '%s' is none of:%s", text, names);
}

/* Reads ":NUMBER" at *text, if there is one. */
static bool read_number(const char **text, double *out)
{
    if (**text == '\0') {
        return true;
    }
    if (**text != ':') {
        return false;
    }
    char *end;
    double value = strtod(*text + 1, &end);
    if (end == *text + 1) {
        return false;
    }
    *out = value;
    *text = end;
    return true;
}

opd_status opd_fill_parse(opd_fill *out, const char *text)
{
    size_t length = strcspn(text, ":");
    for (size_t i = 0; i < OPD_COUNT(kinds); i++) {
        if (strlen(kinds[i]) != length || memcmp(kinds[i], text, length) != 0) {
            continue;
        }
        opd_fill fill = default_of((opd_fill_kind)i);
        const char *rest = text + length;
        if (!read_number(&rest, &fill.a) || !read_number(&rest, &fill.b) || *rest != '\0') {
            return opd_fail(OPD_E_INVALID, "fill '%s' is not KIND[:A[:B]] with numbers A and B", text);
        }
        *out = fill;
        return OPD_OK;
    }
    return unknown_kind(text);
}

/* ------------------------------------------------------------------------------------------------- one component */

/* Strictly inside (0, 1). */
static double open_unit(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * UNIT_52;
}

/* As a float component of the dtype would hold it. */
static double rounded(const opd_dtype_info *info, double value)
{
    if (info->kind != OPD_CLASS_FLOAT || info->part == 8) {
        return value;
    }
    uint32_t bits = opd_narrow(value, info->exponent_bits, info->fraction_bits);
    return opd_widen(bits, info->exponent_bits, info->fraction_bits);
}

static double uniform(const opd_dtype_info *info, const opd_fill *fill, uint64_t bits)
{
    double value = fill->a + (fill->b - fill->a) * ((double)(bits >> 11) * UNIT_53);
    /* Rounding may reach b, which is outside. */
    return rounded(info, value) >= fill->b ? fill->a : value;
}

/* The whole number at or above value, kept in a range where doubles of whole numbers still convert. */
static int64_t whole_above(double value)
{
    double limit = opd_power_of_two(61);
    if (!(value > -limit)) {
        return -(INT64_C(1) << 61);
    }
    if (value >= limit) {
        return INT64_C(1) << 61;
    }
    int64_t whole = (int64_t)value;
    return (double)whole < value ? whole + 1 : whole;
}

static double integer(const opd_fill *fill, uint64_t bits)
{
    int64_t low = whole_above(fill->a);
    int64_t high = -whole_above(-fill->b);
    if (high <= low) {
        return (double)low;
    }
    uint64_t count = (uint64_t)(high - low) + 1;
    __extension__ unsigned __int128 product = (unsigned __int128)bits * count;
    return (double)(low + (int64_t)(product >> 64));
}

#define SPECIAL_KINDS 16

static double special(const opd_dtype_info *info, uint64_t bits)
{
    int exponent_bits = info->exponent_bits;
    int fraction_bits = info->fraction_bits;
    if (info->kind != OPD_CLASS_FLOAT) {
        exponent_bits = 11; /* storing a double's extremes saturates to the integers' */
        fraction_bits = 52;
    }
    int bias = (1 << (exponent_bits - 1)) - 1;
    double tiny = opd_power_of_two(1 - bias - fraction_bits);
    double normal = opd_power_of_two(1 - bias);
    double step = opd_power_of_two(-fraction_bits);
    double largest = (2.0 - step) * opd_power_of_two(bias);
    const double values[SPECIAL_KINDS] = {
        __builtin_nan(""), __builtin_inf(), -__builtin_inf(), 0.0,     -0.0,     tiny, -tiny, normal - tiny,
        -(normal - tiny),  normal,          -normal,          largest, -largest, 1.0,  -1.0,  1.0 + step,
    };
    return values[bits >> 60];
}

static double component(const opd_dtype_info *info, const opd_fill *fill, int64_t position, uint64_t bits)
{
    switch (fill->kind) {
    case OPD_FILL_UNIFORM:
        return uniform(info, fill, bits);
    case OPD_FILL_NORMAL:
        return fill->a + fill->b * opd_normal_quantile(open_unit(bits));
    case OPD_FILL_INTEGERS:
        return integer(fill, bits);
    case OPD_FILL_RAMP:
        return fill->a + fill->b * (double)position;
    case OPD_FILL_LONG_TAILED: {
        /* The quantile uses the high 52 bits, so the lowest one is free for the sign. */
        double size = fill->a * opd_exp(fill->b * opd_normal_quantile(open_unit(bits)));
        return (bits & 1) != 0 ? -size : size;
    }
    case OPD_FILL_SPECIAL:
        return special(info, bits);
    case OPD_FILL_CONSTANT:
        break;
    }
    return fill->a;
}

static bool is_random(opd_fill_kind kind)
{
    return kind != OPD_FILL_CONSTANT && kind != OPD_FILL_RAMP;
}

static void fill_element(const opd_dtype_info *info, opd_dtype dtype, void *element, const opd_fill *fill,
                         int64_t position)
{
    uint64_t bits[2] = { 0, 0 };
    if (is_random(fill->kind)) {
        opd_random_pair(bits, fill->seed, fill->stream, (uint64_t)position);
    }
    double re = component(info, fill, position, bits[0]);
    double im = 0.0;
    if (info->size != info->part && is_random(fill->kind)) {
        im = component(info, fill, position, bits[1]);
    }
    opd_element_store(dtype, element, re, im);
}

void opd_tensor_fill(const opd_tensor *view, const opd_fill *fill)
{
    const opd_dtype_info *info = opd_dtype_info_of(view->dtype);
    int64_t count = opd_tensor_count(view);
    int64_t index[OPD_MAX_RANK] = { 0 };
    int64_t offset = 0;
    opd_fpenv saved = opd_fpenv_enter();
    for (int64_t position = 0; position < count; position++) {
        if (opd_tensor_exists(view, index)) {
            fill_element(info, view->dtype, (uint8_t *)view->data + offset, fill, position);
        }
        for (int32_t d = view->rank - 1; d >= 0; d--) {
            offset += view->stride[d] * info->size;
            if (++index[d] < view->shape[d]) {
                break;
            }
            offset -= view->shape[d] * view->stride[d] * info->size;
            index[d] = 0;
        }
    }
    opd_fpenv_leave(saved);
}
