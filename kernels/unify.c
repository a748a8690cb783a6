/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unification: the shapes and dtypes of a general operator's inputs against the patterns of its contract. In this order,
 * so that each step may use what the ones before it found: plain symbols take the dimensions they meet; broadcast ones the
 * largest; an expression with one unknown symbol gives that symbol its value; every expression must then be equal.
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"

static bool is_absent(const opd_operand *operand)
{
    return (operand->flags & OPD_OPERAND_ABSENT) != 0;
}

/* "n1" or "m" */
static void name_symbol(char text[OPD_NAME + 8], const opd_binding *binding, int slot, int element)
{
    const opd_plan_value *value = &binding->plan->values[slot];
    int size = snprintf(text, OPD_NAME + 8, "%.*s", value->name.size, value->name.at);
    if (value->reach > OPD_REACH_MAYBE) {
        snprintf(text + size, (size_t)(OPD_NAME + 8 - size), "%d", element);
    }
}

/* Dimension d of an operand is not what another operand has given the symbol. */
static opd_status conflict(const opd_binding *binding, const opd_place *place, int operand, int d)
{
    char symbol[OPD_NAME + 8];
    char one[OPD_OPERAND_TEXT];
    char other[OPD_OPERAND_TEXT];
    const opd_call *call = binding->call;
    int origin = binding->origin[place->slot][place->element];
    name_symbol(symbol, binding, place->slot, place->element);
    opd_operand_describe(one, &call->operands[operand]);
    opd_operand_describe(other, &call->operands[origin]);
    return opd_fail(OPD_E_INVALID, "%s: %s has %s = %lld in dimension %d, %s has %lld", call->op->name, one, symbol,
                    (long long)call->operands[operand].view.shape[d], d, other,
                    (long long)binding->dims[place->slot][place->element]);
}

/* --------------------------------------------------------------------------------------------------- dtypes */

static bool is_legal_dtype(const opd_plan_type *type, opd_dtype dtype)
{
    for (int i = 0; i < type->count; i++) {
        if (type->dtypes[i] == (uint8_t)dtype) {
            return true;
        }
    }
    return false;
}

static opd_status illegal_dtype(const opd_binding *binding, int operand, const opd_plan_type *type)
{
    char legal[96] = "";
    size_t used = 0;
    for (int i = 0; i < type->count && used < sizeof legal; i++) {
        const char *separator = i == 0 ? "" : i + 1 < type->count ? ", " : " or ";
        used += (size_t)snprintf(legal + used, sizeof legal - used, "%s%s", separator,
                                 opd_dtype_name((opd_dtype)type->dtypes[i]));
    }
    const opd_operand *bound = &binding->call->operands[operand];
    return opd_fail(OPD_E_INVALID, "%s: %s is %s, where it can be %s", binding->call->op->name, bound->name,
                    opd_dtype_name(bound->view.dtype), legal);
}

/* dtypes[v] of each type variable, from the first input that has it; NONE where none has. */
static opd_status unify_dtypes(opd_dtype dtypes[OPD_PLAN_TYPES], const opd_binding *binding, int *culprit)
{
    const opd_plan *plan = binding->plan;
    int givers[OPD_PLAN_TYPES] = { 0 };
    for (int i = 0; i < binding->first[plan->input_count]; i++) {
        const opd_plan_operand *pattern = &plan->operands[opd_binding_plan_operand(binding, i)];
        const opd_operand *operand = &binding->call->operands[i];
        opd_dtype dtype = operand->view.dtype;
        *culprit = i;
        if (is_absent(operand) || pattern->type == 'R') {
            continue;
        }
        if (pattern->type == 'D') {
            if (dtype != pattern->dtype) {
                return opd_fail(OPD_E_INVALID, "%s: %s is %s, where it can only be %s", binding->call->op->name,
                                operand->name, opd_dtype_name(dtype), opd_dtype_name(pattern->dtype));
            }
            continue;
        }
        int v = pattern->variable;
        if (!is_legal_dtype(&plan->types[v], dtype)) {
            return illegal_dtype(binding, i, &plan->types[v]);
        }
        if (dtypes[v] == OPD_DTYPE_NONE) {
            dtypes[v] = dtype;
            givers[v] = i;
        } else if (dtypes[v] != dtype) {
            return opd_fail(OPD_E_INVALID, "%s: %s is %s, %s is %s", binding->call->op->name, operand->name,
                            opd_dtype_name(dtype), binding->call->operands[givers[v]].name, opd_dtype_name(dtypes[v]));
        }
    }
    return OPD_OK;
}

/* --------------------------------------------------------------------------------------------------- shapes */

