/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators as data. A contract (opd_op) describes an operator in exactly one place; a call (opd_call) is one use of
 * it. Everything else that must know an operator derives from its contract: recording binds a call's operands, replay
 * rebuilds its arguments, reduction changes its symbols, checks, guards, cost, repro text and export read it.
 *
 * order of use: opd_op_find / opd_routine_find -> opd_call_init or opd_call_from_words -> opd_call_bind -> the rest.
 */
#ifndef OPSDEBUG_OP_H
#define OPSDEBUG_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/contract.h>
#include <opsdebug/random.h>
#include <opsdebug/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Compiles every contract now. Else that happens on first use; other threads that come meanwhile wait for it (under 1 ms).
 * memory    static; allocates nothing.
 * errors    E_INVALID a contract of this build is malformed (its text says which and where).
 */
opd_status opd_ops_compile(void);

int opd_op_count(void);
const opd_op *opd_op_at(int index);
const opd_op *opd_op_find(const char *domain, const char *name); /* NULL when unknown */

/* A routine is one BLAS name: an operator bound to a dtype. Ids are positions in the table: never stored in bundles. */
typedef struct opd_routine {
    const opd_op *op;
    char name[16];   /* "dgemm" */
    opd_dtype dtype; /* T */
    int32_t id;
} opd_routine;

int opd_routine_count(void);
const opd_routine *opd_routine_at(int id);
const opd_routine *opd_routine_find(const char *name); /* "dgemm"; NULL when unknown */

/* Symbol name patterns under which BLAS libraries export a routine; %s is the routine. */
typedef struct opd_name_pattern {
    const char *format; /* "cblas_%s", "%s_", "cblas_%s64_", "scipy_cblas_%s64_", ... */
    bool is_cblas;
    uint8_t int_bytes; /* 4 or 8 */
    bool is_direct;    /* only of routines with has_sub_form: the CBLAS name that returns the result */
} opd_name_pattern;
int opd_name_pattern_count(void);
const opd_name_pattern *opd_name_pattern_at(int index);
/* Exported symbol of a routine under a pattern ("cblas_cdotu_sub", "dgemm_64_"); false when it has none. */
bool opd_routine_symbol(char *text, size_t size, const opd_routine *routine, const opd_name_pattern *pattern);

/* Arguments of a routine in call order (after the storage order), for code generators and callers by foreign-function interface. */
typedef enum opd_arg_kind {
    OPD_ARG_CHOICE,  /* char * under Fortran (hidden length at the end), enum under CBLAS */
    OPD_ARG_INT,     /* dimension, leading dimension, increment, integer attribute */
    OPD_ARG_SCALAR,  /* of dtype: pointer under Fortran; CBLAS by value when real, by pointer when complex */
    OPD_ARG_OPERAND, /* pointer */
} opd_arg_kind;
typedef struct opd_arg {
    char name[OPD_NAME];
    opd_arg_kind kind;
    opd_dtype dtype; /* SCALAR, OPERAND */
    bool is_output;  /* OPERAND the routine writes */
    char letters[8]; /* CHOICE: legal letters, the default first */
} opd_arg;
int opd_routine_args(const opd_routine *routine, opd_arg *args, int capacity); /* count */
/*
 * A choice, as calls and words keep it: an upper-case letter; or OPD_CHOICE_NUMBER + v where a CBLAS caller gave the number v, which is no value of
 * its kind of choice (78 is not 'N', and uplo's 122 is not side's 'L').
 */
#define OPD_CHOICE_NUMBER (INT64_C(1) << 32)
#define OPD_CHOICE_TEXT   24 /* bytes that hold any choice in words, its end included */
/* CBLAS value of a choice (111 for trans 'N', 131 for diag 'N', ...), of which letters are the legal ones; an unknown letter is its own value. */
int opd_choice_to_cblas(const char *letters, int64_t choice);
/* The choice that a CBLAS value makes. 101 and 102 (the order, letters "RC") are 'R' and 'C'. */
int64_t opd_choice_from_cblas(const char *letters, int value);
/* "N"; "999" for a number, and for a code that is no printable character. */
void opd_choice_print(char text[OPD_CHOICE_TEXT], int64_t choice);
bool opd_choice_is_letter(int64_t choice);
/* dtype of the returned value; OPD_DTYPE_NONE = void. For an index operand OPD_I64. */
opd_dtype opd_routine_returns(const opd_routine *routine);

