/* SPDX-License-Identifier: Apache-2.0 */
/* How a variant behaves beside other runs of it: after one on NaN, and in several threads at once. All on copies of the call's operands. */
#ifndef OPD_REPLAYER_CONDUCT_H
#define OPD_REPLAYER_CONDUCT_H

#include <opsdebug/kernel.h>

/* Runs it once on inputs that are NaN wherever their type has one; the outputs are thrown away. errors: E_NOMEM, and the variant's own. */
opd_status opd_conduct_poison(const opd_variant *variant, const opd_call *call, int32_t threads);

/*
 * Runs it in several threads at once, each on inputs of its own (the call's, turned by some elements), many times, against the bits it gave alone.
 * *differing: runs that gave others, of *runs.
 * errors    E_NOMEM; the variant's own.
 */
opd_status opd_conduct_concurrent(uint64_t *runs, uint64_t *differing, const opd_variant *variant, const opd_call *call,
                                  uint32_t threads);

#endif
