/* SPDX-License-Identifier: Apache-2.0 */
/* Capture level counts: the table of a thread slot that its thread adds to (counts.h) and the collector reads. */
#ifndef OPD_COUNTED_H
#define OPD_COUNTED_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * At capture level counts: calls of one kind that a thread made (counts.h). Kinds that find no place among the first OPD_COUNT_KINDS are counted
 * together by their operator, for all threads that had the slot.
 */
#define OPD_COUNT_KINDS     2048u
#define OPD_COUNT_OPERATORS 512u
typedef struct opd_counted {
    _Atomic uint64_t key;   /* 0 = free */
    _Atomic uint64_t first; /* thread:24 number:40 of the first call, the one with a record; 0 = it found no room */
    _Atomic uint64_t calls;
    _Atomic uint64_t ticks;
} opd_counted;
#define OPD_COUNT_NUMBER_BITS 40
_Static_assert((OPD_COUNT_KINDS & (OPD_COUNT_KINDS - 1)) == 0 && (OPD_COUNT_OPERATORS & (OPD_COUNT_OPERATORS - 1)) == 0,
               "keys are masked");

#endif
