/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search for the smallest vector of sizes that still fails. Knows nothing of operators: sizes are integers, the question
 * is a callback, and the answer may be any function of the sizes (thresholds, tails, residues, volumes).
 */
#ifndef OPD_SHAPE_SEARCH_H
#define OPD_SHAPE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#define OPD_SEARCH_MAX 24

typedef struct opd_search {
    int count;
    int64_t value[OPD_SEARCH_MAX]; /* best so far: fails */
    int64_t least[OPD_SEARCH_MAX]; /* smallest size worth trying; <= value */
    const int64_t *tiles;          /* extra moduli beside the powers of two; may be NULL */
    int tile_count;
    /* Does the call still fail in the same way with these sizes? A repeated question should cost nothing. */
    bool (*probe)(void *context, const int64_t *value);
    /* A step is finished: value is better than before. False = the step did not hold and is taken back. May be NULL. */
    bool (*settle)(void *context, const int64_t *before, const int64_t *value);
    void *context;
} opd_search;

/* Shrinks value in place; true when anything shrank. Deterministic. */
bool opd_search_run(opd_search *search);
/* Shrinks one size only, others held: also used for strides, which have the same kinds of boundaries. */
bool opd_search_one(opd_search *search, int dim);

#endif
