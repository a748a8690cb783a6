/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opd-worker: runs one job. Links no BLAS; the provider comes in by dlopen under the environment that was set before exec. Everything
 * is ready, and the stage ARMED written, before the routine is entered, so that whatever happens then is the routine's doing.
 *
 * load provider -> for each guard pass: build memory -> for each run: call, look at outputs, restore -> done.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "conduct.h"
#include "convention.h"
#include "dnnl_run.h"
#include "judge.h"
#include "locate.h"
#include "mode.h"
#include "own_definition.h"
#include "provider.h"
#include "python.h"
#include "scratch.h"
#include "serial.h"
#include "stage_log.h"
#include "template.h"
#include "trap.h"

typedef struct worker {
    opd_job *job;
    opd_call call; /* with addresses of this process */
    opd_provider provider;
    opd_arena arena;
    opd_scratch scratch;
    opd_judge judge;
    int numbers[OPD_MAX_OPERANDS]; /* operands that are outputs */
    int count;
    void *packed[OPD_MAX_OPERANDS];      /* outputs of the run being looked at */
    opd_operand first[OPD_MAX_OPERANDS]; /* digests of the first run */
    opd_mode mode;                       /* of this program, while the routine runs in another */
    bool is_mode_changed;                /* by a variant: the floating-point mode it left */
    uint32_t mode_left;
    uint64_t *times;
    uint32_t time_count;
} worker;

/* An operator outside BLAS, whose outputs are its own. */
static bool is_general(const worker *self)
{
    return self->provider.variant != NULL;
}

static void set_stage(opd_job *job, opd_stage stage)
{
    atomic_store(&job->stage, (uint32_t)stage);
}

static opd_status run_variant(worker *self)
{
    const opd_workspace workspace = { self->scratch.low, self->scratch.size, self->provider.threads };
    const opd_variant *variant = self->provider.variant;
    bool is_own_definition = opd_variant_is_definition(variant) && opd_job_has_own_definition(self->job);
    opd_error_clear();
    opd_definition_fence(is_own_definition ? self->job->fences : NULL, self->job->pass == OPD_GUARD_START);
    opd_allocations_begin();
    opd_status status = opd_variant_run(variant, &self->call, &workspace);
    self->job->result.allocations = opd_allocations_end();
    opd_definition_fence(NULL, false);
    if (status == OPD_OK) {
        return OPD_OK;
    }
    if (opd_error_text()[0] == '\0') { /* a user's variant may return no more than the code */
        opd_fail(status, "%s", opd_status_sentence(status));
    }
    if (opd_variant_is_definition(variant)) {
        return status;
    }
    /* Whatever it said: the call was one it did not decline. */
    return opd_fail_in(OPD_E_CHILD, "variant %s of %s gave up", variant->name, self->call.name);
}

/* Whatever happens in here is the routine's doing. */
static void arm(worker *self)
{
    opd_trap_begin();
    set_stage(self->job, OPD_STAGE_ARMED);
    opd_trap_clock(self->job->timeout_ms);
    self->mode = opd_mode_enter(self->job->mxcsr);
}

static void disarm(worker *self)
{
    opd_mode left;
    if (opd_mode_leave(&left, &self->mode, self->job->mxcsr) && is_general(self) && !self->is_mode_changed) {
        self->is_mode_changed = true;
        self->mode_left = left.mxcsr;
    }
    opd_trap_clock(0);
    set_stage(self->job, OPD_STAGE_RETURNED);
}

static opd_status poison(worker *self)
{
    arm(self);
    opd_status status = opd_conduct_poison(self->provider.variant, &self->call, self->provider.threads);
    disarm(self);
    return status;
}

/* A result that depends on who runs beside it is a failure whatever determinism was declared. */
static opd_status run_at_once(worker *self)
{
    opd_failure *failure = &self->job->result.observed;
    uint64_t runs = 0;
    uint64_t differing = 0;
    arm(self);
    opd_status status =
        opd_conduct_concurrent(&runs, &differing, self->provider.variant, &self->call, self->job->concurrent);
    disarm(self);
    if (status == OPD_OK && differing > 0 && failure->outcome == OPD_OUTCOME_OK) {
        failure->outcome = OPD_OUTCOME_UNSTABLE;
        failure->bad_count = differing;
        snprintf(failure->reason, sizeof failure->reason,
                 "%llu of %llu runs in %u threads at once gave other bits than alone: they share state",
                 (unsigned long long)differing, (unsigned long long)runs, self->job->concurrent);
    }
    return status;
}

