/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: one case, run by opd-worker in a process of its own under the wanted environment, then judged. The calling
 * process never executes an operator. What comes back is an outcome in the same terms a recorded failure uses, so that
 * "did it come back" and "is it the same failure" are comparisons of two structs.
 */
#ifndef OPSDEBUG_REPLAY_H
#define OPSDEBUG_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/bundle.h>
#include <opsdebug/metrics.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opd_guard {
    OPD_GUARD_NONE,
    OPD_GUARD_END,   /* each operand ends at an inaccessible page */
    OPD_GUARD_START, /* each operand starts right after one */
    OPD_GUARD_BOTH,  /* END, then START */
} opd_guard;

/* How sure the right values are, most sure first. */
typedef enum opd_sureness {
    OPD_SURENESS_NONE,      /* there are none */
    OPD_SURENESS_EXACT,     /* no rounding: moves, comparisons, whole numbers */
    OPD_SURENESS_CERTIFIED, /* with a proven error bound under 1/16 of what is allowed */
    OPD_SURENESS_HIGH,      /* computed in a type with at least ten more bits */
    OPD_SURENESS_SAME,      /* in the same precision */
    OPD_SURENESS_GOLDEN,    /* stored values, whoever made them */
    OPD_SURENESS_SUSPECT,   /* two references differ by more than both may */
    OPD_SURENESS_CONFLICT,  /* three do, pairwise */
} opd_sureness;
const char *opd_sureness_name(opd_sureness sureness); /* "EXACT"; "NONE" */

/* What a replay is at: "loading", "in the routine", "the reference of 2e+10 operations"; milliseconds since that began. */
typedef void opd_replay_progress(void *context, const char *what, uint64_t elapsed_ms);

#define OPD_MAX_PEERS 4 /* other rules that are asked at once */

typedef struct opd_replay_options {
    const char *library;   /* path or soname of the provider, or "openblas", "blis", "netlib", "naive" (our own); NULL = as recorded, else
                              libblas.so.3. A recorded path is loaded only when root owns it and all its directories: else pass it here. */
    const char *variant;   /* of an operator outside BLAS: its name; NULL = the first that can do the call. library is then a user's library of operators. */
    const char *core;      /* OPENBLAS_CORETYPE; NULL = as recorded when this CPU has it */
    const char *isa;       /* oneDNN: DNNL_MAX_CPU_ISA, its layouts left to it; NULL = all as recorded */
    int32_t threads;       /* 0 = as recorded */
    uint32_t repeat;       /* runs, >= 1, each in the same process */
    uint32_t concurrent;   /* then in so many threads at once, each on data of its own, against the bits it gives alone; 0 = not. Variants only */
    bool is_poisoned;      /* one run on NaN comes first: what outlives a call shows. Variants only */
    opd_guard guard;
    uint32_t timeout_ms;   /* of one run; 0 = 60000 */
    bool is_timeout_cpu;   /* it is of CPU time, whatever else the machine does; a run that uses none for as long hangs too */
    uint64_t memory_limit; /* bytes of operands; 0 = 8 GiB */
    bool keep_outputs;     /* bring the output bytes back in opd_replay_result.outputs */
    bool skip_reference;   /* do not run the reference (bitwise comparison and classes only) */
    bool with_metrics;     /* fill opd_replay_result.metrics and mistrust */
    bool with_stages;      /* run once more with tracepoints on and hold each inner stage against the definition's; operators outside BLAS */
    const char *stages;    /* names of those to keep and hold, "mean variance"; NULL = all of the contract's checkpoints */
    bool is_exact_data;    /* inputs are small whole numbers: where their sums are exact in the accumulator, outputs must have the bits of the reference */
    const opd_call *given;  /* judge the outputs of this call, which have memory, instead of running anything; NULL = run */
    const opd_call *golden; /* right values are the outputs of this call, which have memory, instead of the definition's; NULL = the definition's */
    opd_sureness golden_sureness;
    const char *convention; /* another rule to judge by: a preset, "absolute", "relative", "mixed" (|error| <= abs_err + rel_err |right|), "exact"; NULL = none */
    double abs_err, rel_err; /* of those of them that are no preset */
    bool is_convention_deciding; /* it decides what is wrong, instead of the operator's own bound */
    const char *const *peers; /* presets whose opinions are wanted beside the verdict, at most OPD_MAX_PEERS, NULL at the end; NULL = none */
    bool lazy_reference;   /* do not run it when the expected NaN or Inf was born again with the recorded bits */
    const char *engine;    /* file that a variant of another maker's library (opd_variant.is_library) is taken from; NULL = the loader's */
    double certify_limit;  /* with_metrics: operations of a call up to which the reference is run again with more bits; 0 = not */
    double reference_limit; /* operations of a call beyond which the reference is left out where the answer does not hang on it; 0 = 8e9 */
    opd_replay_progress *progress; /* called a few times a second by the thread that waits; NULL = none */
    void *progress_context;
    const char *worker;    /* path of opd-worker; NULL = beside this program, then ../libexec/opsdebug/ */
} opd_replay_options;
#define OPD_REPLAY_OPTIONS_INIT { .repeat = 1 }

