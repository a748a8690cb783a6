/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector beside the recorded program: it owns the session directory, drains the rings into run-PID.opsb, and
 * writes a bundle when a window is frozen or a process ends badly. It maps what the processes wrote and trusts none of
 * it: everything is checked before use, since the program may have scribbled over it.
 */
#ifndef OPD_COLLECTOR_H
#define OPD_COLLECTOR_H

#include <dirent.h>

#include <opsdebug/bundle.h>
#include <opsdebug/record.h>

#include "chunks.h"
#include "ring.h"
#include "session.h"

/* Ticks of the recorded processes as CLOCK_MONOTONIC ns. */
typedef struct opd_ticks {
    uint64_t tick_base, ns_base;
    double ns_per_tick; /* 0 = not known yet */
} opd_ticks;

/* What the collector knows of a thread slot. */
typedef struct opd_watched_slot {
    uint64_t position; /* drained up to here */
    uint32_t tid;      /* of the last record */
    uint64_t number;
    uint64_t accounted;         /* calls of all its threads: written, or missing and told */
    uint64_t first_ns, last_ns; /* its calls so far lie between */
    bool is_named;
} opd_watched_slot;

/* A call that stands for its like. */
typedef struct opd_recorded_kind {
    uint64_t number;
    uint32_t tid;
    bool is_nested;
    char name[OPD_NAME];
} opd_recorded_kind;

/* One image of one process: a mapped process file. */
typedef struct opd_watched {
    char path[256];
    int pid;
    unsigned image;
    opd_process *process; /* NULL: all of it is written */
    uint64_t bytes;
    opd_watched_slot slots[OPD_PROCESS_THREADS];
    opd_writer *run;                           /* NULL until the first call, and after trouble */
    uint32_t run_modules[OPD_PROCESS_MODULES]; /* numbers in run; 0 = not entered */
    bool has_failed;                           /* the run bundle cannot be written any more */
    bool is_done;
    uint64_t calls, dropped;
    uint64_t flushed; /* calls that are in the file of the run */
    uint32_t bundles;
    opd_recorded_kind *kinds; /* at capture level counts: what is counted */
    size_t kind_count;
    uint32_t verifying;  /* its calls that the worker has, or has done with */
    uint32_t mismatches; /* bundles of wrong results */
    uint64_t counted;    /* calls, as far as control->calls has them */
    struct opd_watched *next;
} opd_watched;

/* The last call of a thread that a killed collector had written, but not yet marked as written. */
typedef struct opd_written {
    int pid;
    uint32_t tid;
    uint64_t number, begin_ns;
} opd_written;

typedef struct opd_verifier opd_verifier;

typedef struct opd_collector {
    opd_control *control;
    char directory[OPD_SESSION_PATH];
    opd_watched *first;
    opd_ticks ticks;
    opd_record_report *report;
    const char *out; /* absolute: a directory, or the one bundle wanted */
    bool is_single;
    opd_ring_record *record; /* scratch */
    opd_call *call;          /* scratch */
    int main_pid;            /* the program itself; 0 = recovering */
    uint64_t pid_namespace;  /* ours */
    bool has_calls;
    opd_verifier *verifier; /* NULL: no call is run again */
    char last_bundle[512];  /* of failures and requests; "" = none yet */
    int suspects[64];       /* processes seen once without a recorder */
    uint32_t suspect_count;
    uint64_t next_look_ns;      /* when the machine's processes are looked at again */
    char seen[2048];            /* processes seen without a recorder, and such, for why_nothing */
    char gaps[1024];            /* those of them that have a BLAS: calls that are missing */
    const opd_written *written; /* when recovering */
    size_t written_count;
} opd_collector;

/* --- session */

