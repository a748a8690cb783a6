/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a plan: slots and operands by name, a call's values as expressions see them, dtypes, leading dimensions,
 * argument positions.
 */
#include "plan.h"

#include <string.h>

static bool has_name(opd_slice slice, const char *name, int size)
{
    return slice.size == size && memcmp(slice.at, name, (size_t)size) == 0;
}

int opd_plan_find_slot(const opd_plan *plan, const char *name, int size)
{
    for (int i = 0; i < plan->slot_count; i++) {
        if (has_name(plan->values[i].name, name, size)) {
            return i;
        }
    }
    return -1;
}

int opd_plan_find_name(const void *context, opd_name_kind kind, const char *name, int size)
{
    const opd_plan *plan = context;
    if (kind == OPD_NAME_OPERAND) {
        return opd_plan_find_operand(plan, name, size);
    }
    int slot = opd_plan_find_slot(plan, name, size);
    if (slot < 0) {
        return -1;
    }
    const opd_plan_value *value = &plan->values[slot];
    bool is_list = value->use == OPD_USE_INTS;
    bool is_dims = value->reach == OPD_REACH_MANY || value->reach == OPD_REACH_EACH;
    switch (kind) {
    case OPD_NAME_SLOT:
        return is_list || is_dims ? -1 : slot;
    case OPD_NAME_LIST:
        return is_list ? slot : -1;
    default:
        return value->reach != OPD_REACH_ONE ? slot : -1;
    }
}

int opd_plan_find_word(const void *context, int slot, const char *word, int size)
{
    const opd_plan *plan = context;
    opd_slice rest = plan->values[slot].words;
    opd_slice item;
    if (rest.size == 0) {
        return -2;
    }
    for (int i = 0; opd_slice_next(&item, &rest, '|'); i++) {
        if (has_name(item, word, size)) {
            return i;
        }
    }
    return -1;
}

int opd_plan_find_operand(const opd_plan *plan, const char *name, int size)
{
    for (int i = 0; i < plan->operand_count; i++) {
        if (has_name(plan->operands[i].name, name, size)) {
            return i;
        }
    }
    return -1;
}

opd_value *opd_plan_value_of(const opd_plan *plan, opd_call *call, int slot)
{
    return slot < plan->symbol_count ? &call->symbols[slot] : &call->attrs[slot - plan->symbol_count];
}

const opd_value *opd_plan_value_at(const opd_plan *plan, const opd_call *call, int slot)
{
    return slot < plan->symbol_count ? &call->symbols[slot] : &call->attrs[slot - plan->symbol_count];
}

static int64_t scalar_class(const opd_value *value)
{
    if (value->re == 0 && value->im == 0) {
        return 0;
    }
    return value->re == 1 && value->im == 0 ? 1 : 2;
}

void opd_plan_slots(int64_t *slots, const opd_plan *plan, const opd_call *call)
{
    for (int i = 0; i < plan->slot_count; i++) {
        const opd_value *value = opd_plan_value_at(plan, call, i);
        slots[i] = plan->values[i].use == OPD_USE_SCALAR ? scalar_class(value) : value->i;
    }
}

bool opd_formula_run(int64_t *out, const opd_formula *formula, const int64_t *slots)
{
    return formula->code != NULL && opd_expression_run(out, formula->code, formula->count, slots, NULL);
}

opd_dtype opd_plan_dtype(char type, opd_dtype fixed, opd_dtype of_call)
{
    if (type == 'T') {
        return of_call;
    }
    return type == 'R' ? opd_dtype_real(of_call) : fixed;
}

const char *opd_plan_letters(const opd_plan_value *value, opd_dtype dtype)
{
    return value->letters[opd_dtype_is_complex(dtype) ? 1 : 0];
}

/* Rows of the storage that one step of ld passes over. */
static bool stored_extent(int64_t *out, const opd_plan_operand *operand, bool is_row_major, const int64_t *slots)
{
    if (operand->mask != OPD_MASK_BAND) {
        return opd_formula_run(out, &operand->dims[is_row_major ? 1 : 0].formula, slots);
    }
    int64_t kl;
    int64_t ku;
    if (!opd_formula_run(&kl, &operand->kl, slots) || !opd_formula_run(&ku, &operand->ku, slots)) {
        return false;
    }
    return !__builtin_add_overflow(kl, ku, out) && !__builtin_add_overflow(*out, 1, out);
}

bool opd_plan_smallest_ld(int64_t *out, int *operand, const opd_plan *plan, int slot, bool is_row_major,
                          const int64_t *slots)
{
    for (int i = 0; i < plan->operand_count; i++) {
        if (plan->operands[i].ld != slot) {
            continue;
        }
        int64_t extent = 1;
        if (!stored_extent(&extent, &plan->operands[i], is_row_major, slots)) {
            return false;
        }
        *out = extent > 1 ? extent : 1;
        *operand = i;
        return true;
    }
    return false;
}

int opd_plan_position(const opd_call *call, int index)
{
    bool is_cblas = (call->flags & OPD_CALL_CBLAS) != 0;
    bool has_order = is_cblas ? call->op->has_layout : call->op->has_order_argument;
    return index + 1 + (has_order ? 1 : 0);
}

int64_t opd_plan_start(const opd_plan_operand *operand, const opd_operand *bound, const int64_t *slots)
{
    if (operand->inc < 0 || slots[operand->inc] >= 0 || bound->view.rank != 1 || bound->view.shape[0] == 0) {
        return 0;
    }
    return (1 - bound->view.shape[0]) * slots[operand->inc];
}
