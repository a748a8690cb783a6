/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a routine behaves beside its values: what it changed that is none of its outputs; and a variant after a run on NaN, and in several threads
 * at once, on copies of the call's operands.
 */
#ifndef OPD_REPLAYER_CONDUCT_H
#define OPD_REPLAYER_CONDUCT_H

#include <opsdebug/kernel.h>

#include "job.h"

/* Runs it once on inputs that are NaN wherever their type has one; the outputs are thrown away. errors: E_NOMEM, and the variant's own. */
opd_status opd_conduct_poison(const opd_variant *variant, const opd_call *call, int32_t threads);

/*
 * Runs it in several threads at once, each on inputs of its own (the call's, turned by some elements), many times, against the bits it gave alone.
 * *differing: runs that gave others, of *runs.
 * errors    E_NOMEM; the variant's own.
 */
opd_status opd_conduct_concurrent(uint64_t *runs, uint64_t *differing, const opd_variant *variant, const opd_call *call,
                                  uint32_t threads);

/* Bytes that changed and were not an output's, as a failure; one that is told already stays. */
void opd_conduct_stray(opd_failure *failure, const opd_call *call, const opd_job_stray *stray);

#endif