/* Makes the session directory and its control page. errors: E_IO. */
opd_status opd_collector_open(opd_collector *collector, const opd_record_options *options, opd_record_report *report);
/* Maps a session that a dead collector left. */
opd_status opd_collector_adopt(opd_collector *collector, const char *directory, opd_record_report *report);
/* Closes the session to newcomers, unmaps, removes the directory. */
void opd_collector_close(opd_collector *collector);

/* --- where sessions are */

#define OPD_PLACE_ROOTS 4u
/* Folders that may hold sessions, best first. Returns how many. */
uint32_t opd_place_roots(char roots[OPD_PLACE_ROOTS][OPD_SESSION_PATH]);

/* Makes a session directory where there is room; *budget becomes what that place can hold, report->reduced says why. errors: E_IO. */
opd_status opd_place_session(char directory[OPD_SESSION_PATH], uint64_t *budget, opd_record_report *report);

/* Goes through the session directories of this user; zeroed before the first. */
typedef struct opd_session_names {
    char roots[OPD_PLACE_ROOTS][OPD_SESSION_PATH];
    uint32_t count, at;
    DIR *listing;
    char directory[OPD_SESSION_PATH];
} opd_session_names;
/* The next one, in directory; false after the last, all closed. */
bool opd_place_next(opd_session_names *names);

/* Removes the directory of a session with all its files. */
void opd_collector_remove(const char *directory);
/* Removes what killed collectors left and nobody will ask for; the newest 8 of the last day stay for salvage. */
void opd_collector_sweep(void);

/* Maps process files that have appeared; keeps the spare files up to count. */
void opd_collector_scan(opd_collector *collector);
/* One round: new processes, drained rings, frozen windows, time limits, processes that have ended. */
void opd_collector_round(opd_collector *collector);
/* Has the process begun another image (exec)? Then this one is over. */
bool opd_collector_is_replaced(const opd_collector *collector, const opd_watched *watched);
/* Writes what is left of an image whose process is gone, and lets go of it. wait_status: or OPD_STATUS_UNKNOWN. */
/* Unmaps what has ended, once nothing needs it any more. */
void opd_collector_let_go(opd_watched *watched);
void opd_collector_finish(opd_collector *collector, opd_watched *watched, int wait_status);
/* Notes the report's trouble; the first stays. */
void opd_collector_trouble(opd_collector *collector, const char *format, ...) OPD_PRINTF(2, 3);

/* Rounds until the process main_pid has ended. is_child: it is ours to wait for; its wait status, else OPD_STATUS_UNKNOWN. */
int opd_collector_follow(opd_collector *collector, bool is_child);
/* Asks for a bundle of every process; async-signal-safe. */
void opd_collector_request(void);
/* Writes a bundle of the window as it is now, whatever caps there are; its path is collector->last_bundle. false: the report's trouble says why. */
bool opd_collector_snapshot(opd_collector *collector, opd_watched *watched, const opd_shared_trigger *trigger);
/* Answers those who ask from outside (opd_record_ask), and a signal that came (has_signal). */
void opd_requests_serve(opd_collector *collector, bool has_signal);
/* Finishes every image that is left and closes the session. */
void opd_collector_finish_all(opd_collector *collector, int wait_status);
/* Is out the path of one bundle, rather than of a folder? */
bool opd_collector_is_single(const char *out);
/* When the one bundle is about to take its name: what has it already becomes NAME.opsb.old. Nothing to do in a folder. errors: E_IO. */
opd_status opd_collector_keep_old(const opd_collector *collector);
/* Makes the folder of the bundles, parents included, and gives its absolute path. */
opd_status opd_collector_make_out(char *absolute, size_t size, const char *out);

