/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduction of a failing case to its smallest form, diagnosis (the label of a failure), grouping, and the stand-alone C
 * file. The reducer runs nothing itself: the oracle is a callback.
 */
#ifndef OPSDEBUG_REDUCE_H
#define OPSDEBUG_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/bundle.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opd_verdict {
    OPD_VERDICT_SAME,       /* fails in the same way */
    OPD_VERDICT_OTHER,      /* fails in another way: never accepted, kept as by-catch */
    OPD_VERDICT_PASS,
    OPD_VERDICT_INVALID,    /* not a legal call; no run was spent */
    OPD_VERDICT_UNRESOLVED, /* time-out, out of memory, harness */
} opd_verdict;
const char *opd_verdict_name(opd_verdict verdict);

typedef struct opd_oracle {
    /* Judges a candidate; observed is filled when it failed. */
    opd_status (*judge)(void *context, opd_verdict *verdict, opd_failure *observed, const opd_case *candidate);
    /* Called after each accepted step with the new best: writes it to disk, reads it back and judges that. */
    opd_status (*accept)(void *context, opd_verdict *verdict, const opd_case *best, const opd_failure *observed,
                         const opd_lineage *step);
    /* A step that an earlier search with the same log has had verified: accept is not called for it again. May be NULL. */
    void (*resumed)(void *context, const opd_lineage *step);
    /* A candidate that fails in another way, once per class. May be NULL. */
    void (*bycatch)(void *context, const opd_case *candidate, const opd_failure *observed);
    /* Progress: may be NULL. */
    void (*progress)(void *context, const char *pass, uint64_t runs, uint64_t elements_before, uint64_t elements_now);
    void *context;
} opd_oracle;

typedef struct opd_reduce_options {
    uint64_t max_runs;      /* 0 = 2000 */
    uint32_t max_sweeps;    /* over all passes; 0 = 100, far beyond what each sweep's gain allows */
    const int64_t *tiles;   /* tile and vector widths of the kernel, tried as boundary sizes; NULL = usual powers of two */
    int tile_count;
    const char *log_path;   /* verdict log, append-only: a second run with the same log spends no run twice; NULL = none */
} opd_reduce_options;

/* What ended a search. */
typedef enum opd_reduce_end {
    OPD_REDUCE_END_FIXPOINT, /* a whole sweep changed nothing */
    OPD_REDUCE_END_RUNS,     /* max_runs */
    OPD_REDUCE_END_SWEEPS,   /* max_sweeps, and the last one still changed something */
} opd_reduce_end;
const char *opd_reduce_end_name(opd_reduce_end end); /* "fixpoint", "runs", "sweeps" */

typedef struct opd_reduce_report {
    uint64_t runs;          /* judge calls, explanation included */
    uint64_t verifications; /* accept calls */
    uint64_t cached;        /* answers that needed no run */
    uint64_t accepted, invalid, unresolved, others;
    uint64_t elements_before, elements_after; /* of all operands */
    bool is_flaky;          /* the failure comes back in some runs only */
    double rate, rate_low;  /* share of runs of the final form that failed, and its lower Wilson bound (95 %) */
    uint32_t sweeps;
    bool is_complete;       /* every pass reached its fixpoint: end is FIXPOINT */
    opd_reduce_end end;
    opd_failure failure;    /* of the final form */
    char explain[2048];     /* lines: "fails: m % 4 == 2; passes at m = 5, 7" */
} opd_reduce_report;

/*
 * Reduces item in place to the smallest case for which judge says SAME.
 * errors    E_NOFAILURE the original does not fail in the expected way (report.failure says what it does).
 */
opd_status opd_reduce(opd_reduce_report *report, opd_case *item, const opd_failure *expected, const opd_oracle *oracle,
                      const opd_reduce_options *options);

