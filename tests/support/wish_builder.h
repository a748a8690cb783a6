/* SPDX-License-Identifier: Apache-2.0 */
/* Wishes for random calls: choices that depend on a seed only, and the texts they are put into. */
#ifndef OPD_TEST_WISH_BUILDER_H
#define OPD_TEST_WISH_BUILDER_H

#include <stdint.h>

#include <opsdebug/tensor.h>

typedef struct wish_builder {
    uint64_t seed, drawn;
    char shapes[256], attributes[256];
    int rank;
    int64_t shape[OPD_MAX_RANK];
} wish_builder;

/* A whole number in [low, high]. */
int64_t pick(wish_builder *at, int64_t low, int64_t high);
/* Adds to a text: formatted, or "[1,2]". */
void say(char text[256], const char *format, ...) OPD_PRINTF(2, 3);
void say_list(char text[256], int count, const int64_t *values);

#endif
