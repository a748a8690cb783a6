/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the texts of a contract (op.h has the grammar) into its plan. Order: attributes, names of operands with their
 * ld and inc, arguments of the call, and only then the expressions, which may name any of these.
 */
#include <ctype.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "plan.h"

struct compiler {
    const opd_op *op;
    opd_plan *plan;
    opd_pool *pool;
    opd_slice modifiers[OPD_MAX_OPERANDS]; /* of each operand, while compiling */
    opd_slice dims[OPD_MAX_OPERANDS];
    opd_plan_value attributes[OPD_PLAN_SLOTS]; /* as declared, not yet in slot order */
    int attribute_count;
};

static opd_status bad(const struct compiler *compiler, const char *why, opd_slice where)
{
    return opd_fail(OPD_E_INVALID, "contract of %s: %s: %.*s", compiler->op->name, why, where.size, where.at);
}

static opd_slice slice_of(const char *text)
{
    return (opd_slice){ text, text != NULL ? (int)strlen(text) : 0 };
}

static opd_slice trim(opd_slice text)
{
    while (text.size > 0 && isspace((unsigned char)text.at[0])) {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && isspace((unsigned char)text.at[text.size - 1])) {
        text.size--;
    }
    return text;
}

static bool same(opd_slice a, opd_slice b)
{
    return a.size == b.size && memcmp(a.at, b.at, (size_t)a.size) == 0;
}

static bool is_word(opd_slice text, const char *word)
{
    return same(text, slice_of(word));
}

/* Cuts the next item of a list whose separators count only outside brackets; false at the end. */
static bool next_item(opd_slice *item, opd_slice *rest, char separator)
{
    *rest = trim(*rest);
    if (rest->size == 0) {
        return false;
    }
    int depth = 0;
    int i = 0;
    for (; i < rest->size; i++) {
        char c = rest->at[i];
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (depth == 0 && c == separator) {
            break;
        }
    }
    *item = trim((opd_slice){ rest->at, i });
    i += i < rest->size;
    *rest = (opd_slice){ rest->at + i, rest->size - i };
    return true;
}

/* "name(arguments)" or "name". */
static opd_slice head_of(opd_slice item, opd_slice *arguments)
{
    const char *open = memchr(item.at, '(', (size_t)item.size);
    if (open == NULL) {
        *arguments = (opd_slice){ item.at + item.size, 0 };
        return item;
    }
    int size = (int)(open - item.at);
    *arguments = (opd_slice){ open + 1, item.size - size - 2 };
    return (opd_slice){ item.at, size };
}

static opd_status formula(opd_formula *out, struct compiler *compiler, opd_slice text)
{
    opd_scope scope = { opd_plan_find_slot, compiler->plan };
    opd_pool *pool = compiler->pool;
    const char *why = NULL;
    opd_instruction *code = pool->code + pool->count;
    int count = opd_expression_compile(code, pool->capacity - pool->count, text.at, text.size, &scope, &why);
    if (count < 0) {
        return bad(compiler, why, text);
    }
    pool->count += count;
    *out = (opd_formula){ code, count, text };
    return OPD_OK;
}

/* "transa:NTC/NT": letters for real T, for complex T. */
static opd_status parse_attribute(struct compiler *compiler, opd_slice item)
{
    const char *colon = memchr(item.at, ':', (size_t)item.size);
    if (colon == NULL || compiler->attribute_count == OPD_PLAN_SLOTS) {
        return bad(compiler, "attribute without a type, or too many", item);
    }
    opd_plan_value *value = &compiler->attributes[compiler->attribute_count++];
    *value = (opd_plan_value){ .name = { item.at, (int)(colon - item.at) } };
    opd_slice type = { colon + 1, item.size - value->name.size - 1 };
    if (is_word(type, "T") || is_word(type, "R")) {
        value->use = OPD_USE_SCALAR;
        value->type = type.at[0];
        return OPD_OK;
    }
    if (is_word(type, "int") || is_word(type, "dim")) {
        value->use = is_word(type, "int") ? OPD_USE_INT : OPD_USE_DIM;
        value->initial = 1;
        return OPD_OK;
    }
    value->use = OPD_USE_CHOICE;
    opd_slice rest = type;
    for (int i = 0; i < 2; i++) {
        opd_slice letters = { NULL, 0 };
        if (!next_item(&letters, &rest, '/')) {
            memcpy(value->letters[i], value->letters[0], OPD_PLAN_LETTERS);
            continue;
        }
        if (letters.size >= OPD_PLAN_LETTERS) {
            return bad(compiler, "too many letters", item);
        }
        memcpy(value->letters[i], letters.at, (size_t)letters.size);
    }
    return OPD_OK;
}

