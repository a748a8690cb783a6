/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled form of a contract: fixed size, no pointers but into the contract's own text and the shared pool of
 * instructions. Private to kernels/. Slots number a call's values: symbols first, then attributes, ld and inc.
 */
#ifndef OPD_KERNELS_PLAN_H
#define OPD_KERNELS_PLAN_H

#include <opsdebug/op.h>

#include "expression.h"

enum { OPD_PLAN_SLOTS = OPD_MAX_SYMBOLS + OPD_MAX_ATTRS + OPD_MAX_OPERANDS, OPD_PLAN_ARGS = 20, OPD_PLAN_LETTERS = 8 };

typedef struct opd_slice {
    const char *at;
    int size;
} opd_slice;

typedef struct opd_formula {
    const opd_instruction *code; /* NULL = absent */
    int count;
    opd_slice text;
} opd_formula;

typedef enum opd_use { OPD_USE_DIM, OPD_USE_CHOICE, OPD_USE_SCALAR, OPD_USE_INT, OPD_USE_LD, OPD_USE_INC } opd_use;

typedef struct opd_plan_value {
    opd_slice name;
    opd_use use;
    char type;                         /* SCALAR: 'T' or 'R' */
    char letters[2][OPD_PLAN_LETTERS]; /* CHOICE: for real and complex T */
    int32_t initial;                   /* DIM: default */
} opd_plan_value;

typedef struct opd_plan_operand {
    opd_slice name;
    char type; /* 'T', 'R', or 'D' for the dtype below */
    opd_dtype dtype;
    opd_role role;
    uint32_t flags; /* RETURNED, INDEX */
    int rank;       /* of the logical operand: 0, 1, 2 */
    opd_formula dims[2];
    opd_mask_kind mask;      /* NONE, UPPER (meaning a triangle by uplo), BAND, PACKED */
    int ld, inc, uplo, diag; /* slots; -1 = none */
    opd_formula kl, ku;
    opd_formula condition;
    int at; /* operand that brings the pointer; -1 = itself */
} opd_plan_operand;

typedef struct opd_plan_arg {
    int slot;    /* -1: an operand */
    int operand; /* -1: a value */
} opd_plan_arg;

typedef struct opd_plan {
    int symbol_count;
    int slot_count;
    int operand_count;
    int arg_count;
    opd_plan_value values[OPD_PLAN_SLOTS];
    opd_plan_operand operands[OPD_MAX_OPERANDS];
    opd_plan_arg args[OPD_PLAN_ARGS];
    opd_formula flops;
    opd_formula reduction;
} opd_plan;

/* Where compiled expressions go. */
typedef struct opd_pool {
    opd_instruction *code;
    int capacity;
    int count;
} opd_pool;

/* Compiles a contract. errors: E_INVALID names the operator and what is wrong with its text. */
opd_status opd_plan_compile(opd_plan *out, opd_pool *pool, const opd_op *op);

/* The plan of a contract of the table; NULL, with the error text set, for any other. */
const opd_plan *opd_plan_of(const opd_op *op);
/* The plan of a call whose values are what the plan expects; NULL, with the error text set, otherwise. */
const opd_plan *opd_plan_of_call(const opd_call *call);

/* Finder of slots by name, for opd_scope. */
int opd_plan_find_slot(const void *plan, const char *name, int size);
int opd_plan_find_operand(const opd_plan *plan, const char *name, int size);

/* The call's value of a slot. */
opd_value *opd_plan_value_of(const opd_plan *plan, opd_call *call, int slot);
const opd_value *opd_plan_value_at(const opd_plan *plan, const opd_call *call, int slot);
/* A call of op with default values and no data; not bound. */
void opd_plan_fill(opd_call *call, const opd_plan *plan, const opd_op *op, const char *name, opd_dtype dtype);
/* Binds the operands of a call that fits the plan, and checks its arguments. */
opd_status opd_plan_bind(opd_call *call, const opd_plan *plan, const int64_t *slots);
/* The checks of opd_call_check() that concern arguments; size is not 0. */
bool opd_plan_check(opd_call *call, const opd_plan *plan, const int64_t *slots, char *text, size_t size);
/* The values as expressions see them. */
void opd_plan_slots(int64_t *slots, const opd_plan *plan, const opd_call *call);
/* Value of a formula; false when it overflows. */
bool opd_formula_run(int64_t *out, const opd_formula *formula, const int64_t *slots);

/* dtype of an operand or scalar whose type letter is given. */
opd_dtype opd_plan_dtype(char type, opd_dtype fixed, opd_dtype of_call);
/* Legal letters of a choice for the call's dtype. */
const char *opd_plan_letters(const opd_plan_value *value, opd_dtype dtype);
/* Smallest legal leading dimension in a slot; false when it overflows. *operand: whose it is. */
bool opd_plan_smallest_ld(int64_t *out, int *operand, const opd_plan *plan, int slot, bool is_row_major,
                          const int64_t *slots);
/* Argument position (1-based, as the called form counts) of the index-th argument. */
int opd_plan_position(const opd_call *call, int index);
/* Elements from the pointer argument to element 0: (1-n)*inc for a negative increment, else 0. */
int64_t opd_plan_start(const opd_plan_operand *operand, const opd_operand *bound, const int64_t *slots);

#endif
