/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls made from a wish: attributes and shapes as texts, the contract's defaults for what they leave out. The call is
 * built aside and handed over when it is bound.
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"

enum { TEXT_LIMIT = 4096, DEFAULT_RANK = 3 };
static const int64_t default_shape[DEFAULT_RANK] = { 1, 128, 128 };

struct wish {
    opd_call *call;
    const opd_op *op;
    const opd_plan *plan;
    opd_slice shapes[OPD_MAX_OPERANDS];
    int shape_count; /* -1 = none given: defaults */
};

/* ----------------------------------------------------------------------------------------------- attributes */

static opd_status wrong_attribute(const struct wish *wish, const opd_plan_value *expected, opd_slice text,
                                  const char *what)
{
    return opd_fail(OPD_E_SYNTAX, "%s: %.*s is %s, not %.*s", wish->op->name, expected->name.size, expected->name.at,
                    what, text.size, text.at);
}

static opd_status set_word(opd_value *value, const struct wish *wish, const opd_plan_value *expected, opd_slice text)
{
    value->kind = OPD_VALUE_TEXT;
    opd_slice rest = expected->words;
    opd_slice item;
    bool is_known = rest.size == 0;
    for (int i = 0; !is_known && opd_slice_next(&item, &rest, '|'); i++) {
        is_known = opd_slice_equal(item, text);
        value->i = i;
    }
    if (!is_known) {
        return opd_fail(OPD_E_SYNTAX, "%s: %.*s is one of %.*s, not %.*s", wish->op->name, expected->name.size,
                        expected->name.at, expected->words.size, expected->words.at, text.size, text.at);
    }
    if (text.size >= (int)sizeof value->text) {
        return wrong_attribute(wish, expected, text, "a word of at most 63 bytes");
    }
    memset(value->text, 0, sizeof value->text);
    memcpy(value->text, text.at, (size_t)text.size);
    return OPD_OK;
}

static opd_status set_value(opd_value *value, const struct wish *wish, const opd_plan_value *expected, opd_slice text)
{
    if (expected->is_optional && opd_slice_is(text, "-")) {
        value->kind = OPD_VALUE_NONE;
        return OPD_OK;
    }
    switch (expected->use) {
    case OPD_USE_INT:
        value->kind = OPD_VALUE_INT;
        return opd_slice_int(&value->i, text) ? OPD_OK : wrong_attribute(wish, expected, text, "a whole number");
    case OPD_USE_REAL:
        value->kind = OPD_VALUE_REAL;
        return opd_slice_real(&value->re, text) ? OPD_OK : wrong_attribute(wish, expected, text, "a number");
    case OPD_USE_INTS: {
        int count = opd_slice_ints(value->ints, OPD_MAX_INTS, text);
        value->kind = OPD_VALUE_INTS;
        value->i = count;
        return count >= 0 ? OPD_OK : wrong_attribute(wish, expected, text, "a list of at most 8 whole numbers, [1,2]");
    }
    default:
        return set_word(value, wish, expected, text);
    }
}