static opd_status call_routine(worker *self)
{
    struct opd_dnnl_run *primitive = self->provider.primitive;
    opd_scratch_fill(&self->scratch);
    opd_status status = primitive != NULL ? opd_dnnl_run_place(primitive, &self->call, self->scratch.low) : OPD_OK;
    if (status != OPD_OK) {
        return status;
    }
    arm(self);
    uint64_t begin = opd_trap_time(CLOCK_MONOTONIC);
    if (self->job->is_given) {
        opd_given_put(&self->call, self->job, self->numbers, self->count);
    } else if (self->provider.variant != NULL) {
        status = run_variant(self);
    } else if (self->provider.is_torch) {
        status = opd_python_run(&self->call);
    } else if (primitive != NULL) {
        status = opd_dnnl_run_execute(primitive);
    } else if (self->provider.is_naive) {
        status = opd_serial_run(&self->call, self->numbers, self->count);
    } else {
        status = opd_routine_call(self->provider.function, &self->call);
    }
    self->times[self->time_count++] = opd_trap_time(CLOCK_MONOTONIC) - begin;
    opd_allocations_probe();
    disarm(self);
    return status;
}

/* Packs, digests and scans the outputs into result.outputs (first run of the last pass) or into now. */
static opd_status look(worker *self, opd_operand *now)
{
    for (int i = 0; i < self->count; i++) {
        const opd_operand *operand = &self->call.operands[self->numbers[i]];
        now[i] = *operand;
        now[i].view.data = NULL;
        now[i].view.storage = NULL;
        now[i].view.storage_bytes = 0;
        if (self->packed[i] == NULL) {
            opd_status status = opd_alloc(&self->packed[i], (size_t)opd_tensor_packed_bytes(&operand->view));
            if (status != OPD_OK) {
                return status;
            }
        }
        opd_tensor_scan(&operand->view, self->packed[i], &now[i].after, &now[i].health_after);
        now[i].flags |= OPD_OPERAND_HAS_HEALTH;
    }
    return OPD_OK;
}

static void put_back(worker *self)
{
    for (int i = 0; i < self->count; i++) {
        opd_tensor_unpack(&self->call.operands[self->numbers[i]].view, self->packed[i]);
    }
}

/* The span of each output as it is now, for the parent. */
static void keep_outputs(worker *self)
{
    for (int i = 0; i < self->count; i++) {
        const opd_job_operand *slot = &self->job->operands[self->numbers[i]];
        opd_tensor view = self->call.operands[self->numbers[i]].view;
        int64_t low = 0;
        int64_t high = 0;
        opd_tensor_span(&view, &low, &high);
        if (slot->output_bytes > 0 && (uint64_t)(high - low) <= slot->output_bytes) {
            view.data = opd_job_at(self->job, slot->output) - low;
            opd_tensor_unpack(&view, self->packed[i]);
        }
    }
}

/*
 * Do the bits say enough without the reference? Recorded bits with the failure that was expected, and, where the reference
 * takes minutes, recorded bits or none to compare with.
 */
static bool is_settled(const worker *self, const opd_operand *now, const opd_failure *failure)
{
    bool is_born = failure->outcome == OPD_OUTCOME_NAN_BORN || failure->outcome == OPD_OUTCOME_INF_BORN;
    bool is_dear = self->job->is_reference_dear;
    bool is_settled = is_dear || (self->job->is_born_expected && is_born);
    for (int i = 0; i < self->count && is_settled; i++) {
        const opd_digest *then = &self->call.operands[self->numbers[i]].after;
        is_settled = opd_digest_is_none(then) ? is_dear : opd_digest_equal(then, &now[i].after);
    }
    return is_settled;
}