/* ------------------------------------------------------------------------------------------------ a call */

typedef enum opd_value_kind {
    OPD_VALUE_NONE,
    OPD_VALUE_INT,     /* i */
    OPD_VALUE_REAL,    /* re */
    OPD_VALUE_COMPLEX, /* re, im */
    OPD_VALUE_CHOICE,  /* i: letter, or OPD_CHOICE_NUMBER + value */
    OPD_VALUE_TEXT,    /* text; i: its position in the contract's list */
    OPD_VALUE_INTS,    /* ints[0 .. i) */
} opd_value_kind;

#define OPD_MAX_INTS  8
#define OPD_INTS_TEXT 176 /* bytes that hold any list in words, its end included */

typedef struct opd_value {
    char name[OPD_NAME];
    opd_value_kind kind;
    int64_t i;
    double re, im;
    union {
        char text[64];
        int64_t ints[OPD_MAX_INTS];
    };
} opd_value;

typedef enum opd_role { OPD_ROLE_IN = 1, OPD_ROLE_OUT = 2, OPD_ROLE_INOUT = 3 } opd_role;

enum {
    OPD_OPERAND_MUST_NOT_READ = 1 << 0, /* the contract says the routine must not read it on entry */
    OPD_OPERAND_UNREADABLE = 1 << 1,    /* (part of) its memory could not be read at submission */
    OPD_OPERAND_RETURNED = 1 << 2,      /* the routine's return value */
    OPD_OPERAND_NOT_KEPT = 1 << 3,      /* too large for the budget: digest and statistics only */
    OPD_OPERAND_INDEX = 1 << 4,
    OPD_OPERAND_HAS_HEALTH = 1 << 5, /* health_before (and _after for outputs) are filled */
    OPD_OPERAND_ABSENT = 1 << 6,     /* optional and not given: dtype NONE, no view */
    OPD_OPERAND_FRESH = 1 << 7,      /* made by the operator: it has no memory before the call */
    OPD_OPERAND_STATE = 1 << 8,      /* state of a random generator: bytes that are no numbers */
    OPD_OPERAND_KNOWN = 1 << 12,     /* its content was that of an earlier call, by digest: it was not copied again */
    OPD_OPERAND_TRACKED = 1 << 13,   /* and by the kernel's word that nobody wrote to it: it was not read again */
    OPD_OPERAND_SAMPLED = 1 << 14,   /* statistics are those of a sample (opd_tensor_sample), and there is no digest */
};

typedef struct opd_operand {
    char name[OPD_NAME];
    opd_role role;
    uint32_t flags;
    opd_tensor view;          /* view.data: in this process, NULL until materialised */
    uint64_t address;         /* of element 0 in the recorded process */
    opd_digest before, after; /* of the content on entry, on return; none = not taken */
    opd_health health_before, health_after;
} opd_operand;

enum {
    OPD_CALL_IN_FLIGHT = 1 << 0,    /* began, no return seen */
    OPD_CALL_BAD_ARGS = 1 << 1,     /* arguments break the contract: bad_arg says which */
    OPD_CALL_NESTED = 1 << 2,       /* inside another recorded call of the same thread */
    OPD_CALL_FROM_LIBRARY = 1 << 3, /* the caller is a BLAS/LAPACK library, not the application */
    OPD_CALL_CBLAS = 1 << 4,        /* called by its CBLAS name (else Fortran) */
    OPD_CALL_ILP64 = 1 << 5,        /* 64-bit integer arguments */
    OPD_CALL_ROW_MAJOR = 1 << 6,    /* CBLAS order 101 */
    OPD_CALL_AMBIGUOUS = 1 << 7,    /* several libraries export the routine; the first was taken */
    OPD_CALL_ABI_SUSPECT = 1 << 8,  /* an integer argument has a plausible low and an implausible high half */
    OPD_CALL_BAD_ORDER = 1 << 9,    /* the storage order is neither row nor column major */
    OPD_CALL_VIEW = 1 << 10,        /* computes nothing (a view, memory without content): no operand is looked at */
    OPD_CALL_DIRECT = 1 << 11,      /* CBLAS complex dot by the name that returns its result (else NAME_sub) */
    /* Those that change the call; the others say how it was seen. */
    OPD_CALL_IDENTITY = OPD_CALL_CBLAS | OPD_CALL_ILP64 | OPD_CALL_ROW_MAJOR | OPD_CALL_BAD_ORDER | OPD_CALL_DIRECT,
};

