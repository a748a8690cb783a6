/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording. First half: the C API for a program that records its own operators (link libopsdebug-record). Second
 * half: the collector, which runs beside the recorded program (used by `ops-debug record`).
 *
 * The recorded process never compresses, never writes a bundle, never waits for the collector.
 */
#ifndef OPSDEBUG_RECORD_H
#define OPSDEBUG_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/bundle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------------- in the program */

/* One predictable branch when off. */
OPD_PUBLIC extern _Bool opd_record_enabled;

/*
 * Connects to the collector named in the environment (OPSDEBUG_SESSION), else starts one writing to out (NULL: "ops-debug-out") if the ops-debug
 * program is found, else stays off. Optional under `ops-debug record`.
 * errors    E_NOTFOUND no collector could be started: recording stays off, the program goes on.
 */
OPD_PUBLIC opd_status opd_record_start(const char *out);
OPD_PUBLIC void opd_record_stop(void);

/*
 * Begins a call: digests and copies input operands as the capture level asks, and publishes it before the operator runs.
 * call      op or domain/name, values, operands with views and data; the rest may be zero. Borrowed until end.
 * returns   a token for opd_record_end; 0 when off.
 * threads   safe; each thread has its own ring.
 */
OPD_PUBLIC uint64_t opd_record_begin(const opd_call *call);
/* Completes the call: output operands are scanned; a failing trigger freezes the window. status: the operator's own, 0 = fine. */
OPD_PUBLIC void opd_record_end(uint64_t token, const opd_call *call, int status);

/*
 * The same for runtimes that make like calls again and again. What they have in common (domain, name, attributes, views) is a form, known once;
 * words are the rest: the address of each operand, then the integer and real attributes in order (reals as their bits).
 * opd_record_form   a number for call's form, good in this process and those forked from it; 0: no room (calls of form 0 are recorded as by
 *                   opd_record_begin). call has no symbols; of its data and scalars nothing is kept.
 * call              of that form; its views and scalars are set to words. One thread at a time.
 * form (end)        what the call turned out to be: as many operands and words, outputs may have got another shape. Flag an output that the operator
 *                   allocates OPD_OPERAND_FRESH; its address at begin is 0.
 * opd_record_note_as  begin and end of a call that is over.
 * threads           safe for distinct calls. Each begin has an end, whatever happens between.
 */
OPD_PUBLIC uint32_t opd_record_form(const opd_call *call);
OPD_PUBLIC uint64_t opd_record_begin_as(uint32_t form, opd_call *call, const uint64_t *words);
OPD_PUBLIC void opd_record_end_as(uint64_t token, uint32_t form, opd_call *call, const uint64_t *words, int status);
OPD_PUBLIC void opd_record_note_as(uint32_t form, opd_call *call, const uint64_t *words);
/*
 * A number for the loaded object that address lies in, for opd_call.provider of forms: it runs the calls, on so many threads (0 = unknown). 0 = no room.
 */
OPD_PUBLIC uint32_t opd_record_provider(const void *address, int32_t threads);
/* Sizes of opd_call, opd_operand, opd_value and opd_tensor: for callers that lay them out by themselves. */
OPD_PUBLIC void opd_record_layout(uint32_t bytes[4]);

OPD_PUBLIC void opd_record_range_push(const char *name);
OPD_PUBLIC void opd_record_range_pop(void);
OPD_PUBLIC void opd_record_mark(const char *name, int64_t value);
OPD_PUBLIC void opd_record_seed(uint64_t seed); /* logical seed of the calls that follow in this thread */
/*
 * Says what made an input of this thread's next call: opd_tensor_fill() of its view with *fill. Where the bundle has no room for the content,
 * replay makes it from that, and holds it against the digest.
 */
OPD_PUBLIC void opd_record_recipe(const char *operand, const opd_fill *fill);
/* Fills view so, and says it. */
OPD_PUBLIC void opd_record_fill(const char *operand, const opd_tensor *view, const opd_fill *fill);
/* A seed or state of a random generator, by the generator's name: "torch.manual_seed", 7. */
OPD_PUBLIC void opd_record_generator(const char *name, uint64_t seed);
/*
 * A generator whose state lies at address as bytes (2560 at most) while the program lives: it is in each bundle as it is when the bundle's trigger
 * fires. At most 12, names of seeds counted; false: no room.
 */
OPD_PUBLIC bool opd_record_watch(const char *name, const void *address, uint32_t bytes);
/* An inner stage of a running operator: how many values, the first NaN or infinity among them, their range. Use OPD_TRACEPOINT. */
OPD_PUBLIC void opd_record_point(const char *name, opd_dtype dtype, const void *data, int64_t count);

