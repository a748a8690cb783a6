/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a general operator seen through its plan: operands and values found, expressions run, dimensions named. */
#include "binding.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

void opd_operand_describe(char text[OPD_OPERAND_TEXT], const opd_operand *operand)
{
    int used = snprintf(text, OPD_OPERAND_TEXT, "%.*s ", OPD_NAME, operand->name);
    opd_tensor view = operand->view;
    view.mask = (opd_mask){ 0 };
    opd_tensor_describe(text + used, OPD_OPERAND_TEXT - (size_t)used, &view);
}

/* ------------------------------------------------------------------------------------------------- operands */

void opd_name_numbered(char text[OPD_NAME], opd_slice name, int number)
{
    size_t size = name.size < OPD_NAME - 3 ? (size_t)name.size : OPD_NAME - 3;
    memset(text, 0, OPD_NAME);
    memcpy(text, name.at, size);
    if (number >= 10) {
        text[size++] = (char)('0' + number / 10 % 10);
    }
    if (number >= 0) {
        text[size] = (char)('0' + number % 10);
    }
}

/* "X" of a plain operand, "X3" of a variadic one. */
static bool has_operand_name(const opd_plan_operand *operand, const char *name, int ordinal)
{
    char expected[OPD_NAME];
    opd_name_numbered(expected, operand->name, operand->is_variadic ? ordinal : -1);
    return strncmp(expected, name, OPD_NAME) == 0;
}

/* How many operands one side of the call has, and how many of them the side's variadic operand takes. */
static opd_status map_side(opd_binding *binding, int begin, int end, int first, int count)
{
    int extra = count - (end - begin);
    bool is_variadic = false;
    for (int i = begin; i < end; i++) {
        is_variadic |= binding->plan->operands[i].is_variadic;
    }
    if (is_variadic ? extra < -1 : extra != 0) {
        return opd_fail(OPD_E_INVALID, "%s has %d operand%s here, not %d", binding->call->op->name, end - begin,
                        is_variadic        ? " or more"
                        : end - begin == 1 ? ""
                                           : "s",
                        count);
    }
    for (int i = begin; i < end; i++) {
        binding->first[i] = first;
        first += 1 + (binding->plan->operands[i].is_variadic ? extra : 0);
    }
    binding->first[end] = first;
    return OPD_OK;
}

static opd_status map_operands(opd_binding *binding)
{
    const opd_call *call = binding->call;
    const opd_plan *plan = binding->plan;
    if (call->operand_count < 0 || call->operand_count > OPD_MAX_OPERANDS) {
        return opd_fail(OPD_E_INVALID, "%s has %d operands", call->op->name, call->operand_count);
    }
    int inputs = 0;
    while (inputs < call->operand_count && (call->operands[inputs].role & OPD_ROLE_IN) != 0) {
        inputs++;
    }
    opd_status status = map_side(binding, 0, plan->input_count, 0, inputs);
    if (status == OPD_OK) {
        status = map_side(binding, plan->input_count, plan->operand_count, inputs, call->operand_count - inputs);
    }
    for (int p = 0; p < plan->operand_count && status == OPD_OK; p++) {
        const opd_plan_operand *operand = &plan->operands[p];
        for (int i = binding->first[p]; i < binding->first[p + 1] && status == OPD_OK; i++) {
            bool is_absent = (call->operands[i].flags & OPD_OPERAND_ABSENT) != 0;
            if (!has_operand_name(operand, call->operands[i].name, i - binding->first[p]) ||
                call->operands[i].role != operand->role) {
                status = opd_fail(OPD_E_INVALID, "%s has %.*s where the call has %.*s", call->op->name,
                                  operand->name.size, operand->name.at, OPD_NAME, call->operands[i].name);
            } else if (is_absent && !operand->is_optional) {
                status = opd_fail(OPD_E_INVALID, "%s needs %.*s", call->op->name, operand->name.size, operand->name.at);
            }
        }
    }
    return status;
}

int opd_binding_plan_operand(const opd_binding *binding, int operand)
{
    int p = 0;
    while (p + 1 < binding->plan->operand_count && operand >= binding->first[p + 1]) {
        p++;
    }
    return p;
}

