/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call as a value: filled from its contract, read and changed by name. Changing a symbol keeps the call legal: leading
 * dimensions and increments that it would break get their smallest legal value.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"
#include "dnnl/dnnl_define.h"
#include "infer.h"

opd_value *opd_call_value(opd_call *call, const char *name)
{
    for (int i = 0; i < call->symbol_count && i < OPD_MAX_SYMBOLS; i++) {
        if (strcmp(call->symbols[i].name, name) == 0) {
            return &call->symbols[i];
        }
    }
    for (int i = 0; i < call->attr_count && i < (int)OPD_COUNT(call->attrs); i++) {
        if (strcmp(call->attrs[i].name, name) == 0) {
            return &call->attrs[i];
        }
    }
    return NULL;
}

opd_operand *opd_call_operand(opd_call *call, const char *name)
{
    for (int i = 0; i < call->operand_count && i < OPD_MAX_OPERANDS; i++) {
        if (strcmp(call->operands[i].name, name) == 0) {
            return &call->operands[i];
        }
    }
    return NULL;
}

/*
 * The operand before it at the same address: libraries that work in place are told so by the pointers alone. Of operands at one address
 * that hold different elements each has its own content.
 */
static int shared_address(const opd_call *call, int index)
{
    const opd_operand *of = &call->operands[index];
    for (int i = 0; i < index; i++) {
        if (call->operands[i].address != 0 && call->operands[i].address == of->address &&
            call->operands[i].view.dtype == of->view.dtype &&
            opd_tensor_same_places(&call->operands[i].view, &of->view)) {
            return i;
        }
    }
    return -1;
}

int opd_call_shared(const opd_call *call, int index)
{
    if (opd_dnnl_is(call)) {
        return shared_address(call, index);
    }
    const opd_plan *plan = opd_plan_of(call->op);
    bool has_own = plan == NULL || plan->is_general || index < 0 || index >= plan->operand_count;
    return has_own ? -1 : plan->operands[index].at;
}

static void fill_value(opd_value *value, const opd_plan_value *expected, opd_dtype dtype)
{
    memcpy(value->name, expected->name.at, (size_t)expected->name.size);
    value->kind = OPD_VALUE_INT;
    value->i = expected->use == OPD_USE_DIM ? expected->initial : 1;
    if (expected->use == OPD_USE_CHOICE) {
        value->kind = OPD_VALUE_CHOICE;
        value->i = (unsigned char)opd_plan_letters(expected, dtype)[0];
    } else if (expected->use == OPD_USE_SCALAR) {
        bool is_complex = opd_dtype_is_complex(opd_plan_dtype(expected->type, OPD_DTYPE_NONE, dtype));
        value->kind = is_complex ? OPD_VALUE_COMPLEX : OPD_VALUE_REAL;
        value->re = 1;
        value->i = 0;
    }
}

static void copy_text(char out[OPD_NAME], const char *text)
{
    size_t size = strnlen(text, OPD_NAME - 1);
    memcpy(out, text, size);
}

void opd_plan_fill(opd_call *call, const opd_plan *plan, const opd_op *op, const char *name, opd_dtype dtype)
{
    memset(call, 0, sizeof *call);
    call->op = op;
    call->dtype = dtype;
    copy_text(call->domain, op->domain);
    copy_text(call->name, name);
    call->symbol_count = plan->symbol_count;
    call->attr_count = plan->slot_count - plan->symbol_count;
    call->operand_count = plan->operand_count;
    for (int i = 0; i < plan->slot_count; i++) {
        fill_value(opd_plan_value_of(plan, call, i), &plan->values[i], dtype);
    }
}

/* Leading dimensions below their minimum and illegal increments are mended; with force, all get their smallest value. */
static opd_status mend_layout(opd_call *call, const opd_plan *plan, bool force)
{
    bool is_row_major = (call->flags & OPD_CALL_ROW_MAJOR) != 0;
    int64_t slots[OPD_PLAN_SLOTS];
    opd_plan_slots(slots, plan, call);
    for (int i = plan->symbol_count; i < plan->slot_count; i++) {
        opd_value *value = opd_plan_value_of(plan, call, i);
        if (plan->values[i].use == OPD_USE_INC && (force || (value->i == 0 && call->op->level != 1))) {
            value->i = 1;
        }
        if (plan->values[i].use != OPD_USE_LD) {
            continue;
        }
        int64_t smallest;
        int operand;
        if (!opd_plan_smallest_ld(&smallest, &operand, plan, i, is_row_major, slots)) {
            return opd_fail(OPD_E_INVALID, "the smallest %s does not fit 64 bits", value->name);
        }
        if (force || value->i < smallest) {
            value->i = smallest;
        }
    }
    return OPD_OK;
}

/* Data pointers name element 0, which for a negative increment lies at the far end: as views lose their increments they
 * keep it. */
