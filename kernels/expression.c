/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expression language of contracts: an operator-precedence (shunting-yard) compiler to the stack machine of
 * expression_run.c.
 */
#include "expression.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include <opsdebug/memory.h>

enum { STACK_OPERATORS = 32 };

/* On the operator stack only. */
enum { MARK_OPEN = OPD_CODE_COUNT, MARK_QUESTION, MARK_FUNCTION };

enum { PRECEDENCE_BARRIER = 0, PRECEDENCE_SELECT = 1, PRECEDENCE_UNARY = 8 };

static const struct binary {
    char text[3];
    uint8_t code;
    uint8_t precedence;
} binaries[] = {
    /* longer texts before their prefixes */
    { "||", OPD_CODE_OR, 2 }, { "&&", OPD_CODE_AND, 3 }, { "==", OPD_CODE_EQ, 4 }, { "!=", OPD_CODE_NE, 4 },
    { "<=", OPD_CODE_LE, 5 }, { ">=", OPD_CODE_GE, 5 },  { "<", OPD_CODE_LT, 5 },  { ">", OPD_CODE_GT, 5 },
    { "+", OPD_CODE_ADD, 6 }, { "-", OPD_CODE_SUB, 6 },  { "*", OPD_CODE_MUL, 7 }, { "/", OPD_CODE_DIV, 7 },
    { "%", OPD_CODE_MOD, 7 },
};

/* A function of values, or a question about a name, which may take one value more. */
static const struct function {
    char name[6];
    uint8_t code;
    uint8_t arity;
    bool has_target;
    uint8_t question[4]; /* + 1, by what the name stands for; 0 = it may not */
} functions[] = {
    { "min", OPD_CODE_MIN, 2, false, { 0 } },
    { "max", OPD_CODE_MAX, 2, false, { 0 } },
    { "ceil", OPD_CODE_CEIL, 2, false, { 0 } },
    { "t", OPD_CODE_IS_TRANSPOSED, 1, false, { 0 } },
    { "dim",
      OPD_CODE_ASK_AT,
      1,
      true,
      { [OPD_NAME_OPERAND] = OPD_ASK_DIM + 1, [OPD_NAME_DIMS] = OPD_ASK_ELEMENT + 1 } },
    { "rank", OPD_CODE_ASK, 0, true, { [OPD_NAME_OPERAND] = OPD_ASK_RANK + 1, [OPD_NAME_DIMS] = OPD_ASK_RANK_OF + 1 } },
    { "count", OPD_CODE_ASK, 0, true, { [OPD_NAME_OPERAND] = OPD_ASK_COUNT + 1 } },
    { "has",
      OPD_CODE_ASK,
      0,
      true,
      { [OPD_NAME_OPERAND] = OPD_ASK_THERE + 1,
        [OPD_NAME_SLOT] = OPD_ASK_GIVEN + 1,
        [OPD_NAME_LIST] = OPD_ASK_GIVEN + 1 } },
    { "prod", OPD_CODE_ASK, 0, true, { [OPD_NAME_DIMS] = OPD_ASK_PRODUCT + 1 } },
    { "sum", OPD_CODE_ASK, 0, true, { [OPD_NAME_DIMS] = OPD_ASK_SUM + 1 } },
    { "at", OPD_CODE_ASK_AT, 1, true, { [OPD_NAME_LIST] = OPD_ASK_AT + 1 } },
    { "len", OPD_CODE_ASK, 0, true, { [OPD_NAME_LIST] = OPD_ASK_LENGTH + 1 } },
};

