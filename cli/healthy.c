/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right variants verified. All probes of all of them are one long list, through which a step that has no common factor with its length goes, so that few
 * runs are spread over everything and many repeat nothing before all was there. On the way half of the probes get another dtype, half another fill.
 */
#include "healthy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>

#include "screen.h"
#include "trying.h"

enum { DTYPE_TRIES = 4, MOST_IDLE = 50, STREAM = 77 /* of the choices, not of the inputs */ };

/* A variant and its part of the list. */
typedef struct subject {
    const opd_op *op;
    const opd_variant *variant;
    opd_probe_list probes;
    uint64_t first; /* number of its first probe */
} subject;

typedef struct pool {
    const opd_healthy *wish;
    subject *subjects;
    int count;
    uint64_t total, step;
    atomic_ullong next, runs;
    pthread_mutex_t lock;
    opd_healthy_tally tally; /* under the lock */
} pool;

static uint64_t common_factor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static opd_status add_subject(pool *to, const opd_op *op, const opd_variant *variant)
{
    opd_status status = opd_grow((void **)&to->subjects, (size_t)to->count + 1, sizeof *to->subjects);
    if (status != OPD_OK) {
        return status;
    }
    subject *added = &to->subjects[to->count];
    *added = (subject){ .op = op, .variant = variant, .first = to->total };
    status = opd_probes_make(&added->probes, op, variant->widths, true);
    if (status == OPD_OK) {
        to->count++;
        to->total += (uint64_t)added->probes.count;
    }
    return status;
}

static opd_status gather(pool *to)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < opd_op_count() && status == OPD_OK; i++) {
        const opd_op *op = opd_op_at(i);
        const opd_kernel *kernel = opd_kernel_find(op->domain, op->name);
        const opd_variant *variant = NULL;
        int before = to->count;
        bool is_wanted = to->wish->only == NULL || to->wish->only == op;
        for (int k = 0; is_wanted && kernel != NULL && status == OPD_OK; k++) {
            variant = opd_kernel_variant(kernel, k);
            if (variant == NULL) {
                break;
            }
            if (opd_variant_is_choice(variant) && opd_isa_missing(variant->isa) == NULL) {
                status = add_subject(to, op, variant);
            }
        }
        to->tally.operators += to->count > before;
    }
    to->tally.variants = to->count;
    if (status == OPD_OK && to->total == 0 && to->wish->only != NULL) {
        return opd_fail(OPD_E_NAME, "%s.%s has no right variant to try on this CPU; ops-debug ops %s lists them",
                        to->wish->only->domain, to->wish->only->name, to->wish->only->name);
    }
    to->step = (uint64_t)((double)to->total * 0.6180339887498949) | 1;
    while (status == OPD_OK && common_factor(to->step, to->total) != 1) {
        to->step += 2;
    }
    return status;
}

static const subject *find_subject(const pool *in, uint64_t number)
{
    int low = 0;
    int high = in->count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (in->subjects[middle].first <= number) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &in->subjects[low];
}

/* Another dtype that the operator has, for these shapes and attributes; most of the time there is one. */
static void vary_dtype(opd_probe *probe, const opd_op *op, uint64_t bits)
{
    for (int i = 0; i < DTYPE_TRIES; i++, bits >>= 8) {
        opd_call made;
        opd_call_wish wish = { .dtype = (opd_dtype)(OPD_F16 + (int)(bits & 0xff) % (OPD_BOOL - OPD_F16 + 1)),
                               .shapes = probe->shapes[0] != '\0' ? probe->shapes : NULL,
                               .attributes = probe->attributes[0] != '\0' ? probe->attributes : NULL };
        if (opd_call_make(&made, op, &wish) == OPD_OK) {
            probe->dtype = wish.dtype;
            return;
        }
    }
}

static opd_probe vary(const opd_probe *from, const opd_op *op, uint64_t seed)
{
    opd_probe probe = *from;
    uint64_t bits = opd_random_u64(seed, STREAM, 0);
    if (probe.dtype == OPD_DTYPE_NONE && (bits & 1) != 0) {
        vary_dtype(&probe, op, opd_random_u64(seed, STREAM, 1));
    }
    if (probe.fill[0] == '\0' && (bits & 2) != 0) {
        snprintf(probe.fill, sizeof probe.fill, "%s", opd_probe_fill_at((int)(bits >> 8 & 0xffff)));
    }
    return probe;
}

static void note(pool *to, const subject *of, const opd_probe *probe, uint64_t seed, const opd_finding *finding)
{
    pthread_mutex_lock(&to->lock);
    opd_healthy_tally *tally = &to->tally;
    if (finding->status != OPD_OK) {
        if (tally->refused++ == 0) {
            snprintf(tally->error, sizeof tally->error, "%s", finding->error);
        }
    } else {
        tally->runs++;
        for (int i = 0; i < OPD_PEER_COUNT; i++) {
            tally->peer_alarms[i] += opd_peer_is_broken(finding, i);
        }
        if (opd_finding_is_failure(finding)) {
            tally->alarms++;
            to->wish->alarm(to->wish->context, of->op, of->variant, probe, seed, finding);
        }
    }
    pthread_mutex_unlock(&to->lock);
}

/* What cannot be called that way, or is declined, is no verification and is not counted. */
static void *carry_out(void *context)
{
    pool *self = context;
    const opd_healthy *wish = self->wish;
    opd_finding finding;
    while (atomic_load(&self->runs) < wish->wanted) {
        uint64_t number = atomic_fetch_add(&self->next, 1);
        if (number > MOST_IDLE * (wish->wanted + 100)) {
            break;
        }
        uint64_t seed = wish->seed + number;
        uint64_t place =
            (opd_random_u64(wish->seed, STREAM, 0) % self->total + number % self->total * self->step) % self->total;
        const subject *of = find_subject(self, place);
        opd_probe probe = vary(&of->probes.items[place - of->first], of->op, seed);
        const opd_probe_way way = { .variant = of->variant->name, .seed = seed, .peers = opd_peer_presets };
        opd_probe_run(&finding, of->op, &probe, &way);
        if (finding.status == OPD_E_INVALID || finding.status == OPD_E_DECLINED) {
            continue;
        }
        uint64_t done = atomic_fetch_add(&self->runs, 1) + 1;
        opd_progress("right variants: %llu of %llu", (unsigned long long)done, (unsigned long long)wish->wanted);
        note(self, of, &probe, seed, &finding);
    }
    return NULL;
}

opd_status opd_healthy_try(opd_healthy_tally *out, const opd_healthy *healthy)
{
    pool shared = { .wish = healthy, .lock = PTHREAD_MUTEX_INITIALIZER };
    opd_status status = gather(&shared);
    if (status == OPD_OK) {
        opd_try_on_threads(healthy->jobs, carry_out, &shared);
        *out = shared.tally;
    }
    for (int i = 0; i < shared.count; i++) {
        opd_probes_done(&shared.subjects[i].probes);
    }
    opd_free(shared.subjects);
    return status;
}