typedef enum opd_same {
    OPD_SAME_UNKNOWN,    /* nothing recorded to compare with, or other bits and no reference to bound them */
    OPD_SAME_BITWISE,
    OPD_SAME_BOUND,      /* within the rounding bound */
    OPD_SAME_DIFFERENT,
} opd_same;

#define OPD_PASS_RATIO 16.0 /* the limit of the gauge rule, to which all bounds are scaled */

typedef struct opd_numbers {
    double ratio;        /* largest error / (eps * gauge) over outputs */
    double naive_ratio;  /* of the naive variant on the same data; 0 = not run */
    double cap;          /* n/2 + 16 */
    double epsilon, gauge, allowed; /* at worst: allowed is the error that the bound lets pass, in the output's own unit */
    double limit; /* at worst: as many units in the last place its bound lets pass; 0 = the bound counts others */
    double max_abs;
    double max_rel;
    double max_ulp;
    int64_t worst[OPD_MAX_RANK];
    int32_t worst_rank;
    char worst_operand[OPD_NAME];
    double got_re, got_im, want_re, want_im; /* at worst */
    uint64_t other_class; /* elements of another class (finite, Inf, NaN) than the reference */
    bool is_worst_other_class; /* the worst is one; with a ratio of 0 its terms are Inf or beyond the type's range, where no class is wrong */
    bool is_valid;       /* a reference exists and ran */
} opd_numbers;

/* What another rule says of the outputs. */
typedef struct opd_opinion {
    bool is_valid, is_right, is_deciding;
    char name[24];
    uint64_t count, bad_count;     /* elements; of rules that look at the whole: of another class */
    char operand[OPD_NAME];        /* of the first bad one */
    int64_t first[OPD_MAX_RANK];
    int32_t rank;
    char detail[224];
} opd_opinion;
/* The index-th preset and whose rule it is; NULL past the last. */
const char *opd_preset_at(int index, const char **meaning);

/* How the wrong elements of an output lie. */
typedef enum opd_pattern {
    OPD_PATTERN_NONE,
    OPD_PATTERN_WHOLE,     /* at every index of every axis */
    OPD_PATTERN_SCALED,    /* likewise, by one factor */
    OPD_PATTERN_RANGE,     /* a run of indices of an axis: of channels, say */
    OPD_PATTERN_ROW,       /* one index of an axis */
    OPD_PATTERN_TAIL,      /* the last n mod V of an axis, or of all elements: of a vector loop */
    OPD_PATTERN_LAST_TILE,
    OPD_PATTERN_BORDER,    /* along the border */
    OPD_PATTERN_PERIOD,    /* every n-th index */
    OPD_PATTERN_SEAM,      /* where blocks meet */
    OPD_PATTERN_GROWING,   /* with the index */
    OPD_PATTERN_ONE,       /* a single element */
    OPD_PATTERN_SCATTER,
} opd_pattern;
const char *opd_pattern_name(opd_pattern pattern); /* "tail" */

/* Where an output is wrong. */
typedef struct opd_location {
    opd_pattern pattern;         /* NONE: nothing was located */
    char operand[OPD_NAME];
    uint64_t count, bad_count;   /* elements, wrong ones */
    int32_t rank, axis;          /* axis of the pattern; -1 = none */
    int64_t low[OPD_MAX_RANK], high[OPD_MAX_RANK]; /* the box of the wrong ones, ends excluded */
    double factor;               /* of SCALED */
    char text[320];              /* in words */
    char reads[240];             /* regions of the inputs with the same indices, "X[0, 2..3, 0..7]"; "" = all of them, or not known */
} opd_location;

/* An inner stage that the variant and the definition both report, or only one of them. */
#define OPD_MAX_STAGES 16
typedef struct opd_stage_report {
    char name[OPD_NAME];
    bool is_reported, is_compared; /* by the variant; with as many elements by the definition */
    bool is_wrong;                 /* further off than rounding explains, or of another class */
    int64_t count, worst;          /* elements; position of the largest error in row-major order */
    int64_t wrong_count;
    int64_t steps, first_step;     /* how often the stages come round (opd_op.steps); of the wrong ones the first */
    double max_abs, naive_abs;     /* largest error against high precision, and that of the narrow definition */
    double got, want;              /* at worst */
} opd_stage_report;