struct pending {
    uint8_t code;
    uint8_t precedence;
    int16_t depth;    /* MARK_FUNCTION: values below its arguments */
    int16_t function; /* MARK_FUNCTION */
    int16_t index;    /* MARK_FUNCTION with a target: its number */
    uint8_t question; /* MARK_FUNCTION with a target */
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

static bool stop(struct parser *parser, const char *why)
{
    parser->why = why;
    return false;
}

static bool emit_about(struct parser *parser, uint8_t code, int index, int64_t value)
{
    int arity = opd_code_arity(code);
    if (parser->depth < arity) {
        return stop(parser, "an operand is missing");
    }
    if (parser->count == parser->capacity || parser->depth - arity + 1 > OPD_EXPRESSION_STACK) {
        return stop(parser, "the expression is too long");
    }
    parser->out[parser->count++] = (opd_instruction){ .code = code, .index = (int16_t)index, .value = value };
    parser->depth += 1 - arity;
    return true;
}

static bool emit(struct parser *parser, uint8_t code, int64_t value)
{
    return emit_about(parser, code, 0, value);
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
    return emit(parser, OPD_CODE_CONSTANT, value);
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

static int find(const struct parser *parser, opd_name_kind kind, const char *name, int size)
{
    return parser->scope != NULL ? parser->scope->find(parser->scope->context, kind, name, size) : -1;
}

/* The characters of a name; the parser stands behind them. */
static int scan_name(struct parser *parser, const char **name)
{
    *name = parser->at;
    while (parser->at < parser->end && (isalnum((unsigned char)*parser->at) || *parser->at == '_')) {
        parser->at++;
    }
    return (int)(parser->at - *name);
}

/* "NAME" or "NAME, " of a function that asks about a name; *about is what it stands for. */
static bool take_target(struct parser *parser, const struct function *function, struct pending *about)
{
    const char *name = NULL;
    skip_space(parser);
    int size = scan_name(parser, &name);
    skip_space(parser);
    int index = -1;
    for (int kind = 0; kind < (int)OPD_COUNT(function->question) && index < 0; kind++) {
        if (function->question[kind] != 0) {
            index = find(parser, (opd_name_kind)kind, name, size);
            about->question = (uint8_t)(function->question[kind] - 1);
        }
    }
    if (index < 0) {
        return stop(parser, "a function of a name that is no such operand, symbol or attribute");
    }
    about->index = (int16_t)index;
    char expected = function->arity > 0 ? ',' : ')';
    if (parser->at == parser->end || *parser->at != expected) {
        return stop(parser, "wrong number of arguments");
    }
    parser->at++;
    return true;
}

static bool take_function(struct parser *parser, int number)
{
    const struct function *function = &functions[number];
    struct pending about = { .code = MARK_FUNCTION };
    parser->at++;
    if (function->has_target && !take_target(parser, function, &about)) {
        return false;
    }
    if (function->has_target && function->arity == 0) {
        parser->wants_operand = false;
        return emit_about(parser, function->code, about.index, about.question);
    }
    parser->wants_operand = true;
    if (!push(parser, MARK_FUNCTION, PRECEDENCE_BARRIER)) {
        return false;
    }
    struct pending *mark = &parser->stack[parser->top - 1];
    mark->function = (int16_t)number;
    mark->index = about.index;
    mark->question = about.question;
    return push(parser, MARK_OPEN, PRECEDENCE_BARRIER);
}

/* "n0": one dimension of those that n stands for. */
static bool take_element(struct parser *parser, const char *name, int size)
{
    int index = size > 1 && isdigit((unsigned char)name[size - 1]) ? find(parser, OPD_NAME_DIMS, name, size - 1) : -1;
    if (index < 0) {
        return stop(parser, find(parser, OPD_NAME_DIMS, name, size) < 0 && find(parser, OPD_NAME_LIST, name, size) < 0
                                ? "unknown name"
                                : "several values, of which prod(), dim(), at() or len() make one");
    }
    return emit(parser, OPD_CODE_CONSTANT, name[size - 1] - '0') &&
           emit_about(parser, OPD_CODE_ASK_AT, index, OPD_ASK_ELEMENT);
}

static bool take_name(struct parser *parser)
{
    const char *name = NULL;
    int size = scan_name(parser, &name);
    skip_space(parser);
    if (parser->at < parser->end && *parser->at == '(') {
        int function = find_function(name, size);
        return function >= 0 ? take_function(parser, function) : stop(parser, "unknown function");
    }
    parser->wants_operand = false;
    int slot = find(parser, OPD_NAME_SLOT, name, size);
    return slot >= 0 ? emit(parser, OPD_CODE_SLOT, slot) : take_element(parser, name, size);
}

/* 'word': after "slot ==" its position in the list of the slot, else the code of a letter. */
static bool take_quoted(struct parser *parser)
{
    const char *word = ++parser->at;
    const char *close = memchr(word, '\'', (size_t)(parser->end - word));
    if (close == NULL || close == word) {
        return stop(parser, "a quoted letter or word is expected");
    }
    int size = (int)(close - word);
    parser->at = close + 1;
    const struct pending *last = parser->top > 0 ? &parser->stack[parser->top - 1] : NULL;
    bool is_compared = last != NULL && (last->code == OPD_CODE_EQ || last->code == OPD_CODE_NE) && parser->count > 0 &&
                       parser->out[parser->count - 1].code == OPD_CODE_SLOT;
    int position = -2;
    if (is_compared && parser->scope != NULL && parser->scope->find_word != NULL) {
        position =
            parser->scope->find_word(parser->scope->context, (int)parser->out[parser->count - 1].value, word, size);
    }
    if (position == -1) {
        return stop(parser, "a word that is not in the attribute's list");
    }
    if (position == -2 && size != 1) {
        return stop(parser, "a word stands after == or != and the attribute that lists it");
    }
    return emit(parser, OPD_CODE_CONSTANT, position >= 0 ? position : (unsigned char)word[0]);
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
        return push(parser, first == '-' ? OPD_CODE_NEGATE : OPD_CODE_NOT, PRECEDENCE_UNARY);
    }
    if (isalpha((unsigned char)first) || first == '_') {
        return take_name(parser);
    }
    parser->wants_operand = false;
    if (isdigit((unsigned char)first)) {
        return take_number(parser);
    }
    if (first == '\'') {
        return take_quoted(parser);
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
    return emit_about(parser, function->code, call->index, call->question);
}

static bool take_colon(struct parser *parser)
{
    if (!pop_above(parser, PRECEDENCE_SELECT)) {
        return false;
    }
    if (parser->top == 0 || parser->stack[parser->top - 1].code != MARK_QUESTION) {
        return stop(parser, ": without ?");
    }
    parser->stack[parser->top - 1].code = OPD_CODE_SELECT;
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
