/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions run with 113 bits of mantissa. Numbers lie in the places of long doubles, 16 bytes each, and are told by nothing else: between
 * opd_quad_widen() and the end of the run they are binary128. Private to kernels/.
 */
#ifndef OPD_KERNELS_QUAD_H
#define OPD_KERNELS_QUAD_H

#include <opsdebug/kernel.h>

/* The second form of a definition; NULL: there is none. */
opd_definition *opd_quad_find(opd_definition *definition);
/* long doubles of 64 bits of mantissa become binary128 in their places, each exactly. */
void opd_quad_widen(void *values, int64_t count);
/* |value - wide| + cap 2^-112 gauge, value and gauge of 64 bits, wide of 113; NaN or the same infinity on both sides: 0. */
void opd_quad_compare(double *doubt, const void *value, const void *gauge, const void *wide, int64_t count, double cap);

#endif