/* --- time */
void opd_ticks_start(opd_ticks *ticks, const opd_control *control);
/* Makes sure that ticks can be converted: waits until 10 ms have passed since the start, once. */
void opd_ticks_calibrate(opd_ticks *ticks, opd_control *control);
/* Has the processor a counter that can be trusted? $OPSDEBUG_CLOCK=monotonic says no. */
bool opd_ticks_are_steady(void);
/* Compares it with CLOCK_MONOTONIC; a drift is the report's trouble. */
void opd_ticks_check(opd_collector *collector);
uint64_t opd_ticks_to_ns(const opd_ticks *ticks, uint64_t value);
uint64_t opd_now_ns(void);
uint64_t opd_now_ticks(bool has_tsc);
void opd_ticks_pair(uint64_t *ticks, uint64_t *ns, bool has_tsc);

/* --- records to calls */

/* errors: E_FORMAT the record is not one of a call. */
opd_status opd_decode_call(opd_call *out, const opd_collector *collector, const opd_watched *watched,
                           const opd_ring_record *record);
opd_status opd_decode_event(opd_event *out, const opd_collector *collector, const opd_ring_record *record);
/* Operand part of a record; false when it has none. */
bool opd_decode_part(opd_operand_part *out, const opd_ring_record *record, uint32_t index);

/* --- the report */

/* Counts a call that was drained. */
void opd_tally_call(opd_collector *collector, opd_watched *watched, uint32_t index, const opd_call *call);
/* Counts what an image leaves behind. */
void opd_tally_end(opd_collector *collector, opd_watched *watched);

/* --- capture level counts */

/* Notes a recorded call, the first of its kind. errors: E_NOMEM. */
opd_status opd_counts_note(opd_watched *watched, const opd_call *call);
/* Brings the session's number of calls up to date. */
void opd_counts_progress(opd_collector *collector, opd_watched *watched);
/* Writes how often each was made; nothing at other levels. */
opd_status opd_counts_put(opd_writer *writer, const opd_collector *collector, const opd_watched *watched);
/* Adds them to the report. */
void opd_counts_tally(opd_collector *collector, opd_watched *watched);
/* The line of an operator; those that find no line of their own share the last. */
/* The line of a kind of failure; NULL: there are too many. */
opd_record_failure *opd_tally_failure(opd_record_report *report, uint32_t outcome, const char *routine);
opd_record_operator *opd_tally_line(opd_record_report *report, const char *name);
/* Counts the bundle of a failure, which is whole or not. routine: "" = of no call. */
void opd_tally_bundle(opd_record_report *report, uint32_t outcome, const char *routine, bool is_whole);

/* --- calls that are run again on the reference */

/* Starts the worker when the options ask for it. errors: E_NOMEM. */
opd_status opd_verify_start(opd_collector *collector, const opd_record_options *options);
/* Hands a call, just decoded from collector->record, to the worker if it is one of those; thread: its name. */
void opd_verify_offer(opd_collector *collector, opd_watched *watched, const opd_call *call, const char *thread);
/* Counts what has come back; a wrong result gets a bundle. */
void opd_verify_settle(opd_collector *collector);
/* Waits until all have come back, and ends the worker. */
void opd_verify_finish(opd_collector *collector);

/* --- bundles */

/* Drains the rings into run-PID.opsb. is_last: calls in flight are written too. */
void opd_drain(opd_collector *collector, opd_watched *watched, bool is_last);
/* Completes run-PID.opsb. */
void opd_drain_close(opd_collector *collector, opd_watched *watched);
/* Is there a bundle at path, or one being written? */
bool opd_bundle_is_taken(const char *path);
/* What a bundle is and how it is called: next gives one name after the other. */
typedef struct opd_naming {
    void (*next)(char *path, size_t size, const opd_collector *collector, opd_watched *watched, const char *what);
    const char *what; /* "nan"; NULL for the list of a run */
    const char *kind; /* of the header */
} opd_naming;
/*
 * Opens a bundle with header and environment under the first name that is free, and stays so: in a folder, where others record too, no
 * bundle is ever replaced. path: the name it got, or the last one tried.
 * errors    as opd_writer_open.
 */
