/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How operators are computed: the definition of each (which is its naive variant and its high-precision reference at once), its
 * variants, what a library of a user's own operators exports, and tracepoints. Contracts (what an operator is) are in op.h.
 *
 * order of use: opd_kernel_find -> opd_kernel_choose -> opd_variant_run, on a call whose operands have memory.
 */
#ifndef OPSDEBUG_KERNEL_H
#define OPSDEBUG_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------- definitions */

/* Precision in which each single operation of a definition is rounded: WIDE is long double, NARROW the accumulator of the call's dtype. */
typedef enum opd_rounding { OPD_ROUNDING_WIDE, OPD_ROUNDING_F32, OPD_ROUNDING_F64 } opd_rounding;

/* An operand, contiguous in row-major order. long double holds every integer and real dtype exactly. */
typedef struct opd_array {
    opd_dtype dtype;
    int32_t rank;
    int64_t shape[OPD_MAX_RANK];
    int64_t count;      /* elements */
    long double *value; /* NULL: the operand is absent */
    long double *gauge; /* outputs: sum of the absolute terms of each element (numerics); NULL when not wanted, and for inputs */
} opd_array;

typedef struct opd_definition_work {
    const opd_call *call;
    opd_rounding rounding;
    opd_array array[OPD_MAX_OPERANDS]; /* as the call's operands: inputs loaded, outputs zeroed */
} opd_definition_work;

/*
 * Computes all outputs from the inputs, every rounding made by opd_round(). Must be the plain definition of the operator: loops, no cleverness. For
 * BOUND_BITS operators gauge is not needed; for BOUND_ULP it is |value|.
 */
typedef opd_status opd_definition(opd_definition_work *work);

static inline long double opd_round(const opd_definition_work *work, long double value)
{
    switch (work->rounding) {
    case OPD_ROUNDING_F32:
        return (long double)(float)value;
    case OPD_ROUNDING_F64:
        return (long double)(double)value;
    default:
        return value;
    }
}

/*
 * Runs the operator's definition on a bound call whose operands have memory.
 * rounding  is_wide: long double; else the accumulator of the call's dtype (f64 for f64 and c128, f32 for the other floats).
 * memory    value[i] of each output is allocated here, opd_tensor_count() elements in row-major order: opd_free(). gauge likewise; NULL: not wanted.
 *           Others stay NULL.
 * errors    E_DECLINED there is no definition; E_NOMEM, E_LIMIT.
 */
opd_status opd_definition_run(long double **value, long double **gauge, const opd_call *call, bool is_wide);

/*
 * How far off value (of a wide run: row-major, of the output operand at index) may be: the definition is run again with 113 bits of mantissa, and
 * doubt[i] is the difference plus cap * 2^-112 * gauge[i], which the contract's own bound says of that run.
 * doubt     opd_tensor_count() elements for each output with a value: opd_free().
 * errors    E_UNSUPPORTED there is no such run of this operator (a user's), or on this machine; those of opd_definition_run.
 */
opd_status opd_definition_doubt(double **doubt, long double *const *value, long double *const *gauge,
                                const opd_call *call, double cap);

/* Where an array of a definition lies between inaccessible pages. */
typedef struct opd_fence {
    uint64_t low, high;                 /* the array: elements of long double */
    uint64_t reserve_low, reserve_high; /* with the zones around it; 0 = there is none */
} opd_fence;
#define OPD_FENCES (2 * OPD_MAX_OPERANDS) /* values by operand, then gauges by operand */
/*
 * From now on definitions that this thread runs get arrays between inaccessible pages, one end at such a page (at_start: their start), and fences[OPD_FENCES]
 * says where while they run. opd_definition_run then fails with E_CHILD when a definition wrote beyond the other end, or made a result of what is there.
 * NULL: no longer.
 */
void opd_definition_fence(opd_fence *fences, bool at_start);

/* Attributes of a call by name; otherwise when it is absent or the call has none of that name. */
OPD_PUBLIC int64_t opd_call_int(const opd_call *call, const char *name, int64_t otherwise);
OPD_PUBLIC double opd_call_real(const opd_call *call, const char *name, double otherwise);
OPD_PUBLIC const char *opd_call_text(const opd_call *call, const char *name, const char *otherwise);
/* Values into ints[OPD_MAX_INTS]; their number, -1 when absent. */
OPD_PUBLIC int opd_call_ints(const opd_call *call, const char *name, int64_t *ints);
/* The reason of a variant that takes contiguous row-major operands only: one that is there is not. NULL = all are. May itself be a `declines`. */
OPD_PUBLIC const char *opd_call_strided(const opd_call *call);

/* --------------------------------------------------------------------------------------------- variants */

typedef struct opd_workspace {
    void *bytes;     /* aligned to 64; as many as the variant declared */
    size_t size;
    int32_t threads; /* the variant may use, >= 1 */
} opd_workspace;

typedef struct opd_variant {
    const char *name;     /* "avx2" */
    const char *isa;      /* "avx2 fma"; "" = any */
    const char *(*declines)(const opd_call *call); /* the reason, or NULL: it can; NULL = never declines */
    size_t (*workspace)(const opd_call *call, int32_t threads); /* bytes of scratch; NULL = none */
    opd_status (*run)(const opd_call *call, const opd_workspace *workspace); /* writes the outputs, whole; no hidden state, no allocation */
    opd_determinism determinism;
    opd_overflow overflow;
    const char *widths;    /* "tile=64 vector=8": what boundary shapes are built from; NULL */
    const char *fault;     /* deliberately wrong variants: the kind of fault; NULL = meant to be right */
    const char *shows;     /* its smallest failing form: "shapes | attributes | conditions", as validate --form takes it; NULL */
    float growth;          /* bound widens by this factor (Winograd and such); 0 = 1 */
    bool is_library;       /* another maker's shared object computes it, opened when the variant is asked for by name; never chosen by itself */
    bool allocates;        /* a library behind it takes memory of its own in each run, which no workspace can stand for */
} opd_variant;