static opd_status compute(worker *self, opd_status (*reference)(opd_judge *judge))
{
    opd_own_definition own;
    opd_own_definition_begin(&own, self->job);
    opd_status status = reference(&self->judge);
    opd_own_definition_end(&own);
    return status == OPD_OK ? opd_own_definition_check(&self->arena, self->job) : status;
}

/* Reference and gauge rule: the inputs come back for the reference, then the outputs for the comparison. */
static opd_status judge_numbers(worker *self, opd_numbers *numbers, opd_failure *failure)
{
    opd_job_stray unused;
    if (self->job->skip_reference || self->judge.is_declined || self->job->bad_args[0] != '\0') {
        return OPD_OK;
    }
    if (!self->judge.has_reference) {
        opd_status status = compute(self, opd_judge_reference);
        const opd_rule *rule = opd_convention_of(self->job);
        bool is_naive_needed = self->job->is_exact_data || (rule != NULL && opd_rule_needs_naive(rule));
        if (status == OPD_OK && is_naive_needed && !self->judge.is_declined) {
            status = compute(self, opd_judge_naive);
        }
        if (status == OPD_OK && self->job->is_exact_data) {
            opd_judge_find_exact(&self->judge);
        }
        if (status == OPD_OK && !self->judge.is_declined && opd_call_flops(&self->call) <= self->job->certify_limit) {
            status = opd_judge_doubt(&self->judge);
        }
        if (status != OPD_OK || self->judge.is_declined) {
            return status;
        }
    }
    put_back(self);
    opd_judge_numbers(numbers, failure, &self->judge);
    opd_arena_restore(&self->arena, &unused);
    if (self->judge.is_naive_wanted) {
        opd_status status = compute(self, opd_judge_naive);
        if (status != OPD_OK) {
            return status;
        }
        put_back(self);
        opd_judge_numbers(numbers, failure, &self->judge);
        opd_arena_restore(&self->arena, &unused);
    }
    return OPD_OK;
}

/* Where an output element that holds its old bytes got them. */
typedef enum origin { ORIGIN_LEFT, ORIGIN_READ, ORIGIN_MADE } origin;

static opd_status run_again(worker *self)
{
    return self->provider.is_torch ? opd_python_run(&self->call) : run_variant(self);
}

/*
 * Old content of the output comes out again by being read as well, or is made anew: with ones in its place an element that was left alone is
 * one, and one that stays NaN owes it nothing.
 */
static origin find_origin(worker *self, int number, const int64_t *index)
{
    const opd_fill ones = { .kind = OPD_FILL_CONSTANT, .a = 1 };
    const opd_tensor *view = &self->call.operands[number].view;
    opd_job_stray unused;
    double re = 0;
    double im = 0;
    for (int i = 0; i < self->count; i++) {
        opd_tensor_fill(&self->call.operands[self->numbers[i]].view, &ones);
    }
    arm(self);
    opd_status status = run_again(self);
    disarm(self);
    opd_element_load(view->dtype, (const uint8_t *)view->data + opd_tensor_offset(view, index), &re, &im);
    opd_arena_restore(&self->arena, &unused);
    return status != OPD_OK || re == 1 ? ORIGIN_LEFT : isnan(re) || isnan(im) ? ORIGIN_MADE : ORIGIN_READ;
}