opd_status opd_bundle_begin(opd_writer **out, char *path, size_t size, const opd_collector *collector,
                            opd_watched *watched, const opd_naming *naming);
/* Enters a module of the process (index + 1) into a bundle; *number is its number there. */
opd_status opd_bundle_module_of(uint32_t *number, opd_writer *writer, const opd_watched *watched, uint32_t index);

/* Index tuple of the element at a place in walk order; false when the view has no such element. */
bool opd_window_locate(int64_t index[OPD_MAX_RANK], const opd_tensor *view, int64_t element);

/* The next name of a failure's bundle: an opd_naming. */
void opd_window_path(char *path, size_t size, const opd_collector *collector, opd_watched *watched, const char *what);
/* A failure's or request's bundle is complete. */
void opd_bundle_note(opd_collector *collector, const char *path, uint64_t bytes);
/* Writes a bundle of the window with its data for a trigger. */
void opd_window_write(opd_collector *collector, opd_watched *watched, const opd_shared_trigger *trigger);
/* Looks for a call in flight or a crash in an image whose process is gone. false: it ended well. */
bool opd_window_of_end(opd_shared_trigger *trigger, opd_collector *collector, opd_watched *watched, int wait_status);

/* Notes calls in flight, for the report, of an image whose process is gone otherwise than by a crash; what is before them is drained. */
void opd_flights_note(opd_collector *collector, const opd_watched *watched, int wait_status);

/* --- objects on disk */

/* Hex build-id of a file; "" when it has none. */
void opd_object_build_id(char *text, size_t size, const char *path);
/* "name+0x1f" of an address in a file loaded at base; "" when unknown. */
void opd_object_symbol(char *text, size_t size, const char *path, uint64_t base, uint64_t address);

typedef struct opd_object_facts {
    bool is_elf, is_static, is_setuid;
    bool needs_asan;  /* linked with a shared libasan */
    char asan[64];    /* its soname */
    char defines[64]; /* a BLAS routine it defines itself; "" = none */
    char unknown[64]; /* a name that looks like one but matches no pattern */
} opd_object_facts;
/* with_names: defines and unknown are looked for, in the symbol tables. */
void opd_object_examine(opd_object_facts *out, const char *path, bool with_names);

/* --- starting the program */

/*
 * Starts argv under the session; collector NULL: without one. errors: E_NOTFOUND, E_UNSUPPORTED (cannot be executed),
 * E_NOMEM no process or memory to be had, E_LIMIT no room in shared memory, E_IO there is no recorder to preload.
 */
opd_status opd_launch(int *pid, opd_collector *collector, const opd_record_options *options);
/* Full path of a program as execvp would find it; false when there is none. */
bool opd_launch_find(char *path, size_t size, const char *name);

/* Is the process the ancestor, or started by it, directly or not? */
bool opd_explain_is_descendant(int pid, int ancestor);
/* Adds to gaps what a process that has ended may have called unseen. */
void opd_explain_end(opd_collector *collector, const opd_process *process);

/* Fills report->why_nothing. */
void opd_explain_nothing(opd_collector *collector, const opd_record_options *options);
/* Notes descendants of the program that run without the recorder. */
void opd_explain_look(opd_collector *collector);

/* Recipes that were noted for the next call of a thread, until it comes. */
typedef struct opd_recipes {
    int count;
    struct {
        char operand[OPD_NAME];
        opd_fill fill;
    } items[OPD_MAX_OPERANDS];
} opd_recipes;
/* Takes an event of kind "recipe"; others are passed by. */
void opd_recipes_note(opd_recipes *recipes, const opd_event *event);
/* Writes those of operands of call that have a digest and no content, and forgets them all. */
opd_status opd_recipes_put(opd_recipes *recipes, opd_writer *writer, const opd_call *call);
/* The states of the generators that the process showed: contents by digest, and an event for each that names it. */
opd_status opd_generators_put(opd_writer *writer, const opd_process *process);

#endif