/* --------------------------------------------------------------------------------------------------- values */

static bool is_value_like(const opd_plan_value *expected, const opd_value *value)
{
    size_t size = (size_t)expected->name.size;
    if (memcmp(value->name, expected->name.at, size) != 0 || value->name[size] != '\0') {
        return false;
    }
    if (value->kind == OPD_VALUE_NONE) {
        return expected->is_optional;
    }
    switch (expected->use) {
    case OPD_USE_REAL:
        return value->kind == OPD_VALUE_REAL;
    case OPD_USE_WORD:
        return value->kind == OPD_VALUE_TEXT;
    case OPD_USE_INTS:
        return value->kind == OPD_VALUE_INTS && value->i >= 0 && value->i <= OPD_MAX_INTS;
    default:
        return value->kind == OPD_VALUE_INT;
    }
}

static int64_t slot_value(const opd_value *value)
{
    switch (value->kind) {
    case OPD_VALUE_REAL:
        return value->re == 0 ? 0 : value->re == 1 ? 1 : 2;
    case OPD_VALUE_INT:
    case OPD_VALUE_TEXT:
        return value->i;
    default:
        return 0;
    }
}

opd_status opd_binding_begin(opd_binding *out, const opd_call *call, const opd_plan *plan)
{
    memset(out, 0, sizeof *out);
    out->plan = plan;
    out->call = call;
    memset(out->rank, -1, sizeof out->rank);
    if (call->attr_count != plan->slot_count - plan->symbol_count) {
        return opd_fail(OPD_E_INVALID, "the call of %s does not have the attributes of its contract", call->op->name);
    }
    for (int i = plan->symbol_count; i < plan->slot_count; i++) {
        const opd_value *value = &call->attrs[i - plan->symbol_count];
        if (!is_value_like(&plan->values[i], value)) {
            return opd_fail(OPD_E_INVALID, "the call of %s lacks its attribute %.*s", call->op->name,
                            plan->values[i].name.size, plan->values[i].name.at);
        }
        out->slots[i] = slot_value(value);
    }
    for (int i = 0; i < plan->symbol_count; i++) {
        out->slots[i] = plan->values[i].reach == OPD_REACH_MAYBE;
    }
    return map_operands(out);
}

void opd_binding_set_rank(opd_binding *binding, int slot, int rank)
{
    binding->rank[slot] = (int16_t)rank;
}

void opd_binding_set(opd_binding *binding, int slot, int element, int64_t size, int origin)
{
    binding->dims[slot][element] = size;
    binding->origin[slot][element] = (int16_t)origin;
    if (binding->plan->values[slot].reach <= OPD_REACH_MAYBE) {
        binding->slots[slot] = size;
    }
}

/* Is this the call's symbol for a dimension of the plan's? "m", or "n0" of "n...". */
static bool is_symbol_of(const opd_plan_value *value, const opd_value *symbol, int element)
{
    char expected[OPD_NAME];
    bool is_single = value->reach <= OPD_REACH_MAYBE;
    opd_name_numbered(expected, value->name, is_single ? -1 : element);
    return symbol->kind == OPD_VALUE_INT && (!is_single || element == 0) &&
           strncmp(expected, symbol->name, OPD_NAME) == 0;
}

