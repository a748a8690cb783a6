/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reducer's oracle bound to replay: a candidate is judged by running it in a worker, a step is kept only after its
 * bundle was written, read back and judged again.
 */
#ifndef OPD_CLI_ORACLE_H
#define OPD_CLI_ORACLE_H

#include <opsdebug/reduce.h>
#include <opsdebug/replay.h>

typedef struct opd_trial_oracle {
    const opd_bundle *source;   /* environment and provider */
    opd_replay_options options; /* the way that shows the failure */
    opd_failure expected;
    char overflow[OPD_NAME]; /* operand whose offsets overflow, of a crash; "" = none */
    char label[OPD_NAME];    /* cause of a NaN or Inf, told by the operands alone; "" = no rule tells it */
    const char *path;        /* of the result; PATH.best holds the best so far */
    opd_lineage *lineage;    /* steps accepted so far */
    int lineage_count;
    uint32_t
        tries; /* runs of the final form until it must have failed: more than 1 for a failure that comes and goes */
    uint32_t bycatch_count;
    bool is_quiet;
    opd_module provider; /* that ran; replay of the result finds it as the recorded one */
} opd_trial_oracle;

/* Notes what besides the failure makes it the expected one; call shows it. After expected is set. */
void opd_trial_oracle_expect(opd_trial_oracle *oracle, const opd_call *call);

/* The provider of result, and what the source says of it besides. */
void opd_trial_oracle_provider(opd_trial_oracle *oracle, const opd_bundle *source, const opd_call *call,
                               const opd_replay_result *result);

/* The callbacks over oracle, which must outlive them. */
opd_oracle opd_trial_oracle_bind(opd_trial_oracle *oracle);
void opd_trial_oracle_done(opd_trial_oracle *oracle);

/*
 * Replays item once more and writes it as the finished bundle: environment, the call with its data and the digests it
 * leaves, failure, lineage. The bundle gets its name only after it was read back and failed again. *result is the replay;
 * the caller's.
 * errors    E_NOFAILURE it did not fail again, in memory or from disk; nothing is written, PATH.best stays.
 */
opd_status opd_trial_oracle_finish(opd_trial_oracle *oracle, opd_replay_result *result, const opd_case *item,
                                   const opd_failure *failure);

#endif