/* Does an output element, judged wrong, still hold what was there before the call? Then it is not wrong but unwritten. */
static void tell_unwritten(worker *self, opd_failure *failure)
{
    bool is_wrong = failure->outcome == OPD_OUTCOME_MISMATCH || failure->outcome == OPD_OUTCOME_NAN_BORN ||
                    failure->outcome == OPD_OUTCOME_INF_BORN;
    bool can_ask = is_general(self) || self->provider.is_torch;
    for (int i = 0; i < self->count && is_wrong && can_ask; i++) {
        const opd_operand *operand = &self->call.operands[self->numbers[i]];
        bool has_old = operand->role == OPD_ROLE_OUT && (operand->flags & OPD_OPERAND_FRESH) == 0;
        if (!has_old || strcmp(operand->name, failure->operand) != 0 || self->packed[i] == NULL) {
            continue;
        }
        /* The memory is as before the call again; packed[i] is what the call left. */
        uint64_t unwritten = opd_judge_untouched(operand, self->packed[i], failure->index);
        bool is_asked = unwritten > 0 || self->provider.is_torch;
        origin from = is_asked ? find_origin(self, self->numbers[i], failure->index) : ORIGIN_MADE;
        if (from == ORIGIN_READ) {
            snprintf(failure->label, sizeof failure->label, "unread-operand-read");
            failure->confidence = 0.95F;
            snprintf(failure->reason, sizeof failure->reason,
                     "%s is made of what it held before the call: old content of the output is read", operand->name);
        } else if (from == ORIGIN_LEFT && unwritten > 0) {
            failure->outcome = OPD_OUTCOME_UNWRITTEN;
            failure->bad_count = unwritten;
            snprintf(failure->reason, sizeof failure->reason,
                     "%llu elements of %s hold what was there before the call: they were not written",
                     (unsigned long long)unwritten, operand->name);
        }
    }
}

/* What is told of the first run only: figures, outputs, places, stages. */
static opd_status report_first(worker *self, const opd_operand *now, const opd_numbers *numbers,
                               const opd_failure *failure)
{
    opd_replay_result *result = &self->job->result;
    opd_job_stray unused;
    opd_status status = OPD_OK;
    put_back(self);
    result->numbers = *numbers;
    opd_judge_recorded(result, &self->judge, now, self->numbers, self->count);
    result->opinion = self->judge.opinion;
    memcpy(result->peers, self->judge.peers, sizeof result->peers);
    memcpy(result->outputs, now, sizeof result->outputs);
    result->output_count = self->count;
    keep_outputs(self);
    if (self->job->with_metrics && numbers->is_valid) {
        status = opd_judge_figures(result, &self->judge, self->numbers, self->count);
        if (status == OPD_OK && failure->outcome != OPD_OUTCOME_OK) {
            status = opd_locate(&result->location, &self->judge, failure);
        }
    }
    opd_arena_restore(&self->arena, &unused);
    if (status == OPD_OK && self->job->with_stages && is_general(self)) {
        status = opd_stages_hold(self->job, &self->call, self->provider.variant);
        opd_arena_restore(&self->arena, &unused);
    }
    return status;
}

/* Everything about one run that came back; is_first: of its pass. */
static opd_status inspect(worker *self, bool is_first)
{
    opd_replay_result *result = &self->job->result;
    opd_operand now[OPD_MAX_OPERANDS];
    opd_numbers numbers = { .worst_rank = -1 };
    opd_failure failure = { .index_rank = -1 };
    opd_job_stray stray;
    opd_status status = look(self, now);
    if (status != OPD_OK) {
        return status;
    }
    bool is_new = is_first;
    for (int i = 0; i < self->count; i++) {
        is_new |= !opd_digest_equal(&now[i].after, &self->first[i].after);
    }
    if (!is_general(self) || self->job->skip_reference) { /* else what the reference says decides */
        opd_judge_born(&failure, &self->judge, now, self->numbers, self->count);
    }
    opd_arena_restore(&self->arena, &stray);
    opd_scratch_check(&stray, &self->scratch);
    if (stray.is_found && self->job->pass != OPD_GUARD_NONE) { /* guards look for the cause, not for what it led to */
        failure = (opd_failure){ .index_rank = -1 };
    }
    opd_conduct_stray(&failure, &self->call, &stray);
    if (is_new && !is_settled(self, now, &failure)) {
        status = judge_numbers(self, &numbers, &failure);
    }
    if (status != OPD_OK) {
        return status;
    }
    tell_unwritten(self, &failure);
    if (is_first) {
        memcpy(self->first, now, sizeof now);
        self->job->first_failed = failure.outcome != OPD_OUTCOME_OK;
    } else if (is_new) {
        result->runs_differing++;
        result->is_repeatable = false;
    }
    /* A run with the bits of the first fails as the first did. */
    result->runs_failed += failure.outcome != OPD_OUTCOME_OK || (!is_new && self->job->first_failed);
    if (result->observed.outcome == OPD_OUTCOME_OK && failure.outcome != OPD_OUTCOME_OK) {
        result->observed = failure;
    }
    return is_first && self->job->pass_number == 0 ? report_first(self, now, &numbers, &failure) : OPD_OK;
}

