/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled form of a contract: fixed size, no pointers but into the contract's own text and the shared pool of
 * instructions. Private to kernels/. Slots number a call's values: symbols first, then attributes, ld and inc.
 */
#ifndef OPD_KERNELS_PLAN_H
#define OPD_KERNELS_PLAN_H

#include <opsdebug/op.h>

#include "expression.h"
#include "slice.h"

enum {
    OPD_PLAN_SLOTS = OPD_MAX_SYMBOLS + OPD_MAX_ATTRS + OPD_MAX_OPERANDS,
    OPD_PLAN_ARGS = 20,
    OPD_PLAN_LETTERS = 8,
    OPD_PLAN_TYPES = 4, /* type variables, T the first */
    OPD_PLAN_DTYPES = 16,
    OPD_PLAN_CONTENT = 24, /* elements of all value() */
};

typedef struct opd_formula {
    const opd_instruction *code; /* NULL = absent */
    int count;
    opd_slice text;
} opd_formula;

typedef enum opd_use {
    OPD_USE_DIM,
    OPD_USE_CHOICE,
    OPD_USE_SCALAR,
    OPD_USE_INT,
    OPD_USE_LD,
    OPD_USE_INC,
    /* general operators */
    OPD_USE_REAL,
    OPD_USE_WORD,
    OPD_USE_INTS,
} opd_use;

/* For how many dimensions a symbol stands; all but ONE have a rank of their own. */
typedef enum opd_reach {
    OPD_REACH_ONE,   /* m */
    OPD_REACH_MAYBE, /* m?: one or none */
    OPD_REACH_MANY,  /* n...: any number */
    OPD_REACH_EACH,  /* c+: one for each operand of a NAME+ */
} opd_reach;

/* Legal values of a number, or of each of a list of whole numbers. */
typedef enum opd_range_kind { OPD_RANGE_ANY, OPD_RANGE_SPAN, OPD_RANGE_LIST, OPD_RANGE_AXIS } opd_range_kind;
enum { OPD_RANGE_LIST_SIZE = 6 };
typedef struct opd_range {
    opd_range_kind kind;
    opd_slice text;   /* "0:" "0|1" "axis(X)" */
    double low, high; /* SPAN, ends included */
    int64_t list[OPD_RANGE_LIST_SIZE];
    int list_count;
    opd_slice operand; /* AXIS: the operand that has it */
} opd_range;

typedef struct opd_plan_value {
    opd_slice name;
    opd_use use;
    char type;                         /* SCALAR: 'T' or 'R' */
    char letters[2][OPD_PLAN_LETTERS]; /* CHOICE: for real and complex T */
    int32_t initial;                   /* DIM: default */
    /* general operators */
    opd_reach reach;  /* DIM */
    bool has_initial; /* DIM: defaults says a value */
    bool is_free;     /* DIM: no input says it */
    bool is_optional; /* attribute: absent by default */
    opd_slice text;   /* default as written: attributes; DIM of many: "1,128,128" */
    opd_slice words;  /* WORD: "constant|reflect"; empty = any text */
    opd_range range;  /* INT, REAL, INTS */
} opd_plan_value;

typedef enum opd_dim_kind {
    OPD_DIM_FORMULA,
    OPD_DIM_SYMBOL, /* slot, of any reach */
    OPD_DIM_SELECT, /* formula ? slot : other_slot, plain symbols both */
    OPD_DIM_ANY,    /* "...": any dimensions, without symbols */
} opd_dim_kind;

typedef struct opd_plan_dim {
    opd_dim_kind kind;
    int slot, other_slot;
    bool is_broadcast; /* SYMBOL */
    opd_formula formula;
} opd_plan_dim;

typedef struct opd_plan_operand {
    opd_slice name;
    char type;        /* 'T', 'R', 'V' for a variable, or 'D' for the dtype below */
    int16_t variable; /* number of the type variable: T and V */
    opd_dtype dtype;
    opd_role role;
    uint32_t flags; /* RETURNED, INDEX */
    int rank;       /* of the logical operand: 0, 1, 2; general: items of dims */
    opd_plan_dim dims[OPD_MAX_RANK];
    opd_mask_kind mask;      /* NONE, UPPER (meaning a triangle by uplo), BAND, PACKED */
    int ld, inc, uplo, diag; /* slots; -1 = none */
    opd_formula kl, ku;
    opd_formula condition;
    int at; /* operand that brings the pointer; -1 = itself */
    /* general operators */
    bool is_optional, is_variadic;
    bool is_default;   /* an optional operand that is there when no shapes are given */
    opd_formula split; /* dimensions of the first symbol of many */
    opd_formula times; /* operands of a variadic one */
    opd_slice fill;
    opd_formula index;          /* fill(index(...)) */
    int content, content_count; /* value(): formulas in the plan */
} opd_plan_operand;

