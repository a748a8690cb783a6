/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of an operator: what it is, said once, as data. op.h has the table of contracts and the calls made by them.
 */
#ifndef OPSDEBUG_CONTRACT_H
#define OPSDEBUG_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPD_MAX_OPERANDS 32
#define OPD_MAX_ATTRS    12
#define OPD_MAX_SYMBOLS  40
#define OPD_MAX_WORDS    28
#define OPD_NAME         32 /* bytes of a name field, its end included */

typedef enum opd_determinism {
    OPD_DETERMINISM_NONE,
    OPD_DETERMINISM_RUN,     /* the same process, library, threads: the same bits */
    OPD_DETERMINISM_THREADS, /* also for any thread count */
    OPD_DETERMINISM_BATCH,
    OPD_DETERMINISM_ISA,
} opd_determinism;

/* How an output is held against the reference (numerics: class checks come first, always). */
typedef enum opd_bound_kind {
    OPD_BOUND_GAUGE, /* error / (eps * gauge) <= limit, eps of the accumulator: 16 where limit is 0 */
    OPD_BOUND_BITS,  /* the same value: no rounding happens (moves, comparisons, integers) */
    OPD_BOUND_ULP, /* error in units in the last place of the output dtype <= limit (f32, f64), narrow_limit (f16, bf16) */
} opd_bound_kind;
typedef struct opd_bound {
    opd_bound_kind kind;
    float limit, narrow_limit;
    bool is_sum; /* GAUGE: an element is a sum of products of inputs in some order, and gauge the sum of their absolute values: serial sums in
                    precision u are then off by no more than (n + 2) u gauge (Higham 2002, section 3.1), which certifies the reference */
} opd_bound;

/* What integer arithmetic does beyond its range. */
typedef enum opd_overflow { OPD_OVERFLOW_WRAP, OPD_OVERFLOW_SATURATE } opd_overflow;

/*
 * The contract.
 *
 * signature  "A:T[t(transa) ? k : m, t(transa) ? m : k] ld(lda) if(alpha != 0 && k > 0), ... -> C".
 *   operand   NAME ':' TYPE '[' dims ']' modifiers. TYPE: T (the routine's dtype), R (its real dtype), or a dtype name.
 *             Inputs stand before '->', outputs after it. A bare NAME after '->' that is an input too is in-out; a full operand
 *             after '->' is output only.
 *   dims      none, one, or two integer expressions, of the logical operand (a triangle or band: of its matrix). A negative
 *             one counts as 0.
 *   expression  numbers, symbols, attributes, ld and inc arguments, + - * / (floor) %, min(a,b), max(a,b), ceil(a,b) =
 *             ceil(a/b), comparisons, && || !, c ? a : b, 'X' (a choice letter), t(attr) = choice is 'T' or 'C'. A scalar
 *             attribute reads as 0 when it is zero, 1 when it is exactly one, else 2 (NaN: 2).
 *   modifiers (separated by spaces; no space before their parenthesis)
 *             ld(NAME) inc(NAME)      leading dimension or increment, arguments of the routine; inc < 0 starts at (1-n)*inc
 *             tri(uplo[,diag])        only that triangle exists; diag 'U': without the diagonal
 *             band(kl, ku[, diag])    band storage of the matrix that dims describe; kl, ku are expressions. The view is the
 *                                     storage: [kl+ku+1, columns] by columns, [rows, kl+ku+1] by rows (row-major)
 *             packed(uplo[, diag])    packed triangle of the matrix that dims describe; the view has rank 1
 *             at(NAME)                the same pointer argument as operand NAME
 *             if(expr)                must be read only when expr holds; otherwise the routine must not read it
 *             return                  the routine's return value
 *             index                   integer position (0-based under CBLAS, 1-based under Fortran)
 * attributes "transa:NTCR trans:NTC/NT alpha:T beta:R kl:dim": a choice lists its legal letters (after the slash: for complex T),
 *             first = default; T or R is a scalar (default 1); int is an integer (default 1); dim makes the name a dimension
 *             symbol whose default is 1.
 * call       argument order of the Fortran routine by name, BLAS only: "transa transb m n k alpha A lda B ldb beta C ldc".
 *             Under CBLAS the order (row/column major) comes first when has_layout. Names that are no operand, attribute, ld
 *             or inc are the dimension symbols. The return value and at() operands are not named.
 * routines   "sgemm:f32 dgemm:f64 cgemm:c64 zgemm:c128".
 *
 * Operators outside BLAS (domain "ai.onnx" under ONNX names and semantics, "opsdebug", a user's) say the same with these additions; call is
 * NULL. The shapes of the inputs are given and the rest follows: opd_call_bind() matches them with the patterns, which gives the symbols their
 * values, checks the rest, and computes the outputs. Operands are contiguous row-major views unless the caller gives strides.
 *   TYPE      also a variable of `types` ("U"): its dtype is that of the first input that has it (none: the first of its list, or what the shape
 *             function sets).
 *   NAME?     an operand that may be absent (flag OPD_OPERAND_ABSENT): "B?:T[d]".
 *   NAME+     one or more operands NAME0, NAME1, ... of one pattern; one such among the inputs, one among the outputs, there the last. times(expr) says
 *             how many: outputs always, inputs when no shapes are given (else 2).
 *   dims      up to 8, each one of
 *               m        a symbol, which takes the dimension it meets first and must meet the same everywhere.
 *               m?       one dimension, or none where the operand has too few (the vectors of MatMul). In expressions 1 when it is none.
 *               n...     any number of dimensions, the same everywhere; the call's symbols are n0, n1, ....
 *               c+       in an operand NAME+: a dimension of its own for each; the call's symbols are c0, c1, ....
 *               n...~ m~ broadcast to it: the operand may have 1 there, and may lack leading ones. Where no input has it without '~', it is what all are
 *                        broadcast to (ONNX multidirectional broadcasting); else they must fit it.
 *               expr     must be equal. One unknown symbol in it gets its value from it ("heads * d"); "c ? m : n" of two symbols is the chosen one.
 *               ...      alone: any dimensions, without symbols; what the shape function makes of them.
 *             Two n... in one operand are told apart by the modifier split(expr): how many dimensions the first has (negative: from the end).
 *             Symbols that only outputs have get their values from the shapes that the shape function sets.
 *   functions of expressions: dim(X, e) (e may be negative), rank(X), count(X) of operand X (absent: 0); rank(n), prod(n), sum(c), dim(n, e) or n0 of a
 *             symbol of several dimensions; has(X): the operand X is there, the attribute X is given, the symbol X stands for a dimension;
 *             at(ATTR, e) element of an ints attribute (e may be negative); len(ATTR).
 *   fill(F)   how a generated input is filled when the user does not say: an opd_fill_parse() text. fill(index(expr)): whole numbers in
 *             [0, expr), whatever the user says. value(e, ...): an integer tensor with this content; the default size of a symbol that is its only
 *             dimension is their number.
 * attributes "axis:i=-1 epsilon:f=1e-5 perm:is? pads:is=[0,0] mode:s=constant|reflect|edge note:s?": i int, f float, is ints, s one of the words, the
 *             first by default (no list: any text); '?' is absent unless given (kind NONE). A word reads as its position in the list in expressions,
 *             compared as mode == 'reflect'. Legal values of numbers stand behind in brackets, of a list those of each element: "epsilon:f=1e-5[0:]"
 *             a span with its ends, either may be missing; "keepdims:i=1[0|1]" a list; "axis:i=-1[axis(X)]" a dimension of X, from the end when negative.
 * types       "T: f32 f64 f16 bf16; U: i64": dtypes each variable may take, the default first; T comes first ("f32 f64": of T).
 * defaults    "N=1 C=16 s...=1,128 b...= B": sizes when the user gives no shapes; else a symbol is 128 and n... is 1, 128, 128 (two of them in one
 *             operand share that). An optional input named here is there then, an optional output when no outputs are asked for.
 * Names of operands, symbols and attributes differ from each other.
 */
