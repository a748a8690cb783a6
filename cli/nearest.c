/* SPDX-License-Identifier: Apache-2.0 */
/* Similarity of words: changes of single characters, letters of either case being the same. */
#include "nearest.h"

#include <string.h>

#include <opsdebug/memory.h>

enum { FAR = 99 };

static int distance_of(const char *a, const char *b)
{
    int row[64];
    int size = (int)strlen(b);
    if (size >= (int)OPD_COUNT(row)) {
        return FAR;
    }
    for (int i = 0; i <= size; i++) {
        row[i] = i;
    }
    for (int k = 1; a[k - 1] != '\0'; k++) {
        int diagonal = row[0];
        row[0] = k;
        for (int i = 1; i <= size; i++) {
            bool is_same = (a[k - 1] | 32) == (b[i - 1] | 32);
            int best = diagonal + (is_same ? 0 : 1);
            best = row[i] + 1 < best ? row[i] + 1 : best;
            best = row[i - 1] + 1 < best ? row[i - 1] + 1 : best;
            diagonal = row[i];
            row[i] = best;
        }
    }
    return row[size];
}

void opd_nearest_try(opd_nearest *nearest, const char *domain, const char *name)
{
    int distance = distance_of(nearest->word, name);
    if (nearest->name == NULL || distance < nearest->distance) {
        nearest->domain = domain;
        nearest->name = name;
        nearest->distance = distance;
    }
}

bool opd_nearest_is_meant(const opd_nearest *nearest)
{
    return nearest->name != NULL && nearest->distance <= 3 && 3 * nearest->distance <= (int)strlen(nearest->word) + 1;
}
