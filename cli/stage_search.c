/* SPDX-License-Identifier: Apache-2.0 */
/* Bisection over stages, some of which may be missing: a missing one is passed over towards the end it was asked for from. */
#include "stage_search.h"

#include <string.h>

#include <opsdebug/random.h>

typedef struct searching {
    opd_stage_search *found;
    opd_stage_probe *probe;
    void *context;
} searching;

static opd_status look(const searching *self, int stage)
{
    opd_stage_search *found = self->found;
    if (found->state[stage] != OPD_STAGE_UNKNOWN) {
        return OPD_OK;
    }
    found->probes++;
    return self->probe(self->context, stage, &found->state[stage]);
}

/* The first of from, from + step, ... before end that is not missing; -1 = none. */
static opd_status look_from(int *at, const searching *self, int from, int end, int step)
{
    opd_status status = OPD_OK;
    *at = -1;
    for (int i = from; i != end && *at < 0 && status == OPD_OK; i += step) {
        status = look(self, i);
        if (status == OPD_OK && self->found->state[i] != OPD_STAGE_MISSING) {
            *at = i;
        }
    }
    return status;
}

static opd_status look_at_all(const searching *self)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < self->found->count && status == OPD_OK; i++) {
        status = look(self, i);
    }
    return status;
}

/* What is known: the first wrong one, and whether none after it is right. */
static void conclude(opd_stage_search *found)
{
    found->first = -1;
    found->is_monotone = true;
    found->is_exhaustive = true;
    for (int i = 0; i < found->count; i++) {
        found->first = found->first < 0 && found->state[i] == OPD_STAGE_WRONG ? i : found->first;
        found->is_monotone &= found->first < 0 || found->state[i] != OPD_STAGE_RIGHT;
        found->is_exhaustive &= found->state[i] != OPD_STAGE_UNKNOWN;
    }
}

/* low is right or before the first, high is wrong or past the last. */
static opd_status halve(const searching *self, int low, int high)
{
    opd_status status = OPD_OK;
    while (high - low > 1 && status == OPD_OK) {
        int middle = low + (high - low) / 2;
        int at = -1;
        status = look_from(&at, self, middle, high, 1);
        if (status == OPD_OK && at >= 0 && self->found->state[at] != OPD_STAGE_WRONG) {
            low = at;
        } else {
            high = middle; /* the upper half is missing as a whole, or up to the wrong one that was found */
        }
    }
    return status;
}

static void begin(opd_stage_search *out, int count)
{
    memset(out, 0, sizeof *out);
    out->count = count < OPD_STAGE_SEARCH_LIMIT ? count : OPD_STAGE_SEARCH_LIMIT;
}

opd_status opd_stage_search_all(opd_stage_search *out, int count, opd_stage_probe *probe, void *context)
{
    const searching self = { .found = out, .probe = probe, .context = context };
    begin(out, count);
    opd_status status = look_at_all(&self);
    conclude(out);
    return status;
}

opd_status opd_stage_search_run(opd_stage_search *out, int count, bool is_bad, uint64_t seed, opd_stage_probe *probe,
                                void *context)
{
    const searching self = { .found = out, .probe = probe, .context = context };
    int low = -1;
    int high = -1;
    int between = -1;
    begin(out, count);
    opd_status status = look_from(&low, &self, 0, out->count, 1);
    if (status == OPD_OK && low >= 0) {
        status = look_from(&high, &self, out->count - 1, low, -1);
    }
    if (status == OPD_OK && high > low + 1) {
        int chosen = low + 1 + (int)(opd_random_u64(seed, 0, 0) % (uint64_t)(high - low - 1));
        status = look_from(&between, &self, chosen, high, 1);
    }
    conclude(out);
    bool is_over = status != OPD_OK || low < 0;
    if (!is_over && out->is_monotone && out->first > low) {
        status = halve(&self, between >= 0 && out->state[between] == OPD_STAGE_RIGHT ? between : low, out->first);
    }
    conclude(out);
    bool is_contradiction = !out->is_monotone || (out->first < 0 && is_bad);
    if (!is_over && status == OPD_OK && is_contradiction) {
        status = look_at_all(&self);
        conclude(out);
    }
    return status;
}
