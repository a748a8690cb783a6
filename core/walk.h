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

/*
 * Takes up to `most` further runs that are alike: each of the count and step of the run that opd_runs_next() returned last, and *row_step bytes
 * after the one before. Returns how many; 0 says nothing of what comes next, and leaves *row_step alone.
 */
int64_t opd_walk_take_rows(opd_runs *runs, int64_t most, int64_t *row_step);

/* Rows of elements, as they lie in the view. */
typedef struct opd_rows {
    int64_t rows, row_step; /* bytes from one row to the next */
    int64_t count, step;    /* elements of a row; bytes from one to the next */
    size_t size;            /* of an element */
} opd_rows;

/* Copies between such rows and dense memory. */
void opd_gather(uint8_t *dst, const uint8_t *src, const opd_rows *taken);
void opd_scatter(uint8_t *dst, const uint8_t *src, const opd_rows *taken);

#endif