/* Floating-point mode as x86 keeps it in MXCSR: rounding, FTZ, DAZ and exception masks, without the sticky flags. */
#define OPD_MXCSR_CONTROL 0xffc0u
#define OPD_MXCSR_DEFAULT 0x1f80u /* nearest, nothing flushed, nothing trapped */
#define OPD_MXCSR_DAZ     0x0040u
#define OPD_MXCSR_FTZ     0x8000u
#define OPD_MODE_TEXT     160 /* bytes that hold any description, its end included */
/* "FTZ DAZ, round toward zero, traps overflow"; "" for the default and for 0. */
void opd_mxcsr_describe(char *text, size_t size, uint32_t mxcsr);

/*
 * One call. A plain value of fixed size; it owns nothing. op is NULL for an operator this build does not know; then
 * operands' views are all that is known.
 */
typedef struct opd_call {
    const opd_op *op;
    char domain[OPD_NAME];
    char name[OPD_NAME]; /* routine or operator: "dgemm" */
    char symbol[48];     /* as called: "cblas_dgemm64_" */
    opd_dtype dtype;     /* T */
    uint32_t flags;      /* OPD_CALL_... */
    int32_t bad_arg;     /* 1-based position in the called form, as xerbla counts it; 0 = none */
    uint32_t pid;
    uint32_t thread;   /* tid */
    int32_t order;     /* with BAD_ORDER: the storage order as given, a number (CBLAS) or a character (Fortran) */
    uint64_t number;   /* in its thread, from 1 */
    uint64_t op_id;    /* hash of operand addresses and number; display only */
    uint32_t depth;    /* nesting */
    uint32_t provider; /* index into the bundle's modules + 1; 0 = unknown */
    uint32_t caller;   /* same */
    uint64_t begin_ns, queued_ns, start_ns, end_ns, sync_ns; /* CLOCK_MONOTONIC; 0 = not taken */
    uint64_t seed;  /* logical seed of the generator that made the inputs; 0 = unknown */
    uint32_t mxcsr; /* OPD_MXCSR_CONTROL bits of the calling thread on entry; 0 = unknown */
    int32_t symbol_count;
    opd_value symbols[OPD_MAX_SYMBOLS]; /* dimension symbols: kind INT, op order */
    int32_t attr_count;
    opd_value attrs[OPD_MAX_ATTRS + OPD_MAX_OPERANDS]; /* attributes, then ld and inc arguments (kind INT) */
    int32_t operand_count;
    opd_operand operands[OPD_MAX_OPERANDS];
} opd_call;

/* "[1, 2]" of an INTS value; a count out of range prints as far as there are elements. */
void opd_value_print_ints(char *text, size_t size, const opd_value *value);

/* Borrowed pointers into call; NULL when there is no such name. */
OPD_PUBLIC opd_value *opd_call_value(opd_call *call, const char *name); /* symbol or attribute */
OPD_PUBLIC opd_operand *opd_call_operand(opd_call *call, const char *name);
/* Position of the operand whose pointer argument the operand at index shares (at() in the contract); -1 = it has its own. */
int opd_call_shared(const opd_call *call, int index);

/*
 * Has the call the values and operands, by name and kind, that its op's contract asks for, and (general operators) the symbols that the shapes of its
 * inputs say? Whether all is legal: opd_call_check().
 */
bool opd_call_fits(const opd_call *call);
/*
 * Makes a call that was recorded by hand (attributes and operands by name in any order, those at their default or absent left out, no symbols)
 * one of op's, if its names, dtypes and shapes are those of the contract; else false, and the call as it was. Views lose their data.
 */
bool opd_call_adopt(opd_call *call, const opd_op *op);