static opd_status mend_and_bind(opd_call *call, const opd_plan *plan, bool force)
{
    opd_status status = mend_layout(call, plan, force);
    return status == OPD_OK ? opd_call_bind(call) : status;
}

opd_status opd_call_init(opd_call *call, const opd_op *op, const char *name, opd_dtype dtype)
{
    const opd_plan *plan = opd_plan_of(op);
    if (plan == NULL) {
        return OPD_E_INVALID;
    }
    if (plan->is_general) {
        return opd_general_init(call, op, name, dtype);
    }
    opd_plan_fill(call, plan, op, name, dtype);
    return mend_and_bind(call, plan, true);
}

/* Of an operator without a plan: any of its whole numbers. */
static opd_status set_and_bind(opd_call *call, const char *name, int64_t value)
{
    opd_value *changed = opd_call_value(call, name);
    if (changed == NULL || changed->kind != OPD_VALUE_INT) {
        return opd_fail(OPD_E_INVALID, "%s has no symbol or attribute %s", call->name, name);
    }
    changed->i = value;
    return opd_call_bind(call);
}

opd_status opd_call_set(opd_call *call, const char *name, int64_t value)
{
    if (opd_call_is_foreign(call)) {
        return opd_infer_set(call, name, value);
    }
    if (opd_dnnl_is(call)) {
        return set_and_bind(call, name, value);
    }
    const opd_plan *plan = opd_plan_of_call(call);
    if (plan == NULL) {
        return OPD_E_INVALID;
    }
    if (plan->is_general) {
        return opd_general_set(call, plan, name, value);
    }
    int slot = opd_plan_find_slot(plan, name, (int)strlen(name));
    if (slot < 0) {
        return opd_fail(OPD_E_INVALID, "%s has no symbol or attribute %s", call->name, name);
    }
    opd_value *changed = opd_plan_value_of(plan, call, slot);
    if (plan->values[slot].use == OPD_USE_SCALAR) {
        changed->re = (double)value;
        changed->im = 0;
    } else {
        changed->i = value;
    }
    return mend_and_bind(call, plan, false);
}

opd_status opd_call_compact(opd_call *call)
{
    if (opd_call_is_foreign(call)) {
        return opd_infer_compact(call);
    }
    if (opd_dnnl_is(call)) {
        return opd_dnnl_compact(call);
    }
    const opd_plan *plan = opd_plan_of_call(call);
    if (plan == NULL) {
        return OPD_E_INVALID;
    }
    return plan->is_general ? opd_general_compact(call, plan) : mend_and_bind(call, plan, true);
}

/* Are the symbols of a general operator's call those of its inputs' shapes? */
static bool has_symbols_of_shapes(const opd_call *call, const opd_plan *plan)
{
    opd_binding binding;
    opd_place places[OPD_MAX_RANK];
    bool fits = opd_binding_of_call(&binding, call, plan) == OPD_OK;
    for (int i = 0; fits && i < binding.first[plan->input_count]; i++) {
        const opd_tensor *view = &call->operands[i].view;
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        fits = view->rank >= 0 && view->rank <= OPD_MAX_RANK &&
               opd_binding_places(places, &binding, i, view->rank) == OPD_OK;
        for (int d = 0; fits && d < view->rank; d++) {
            const opd_place *place = &places[d];
            bool is_known = place->slot >= 0 && place->element >= 0 && place->element < binding.rank[place->slot];
            fits = place->slot < 0 || (is_known && (view->shape[d] == binding.dims[place->slot][place->element] ||
                                                    (place->is_broadcast && view->shape[d] == 1)));
        }
    }
    return fits;
}

bool opd_call_fits(const opd_call *call)
{
    if (opd_dnnl_is(call)) {
        opd_call anew = *call;
        const opd_operand *unused;
        return opd_call_check(&anew, NULL, 0, &unused);
    }
    const opd_plan *plan = opd_plan_of_call(call);
    bool fits = plan != NULL && (!plan->is_general || has_symbols_of_shapes(call, plan));
    if (!fits) {
        opd_error_clear();
    }
    return fits;
}

opd_status opd_call_eval(int64_t *out, const opd_call *call, const char *expression)
{
    const opd_plan *plan = opd_plan_of_call(call);
    if (plan == NULL) {
        return OPD_E_INVALID;
    }
    opd_instruction code[96];
    opd_scope scope = { opd_plan_find_name, opd_plan_find_word, plan };
    const char *why = NULL;
    size_t size = strlen(expression);
    if (size > 1024) {
        return opd_fail(OPD_E_INVALID, "the expression is too long");
    }
    int count = opd_expression_compile(code, (int)OPD_COUNT(code), expression, (int)size, &scope, &why);
    if (count < 0) {
        return opd_fail(OPD_E_INVALID, "%s: %s", why, expression);
    }
    opd_formula formula = { .code = code, .count = count };
    if (!opd_call_run(out, plan, call, &formula)) {
        return opd_fail(OPD_E_INVALID, "overflow or division by zero: %s", expression);
    }
    return OPD_OK;
}
