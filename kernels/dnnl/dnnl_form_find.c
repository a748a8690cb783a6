/* SPDX-License-Identifier: Apache-2.0 */
/* Which form a primitive, an operator's name or a call has, and which row an operand. */
#include <string.h>

#include "dnnl_define.h"
#include "dnnl_form.h"

static int form_count(void)
{
    return opd_dnnl_dense_form_count + opd_dnnl_other_form_count;
}

static const opd_dnnl_form *form_at(int i)
{
    return i < opd_dnnl_dense_form_count ? &opd_dnnl_dense_forms[i]
                                         : &opd_dnnl_other_forms[i - opd_dnnl_dense_form_count];
}

opd_dnnl_class opd_dnnl_class_of(dnnl_prop_kind_t prop)
{
    switch (prop) {
    case dnnl_forward_training:
    case dnnl_forward_inference:
        return OPD_DNNL_FORWARD;
    case dnnl_backward:
        return OPD_DNNL_BACKWARD;
    case dnnl_backward_data:
        return OPD_DNNL_BACKWARD_DATA;
    case dnnl_backward_weights:
    case dnnl_backward_bias:
        return OPD_DNNL_BACKWARD_WEIGHTS;
    default:
        return OPD_DNNL_ANY;
    }
}

const opd_dnnl_form *opd_dnnl_form_find(dnnl_primitive_kind_t kind, opd_dnnl_class direction)
{
    for (int i = 0; i < form_count(); i++) {
        /* A normalization's backward_data is its backward without the gradients of the weights. */
        bool is_it = form_at(i)->direction == direction ||
                     (form_at(i)->direction == OPD_DNNL_BACKWARD && direction == OPD_DNNL_BACKWARD_DATA);
        if (form_at(i)->kind == kind && is_it) {
            return form_at(i);
        }
    }
    return NULL;
}

const opd_dnnl_form *opd_dnnl_form_named(const char *name)
{
    for (int i = 0; i < form_count(); i++) {
        if (strcmp(form_at(i)->op.name, name) == 0) {
            return form_at(i);
        }
    }
    return NULL;
}

const opd_dnnl_form *opd_dnnl_form_of(const opd_call *call)
{
    for (int i = 0; call->op != NULL && i < form_count(); i++) {
        if (&form_at(i)->op == call->op) {
            return form_at(i);
        }
    }
    return NULL;
}

const opd_dnnl_form *opd_dnnl_form_hint(const opd_dnnl_form *form)
{
    bool is_backward = form->direction != OPD_DNNL_ANY && form->direction != OPD_DNNL_FORWARD;
    return is_backward ? opd_dnnl_form_find(form->kind, OPD_DNNL_FORWARD) : NULL;
}

bool opd_dnnl_is(const opd_call *call)
{
    return call->op != NULL && opd_dnnl_form_of(call) != NULL;
}

const opd_op *opd_dnnl_op(const char *name)
{
    const opd_dnnl_form *form = opd_dnnl_form_named(name);
    return form != NULL ? &form->op : NULL;
}

const opd_dnnl_row *opd_dnnl_row_of(const opd_dnnl_form *form, const char *operand, int *number)
{
    for (int i = 0; i < OPD_DNNL_ROWS && form->rows[i].name != NULL; i++) {
        const opd_dnnl_row *row = &form->rows[i];
        size_t size = strlen(row->name);
        bool is_several = row->arg == DNNL_ARG_MULTIPLE_SRC;
        if (!is_several && strcmp(row->name, operand) == 0) {
            *number = 0;
            return row;
        }
        if (is_several && strncmp(row->name, operand, size) == 0 && operand[size] >= '0' && operand[size] <= '9') {
            *number =
                operand[size + 1] != '\0' ? (operand[size] - '0') * 10 + operand[size + 1] - '0' : operand[size] - '0';
            return row;
        }
    }
    return NULL;
}
