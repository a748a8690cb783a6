/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integer expressions of contracts, compiled once to a stack program and run on an array of slot values. Private to
 * kernels/. No allocation; int64 arithmetic is overflow-checked. What slots do not hold (dimensions of operands, lists) is
 * asked of the call by way of a callback.
 */
#ifndef OPD_KERNELS_EXPRESSION_H
#define OPD_KERNELS_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

enum { OPD_EXPRESSION_STACK = 16 }; /* values at one time */

enum {
    OPD_CODE_CONSTANT,
    OPD_CODE_SLOT,
    OPD_CODE_ASK,    /* index: of what; value: opd_question */
    OPD_CODE_ASK_AT, /* likewise, with an argument */
    OPD_CODE_ADD,
    OPD_CODE_SUB,
    OPD_CODE_MUL,
    OPD_CODE_DIV,
    OPD_CODE_MOD,
    OPD_CODE_EQ,
    OPD_CODE_NE,
    OPD_CODE_LT,
    OPD_CODE_LE,
    OPD_CODE_GT,
    OPD_CODE_GE,
    OPD_CODE_AND,
    OPD_CODE_OR,
    OPD_CODE_NEGATE,
    OPD_CODE_NOT,
    OPD_CODE_SELECT,
    OPD_CODE_MIN,
    OPD_CODE_MAX,
    OPD_CODE_CEIL,
    OPD_CODE_IS_TRANSPOSED,
    OPD_CODE_COUNT,
};

typedef struct opd_instruction {
    uint8_t code;
    int16_t index;
    int64_t value; /* constant, slot number, or question */
} opd_instruction;

typedef enum opd_question {
    OPD_ASK_DIM,     /* of an operand, with argument */
    OPD_ASK_RANK,    /* of an operand */
    OPD_ASK_COUNT,   /* elements of an operand */
    OPD_ASK_THERE,   /* is the operand there? */
    OPD_ASK_ELEMENT, /* of a symbol that stands for several dimensions, with argument */
    OPD_ASK_RANK_OF, /* its dimensions */
    OPD_ASK_PRODUCT, /* over them */
    OPD_ASK_SUM,     /* of them */
    OPD_ASK_AT,      /* of a list, with argument */
    OPD_ASK_LENGTH,  /* of a list */
    OPD_ASK_GIVEN,   /* has the slot a value? */
} opd_question;

/* What a name may stand for. */
typedef enum opd_name_kind { OPD_NAME_SLOT, OPD_NAME_OPERAND, OPD_NAME_DIMS, OPD_NAME_LIST } opd_name_kind;

/* Number of a name; -1 when there is none of that kind. A slot is a plain value: neither several dimensions nor a list. */
typedef int opd_find_name(const void *context, opd_name_kind kind, const char *name, int size);
/* Position of a word in the list of the slot; -1 when it is not in it, -2 when the slot has no list. */
typedef int opd_find_word(const void *context, int slot, const char *word, int size);

typedef struct opd_scope {
    opd_find_name *find;
    opd_find_word *find_word;
    const void *context;
} opd_scope;

/* Answers a question; false when it has no answer. */
typedef bool opd_answer(int64_t *out, const void *context, opd_question what, int index, int64_t argument);
typedef struct opd_source {
    opd_answer *answer;
    const void *context;
} opd_source;

/*
 * Compiles text[0 .. size). Returns the number of instructions, or -1 with *why set.
 * limits    values on the stack 16, pending operators 32.
 */
int opd_expression_compile(opd_instruction *out, int capacity, const char *text, int size, const opd_scope *scope,
                           const char **why);

/* Values that an instruction takes from the stack. */
int opd_code_arity(uint8_t code);

/*
 * Runs a program. False, *out unchanged, when the value overflows, divides by zero or has no answer on the branch that counts.
 * source    NULL: the program asks nothing.
 */
bool opd_expression_run(int64_t *out, const opd_instruction *code, int count, const int64_t *slots,
                        const opd_source *source);

#endif
