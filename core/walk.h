/* SPDX-License-Identifier: Apache-2.0 */
/* Which walk opd_runs_begin() chose, and what it knows of it. */
#ifndef OPD_CORE_WALK_H
#define OPD_CORE_WALK_H

#include <opsdebug/tensor.h>

/* Forms of a walk; the numbers go into digest headers. Kept in runs->walk.mask.kind. */
enum {
    OPD_FORM_PLAIN = 0,  /* every element of the walk exists */
    OPD_FORM_SLOPE = 1,  /* triangle or band */
    OPD_FORM_PACKED = 2, /* packed triangle without its diagonal */
};

/* Elements the walk visits, stride-0 dims once. runs must be as opd_runs_begin() left it. */
int64_t opd_walk_count(const opd_runs *runs);

/* Copies between count elements of step bytes apart and dense memory. */
void opd_gather(void *dst, const void *src, int64_t count, int64_t step, size_t size);
void opd_scatter(void *dst, const void *src, int64_t count, int64_t step, size_t size);

#endif
