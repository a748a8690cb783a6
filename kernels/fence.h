/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of a definition between inaccessible pages, where opd_definition_fence() asked for them. */
#ifndef OPD_KERNELS_FENCE_H
#define OPD_KERNELS_FENCE_H

#include <opsdebug/kernel.h>

/* Does this thread want them? */
bool opd_fence_is_wanted(void);
/*
 * Puts the values and gauges of the arrays between pages, what they hold with them.
 * errors    E_NOMEM; the arrays that are moved already stay so: opd_fence_take_down().
 */
opd_status opd_fence_put_up(opd_array *arrays, int count);
/* errors: E_CHILD the definition wrote before the start of an array, or an output is made of what lies there; the text names it. */
opd_status opd_fence_check(const opd_call *call);
/* Copies what the arrays hold to where they came from, and unmaps them. */
void opd_fence_take_down(void);

#endif
