/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding a call of a general operator: symbols from the inputs, outputs from the symbols, what is left from the shape
 * function of the contract. And the way back: inputs from symbols, for those who change a size.
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"

static bool is_absent(const opd_operand *operand)
{
    return (operand->flags & OPD_OPERAND_ABSENT) != 0;
}

/*
 * Row-major strides, unless the view has this dtype and shape already: then those it has. A view that outgrows its storage loses its memory.
 * errors: E_INVALID it does not fit int64.
 */
static opd_status reshape(opd_tensor *view, opd_dtype dtype, int rank, const int64_t *shape)
{
    bool is_same =
        view->dtype == dtype && view->rank == rank && memcmp(view->shape, shape, (size_t)rank * sizeof shape[0]) == 0;
    if (is_same) {
        return OPD_OK;
    }
    opd_tensor made;
    opd_status status = opd_tensor_contiguous(&made, dtype, rank, shape, view->data);
    if (status == OPD_OK) {
        bool is_in_storage = view->data != NULL && view->storage != NULL;
        uint64_t offset = is_in_storage ? (uint64_t)((uintptr_t)view->data - (uintptr_t)view->storage) : 0;
        bool has_room =
            !is_in_storage || (offset <= view->storage_bytes && made.storage_bytes <= view->storage_bytes - offset);
        made.data = has_room ? view->data : NULL;
        made.storage = has_room ? view->storage : NULL;
        made.storage_bytes = has_room ? view->storage_bytes : 0;
        *view = made;
    }
    return status;
}

static void bind_nothing(opd_operand *operand)
{
    const int64_t none = 0;
    opd_dtype dtype = operand->view.dtype != OPD_DTYPE_NONE ? operand->view.dtype : OPD_F32;
    if (!is_absent(operand)) {
        (void)reshape(&operand->view, dtype, 1, &none);
    }
}

/* ------------------------------------------------------------------------------------------------- symbols */

