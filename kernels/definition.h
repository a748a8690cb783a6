/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators mean: each contract's name with the form it is computed by. Private to kernels/. A form fills the
 * result (value and gauge) of one output operand.
 */
#ifndef OPD_KERNELS_DEFINITION_H
#define OPD_KERNELS_DEFINITION_H

#include "dense.h"

enum {
    OPD_TRAIT_SYMMETRIC = 1 << 0, /* A stands for its symmetric whole */
    OPD_TRAIT_HERMITIAN = 1 << 1, /* A or the result is hermitian */
    OPD_TRAIT_CONJUGATE = 1 << 2, /* the second factor of an update or dot product is conjugated */
    OPD_TRAIT_KEEPS = 1 << 3,     /* the result is added to the operand's old content when there is no beta */
};

typedef struct opd_work {
    opd_call call;             /* a private copy */
    const opd_operand *wanted; /* the output operand asked for, in call */
    opd_precision precision;
    uint32_t traits;
    const char *left, *right; /* operands of the form; NULL = none */
    opd_dense result;
} opd_work;

typedef opd_status opd_form(opd_work *work);

/* result = beta old + alpha op(left) op(right), either side first. */
opd_form opd_form_multiply;
/* result = beta old + alpha X Y' + mirrored term when there are two operands. */
opd_form opd_form_update;
/* op(left) result = alpha right, or result op(left) = alpha right. */
opd_form opd_form_solve;
/* result = alpha op(left) + beta old */
opd_form opd_form_scale_add;
opd_form opd_form_copy;
opd_form opd_form_swap;
opd_form opd_form_dot;
opd_form opd_form_norm2;
opd_form opd_form_abs_sum;
opd_form opd_form_abs_max;
opd_form opd_form_rotate;
opd_form opd_form_rotate_modified;
opd_form opd_form_make_rotation;
opd_form opd_form_make_rotation_modified;

/* Loads an operand by name. errors: E_INVALID no such operand; E_NOMEM. */
opd_status opd_work_load(opd_dense *out, opd_work *work, const char *name);
/* Letter of a choice; otherwise when the operator has none of that name. */
int opd_work_choice(opd_work *work, const char *name, int otherwise);
/* A scalar; otherwise when the operator has none of that name. */
opd_factor opd_work_scalar(opd_work *work, const char *name, long double otherwise);
bool opd_work_wants(const opd_work *work, const char *name);

#endif