/* A call of another framework's operator, which that framework can run: domain "aten" (PyTorch). It has no contract here. */
bool opd_call_is_foreign(const opd_call *call);
/*
 * Of a foreign call: a symbol n0, n1, ... for each size above 1 that its operands have, which stands for that size wherever it is, also in
 * integer lists that say a shape. opd_call_set() changes them together. States of generators have none. Other calls are left alone.
 */
void opd_call_infer(opd_call *call);

/* Evaluates an expression of op's contract on the call's values. errors: E_INVALID unknown name, overflow, division by 0. */
OPD_PUBLIC opd_status opd_call_eval(int64_t *out, const opd_call *call, const char *expression);

/*
 * Fills call from op: default attributes, symbols (128 each, or as set later), smallest ld, inc 1, operands named and
 * given roles, no data. Then opd_call_bind.
 */
opd_status opd_call_init(opd_call *call, const opd_op *op, const char *name, opd_dtype dtype);

/*
 * Recomputes every operand's view (dtype, shape, strides, mask), role and MUST_NOT_READ from the values and the contract; addresses and
 * data stay. Operands of a call with bad arguments get the shapes that could be computed, else shape [0]: nothing exists.
 * errors: E_INVALID with the argument named (the call is marked BAD_ARGS as well), or the operand whose span leaves int64.
 */
opd_status opd_call_bind(opd_call *call);

/*
 * Checks the arguments as the routine must: bad_arg and OPD_CALL_BAD_ARGS are set, text says which and why, e.g. "ldb = 3 is less than
 * max(1, n) = 4". Also finds increments whose last offset (n-1)*inc overflows int32 in a call with 32-bit integers (not an argument error:
 * *overflow names the operand, NULL when none), and sets OPD_CALL_ABI_SUSPECT. Returns true when the arguments are legal.
 */
bool opd_call_check(opd_call *call, char *text, size_t size, const opd_operand **overflow);

/* The storage order as a choice ('R', 'C', or what was given instead); false when the form that was called takes none. */
bool opd_call_order(int64_t *choice, const opd_call *call);
/* Name of the argument that bad_arg counts: "order", "lda", an operand's; false when bad_arg is 0 or no position of the call. */
bool opd_call_bad_name(char name[OPD_NAME], const opd_call *call);

/*
 * Raw arguments of a BLAS call, one 64-bit word each: integers sign-extended, choices as above, real scalars as the bits of
 * a double, complex scalars as two words (re, im), pointers. Word 0 is 'R' or 'C' (row, column major; else what was given) when op->has_layout, whatever the
 * called form (Fortran: 'C'). flags: OPD_CALL_CBLAS, ILP64, DIRECT. Returned values have no word.
 * out       a call with illegal arguments is filled too, flagged BAD_ARGS; an operand whose span leaves int64 has shape [0] and is
 *           flagged UNREADABLE. address and view.data are element 0's.
 * errors    E_INVALID count is not what the routine has.
 */
opd_status opd_call_from_words(opd_call *out, const opd_routine *routine, uint32_t flags, const uint64_t *words,
                               int count);
/* Pointers are taken from operands[].view.data, adjusted for negative increments. */
int opd_call_to_words(uint64_t words[OPD_MAX_WORDS], const opd_call *call);
int opd_routine_word_count(const opd_routine *routine);

/* Operations of the call; bytes it must at least move (each operand that must be read or is written, once). */
double opd_call_flops(const opd_call *call);
double opd_call_bytes(const opd_call *call);

/* "dgemm(N, T, m=128, n=64, k=32, alpha=1, beta=0)"; truncated to size. */
void opd_call_describe(char *text, size_t size, const opd_call *call);

/*
 * The call's symbol for a dimension of an operand: "d", "n0". false where the contract names none (an expression, a BLAS matrix), or the operand is
 * broadcast along it. Operands that share one are walked together.
 */
bool opd_call_axis(char name[OPD_NAME], const opd_call *call, int operand, int axis);

/*
 * Dimension symbols a reducer may change, their effect linked over all operands by the contract.
 * Sets a symbol or attribute, gives ld and inc their smallest legal values when they would become illegal, and binds.
 */
opd_status opd_call_set(opd_call *call, const char *name, int64_t value);
/* Gives every ld its smallest legal value and every inc 1, and binds. */
opd_status opd_call_compact(opd_call *call);