/* May it be chosen without being named: meant to be right, and of this build or a user's library? */
static inline bool opd_variant_is_choice(const opd_variant *variant)
{
    return variant->fault == NULL && !variant->is_library;
}

/* An operator with all that can compute it. Variants: fastest first; "naive" and "high-precision" exist by themselves when define is set. */
typedef struct opd_kernel {
    const char *domain, *name;
    opd_definition *define;
    const opd_variant *variants;
    int variant_count;
} opd_kernel;

const opd_kernel *opd_kernel_find(const char *domain, const char *name); /* NULL when unknown */
int opd_kernel_count(void);
const opd_kernel *opd_kernel_at(int index);

/* All variants by index, those of other libraries and the definition's two included; NULL at the end. */
const opd_variant *opd_kernel_variant(const opd_kernel *kernel, int index);
/* The variant of that name; NULL = there is none. */
const opd_variant *opd_kernel_named(const opd_kernel *kernel, const char *name);

/*
 * The variant of that name, or with name NULL the first that is meant to be right and does not decline (its ISA is here, the call is one it can).
 * errors    E_NAME no such variant (text lists them); E_DECLINED the reason.
 */
opd_status opd_kernel_choose(const opd_variant **out, const opd_kernel *kernel, const opd_call *call, const char *name);
/* Is it the operator's definition (naive, high-precision), which allocates as it likes? */
bool opd_variant_is_definition(const opd_variant *variant);
/*
 * The file that variants with is_library are taken from, instead of the one that the loader finds; before the first of them is chosen. path: kept.
 * NULL: the loader's.
 */
void opd_engine_use(const char *path);
/*
 * Opens that file now rather than when a variant first needs it.
 * errors    E_NOTFOUND it cannot be loaded; the text names it.
 */
opd_status opd_engine_check(void);
/* The file that such a variant was taken from, "" = none yet; whose it is, as opd_library_maker() has it. memory: static. */
const char *opd_engine_file(void);
const char *opd_engine_maker(void);
/* Runs a variant on a bound call whose operands have memory; workspace of its declared size, or NULL: allocated for the run. */
opd_status opd_variant_run(const opd_variant *variant, const opd_call *call, const opd_workspace *workspace);

/* What of the ISA words this CPU lacks ("avx512f"); NULL = nothing. */
OPD_PUBLIC const char *opd_isa_missing(const char *isa);

/*
 * Runs body(context, i) for parts i = 0 .. parts-1 on up to `threads` threads of a pool (this one included); returns when all are done. Which thread
 * runs a part is not fixed: a body writes only what belongs to its part, so that results do not depend on threads.
 * threads   safe; nested use runs serially.
 */
OPD_PUBLIC void opd_parallel(int32_t threads, int64_t parts, void (*body)(void *context, int64_t part), void *context);

/* ------------------------------------------------------------------------------------------ a user's library */

/*
 * A shared object that exports OPD_LIBRARY_ENTRY. It links nothing of ours: what is marked OPD_PUBLIC in these headers (this one, op.h, tensor.h,
 * status.h, random.h) is exported by the programs that load it. The program loads it for its contracts and runs none of its variants or
 * definitions; those run in worker processes.
 */
#define OPD_LIBRARY_ABI 1
#define OPD_LIBRARY_ENTRY "opsdebug_library"
/* What `const opd_library *opsdebug_library(void)` of a shared object returns; everything in it is static. */
typedef struct opd_library {
    uint32_t abi;         /* OPD_LIBRARY_ABI */
    uint32_t op_bytes;    /* sizeof(opd_op), sizeof(opd_variant), sizeof(opd_call): told apart when headers differ */
    uint32_t variant_bytes;
    uint32_t call_bytes;
    const opd_op *ops;
    int op_count;
    const opd_kernel *kernels; /* of these and of known operators */
    int kernel_count;
} opd_library;
#define OPD_LIBRARY_INIT \
    .abi = OPD_LIBRARY_ABI, .op_bytes = sizeof(opd_op), .variant_bytes = sizeof(opd_variant), .call_bytes = sizeof(opd_call)

/*
 * Loads a user's library and registers its operators and variants (for a known operator: before the ones there are); once, however often asked.
 * A path without '/' is a file of the working directory.
 * errors    E_NOTFOUND no such file, or no entry point; E_UNSUPPORTED no shared object of this machine, a symbol missing, or another ABI; E_INVALID a
 *           malformed contract or variant, named.
 */
opd_status opd_library_load(const char *path);

/* ----------------------------------------------------------------------------------------------- tracepoints */

/* One predictable branch when off. */
OPD_PUBLIC extern _Bool opd_trace_enabled;
OPD_PUBLIC void opd_trace_emit(const char *stage, const opd_tensor *view);
/* Reports an inner stage named in the contract's checkpoints. The view is read now and not kept. */
static inline void opd_tracepoint(const char *stage, const opd_tensor *view)
{
    if (__builtin_expect(opd_trace_enabled, 0)) {
        opd_trace_emit(stage, view);
    }
}
/* Who receives stages, and when; NULL = off. threads: one receiver at a time. */
typedef void opd_trace_sink(void *context, const char *stage, const opd_tensor *view);
void opd_trace_to(opd_trace_sink *sink, void *context);

#ifdef __cplusplus
}
#endif
#endif
