/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that a runtime recorded by hand: attributes and operands by name, in any order, those at their default or absent left
 * out, no symbols. Brought into the form of the contract, where it is one of the contract's calls at all.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"

/* The recorded attribute as the contract has it; false: another kind, or no such word. */
static bool take_attribute(opd_value *to, const opd_plan *plan, const opd_plan_value *expected, const opd_value *from)
{
    opd_value value = *from;
    int slot = (int)(expected - plan->values);
    switch (expected->use) {
    case OPD_USE_INT:
        if (from->kind != OPD_VALUE_INT) {
            return false;
        }
        break;
    case OPD_USE_REAL:
        value.re = from->kind == OPD_VALUE_INT ? (double)from->i : from->re;
        if (from->kind != OPD_VALUE_REAL && from->kind != OPD_VALUE_INT) {
            return false;
        }
        value.kind = OPD_VALUE_REAL;
        value.i = 0;
        break;
    case OPD_USE_INTS:
        if (from->kind != OPD_VALUE_INTS || from->i < 0 || from->i > OPD_MAX_INTS) {
            return false;
        }
        break;
    default: {
        int position = opd_plan_find_word(plan, slot, from->text, (int)strnlen(from->text, sizeof from->text));
        if (from->kind != OPD_VALUE_TEXT || position == -1) {
            return false;
        }
        value.i = position > 0 ? position : 0;
        break;
    }
    }
    *to = value;
    return true;
}

static bool take_attributes(opd_call *to, const opd_plan *plan, const opd_call *from)
{
    for (int i = 0; i < from->attr_count && i < (int)OPD_COUNT(from->attrs); i++) {
        const opd_value *recorded = &from->attrs[i];
        int slot = opd_plan_find_slot(plan, recorded->name, (int)strnlen(recorded->name, OPD_NAME));
        if (slot < plan->symbol_count) {
            return false;
        }
        bool is_absent = recorded->kind == OPD_VALUE_NONE && plan->values[slot].is_optional;
        if (!is_absent && !take_attribute(opd_plan_value_of(plan, to, slot), plan, &plan->values[slot], recorded)) {
            return false;
        }
    }
    return true;
}

static const opd_operand *find_operand(const opd_call *call, const char *name)
{
    for (int i = 0; i < call->operand_count && i < OPD_MAX_OPERANDS; i++) {
        if (strncmp(call->operands[i].name, name, OPD_NAME) == 0) {
            return &call->operands[i];
        }
    }
    return NULL;
}

/* The contract's operands in its order; all that the call has must be among them. */
static bool take_operands(opd_call *to, const opd_plan *plan, const opd_call *from)
{
    int taken = 0;
    to->operand_count = 0;
    for (int p = 0; p < plan->operand_count; p++) {
        const opd_plan_operand *pattern = &plan->operands[p];
        for (int ordinal = 0; ordinal == 0 || pattern->is_variadic; ordinal++) {
            char name[OPD_NAME];
            opd_name_numbered(name, pattern->name, pattern->is_variadic ? ordinal : -1);
            const opd_operand *recorded = find_operand(from, name);
            if (recorded == NULL && ordinal > 0) {
                break;
            }
            if ((recorded == NULL && !pattern->is_optional) || to->operand_count == OPD_MAX_OPERANDS) {
                return false;
            }
            opd_operand *operand = &to->operands[to->operand_count++];
            *operand = recorded != NULL ? *recorded : (opd_operand){ .flags = OPD_OPERAND_ABSENT };
            memcpy(operand->name, name, sizeof name);
            operand->role = pattern->role;
            operand->view.data = NULL; /* of another process: no content is read */
            taken += recorded != NULL;
        }
    }
    return taken == from->operand_count;
}

/* Has binding left the operands as they were recorded? */
static bool is_as_recorded(const opd_call *bound, const opd_call *recorded)
{
    for (int i = 0; i < bound->operand_count; i++) {
        const opd_tensor *view = &bound->operands[i].view;
        const opd_operand *before = find_operand(recorded, bound->operands[i].name);
        if (before != NULL &&
            (before->view.dtype != view->dtype || before->view.rank != view->rank ||
             memcmp(before->view.shape, view->shape, (size_t)view->rank * sizeof view->shape[0]) != 0)) {
            return false;
        }
    }
    return true;
}

bool opd_call_adopt(opd_call *call, const opd_op *op)
{
    const opd_plan *plan = opd_plan_of(op);
    opd_call adopted = *call;
    adopted.op = op;
    adopted.attr_count = plan != NULL ? plan->slot_count - plan->symbol_count : 0;
    adopted.symbol_count = 0;
    memset(adopted.symbols, 0, sizeof adopted.symbols);
    memset(adopted.operands, 0, sizeof adopted.operands);
    bool is_one = plan != NULL && plan->is_general && opd_general_attributes(&adopted, op) == OPD_OK &&
                  take_attributes(&adopted, plan, call) && take_operands(&adopted, plan, call) &&
                  opd_general_bind(&adopted, plan) == OPD_OK && is_as_recorded(&adopted, call);
    if (is_one) {
        *call = adopted;
    } else {
        opd_error_clear();
    }
    return is_one;
}
