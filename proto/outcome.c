/* SPDX-License-Identifier: Apache-2.0 */
/* Names of outcomes, as commands print them and file names carry them. */

#include <opsdebug/bundle.h>

static const char *const names[] = {
    [OPD_OUTCOME_OK] = "ok",
    [OPD_OUTCOME_NAN_BORN] = "nan",
    [OPD_OUTCOME_INF_BORN] = "inf",
    [OPD_OUTCOME_CRASH] = "crash",
    [OPD_OUTCOME_HANG] = "timeout",
    [OPD_OUTCOME_BAD_ARGS] = "contract",
    [OPD_OUTCOME_MISMATCH] = "mismatch",
    [OPD_OUTCOME_OOB_READ] = "oob-read",
    [OPD_OUTCOME_OOB_WRITE] = "oob-write",
    [9] = "reserved-9",
    [OPD_OUTCOME_UNSUPPORTED] = "unsupported",
    [OPD_OUTCOME_HARNESS] = "harness",
    [OPD_OUTCOME_REQUESTED] = "requested",
    [OPD_OUTCOME_INPUT_MUTATED] = "input-mutated",
    [OPD_OUTCOME_UNWRITTEN] = "unwritten",
    [OPD_OUTCOME_ALLOCATED] = "allocated",
    [OPD_OUTCOME_UNSTABLE] = "unstable",
    [OPD_OUTCOME_MODE] = "fp-mode",
    [18] = "reserved-18",
    [19] = "reserved-19",
    [OPD_OUTCOME_MAGNITUDE] = "magnitude",
};

const char *opd_outcome_name(opd_outcome outcome)
{
    return (unsigned)outcome < OPD_COUNT(names) ? names[outcome] : "?";
}