/* Inside a kernel; one predictable branch when off. data: count contiguous elements, read now. */
#define OPD_TRACEPOINT(name, dtype, data, count)                \
    do {                                                        \
        if (__builtin_expect(opd_record_enabled, 0)) {          \
            opd_record_point((name), (dtype), (data), (count)); \
        }                                                       \
    } while (0)

/* Ranges of the timeline, nested by thread. */
static inline void opd_range_push(const char *name)
{
    if (__builtin_expect(opd_record_enabled, 0)) {
        opd_record_range_push(name);
    }
}
static inline void opd_range_pop(void)
{
    if (__builtin_expect(opd_record_enabled, 0)) {
        opd_record_range_pop();
    }
}

/* An implementation of an operator: computes the outputs of call from its inputs. */
typedef opd_status opd_run_function(const opd_call *call, void *context);

/* One operator of a runtime, with two implementations. Zero but for the first five; the runtime's to keep, one for all its threads. */
typedef struct opd_checked {
    opd_run_function *fast, *reference;
    void *context;
    uint32_t shadow_every; /* every n-th call runs on the reference too and is compared; 0 = none */
    double tolerance;      /* |fast - reference| <= tolerance * (1 + |reference|), in every element */
    uint64_t calls, shadows, fallbacks;
    bool is_unstable; /* it failed once: from then on calls go to the reference alone */
} opd_checked;

/*
 * Runs fast. When it fails without a crash (gives up, makes NaN or Inf of finite inputs, or differs from the reference on a sampled call) the outputs
 * are those of reference, the failing call is recorded with its inputs (a bundle is asked for) and the operator is unstable.
 * call      operands with views and data; in-out ones are kept aside while fast runs.
 * errors    those of reference; E_NOMEM no room to keep in-out operands aside (nothing ran).
 * threads   safe for distinct calls. Works without a recorder too.
 */
OPD_PUBLIC opd_status opd_run_checked(opd_checked *checked, const opd_call *call);
/* Asks for a bundle now. */
OPD_PUBLIC void opd_record_trigger(const char *reason);

/* ------------------------------------------------------------------------------------------- the collector */

/* COUNTS: of each kind of call of a thread the first, and how often it was made; META: every call, no operand is read. */
typedef enum opd_capture { OPD_CAPTURE_COUNTS, OPD_CAPTURE_META, OPD_CAPTURE_STATS, OPD_CAPTURE_INPUTS, OPD_CAPTURE_FULL } opd_capture;
enum {
    OPD_TRIGGER_NAN = 1 << 0,
    OPD_TRIGGER_INF = 1 << 1,
    OPD_TRIGGER_CRASH = 1 << 2,
    OPD_TRIGGER_CONTRACT = 1 << 3,
    OPD_TRIGGER_TIMEOUT = 1 << 4,
    OPD_TRIGGER_EXIT = 1 << 5,
    OPD_TRIGGER_ALWAYS = 1 << 6, /* every call freezes a bundle of its own, capped */
    OPD_TRIGGER_API = 1 << 7,    /* always on: opd_record_trigger and signals from outside */
    OPD_TRIGGER_MAGNITUDE = 1 << 8, /* a finite element of an output beyond +-limit */
};

/*
 * Judges the recorded outputs of the one call in bundle by the reference: *out has the outcome MISMATCH when they are wrong. Runs in a thread of
 * the collector's. errors: whatever keeps it from judging.
 */
typedef opd_status opd_verify_fn(void *context, opd_failure *out, const opd_bundle *bundle);