opd_status opd_binding_of_call(opd_binding *out, const opd_call *call, const opd_plan *plan)
{
    opd_status status = opd_binding_begin(out, call, plan);
    int at = 0;
    for (int slot = 0; slot < plan->symbol_count && status == OPD_OK; slot++) {
        const opd_plan_value *value = &plan->values[slot];
        int most = value->reach == OPD_REACH_EACH ? OPD_MAX_OPERANDS : OPD_MAX_RANK;
        int element = 0;
        while (element < most && at < call->symbol_count && at < OPD_MAX_SYMBOLS &&
               is_symbol_of(value, &call->symbols[at], element)) {
            opd_binding_set(out, slot, element++, call->symbols[at++].i, -1);
        }
        opd_binding_set_rank(out, slot, element);
        if (value->reach == OPD_REACH_ONE && element == 0) {
            status = opd_fail(OPD_E_INVALID, "the call of %s lacks its symbol %.*s", call->op->name, value->name.size,
                              value->name.at);
        }
    }
    if (status == OPD_OK && at != call->symbol_count) {
        status = opd_fail(OPD_E_INVALID, "the call of %s has symbols that its contract does not have", call->op->name);
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------- answers */

static bool pick(int64_t *out, const int64_t *values, int count, int64_t at)
{
    at += at < 0 ? count : 0;
    if (at < 0 || at >= count) {
        return false;
    }
    *out = values[at];
    return true;
}

static bool product(int64_t *out, const int64_t *values, int count)
{
    int64_t all = 1;
    for (int i = 0; i < count; i++) {
        if (!opd_mul_i64(&all, all, values[i])) {
            return false;
        }
    }
    *out = all;
    return true;
}

static bool sum(int64_t *out, const int64_t *values, int count)
{
    int64_t all = 0;
    for (int i = 0; i < count; i++) {
        if (!opd_add_i64(&all, all, values[i])) {
            return false;
        }
    }
    *out = all;
    return true;
}

static bool answer_operand(int64_t *out, const opd_binding *binding, opd_question what, int index, int64_t argument)
{
    const opd_operand *operand = &binding->call->operands[binding->first[index]];
    bool is_there = binding->first[index] < binding->first[index + 1] && (operand->flags & OPD_OPERAND_ABSENT) == 0;
    const opd_tensor *view = &operand->view;
    if (what == OPD_ASK_THERE) {
        *out = is_there;
        return true;
    }
    if (what == OPD_ASK_DIM) {
        return is_there && pick(out, view->shape, view->rank, argument);
    }
    *out = is_there ? view->rank : 0;
    return what == OPD_ASK_RANK || !is_there || product(out, view->shape, view->rank);
}

static bool answer_symbol(int64_t *out, const opd_binding *binding, opd_question what, int index, int64_t argument)
{
    int rank = binding->rank[index];
    const int64_t *dims = binding->dims[index];
    if (rank < 0) {
        return false;
    }
    switch (what) {
    case OPD_ASK_ELEMENT:
        return pick(out, dims, rank, argument);
    case OPD_ASK_PRODUCT:
        return product(out, dims, rank);
    case OPD_ASK_SUM:
        return sum(out, dims, rank);
    default:
        *out = rank;
        return true;
    }
}

static bool answer(int64_t *out, const void *context, opd_question what, int index, int64_t argument)
{
    const opd_binding *binding = context;
    const opd_plan *plan = binding->plan;
    switch (what) {
    case OPD_ASK_DIM:
    case OPD_ASK_RANK:
    case OPD_ASK_COUNT:
    case OPD_ASK_THERE:
        return answer_operand(out, binding, what, index, argument);
    case OPD_ASK_ELEMENT:
    case OPD_ASK_RANK_OF:
    case OPD_ASK_PRODUCT:
    case OPD_ASK_SUM:
        return answer_symbol(out, binding, what, index, argument);
    default:
        break;
    }
    if (index < plan->symbol_count) { /* has(symbol) */
        *out = binding->rank[index] > 0;
        return what == OPD_ASK_GIVEN;
    }
    const opd_value *value = &binding->call->attrs[index - plan->symbol_count];
    bool is_given = value->kind != OPD_VALUE_NONE;
    if (what == OPD_ASK_AT) {
        return is_given && pick(out, value->ints, (int)value->i, argument);
    }
    *out = what == OPD_ASK_GIVEN ? is_given : is_given ? value->i : 0;
    return true;
}

bool opd_binding_run(int64_t *out, const opd_binding *binding, const opd_formula *formula)
{
    opd_source source = { answer, binding };
    return formula->code != NULL && opd_expression_run(out, formula->code, formula->count, binding->slots, &source);
}

bool opd_call_run(int64_t *out, const opd_plan *plan, const opd_call *call, const opd_formula *formula)
{
    opd_binding binding;
    if (plan->is_general) {
        return opd_binding_of_call(&binding, call, plan) == OPD_OK && opd_binding_run(out, &binding, formula);
    }
    int64_t slots[OPD_PLAN_SLOTS];
    opd_plan_slots(slots, plan, call);
    return opd_formula_run(out, formula, slots);
}
