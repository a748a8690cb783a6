/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the C emitter share: the call's routine and the memory its operands need. */
#ifndef OPD_EMIT_H
#define OPD_EMIT_H

#include <opsdebug/reduce.h>

/* One array of the program: operands whose memory meets share it. */
typedef struct opd_emit_array {
    char name[OPD_NAME];
    opd_dtype dtype;
    uintptr_t low, high; /* in the case's memory */
    bool is_sparse;      /* mapped and filled element by element */
    bool is_scattered;   /* mostly gaps: filled element by element */
    bool is_guarded;     /* placed against an inaccessible page */
} opd_emit_array;

typedef struct opd_emitter {
    opd_buffer *out;
    const opd_case *item;
    const opd_failure *failure;
    const opd_emit_options *options;
    const opd_routine *routine;
    opd_arg args[OPD_MAX_WORDS];
    int arg_count;
    uint64_t words[OPD_MAX_WORDS]; /* of the call, order first */
    int word_of[OPD_MAX_WORDS];    /* first word of an argument */
    bool is_fatal;                 /* the failure ends the call: whether it returns is the check, its values are not */
    bool is_cblas;
    bool is_direct;       /* a CBLAS name that returns a complex result */
    bool has_order;       /* the storage order is the first argument */
    const char *int_type; /* of integer arguments */
    char symbol[64];
    char refusal[64]; /* the library's xerbla */
    int mutated;      /* the input that the call changed: its own values are the expected ones; -1: none */
    int born;         /* the output of which only the birth of NaN or Inf is wrong, no value; -1: none */
    opd_emit_array arrays[OPD_MAX_OPERANDS];
    int array_count;
    int array_of[OPD_MAX_OPERANDS];         /* -1: no memory of its own (NULL, or the result) */
    uintptr_t pointer_of[OPD_MAX_OPERANDS]; /* the pointer argument, in the case's memory */
} opd_emitter;

/* errors: E_UNSUPPORTED not a BLAS routine. */
opd_status opd_emit_prepare(opd_emitter *emit, opd_buffer *out, const opd_case *item, const opd_failure *failure,
                            const opd_emit_options *options);

/* "float", "double", "long long": the C type of a dtype's real component. */
const char *opd_emit_type(opd_dtype dtype);
/* A number as C text that reads back as the same value of dtype's component: "1", "0.1f", "NAN", "1e+200". */
void opd_emit_number(char *text, size_t size, opd_dtype dtype, double value);

/* File-scope arrays: operands' data, then the table of checked elements of each checked operand. */
void opd_emit_arrays(opd_emitter *emit);
void opd_emit_tables(opd_emitter *emit);
/* Statements that fill what has no initialiser. */
void opd_emit_fills(opd_emitter *emit);
/* Does any operand have a table with expected values, or one without? */
bool opd_emit_has_table(const opd_emitter *emit, bool with_values);
bool opd_emit_is_checked(const opd_emitter *emit, int operand);
/* Has the operand's table values? Else its elements must be finite, no more. */
bool opd_emit_has_values(const opd_emitter *emit, int operand);
/* The output of which every value is right though a NaN or Inf was born in it; -1: none. For opd_emit_prepare. */
int opd_emit_find_born(const opd_emitter *emit);

/* The routine's prototype, and the call as one statement. */
void opd_emit_prototype(opd_emitter *emit);
void opd_emit_call(opd_emitter *emit);
/* Is the call made under another floating-point mode than the default? */
bool opd_emit_sets_mode(const opd_call *call);

#endif