static opd_status run_pass(worker *self, opd_guard pass)
{
    opd_job *job = self->job;
    set_stage(job, OPD_STAGE_PREPARING);
    job->pass = (int32_t)pass;
    opd_status status = opd_arena_build(&self->arena, job, &self->call, pass);
    if (status != OPD_OK) {
        return status;
    }
    if (opd_provider_scratch(&job->result.workspace_bytes, &self->provider, &self->call)) {
        status = opd_scratch_map(&self->scratch, job, job->result.workspace_bytes, pass);
        if (status != OPD_OK) {
            return status;
        }
    }
    opd_judge_begin(&self->judge, job, &self->call);
    self->judge.growth = self->provider.variant != NULL ? (double)self->provider.variant->growth : 0;
    if (job->is_poisoned && is_general(self)) {
        status = poison(self);
    }
    for (uint32_t run = 0; run < job->repeat && status == OPD_OK; run++) {
        job->run = run;
        status = call_routine(self);
        if (status == OPD_OK) {
            job->result.runs++;
            status = inspect(self, run == 0);
        }
    }
    if (status == OPD_OK && job->concurrent > 1 && is_general(self)) {
        status = run_at_once(self);
    }
    opd_judge_done(&self->judge);
    opd_arena_done(&self->arena);
    opd_scratch_done(&self->scratch);
    job->pass_number++;
    return status;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t two = *(const uint64_t *)b;
    return one < two ? -1 : one > two;
}

static void start_call(worker *self)
{
    self->call = self->job->call;
    self->call.flags &= ~(uint32_t)(OPD_CALL_CBLAS | OPD_CALL_ILP64 | OPD_CALL_DIRECT);
    self->call.flags |= self->provider.is_cblas ? OPD_CALL_CBLAS : 0U;
    self->call.flags |= self->provider.int_bytes == 8 ? OPD_CALL_ILP64 : 0U;
    self->call.flags |= self->provider.is_direct ? OPD_CALL_DIRECT : 0U;
    for (int i = 0; i < self->call.operand_count; i++) {
        const opd_job_operand *slot = &self->job->operands[i];
        opd_operand *operand = &self->call.operands[i];
        int place = slot->place;
        if (place == OPD_PLACE_DATA && opd_digest_is_none(&operand->before)) {
            operand->before = opd_packed_digest(&operand->view, opd_job_at(self->job, slot->before));
        }
        bool has_memory = place != OPD_PLACE_UNREADABLE && place != OPD_PLACE_NULL;
        if ((operand->role & OPD_ROLE_OUT) != 0 && has_memory) {
            self->numbers[self->count++] = i;
        }
    }
}

/* What no value shows: runs that differ, memory that was not declared. Values come first. */
static void look_at_conduct(worker *self)
{
    opd_replay_result *result = &self->job->result;
    const opd_variant *variant = self->provider.variant;
    opd_failure *failure = &result->observed;
    if (variant == NULL || failure->outcome != OPD_OUTCOME_OK) {
        return;
    }
    if (self->is_mode_changed) {
        char words[OPD_MODE_TEXT];
        opd_mxcsr_describe(words, sizeof words, self->mode_left);
        failure->outcome = OPD_OUTCOME_MODE;
        snprintf(failure->reason, sizeof failure->reason, "the call returns with another floating-point mode: %s",
                 words[0] != '\0' ? words : "of x87");
    } else if (result->runs_differing > 0 && variant->determinism >= OPD_DETERMINISM_RUN) {
        failure->outcome = OPD_OUTCOME_UNSTABLE;
        snprintf(failure->reason, sizeof failure->reason, "%u of %u runs gave other bits than the first",
                 result->runs_differing, result->runs);
    } else if (result->allocations > 0 && self->job->repeat > 1 && !variant->allocates &&
               !opd_variant_is_definition(variant)) {
        /* Of the last run: what is set up once is no matter. */
        failure->outcome = OPD_OUTCOME_ALLOCATED;
        failure->bad_count = result->allocations;
        snprintf(failure->reason, sizeof failure->reason,
                 "a run makes %llu allocations; scratch memory comes from the declared workspace",
                 (unsigned long long)result->allocations);
    }
}

