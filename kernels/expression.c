/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expression language of contracts: an operator-precedence (shunting-yard) compiler and its stack machine.
 * Both branches of ?: and both sides of && and || are evaluated; a value that overflowed or divided by zero is
 * marked bad, and only the branch that counts passes the mark on.
 */
#include "expression.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include <opsdebug/memory.h>

enum { STACK_VALUES = 16, STACK_OPERATORS = 32 };

enum {
    CODE_CONSTANT,
    CODE_SLOT,
    CODE_ADD,
    CODE_SUB,
    CODE_MUL,
    CODE_DIV,
    CODE_MOD,
    CODE_EQ,
    CODE_NE,
    CODE_LT,
    CODE_LE,
    CODE_GT,
    CODE_GE,
    CODE_AND,
    CODE_OR,
    CODE_NEGATE,
    CODE_NOT,
    CODE_SELECT,
    CODE_MIN,
    CODE_MAX,
    CODE_CEIL,
    CODE_IS_TRANSPOSED,
    /* on the operator stack only */
    MARK_OPEN,
    MARK_QUESTION,
    MARK_FUNCTION,
};

enum { PRECEDENCE_BARRIER = 0, PRECEDENCE_SELECT = 1, PRECEDENCE_UNARY = 8 };

static const struct binary {
    char text[3];
    uint8_t code;
    uint8_t precedence;
} binaries[] = {
    /* longer texts before their prefixes */
    { "||", CODE_OR, 2 }, { "&&", CODE_AND, 3 }, { "==", CODE_EQ, 4 }, { "!=", CODE_NE, 4 }, { "<=", CODE_LE, 5 },
    { ">=", CODE_GE, 5 }, { "<", CODE_LT, 5 },   { ">", CODE_GT, 5 },  { "+", CODE_ADD, 6 }, { "-", CODE_SUB, 6 },
    { "*", CODE_MUL, 7 }, { "/", CODE_DIV, 7 },  { "%", CODE_MOD, 7 },
};

static const struct function {
    char name[5];
    uint8_t code;
    uint8_t arity;
} functions[] = {
    { "min", CODE_MIN, 2 },
    { "max", CODE_MAX, 2 },
    { "ceil", CODE_CEIL, 2 },
    { "t", CODE_IS_TRANSPOSED, 1 },
};

struct pending {
    uint8_t code;
    uint8_t precedence;
    int16_t depth;    /* MARK_FUNCTION: values below its arguments */
    int16_t function; /* MARK_FUNCTION */
};

struct parser {
    const char *at;
    const char *end;
    const opd_scope *scope;
    opd_instruction *out;
    int capacity;
    int count;
    int depth;
    int top;
    struct pending stack[STACK_OPERATORS];
    bool wants_operand;
    const char *why;
};

static int arity_of(uint8_t code)
{
    switch (code) {
    case CODE_CONSTANT:
    case CODE_SLOT:
        return 0;
    case CODE_NEGATE:
    case CODE_NOT:
    case CODE_IS_TRANSPOSED:
        return 1;
    case CODE_SELECT:
        return 3;
    default:
        return 2;
    }
}

static bool stop(struct parser *parser, const char *why)
{
    parser->why = why;
    return false;
}

static bool emit(struct parser *parser, uint8_t code, int64_t value)
{
    int arity = arity_of(code);
    if (parser->depth < arity) {
        return stop(parser, "an operand is missing");
    }
    if (parser->count == parser->capacity || parser->depth - arity + 1 > STACK_VALUES) {
        return stop(parser, "the expression is too long");
    }
    parser->out[parser->count++] = (opd_instruction){ .code = code, .value = value };
    parser->depth += 1 - arity;
    return true;
}

static bool push(struct parser *parser, uint8_t code, uint8_t precedence)
{
    if (parser->top == STACK_OPERATORS) {
        return stop(parser, "the expression nests too deep");
    }
    parser->stack[parser->top++] =
        (struct pending){ .code = code, .precedence = precedence, .depth = (int16_t)parser->depth };
    return true;
}

/* Emits pending operators down to one whose precedence is below the limit. */
static bool pop_above(struct parser *parser, uint8_t limit)
{
    while (parser->top > 0 && parser->stack[parser->top - 1].precedence >= limit) {
        if (parser->stack[parser->top - 1].code == MARK_QUESTION) {
            return true;
        }
        parser->top--;
        if (!emit(parser, parser->stack[parser->top].code, 0)) {
            return false;
        }
    }
    return true;
}

static void skip_space(struct parser *parser)
{
    while (parser->at < parser->end && isspace((unsigned char)*parser->at)) {
        parser->at++;
    }
}