/* "A:T[m, n] ld(lda) tri(uplo)": name, type, and the texts of the rest. */
static opd_status parse_operand(struct compiler *compiler, opd_slice item, opd_role role)
{
    opd_plan *plan = compiler->plan;
    const char *colon = memchr(item.at, ':', (size_t)item.size);
    const char *open = memchr(item.at, '[', (size_t)item.size);
    const char *close = memchr(item.at, ']', (size_t)item.size);
    if (colon == NULL || open == NULL || close == NULL || open < colon || plan->operand_count == OPD_MAX_OPERANDS) {
        return bad(compiler, "an operand is NAME:TYPE[dims]", item);
    }
    int index = plan->operand_count++;
    opd_plan_operand *operand = &plan->operands[index];
    *operand = (opd_plan_operand){ .role = role, .ld = -1, .inc = -1, .uplo = -1, .diag = -1, .at = -1 };
    operand->name = trim((opd_slice){ item.at, (int)(colon - item.at) });
    opd_slice type = trim((opd_slice){ colon + 1, (int)(open - colon) - 1 });
    char text[OPD_NAME] = { 0 };
    if (type.size < (int)sizeof text) {
        memcpy(text, type.at, (size_t)type.size);
    }
    bool is_bound = is_word(type, "T") || is_word(type, "R");
    operand->type = is_bound ? type.at[0] : 'D';
    operand->dtype = is_bound ? OPD_DTYPE_NONE : opd_dtype_parse(text);
    if (!is_bound && operand->dtype == OPD_DTYPE_NONE) {
        return bad(compiler, "unknown type", type);
    }
    compiler->dims[index] = (opd_slice){ open + 1, (int)(close - open) - 1 };
    compiler->modifiers[index] = trim((opd_slice){ close + 1, (int)(item.at + item.size - close) - 1 });
    return OPD_OK;
}

