/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the two forms of long double; compiled with that of 113 bits. The x87 form has the sign and 15 bits of exponent of binary128, and 64
 * bits of mantissa of which the first is written: the other 63 are the first of binary128's 112.
 */
#include "quad.h"

#include <math.h>
#include <string.h>

_Static_assert(sizeof(long double) == 16, "both forms take 16 bytes");
_Static_assert(__LDBL_MANT_DIG__ == 113, "compiled with -mlong-double-128");

static long double widened(const void *value)
{
    uint64_t mantissa = 0;
    uint16_t head = 0;
    long double wide = 0;
    memcpy(&mantissa, value, sizeof mantissa);
    memcpy(&head, (const uint8_t *)value + sizeof mantissa, sizeof head);
    uint64_t fraction = mantissa & ~(UINT64_C(1) << 63);
    const uint64_t words[2] = { fraction << 49, (uint64_t)head << 48 | fraction >> 15 };
    memcpy(&wide, words, sizeof wide);
    return wide;
}

void opd_quad_widen(void *values, int64_t count)
{
    uint8_t *at = values;
    for (int64_t i = 0; i < count; i++, at += sizeof(long double)) {
        long double wide = widened(at);
        memcpy(at, &wide, sizeof wide);
    }
}

void opd_quad_compare(double *doubt, const void *value, const void *gauge, const void *wide, int64_t count, double cap)
{
    for (int64_t i = 0; i < count; i++) {
        size_t place = (size_t)i * sizeof(long double);
        long double one = widened((const uint8_t *)value + place);
        long double size = gauge != NULL ? widened((const uint8_t *)gauge + place) : 0;
        long double two = 0;
        memcpy(&two, (const uint8_t *)wide + place, sizeof two);
        bool is_same = one == two || (isnan(one) && isnan(two));
        long double error = is_same ? 0 : one > two ? one - two : two - one;
        doubt[i] = isfinite(two) || !is_same ? (double)(error + (long double)cap * 0x1p-112L * size) : 0;
    }
}
