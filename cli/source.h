/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a command's input comes from: the bundles of a path, and the call of a bundle that a command is about.
 */
#ifndef OPD_CLI_SOURCE_H
#define OPD_CLI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include <opsdebug/bundle.h>

#include "command.h"
#include "ruling.h"

#define OPD_EVENT_GUARD "guard" /* kind of the event of a reduced bundle whose failure was seen under guard pages */

/* kind of the event of a call whose recorded outputs are expected values, not those of a run; its value is the call's number, its name their maker */
#define OPD_EVENT_GOLDEN "golden"

/* Paths, in the order they came. */
typedef struct opd_path_list {
    char **items;
    size_t count;
} opd_path_list;

/* Paths of bundles, those of a folder sorted by name. */
typedef struct opd_paths {
    char **items;
    size_t count;
    opd_path_list folders; /* that they came from */
} opd_paths;

/*
 * Adds path itself, or of a directory every bundle in it, complete or torn.
 * errors    E_NOTFOUND the path, or a directory without any bundle, with what is waiting for it; E_IO.
 */
opd_status opd_paths_add(opd_paths *paths, const char *path);
/* Says of each folder, unless quiet, that recordings into it were killed whose calls are still to be salvaged. */
void opd_paths_mention_waiting(const opd_paths *paths, const opd_shared *shared);
void opd_paths_done(opd_paths *paths);
bool opd_path_is_directory(const char *path);

/* Files that a command over many went on without. */
typedef struct opd_unread {
    opd_paths paths;
    opd_paths reasons; /* of each */
} opd_unread;

/* Says on standard error that path could not be read, with the thread's error text, and keeps it. */
void opd_unread_add(opd_unread *unread, const char *path);
/* "2 of 5 files could not be read" on standard output, when there is any. missing: of the unread, arguments that led to no file. */
void opd_unread_print(const opd_unread *unread, size_t missing, size_t files);
void opd_unread_done(opd_unread *unread);

/*
 * Opens a bundle and says on standard error when it is torn or damaged, unless quiet: open verifies every record, also the data
 * that the command will not read; glance, for many bundles at a time, what opening reads. The error text names the path.
 */
opd_status opd_source_open(opd_bundle **out, const char *path, const opd_shared *shared);
opd_status opd_source_glance(opd_bundle **out, const char *path, const opd_shared *shared);
/*
 * Has damage left anything to work on? A bundle that was written whole may be without calls, a list of a run's calls that is still
 * written has none yet, and a failure need not have one.
 * errors    E_NOTFOUND no call is left, and no failure that happened outside of calls.
 */
opd_status opd_source_check_left(const opd_bundle *bundle);

/* The call a command is about, and its failure. */
typedef struct opd_subject {
    uint64_t position; /* in the bundle */
    opd_call call;
    bool is_reduced;     /* the bundle is the outcome of a reduction */
    bool is_golden;      /* its recorded outputs are expected values (OPD_EVENT_GOLDEN) */
    char golden_by[96];  /* what made them */
    opd_ruling ruling;   /* what it was judged by (OPD_EVENT_RULE) */
    bool has_failure;    /* a real one, not a window that was asked for */
    opd_failure failure; /* outcome OPD_OUTCOME_OK when there is none */
} opd_subject;

/* Is it "NUMBER" or "THREAD:NUMBER", as `show` prints calls? Else ends the program by opd_usage_error. */
void opd_selector_check(const struct argp_state *state, const char *selector);
/*
 * Finds a call. selector: as opd_selector_check() has it; NULL = the first failing call, else the only call.
 * errors    E_NOTFOUND, E_INVALID (ambiguous), E_SYNTAX; the text says what to give.
 */
opd_status opd_subject_find(opd_subject *out, const opd_bundle *bundle, const char *selector);
/* The subject at a position. */
opd_status opd_subject_at(opd_subject *out, const opd_bundle *bundle, uint64_t position);
/* Has the bundle a real failure with a call? */
bool opd_source_has_failure(const opd_bundle *bundle);
/* Does it record failures, but of no call: a crash elsewhere in the program? */
bool opd_source_fails_outside(const opd_bundle *bundle);
/* Says so, where calls are about to be run all the same. */
void opd_source_remark_outside(const opd_bundle *bundle);
/* Can the call be replayed: its operator is known and no operand that must be read lacks data? */
bool opd_source_is_replayable(const opd_bundle *bundle, const opd_call *call);
/* Is there a failing call at path that can be replayed? */
bool opd_source_can_replay(const char *path);

/* Is there any call whose operands can be found? */
bool opd_source_keeps_operands(const opd_bundle *bundle);
/* Is it the list of a run's calls, which keeps no operands? */
bool opd_source_is_list(const opd_bundle *bundle);
/* The options of record that would have kept the operands that this bundle lacks: "--trigger exit"; "" when none is known. */
void opd_source_keeping_options(char *text, size_t size, const opd_bundle *bundle);
/* Has the bundle expected values of any call? */
bool opd_source_is_golden(const opd_bundle *bundle);
/* Was the failure of a reduced bundle seen under guard pages? */
bool opd_source_is_guarded(const opd_bundle *bundle);
/* The bundle's path as a shell's word, with the options that its failure needs to come back: "min.opsb --guard". */
void opd_source_phrase(char *text, size_t size, const opd_bundle *bundle);

#endif
