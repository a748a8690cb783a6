/* SPDX-License-Identifier: Apache-2.0 */
/* Names: the verdict in one word, the labels of references. */
#include <opsdebug/memory.h>

#include "job.h"

const char *opd_sureness_name(opd_sureness sureness)
{
    static const char *const names[] = {
        [OPD_SURENESS_NONE] = "NONE",           [OPD_SURENESS_EXACT] = "EXACT",
        [OPD_SURENESS_CERTIFIED] = "CERTIFIED", [OPD_SURENESS_HIGH] = "HIGH",
        [OPD_SURENESS_SAME] = "SAME",           [OPD_SURENESS_GOLDEN] = "GOLDEN",
        [OPD_SURENESS_SUSPECT] = "SUSPECT",     [OPD_SURENESS_CONFLICT] = "CONFLICT",
    };
    return (unsigned)sureness < OPD_COUNT(names) ? names[sureness] : "NONE";
}

const char *opd_replay_word(const opd_replay_result *result)
{
    static const char *const names[] = {
        [OPD_OUTCOME_NAN_BORN] = "NAN",
        [OPD_OUTCOME_INF_BORN] = "INF",
        [OPD_OUTCOME_CRASH] = "CRASH",
        [OPD_OUTCOME_HANG] = "TIMEOUT",
        [OPD_OUTCOME_BAD_ARGS] = "BAD_ARGS",
        [OPD_OUTCOME_MISMATCH] = "FAIL",
        [OPD_OUTCOME_OOB_READ] = "OOB_READ",
        [OPD_OUTCOME_OOB_WRITE] = "OOB_WRITE",
        [OPD_OUTCOME_UNSUPPORTED] = "UNSUPPORTED",
        [OPD_OUTCOME_HARNESS] = "NO_VERDICT",
        [OPD_OUTCOME_INPUT_MUTATED] = "INPUT_MUTATED",
        [OPD_OUTCOME_UNWRITTEN] = "UNWRITTEN",
        [OPD_OUTCOME_ALLOCATED] = "ALLOCATED",
        [OPD_OUTCOME_UNSTABLE] = "UNSTABLE",
        [OPD_OUTCOME_MODE] = "FP_MODE",
    };
    unsigned outcome = (unsigned)result->observed.outcome;
    if (outcome != OPD_OUTCOME_OK) {
        return outcome < OPD_COUNT(names) && names[outcome] != NULL ? names[outcome] : "FAIL";
    }
    if (!result->numbers.is_valid) {
        return "UNJUDGED";
    }
    if (result->mistrust[0] != '\0') {
        return "MISTRUSTED";
    }
    return result->numbers.ratio > OPD_PASS_RATIO && !result->opinion.is_deciding ? "PASS_ACCUM" : "PASS";
}
