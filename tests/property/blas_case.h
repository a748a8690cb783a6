/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BLAS call with memory for the tests: every operand in a buffer of its own with margins, all bytes that are no
 * element filled with a pattern that reads as NaN, elements filled with random numbers.
 */
#ifndef OPD_TESTS_BLAS_CASE_H
#define OPD_TESTS_BLAS_CASE_H

#include <opsdebug/op.h>

typedef struct blas_case {
    opd_call call;
    uint8_t *buffers[OPD_MAX_OPERANDS];
    uint8_t *snapshots[OPD_MAX_OPERANDS]; /* as the buffers were after filling */
    size_t sizes[OPD_MAX_OPERANDS];
} blas_case;

/* A repeatable sequence of numbers. */
typedef struct dice {
    uint64_t seed;
    uint64_t count;
} dice;
uint64_t dice_u64(dice *d);
int64_t dice_between(dice *d, int64_t low, int64_t high);

/* Allocates and fills for item->call, whose values are set and bound. Operands that must not be read hold NaN when poison. */
void blas_case_fill(blas_case *item, dice *d, bool poison);
void blas_case_done(blas_case *item);

/* Offset of the first byte that is no element of an output and has changed, with its operand; -1 when none has. */
int64_t blas_case_stray_write(const blas_case *item, int *operand);

/* Calls visit for each combination of the routine's choice letters (accepted by allows), 3 forms (Fortran, CBLAS column and
 * row-major) and classes of scalars (0, 1, other) with random dimensions, increments and leading dimensions. */
typedef void visit_call(void *context, opd_call *call, dice *d);
void blas_combinations(const opd_routine *routine, const char *refused_letters, dice *d, visit_call *visit,
                       void *context);

#endif
