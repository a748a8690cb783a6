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
    bool has_order;       /* the storage order is the first argument */
    const char *int_type; /* of integer arguments */
    char symbol[64];
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

/* File-scope arrays: operands' data, then the table of checked elements of each output. */
void opd_emit_arrays(opd_emitter *emit);
void opd_emit_tables(opd_emitter *emit);
/* Statements that fill what has no initialiser. */
void opd_emit_fills(opd_emitter *emit);
/* Does any output have a table, and one with expected values? */
bool opd_emit_has_table(const opd_emitter *emit, bool with_values);
bool opd_emit_is_checked(const opd_emitter *emit, int operand);
/*
 * Expected values of an output; NULL = its elements must be finite, no more. That is so without values, and for a NaN or Inf that is
 * born as soon as the right value itself is not finite: then the birth is the failure.
 */
const long double *opd_emit_wanted(const opd_emitter *emit, int operand);

/* The routine's prototype, and the call as one statement. */
void opd_emit_prototype(opd_emitter *emit);
void opd_emit_call(opd_emitter *emit);

#endif
