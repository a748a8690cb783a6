/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of a call run after NaN and at once (state that outlives a call, scratch memory that threads share); stray writes in words. */
#include "conduct.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opsdebug/memory.h>

#include "trap.h"

enum { LEAST_ROUNDS = 4, MOST_ROUNDS = 60, MAX_THREADS = 16 };
#define ENOUGH_NS UINT64_C(2000000000) /* of all runs together */

/* A call on memory of its own. */
typedef struct twin {
    opd_call call;
    void *memory[OPD_MAX_OPERANDS];
    void *block; /* of the workspace */
    opd_workspace workspace;
    void *alone[OPD_MAX_OPERANDS]; /* packed outputs of the run alone */
    void *now;                     /* room for one */
    size_t now_bytes;
    const opd_variant *variant;
    atomic_bool *is_on; /* the others are ready too */
    int rounds;
    uint64_t differing;
    opd_status status;
} twin;

static void twin_done(twin *self)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(self->memory[i]);
        opd_free(self->alone[i]);
    }
    opd_free(self->block);
    opd_free(self->now);
}

/* Packed elements of a float type, turned by some places: other data of the same kind. */
static void turn(void *packed, const void *from, const opd_tensor *view, int64_t places)
{
    size_t size = opd_dtype_size(view->dtype);
    size_t bytes = (size_t)opd_tensor_packed_bytes(view);
    size_t shift = bytes > 0 && opd_dtype_is_float(view->dtype) ? (size_t)places * size % bytes : 0;
    memcpy((uint8_t *)packed + shift, from, bytes - shift);
    memcpy(packed, (const uint8_t *)from + bytes - shift, shift);
}

static opd_status copy_operand(twin *self, int index, const opd_operand *from, int64_t places)
{
    opd_tensor *view = &self->call.operands[index].view;
    int64_t low = 0;
    int64_t high = 0;
    size_t bytes = (size_t)opd_tensor_packed_bytes(view);
    void *packed[2] = { NULL, NULL };
    opd_tensor_span(view, &low, &high);
    opd_status status = opd_alloc(&self->memory[index], (size_t)(high - low) + 64);
    for (int i = 0; i < 2 && status == OPD_OK; i++) {
        status = opd_alloc(&packed[i], bytes);
    }
    if (status == OPD_OK) {
        view->data = (uint8_t *)self->memory[index] - low;
        view->storage = NULL;
        view->storage_bytes = 0;
        self->now_bytes = bytes > self->now_bytes ? bytes : self->now_bytes;
        if (from->role != OPD_ROLE_OUT) {
            opd_tensor_pack(packed[0], &from->view);
            turn(packed[1], packed[0], view, places);
            opd_tensor_unpack(view, packed[1]);
        }
    }
    opd_free(packed[0]);
    opd_free(packed[1]);
    return status;
}

/* Are the outputs those of call still? Shapes may hang on contents (scales of Resize), which then must not be turned. */
static bool has_same_outputs(const twin *self, const opd_call *call)
{
    opd_call bound = self->call;
    bool is_same = opd_call_bind(&bound) == OPD_OK;
    for (int i = 0; i < call->operand_count && is_same; i++) {
        const opd_tensor *a = &bound.operands[i].view;
        const opd_tensor *b = &call->operands[i].view;
        is_same = a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]) == 0;
    }
    return is_same;
}

static opd_status copy_operands(twin *self, const opd_call *call, int64_t places)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        if (call->operands[i].view.data != NULL) {
            status = copy_operand(self, i, &call->operands[i], places);
        }
    }
    return status;
}

static opd_status twin_make(twin *out, const opd_variant *variant, const opd_call *call, int32_t threads,
                            int64_t places)
{
    *out = (twin){ .call = *call, .variant = variant, .workspace = { .threads = threads } };
    opd_status status = copy_operands(out, call, places);
    if (status == OPD_OK && places > 0 && !has_same_outputs(out, call)) {
        twin_done(out);
        *out = (twin){ .call = *call, .variant = variant, .workspace = { .threads = threads } };
        status = copy_operands(out, call, 0);
    }
    out->workspace.size = variant->workspace != NULL ? variant->workspace(call, threads) : 0;
    if (status == OPD_OK && out->workspace.size > 0) {
        status = opd_alloc(&out->block, out->workspace.size + 127);
        out->workspace.bytes = (void *)(((uintptr_t)out->block + 63) & ~(uintptr_t)63);
    }
    if (status == OPD_OK) {
        status = opd_alloc(&out->now, out->now_bytes + 1);
    }
    return status;
}

static void fill_nan(const opd_tensor *view)
{
    opd_fill fill = { .kind = OPD_FILL_CONSTANT, .a = (double)NAN };
    if (opd_dtype_is_float(view->dtype)) {
        opd_tensor_fill(view, &fill);
    }
}

