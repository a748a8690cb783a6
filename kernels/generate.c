/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs made up: contents that the contract says, whole numbers below a bound, or a fill. Bits depend on the seed and the
 * operand's position only.
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"

/* Elements one by one, in row-major order. */
static void store_all(const opd_tensor *view, const opd_binding *binding, const opd_plan_operand *pattern,
                      uint64_t seed, uint64_t stream, int64_t bound)
{
    int64_t count = opd_tensor_count(view);
    for (int64_t flat = 0; flat < count; flat++) {
        int64_t index[OPD_MAX_RANK];
        int64_t value = 0;
        opd_tensor_unflatten(view, flat, index);
        if (bound > 0) {
            value = (int64_t)(opd_random_u64(seed, stream, (uint64_t)flat) % (uint64_t)bound);
        } else if (flat < pattern->content_count) {
            (void)opd_binding_run(&value, binding, &binding->plan->content[pattern->content + flat]);
        }
        opd_element_store_wide(view->dtype, (uint8_t *)view->data + opd_tensor_offset(view, index), (long double)value);
    }
}

static opd_fill default_fill(opd_dtype dtype)
{
    if (opd_dtype_is_float(dtype)) {
        return (opd_fill){ .kind = OPD_FILL_NORMAL, .b = 1 };
    }
    bool is_unsigned = dtype == OPD_U8 || dtype == OPD_U16 || dtype == OPD_U32 || dtype == OPD_U64;
    bool is_bool = dtype == OPD_BOOL;
    return (opd_fill){ .kind = OPD_FILL_INTEGERS,
                       .a = is_unsigned || is_bool ? 0 : -4,
                       .b = is_bool       ? 1
                            : is_unsigned ? 8
                                          : 4 };
}

static opd_status contract_fill(opd_fill *out, const opd_plan_operand *pattern, const opd_operand *operand)
{
    char text[64];
    if (pattern->fill.size == 0) {
        *out = default_fill(operand->view.dtype);
        return OPD_OK;
    }
    snprintf(text, sizeof text, "%.*s", pattern->fill.size, pattern->fill.at);
    return opd_fill_parse(out, text);
}

static opd_status fill_operand(const opd_call *call, const opd_binding *binding, int index, uint64_t seed,
                               const opd_fill *fill)
{
    const opd_plan_operand *pattern = &binding->plan->operands[opd_binding_plan_operand(binding, index)];
    const opd_operand *operand = &call->operands[index];
    int64_t bound = 0;
    if (call->op->generate != NULL && call->op->generate(call, index, seed)) {
        return OPD_OK;
    }
    if (pattern->content_count > 0) {
        store_all(&operand->view, binding, pattern, seed, (uint64_t)index, 0);
        return OPD_OK;
    }
    if (pattern->index.code != NULL) {
        if (!opd_binding_run(&bound, binding, &pattern->index)) {
            return opd_fail(OPD_E_INVALID, "%s: %.*s has no value", call->op->name, pattern->index.text.size,
                            pattern->index.text.at);
        }
        store_all(&operand->view, binding, pattern, seed, (uint64_t)index, bound > 1 ? bound : 1);
        return OPD_OK;
    }
    opd_fill used;
    opd_status status = OPD_OK;
    if (fill != NULL) {
        used = *fill;
    } else {
        status = contract_fill(&used, pattern, operand);
    }
    if (status == OPD_OK) {
        used.seed = seed;
        used.stream = (uint64_t)index;
        opd_tensor_fill(&operand->view, &used);
    }
    return status;
}

/* A BLAS routine's contract says nothing of what its inputs hold. */
static void fill_routine(opd_call *call, uint64_t seed, const opd_fill *fill)
{
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        opd_fill used = fill != NULL ? *fill : default_fill(operand->view.dtype);
        used.seed = seed;
        used.stream = (uint64_t)i;
        if ((operand->role & OPD_ROLE_IN) != 0 && operand->view.data != NULL) {
            opd_tensor_fill(&operand->view, &used);
        }
    }
    call->seed = seed;
}

opd_status opd_call_generate(opd_call *call, uint64_t seed, const opd_fill *fill)
{
    const opd_plan *plan = opd_plan_of_call(call);
    if (plan == NULL) {
        return OPD_E_INVALID;
    }
    if (!plan->is_general) {
        fill_routine(call, seed, fill);
        return opd_call_bind(call);
    }
    opd_binding binding;
    opd_status status = opd_binding_of_call(&binding, call, plan);
    for (int i = 0; status == OPD_OK && i < binding.first[plan->input_count]; i++) {
        const opd_operand *operand = &call->operands[i];
        if ((operand->flags & OPD_OPERAND_ABSENT) == 0 && operand->view.data != NULL) {
            status = fill_operand(call, &binding, i, seed, fill);
        }
    }
    call->seed = status == OPD_OK ? seed : call->seed;
    return status == OPD_OK ? opd_call_bind(call) : status;
}

int opd_call_content(const opd_call *call, int index, int64_t *values, int capacity)
{
    const opd_plan *plan = opd_plan_of(call->op);
    opd_binding binding;
    if (plan == NULL || !plan->is_general || index < 0 || index >= call->operand_count ||
        (call->operands[index].flags & OPD_OPERAND_ABSENT) != 0 ||
        opd_binding_of_call(&binding, call, plan) != OPD_OK) {
        return -1;
    }
    const opd_plan_operand *pattern = &plan->operands[opd_binding_plan_operand(&binding, index)];
    const opd_tensor *view = &call->operands[index].view;
    int64_t count = opd_tensor_count(view);
    bool is_known = view->data != NULL || (pattern->content_count > 0 && count <= pattern->content_count);
    if (!is_known || count > capacity || opd_dtype_is_float(view->dtype)) {
        return -1;
    }
    for (int64_t flat = 0; flat < count; flat++) {
        int64_t at[OPD_MAX_RANK];
        opd_tensor_unflatten(view, flat, at);
        if (view->data != NULL) {
            values[flat] =
                (int64_t)opd_element_load_wide(view->dtype, (const uint8_t *)view->data + opd_tensor_offset(view, at));
        } else if (!opd_binding_run(&values[flat], &binding, &plan->content[pattern->content + flat])) {
            return -1;
        }
    }
    return (int)count;
}
