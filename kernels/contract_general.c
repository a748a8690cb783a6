/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a contract that only operators outside BLAS have: type variables, attributes with defaults, symbols that
 * stand for several dimensions, and what generated inputs hold.
 */
#include <ctype.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "compiler.h"

enum { DEFAULT_SIZE = 128 };

/* ------------------------------------------------------------------------------------------ attributes, types */

static bool is_legal_default(const opd_plan_value *value)
{
    int64_t whole[OPD_MAX_INTS];
    double real;
    switch (value->use) {
    case OPD_USE_INT:
        return opd_slice_int(&whole[0], value->text);
    case OPD_USE_REAL:
        return opd_slice_real(&real, value->text);
    case OPD_USE_INTS:
        return opd_slice_ints(whole, OPD_MAX_INTS, value->text) >= 0;
    default:
        return true;
    }
}

/* "i=-1" "f=1e-5" "is?" "s=constant|reflect": the part after the colon. */
opd_status opd_general_attribute(opd_plan_value *out, const opd_compiler *compiler, opd_slice type)
{
    static const struct {
        const char *name;
        opd_use use;
    } uses[] = { { "i", OPD_USE_INT }, { "f", OPD_USE_REAL }, { "is", OPD_USE_INTS }, { "s", OPD_USE_WORD } };
    opd_slice initial = { NULL, 0 };
    if (!opd_range_cut(&out->range, &type)) {
        return opd_compiler_bad(compiler, "legal values are [LOW:HIGH], [A|B] or [axis(OPERAND)]", out->name);
    }
    const char *equals = memchr(type.at, '=', (size_t)type.size);
    if (equals != NULL) {
        initial = (opd_slice){ equals + 1, (int)(type.at + type.size - equals) - 1 };
        type.size = (int)(equals - type.at);
    }
    out->is_optional = opd_slice_drop(&type, "?");
    size_t i = 0;
    while (i < OPD_COUNT(uses) && !opd_slice_is(type, uses[i].name)) {
        i++;
    }
    if (i == OPD_COUNT(uses)) {
        return opd_compiler_bad(compiler, "an attribute is NAME:i, f, is or s", out->name);
    }
    out->use = uses[i].use;
    if (out->use == OPD_USE_WORD) {
        out->words = initial;
        out->text = initial;
        opd_slice rest = initial;
        (void)opd_slice_next(&out->text, &rest, '|');
    } else {
        out->text = initial;
    }
    bool has_default = equals != NULL || out->is_optional || out->use == OPD_USE_WORD;
    if (!opd_slice_is_name(out->name) || out->name.size >= OPD_NAME || !has_default ||
        (equals != NULL && !is_legal_default(out))) {
        return opd_compiler_bad(compiler, "an attribute without a name or a legal default", out->name);
    }
    return OPD_OK;
}

static int find_type(const opd_plan *plan, opd_slice name)
{
    for (int i = 0; i < plan->type_count; i++) {
        if (opd_slice_equal(plan->types[i].name, name)) {
            return i;
        }
    }
    return -1;
}

static opd_status parse_type(opd_compiler *compiler, opd_slice item)
{
    opd_plan *plan = compiler->plan;
    if (plan->type_count == OPD_PLAN_TYPES) {
        return opd_compiler_bad(compiler, "too many type variables", item);
    }
    opd_plan_type *type = &plan->types[plan->type_count++];
    const char *colon = memchr(item.at, ':', (size_t)item.size);
    type->name = opd_slice_of("T");
    if (colon != NULL) {
        type->name = opd_slice_trim((opd_slice){ item.at, (int)(colon - item.at) });
        item = (opd_slice){ colon + 1, (int)(item.at + item.size - colon) - 1 };
    }
    opd_slice word;
    while (opd_slice_next(&word, &item, ' ')) {
        opd_dtype dtype = opd_compiler_dtype(word);
        if (dtype == OPD_DTYPE_NONE || type->count == OPD_PLAN_DTYPES) {
            return opd_compiler_bad(compiler, "unknown or too many dtypes", word);
        }
        type->dtypes[type->count++] = (uint8_t)dtype;
    }
    return type->count > 0 ? OPD_OK : opd_compiler_bad(compiler, "a type variable without dtypes", type->name);
}