typedef struct opd_record_options {
    const char *out;         /* directory, or a path ending in .opsb: the one bundle wanted */
    opd_capture capture;     /* default INPUTS */
    uint32_t triggers;       /* default NAN|INF|CRASH|CONTRACT|TIMEOUT|API */
    uint32_t timeout_ms;     /* of the timeout trigger, default 60000 */
    double magnitude;        /* limit of the magnitude trigger */
    uint64_t budget;         /* bytes of data rings, default 256 MiB */
    const char *match;       /* glob over routine names; NULL = all */
    uint64_t range_first, range_last; /* call numbers in a thread; 0, 0 = all */
    uint32_t sample;         /* keep data of every n-th call; 0, 1 = all */
    bool sample_stats;       /* at capture level stats: of a sample of large operands (opd_tensor_sample), and no digests of them */
    uint32_t verify;         /* one call in so many is run again on the reference, beside the program; 0 = none */
    opd_verify_fn *verify_run; /* does it; NULL = none */
    void *verify_context;
    uint32_t first;          /* read operands of the first calls of each kind (operator, dtypes, shapes, attributes) only; 0 = of all */
    double overhead;         /* share of its time that reading operands may cost a thread, 0.05; then calls go without for a while; 0 = no limit */
    bool ignores_writes;     /* what was seen before is read again each time, even where the kernel can tell that nobody wrote to it */
    uint32_t max_bundles;    /* failures written per process, default 16, the last quarter only for kinds without one; the rest is counted */
    uint32_t per_failure;    /* of them of one kind (what happened, in which operand of which routine) at once, default 4; then one a minute */
    char *const *argv;       /* program and arguments, NULL-terminated */
    const opd_environment_info *environment; /* of this machine, for the bundles (opd_environment_read); NULL = left out */
    bool torch;              /* ATen operators of Python programs too */
    const char *preload;     /* path of opsdebug-preload.so; NULL = beside this program, then ../lib/opsdebug/ */
    bool without_audit;      /* LD_PRELOAD alone: lookups by handle are not seen */
    void (*notice)(void *context, const char *text); /* hears, before the program starts, what of this cannot be had; NULL = the report alone says it */
    void *notice_context;
} opd_record_options;
#define OPD_RECORD_OPTIONS_INIT \
    { .capture = OPD_CAPTURE_INPUTS, .triggers = OPD_TRIGGER_NAN | OPD_TRIGGER_INF | OPD_TRIGGER_CRASH | OPD_TRIGGER_CONTRACT | OPD_TRIGGER_TIMEOUT | OPD_TRIGGER_API, \
      .timeout_ms = 60000, .budget = (uint64_t)256 << 20, .max_bundles = 16, .per_failure = 4 }

/* The calls of an operator. */
typedef struct opd_record_operator {
    char name[OPD_NAME];
    uint64_t calls;
    uint64_t ns;    /* of those that are not inside another recorded call */
    uint64_t bytes; /* of operands read */
} opd_record_operator;

/* Failures of one kind. */
typedef struct opd_record_failure {
    uint32_t outcome; /* opd_outcome */
    char routine[OPD_NAME];
    uint64_t seen, written; /* written: whole bundles */
    uint64_t cut;           /* bundles that stayed .partial, or could not be begun */
} opd_record_failure;

/* Calls that were to be run again on the reference. */
typedef struct opd_record_verify {
    uint64_t verified, mismatches; /* mismatches: of verified */
    uint64_t busy;                 /* not: the worker was behind */
    uint64_t lost;                 /* not: their operands were not kept, or overwritten before they were looked at */
    uint64_t large;                /* not: the reference would take too long */
    uint64_t unjudged;             /* not: there is no reference, or it did not run; why tells of the first */
    char why[160];
} opd_record_verify;

/* A process that ends in order may leave a thread in a call: one that ran for less is no hang. */
#define OPD_RECORD_HANG_NS UINT64_C(1000000000)
/* A call that had not returned when its process ended, by something other than a crash. */
typedef struct opd_record_flight {
    int pid, signal; /* signal: that ended the process; 0 = none, or unknown */
    uint32_t thread;
    uint64_t number, ns; /* ns: since it began */
    bool has_bundle;     /* of the timeout */
    char what[200];
} opd_record_flight;

typedef struct opd_record_report {
    int exit_status;         /* wait status of the program */
    uint64_t kinds;          /* at capture level counts: kinds of calls that were counted */
    uint64_t calls, calls_nested, dropped, processes, threads;
    uint64_t bytes_seen, bytes_stored;
    uint64_t data_refused;   /* operands whose data found no room in the budget: digests and statistics only */
    opd_record_operator operators[64]; /* in the order of their first calls; the last may stand for all others */
    uint32_t operator_count;
    opd_record_failure failures[32];
    uint32_t failure_kinds;
    opd_record_flight flights[4]; /* the first of them */
    uint32_t flight_count;
    uint64_t bytes_known;    /* of bytes_seen: were there in an earlier call, and not copied again */
    uint64_t bytes_tracked;  /* of bytes_known: not read again either, since nobody had written to them */
    uint64_t bytes_kept;     /* put into the keep area */
    uint64_t content_raw, content_stored; /* operands in the bundles of failures and requests: as they are, and as stored */
    uint64_t own_ns, thread_ns; /* time that reading operands took, of the threads' time from first to last call, with what reading took around these */
    opd_record_verify verify;
    uint64_t unread_calls;   /* recorded without their operands, to stay within `overhead` */
    uint32_t call_own_ns;    /* the recorder's own part of each call, taken off its end */
    double clock_drift;      /* of the time stamps against CLOCK_MONOTONIC, since they were calibrated */
    char untracked[96];      /* why writes were not tracked; "" = they were, or nothing asked for it */
    uint32_t bundles;        /* bundles of failures and requests written */
    uint32_t bundles_cut;    /* failure bundles that stayed .partial, or could not be begun; trouble tells of the first */
    uint32_t suppressed;     /* failures counted but not written */
    uint32_t survived;       /* calls left by a crash that the program recovered from, by a jump out of its handler */
    char bundle_paths[16][512];
    char why_nothing[1024];  /* when calls == 0: what was found (static BLAS, child without recorder, ...) and what to do */
    uint64_t processes_audited; /* of processes: the loader told them which library each binding means (LD_AUDIT) */
    uint64_t threads_lost;   /* threads whose calls found no room in shared memory */
    char reduced[400];       /* what was given less memory than asked for, or another place, and why; "" = nothing */
    uint64_t data_limited;   /* of data_refused, in processes that had less than the budget: limited address space (RLIMIT_AS), or memory ran out */
    char run_trouble[512];   /* why a run-PID.opsb is not whole; "" = all are */
    char trouble[512];       /* ops-debug's own trouble (disk full, ...), "" = none */
} opd_record_report;

