/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes: calls that an operator's contract gives rise to, by which a variant is tried (validate, selftest). One probe differs from the plain call in one thing, so
 * that what fails tells what is wrong.
 */
#ifndef OPD_CLI_PROBES_H
#define OPD_CLI_PROBES_H

#include <opsdebug/replay.h>

typedef enum opd_probe_kind {
    OPD_PROBE_PLAIN,      /* default shapes and fill */
    OPD_PROBE_DTYPE,      /* another dtype */
    OPD_PROBE_FILL,       /* other values */
    OPD_PROBE_SHAPE,      /* boundary sizes */
    OPD_PROBE_EMPTY,      /* a size of 0 */
    OPD_PROBE_BROADCAST,  /* an input with fewer or smaller dimensions */
    OPD_PROBE_ATTRIBUTE,  /* another value of an attribute */
    OPD_PROBE_NEGATIVE,   /* integer inputs counted from the end */
    OPD_PROBE_UNREAD,     /* NaN in what must not be read */
    OPD_PROBE_STRIDED,    /* gaps between the elements */
    OPD_PROBE_MISALIGNED, /* each operand one element past a cache line's start */
    OPD_PROBE_SAME_INPUT, /* two inputs in one memory */
    OPD_PROBE_IN_PLACE,   /* an output in the memory of an input */
    OPD_PROBE_GUARD,      /* operands and workspace against inaccessible pages */
    OPD_PROBE_REPEAT,     /* several runs in one process: the same bits, no allocation */
    OPD_PROBE_POISONED,   /* after a run on NaN */
    OPD_PROBE_THREADS,    /* one thread, then three: the same bits */
    OPD_PROBE_AT_ONCE,    /* several threads at once */
    OPD_PROBE_KINDS,
} opd_probe_kind;

typedef struct opd_probe {
    opd_probe_kind kind;
    opd_dtype dtype;        /* NONE = the contract's first */
    char shapes[192];       /* "" = default */
    char attributes[96];    /* "" = default */
    char fill[32];          /* "" = of the contract */
    char changed[OPD_NAME]; /* symbol or attribute that is other than in the plain call */
    int64_t value;          /* of it */
} opd_probe;

typedef struct opd_probe_list {
    opd_probe *items; /* owned */
    int count;
} opd_probe_list;

/*
 * All probes of an operator, the plain one first. widths: of the variant ("tile=64 vector=8"), NULL = not known; sizes around them are tried too.
 * all_dtypes: every one the contract lists, else the first only.
 */
opd_status opd_probes_make(opd_probe_list *out, const opd_op *op, const char *widths, bool all_dtypes);
/* A list of this one. */
opd_status opd_probes_one(opd_probe_list *out, const opd_probe *probe);
void opd_probes_done(opd_probe_list *list);

/* "[2,3];-;f16[4]": the inputs of a call as a wish says them. */
void opd_probe_print_shapes(char *text, size_t size, const opd_call *call);

/* One of the fills that probes try, by any number. */
const char *opd_probe_fill_at(int index);

/* Words of a kind: "strided operands". */
const char *opd_probe_kind_text(opd_probe_kind kind);
/* Kind, then what is not the default: "values, [2,3], fill special". */
void opd_probe_describe(char *text, size_t size, const opd_probe *probe);

/* What came of a probe. */
typedef struct opd_finding {
    opd_status status; /* not OK: it could not run; E_DECLINED and E_INVALID: there is nothing to try */
    char error[256];
    opd_call call; /* its values and views */
    opd_replay_result result;
    bool is_definition_late;  /* that is why it could not: the definition did not return in time */
    bool is_thread_dependent; /* other bits with three threads than with one, */
    bool is_thread_promised;  /* which the variant declares not to happen */
} opd_finding;

/* What a probe is tried on, and how. */
typedef struct opd_probe_way {
    const char *variant; /* NULL = the first that can */
    const char *library; /* NULL = none */
    uint64_t seed;
    uint32_t timeout_ms;      /* CPU time of a run; 0 = the usual limit */
    const char *const *peers; /* other rules to ask, as of opd_replay_options */
} opd_probe_way;
/* Runs a probe in a worker. */
void opd_probe_run(opd_finding *out, const opd_op *op, const opd_probe *probe, const opd_probe_way *way);
/* What a variant declares; of one that is not known by name, what its operator does. */
opd_determinism opd_declared_determinism(const opd_op *op, const char *variant);
/* Did the variant do something wrong? */
bool opd_finding_is_failure(const opd_finding *finding);

#endif