/*
 * A readable C17 program that makes the same call and checks the right value itself: exit status 1 = it fails, 0 = it does not. Declares its own
 * prototypes; re-executes itself where environment variables must be set first (core NULL = none).
 * want      expected values per output operand in row-major order, interleaved re, im for complex; NULL = only "must not
 *           crash / must be finite" is checked. gauge: bound is ratio 16 of it, plus one ulp. Each element is compared with
 *           its own: a right value beyond the type's range is Inf, and Inf is then right.
 * born      a NaN or Inf that was born is the failure by itself only where every value of that output is right (a product beyond the
 *           range): then its elements must be finite. got tells; without got, when all right values are of that class.
 * mutated   an input that changed is compared with what it held.
 */
typedef struct opd_emit_options {
    const char *link;       /* words by which cc finds the library at fault: "-lopenblas" (NULL), "/opt/libx.so -Wl,-rpath,/opt" */
    const char *symbol;     /* name the library has the routine under; NULL or "" = as recorded. Integers are as wide as it says. */
    const char *core;       /* OPENBLAS_CORETYPE to set; NULL = none */
    int32_t threads;        /* OPENBLAS_NUM_THREADS; 0 = leave */
    uint32_t seconds;       /* after which a call that does not return is ended by SIGALRM; 0 = 60 */
    const long double *want[OPD_MAX_OPERANDS];
    const long double *gauge[OPD_MAX_OPERANDS];
    const opd_tensor *got[OPD_MAX_OPERANDS]; /* what the failing call left in an output; NULL = not known */
} opd_emit_options;
opd_status opd_emit_c(opd_buffer *out, const opd_case *item, const opd_failure *failure, const opd_emit_options *options);

/* What runs of the call in other ways showed: evidence that no single run holds. Zeros: not tried. */
typedef struct opd_experiments {
    int32_t threads;                             /* of the library in the runs that follow */
    uint32_t runs, failed, differing;            /* as recorded, repeated in one process; differing: from the first */
    uint32_t runs_alone, failed_alone, differing_alone; /* with one thread */
    char core[32];                               /* kernels of the first runs */
    char other_core[32];                         /* kernels of one more run */
    bool has_other_failed;                       /* which failed */
    double ratio, cap;                           /* error of the outputs over eps * gauge, and what rounding explains; 0 = no reference */
    double max_rel;                              /* largest relative error of an element */
    bool is_reduced;                             /* the call is the end of a complete reduction: what is left is needed to fail */
} opd_experiments;

/*
 * Root-cause label by rule: fills label, confidence and reason of failure from the call, what was recorded of its operands, and
 * (when not NULL) what a replay observed and what experiments showed. Leaves label "" when no rule decides. Labels: see docs/labels.md.
 */
void opd_diagnose(opd_failure *failure, const opd_call *call, const opd_failure *observed, const opd_experiments *tried);
/* Is label one of the labels in use? */
bool opd_label_known(const char *label);
/* The index-th label in use and what it means; NULL past the last. */
const char *opd_label_at(int index, const char **meaning);

/* ----------------------------------------------------------------------------------------------- grouping */

typedef struct opd_group_member {
    char path[512];
    uint32_t failure;       /* index in its bundle */
    char why[160];          /* why it joined */
} opd_group_member;

typedef struct opd_group {
    char id[17];            /* stable: hash of the key */
    char key[256];          /* "nan|gemm|real|C|unread-operand-read": outcome, operator, class of dtype (real, complex or
                               integer: sgemm and dgemm fall together), operand, label */
    char reason[384];
    uint32_t count;
    uint32_t representative; /* member with the smallest case */
    opd_group_member *members;
} opd_group;

typedef struct opd_grouping opd_grouping;
opd_status opd_grouping_new(opd_grouping **out);
/* Adds every failure of a bundle; windows that were asked for are counted only. Order of additions does not change the result. */
opd_status opd_grouping_add(opd_grouping *grouping, const opd_bundle *bundle);
uint32_t opd_grouping_requested(const opd_grouping *grouping);
/* Sorted by count, then id. Borrowed until the next add. */
uint32_t opd_grouping_count(opd_grouping *grouping);
const opd_group *opd_grouping_at(opd_grouping *grouping, uint32_t index);
void opd_grouping_free(opd_grouping *grouping);

#ifdef __cplusplus
}
#endif
#endif
