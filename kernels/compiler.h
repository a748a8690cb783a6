/* SPDX-License-Identifier: Apache-2.0 */
/* A contract being compiled: what the parts that every operator has share with those of general operators. Private to kernels/. */
#ifndef OPD_KERNELS_COMPILER_H
#define OPD_KERNELS_COMPILER_H

#include "plan.h"

typedef struct opd_compiler {
    const opd_op *op;
    opd_plan *plan;
    opd_pool *pool;
    opd_slice modifiers[OPD_MAX_OPERANDS]; /* of each operand, while compiling */
    opd_slice dims[OPD_MAX_OPERANDS];
    opd_plan_value attributes[OPD_PLAN_SLOTS]; /* as declared, not yet in slot order */
    int attribute_count;
    opd_plan_value layout[OPD_MAX_OPERANDS]; /* ld and inc arguments */
} opd_compiler;

/* Fails: "contract of NAME: WHY: WHERE". */
opd_status opd_compiler_bad(const opd_compiler *compiler, const char *why, opd_slice where);
/* OPD_DTYPE_NONE when unknown. */
opd_dtype opd_compiler_dtype(opd_slice text);
opd_status opd_compiler_formula(opd_formula *out, opd_compiler *compiler, opd_slice text);

/* The parts of a general operator, in this order. */
opd_status opd_general_attribute(opd_plan_value *out, const opd_compiler *compiler, opd_slice type);
opd_status opd_general_types(opd_compiler *compiler);
/* Suffixes of an operand's name (NAME? NAME+) and its type, which the compiler does not know. */
opd_status opd_general_operand(opd_plan_operand *operand, opd_compiler *compiler, opd_slice type);
/* Slots: symbols as they come in the signature, then the attributes. */
opd_status opd_general_slots(opd_compiler *compiler);
opd_status opd_general_dims(opd_plan_operand *operand, opd_compiler *compiler, opd_slice dims);
/* *is_known says whether the modifier is one of general operators. */
opd_status opd_general_modifier(opd_plan_operand *operand, opd_compiler *compiler, opd_slice item, bool *is_known);
/* What must hold of the whole, once all is compiled. */
opd_status opd_general_check(opd_compiler *compiler);

#endif