/* Symbols that are not broadcast in this operand take its dimensions, or must have them. */
static opd_status unify_exact(opd_binding *binding, int operand)
{
    const opd_tensor *view = &binding->call->operands[operand].view;
    opd_place places[OPD_MAX_RANK];
    opd_status status = opd_binding_places(places, binding, operand, view->rank);
    if (status != OPD_OK) {
        return status;
    }
    const opd_plan_operand *pattern = &binding->plan->operands[opd_binding_plan_operand(binding, operand)];
    for (int d = 0; d < view->rank; d++) {
        const opd_place *place = &places[d];
        if (place->slot < 0 || place->is_broadcast) {
            continue;
        }
        if (binding->rank[place->slot] <= place->element) {
            opd_binding_set_rank(binding, place->slot, place->element + 1);
            opd_binding_set(binding, place->slot, place->element, view->shape[d], operand);
        } else if (binding->dims[place->slot][place->element] != view->shape[d]) {
            return conflict(binding, place, operand, d);
        }
    }
    /* What has no dimension here has none anywhere. */
    for (int d = 0; d < pattern->rank; d++) {
        const opd_plan_dim *dim = &pattern->dims[d];
        bool is_open = dim->kind == OPD_DIM_SYMBOL && !dim->is_broadcast && binding->rank[dim->slot] < 0;
        if (is_open) {
            opd_binding_set_rank(binding, dim->slot, 0);
        }
    }
    return OPD_OK;
}

/* Dimensions found by broadcasting so far, counted from the end. */
struct broadcast {
    int rank;
    int64_t size[OPD_MAX_RANK];
    int origin[OPD_MAX_RANK];
};

static opd_status broadcast_conflict(const opd_binding *binding, int operand, int other)
{
    char one[OPD_OPERAND_TEXT];
    char two[OPD_OPERAND_TEXT];
    opd_operand_describe(one, &binding->call->operands[operand]);
    opd_operand_describe(two, &binding->call->operands[other]);
    return opd_fail(OPD_E_INVALID, "%s: %s cannot be broadcast with %s", binding->call->op->name, one, two);
}

/* One broadcast dimension: it must be 1 or what is known, or is what becomes known. */
static opd_status widen(struct broadcast *broadcast, const opd_binding *binding, const opd_place *place, int operand,
                        int d)
{
    int64_t size = binding->call->operands[operand].view.shape[d];
    if (binding->rank[place->slot] >= 0) {
        bool is_fitting = place->element >= 0 && (size == 1 || size == binding->dims[place->slot][place->element]);
        return is_fitting ? OPD_OK
                          : broadcast_conflict(binding, operand,
                                               binding->origin[place->slot][place->element > 0 ? place->element : 0]);
    }
    struct broadcast *found = &broadcast[place->slot];
    int from_end = -1 - place->element;
    while (found->rank <= from_end) {
        found->size[found->rank] = 1;
        found->origin[found->rank++] = operand;
    }
    if (size != 1 && found->size[from_end] != 1 && size != found->size[from_end]) {
        return broadcast_conflict(binding, operand, found->origin[from_end]);
    }
    if (size != 1 && found->size[from_end] == 1) {
        found->size[from_end] = size;
        found->origin[from_end] = operand;
    }
    return OPD_OK;
}

static opd_status unify_broadcast(opd_binding *binding, int *culprit)
{
    struct broadcast broadcast[OPD_MAX_SYMBOLS] = { { 0 } };
    bool is_met[OPD_MAX_SYMBOLS] = { false };
    const opd_plan *plan = binding->plan;
    opd_place places[OPD_MAX_RANK];
    for (int i = 0; i < binding->first[plan->input_count]; i++) {
        const opd_operand *operand = &binding->call->operands[i];
        const opd_plan_operand *pattern = &plan->operands[opd_binding_plan_operand(binding, i)];
        *culprit = i;
        opd_status status = is_absent(operand) ? OPD_OK : opd_binding_places(places, binding, i, operand->view.rank);
        for (int d = 0; d < pattern->rank && !is_absent(operand); d++) {
            is_met[pattern->dims[d].slot] |= pattern->dims[d].is_broadcast;
        }
        for (int d = 0; d < operand->view.rank && !is_absent(operand) && status == OPD_OK; d++) {
            status = places[d].is_broadcast ? widen(broadcast, binding, &places[d], i, d) : OPD_OK;
        }
        if (status != OPD_OK) {
            return status;
        }
    }
    for (int slot = 0; slot < plan->symbol_count; slot++) {
        if (!is_met[slot] || binding->rank[slot] >= 0) {
            continue;
        }
        struct broadcast *found = &broadcast[slot];
        if (plan->values[slot].reach == OPD_REACH_ONE && found->rank == 0) {
            found->size[found->rank++] = 1;
        }
        opd_binding_set_rank(binding, slot, found->rank);
        for (int e = 0; e < found->rank; e++) {
            opd_binding_set(binding, slot, found->rank - 1 - e, found->size[e], found->origin[e]);
        }
    }
    return OPD_OK;
}

