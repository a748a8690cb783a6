/* SPDX-License-Identifier: Apache-2.0 */
/* What sums of integers are, exactly: shared by the definitions and the variants, since there is nothing to round. Private to kernels/. */
#ifndef OPD_KERNELS_INTEGERS_H
#define OPD_KERNELS_INTEGERS_H

#include <math.h>
#include <stdint.h>

#include <opsdebug/tensor.h>

__extension__ typedef __int128 opd_i128;
__extension__ typedef unsigned __int128 opd_u128;

typedef enum opd_reduction {
    OPD_REDUCE_SUM,
    OPD_REDUCE_MEAN,
    OPD_REDUCE_MAX,
    OPD_REDUCE_MIN,
    OPD_REDUCE_L2
} opd_reduction;

static inline bool opd_is_signed(opd_dtype dtype)
{
    return dtype == OPD_I8 || dtype == OPD_I16 || dtype == OPD_I32 || dtype == OPD_I64;
}

/* The value modulo 2^bits of the dtype. */
static inline opd_i128 opd_integer_wrap(opd_dtype dtype, opd_i128 value)
{
    int bits = (int)opd_dtype_size(dtype) * 8;
    opd_u128 low = (opd_u128)value & (((opd_u128)1 << bits) - 1);
    bool is_negative = opd_is_signed(dtype) && (low >> (bits - 1)) != 0;
    return is_negative ? (opd_i128)low - ((opd_i128)1 << bits) : (opd_i128)low;
}

static inline opd_i128 opd_integer_highest(opd_dtype dtype)
{
    int bits = (int)opd_dtype_size(dtype) * 8;
    return ((opd_i128)1 << (opd_is_signed(dtype) ? bits - 1 : bits)) - 1;
}

static inline opd_i128 opd_integer_lowest(opd_dtype dtype)
{
    return opd_is_signed(dtype) ? -opd_integer_highest(dtype) - 1 : 0;
}

/* What a reduction begins with; squares are unsigned. */
static inline opd_i128 opd_integer_begin(opd_reduction kind, opd_dtype dtype)
{
    return kind == OPD_REDUCE_MAX ? opd_integer_lowest(dtype) : kind == OPD_REDUCE_MIN ? opd_integer_highest(dtype) : 0;
}

static inline opd_i128 opd_integer_step(opd_reduction kind, opd_i128 acc, opd_i128 value)
{
    switch (kind) {
    case OPD_REDUCE_MAX:
        return value > acc ? value : acc;
    case OPD_REDUCE_MIN:
        return value < acc ? value : acc;
    case OPD_REDUCE_L2: {
        opd_u128 sum = (opd_u128)acc + (opd_u128)(value < 0 ? -value : value) * (opd_u128)(value < 0 ? -value : value);
        return sum < (opd_u128)acc ? (opd_i128) ~(opd_u128)0 : (opd_i128)sum; /* beyond any root that fits */
    }
    default:
        return acc + value;
    }
}

/* Square root rounded down. */
static inline opd_u128 opd_integer_root(opd_u128 value)
{
    opd_u128 root = (opd_u128)sqrtl((long double)value);
    while (root > UINT64_MAX || root * root > value) {
        root--;
    }
    while (root < UINT64_MAX && (root + 1) * (root + 1) <= value) {
        root++;
    }
    return root;
}

static inline opd_i128 opd_integer_end(opd_reduction kind, opd_dtype dtype, opd_i128 acc, int64_t count)
{
    switch (kind) {
    case OPD_REDUCE_SUM:
        return opd_integer_wrap(dtype, acc);
    case OPD_REDUCE_MEAN:
        return count > 0 ? acc / count : 0;
    case OPD_REDUCE_L2: {
        opd_i128 root = (opd_i128)opd_integer_root((opd_u128)acc);
        return root > opd_integer_highest(dtype) ? opd_integer_highest(dtype) : root;
    }
    default:
        return acc;
    }
}

#endif