opd_status opd_conduct_poison(const opd_variant *variant, const opd_call *call, int32_t threads)
{
    twin copy;
    opd_status status = twin_make(&copy, variant, call, threads, 0);
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        if (copy.memory[i] != NULL && call->operands[i].role != OPD_ROLE_OUT) {
            fill_nan(&copy.call.operands[i].view);
        }
    }
    if (status == OPD_OK) {
        status = opd_variant_run(variant, &copy.call, &copy.workspace);
    }
    twin_done(&copy);
    return status;
}

static bool is_output(const twin *self, int index)
{
    return self->memory[index] != NULL && self->call.operands[index].role != OPD_ROLE_IN;
}

static opd_status run_alone(twin *self, uint32_t threads)
{
    uint64_t begin = opd_trap_time(CLOCK_MONOTONIC);
    opd_status status = opd_variant_run(self->variant, &self->call, &self->workspace);
    uint64_t rounds = ENOUGH_NS / threads / (opd_trap_time(CLOCK_MONOTONIC) - begin + 1);
    self->rounds = rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds < LEAST_ROUNDS ? LEAST_ROUNDS : (int)rounds;
    for (int i = 0; i < self->call.operand_count && status == OPD_OK; i++) {
        const opd_tensor *view = &self->call.operands[i].view;
        if (is_output(self, i)) {
            status = opd_alloc(&self->alone[i], (size_t)opd_tensor_packed_bytes(view) + 1);
        }
        if (is_output(self, i) && status == OPD_OK) {
            opd_tensor_pack(self->alone[i], view);
        }
    }
    return status;
}

static void *run_often(void *context)
{
    twin *self = context;
    while (!atomic_load(self->is_on)) {
    }
    for (int round = 0; round < self->rounds && self->status == OPD_OK; round++) {
        bool is_other = false;
        self->status = opd_variant_run(self->variant, &self->call, &self->workspace);
        for (int i = 0; i < self->call.operand_count && self->status == OPD_OK; i++) {
            const opd_tensor *view = &self->call.operands[i].view;
            if (is_output(self, i)) {
                opd_tensor_pack(self->now, view);
                is_other |= memcmp(self->now, self->alone[i], (size_t)opd_tensor_packed_bytes(view)) != 0;
            }
        }
        self->differing += is_other;
    }
    return NULL;
}

opd_status opd_conduct_concurrent(uint64_t *runs, uint64_t *differing, const opd_variant *variant, const opd_call *call,
                                  uint32_t threads)
{
    twin copies[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    atomic_bool is_on = false;
    uint32_t made = 0;
    uint32_t started = 0;
    opd_status status = OPD_OK;
    threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    for (; made < threads && status == OPD_OK; made++) {
        status = twin_make(&copies[made], variant, call, 1, (int64_t)made);
        copies[made].is_on = &is_on;
        if (status == OPD_OK) {
            status = run_alone(&copies[made], threads);
        }
    }
    while (status == OPD_OK && started < threads &&
           pthread_create(&ids[started], NULL, run_often, &copies[started]) == 0) {
        started++;
    }
    atomic_store(&is_on, true);
    *runs = 0;
    *differing = 0;
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(ids[i], NULL);
        status = copies[i].status != OPD_OK ? copies[i].status : status;
        *runs += (uint64_t)copies[i].rounds;
        *differing += copies[i].differing;
    }
    for (uint32_t i = 0; i < made; i++) {
        twin_done(&copies[i]);
    }
    return status;
}

void opd_conduct_stray(opd_failure *failure, const opd_call *call, const opd_job_stray *stray)
{
    const char *name = stray->operand == OPD_JOB_WORKSPACE ? opd_job_scratch_name(call)
                       : stray->operand >= 0               ? call->operands[stray->operand].name
                                                           : "?";
    if (!stray->is_found || failure->outcome != OPD_OUTCOME_OK) {
        return;
    }
    snprintf(failure->operand, sizeof failure->operand, "%s", name);
    failure->bad_count = stray->bytes;
    failure->outcome = stray->is_input ? OPD_OUTCOME_INPUT_MUTATED : OPD_OUTCOME_OOB_WRITE;
    if (stray->is_input) {
        failure->index_rank = call->operands[stray->operand].view.rank;
        memcpy(failure->index, stray->index, sizeof failure->index);
        snprintf(failure->reason, sizeof failure->reason, "the input %s changed during the call", name);
    } else if (stray->is_gap) {
        failure->distance = stray->distance;
        snprintf(failure->reason, sizeof failure->reason,
                 "%llu bytes changed between the elements of %s, first %lld bytes after its start",
                 (unsigned long long)stray->bytes, name, (long long)stray->distance);
    } else {
        failure->distance = stray->distance;
        snprintf(failure->reason, sizeof failure->reason, "%llu bytes changed outside %s, first %lld bytes %s",
                 (unsigned long long)stray->bytes, name, (long long)llabs(stray->distance),
                 stray->distance < 0 ? "before its start" : "past its end");
    }
}
