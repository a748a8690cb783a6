/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the texts of a contract (op.h has the grammar) into its plan. Order: attributes, names of operands with their
 * ld and inc, arguments of the call, and only then the expressions, which may name any of these.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "compiler.h"

opd_status opd_compiler_bad(const opd_compiler *compiler, const char *why, opd_slice where)
{
    return opd_fail(OPD_E_INVALID, "contract of %s: %s: %.*s", compiler->op->name, why, where.size, where.at);
}

opd_status opd_compiler_formula(opd_formula *out, opd_compiler *compiler, opd_slice text)
{
    opd_scope scope = { opd_plan_find_name, opd_plan_find_word, compiler->plan };
    opd_pool *pool = compiler->pool;
    const char *why = NULL;
    opd_instruction *code = pool->code + pool->count;
    int count = opd_expression_compile(code, pool->capacity - pool->count, text.at, text.size, &scope, &why);
    if (count < 0) {
        return opd_compiler_bad(compiler, why, text);
    }
    pool->count += count;
    *out = (opd_formula){ code, count, text };
    return OPD_OK;
}

/* "transa:NTC/NT": letters for real T, for complex T. */
static opd_status parse_attribute(opd_compiler *compiler, opd_slice item)
{
    const char *colon = memchr(item.at, ':', (size_t)item.size);
    if (colon == NULL || compiler->attribute_count == OPD_PLAN_SLOTS) {
        return opd_compiler_bad(compiler, "attribute without a type, or too many", item);
    }
    opd_plan_value *value = &compiler->attributes[compiler->attribute_count++];
    *value = (opd_plan_value){ .name = { item.at, (int)(colon - item.at) } };
    opd_slice type = { colon + 1, item.size - value->name.size - 1 };
    if (compiler->plan->is_general) {
        return opd_general_attribute(value, compiler, type);
    }
    if (opd_slice_is(type, "T") || opd_slice_is(type, "R")) {
        value->use = OPD_USE_SCALAR;
        value->type = type.at[0];
        return OPD_OK;
    }
    if (opd_slice_is(type, "int") || opd_slice_is(type, "dim")) {
        value->use = opd_slice_is(type, "int") ? OPD_USE_INT : OPD_USE_DIM;
        value->initial = 1;
        return OPD_OK;
    }
    value->use = OPD_USE_CHOICE;
    opd_slice rest = type;
    for (int i = 0; i < 2; i++) {
        opd_slice letters = { NULL, 0 };
        if (!opd_slice_next(&letters, &rest, '/')) {
            memcpy(value->letters[i], value->letters[0], OPD_PLAN_LETTERS);
            continue;
        }
        if (letters.size >= OPD_PLAN_LETTERS) {
            return opd_compiler_bad(compiler, "too many letters", item);
        }
        memcpy(value->letters[i], letters.at, (size_t)letters.size);
    }
    return OPD_OK;
}

opd_dtype opd_compiler_dtype(opd_slice text)
{
    char name[OPD_NAME] = { 0 };
    if (text.size < (int)sizeof name) {
        memcpy(name, text.at, (size_t)text.size);
    }
    return opd_dtype_parse(name);
}

/* "A:T[m, n] ld(lda) tri(uplo)": name, type, and the texts of the rest. */
static opd_status parse_operand(opd_compiler *compiler, opd_slice item, opd_role role)
{
    opd_plan *plan = compiler->plan;
    const char *colon = memchr(item.at, ':', (size_t)item.size);
    const char *open = memchr(item.at, '[', (size_t)item.size);
    const char *close = memchr(item.at, ']', (size_t)item.size);
    if (colon == NULL || open == NULL || close == NULL || open < colon || plan->operand_count == OPD_MAX_OPERANDS) {
        return opd_compiler_bad(compiler, "an operand is NAME:TYPE[dims]", item);
    }
    int index = plan->operand_count++;
    opd_plan_operand *operand = &plan->operands[index];
    *operand = (opd_plan_operand){ .role = role, .ld = -1, .inc = -1, .uplo = -1, .diag = -1, .at = -1 };
    operand->name = opd_slice_trim((opd_slice){ item.at, (int)(colon - item.at) });
    opd_slice type = opd_slice_trim((opd_slice){ colon + 1, (int)(open - colon) - 1 });
    compiler->dims[index] = (opd_slice){ open + 1, (int)(close - open) - 1 };
    compiler->modifiers[index] = opd_slice_trim((opd_slice){ close + 1, (int)(item.at + item.size - close) - 1 });
    if (compiler->plan->is_general) {
        return opd_general_operand(operand, compiler, type);
    }
    bool is_bound = opd_slice_is(type, "T") || opd_slice_is(type, "R");
    operand->type = is_bound ? type.at[0] : 'D';
    operand->dtype = is_bound ? OPD_DTYPE_NONE : opd_compiler_dtype(type);
    return is_bound || operand->dtype != OPD_DTYPE_NONE ? OPD_OK : opd_compiler_bad(compiler, "unknown type", type);
}