static opd_status write_symbols(opd_call *call, const opd_binding *binding)
{
    const opd_plan *plan = binding->plan;
    int at = 0;
    for (int slot = 0; slot < plan->symbol_count; slot++) {
        const opd_plan_value *value = &plan->values[slot];
        bool is_single = value->reach == OPD_REACH_ONE;
        int rank = is_single ? 1 : binding->rank[slot] > 0 ? binding->rank[slot] : 0;
        for (int e = 0; e < rank; e++) {
            if (at == OPD_MAX_SYMBOLS) {
                return opd_fail(OPD_E_LIMIT, "%s: more than %d dimension symbols", call->op->name, OPD_MAX_SYMBOLS);
            }
            opd_value *symbol = &call->symbols[at++];
            memset(symbol, 0, sizeof *symbol);
            opd_name_numbered(symbol->name, value->name, value->reach > OPD_REACH_MAYBE ? e : -1);
            symbol->kind = OPD_VALUE_INT;
            symbol->i = binding->rank[slot] > e ? binding->dims[slot][e] : 0;
        }
    }
    for (int i = at; i < call->symbol_count && i < OPD_MAX_SYMBOLS; i++) {
        memset(&call->symbols[i], 0, sizeof call->symbols[i]);
    }
    call->symbol_count = at;
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------------------- outputs */

/* The sizes an item of a pattern stands for; *is_free when no symbol says. */
static opd_status item_sizes(int64_t *sizes, int *count, bool *is_free, const opd_binding *binding,
                             const opd_plan_dim *dim, int ordinal)
{
    int64_t is_first = 1;
    int slot = dim->slot;
    *count = 1;
    if (dim->kind == OPD_DIM_ANY) {
        *is_free = true;
        return OPD_OK;
    }
    if (dim->kind != OPD_DIM_SYMBOL) {
        int64_t *value = dim->kind == OPD_DIM_FORMULA ? &sizes[0] : &is_first;
        if (!opd_binding_run(value, binding, &dim->formula)) {
            return opd_fail(OPD_E_INVALID, "%s: %.*s has no value", binding->call->op->name, dim->formula.text.size,
                            dim->formula.text.at);
        }
        if (dim->kind == OPD_DIM_FORMULA) {
            sizes[0] = sizes[0] > 0 ? sizes[0] : 0;
            return OPD_OK;
        }
        slot = is_first != 0 ? dim->slot : dim->other_slot;
    }
    int rank = binding->rank[slot];
    bool is_each = binding->plan->values[slot].reach == OPD_REACH_EACH;
    if (rank < 0 || (is_each && ordinal >= rank)) {
        *is_free = true;
        return OPD_OK;
    }
    *count = is_each ? 1 : rank;
    for (int e = 0; e < *count; e++) {
        sizes[e] = binding->dims[slot][is_each ? ordinal : e];
    }
    return OPD_OK;
}

static opd_dtype output_dtype(const opd_binding *binding, const opd_plan_operand *pattern, opd_dtype now,
                              const opd_dtype dtypes[OPD_PLAN_TYPES])
{
    if (pattern->type == 'D') {
        return pattern->dtype;
    }
    if (pattern->type == 'R') {
        return opd_dtype_real(binding->call->dtype);
    }
    opd_dtype bound = dtypes[pattern->variable];
    if (bound == OPD_DTYPE_NONE && pattern->variable == 0) {
        bound = binding->call->dtype;
    }
    if (bound != OPD_DTYPE_NONE) {
        return bound;
    }
    const opd_plan_type *type = &binding->plan->types[pattern->variable];
    for (int i = 0; i < type->count; i++) {
        if (type->dtypes[i] == (uint8_t)now) {
            return now;
        }
    }
    return (opd_dtype)type->dtypes[0];
}

opd_status opd_binding_shape(int64_t shape[OPD_MAX_RANK], int *rank, bool *is_free, const opd_binding *binding, int p,
                             int ordinal)
{
    const opd_plan_operand *pattern = &binding->plan->operands[p];
    *is_free = false;
    *rank = 0;
    for (int d = 0; d < pattern->rank; d++) {
        int count = 0;
        int64_t sizes[OPD_MAX_OPERANDS];
        opd_status status = item_sizes(sizes, &count, is_free, binding, &pattern->dims[d], ordinal);
        if (status != OPD_OK || *is_free) {
            return status;
        }
        if (*rank + count > OPD_MAX_RANK) {
            return opd_fail(OPD_E_INVALID, "%s: %.*s has more than %d dimensions", binding->call->op->name,
                            pattern->name.size, pattern->name.at, OPD_MAX_RANK);
        }
        memcpy(shape + *rank, sizes, (size_t)count * sizeof sizes[0]);
        *rank += count;
    }
    return OPD_OK;
}

/* One output from the symbols; *is_free: its shape is the shape function's to set. */
static opd_status bind_output(opd_operand *operand, const opd_binding *binding, int p, int ordinal, bool *is_free,
                              const opd_dtype dtypes[OPD_PLAN_TYPES])
{
    int64_t shape[OPD_MAX_RANK] = { 0 };
    int rank = 0;
    opd_dtype dtype = output_dtype(binding, &binding->plan->operands[p], operand->view.dtype, dtypes);
    opd_status status = opd_binding_shape(shape, &rank, is_free, binding, p, ordinal);
    if (status != OPD_OK) {
        return status;
    }
    if (*is_free) { /* a place that the shape function fills */
        operand->view.dtype = dtype;
        return OPD_OK;
    }
    status = reshape(&operand->view, dtype, rank, shape);
    return status == OPD_OK ? status : opd_fail_in(status, "%s: %s", binding->call->op->name, operand->name);
}

/* Names and counts the operands of a variadic output, which is the last. */
static opd_status resize_outputs(opd_call *call, opd_binding *binding)
{
    const opd_plan *plan = binding->plan;
    const opd_plan_operand *last = &plan->operands[plan->operand_count - 1];
    int64_t times = 0;
    if (!last->is_variadic || plan->operand_count == plan->input_count) {
        return OPD_OK;
    }
    int first = binding->first[plan->operand_count - 1];
    if (!opd_binding_run(&times, binding, &last->times) || times < 1 || times > OPD_MAX_OPERANDS - first) {
        return opd_fail(OPD_E_INVALID, "%s: %lld operands %.*s, from 1 to %d can be", call->op->name, (long long)times,
                        last->name.size, last->name.at, OPD_MAX_OPERANDS - first);
    }
    for (int i = first; i < first + (int)times; i++) {
        opd_operand *operand = &call->operands[i];
        if (i >= call->operand_count) {
            memset(operand, 0, sizeof *operand);
        }
        opd_name_numbered(operand->name, last->name, i - first);
        operand->role = last->role;
    }
    call->operand_count = first + (int)times;
    binding->first[plan->operand_count] = call->operand_count;
    return OPD_OK;
}

/* What the shape function may have to say more: strides, and the symbols that only outputs have. */
static opd_status settle_output(opd_operand *operand, const opd_tensor *before, opd_binding *binding, int index,
                                bool is_free)
{
    opd_tensor wanted = operand->view;
    if (wanted.rank < 0 || wanted.rank > OPD_MAX_RANK) {
        return opd_fail(OPD_E_INVALID, "%s: %s has rank %d", binding->call->op->name, operand->name, wanted.rank);
    }
    operand->view = *before;
    operand->view.data = wanted.data;
    opd_status status = reshape(&operand->view, wanted.dtype, wanted.rank, wanted.shape);
    if (status != OPD_OK) {
        return opd_fail_in(status, "%s: %s", binding->call->op->name, operand->name);
    }
    return is_free ? opd_binding_unify_output(binding, index) : OPD_OK;
}

static opd_status bind_outputs(opd_call *call, opd_binding *binding, const opd_dtype dtypes[OPD_PLAN_TYPES],
                               int *culprit)
{
    const opd_plan *plan = binding->plan;
    opd_tensor before[OPD_MAX_OPERANDS];
    bool is_free[OPD_MAX_OPERANDS] = { false };
    bool is_any_free = false;
    int begin = binding->first[plan->input_count];
    for (int i = begin; i < call->operand_count; i++) {
        int p = opd_binding_plan_operand(binding, i);
        opd_operand *operand = &call->operands[i];
        *culprit = i;
        before[i] = operand->view;
        opd_status status =
            is_absent(operand) ? OPD_OK : bind_output(operand, binding, p, i - binding->first[p], &is_free[i], dtypes);
        if (status != OPD_OK) {
            return status;
        }
        is_any_free |= is_free[i];
        if (is_free[i] && call->op->shape == NULL) {
            return opd_fail(OPD_E_INVALID, "%s: no input says the dimensions of %s", call->op->name, operand->name);
        }
    }
    opd_status status = write_symbols(call, binding);
    if (status != OPD_OK || call->op->shape == NULL) {
        return status;
    }
    status = call->op->shape(call);
    for (int i = begin; i < call->operand_count && status == OPD_OK; i++) {
        *culprit = i;
        status = is_absent(&call->operands[i]) ? OPD_OK
                                               : settle_output(&call->operands[i], &before[i], binding, i, is_free[i]);
    }
    return status == OPD_OK && is_any_free ? write_symbols(call, binding) : status;
}

/* ------------------------------------------------------------------------------------------------- the whole */

static void bind_flags(opd_call *call, const opd_binding *binding)
{
    for (int i = 0; i < call->operand_count; i++) {
        const opd_plan_operand *pattern = &binding->plan->operands[opd_binding_plan_operand(binding, i)];
        opd_operand *operand = &call->operands[i];
        int64_t must_read = 1;
        bool is_read = (operand->role & OPD_ROLE_IN) != 0;
        bool is_unwanted = is_read && opd_binding_run(&must_read, binding, &pattern->condition) && must_read == 0;
        uint32_t computed = OPD_OPERAND_MUST_NOT_READ | OPD_OPERAND_RETURNED | OPD_OPERAND_INDEX;
        operand->flags = (operand->flags & ~computed) | pattern->flags | (is_unwanted ? OPD_OPERAND_MUST_NOT_READ : 0);
        if (is_absent(operand)) {
            operand->view = (opd_tensor){ .dtype = OPD_DTYPE_NONE };
        }
    }
}

static opd_status check_inputs(const opd_call *call, int count, int *culprit)
{
    for (int i = 0; i < count; i++) {
        *culprit = i;
        opd_status status = is_absent(&call->operands[i]) ? OPD_OK : opd_tensor_check(&call->operands[i].view);
        if (status != OPD_OK) {
            return opd_fail_in(status, "%s: %s", call->op->name, call->operands[i].name);
        }
    }
    return OPD_OK;
}

static opd_status bind(opd_call *call, opd_binding *binding, int *culprit)
{
    const opd_plan *plan = binding->plan;
    opd_dtype dtypes[OPD_PLAN_TYPES] = { OPD_DTYPE_NONE };
    opd_status status = check_inputs(call, binding->first[plan->input_count], culprit);
    if (status == OPD_OK) {
        status = opd_binding_unify(binding, dtypes, culprit);
    }
    if (status != OPD_OK) {
        return status;
    }
    if (dtypes[0] != OPD_DTYPE_NONE) {
        call->dtype = dtypes[0];
    } else if (call->dtype == OPD_DTYPE_NONE) {
        call->dtype = (opd_dtype)plan->types[0].dtypes[0];
    }
    status = resize_outputs(call, binding);
    return status == OPD_OK ? bind_outputs(call, binding, dtypes, culprit) : status;
}

static opd_status check_ranges(const opd_call *call, const opd_plan *plan)
{
    opd_status status = OPD_OK;
    for (int i = plan->symbol_count; i < plan->slot_count && status == OPD_OK; i++) {
        status = opd_range_check(call, &plan->values[i], &call->attrs[i - plan->symbol_count]);
    }
    return status;
}

opd_status opd_general_bind(opd_call *call, const opd_plan *plan)
{
    opd_binding binding;
    int culprit = 0;
    opd_status status = opd_binding_begin(&binding, call, plan);
    if (status != OPD_OK) {
        return status;
    }
    status = check_ranges(call, plan);
    if (status == OPD_OK) {
        status = bind(call, &binding, &culprit);
    } else {
        culprit = call->operand_count; /* an attribute: no operand is to blame */
    }
    bind_flags(call, &binding);
    call->flags &= ~(uint32_t)OPD_CALL_BAD_ARGS;
    call->bad_arg = 0;
    if (status == OPD_OK) {
        return OPD_OK;
    }
    call->flags |= OPD_CALL_BAD_ARGS;
    call->bad_arg = culprit + 1;
    for (int i = binding.first[plan->input_count]; i < call->operand_count; i++) {
        bind_nothing(&call->operands[i]);
    }
    return status;
}

/* --------------------------------------------------------------------------------------------- sizes changed */

/* The shape an input has under other values of its symbols: broadcast dimensions stay 1 where they were. */
static opd_status relink_operand(opd_operand *operand, const opd_binding *now, const opd_binding *wanted, int index)
{
    opd_place places[OPD_MAX_RANK];
    opd_tensor *view = &operand->view;
    opd_status status = opd_binding_places(places, now, index, view->rank);
    int64_t shape[OPD_MAX_RANK] = { 0 };
    bool has_grown = false;
    for (int d = 0; d < view->rank && status == OPD_OK; d++) {
        const opd_place *place = &places[d];
        shape[d] = view->shape[d];
        if (place->dim->kind == OPD_DIM_FORMULA) {
            if (!opd_binding_run(&shape[d], wanted, &place->dim->formula)) {
                return opd_fail(OPD_E_INVALID, "%s: %.*s has no value", wanted->call->op->name,
                                place->dim->formula.text.size, place->dim->formula.text.at);
            }
            shape[d] = shape[d] > 0 ? shape[d] : 0;
        } else if (place->slot >= 0 && place->element >= 0) {
            bool stays_one = place->is_broadcast && shape[d] == 1 && now->dims[place->slot][place->element] != 1;
            shape[d] = stays_one ? 1 : wanted->dims[place->slot][place->element];
        }
        has_grown |= shape[d] > view->shape[d];
    }
    if (status != OPD_OK || memcmp(shape, view->shape, (size_t)view->rank * sizeof shape[0]) == 0) {
        return status;
    }
    opd_tensor dense;
    status = opd_tensor_contiguous(&dense, view->dtype, view->rank, view->shape, NULL);
    bool is_dense = status == OPD_OK && memcmp(dense.stride, view->stride, sizeof view->stride) == 0;
    if (is_dense || has_grown || status != OPD_OK) {
        return reshape(view, view->dtype, view->rank, shape);
    }
    memcpy(view->shape, shape, (size_t)view->rank * sizeof shape[0]); /* a part of what was there, where it was */
    return OPD_OK;
}

opd_status opd_general_relink(opd_call *call, const opd_binding *wanted)
{
    opd_binding now;
    opd_status status = opd_binding_of_call(&now, call, wanted->plan);
    for (int i = 0; status == OPD_OK && i < now.first[now.plan->input_count]; i++) {
        if (!is_absent(&call->operands[i])) {
            status = relink_operand(&call->operands[i], &now, wanted, i);
        }
    }
    return status == OPD_OK ? opd_general_bind(call, wanted->plan) : status;
}

/* A size by the name that the call gives it. */
static bool find_symbol(int *slot, int *element, const opd_binding *binding, const char *name)
{
    int at = 0;
    for (*slot = 0; *slot < binding->plan->symbol_count; (*slot)++) {
        for (*element = 0; *element < binding->rank[*slot]; (*element)++) {
            if (strncmp(binding->call->symbols[at++].name, name, OPD_NAME) == 0) {
                return true;
            }
        }
    }
    return false;
}

static opd_status set_symbol(opd_call *call, opd_binding *binding, int slot, int element, const char *name,
                             int64_t value)
{
    opd_binding_set(binding, slot, element, value, -1);
    opd_status status = opd_general_relink(call, binding);
    const opd_value *bound = status == OPD_OK ? opd_call_value(call, name) : NULL;
    if (status == OPD_OK && (bound == NULL || bound->i != value)) {
        return opd_fail(OPD_E_INVALID, "%s: %s follows from the inputs and attributes", call->op->name, name);
    }
    return status;
}

static opd_status set_attribute(opd_call *call, const opd_plan *plan, int slot, int64_t value)
{
    opd_value *attribute = opd_plan_value_of(plan, call, slot);
    switch (plan->values[slot].use) {
    case OPD_USE_INT:
        attribute->kind = OPD_VALUE_INT;
        attribute->i = value;
        break;
    case OPD_USE_REAL:
        attribute->kind = OPD_VALUE_REAL;
        attribute->re = (double)value;
        break;
    default:
        return opd_fail(OPD_E_INVALID, "%s: %s is no number", call->op->name, attribute->name);
    }
    /* Expressions may see the attribute: sizes as they were first, then as the shapes now read. */
    opd_binding binding;
    opd_call kept = *call;
    opd_status status = opd_binding_of_call(&binding, call, plan);
    if (status == OPD_OK) {
        status = opd_general_relink(call, &binding);
    }
    if (status == OPD_OK) {
        return OPD_OK;
    }
    *call = kept;
    return opd_general_bind(call, plan);
}

opd_status opd_general_set(opd_call *call, const opd_plan *plan, const char *name, int64_t value)
{
    opd_binding binding;
    opd_call changed = *call;
    int slot = 0;
    int element = 0;
    opd_status status = opd_binding_of_call(&binding, &changed, plan);
    if (status != OPD_OK) {
        return status;
    }
    bool is_symbol = find_symbol(&slot, &element, &binding, name);
    int attribute = is_symbol ? -1 : opd_plan_find_slot(plan, name, (int)strlen(name));
    if (!is_symbol && attribute < plan->symbol_count) {
        return opd_fail(OPD_E_INVALID, "%s has no symbol or attribute %s", call->name, name);
    }
    if (is_symbol && value < 0) {
        return opd_fail(OPD_E_INVALID, "%s: %s = %lld is negative", call->name, name, (long long)value);
    }
    status = is_symbol ? set_symbol(&changed, &binding, slot, element, name, value)
                       : set_attribute(&changed, plan, attribute, value);
    if (status == OPD_OK) {
        *call = changed;
    }
    return status;
}

opd_status opd_general_compact(opd_call *call, const opd_plan *plan)
{
    for (int i = 0; i < call->operand_count && i < OPD_MAX_OPERANDS; i++) {
        opd_tensor *view = &call->operands[i].view;
        opd_tensor dense;
        if (is_absent(&call->operands[i]) ||
            opd_tensor_contiguous(&dense, view->dtype, view->rank, view->shape, view->data) != OPD_OK) {
            continue;
        }
        memcpy(view->stride, dense.stride, sizeof view->stride);
    }
    return opd_general_bind(call, plan);
}
