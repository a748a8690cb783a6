/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health of a sample: the first elements in walk order, and random ones, one from each of as many equal parts of the walk, so that they come in
 * its order and no room is needed to sort them.
 */
#include <string.h>

#include <opsdebug/tensor.h>

#include "health.h"
#include "walk.h"

#define GATHERED 64 /* elements at a time */

typedef struct gathering {
    opd_health_state state;
    const uint8_t *data;
    size_t size; /* of an element */
    size_t count;
    _Alignas(64) uint8_t elements[GATHERED * 16];
} gathering;

static void flush(gathering *at)
{
    opd_health_update(&at->state, at->elements, at->count);
    at->count = 0;
}

static void take(gathering *at, int64_t offset)
{
    memcpy(at->elements + at->count * at->size, at->data + offset, at->size);
    if (++at->count == GATHERED) {
        flush(at);
    }
}

/* splitmix64 (public domain, Vigna) of seed and part. */
static uint64_t random_of(uint64_t seed, uint64_t part)
{
    uint64_t z = seed + (part + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Place in the walk of the random element of a part. */
static int64_t place_of(int64_t count, uint64_t seed, int64_t part)
{
    int64_t each = count / OPD_SAMPLE_RANDOM;
    int64_t more = count % OPD_SAMPLE_RANDOM;
    int64_t first = part * each + (part < more ? part : more);
    return first + (int64_t)(random_of(seed, (uint64_t)part) % (uint64_t)(each + (part < more)));
}

static void take_first(gathering *at, const opd_tensor *view)
{
    opd_runs runs;
    opd_run run;
    int64_t left = OPD_SAMPLE_FIRST;
    opd_runs_begin(&runs, view);
    while (left > 0 && opd_runs_next(&runs, &run)) {
        for (int64_t i = 0; i < run.count && left > 0; i++, left--) {
            take(at, run.offset + i * run.step);
        }
    }
}

/* Every element of the walk exists: an index tells where it lies. */
static void take_random_plain(gathering *at, const opd_runs *runs, int64_t count, uint64_t seed)
{
    const opd_tensor *walk = &runs->walk;
    for (int64_t part = 0; part < OPD_SAMPLE_RANDOM; part++) {
        int64_t place = place_of(count, seed, part);
        int64_t offset = runs->base;
        for (int32_t d = walk->rank - 1; d >= 0; d--) {
            offset += place % walk->shape[d] * walk->stride[d] * (int64_t)at->size;
            place /= walk->shape[d];
        }
        take(at, offset);
    }
}

static void take_random_walking(gathering *at, opd_runs *runs, int64_t count, uint64_t seed)
{
    opd_run run;
    int64_t before = 0; /* elements of the runs so far */
    int64_t part = 0;
    while (part < OPD_SAMPLE_RANDOM && opd_runs_next(runs, &run)) {
        for (; part < OPD_SAMPLE_RANDOM; part++) {
            int64_t place = place_of(count, seed, part);
            if (place >= before + run.count) {
                break;
            }
            take(at, run.offset + (place - before) * run.step);
        }
        before += run.count;
    }
}

/* A place in the sample as a place in the walk. */
static int64_t in_walk(int64_t place, int64_t count, uint64_t seed)
{
    return place < OPD_SAMPLE_FIRST ? place : place_of(count, seed, place - OPD_SAMPLE_FIRST);
}

bool opd_tensor_sample(opd_health *out, const opd_tensor *view, uint64_t seed)
{
    gathering at = { .data = view->data, .size = opd_dtype_size(view->dtype) };
    opd_runs runs;
    opd_runs_begin(&runs, view);
    int64_t count = opd_walk_count(&runs);
    if (count <= OPD_SAMPLE_FIRST + OPD_SAMPLE_RANDOM) {
        opd_tensor_health(out, view);
        return false;
    }
    opd_health_begin(&at.state, out, view->dtype, true);
    take_first(&at, view);
    if (runs.walk.mask.kind == OPD_FORM_PLAIN) {
        take_random_plain(&at, &runs, count, seed);
    } else {
        take_random_walking(&at, &runs, count, seed);
    }
    flush(&at);
    opd_health_end(&at.state);
    out->first_nan = out->first_nan < 0 ? out->first_nan : in_walk(out->first_nan, count, seed);
    out->first_inf = out->first_inf < 0 ? out->first_inf : in_walk(out->first_inf, count, seed);
    return true;
}