/* ------------------------------------------------------------------------- calls made rather than recorded */

typedef struct opd_call_wish {
    opd_dtype dtype; /* T; NONE = that of the shapes, else the contract's default */
    const char *
        shapes; /* of the inputs in order: "[4,256,64];[64];-" ('-': absent; trailing ones may be left out; "f16[2,3]" names a dtype); NULL = defaults */
    const char *attributes; /* "axis=-1,epsilon=1e-5,pads=[0,1,0,1],mode=edge,perm=-" ('-': absent); NULL = defaults */
    const char *
        outputs; /* optional outputs that are wanted, "Mean,InvStdDev"; "*" = all; NULL = those of the contract's defaults */
} opd_call_wish;
/*
 * A bound call without data.
 * errors    E_INVALID names the operand, attribute or dtype that does not fit, and what would; E_NAME no attribute or output of that name; E_SYNTAX a text
 *           that is no shape, no value of the attribute's kind.
 */
opd_status opd_call_make(opd_call *out, const opd_op *op, const opd_call_wish *wish);

/*
 * Fills the inputs, whose views have memory: as the contract says where it does, else with fill (NULL: the contract's default, normal for floats,
 * small integers else); stream = operand index. The bits depend on seed only. Then outputs of content-dependent shape are bound: one that outgrows
 * its storage loses its memory (view.data NULL).
 */
opd_status opd_call_generate(opd_call *call, uint64_t seed, const opd_fill *fill);

/*
 * The whole numbers an integer operand holds, in row-major order: those in memory, or those value() says; at most capacity. Their number, -1 when
 * they are not known, too many, or the operand is absent. For shape functions whose result depends on a content.
 */
OPD_PUBLIC int opd_call_content(const opd_call *call, int index, int64_t *values, int capacity);

/* What a contract lets callers choose. */
typedef struct opd_op_value {
    char name[OPD_NAME]; /* of a symbol with its ending: "n..." */
    opd_value_kind kind;
    bool is_symbol;   /* a dimension; else an attribute */
    bool is_optional; /* an attribute that may be absent */
    char initial[64]; /* default, as a wish would say it; "" = absent, or a size that follows from others */
    char legal[160];  /* "constant|reflect|edge", "N|T|C" (real T); "" = any of its kind */
} opd_op_value;
/* Symbols, then attributes; at most capacity. Their number. */
int opd_op_values(const opd_op *op, opd_op_value *values, int capacity);
/* dtypes that T may take, the default first; at most capacity. Their number. */
int opd_op_dtypes(const opd_op *op, opd_dtype *dtypes, int capacity);

/* Contracts from outside (a user's library): compiled and found by opd_op_find from now on; never freed. errors: E_INVALID says what is wrong in which contract. */
opd_status opd_op_register(const opd_op *op);

/* ------------------------------------------------------------------------------- BLAS references (opd_kernels) */

/*
 * Reference of a call in higher precision, on materialised operands. out->value[i], gauge[i] for output operand `operand` in row-major order
 * of its shape (complex: interleaved re, im; gauge: one per element). Elements that do not exist are skipped (0).
 * units     gauge: sum of absolute values of all terms that make the element (numerics: error / (eps * gauge)).
 * memory    arrays are the caller's, opd_tensor_count() elements (times 2 for complex values).
 * errors    E_DECLINED no reference for this operator; E_NOMEM.
 */
opd_status opd_reference_run(long double *value, long double *gauge, const opd_call *call, int operand);
/* The same sums in the call's own precision, serial: the naive variant. */
opd_status opd_naive_run(long double *value, const opd_call *call, int operand);

/*
 * Calls a BLAS routine by its address in the form the call's flags say (CBLAS or Fortran, 32 or 64-bit integers), with the
 * arguments of opd_call_to_words(). The returned value goes into the RETURNED operand's view.data (NULL: dropped).
 * Complex results of Fortran functions are taken as gfortran returns them (in registers).
 * memory    no allocation.
 * errors    E_INVALID the call has no contract or a malformed value; E_UNSUPPORTED libffi refuses the signature.
 */
typedef void opd_function(void);
opd_status opd_routine_call(opd_function *function, const opd_call *call);

#ifdef __cplusplus
}
#endif
#endif
