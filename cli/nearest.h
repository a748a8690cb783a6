/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the known words was meant by one that is none of them. */
#ifndef OPD_CLI_NEAREST_H
#define OPD_CLI_NEAREST_H

#include <stdbool.h>

typedef struct opd_nearest {
    const char *word;          /* that was given */
    const char *domain, *name; /* the most similar so far; NULL = none. domain: "" = it has none */
    int distance;
} opd_nearest;

/* Tries a known word. memory: both texts are kept, not copied. */
void opd_nearest_try(opd_nearest *nearest, const char *domain, const char *name);
/* Is it so similar that asking "did you mean" helps? */
bool opd_nearest_is_meant(const opd_nearest *nearest);

#endif