static opd_status parse_signature(opd_compiler *compiler)
{
    const char *text = compiler->op->signature;
    const char *arrow = strstr(text, "->");
    if (arrow == NULL) {
        return opd_compiler_bad(compiler, "no ->", opd_slice_of(text));
    }
    opd_slice inputs = { text, (int)(arrow - text) };
    opd_slice outputs = opd_slice_of(arrow + 2);
    opd_slice item;
    while (opd_slice_next(&item, &inputs, ',')) {
        opd_status status = parse_operand(compiler, item, OPD_ROLE_IN);
        if (status != OPD_OK) {
            return status;
        }
    }
    compiler->plan->input_count = compiler->plan->operand_count;
    while (opd_slice_next(&item, &outputs, ',')) {
        int known = opd_plan_find_operand(compiler->plan, item.at, item.size);
        if (known >= 0) {
            compiler->plan->operands[known].role = OPD_ROLE_INOUT;
            continue;
        }
        opd_status status = parse_operand(compiler, item, OPD_ROLE_OUT);
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

/* Is name the ld() or inc() of an operand? */
static bool is_layout_name(const opd_compiler *compiler, opd_slice name, opd_use *use)
{
    for (int i = 0; i < compiler->plan->operand_count; i++) {
        opd_slice rest = compiler->modifiers[i];
        opd_slice item;
        while (opd_slice_next(&item, &rest, ' ')) {
            opd_slice argument;
            opd_slice head = opd_slice_head(item, &argument);
            bool is_ld = opd_slice_is(head, "ld");
            if ((is_ld || opd_slice_is(head, "inc")) && opd_slice_equal(opd_slice_trim(argument), name)) {
                *use = is_ld ? OPD_USE_LD : OPD_USE_INC;
                return true;
            }
        }
    }
    return false;
}

static void add_value(opd_plan *plan, const opd_plan_value *value)
{
    plan->values[plan->slot_count++] = *value;
}

/* Gives slots: dimension symbols in call order, attributes as declared, ld and inc in call order. */
static opd_status assign_slots(opd_compiler *compiler)
{
    opd_plan *plan = compiler->plan;
    int layout_count = 0;
    opd_slice rest = opd_slice_of(compiler->op->call);
    opd_slice name;
    while (opd_slice_next(&name, &rest, ' ')) {
        const opd_plan_value *declared = NULL;
        for (int i = 0; i < compiler->attribute_count && declared == NULL; i++) {
            declared = opd_slice_equal(compiler->attributes[i].name, name) ? &compiler->attributes[i] : NULL;
        }
        opd_plan_value value = { .name = name, .use = OPD_USE_DIM, .initial = 128 };
        if (declared != NULL) {
            value = *declared;
        } else if (opd_plan_find_operand(plan, name.at, name.size) >= 0) {
            continue;
        } else if (is_layout_name(compiler, name, &value.use)) {
            value.initial = 1;
            compiler->layout[layout_count++] = value;
        }
        if (plan->slot_count == OPD_MAX_SYMBOLS || layout_count == OPD_MAX_OPERANDS) {
            return opd_compiler_bad(compiler, "too many values", name);
        }
        if (value.use == OPD_USE_DIM) {
            add_value(plan, &value);
        }
    }
    plan->symbol_count = plan->slot_count;
    for (int i = 0; i < compiler->attribute_count; i++) {
        if (compiler->attributes[i].use != OPD_USE_DIM) {
            add_value(plan, &compiler->attributes[i]);
        }
    }
    for (int i = 0; i < layout_count; i++) {
        add_value(plan, &compiler->layout[i]);
    }
    return OPD_OK;
}

static opd_status assign_args(opd_compiler *compiler)
{
    opd_plan *plan = compiler->plan;
    opd_slice rest = opd_slice_of(compiler->op->call);
    opd_slice name;
    while (opd_slice_next(&name, &rest, ' ')) {
        if (plan->arg_count == OPD_PLAN_ARGS) {
            return opd_compiler_bad(compiler, "too many arguments", name);
        }
        plan->args[plan->arg_count++] = (opd_plan_arg){ .slot = opd_plan_find_slot(plan, name.at, name.size),
                                                        .operand = opd_plan_find_operand(plan, name.at, name.size) };
    }
    return OPD_OK;
}

static opd_status slot_argument(int *out, opd_compiler *compiler, opd_slice *arguments)
{
    opd_slice name;
    if (!opd_slice_next(&name, arguments, ',')) {
        *out = -1;
        return OPD_OK;
    }
    *out = opd_plan_find_slot(compiler->plan, name.at, name.size);
    return *out >= 0 ? OPD_OK : opd_compiler_bad(compiler, "unknown name", name);
}

static opd_status parse_band(opd_plan_operand *operand, opd_compiler *compiler, opd_slice arguments)
{
    opd_slice kl;
    opd_slice ku;
    if (!opd_slice_next(&kl, &arguments, ',') || !opd_slice_next(&ku, &arguments, ',')) {
        return opd_compiler_bad(compiler, "band(kl, ku[, diag])", arguments);
    }
    operand->mask = OPD_MASK_BAND;
    opd_status status = opd_compiler_formula(&operand->kl, compiler, kl);
    if (status == OPD_OK) {
        status = opd_compiler_formula(&operand->ku, compiler, ku);
    }
    return status == OPD_OK ? slot_argument(&operand->diag, compiler, &arguments) : status;
}

static opd_status parse_triangle(opd_plan_operand *operand, opd_compiler *compiler, opd_slice arguments, bool packed)
{
    operand->mask = packed ? OPD_MASK_PACKED : OPD_MASK_UPPER;
    opd_status status = slot_argument(&operand->uplo, compiler, &arguments);
    return status == OPD_OK ? slot_argument(&operand->diag, compiler, &arguments) : status;
}

static opd_status parse_modifier(opd_plan_operand *operand, opd_compiler *compiler, opd_slice item)
{
    opd_slice arguments;
    opd_slice head = opd_slice_head(item, &arguments);
    if (opd_slice_is(head, "ld")) {
        return slot_argument(&operand->ld, compiler, &arguments);
    }
    if (opd_slice_is(head, "inc")) {
        return slot_argument(&operand->inc, compiler, &arguments);
    }
    if (opd_slice_is(head, "tri") || opd_slice_is(head, "packed")) {
        return parse_triangle(operand, compiler, arguments, head.at[0] == 'p');
    }
    if (opd_slice_is(head, "band")) {
        return parse_band(operand, compiler, arguments);
    }
    if (opd_slice_is(head, "if")) {
        return opd_compiler_formula(&operand->condition, compiler, arguments);
    }
    if (opd_slice_is(head, "at")) {
        operand->at = opd_plan_find_operand(compiler->plan, arguments.at, arguments.size);
        return operand->at >= 0 ? OPD_OK : opd_compiler_bad(compiler, "unknown operand", arguments);
    }
    if (opd_slice_is(head, "return") || opd_slice_is(head, "index")) {
        operand->flags |= head.at[0] == 'r' ? OPD_OPERAND_RETURNED : OPD_OPERAND_INDEX;
        return OPD_OK;
    }
    return opd_compiler_bad(compiler, "unknown modifier", item);
}

static opd_status compile_dims(opd_plan_operand *operand, opd_compiler *compiler, opd_slice dims)
{
    opd_slice item;
    while (opd_slice_next(&item, &dims, ',')) {
        if (operand->rank == 2) {
            return opd_compiler_bad(compiler, "more than two dimensions", item);
        }
        opd_status status = opd_compiler_formula(&operand->dims[operand->rank++].formula, compiler, item);
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

static opd_status compile_operand(opd_compiler *compiler, int index)
{
    opd_plan_operand *operand = &compiler->plan->operands[index];
    bool is_general = compiler->plan->is_general;
    opd_status status = (is_general ? opd_general_dims : compile_dims)(operand, compiler, compiler->dims[index]);
    opd_slice rest = compiler->modifiers[index];
    opd_slice item;
    while (status == OPD_OK && opd_slice_next(&item, &rest, ' ')) {
        bool is_known = false;
        if (is_general) {
            status = opd_general_modifier(operand, compiler, item, &is_known);
        }
        if (!is_known && status == OPD_OK) {
            status = parse_modifier(operand, compiler, item);
        }
    }
    return status;
}

static opd_status optional_formula(opd_formula *out, opd_compiler *compiler, const char *text)
{
    return text != NULL ? opd_compiler_formula(out, compiler, opd_slice_of(text)) : OPD_OK;
}

/* Attributes and operands, then who has which slot: what expressions may name. */
static opd_status parse_names(opd_compiler *compiler)
{
    opd_slice rest = opd_slice_of(compiler->op->attributes);
    opd_slice item;
    while (opd_slice_next(&item, &rest, ' ')) {
        opd_status status = parse_attribute(compiler, item);
        if (status != OPD_OK) {
            return status;
        }
    }
    opd_status status = compiler->plan->is_general ? opd_general_types(compiler) : OPD_OK;
    if (status == OPD_OK) {
        status = parse_signature(compiler);
    }
    if (status == OPD_OK) {
        status = compiler->plan->is_general ? opd_general_slots(compiler) : assign_slots(compiler);
    }
    return status == OPD_OK ? assign_args(compiler) : status;
}

opd_status opd_plan_compile(opd_plan *out, opd_pool *pool, const opd_op *op)
{
    static opd_compiler compiler; /* not on the stack: a recorded program may have 16 KiB of it */
    compiler.op = op;
    compiler.plan = out;
    compiler.pool = pool;
    compiler.attribute_count = 0;
    memset(compiler.modifiers, 0, sizeof compiler.modifiers);
    memset(compiler.dims, 0, sizeof compiler.dims);
    out->is_general = op->call == NULL;
    opd_status status = parse_names(&compiler);
    for (int i = 0; status == OPD_OK && i < out->operand_count; i++) {
        status = compile_operand(&compiler, i);
    }
    if (status == OPD_OK) {
        status = optional_formula(&out->flops, &compiler, op->flops);
    }
    if (status == OPD_OK) {
        status = optional_formula(&out->reduction, &compiler, op->reduction);
    }
    return status == OPD_OK && out->is_general ? opd_general_check(&compiler) : status;
}