/* "T: f32 f64; U: i64", or the dtypes of T alone. */
opd_status opd_general_types(opd_compiler *compiler)
{
    opd_slice rest = opd_slice_of(compiler->op->types);
    opd_slice item;
    while (opd_slice_next(&item, &rest, ';')) {
        opd_status status = parse_type(compiler, item);
        if (status != OPD_OK) {
            return status;
        }
    }
    bool is_first = compiler->plan->type_count > 0 && opd_slice_is(compiler->plan->types[0].name, "T");
    return is_first ? OPD_OK : opd_compiler_bad(compiler, "types says T first", opd_slice_of(compiler->op->types));
}

opd_status opd_general_operand(opd_plan_operand *operand, opd_compiler *compiler, opd_slice type)
{
    operand->is_optional = opd_slice_drop(&operand->name, "?");
    operand->is_variadic = opd_slice_drop(&operand->name, "+");
    if (!opd_slice_is_name(operand->name) || operand->name.size > OPD_NAME - 3) {
        return opd_compiler_bad(compiler, "not a name", operand->name);
    }
    operand->variable = (int16_t)find_type(compiler->plan, type);
    operand->type = operand->variable < 0 ? 'D' : operand->variable == 0 ? 'T' : 'V';
    if (opd_slice_is(type, "R")) {
        operand->type = 'R';
    } else if (operand->type == 'D') {
        operand->dtype = opd_compiler_dtype(type);
        return operand->dtype != OPD_DTYPE_NONE ? OPD_OK : opd_compiler_bad(compiler, "unknown type", type);
    }
    return OPD_OK;
}

/* ---------------------------------------------------------------------------------------------------- symbols */

/* A dimension as written: its symbol, for how many dimensions it stands, whether it is broadcast; false: an expression. */
static bool read_symbol(opd_slice *name, opd_reach *reach, bool *is_broadcast, opd_slice item)
{
    *is_broadcast = opd_slice_drop(&item, "~");
    *reach = opd_slice_drop(&item, "...") ? OPD_REACH_MANY
             : opd_slice_drop(&item, "?") ? OPD_REACH_MAYBE
             : opd_slice_drop(&item, "+") ? OPD_REACH_EACH
                                          : OPD_REACH_ONE;
    *name = item;
    return opd_slice_is_name(item);
}

/* "c ? a : b" with plain names a and b: its parts. */
static bool read_select(opd_slice *condition, opd_slice branches[2], opd_slice item)
{
    const char *question = memchr(item.at, '?', (size_t)item.size);
    const char *colon = question != NULL ? memchr(question, ':', (size_t)(item.at + item.size - question)) : NULL;
    if (colon == NULL) {
        return false;
    }
    *condition = opd_slice_trim((opd_slice){ item.at, (int)(question - item.at) });
    branches[0] = opd_slice_trim((opd_slice){ question + 1, (int)(colon - question) - 1 });
    branches[1] = opd_slice_trim((opd_slice){ colon + 1, (int)(item.at + item.size - colon) - 1 });
    return opd_slice_is_name(branches[0]) && opd_slice_is_name(branches[1]);
}

