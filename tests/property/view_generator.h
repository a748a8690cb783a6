/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random views over a buffer of their own, and what they hold by brute force: every index tuple, one by one, with the masks
 * spelled out element by element. Shares no code with core's walk.
 */
#ifndef OPD_TEST_VIEW_GENERATOR_H
#define OPD_TEST_VIEW_GENERATOR_H

#include <opsdebug/tensor.h>

typedef struct rng {
    uint64_t state;
} rng;

uint64_t rng_next(rng *r);
int64_t rng_between(rng *r, int64_t low, int64_t high); /* both included */

typedef struct sample {
    opd_tensor view;
    uint8_t *buffer; /* random bytes; owned */
    size_t bytes;
    int64_t *offsets; /* of the existing elements from view.data, ascending, each address once; owned */
    size_t count;
    size_t existing; /* index tuples that exist */
} sample;

/* Without a mask: rank 0..8; strides of any sign, gaps, stride 0, sizes 0 and 1. */
void sample_plain(sample *out, rng *r);
/* Overlapping windows: all strides are of one size. */
void sample_windows(sample *out, rng *r);
/* With a random mask of any kind. */
void sample_masked(sample *out, rng *r);
void sample_done(sample *item);

#endif