struct opd_call;
/*
 * Checks what the signature cannot say, and sets dtype, rank and shape of the outputs' views that it cannot (strides follow). Symbols of the inputs are set; contents
 * by opd_call_content(), attributes by opd_call_int() and its like. What depends on a content that is not known (-1) stays as it is. Attributes may be
 * anything of their kind: divisors and positions are to be checked. errors: E_INVALID says what does not fit.
 */
typedef opd_status opd_shape_function(struct opd_call *call);
/* Fills the operand at index, whose view has memory, when fill() cannot say how. true = done, false = as fill() or the default says. */
typedef bool opd_generate_function(const struct opd_call *call, int index, uint64_t seed);

typedef struct opd_op {
    const char *domain;   /* "blas", "ai.onnx", "opsdebug", or a user's */
    const char *name;     /* "gemm" */
    const char *routines; /* BLAS: names and dtypes; NULL elsewhere */
    const char *types;    /* elsewhere: dtypes T may take, "f32 f64" */
    const char *signature;
    const char *attributes;
    const char *call;      /* BLAS only */
    const char *flops;     /* expression, real operations for real T */
    const char *reduction; /* expression: terms summed per output element (0 = elementwise) */
    const char *summary;   /* one line */
    const char *divisor; /* operand whose diagonal elements it divides by, unless they are taken as one; NULL = none */
    uint8_t level;       /* BLAS level 1, 2, 3; 0 elsewhere */
    int since_version;   /* ONNX operator set whose semantics these are; 0 elsewhere */
    const char *defaults;
    opd_bound bound;
    opd_overflow overflow;
    const char *in_place;    /* "Y=X": outputs that may lie in the memory of an input; NULL = none may */
    const char *checkpoints; /* "mean variance": inner stages in order, as tracepoints name them; NULL = none */
    opd_shape_function *shape;
    opd_generate_function *generate;
    bool has_layout;              /* CBLAS form takes the storage order first */
    bool has_order_argument;      /* so does the Fortran form, as a character 'R' or 'C' (OpenBLAS omatcopy) */
    bool has_sub_form;            /* CBLAS form is NAME_sub with the result as last argument, or NAME (complex dot) */
    bool is_complex_fortran_only; /* for complex T: an auxiliary of LAPACK, which has no CBLAS form */
    opd_determinism determinism;
    const char *steps; /* expression: how often the checkpoints come round, their leading dimension; NULL = once */
} opd_op;

#ifdef __cplusplus
}
#endif
#endif
