/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integer expressions of contracts, compiled once to a stack program and run on an array of slot values. Private to
 * kernels/. No allocation; int64 arithmetic is overflow-checked.
 */
#ifndef OPD_KERNELS_EXPRESSION_H
#define OPD_KERNELS_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct opd_instruction {
    uint8_t code;
    int64_t value; /* constant, or slot number */
} opd_instruction;

/* Slot number of a name; -1 when unknown. */
typedef int opd_find_slot(const void *context, const char *name, int size);

typedef struct opd_scope {
    opd_find_slot *find;
    const void *context;
} opd_scope;

/*
 * Compiles text[0 .. size). Returns the number of instructions, or -1 with *why set.
 * limits    values on the stack 16, pending operators 32.
 */
int opd_expression_compile(opd_instruction *out, int capacity, const char *text, int size, const opd_scope *scope,
                           const char **why);

/* Runs a program. False, *out unchanged, when the value overflows or divides by zero on the branch that counts. */
bool opd_expression_run(int64_t *out, const opd_instruction *code, int count, const int64_t *slots);

#endif