/* The contract's attributes at their defaults, which its compilation has checked. */
static opd_status set_defaults(const struct wish *wish)
{
    const opd_plan *plan = wish->plan;
    opd_call *call = wish->call;
    call->attr_count = plan->slot_count - plan->symbol_count;
    for (int i = 0; i < call->attr_count; i++) {
        const opd_plan_value *expected = &plan->values[plan->symbol_count + i];
        memcpy(call->attrs[i].name, expected->name.at, (size_t)expected->name.size);
        bool is_absent = expected->is_optional && expected->use != OPD_USE_WORD && expected->text.size == 0;
        is_absent |= expected->is_optional && expected->use == OPD_USE_WORD;
        opd_status status = is_absent ? OPD_OK : set_value(&call->attrs[i], wish, expected, expected->text);
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

static void add_name(char *names, size_t size, opd_slice name)
{
    size_t used = strlen(names);
    snprintf(names + used, size - used, "%s%.*s", used > 0 ? ", " : "", name.size, name.at);
}

static opd_status unknown_attribute(const struct wish *wish, opd_slice name)
{
    char names[256] = "";
    for (int i = wish->plan->symbol_count; i < wish->plan->slot_count; i++) {
        add_name(names, sizeof names, wish->plan->values[i].name);
    }
    return opd_fail(OPD_E_NAME, "%s has no attribute %.*s; it has %s", wish->op->name, name.size, name.at,
                    names[0] != '\0' ? names : "none");
}

static opd_status set_attributes(const struct wish *wish, const char *text)
{
    opd_slice rest = opd_slice_of(text);
    opd_slice item;
    bool is_given[OPD_PLAN_SLOTS] = { false };
    while (opd_slice_next(&item, &rest, ',')) {
        const char *equals = memchr(item.at, '=', (size_t)item.size);
        opd_slice name = opd_slice_trim((opd_slice){ item.at, equals != NULL ? (int)(equals - item.at) : item.size });
        int slot = opd_plan_find_slot(wish->plan, name.at, name.size);
        if (slot < wish->plan->symbol_count) {
            return unknown_attribute(wish, name);
        }
        if (equals == NULL) {
            return opd_fail(OPD_E_SYNTAX, "%s: attributes are NAME=VALUE with commas between them, not %.*s",
                            wish->op->name, item.size, item.at);
        }
        if (is_given[slot]) {
            return opd_fail(OPD_E_SYNTAX, "%s: attribute %.*s is given twice", wish->op->name, name.size, name.at);
        }
        is_given[slot] = true;
        opd_slice value = opd_slice_trim((opd_slice){ equals + 1, (int)(item.at + item.size - equals) - 1 });
        const opd_plan_value *expected = &wish->plan->values[slot];
        opd_value *given = opd_plan_value_of(wish->plan, wish->call, slot);
        opd_status status = set_value(given, wish, expected, value);
        if (status == OPD_OK && expected->range.kind != OPD_RANGE_AXIS) { /* shapes are to come */
            status = opd_range_check(wish->call, expected, given);
        }
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------------------- operands */

static opd_status split_shapes(struct wish *wish, const char *text)
{
    wish->shape_count = text != NULL ? 0 : -1;
    opd_slice rest = opd_slice_of(text);
    opd_slice item;
    while (opd_slice_next(&item, &rest, ';')) {
        if (wish->shape_count == OPD_MAX_OPERANDS) {
            return opd_fail(OPD_E_INVALID, "%s: more than %d shapes", wish->op->name, OPD_MAX_OPERANDS);
        }
        wish->shapes[wish->shape_count++] = item;
    }
    return OPD_OK;
}

static bool is_wanted_output(const char *outputs, opd_slice name)
{
    opd_slice rest = opd_slice_of(outputs);
    opd_slice item;
    while (opd_slice_next(&item, &rest, ',')) {
        if (opd_slice_is(item, "*") || opd_slice_equal(item, name)) {
            return true;
        }
    }
    return false;
}

static opd_status unknown_output(const struct wish *wish, opd_slice name)
{
    char names[256] = "";
    for (int i = wish->plan->input_count; i < wish->plan->operand_count; i++) {
        add_name(names, sizeof names, wish->plan->operands[i].name);
    }
    return opd_fail(OPD_E_NAME, "%s has no output %.*s; it has %s", wish->op->name, name.size, name.at, names);
}

static opd_status check_wanted(const struct wish *wish, const char *outputs)
{
    opd_slice rest = opd_slice_of(outputs);
    opd_slice item;
    while (opd_slice_next(&item, &rest, ',')) {
        if (!opd_slice_is(item, "*") &&
            opd_plan_find_operand(wish->plan, item.at, item.size) < wish->plan->input_count) {
            return unknown_output(wish, item);
        }
    }
    return OPD_OK;
}

/* Names and roles of all operands; a variadic one stands for `times`. */
static opd_status lay_operands(const struct wish *wish, int times, const char *outputs)
{
    opd_call *call = wish->call;
    call->operand_count = 0;
    for (int p = 0; p < wish->plan->operand_count; p++) {
        const opd_plan_operand *pattern = &wish->plan->operands[p];
        bool is_output = p >= wish->plan->input_count;
        bool is_unsaid = is_output ? outputs == NULL : wish->shape_count < 0;
        bool is_wanted = is_unsaid ? pattern->is_default : !is_output || is_wanted_output(outputs, pattern->name);
        bool is_absent = pattern->is_optional && !is_wanted;
        int count = pattern->is_variadic ? is_output ? 1 : times : 1;
        for (int i = 0; i < count; i++) {
            if (call->operand_count == OPD_MAX_OPERANDS) {
                return opd_fail(OPD_E_INVALID, "%s: more than %d operands", wish->op->name, OPD_MAX_OPERANDS);
            }
            opd_operand *operand = &call->operands[call->operand_count++];
            memset(operand, 0, sizeof *operand);
            opd_name_numbered(operand->name, pattern->name, pattern->is_variadic ? i : -1);
            operand->view = (opd_tensor){ .rank = 1, .stride = { 1 } }; /* no elements, until something says */
            operand->role = pattern->role;
            operand->flags = is_absent ? OPD_OPERAND_ABSENT : 0;
        }
    }
    return OPD_OK;
}

/* How many operands the variadic input has: as many as there are shapes, as its times() says, or two. */
static opd_status count_variadic(int *times, const struct wish *wish)
{
    const opd_plan *plan = wish->plan;
    *times = 2;
    for (int p = 0; p < plan->input_count; p++) {
        if (!plan->operands[p].is_variadic) {
            continue;
        }
        int64_t said = 2;
        opd_binding binding;
        if (wish->shape_count >= 0) {
            said = wish->shape_count - (plan->input_count - 1);
        } else if (plan->operands[p].times.code != NULL && lay_operands(wish, 1, NULL) == OPD_OK &&
                   opd_binding_begin(&binding, wish->call, plan) == OPD_OK) {
            (void)opd_binding_run(&said, &binding, &plan->operands[p].times);
        }
        if (said < 1 || said > OPD_MAX_OPERANDS) {
            return opd_fail(OPD_E_INVALID, "%s needs from 1 to %d operands %.*s", wish->op->name, OPD_MAX_OPERANDS,
                            plan->operands[p].name.size, plan->operands[p].name.at);
        }
        *times = (int)said;
    }
    return OPD_OK;
}

/* -------------------------------------------------------------------------------------------- dtypes, shapes */

/* dtype and dimensions of "f16[2,3]"; dtype NONE when it names none. */
static opd_status read_shape(opd_tensor *out, const struct wish *wish, const opd_operand *operand, opd_slice text)
{
    const char *open = memchr(text.at, '[', (size_t)text.size);
    int64_t shape[OPD_MAX_RANK];
    char word[OPD_NAME] = { 0 };
    int size = open != NULL ? (int)(open - text.at) : -1;
    int rank = -1;
    if (size >= 0 && size < OPD_NAME && text.at[text.size - 1] == ']') {
        rank = opd_slice_ints(shape, OPD_MAX_RANK, (opd_slice){ open, text.size - size });
        memcpy(word, text.at, (size_t)size);
    }
    out->dtype = size > 0 ? opd_dtype_parse(word) : OPD_DTYPE_NONE;
    if (rank < 0 || (size > 0 && out->dtype == OPD_DTYPE_NONE)) {
        return opd_fail(OPD_E_SYNTAX, "%s: the shape of %s is [2,3] or f32[2,3] of at most 8 dimensions, not %.*s",
                        wish->op->name, operand->name, text.size, text.at);
    }
    out->rank = rank;
    for (int d = 0; d < rank; d++) {
        out->shape[d] = shape[d];
        if (shape[d] < 0) {
            return opd_fail(OPD_E_SYNTAX, "%s: a dimension of %s is negative: %.*s", wish->op->name, operand->name,
                            text.size, text.at);
        }
    }
    return OPD_OK;
}

/* The shapes as given, dtypes where they name one. */
static opd_status take_shapes(const struct wish *wish, const opd_binding *binding)
{
    opd_call *call = wish->call;
    int inputs = binding->first[wish->plan->input_count];
    if (wish->shape_count > inputs) {
        return opd_fail(OPD_E_INVALID, "%s has %d input%s, not %d", wish->op->name, inputs, inputs == 1 ? "" : "s",
                        wish->shape_count);
    }
    for (int i = 0; i < inputs; i++) {
        opd_operand *operand = &call->operands[i];
        bool is_given = i < wish->shape_count && !opd_slice_is(wish->shapes[i], "-");
        if (!is_given && !wish->plan->operands[opd_binding_plan_operand(binding, i)].is_optional) {
            return opd_fail(OPD_E_INVALID, "%s needs a shape of %s", wish->op->name, operand->name);
        }
        operand->flags = is_given ? 0 : OPD_OPERAND_ABSENT;
        opd_status status = is_given ? read_shape(&operand->view, wish, operand, wish->shapes[i]) : OPD_OK;
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

/* Where two NAME... share an operand, the default shape is split between them. */
static void share_default(opd_binding *binding, const opd_plan_operand *pattern)
{
    int many[2] = { -1, -1 };
    int count = 0;
    int64_t first = 0;
    for (int d = 0; d < pattern->rank; d++) {
        const opd_plan_dim *dim = &pattern->dims[d];
        bool is_many = dim->kind == OPD_DIM_SYMBOL && binding->plan->values[dim->slot].reach == OPD_REACH_MANY;
        if (is_many && (count == 2 || binding->plan->values[dim->slot].has_initial || binding->rank[dim->slot] >= 0)) {
            return;
        }
        if (is_many) {
            many[count++] = dim->slot;
        }
    }
    int singles = pattern->rank - count;
    if (count != 2 || singles > DEFAULT_RANK || !opd_binding_run(&first, binding, &pattern->split)) {
        return;
    }
    int left = DEFAULT_RANK - singles;
    first += first < 0 ? DEFAULT_RANK : 0;
    first = first < 0 ? 0 : first > left ? left : first;
    opd_binding_set_rank(binding, many[0], (int)first);
    opd_binding_set_rank(binding, many[1], left - (int)first);
    for (int e = 0; e < left; e++) {
        bool is_first = e < first;
        opd_binding_set(binding, many[is_first ? 0 : 1], is_first ? e : e - (int)first, default_shape[e], -1);
    }
}

static void default_symbol(opd_binding *binding, int slot)
{
    const opd_plan_value *value = &binding->plan->values[slot];
    int64_t sizes[OPD_MAX_RANK] = { value->initial };
    int rank = 1;
    if (value->reach == OPD_REACH_MANY || (value->reach == OPD_REACH_MAYBE && value->text.size == 0)) {
        rank = opd_slice_ints(sizes, OPD_MAX_RANK, value->text);
    } else if (value->reach == OPD_REACH_EACH) {
        rank = OPD_MAX_OPERANDS;
    }
    opd_binding_set_rank(binding, slot, rank);
    for (int e = 0; e < rank; e++) {
        opd_binding_set(binding, slot, e, value->reach == OPD_REACH_EACH ? value->initial : sizes[e], -1);
    }
}

/* Shapes of the inputs from the defaults of the symbols. */
static opd_status default_shapes(const struct wish *wish, opd_binding *binding)
{
    for (int p = 0; p < wish->plan->input_count; p++) {
        share_default(binding, &wish->plan->operands[p]);
    }
    for (int slot = 0; slot < wish->plan->symbol_count; slot++) {
        if (binding->rank[slot] < 0) {
            default_symbol(binding, slot);
        }
    }
    for (int i = 0; i < binding->first[wish->plan->input_count]; i++) {
        opd_operand *operand = &wish->call->operands[i];
        int p = opd_binding_plan_operand(binding, i);
        bool is_free = false;
        int rank = 0;
        if ((operand->flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        opd_status status = opd_binding_shape(operand->view.shape, &rank, &is_free, binding, p, i - binding->first[p]);
        if (status != OPD_OK) {
            return status;
        }
        operand->view.rank = rank;
        if (is_free) {
            operand->view.rank = DEFAULT_RANK;
            memcpy(operand->view.shape, default_shape, sizeof default_shape);
        }
    }
    return OPD_OK;
}

/* Inputs without a dtype get that of their type; T is what the wish, a shape, or the contract says. */
static opd_status take_dtypes(const struct wish *wish, const opd_binding *binding, opd_dtype wanted)
{
    const opd_plan *plan = wish->plan;
    opd_call *call = wish->call;
    opd_dtype dtypes[OPD_PLAN_TYPES] = { wanted };
    int inputs = binding->first[plan->input_count];
    for (int i = 0; i < inputs; i++) {
        const opd_plan_operand *pattern = &plan->operands[opd_binding_plan_operand(binding, i)];
        opd_dtype given = call->operands[i].view.dtype;
        if (given != OPD_DTYPE_NONE && pattern->variable >= 0 && dtypes[pattern->variable] == OPD_DTYPE_NONE) {
            dtypes[pattern->variable] = given;
        }
    }
    bool is_legal = wanted == OPD_DTYPE_NONE;
    for (int v = 0; v < plan->type_count; v++) {
        dtypes[v] = dtypes[v] != OPD_DTYPE_NONE ? dtypes[v] : (opd_dtype)plan->types[v].dtypes[0];
    }
    for (int k = 0; k < plan->types[0].count; k++) {
        is_legal |= plan->types[0].dtypes[k] == (uint8_t)wanted;
    }
    if (!is_legal) {
        return opd_fail(OPD_E_INVALID, "%s is not made for %s; its types are %s", wish->op->name,
                        opd_dtype_name(wanted), wish->op->types);
    }
    call->dtype = dtypes[0];
    for (int i = 0; i < inputs; i++) {
        const opd_plan_operand *pattern = &plan->operands[opd_binding_plan_operand(binding, i)];
        opd_operand *operand = &call->operands[i];
        if ((operand->flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        opd_tensor *view = &operand->view;
        if (view->dtype == OPD_DTYPE_NONE) {
            view->dtype = pattern->type == 'D'   ? pattern->dtype
                          : pattern->type == 'R' ? opd_dtype_real(call->dtype)
                                                 : dtypes[pattern->variable];
        }
        opd_status status = opd_tensor_contiguous(view, view->dtype, view->rank, view->shape, NULL);
        if (status != OPD_OK) {
            return opd_fail_in(status, "%s: %s", wish->op->name, operand->name);
        }
    }
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------------------- the whole */

static opd_status fill_inputs(const struct wish *wish, opd_dtype dtype)
{
    opd_binding binding;
    opd_status status = opd_binding_begin(&binding, wish->call, wish->plan);
    if (status == OPD_OK) {
        status = wish->shape_count >= 0 ? take_shapes(wish, &binding) : default_shapes(wish, &binding);
    }
    return status == OPD_OK ? take_dtypes(wish, &binding, dtype) : status;
}

static opd_status make(struct wish *wish, const opd_call_wish *wanted)
{
    int times = 1;
    opd_status status = set_defaults(wish);
    if (status == OPD_OK) {
        status = set_attributes(wish, wanted->attributes);
    }
    if (status == OPD_OK) {
        status = split_shapes(wish, wanted->shapes);
    }
    if (status == OPD_OK) {
        status = check_wanted(wish, wanted->outputs);
    }
    if (status == OPD_OK) {
        status = count_variadic(&times, wish);
    }
    if (status == OPD_OK) {
        status = lay_operands(wish, times, wanted->outputs);
    }
    if (status == OPD_OK) {
        status = fill_inputs(wish, wanted->dtype);
    }
    return status == OPD_OK ? opd_general_bind(wish->call, wish->plan) : status;
}

opd_status opd_call_make(opd_call *out, const opd_op *op, const opd_call_wish *wish)
{
    const opd_plan *plan = opd_plan_of(op);
    opd_call call = { .op = op };
    if (plan == NULL) {
        return OPD_E_INVALID;
    }
    if (!plan->is_general) {
        return opd_fail(OPD_E_INVALID, "%s is a BLAS routine, whose calls are not made from shapes", op->name);
    }
    const char *const texts[] = { wish->shapes, wish->attributes, wish->outputs };
    for (size_t i = 0; i < OPD_COUNT(texts); i++) {
        if (texts[i] != NULL && strnlen(texts[i], TEXT_LIMIT) == TEXT_LIMIT) {
            return opd_fail(OPD_E_INVALID, "%s: a text of %d bytes or more", op->name, TEXT_LIMIT);
        }
    }
    snprintf(call.domain, sizeof call.domain, "%s", op->domain);
    snprintf(call.name, sizeof call.name, "%s", op->name);
    struct wish made = { .call = &call, .op = op, .plan = plan };
    opd_status status = make(&made, wish);
    if (status == OPD_OK) {
        *out = call;
    }
    return status;
}

opd_status opd_general_attributes(opd_call *out, const opd_op *op)
{
    struct wish wish = { .call = out, .op = op, .plan = opd_plan_of(op) };
    memset(out->attrs, 0, sizeof out->attrs);
    return wish.plan != NULL ? set_defaults(&wish) : OPD_E_INVALID;
}

opd_status opd_general_init(opd_call *out, const opd_op *op, const char *name, opd_dtype dtype)
{
    opd_status status = opd_call_make(out, op, &(opd_call_wish){ .dtype = dtype });
    if (status == OPD_OK) {
        memset(out->name, 0, sizeof out->name);
        snprintf(out->name, sizeof out->name, "%s", name);
    }
    return status;
}
