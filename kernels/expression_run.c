/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack machine that runs compiled expressions. Both branches of ?: and both sides of && and || are evaluated; a value
 * that overflowed, divided by zero or has no answer is marked bad, and only the branch that counts passes the mark on.
 */
#include <stddef.h>

#include <opsdebug/memory.h>

#include "expression.h"

int opd_code_arity(uint8_t code)
{
    switch (code) {
    case OPD_CODE_CONSTANT:
    case OPD_CODE_SLOT:
    case OPD_CODE_ASK:
        return 0;
    case OPD_CODE_ASK_AT:
    case OPD_CODE_NEGATE:
    case OPD_CODE_NOT:
    case OPD_CODE_IS_TRANSPOSED:
        return 1;
    case OPD_CODE_SELECT:
        return 3;
    default:
        return 2;
    }
}

/* A value and whether it could not be computed. */
struct number {
    int64_t value;
    bool is_bad;
};

static struct number divide(uint8_t code, int64_t a, int64_t b)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        return (struct number){ 0, true };
    }
    int64_t quotient = a / b;
    int64_t rest = a % b;
    bool is_exact = rest == 0;
    bool is_negative = (rest < 0) != (b < 0);
    switch (code) {
    case OPD_CODE_DIV:
        return (struct number){ !is_exact && is_negative ? quotient - 1 : quotient, false };
    case OPD_CODE_MOD:
        return (struct number){ !is_exact && is_negative ? rest + b : rest, false };
    default:
        return (struct number){ !is_exact && !is_negative ? quotient + 1 : quotient, false };
    }
}

static struct number arithmetic(uint8_t code, int64_t a, int64_t b)
{
    struct number result = { 0, false };
    switch (code) {
    case OPD_CODE_ADD:
        result.is_bad = !opd_add_i64(&result.value, a, b);
        return result;
    case OPD_CODE_SUB:
        result.is_bad = __builtin_sub_overflow(a, b, &result.value);
        return result;
    case OPD_CODE_MUL:
        result.is_bad = !opd_mul_i64(&result.value, a, b);
        return result;
    case OPD_CODE_EQ:
        result.value = a == b;
        return result;
    case OPD_CODE_NE:
        result.value = a != b;
        return result;
    case OPD_CODE_LT:
        result.value = a < b;
        return result;
    case OPD_CODE_LE:
        result.value = a <= b;
        return result;
    case OPD_CODE_GT:
        result.value = a > b;
        return result;
    case OPD_CODE_GE:
        result.value = a >= b;
        return result;
    case OPD_CODE_MIN:
        result.value = a < b ? a : b;
        return result;
    case OPD_CODE_MAX:
        result.value = a > b ? a : b;
        return result;
    default:
        return divide(code, a, b);
    }
}

static struct number unary(uint8_t code, struct number a)
{
    switch (code) {
    case OPD_CODE_NEGATE:
        if (a.value == INT64_MIN) {
            return (struct number){ 0, true };
        }
        return (struct number){ -a.value, a.is_bad };
    case OPD_CODE_NOT:
        return (struct number){ a.value == 0, a.is_bad };
    default: /* OPD_CODE_IS_TRANSPOSED */
        return (struct number){ a.value == 'T' || a.value == 'C', a.is_bad };
    }
}

/* && and ||: the left side alone decides when it can. */
static struct number logical(uint8_t code, struct number a, struct number b)
{
    bool is_decided = (a.value != 0) == (code == OPD_CODE_OR);
    if (a.is_bad || is_decided) {
        return (struct number){ a.value != 0, a.is_bad };
    }
    return (struct number){ b.value != 0, b.is_bad };
}

static struct number ask(const opd_source *source, const opd_instruction *code, struct number argument)
{
    struct number result = { 0, true };
    if (source != NULL && !argument.is_bad) {
        result.is_bad =
            !source->answer(&result.value, source->context, (opd_question)code->value, code->index, argument.value);
    }
    return result;
}

/* The value of an instruction whose operands start at a. */
static struct number compute(const opd_instruction *code, const struct number *a, const int64_t *slots,
                             const opd_source *source)
{
    static const struct number nothing = { 0, false };
    switch (code->code) {
    case OPD_CODE_CONSTANT:
        return (struct number){ code->value, false };
    case OPD_CODE_SLOT:
        return (struct number){ slots[code->value], false };
    case OPD_CODE_ASK:
        return ask(source, code, nothing);
    case OPD_CODE_ASK_AT:
        return ask(source, code, a[0]);
    case OPD_CODE_SELECT: {
        struct number chosen = a[0].value != 0 ? a[1] : a[2];
        chosen.is_bad |= a[0].is_bad;
        return chosen;
    }
    case OPD_CODE_AND:
    case OPD_CODE_OR:
        return logical(code->code, a[0], a[1]);
    case OPD_CODE_NEGATE:
    case OPD_CODE_NOT:
    case OPD_CODE_IS_TRANSPOSED:
        return unary(code->code, a[0]);
    default: {
        struct number result = arithmetic(code->code, a[0].value, a[1].value);
        result.is_bad |= a[0].is_bad || a[1].is_bad;
        return result;
    }
    }
}

bool opd_expression_run(int64_t *out, const opd_instruction *code, int count, const int64_t *slots,
                        const opd_source *source)
{
    if (count == 1 && code->code == OPD_CODE_SLOT) { /* most dimensions are one symbol */
        *out = slots[code->value];
        return true;
    }
    struct number stack[OPD_EXPRESSION_STACK] = { { 0, false } };
    int top = 0;
    for (int i = 0; i < count; i++) {
        top -= opd_code_arity(code[i].code);
        stack[top] = compute(&code[i], &stack[top], slots, source);
        top++;
    }
    if (top != 1 || stack[0].is_bad) {
        return false;
    }
    *out = stack[0].value;
    return true;
}