static opd_status parse_signature(struct compiler *compiler)
{
    const char *text = compiler->op->signature;
    const char *arrow = strstr(text, "->");
    if (arrow == NULL) {
        return bad(compiler, "no ->", slice_of(text));
    }
    opd_slice inputs = { text, (int)(arrow - text) };
    opd_slice outputs = slice_of(arrow + 2);
    opd_slice item;
    while (next_item(&item, &inputs, ',')) {
        opd_status status = parse_operand(compiler, item, OPD_ROLE_IN);
        if (status != OPD_OK) {
            return status;
        }
    }
    while (next_item(&item, &outputs, ',')) {
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
static bool is_layout_name(const struct compiler *compiler, opd_slice name, opd_use *use)
{
    for (int i = 0; i < compiler->plan->operand_count; i++) {
        opd_slice rest = compiler->modifiers[i];
        opd_slice item;
        while (next_item(&item, &rest, ' ')) {
            opd_slice argument;
            opd_slice head = head_of(item, &argument);
            bool is_ld = is_word(head, "ld");
            if ((is_ld || is_word(head, "inc")) && same(trim(argument), name)) {
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
static opd_status assign_slots(struct compiler *compiler)
{
    opd_plan *plan = compiler->plan;
    opd_plan_value layout[OPD_PLAN_SLOTS];
    int layout_count = 0;
    opd_slice rest = slice_of(compiler->op->call);
    opd_slice name;
    while (next_item(&name, &rest, ' ')) {
        const opd_plan_value *declared = NULL;
        for (int i = 0; i < compiler->attribute_count && declared == NULL; i++) {
            declared = same(compiler->attributes[i].name, name) ? &compiler->attributes[i] : NULL;
        }
        opd_plan_value value = { .name = name, .use = OPD_USE_DIM, .initial = 128 };
        if (declared != NULL) {
            value = *declared;
        } else if (opd_plan_find_operand(plan, name.at, name.size) >= 0) {
            continue;
        } else if (is_layout_name(compiler, name, &value.use)) {
            value.initial = 1;
            layout[layout_count++] = value;
        }
        if (plan->slot_count == OPD_MAX_SYMBOLS || layout_count == OPD_MAX_OPERANDS) {
            return bad(compiler, "too many values", name);
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
        add_value(plan, &layout[i]);
    }
    return OPD_OK;
}

static opd_status assign_args(struct compiler *compiler)
{
    opd_plan *plan = compiler->plan;
    opd_slice rest = slice_of(compiler->op->call);
    opd_slice name;
    while (next_item(&name, &rest, ' ')) {
        if (plan->arg_count == OPD_PLAN_ARGS) {
            return bad(compiler, "too many arguments", name);
        }
        plan->args[plan->arg_count++] = (opd_plan_arg){ .slot = opd_plan_find_slot(plan, name.at, name.size),
                                                        .operand = opd_plan_find_operand(plan, name.at, name.size) };
    }
    return OPD_OK;
}

static opd_status slot_argument(int *out, struct compiler *compiler, opd_slice *arguments)
{
    opd_slice name;
    if (!next_item(&name, arguments, ',')) {
        *out = -1;
        return OPD_OK;
    }
    *out = opd_plan_find_slot(compiler->plan, name.at, name.size);
    return *out >= 0 ? OPD_OK : bad(compiler, "unknown name", name);
}

static opd_status parse_band(opd_plan_operand *operand, struct compiler *compiler, opd_slice arguments)
{
    opd_slice kl;
    opd_slice ku;
    if (!next_item(&kl, &arguments, ',') || !next_item(&ku, &arguments, ',')) {
        return bad(compiler, "band(kl, ku[, diag])", arguments);
    }
    operand->mask = OPD_MASK_BAND;
    opd_status status = formula(&operand->kl, compiler, kl);
    if (status == OPD_OK) {
        status = formula(&operand->ku, compiler, ku);
    }
    return status == OPD_OK ? slot_argument(&operand->diag, compiler, &arguments) : status;
}

static opd_status parse_triangle(opd_plan_operand *operand, struct compiler *compiler, opd_slice arguments, bool packed)
{
    operand->mask = packed ? OPD_MASK_PACKED : OPD_MASK_UPPER;
    opd_status status = slot_argument(&operand->uplo, compiler, &arguments);
    return status == OPD_OK ? slot_argument(&operand->diag, compiler, &arguments) : status;
}

static opd_status parse_modifier(opd_plan_operand *operand, struct compiler *compiler, opd_slice item)
{
    opd_slice arguments;
    opd_slice head = head_of(item, &arguments);
    if (is_word(head, "ld")) {
        return slot_argument(&operand->ld, compiler, &arguments);
    }
    if (is_word(head, "inc")) {
        return slot_argument(&operand->inc, compiler, &arguments);
    }
    if (is_word(head, "tri") || is_word(head, "packed")) {
        return parse_triangle(operand, compiler, arguments, head.at[0] == 'p');
    }
    if (is_word(head, "band")) {
        return parse_band(operand, compiler, arguments);
    }
    if (is_word(head, "if")) {
        return formula(&operand->condition, compiler, arguments);
    }
    if (is_word(head, "at")) {
        operand->at = opd_plan_find_operand(compiler->plan, arguments.at, arguments.size);
        return operand->at >= 0 ? OPD_OK : bad(compiler, "unknown operand", arguments);
    }
    if (is_word(head, "return") || is_word(head, "index")) {
        operand->flags |= head.at[0] == 'r' ? OPD_OPERAND_RETURNED : OPD_OPERAND_INDEX;
        return OPD_OK;
    }
    return bad(compiler, "unknown modifier", item);
}

static opd_status compile_operand(struct compiler *compiler, int index)
{
    opd_plan_operand *operand = &compiler->plan->operands[index];
    opd_slice rest = compiler->dims[index];
    opd_slice item;
    while (next_item(&item, &rest, ',')) {
        if (operand->rank == 2) {
            return bad(compiler, "more than two dimensions", item);
        }
        opd_status status = formula(&operand->dims[operand->rank++], compiler, item);
        if (status != OPD_OK) {
            return status;
        }
    }
    rest = compiler->modifiers[index];
    while (next_item(&item, &rest, ' ')) {
        opd_status status = parse_modifier(operand, compiler, item);
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

static opd_status optional_formula(opd_formula *out, struct compiler *compiler, const char *text)
{
    return text != NULL ? formula(out, compiler, slice_of(text)) : OPD_OK;
}

opd_status opd_plan_compile(opd_plan *out, opd_pool *pool, const opd_op *op)
{
    struct compiler compiler = { .op = op, .plan = out, .pool = pool };
    memset(out, 0, sizeof *out);
    opd_status status = OPD_OK;
    opd_slice rest = slice_of(op->attributes);
    opd_slice item;
    while (status == OPD_OK && next_item(&item, &rest, ' ')) {
        status = parse_attribute(&compiler, item);
    }
    if (status == OPD_OK) {
        status = parse_signature(&compiler);
    }
    if (status == OPD_OK) {
        status = assign_slots(&compiler);
    }
    if (status == OPD_OK) {
        status = assign_args(&compiler);
    }
    for (int i = 0; status == OPD_OK && i < out->operand_count; i++) {
        status = compile_operand(&compiler, i);
    }
    if (status == OPD_OK) {
        status = optional_formula(&out->flops, &compiler, op->flops);
    }
    return status == OPD_OK ? optional_formula(&out->reduction, &compiler, op->reduction) : status;
}