typedef struct opd_replay_result {
    opd_failure observed;     /* outcome OPD_OUTCOME_OK when nothing went wrong */
    opd_failure expected;     /* the recorded failure of this call, or outcome OK */
    bool came_back;           /* observed is the expected failure (class, operand) */
    opd_same same;            /* outputs against recorded outputs */
    opd_numbers numbers;      /* outputs against the reference */
    double recorded_ratio;    /* recorded outputs against the reference, likewise; 0 = not taken: the same bits as here, not kept, no reference */
    double recorded_ulp;      /* their greatest error in units in the last place of their type; of the same bits numbers.max_ulp */
    uint32_t runs, runs_failed, runs_differing; /* of repeat, times two under GUARD_BOTH; a crash or hang ends them; differing: from the first */
    bool is_definition_late;  /* no verdict: a user's definition did not return within the time limit */
    bool is_repeatable;       /* all runs gave the same bits */
    char library[512];        /* provider that ran */
    char maker[16];           /* whose it is, by opd_library_maker(); "" = it does not say */
    char symbol[64];          /* and its routine: not the recorded one when the library has that under another name only */
    char build_id[41];
    char core[32];
    char variant[OPD_NAME];   /* that ran; "" for a library's routine */
    uint64_t allocations;     /* a variant made during the last run */
    uint64_t workspace_bytes; /* it declared */
    int32_t threads;          /* 0 = the library does not say */
    char environment[2048];   /* lines "what: recorded X, here Y"; "" = no difference found */
    uint64_t run_ns;          /* median time of one run */
    opd_sureness sureness;    /* of the reference */
    double doubt;             /* its greatest possible error as a share of what is allowed; negative = not known */
    char certificate[96];     /* how that is known; "" = it is not */
    opd_stage_report stages[OPD_MAX_STAGES]; /* in the contract's order, with_stages */
    int32_t stage_count;
    opd_location location;    /* of the failure of the first run, with_metrics */
    opd_opinion opinion;      /* of the convention asked for */
    opd_opinion peers[OPD_MAX_PEERS]; /* of the peers asked for, of the first run */
    char mistrust[160];       /* why agreement with the reference shows little here, "80 % of Y is zero"; "" = it shows enough */
    opd_metrics metrics[OPD_MAX_OPERANDS]; /* of outputs[i] of the first run against the reference, with_metrics; count 0 = none. differing: from the right value rounded */
    opd_operand outputs[OPD_MAX_OPERANDS]; /* of the first run: digests before and after, health after; with keep_outputs view.data is set
                                              (owned by result, the call's own strides; NULL when the span is over 1 GiB) */
    int32_t output_count;
    void *memory;             /* owned */
    size_t memory_size;
} opd_replay_result;

/*
 * Runs the case and judges it. expected may be NULL, and so may environment_of (the bundle whose environment, provider and recorded
 * outputs are compared with) and options.
 * observed  classes first: a crash, a hang, under guards a stray access; then NaN and Inf born; then the gauge rule. Arguments that break
 *           the contract are BAD_ARGS whatever the library makes of them, which reason tells. SIGILL is UNSUPPORTED.
 * errors    E_CHILD the worker could not start; E_NOTFOUND no such library or routine; E_UNSUPPORTED the CPU lacks what core needs;
 *           an operator that crashes or hangs is a result, not an error.
 * threads   safe; each call has its own worker and temporary directory.
 */
opd_status opd_replay(opd_replay_result *out, const opd_bundle *environment_of, const opd_case *item,
                      const opd_failure *expected, const opd_replay_options *options);
void opd_replay_result_done(opd_replay_result *result);

/*
 * The verdict in one word: "PASS", "PASS_ACCUM" (beyond the bound as far as serial sums in the same precision explain), "MISTRUSTED" (nothing wrong, but the
 * data show little), "UNJUDGED" (it ran, and there is no reference), else what is wrong: "FAIL", "NAN", "CRASH", "TIMEOUT", "UNWRITTEN", "INPUT_MUTATED", ...
 * memory    static.
 */
const char *opd_replay_word(const opd_replay_result *result);

/* Is `observed` the same failure as `expected`? class, operand, and for crashes the signal; guard outcomes count as the crash they explain. */
bool opd_failure_same(const opd_failure *expected, const opd_failure *observed);

/* Does this CPU have what the OpenBLAS core needs? NULL = yes, else the reason. Unknown names get a reason too. */
const char *opd_core_missing(const char *core);
/* Is it the name of an OpenBLAS core, or of an instruction set of oneDNN 2 (DNNL_MAX_CPU_ISA)? In any case of letters. */
bool opd_core_is_known(const char *core);
bool opd_dnnl_isa_is_known(const char *isa);
/* Names of cores OpenBLAS 0.3 knows and this CPU can run; returns the count. */
int opd_core_list(const char **names, int capacity);

/*
 * The word NAME for which `cc -lNAME` takes this library file: "openblas". NULL when only its path makes sure of it.
 * memory    static.
 */
const char *opd_library_linker_name(const char *library);

/* The environment of this process, for records and comparison. */
opd_status opd_environment_read(opd_environment_info *out);

#ifdef __cplusplus
}
#endif
#endif
