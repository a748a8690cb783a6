/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of a general operator seen through its plan: which operand is which, what each symbol stands for, and where that
 * came from. Made from the call's symbols, or by unification of its inputs' shapes with the patterns. Private to kernels/.
 */
#ifndef OPD_KERNELS_BINDING_H
#define OPD_KERNELS_BINDING_H

#include "plan.h"

typedef struct opd_binding {
    const opd_plan *plan;
    const opd_call *call;
    int64_t slots[OPD_PLAN_SLOTS];                     /* as expressions see them */
    int16_t rank[OPD_MAX_SYMBOLS];                     /* dimensions a symbol stands for; -1 = not bound */
    int64_t dims[OPD_MAX_SYMBOLS][OPD_MAX_OPERANDS];   /* their sizes */
    int16_t origin[OPD_MAX_SYMBOLS][OPD_MAX_OPERANDS]; /* the operand that gave each */
    int first[OPD_MAX_OPERANDS + 1]; /* the call's operands of plan operand p: first[p] .. first[p + 1] */
} opd_binding;

/* One dimension of an operand. */
typedef struct opd_place {
    const opd_plan_dim *dim;
    int slot;    /* symbol; -1 = a formula, or any dimension */
    int element; /* of the symbol; negative: counted from its end, which is not known yet */
    int width;   /* dimensions the symbol has in this operand */
    bool is_broadcast;
} opd_place;

/* Attributes and operands of the call, no symbol bound. errors: E_INVALID what of them the contract does not have. */
opd_status opd_binding_begin(opd_binding *out, const opd_call *call, const opd_plan *plan);
/* Also the symbols, as the call has them. */
opd_status opd_binding_of_call(opd_binding *out, const opd_call *call, const opd_plan *plan);

/* Value of a formula. False when it is absent or has none. */
bool opd_binding_run(int64_t *out, const opd_binding *binding, const opd_formula *formula);
/* Value of a formula of any operator, its call taken as it is. */
bool opd_call_run(int64_t *out, const opd_plan *plan, const opd_call *call, const opd_formula *formula);
/* Plan operand of the call's operand. */
int opd_binding_plan_operand(const opd_binding *binding, int operand);
/* Gives a symbol its rank, or one of its dimensions a size. */
void opd_binding_set_rank(opd_binding *binding, int slot, int rank);
void opd_binding_set(opd_binding *binding, int slot, int element, int64_t size, int origin);

/* What each of rank dimensions of an operand is. errors: E_INVALID names the operand and how many it may have. */
opd_status opd_binding_places(opd_place places[OPD_MAX_RANK], const opd_binding *binding, int operand, int rank);
/*
 * The shape of an operand whose pattern's symbols are bound, nothing broadcast; *is_free: one is not. errors: E_INVALID an expression
 * without a value, more than 8 dimensions.
 */
opd_status opd_binding_shape(int64_t shape[OPD_MAX_RANK], int *rank, bool *is_free, const opd_binding *binding, int p,
                             int ordinal);

/*
 * Binds all symbols from the inputs' views, and the type variables (NONE where no input has one). On failure *culprit is the operand at
 * fault.
 */
opd_status opd_binding_unify(opd_binding *binding, opd_dtype dtypes[OPD_PLAN_TYPES], int *culprit);
/* Binds symbols that only this output has from its view, which a shape function has set. */
opd_status opd_binding_unify_output(opd_binding *binding, int operand);

/* The whole of opd_call_bind() for a general operator. */
opd_status opd_general_bind(opd_call *call, const opd_plan *plan);
/* Gives the inputs the shapes that the symbols say, broadcast ones where they were, and binds. */
opd_status opd_general_relink(opd_call *call, const opd_binding *wanted);
opd_status opd_general_set(opd_call *call, const opd_plan *plan, const char *name, int64_t value);
/* A bound call with the contract's sizes; dtype NONE: the first of T's. */
opd_status opd_general_init(opd_call *out, const opd_op *op, const char *name, opd_dtype dtype);
/* The contract's attributes at their defaults; nothing else of the call is set. */
opd_status opd_general_attributes(opd_call *out, const opd_op *op);
opd_status opd_general_compact(opd_call *call, const opd_plan *plan);

/* "X" and "X3": a name alone (number < 0) or with a number below 100. Longer names are cut. */
void opd_name_numbered(char text[OPD_NAME], opd_slice name, int number);

/* "B f32[3, 4]"; borrowed text of the operand and its view. */
#define OPD_OPERAND_TEXT 160
void opd_operand_describe(char text[OPD_OPERAND_TEXT], const opd_operand *operand);

#endif
