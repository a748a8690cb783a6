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
OPD_PUBLIC void opd_record_range_push(const char *name);
OPD_PUBLIC void opd_record_range_pop(void);
OPD_PUBLIC void opd_record_mark(const char *name, int64_t value);
OPD_PUBLIC void opd_record_seed(uint64_t seed); /* logical seed of the calls that follow in this thread */
/* Asks for a bundle now. */
OPD_PUBLIC void opd_record_trigger(const char *reason);

/* ------------------------------------------------------------------------------------------- the collector */

typedef enum opd_capture { OPD_CAPTURE_META, OPD_CAPTURE_STATS, OPD_CAPTURE_INPUTS, OPD_CAPTURE_FULL } opd_capture;
enum {
    OPD_TRIGGER_NAN = 1 << 0,
    OPD_TRIGGER_INF = 1 << 1,
    OPD_TRIGGER_CRASH = 1 << 2,
    OPD_TRIGGER_CONTRACT = 1 << 3,
    OPD_TRIGGER_TIMEOUT = 1 << 4,
    OPD_TRIGGER_EXIT = 1 << 5,
    OPD_TRIGGER_ALWAYS = 1 << 6, /* every call freezes a bundle of its own, capped */
    OPD_TRIGGER_API = 1 << 7,    /* always on: opd_record_trigger and signals from outside */
};

typedef struct opd_record_options {
    const char *out;         /* directory, or a path ending in .opsb: the one bundle wanted */
    opd_capture capture;     /* default INPUTS */
    uint32_t triggers;       /* default NAN|INF|CRASH|CONTRACT|TIMEOUT|API */
    uint32_t timeout_ms;     /* of the timeout trigger, default 60000 */
    uint64_t budget;         /* bytes of data rings, default 256 MiB */
    const char *match;       /* glob over routine names; NULL = all */
    uint64_t range_first, range_last; /* call numbers in a thread; 0, 0 = all */
    uint32_t sample;         /* keep data of every n-th call; 0, 1 = all */
    bool ignores_writes;     /* what was seen before is read again each time, even where the kernel can tell that nobody wrote to it */
    uint32_t max_bundles;    /* failures written per process, default 16; the rest is counted */
    uint32_t per_failure;    /* of them of one kind (what happened, in which operand of which routine) at once, default 4; then one a minute */
    char *const *argv;       /* program and arguments, NULL-terminated */
    const opd_environment_info *environment; /* of this machine, for the bundles (opd_environment_read); NULL = left out */
    const char *preload;     /* path of opsdebug-preload.so; NULL = beside this program, then ../lib/opsdebug/ */
    bool without_audit;      /* LD_PRELOAD alone: lookups by handle are not seen */
} opd_record_options;
#define OPD_RECORD_OPTIONS_INIT \
    { .capture = OPD_CAPTURE_INPUTS, .triggers = OPD_TRIGGER_NAN | OPD_TRIGGER_INF | OPD_TRIGGER_CRASH | OPD_TRIGGER_CONTRACT | OPD_TRIGGER_TIMEOUT | OPD_TRIGGER_API, \
      .timeout_ms = 60000, .budget = (uint64_t)256 << 20, .max_bundles = 16, .per_failure = 4 }

typedef struct opd_record_report {
    int exit_status;         /* wait status of the program */
    uint64_t calls, calls_nested, dropped, processes, threads;
    uint64_t bytes_seen, bytes_stored;
    uint64_t data_refused;   /* operands whose data found no room in the budget: digests and statistics only */
    uint32_t bundles;        /* bundles of failures and requests written */
    uint32_t bundles_cut;    /* failure bundles that stayed .partial, or could not be begun; trouble tells of the first */
    uint32_t suppressed;     /* failures counted but not written */
    char bundle_paths[16][512];
    char why_nothing[1024];  /* when calls == 0: what was found (static BLAS, child without recorder, ...) and what to do */
    uint64_t processes_audited; /* of processes: the loader told them which library each binding means (LD_AUDIT) */
    uint64_t threads_lost;   /* threads whose calls found no room in shared memory */
    char reduced[400];       /* what was given less memory than asked for, or another place, and why; "" = nothing */
    char run_trouble[512];   /* why a run-PID.opsb is not whole; "" = all are */
    char trouble[512];       /* ops-debug's own trouble (disk full, ...), "" = none */
} opd_record_report;

/* name -> bits; "nan,inf,crash,contract,timeout=60s,exit,always". errors: E_INVALID names the bad item. */
opd_status opd_triggers_parse(uint32_t *triggers, uint32_t *timeout_ms, const char *text);
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
const char *opd_capture_name(opd_capture capture); /* "meta", "stats", "inputs", "full" */

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