/* The only symbol of a formula that is not bound; -1 when there is none or more than one. */
static int only_unknown(const opd_binding *binding, const opd_formula *formula)
{
    int unknown = -1;
    for (int k = 0; k < formula->count; k++) {
        const opd_instruction *code = &formula->code[k];
        int slot = code->code == OPD_CODE_SLOT ? (int)code->value : -1;
        if (slot < 0 || slot >= binding->plan->symbol_count || binding->rank[slot] >= 0 || slot == unknown) {
            continue;
        }
        if (unknown >= 0) {
            return -1;
        }
        unknown = slot;
    }
    return unknown;
}

/*
 * formula(symbol) = size, taken as linear in it: from its values at 0 and 1. Whether it was is seen when all expressions
 * must be equal.
 */
static void solve(opd_binding *binding, const opd_formula *formula, int slot, int64_t size, int operand)
{
    int64_t at_zero = 0;
    int64_t at_one = 0;
    int64_t slope = 0;
    int64_t rest = 0;
    binding->slots[slot] = 0;
    bool is_known = opd_binding_run(&at_zero, binding, formula);
    binding->slots[slot] = 1;
    is_known = opd_binding_run(&at_one, binding, formula) && is_known;
    is_known =
        is_known && !__builtin_sub_overflow(at_one, at_zero, &slope) && !__builtin_sub_overflow(size, at_zero, &rest);
    binding->slots[slot] = 0;
    if (is_known && slope > 0 && rest >= 0 && rest % slope == 0) {
        opd_binding_set_rank(binding, slot, 1);
        opd_binding_set(binding, slot, 0, rest / slope, operand);
    }
}

/* Expressions of an operand: solved for what is unknown, or (is_check) held against the dimensions. */
static opd_status unify_formulas(opd_binding *binding, int operand, bool is_check)
{
    const opd_tensor *view = &binding->call->operands[operand].view;
    opd_place places[OPD_MAX_RANK];
    opd_status status = opd_binding_places(places, binding, operand, view->rank);
    for (int d = 0; d < view->rank && status == OPD_OK; d++) {
        const opd_formula *formula = &places[d].dim->formula;
        if (places[d].dim->kind != OPD_DIM_FORMULA) {
            continue;
        }
        int unknown = only_unknown(binding, formula);
        if (!is_check && unknown >= 0) {
            solve(binding, formula, unknown, view->shape[d], operand);
        }
        int64_t expected = 0;
        bool has_value = opd_binding_run(&expected, binding, formula);
        expected = expected > 0 ? expected : 0;
        if (!is_check || (has_value && expected == view->shape[d])) {
            continue;
        }
        char text[OPD_OPERAND_TEXT];
        opd_operand_describe(text, &binding->call->operands[operand]);
        return has_value ? opd_fail(OPD_E_INVALID, "%s: %s has %lld in dimension %d, where %.*s is %lld",
                                    binding->call->op->name, text, (long long)view->shape[d], d, formula->text.size,
                                    formula->text.at, (long long)expected)
                         : opd_fail(OPD_E_INVALID, "%s: %s: %.*s has no value", binding->call->op->name, text,
                                    formula->text.size, formula->text.at);
    }
    return status;
}

enum { STEP_EXACT, STEP_SOLVE, STEP_CHECK };

static opd_status over_inputs(opd_binding *binding, int step, int *culprit)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < binding->first[binding->plan->input_count] && status == OPD_OK; i++) {
        *culprit = i;
        if (!is_absent(&binding->call->operands[i])) {
            status = step == STEP_EXACT ? unify_exact(binding, i) : unify_formulas(binding, i, step == STEP_CHECK);
        }
    }
    return status;
}

opd_status opd_binding_unify(opd_binding *binding, opd_dtype dtypes[OPD_PLAN_TYPES], int *culprit)
{
    opd_status status = unify_dtypes(dtypes, binding, culprit);
    if (status == OPD_OK) {
        status = over_inputs(binding, STEP_EXACT, culprit);
    }
    if (status == OPD_OK) {
        status = over_inputs(binding, STEP_SOLVE, culprit);
    }
    if (status == OPD_OK) {
        status = unify_broadcast(binding, culprit);
    }
    if (status == OPD_OK) {
        status = over_inputs(binding, STEP_SOLVE, culprit);
    }
    return status == OPD_OK ? over_inputs(binding, STEP_CHECK, culprit) : status;
}

opd_status opd_binding_unify_output(opd_binding *binding, int operand)
{
    opd_status status = unify_exact(binding, operand);
    return status == OPD_OK ? unify_formulas(binding, operand, true) : status;
}