static bool is_attribute(const opd_compiler *compiler, opd_slice name)
{
    for (int i = 0; i < compiler->attribute_count; i++) {
        if (opd_slice_equal(compiler->attributes[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* "n... =1,128" of the defaults: the text after '='. */
static bool find_default(opd_slice *out, const opd_compiler *compiler, opd_slice name)
{
    opd_slice rest = opd_slice_of(compiler->op->defaults);
    opd_slice item;
    while (opd_slice_next(&item, &rest, ' ')) {
        const char *equals = memchr(item.at, '=', (size_t)item.size);
        opd_slice key = { item.at, equals != NULL ? (int)(equals - item.at) : item.size };
        (void)(opd_slice_drop(&key, "...") || opd_slice_drop(&key, "?") || opd_slice_drop(&key, "+"));
        if (opd_slice_equal(key, name)) {
            int used = equals != NULL ? (int)(equals - item.at) + 1 : item.size;
            *out = (opd_slice){ item.at + used, item.size - used };
            return true;
        }
    }
    return false;
}

static opd_status add_symbol(opd_compiler *compiler, opd_slice name, opd_reach reach)
{
    opd_plan *plan = compiler->plan;
    int known = opd_plan_find_slot(plan, name.at, name.size);
    if (known >= 0) {
        bool is_same = plan->values[known].reach == reach;
        return is_same ? OPD_OK
                       : opd_compiler_bad(compiler, "a symbol that stands for other dimensions elsewhere", name);
    }
    if (plan->slot_count == OPD_MAX_SYMBOLS || name.size >= OPD_NAME - 2 ||
        opd_plan_find_operand(plan, name.at, name.size) >= 0) {
        return opd_compiler_bad(compiler, "too many symbols, or one with the name of an operand", name);
    }
    opd_plan_value *value = &plan->values[plan->slot_count++];
    *value = (opd_plan_value){ .name = name, .use = OPD_USE_DIM, .initial = DEFAULT_SIZE, .reach = reach };
    opd_slice text;
    int64_t sizes[OPD_MAX_RANK];
    if (!find_default(&text, compiler, name)) {
        value->text = opd_slice_of(reach == OPD_REACH_MANY ? "1,128,128" : "128");
        return OPD_OK;
    }
    int count = opd_slice_ints(sizes, OPD_MAX_RANK, text);
    value->has_initial = true;
    value->text = text;
    value->initial = count > 0 ? (int32_t)sizes[0] : 0;
    bool is_legal = count == 1 || (count >= 0 && reach == OPD_REACH_MANY) || (count == 0 && reach == OPD_REACH_MAYBE);
    return is_legal ? OPD_OK : opd_compiler_bad(compiler, "a default that is no size", name);
}

static opd_status add_symbols(opd_compiler *compiler, opd_slice item)
{
    opd_slice name;
    opd_slice condition;
    opd_slice branches[2];
    opd_reach reach;
    bool is_broadcast;
    if (read_symbol(&name, &reach, &is_broadcast, item)) {
        return is_attribute(compiler, name) ? OPD_OK : add_symbol(compiler, name, reach);
    }
    opd_status status = OPD_OK;
    for (int i = 0; status == OPD_OK && i < 2 && read_select(&condition, branches, item); i++) {
        status = is_attribute(compiler, branches[i]) ? OPD_OK : add_symbol(compiler, branches[i], OPD_REACH_ONE);
    }
    return status;
}

/* Symbols that an input has only inside an expression, as d in "heads * d". */
static opd_status add_hidden_symbols(opd_compiler *compiler, opd_slice item)
{
    const char *end = item.at + item.size;
    opd_slice name;
    for (const char *at = item.at; at < end; at = name.at + name.size) {
        name = (opd_slice){ at, 0 };
        while (at + name.size < end && (isalnum((unsigned char)at[name.size]) || at[name.size] == '_')) {
            name.size++;
        }
        const char *next = at + name.size;
        bool is_taken = next < end && *next == '(';
        is_taken |= is_attribute(compiler, name) || opd_plan_find_operand(compiler->plan, name.at, name.size) >= 0;
        is_taken |= opd_plan_find_slot(compiler->plan, name.at, name.size) >= 0;
        bool is_quoted = at > item.at && at[-1] == '\'';
        if (opd_slice_is_name(name) && !is_taken && !is_quoted) {
            opd_status status = add_symbol(compiler, name, OPD_REACH_ONE);
            if (status != OPD_OK) {
                return status;
            }
        }
        name.size += name.size == 0;
    }
    return OPD_OK;
}

static opd_status find_symbols(opd_compiler *compiler, int operands,
                               opd_status (*add)(opd_compiler *compiler, opd_slice item))
{
    for (int i = 0; i < operands; i++) {
        opd_slice rest = compiler->dims[i];
        opd_slice item;
        while (opd_slice_next(&item, &rest, ',')) {
            opd_status status = add(compiler, item);
            if (status != OPD_OK) {
                return status;
            }
        }
    }
    return OPD_OK;
}

opd_status opd_general_slots(opd_compiler *compiler)
{
    opd_plan *plan = compiler->plan;
    opd_status status = find_symbols(compiler, plan->operand_count, add_symbols);
    if (status == OPD_OK) {
        status = find_symbols(compiler, plan->input_count, add_hidden_symbols);
    }
    if (status != OPD_OK) {
        return status;
    }
    for (int i = 0; i < plan->operand_count; i++) {
        opd_slice unused;
        opd_plan_operand *operand = &plan->operands[i];
        operand->is_default = !operand->is_optional || find_default(&unused, compiler, operand->name);
    }
    plan->symbol_count = plan->slot_count;
    for (int i = 0; i < compiler->attribute_count; i++) {
        const opd_plan_value *value = &compiler->attributes[i];
        if (i == OPD_MAX_ATTRS || opd_plan_find_slot(plan, value->name.at, value->name.size) >= 0 ||
            opd_plan_find_operand(plan, value->name.at, value->name.size) >= 0) {
            return opd_compiler_bad(compiler, "too many attributes, or one with a name that is taken", value->name);
        }
        plan->values[plan->slot_count++] = *value;
    }
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------- dimensions, modifiers */

static opd_status compile_dim(opd_plan_dim *dim, opd_compiler *compiler, opd_slice item)
{
    opd_slice name;
    opd_slice condition;
    opd_slice branches[2];
    opd_reach reach;
    opd_plan *plan = compiler->plan;
    if (opd_slice_is(item, "...")) {
        dim->kind = OPD_DIM_ANY;
        return OPD_OK;
    }
    if (read_symbol(&name, &reach, &dim->is_broadcast, item) && !is_attribute(compiler, name)) {
        dim->kind = OPD_DIM_SYMBOL;
        dim->slot = opd_plan_find_slot(plan, name.at, name.size);
        return OPD_OK;
    }
    bool is_select = read_select(&condition, branches, item) && !is_attribute(compiler, branches[0]) &&
                     !is_attribute(compiler, branches[1]);
    if (is_select) {
        dim->kind = OPD_DIM_SELECT;
        dim->slot = opd_plan_find_slot(plan, branches[0].at, branches[0].size);
        dim->other_slot = opd_plan_find_slot(plan, branches[1].at, branches[1].size);
        return opd_compiler_formula(&dim->formula, compiler, condition);
    }
    dim->kind = OPD_DIM_FORMULA;
    return opd_compiler_formula(&dim->formula, compiler, item);
}

opd_status opd_general_dims(opd_plan_operand *operand, opd_compiler *compiler, opd_slice dims)
{
    opd_slice item;
    while (opd_slice_next(&item, &dims, ',')) {
        if (operand->rank == OPD_MAX_RANK) {
            return opd_compiler_bad(compiler, "more than 8 dimensions", item);
        }
        opd_status status = compile_dim(&operand->dims[operand->rank++], compiler, item);
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

/* fill(KIND:A:B) or fill(index(expression)) */
static opd_status parse_fill(opd_plan_operand *operand, opd_compiler *compiler, opd_slice text)
{
    opd_slice inner;
    if (opd_slice_is(opd_slice_head(text, &inner), "index")) {
        return opd_compiler_formula(&operand->index, compiler, inner);
    }
    operand->fill = text;
    return OPD_OK;
}

static opd_status parse_content(opd_plan_operand *operand, opd_compiler *compiler, opd_slice arguments)
{
    opd_plan *plan = compiler->plan;
    opd_slice item;
    operand->content = plan->content_count;
    while (opd_slice_next(&item, &arguments, ',')) {
        if (plan->content_count == OPD_PLAN_CONTENT) {
            return opd_compiler_bad(compiler, "too many values", item);
        }
        opd_status status = opd_compiler_formula(&plan->content[plan->content_count++], compiler, item);
        if (status != OPD_OK) {
            return status;
        }
        operand->content_count++;
    }
    /* A symbol that only says how many values there are has their number as its default. */
    const opd_plan_dim *dim = &operand->dims[0];
    if (operand->rank == 1 && dim->kind == OPD_DIM_SYMBOL && !plan->values[dim->slot].has_initial) {
        plan->values[dim->slot].initial = operand->content_count;
        plan->values[dim->slot].has_initial = true;
    }
    return OPD_OK;
}

opd_status opd_general_modifier(opd_plan_operand *operand, opd_compiler *compiler, opd_slice item, bool *is_known)
{
    opd_slice arguments;
    opd_slice head = opd_slice_head(item, &arguments);
    *is_known = true;
    if (opd_slice_is(head, "split")) {
        return opd_compiler_formula(&operand->split, compiler, arguments);
    }
    if (opd_slice_is(head, "times")) {
        return opd_compiler_formula(&operand->times, compiler, arguments);
    }
    if (opd_slice_is(head, "fill")) {
        return parse_fill(operand, compiler, arguments);
    }
    if (opd_slice_is(head, "value")) {
        return parse_content(operand, compiler, arguments);
    }
    *is_known = opd_slice_is(head, "?");
    operand->is_optional |= *is_known;
    bool is_blas = opd_slice_is(head, "ld") || opd_slice_is(head, "inc") || opd_slice_is(head, "return");
    return is_blas ? opd_compiler_bad(compiler, "a modifier of BLAS routines", item) : OPD_OK;
}

/* ------------------------------------------------------------------------------------------------- the whole */

/* Can an input give the symbol its value? */
static bool is_bound_by_inputs(const opd_plan *plan, int slot)
{
    for (int i = 0; i < plan->input_count; i++) {
        for (int d = 0; d < plan->operands[i].rank; d++) {
            const opd_plan_dim *dim = &plan->operands[i].dims[d];
            if ((dim->kind == OPD_DIM_SYMBOL || dim->kind == OPD_DIM_SELECT) &&
                (dim->slot == slot || (dim->kind == OPD_DIM_SELECT && dim->other_slot == slot))) {
                return true;
            }
            for (int k = 0; k < dim->formula.count; k++) {
                if (dim->formula.code[k].code == OPD_CODE_SLOT && dim->formula.code[k].value == slot) {
                    return true;
                }
            }
        }
    }
    return false;
}

static opd_status check_output(const opd_compiler *compiler, const opd_plan_operand *operand)
{
    for (int d = 0; d < operand->rank; d++) {
        const opd_plan_dim *dim = &operand->dims[d];
        if (dim->is_broadcast) {
            return opd_compiler_bad(compiler, "an output is not broadcast", operand->name);
        }
        bool is_free =
            dim->kind == OPD_DIM_ANY || (dim->kind == OPD_DIM_SYMBOL && compiler->plan->values[dim->slot].is_free);
        if (is_free && compiler->op->shape == NULL) {
            return opd_compiler_bad(compiler, "no input and no shape function gives the dimensions of", operand->name);
        }
    }
    return OPD_OK;
}

/* The call names the dimensions of "n..." n0, n1, ...: no other symbol may be called so. */
static opd_status check_symbol_names(const opd_compiler *compiler)
{
    const opd_plan *plan = compiler->plan;
    for (int i = 0; i < plan->symbol_count; i++) {
        opd_slice stem = plan->values[i].name;
        while (stem.size > 1 && isdigit((unsigned char)stem.at[stem.size - 1])) {
            stem.size--;
        }
        int other = opd_plan_find_slot(plan, stem.at, stem.size);
        if (other >= 0 && other != i && plan->values[other].reach > OPD_REACH_MAYBE) {
            return opd_compiler_bad(compiler, "a symbol with the name of a dimension of another", plan->values[i].name);
        }
    }
    return OPD_OK;
}

opd_status opd_general_check(opd_compiler *compiler)
{
    opd_plan *plan = compiler->plan;
    for (int slot = 0; slot < plan->symbol_count; slot++) {
        plan->values[slot].is_free = !is_bound_by_inputs(plan, slot);
    }
    int variadic[2] = { 0 };
    opd_status names = check_symbol_names(compiler);
    if (names != OPD_OK) {
        return names;
    }
    for (int i = 0; i < plan->operand_count; i++) {
        const opd_plan_operand *operand = &plan->operands[i];
        bool is_output = i >= plan->input_count;
        int manys = 0;
        for (int d = 0; d < operand->rank; d++) {
            const opd_plan_dim *dim = &operand->dims[d];
            bool is_each = dim->kind == OPD_DIM_SYMBOL && plan->values[dim->slot].reach == OPD_REACH_EACH;
            manys += dim->kind == OPD_DIM_ANY ||
                     (dim->kind == OPD_DIM_SYMBOL && plan->values[dim->slot].reach == OPD_REACH_MANY);
            if (is_each && !operand->is_variadic) {
                return opd_compiler_bad(compiler, "NAME+ in dimensions needs NAME+ as the operand", operand->name);
            }
        }
        variadic[is_output] += operand->is_variadic;
        if (operand->is_variadic && is_output && i + 1 < plan->operand_count) {
            return opd_compiler_bad(compiler, "an output NAME+ is the last", operand->name);
        }
        bool needs_times = operand->is_variadic && is_output && operand->times.code == NULL;
        if (needs_times || variadic[is_output] > 1 || (operand->is_variadic && operand->is_optional) || manys > 2) {
            return opd_compiler_bad(compiler, "one NAME+ on a side, an output with times(); at most two NAME... in",
                                    operand->name);
        }
        opd_status status = is_output ? check_output(compiler, operand) : OPD_OK;
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}