static opd_status run_job(worker *self)
{
    static const opd_guard passes[][2] = {
        [OPD_GUARD_NONE] = { OPD_GUARD_NONE, OPD_GUARD_NONE },
        [OPD_GUARD_END] = { OPD_GUARD_END, OPD_GUARD_NONE },
        [OPD_GUARD_START] = { OPD_GUARD_START, OPD_GUARD_NONE },
        [OPD_GUARD_BOTH] = { OPD_GUARD_END, OPD_GUARD_START },
    };
    opd_job *job = self->job;
    const opd_routine *routine = strcmp(job->call.domain, "blas") == 0 ? opd_routine_find(job->call.name) : NULL;
    set_stage(job, OPD_STAGE_LOADING);
    opd_status status = OPD_OK;
    if (opd_call_is_foreign(&job->call)) {
        self->provider.is_torch = true;
        job->skip_reference = true; /* there is none */
        status = opd_python_open(job);
    } else if (strcmp(job->call.domain, "dnnl") == 0) {
        status = opd_provider_primitive(&self->provider, job);
    } else if (strcmp(job->call.domain, "blas") != 0) {
        status = opd_provider_choose(&self->provider, job);
    } else if (routine == NULL) {
        return opd_fail(OPD_E_NOTFOUND, "no contract for the operator %s", job->call.name);
    } else {
        job->call.op = routine->op;
        status = opd_provider_open(&self->provider, job, routine);
    }
    void *times = NULL;
    if (status == OPD_OK) {
        status = opd_alloc_array(&times, (size_t)job->repeat * 2, sizeof(uint64_t));
    }
    if (status != OPD_OK) {
        return status;
    }
    self->times = times;
    start_call(self);
    job->result.is_repeatable = true;
    for (int i = 0; i < 2 && status == OPD_OK; i++) {
        if (i == 0 || passes[job->guard][i] != OPD_GUARD_NONE) {
            status = run_pass(self, passes[job->guard][i]);
        }
    }
    if (status == OPD_OK) {
        look_at_conduct(self);
    }
    if (self->time_count > 0) {
        qsort(self->times, self->time_count, sizeof *self->times, compare_times);
        job->result.run_ns = self->times[self->time_count / 2];
    }
    opd_free(times);
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(self->packed[i]);
    }
    return status;
}

static opd_job *map_job(void)
{
    struct stat info;
    if (fstat(OPD_JOB_FD, &info) != 0 || info.st_size < (off_t)sizeof(opd_job)) {
        return NULL;
    }
    opd_job *job = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, OPD_JOB_FD, 0);
    if (job == MAP_FAILED || job->magic != OPD_JOB_MAGIC || job->job_bytes != sizeof(opd_job) ||
        job->size != (uint64_t)info.st_size || job->guard < OPD_GUARD_NONE || job->guard > OPD_GUARD_BOTH) {
        return NULL;
    }
    close(OPD_JOB_FD);
    return job;
}

int main(int argc, char **argv)
{
    static worker self;
    if (argc == 2 && strcmp(argv[1], OPD_TEMPLATE_WORD) == 0 && opd_python_load() == OPD_OK) {
        opd_template_serve(); /* returns in each copy */
        opd_python_copied();
    }
    self.job = map_job();
    if (self.job == NULL) {
        fputs("opd-worker: runs jobs of ops-debug replay; it is not meant to be started by hand\n", stderr);
        return 2;
    }
    opd_trap_install(self.job);
    opd_status status = run_job(&self);
    if (status != OPD_OK) {
        self.job->status = (int32_t)status;
        snprintf(self.job->text, sizeof self.job->text, "%s", opd_error_text());
        set_stage(self.job, OPD_STAGE_FAILED);
    } else {
        set_stage(self.job, OPD_STAGE_DONE);
    }
    fflush(NULL);
    _exit(0); /* without the library's destructors: some hang when their threads are gone */
}
