/* SPDX-License-Identifier: Apache-2.0 */
/* Canary values: recognisable NaNs and random bytes for memory that nobody should read or write. */
#ifndef OPD_REPLAYER_CANARY_H
#define OPD_REPLAYER_CANARY_H

#include <stdint.h>

#include <opsdebug/tensor.h>

#define OPD_CANARY_WORKSPACE 63 /* in place of an operand's number */

typedef struct opd_canary {
    bool is_canary;
    bool is_content; /* content of an operand, else its surroundings */
    int operand;     /* or OPD_CANARY_WORKSPACE; -1 = no canary */
} opd_canary;

/* Fills [from, to); elements of dtype are at addresses phase + k * size. */
void opd_canary_fill(uint8_t *from, const uint8_t *to, uintptr_t phase, opd_dtype dtype, int operand, bool is_content);
/* Is the component at element (a NaN, of real type part) a canary that arithmetic handed on? */
opd_canary opd_canary_read(opd_dtype part, const void *element);

#endif