static bool take_number(struct parser *parser)
{
    int64_t value = 0;
    for (; parser->at < parser->end && isdigit((unsigned char)*parser->at); parser->at++) {
        if (!opd_mul_i64(&value, value, 10) || !opd_add_i64(&value, value, *parser->at - '0')) {
            return stop(parser, "a number does not fit 64 bits");
        }
    }
    return emit(parser, CODE_CONSTANT, value);
}

static int find_function(const char *name, int size)
{
    for (size_t i = 0; i < OPD_COUNT(functions); i++) {
        if (strlen(functions[i].name) == (size_t)size && memcmp(functions[i].name, name, (size_t)size) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool take_name(struct parser *parser)
{
    const char *name = parser->at;
    while (parser->at < parser->end && (isalnum((unsigned char)*parser->at) || *parser->at == '_')) {
        parser->at++;
    }
    int size = (int)(parser->at - name);
    skip_space(parser);
    if (parser->at < parser->end && *parser->at == '(') {
        int function = find_function(name, size);
        if (function < 0) {
            return stop(parser, "unknown function");
        }
        parser->at++;
        parser->wants_operand = true;
        if (!push(parser, MARK_FUNCTION, PRECEDENCE_BARRIER)) {
            return false;
        }
        parser->stack[parser->top - 1].function = (int16_t)function;
        return push(parser, MARK_OPEN, PRECEDENCE_BARRIER);
    }
    int slot = parser->scope != NULL ? parser->scope->find(parser->scope->context, name, size) : -1;
    if (slot < 0) {
        return stop(parser, "unknown name");
    }
    parser->wants_operand = false;
    return emit(parser, CODE_SLOT, slot);
}

static bool take_operand(struct parser *parser)
{
    char first = *parser->at;
    if (first == '(') {
        parser->at++;
        return push(parser, MARK_OPEN, PRECEDENCE_BARRIER);
    }
    if (first == '-' || first == '!') {
        parser->at++;
        return push(parser, first == '-' ? CODE_NEGATE : CODE_NOT, PRECEDENCE_UNARY);
    }
    if (isalpha((unsigned char)first) || first == '_') {
        return take_name(parser);
    }
    parser->wants_operand = false;
    if (isdigit((unsigned char)first)) {
        return take_number(parser);
    }
    if (first == '\'' && parser->end - parser->at >= 3 && parser->at[2] == '\'') {
        int64_t letter = (unsigned char)parser->at[1];
        parser->at += 3;
        return emit(parser, CODE_CONSTANT, letter);
    }
    return stop(parser, "a value is expected");
}

/* ')' and ',': both end an argument; depth counts the arguments so far. */
static bool close_argument(struct parser *parser, bool is_last)
{
    if (!pop_above(parser, PRECEDENCE_SELECT)) {
        return false;
    }
    if (parser->top == 0 || parser->stack[parser->top - 1].code != MARK_OPEN) {
        return stop(parser, "unbalanced parenthesis, or ? without :");
    }
    const struct pending *call = parser->top >= 2 ? &parser->stack[parser->top - 2] : NULL;
    bool is_call = call != NULL && call->code == MARK_FUNCTION;
    if (!is_last) {
        parser->wants_operand = true;
        return is_call || stop(parser, "comma outside a function");
    }
    parser->top--;
    if (!is_call) {
        return true;
    }
    const struct function *function = &functions[call->function];
    if (parser->depth - call->depth != function->arity) {
        return stop(parser, "wrong number of arguments");
    }
    parser->top--;
    return emit(parser, function->code, 0);
}

static bool take_colon(struct parser *parser)
{
    if (!pop_above(parser, PRECEDENCE_SELECT)) {
        return false;
    }
    if (parser->top == 0 || parser->stack[parser->top - 1].code != MARK_QUESTION) {
        return stop(parser, ": without ?");
    }
    parser->stack[parser->top - 1].code = CODE_SELECT;
    parser->wants_operand = true;
    return true;
}

static bool take_operator(struct parser *parser)
{
    char first = *parser->at;
    if (first == ')' || first == ',') {
        parser->at++;
        return close_argument(parser, first == ')');
    }
    if (first == ':') {
        parser->at++;
        return take_colon(parser);
    }
    if (first == '?') {
        parser->at++;
        parser->wants_operand = true;
        return pop_above(parser, PRECEDENCE_SELECT + 1) && push(parser, MARK_QUESTION, PRECEDENCE_SELECT);
    }
    for (size_t i = 0; i < OPD_COUNT(binaries); i++) {
        size_t size = strlen(binaries[i].text);
        if ((size_t)(parser->end - parser->at) >= size && memcmp(parser->at, binaries[i].text, size) == 0) {
            parser->at += size;
            parser->wants_operand = true;
            return pop_above(parser, binaries[i].precedence) && push(parser, binaries[i].code, binaries[i].precedence);
        }
    }
    return stop(parser, "an operator is expected");
}

int opd_expression_compile(opd_instruction *out, int capacity, const char *text, int size, const opd_scope *scope,
                           const char **why)
{
    struct parser parser = { .at = text, .end = text + size, .scope = scope, .out = out, .capacity = capacity };
    parser.wants_operand = true;
    for (skip_space(&parser); parser.at < parser.end; skip_space(&parser)) {
        bool ok = parser.wants_operand ? take_operand(&parser) : take_operator(&parser);
        if (!ok) {
            *why = parser.why;
            return -1;
        }
    }
    if (parser.wants_operand) {
        *why = "the expression ends where a value is expected";
        return -1;
    }
    if (!pop_above(&parser, PRECEDENCE_SELECT)) {
        *why = parser.why;
        return -1;
    }
    if (parser.top != 0 || parser.depth != 1) {
        *why = "unbalanced parenthesis, or ? without :";
        return -1;
    }
    return parser.count;
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
    case CODE_DIV:
        return (struct number){ !is_exact && is_negative ? quotient - 1 : quotient, false };
    case CODE_MOD:
        return (struct number){ !is_exact && is_negative ? rest + b : rest, false };
    default:
        return (struct number){ !is_exact && !is_negative ? quotient + 1 : quotient, false };
    }
}

static struct number arithmetic(uint8_t code, int64_t a, int64_t b)
{
    struct number result = { 0, false };
    switch (code) {
    case CODE_ADD:
        result.is_bad = !opd_add_i64(&result.value, a, b);
        return result;
    case CODE_SUB:
        result.is_bad = __builtin_sub_overflow(a, b, &result.value);
        return result;
    case CODE_MUL:
        result.is_bad = !opd_mul_i64(&result.value, a, b);
        return result;
    case CODE_EQ:
        result.value = a == b;
        return result;
    case CODE_NE:
        result.value = a != b;
        return result;
    case CODE_LT:
        result.value = a < b;
        return result;
    case CODE_LE:
        result.value = a <= b;
        return result;
    case CODE_GT:
        result.value = a > b;
        return result;
    case CODE_GE:
        result.value = a >= b;
        return result;
    case CODE_MIN:
        result.value = a < b ? a : b;
        return result;
    case CODE_MAX:
        result.value = a > b ? a : b;
        return result;
    default:
        return divide(code, a, b);
    }
}

static struct number unary(uint8_t code, struct number a)
{
    switch (code) {
    case CODE_NEGATE:
        if (a.value == INT64_MIN) {
            return (struct number){ 0, true };
        }
        return (struct number){ -a.value, a.is_bad };
    case CODE_NOT:
        return (struct number){ a.value == 0, a.is_bad };
    default: /* CODE_IS_TRANSPOSED */
        return (struct number){ a.value == 'T' || a.value == 'C', a.is_bad };
    }
}

/* && and ||: the left side alone decides when it can. */
static struct number logical(uint8_t code, struct number a, struct number b)
{
    bool is_decided = (a.value != 0) == (code == CODE_OR);
    if (a.is_bad || is_decided) {
        return (struct number){ a.value != 0, a.is_bad };
    }
    return (struct number){ b.value != 0, b.is_bad };
}

bool opd_expression_run(int64_t *out, const opd_instruction *code, int count, const int64_t *slots)
{
    if (count == 1) { /* most dimensions are one symbol */
        *out = code->code == CODE_SLOT ? slots[code->value] : code->value;
        return true;
    }
    struct number stack[STACK_VALUES] = { { 0, false } };
    int top = 0;
    for (int i = 0; i < count; i++) {
        uint8_t what = code[i].code;
        if (what == CODE_CONSTANT || what == CODE_SLOT) {
            stack[top++] = (struct number){ what == CODE_SLOT ? slots[code[i].value] : code[i].value, false };
            continue;
        }
        top -= arity_of(what);
        struct number *a = &stack[top++];
        if (what == CODE_SELECT) {
            struct number chosen = a[0].value != 0 ? a[1] : a[2];
            chosen.is_bad |= a[0].is_bad;
            *a = chosen;
        } else if (what == CODE_AND || what == CODE_OR) {
            *a = logical(what, a[0], a[1]);
        } else if (arity_of(what) == 1) {
            *a = unary(what, *a);
        } else {
            bool is_bad = a[0].is_bad || a[1].is_bad;
            *a = arithmetic(what, a[0].value, a[1].value);
            a->is_bad |= is_bad;
        }
    }
    if (top != 1 || stack[0].is_bad) {
        return false;
    }
    *out = stack[0].value;
    return true;
}
