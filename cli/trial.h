/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trials: the options, loading and wording that every command which runs a call shares (replay, reduce, diagnose).
 */
#ifndef OPD_CLI_TRIAL_H
#define OPD_CLI_TRIAL_H

#include <argp.h>
#include <stdio.h>

#include <opsdebug/reduce.h>
#include <opsdebug/replay.h>

#include "source.h"

enum {
    OPD_KEY_CALL = 0x2000,
    OPD_KEY_LIBRARY,
    OPD_KEY_CORE,
    OPD_KEY_THREADS,
    OPD_KEY_ISA,
    OPD_KEY_GUARD,
    OPD_KEY_REPEAT,
    OPD_KEY_TIMEOUT,
    OPD_KEY_TRIAL_VARIANT,
};

/* Rows of a command's option table. */
#define OPD_TRIAL_OPTIONS                                                                                         \
    { "call", OPD_KEY_CALL, "N", 0, "The call: NUMBER or THREAD:NUMBER of show; default: the failing one", 0 },   \
        { "library",                                                                                              \
          OPD_KEY_LIBRARY,                                                                                        \
          "L",                                                                                                    \
          0,                                                                                                      \
          "Run it on: a path, openblas, blis, netlib or naive; default: as recorded",                             \
          0 },                                                                                                    \
        { "variant", OPD_KEY_TRIAL_VARIANT, "NAME", 0, "Of an operator outside BLAS: a variant of ops NAME", 0 }, \
        { "core", OPD_KEY_CORE, "NAME", 0, "OpenBLAS core (OPENBLAS_CORETYPE), such as Haswell", 0 },             \
        { "isa",                                                                                                  \
          OPD_KEY_ISA,                                                                                            \
          "NAME",                                                                                                 \
          0,                                                                                                      \
          "oneDNN: instruction set (DNNL_MAX_CPU_ISA), such as SSE41; layouts are then left to it",               \
          0 },                                                                                                    \
        { "threads", OPD_KEY_THREADS, "N", 0, "Threads of the library; default: as recorded", 0 },                \
        { "repeat", OPD_KEY_REPEAT, "N", 0, "Run it N times in one process and compare the results", 0 },         \
        { "guard", OPD_KEY_GUARD, NULL, 0, "End and start each operand at an inaccessible page", 0 },             \
    {                                                                                                             \
        "timeout", OPD_KEY_TIMEOUT, "SECONDS", 0, "Time limit of one run, default 60", 0                          \
    }

typedef struct opd_trial_options {
    const char *call;
    opd_replay_options replay;
} opd_trial_options;
/* opd_replay_progress: on the progress line, once a stage takes seconds. */
void opd_trial_progress(void *context, const char *what, uint64_t elapsed_ms);
#define OPD_TRIAL_OPTIONS_INIT                                   \
    {                                                            \
        .replay = {.repeat = 1, .progress = opd_trial_progress } \
    }

/* ARGP_ERR_UNKNOWN when the key is none of ours. */
error_t opd_trial_parse(int key, const char *arg, const struct argp_state *state, opd_trial_options *options);

/*
 * The case of a subject, whose operator is looked up again in the library of options when this build does not know it. The error text names bundle
 * and call.
 */
opd_status opd_trial_fetch(opd_case *out, const opd_bundle *bundle, opd_subject *subject,
                           const opd_replay_options *options);
/* The same; where sizes that come of integers of the wrong width are too much for memory, the text names the command that says so. */
opd_status opd_trial_load(opd_case *out, const opd_bundle *bundle, opd_subject *subject,
                          const opd_replay_options *options);

/* What a replay says, in one line, and the exit status it means. */
typedef struct opd_answer {
    const char *text;
    int exit_status;
} opd_answer;
/* Of a subject whose recorded outputs are expected values the reference decides. */
opd_answer opd_trial_answer(const opd_replay_result *result, const opd_subject *subject);

/* "openblas 0.3.21 at PATH, core HASWELL, 2 threads" */
void opd_trial_describe_provider(char *text, size_t size, const opd_replay_result *result);

/*
 * Runs a case the way that shows its failure: as options say; if nothing goes wrong and no guard was asked for, under guard pages.
 * options->guard becomes what was needed, the rule that of the subject, which must live as long. *expected is the recorded failure, or else the one observed. Under guards a oneDNN primitive is run with one thread
 * first: an access out of bounds that shows then is *expected, and options->threads becomes 1.
 * errors    E_NOFAILURE none of the ways fails; result is filled then too.
 */
opd_status opd_trial_provoke(opd_replay_result *result, opd_failure *expected, opd_replay_options *options,
                             const opd_bundle *bundle, const opd_case *item, const opd_subject *subject);

/*
 * Runs a case that a replay has found a finding in again in other ways: repeatedly, with one thread, with other kernels. found: that
 * replay, run as options say. What cannot be run is left out; a call that does not return is not run again.
 */
void opd_trial_experiment(opd_experiments *tried, const opd_replay_result *found, const opd_replay_options *options,
                          const opd_bundle *bundle, const opd_case *item);

/* Is an option of another kind of call than this? Of oneDNN --isa, of OpenBLAS --core. errors: E_INVALID: it is, and says which. */
opd_status opd_trial_check_concern(bool *is_unconcerned, const opd_call *call, const opd_replay_options *options);

/* The line of the reference: how far from it the result is, and where most. was_lazy: it was not run, as the bits are the recorded ones. */
void opd_trial_print_numbers(const opd_numbers *numbers, bool was_lazy);

/* Appends the options that repeat this trial: " --guard --core Haswell". */
void opd_trial_print_options(FILE *to, const opd_trial_options *options);

/* A name for the reduced form of the bundle at path, without suffix: not that of the bundle itself. */
const char *opd_trial_reduced_stem(const char *path);

/*
 * "next: ops-debug reduce PATH ...", such that it reduces the failure that result shows, when it shows one. Of a failure that is reduced
 * already: nothing.
 */
void opd_trial_print_reduce(const char *path, const opd_trial_options *options, const opd_replay_result *result,
                            const opd_subject *subject);

#endif