typedef struct opd_plan_type {
    opd_slice name;
    uint8_t dtypes[OPD_PLAN_DTYPES]; /* legal ones, the default first */
    int count;
} opd_plan_type;

typedef struct opd_plan_arg {
    int slot;    /* -1: an operand */
    int operand; /* -1: a value */
} opd_plan_arg;

typedef struct opd_plan {
    bool is_general; /* no BLAS routine: shapes of the inputs are given, the rest follows */
    int symbol_count;
    int slot_count;
    int operand_count;
    int input_count; /* general: operands before '->', which come first */
    int arg_count;
    int type_count;
    int content_count;
    opd_plan_value values[OPD_PLAN_SLOTS];
    opd_plan_operand operands[OPD_MAX_OPERANDS];
    opd_plan_arg args[OPD_PLAN_ARGS];
    opd_plan_type types[OPD_PLAN_TYPES];
    opd_formula content[OPD_PLAN_CONTENT];
    opd_formula flops;
    opd_formula reduction;
} opd_plan;

/* Where compiled expressions go. */
typedef struct opd_pool {
    opd_instruction *code;
    int capacity;
    int count;
} opd_pool;

/* Compiles a contract into zeroed memory; by one thread at a time. errors: E_INVALID names the operator and what is wrong with its text. */
opd_status opd_plan_compile(opd_plan *out, opd_pool *pool, const opd_op *op);

/* The plan of a contract of the table; NULL, with the error text set, for any other. */
const opd_plan *opd_plan_of(const opd_op *op);
/* The plan of a call whose values are what the plan expects; NULL, with the error text set, otherwise. */
const opd_plan *opd_plan_of_call(const opd_call *call);

/* For opd_scope, whose context is the plan. */
opd_find_name opd_plan_find_name;
opd_find_word opd_plan_find_word;
int opd_plan_find_slot(const opd_plan *plan, const char *name, int size);
int opd_plan_find_operand(const opd_plan *plan, const char *name, int size);

/* The call's value of a slot. */
opd_value *opd_plan_value_of(const opd_plan *plan, opd_call *call, int slot);
const opd_value *opd_plan_value_at(const opd_plan *plan, const opd_call *call, int slot);
/* A call of op with default values and no data; not bound. */
void opd_plan_fill(opd_call *call, const opd_plan *plan, const opd_op *op, const char *name, opd_dtype dtype);
/* Binds the operands of a call that fits the plan, and checks its arguments. */
opd_status opd_plan_bind(opd_call *call, const opd_plan *plan, const int64_t *slots);
/* The checks of opd_call_check() that concern arguments; size is not 0. */
bool opd_plan_check(opd_call *call, const opd_plan *plan, const int64_t *slots, char *text, size_t size);
/* The values as expressions see them. */
void opd_plan_slots(int64_t *slots, const opd_plan *plan, const opd_call *call);
/* Value of a formula that asks nothing; false when it overflows or is absent. */
bool opd_formula_run(int64_t *out, const opd_formula *formula, const int64_t *slots);

/* Cuts "[0:]" off the end of an attribute's text; false when what is in the brackets is no range. No brackets, or those of a list: ANY. */
bool opd_range_cut(opd_range *out, opd_slice *text);
/* errors: E_INVALID names the attribute and what it may be. */
opd_status opd_range_check(const opd_call *call, const opd_plan_value *expected, const opd_value *value);

/* dtype of an operand or scalar whose type letter is given. */
opd_dtype opd_plan_dtype(char type, opd_dtype fixed, opd_dtype of_call);
/* Legal letters of a choice for the call's dtype. */
const char *opd_plan_letters(const opd_plan_value *value, opd_dtype dtype);
/* Smallest legal leading dimension in a slot; false when it overflows. *operand: whose it is. */
bool opd_plan_smallest_ld(int64_t *out, int *operand, const opd_plan *plan, int slot, bool is_row_major,
                          const int64_t *slots);
/* Argument position (1-based, as the called form counts) of the index-th argument. */
int opd_plan_position(const opd_call *call, int index);
/* Elements from the pointer argument to element 0: (1-n)*inc for a negative increment, else 0. */
int64_t opd_plan_start(const opd_plan_operand *operand, const opd_operand *bound, const int64_t *slots);

#endif
