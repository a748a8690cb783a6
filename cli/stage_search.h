/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the first wrong one of a row of stages: by halves, as long as what is found agrees with "right up to one place, wrong from there
 * on", which is tried beyond what the halves need; else one by one. Runs nothing itself.
 */
#ifndef OPD_CLI_STAGE_SEARCH_H
#define OPD_CLI_STAGE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/status.h>

typedef enum opd_stage_state { OPD_STAGE_UNKNOWN, OPD_STAGE_RIGHT, OPD_STAGE_WRONG, OPD_STAGE_MISSING } opd_stage_state;

/* What a stage is; MISSING: it cannot be had. errors: end the search. */
typedef opd_status opd_stage_probe(void *context, int stage, opd_stage_state *state);

#define OPD_STAGE_SEARCH_LIMIT 64
typedef struct opd_stage_search {
    opd_stage_state state[OPD_STAGE_SEARCH_LIMIT]; /* UNKNOWN: not tried */
    int count, probes;
    int first;          /* wrong; -1 = none found */
    bool is_monotone;   /* nothing tried after it is right */
    bool is_exhaustive; /* all were tried */
} opd_stage_search;

/*
 * Both ends first, and one between chosen by seed; then by halves. Where these contradict each other, or the ends are right, and is_bad (the
 * results are wrong): one by one.
 */
opd_status opd_stage_search_run(opd_stage_search *out, int count, bool is_bad, uint64_t seed, opd_stage_probe *probe,
                                void *context);
/* All of them, one by one. */
opd_status opd_stage_search_all(opd_stage_search *out, int count, opd_stage_probe *probe, void *context);

#endif
