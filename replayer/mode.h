/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point mode of the worker's thread, set for a call and put back after it. */
#ifndef OPD_REPLAYER_MODE_H
#define OPD_REPLAYER_MODE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct opd_mode {
    uint32_t mxcsr; /* OPD_MXCSR_CONTROL bits */
    uint16_t x87;   /* control word: long double computes by it, so references rely on it */
} opd_mode;

/* Sets MXCSR for a call; the mode that was there. */
opd_mode opd_mode_enter(uint32_t mxcsr);
/* Puts the mode back; left is the one found. Is it another than the one the call began with? */
bool opd_mode_leave(opd_mode *left, const opd_mode *before, uint32_t mxcsr);

#endif
