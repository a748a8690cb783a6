/* SPDX-License-Identifier: Apache-2.0 */
/* What core itself must know of a dtype beyond the public functions. */
#ifndef OPD_CORE_DTYPE_H
#define OPD_CORE_DTYPE_H

#include <opsdebug/tensor.h>

typedef enum opd_dtype_class {
    OPD_CLASS_NONE,
    OPD_CLASS_FLOAT,
    OPD_CLASS_SIGNED,
    OPD_CLASS_UNSIGNED,
    OPD_CLASS_BOOL
} opd_dtype_class;

typedef struct opd_dtype_info {
    const char *name;
    uint8_t size;          /* bytes of an element */
    uint8_t part;          /* bytes of one component */
    uint8_t exponent_bits; /* of a floating component */
    uint8_t fraction_bits; /* of a floating component, the hidden bit not counted */
    opd_dtype_class kind;  /* of a component */
} opd_dtype_info;

/* Never NULL: an unknown code gives an entry of size 0. */
const opd_dtype_info *opd_dtype_info_of(opd_dtype dtype);

/* The double of an IEEE-like pattern of at most 32 bits; exact. */
double opd_widen(uint32_t bits, int exponent_bits, int fraction_bits);
/* The nearest pattern, ties to even, in one rounding; NaN stays NaN (quiet), overflow gives Inf. */
uint32_t opd_narrow(double value, int exponent_bits, int fraction_bits);

#endif