/* Sets triggers and their limits: "nan,inf,crash,contract,timeout=60s,abs>1e4,exit,always". errors: E_INVALID names the bad item. */
opd_status opd_triggers_parse(opd_record_options *options, const char *text);
/* Triggers of these that can never fire at a level, since it does not look at what they need. */
uint32_t opd_triggers_idle(uint32_t triggers, opd_capture capture);
/* "nan and inf" */
void opd_triggers_print(char *text, size_t size, uint32_t triggers);
/* What a budget may be: from to, the memory of this machine. */
typedef struct opd_budget_range {
    uint64_t low, high;
} opd_budget_range;
opd_budget_range opd_record_budget_range(void);
opd_status opd_capture_parse(opd_capture *capture, const char *text);
const char *opd_capture_name(opd_capture capture); /* "counts", "meta", "stats", "inputs", "full" */

/*
 * Runs the program under the recorder until it ends. Signals that ask this process to stop are passed on. Limits that
 * leave no room for a recording cost the recording: the program runs without it, and why_nothing says so. SIGXFSZ and
 * SIGPIPE do not end this process from now on (opd_fail_without_signal).
 * errors    E_NOTFOUND the program does not exist (exit 127), E_UNSUPPORTED it cannot be executed (126), E_NOMEM it cannot be
 *           started beside this process (the caller may become the program: exec), else ops-debug's own (125).
 */
opd_status opd_record_run(opd_record_report *report, const opd_record_options *options);

#define OPD_SESSION_PATH 160
/*
 * Starts a collector, as a process of its own, for a running process that records itself with the C API; it ends with that process. session
 * names the directory to connect to. errors: E_NOTFOUND no such process, E_IO.
 */
opd_status opd_record_attach(char session[OPD_SESSION_PATH], const opd_record_options *options, int pid);

/* A recorded process that runs now. */
typedef struct opd_record_live {
    int pid, collector;
    uint64_t calls; /* of its session, written so far */
    char program[256];
    char out[1024];
} opd_record_live;
/* Those of this user; at most capacity are filled in. Their number. */
uint32_t opd_record_list(opd_record_live *list, uint32_t capacity);

/* What a request from outside brought. */
typedef struct opd_record_answer {
    uint32_t bundles; /* the first of them in paths */
    char paths[8][512];
    char trouble[256]; /* why there are fewer than processes; "" = there are not */
} opd_record_answer;
/*
 * Asks the collector of a recorded process for a bundle now, by shared memory alone; the program is not interrupted. pid: the process, or its
 * collector (ops-debug record), which means all processes that it records.
 * errors    E_NOTFOUND no such recording of this user; E_LIMIT too many ask at once; E_IO no bundle was written, or the collector ended
 *           or did not answer in timeout_ms.
 */
opd_status opd_record_ask(opd_record_answer *out, int pid, const char *reason, uint32_t timeout_ms);

/* Sessions in shared memory that write to the output out, or to a bundle in the folder out. */
typedef struct opd_record_left {
    uint32_t orphaned; /* their collectors were killed: opd_record_recover brings their calls */
    uint32_t attended; /* their collectors are at work */
} opd_record_left;
opd_record_left opd_record_left_behind(const char *out);

/*
 * Recovers what killed collectors left of the output out (a folder, or one bundle): makes torn bundles of the folder whole and writes out
 * the rings in shared memory. report: bundles made, their paths where known, calls, trouble.
 * errors    E_NOTFOUND nothing was left.
 */
opd_status opd_record_recover(opd_record_report *report, const char *out);

#ifdef __cplusplus
}
#endif
#endif
