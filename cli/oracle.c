/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges reduction candidates by replaying them and keeps the best on disk.
 */
#include "oracle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "phrases.h"
#include "screen.h"
#include "source.h"

/* The operand in which offsets leave the library's 32-bit integers, which then is the cause of a crash; "" = none. */
static const char *overflow_of(const opd_call *call)
{
    opd_call checked = *call;
    const opd_operand *overflow = NULL;
    char text[160];
    (void)opd_call_check(&checked, text, sizeof text, &overflow);
    return overflow != NULL ? call->operands[overflow - checked.operands].name : "";
}

static bool is_born(const opd_failure *failure)
{
    return failure->outcome == OPD_OUTCOME_NAN_BORN || failure->outcome == OPD_OUTCOME_INF_BORN;
}

/* The cause that the operands of a BLAS routine tell, as they are now; those of other operators hold what the runs left in outputs. */
static void label_of(char label[OPD_NAME], const opd_failure *failure, const opd_call *call)
{
    opd_call looked = *call;
    opd_failure named = *failure;
    for (int i = 0; i < looked.operand_count; i++) {
        looked.operands[i].flags &= ~(uint32_t)OPD_OPERAND_HAS_HEALTH;
    }
    opd_diagnose(&named, &looked, failure, NULL);
    snprintf(label, OPD_NAME, "%s", named.label);
}

/* A smaller call that fails in the same way is another failure when what makes it fail is something else. */
static bool has_cause(const opd_trial_oracle *oracle, const opd_failure *observed, const opd_call *call)
{
    char label[OPD_NAME];
    if (oracle->overflow[0] != '\0' && strcmp(oracle->overflow, overflow_of(call)) != 0) {
        return false;
    }
    if (oracle->label[0] == '\0') {
        return true;
    }
    label_of(label, observed, call);
    return strcmp(oracle->label, label) == 0;
}

static opd_verdict verdict_of(const opd_trial_oracle *oracle, const opd_failure *observed, const opd_call *call)
{
    if (opd_failure_same(&oracle->expected, observed)) {
        return has_cause(oracle, observed, call) ? OPD_VERDICT_SAME : OPD_VERDICT_OTHER;
    }
    switch (observed->outcome) {
    case OPD_OUTCOME_OK:
        return OPD_VERDICT_PASS;
    case OPD_OUTCOME_HARNESS:
    case OPD_OUTCOME_UNSUPPORTED:
    case OPD_OUTCOME_HANG:
        return OPD_VERDICT_UNRESOLVED;
    default:
        return OPD_VERDICT_OTHER;
    }
}

/* Runs candidate in a worker of its own; its provider is a module of bundle. */
static opd_status judge_in(const opd_trial_oracle *oracle, opd_verdict *verdict, opd_failure *observed,
                           const opd_bundle *bundle, const opd_case *candidate)
{
    opd_replay_result result;
    opd_status status = opd_replay(&result, bundle, candidate, &oracle->expected, &oracle->options);
    switch (status) {
    case OPD_OK:
        break;
    case OPD_E_INVALID:
    case OPD_E_UNSUPPORTED: /* the library makes no such call */
    case OPD_E_DECLINED:    /* nor does the variant */
        *verdict = OPD_VERDICT_INVALID;
        return OPD_OK;
    case OPD_E_NOMEM:
    case OPD_E_LIMIT:
    case OPD_E_TIMEOUT:
    case OPD_E_CHILD:
        *verdict = OPD_VERDICT_UNRESOLVED;
        return OPD_OK;
    default:
        return status;
    }
    *verdict = verdict_of(oracle, &result.observed, &candidate->call);
    *observed = result.observed;
    opd_replay_result_done(&result);
    return OPD_OK;
}

static opd_status judge(void *context, opd_verdict *verdict, opd_failure *observed, const opd_case *candidate)
{
    const opd_trial_oracle *oracle = context;
    return judge_in(oracle, verdict, observed, oracle->source, candidate);
}

void opd_trial_oracle_expect(opd_trial_oracle *oracle, const opd_call *call)
{
    bool is_crash = oracle->expected.outcome == OPD_OUTCOME_CRASH;
    snprintf(oracle->overflow, sizeof oracle->overflow, "%s", is_crash ? overflow_of(call) : "");
    oracle->label[0] = '\0';
    if (is_born(&oracle->expected) && call->op != NULL && call->op->call != NULL) {
        label_of(oracle->label, &oracle->expected, call);
    }
}

void opd_trial_oracle_provider(opd_trial_oracle *oracle, const opd_bundle *source, const opd_call *call,
                               const opd_replay_result *result)
{
    const opd_module *recorded = call->provider != 0 ? opd_bundle_module(source, call->provider) : NULL;
    opd_module *ran = &oracle->provider;
    bool is_same =
        recorded != NULL && recorded->build_id[0] != '\0' && strcmp(recorded->build_id, result->build_id) == 0;
    *ran = is_same ? *recorded : (opd_module){ .path = "" };
    if (!is_same) {
        snprintf(ran->path, sizeof ran->path, "%s", result->library);
        snprintf(ran->build_id, sizeof ran->build_id, "%s", result->build_id);
    }
    snprintf(ran->core, sizeof ran->core, "%s", result->core);
    ran->threads = result->threads;
}

/* Guard pages are part of the way that shows the failure. */
static opd_status write_guard(opd_writer *writer, const opd_trial_oracle *oracle)
{
    opd_event event = { .kind = OPD_EVENT_GUARD, .name = "both", .value = (int64_t)oracle->options.guard };
    return oracle->options.guard != OPD_GUARD_NONE ? opd_writer_event(writer, &event) : OPD_OK;
}

static opd_status write_environment(opd_writer *writer, const opd_trial_oracle *oracle, opd_call *call)
{
    const opd_environment_info *environment = opd_bundle_environment(oracle->source);
    opd_status status = environment != NULL ? opd_writer_environment(writer, environment) : OPD_OK;
    call->provider = 0;
    call->caller = 0;
    if (status == OPD_OK) {
        status = write_guard(writer, oracle);
    }
    if (status == OPD_OK && oracle->provider.path[0] != '\0') {
        status = opd_writer_module(writer, &call->provider, &oracle->provider);
    }
    if (status == OPD_OK) {
        status = opd_writer_thread(writer, call->pid, call->thread, "reduced call");
    }
    return status;
}

static void fill_header(opd_header_info *header, const opd_trial_oracle *oracle)
{
    struct timespec now;
    *header = *opd_bundle_header(oracle->source);
    header->version = OPD_FORMAT_VERSION;
    snprintf(header->producer, sizeof header->producer, "ops-debug %s", OPD_VERSION);
    snprintf(header->kind, sizeof header->kind, "reduced");
    snprintf(header->capture, sizeof header->capture, "full");
    clock_gettime(CLOCK_REALTIME, &now);
    header->created_realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    clock_gettime(CLOCK_MONOTONIC, &now);
    header->created_monotonic_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The recorded digests and statistics describe other content; outputs, when given, are what a replay left. */
static void refresh_call(opd_call *call, const opd_replay_result *outputs)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        memset(&operand->before, 0, sizeof operand->before);
        memset(&operand->after, 0, sizeof operand->after);
        operand->flags &= ~(uint32_t)OPD_OPERAND_HAS_HEALTH;
        for (int k = 0; outputs != NULL && k < outputs->output_count; k++) {
            if (strcmp(outputs->outputs[k].name, operand->name) == 0) {
                operand->after = outputs->outputs[k].after;
            }
        }
    }
}

static opd_status write_bundle(const opd_trial_oracle *oracle, const char *path, const opd_case *item,
                               const opd_failure *failure, const opd_replay_result *outputs)
{
    opd_header_info header;
    opd_writer *writer = NULL;
    opd_call call = item->call;
    opd_failure recorded = *failure;
    recorded.thread = call.thread;
    recorded.call_number = call.number;
    fill_header(&header, oracle);
    refresh_call(&call, outputs);
    opd_status status = opd_writer_open(&writer, path, &header);
    if (status != OPD_OK) {
        return status;
    }
    status = write_environment(writer, oracle, &call);
    if (status == OPD_OK) {
        status = opd_ruling_write(writer, &call, &oracle->options);
    }
    if (status == OPD_OK) {
        status = opd_writer_call_with_data(writer, &call);
    }
    if (status == OPD_OK) {
        status = opd_writer_failure(writer, &recorded);
    }
    for (int i = 0; status == OPD_OK && i < oracle->lineage_count; i++) {
        status = opd_writer_lineage(writer, &oracle->lineage[i]);
    }
    if (status != OPD_OK) {
        opd_writer_abandon(writer, false);
        return status;
    }
    return opd_writer_close(writer);
}

/* Judges what is on disk: nothing of the search's memory takes part. */
static opd_status judge_from_disk(const opd_trial_oracle *oracle, opd_verdict *verdict, const char *path,
                                  const opd_call *call)
{
    opd_bundle *bundle = NULL;
    opd_case item = { 0 };
    opd_call stored;
    uint64_t position = 0;
    opd_failure observed;
    opd_status status = opd_bundle_open(&bundle, path);
    if (status != OPD_OK) {
        return status;
    }
    status = opd_bundle_find_call(&position, bundle, call->thread, call->number);
    if (status == OPD_OK) {
        status = opd_bundle_call(&stored, bundle, position);
    }
    if (status == OPD_OK) {
        status = opd_case_load(&item, bundle, &stored, UINT64_MAX);
    }
    if (status == OPD_OK) {
        status = judge_in(oracle, verdict, &observed, bundle, &item);
    }
    opd_case_done(&item);
    opd_bundle_close(bundle);
    return status;
}

static void best_path(char *text, size_t size, const opd_trial_oracle *oracle)
{
    snprintf(text, size, "%s.best", oracle->path);
}

/* A bundle that may become the result: written beside it, judged from disk, and only then given the name `to`. */
static opd_status write_verified(const opd_trial_oracle *oracle, opd_verdict *verdict, const char *to,
                                 const opd_case *item, const opd_failure *failure, const opd_replay_result *outputs)
{
    char aside[4096];
    snprintf(aside, sizeof aside, "%s.new", oracle->path);
    opd_status status = write_bundle(oracle, aside, item, failure, outputs);
    uint32_t tries = outputs != NULL && oracle->tries > 1 ? oracle->tries : 1;
    *verdict = OPD_VERDICT_UNRESOLVED;
    for (uint32_t i = 0; status == OPD_OK && *verdict != OPD_VERDICT_SAME && i < tries; i++) {
        status = judge_from_disk(oracle, verdict, aside, &item->call);
    }
    if (status == OPD_OK && *verdict == OPD_VERDICT_SAME) {
        if (rename(aside, to) == 0) {
            return OPD_OK;
        }
        status = opd_fail(OPD_E_IO, "cannot create %s: %s", to, strerror(errno));
    }
    (void)unlink(aside);
    return status;
}

static opd_status accept(void *context, opd_verdict *verdict, const opd_case *best, const opd_failure *observed,
                         const opd_lineage *step)
{
    opd_trial_oracle *oracle = context;
    char path[4096];
    opd_status status = opd_grow((void **)&oracle->lineage, (size_t)oracle->lineage_count + 1, sizeof *oracle->lineage);
    if (status != OPD_OK) {
        return status;
    }
    oracle->lineage[oracle->lineage_count++] = *step;
    best_path(path, sizeof path, oracle);
    status = write_verified(oracle, verdict, path, best, observed, NULL);
    if (status != OPD_OK || *verdict != OPD_VERDICT_SAME) {
        oracle->lineage_count--;
    }
    return status;
}

static void resumed(void *context, const opd_lineage *step)
{
    opd_trial_oracle *oracle = context;
    size_t count = (size_t)oracle->lineage_count + 1;
    if (opd_grow((void **)&oracle->lineage, count, sizeof *oracle->lineage) == OPD_OK) {
        oracle->lineage[oracle->lineage_count++] = *step;
    }
}

static void bycatch(void *context, const opd_case *candidate, const opd_failure *observed)
{
    opd_trial_oracle *oracle = context;
    char path[4096];
    oracle->bycatch_count++;
    snprintf(path, sizeof path, "%s.other-%u-%s%s", oracle->path, oracle->bycatch_count,
             opd_outcome_name(observed->outcome), OPD_SUFFIX);
    opd_progress_done();
    if (write_bundle(oracle, path, candidate, observed, NULL) != OPD_OK) {
        fprintf(stderr, "ops-debug: another failure was met but not kept: %s\n", opd_error_text());
    } else if (!oracle->is_quiet) {
        char words[256];
        opd_phrase_failure(words, sizeof words, observed);
        fprintf(stderr, "ops-debug: another failure was met and kept aside as %s: %s\n", path, words);
    }
}

static void progress(void *context, const char *pass, uint64_t runs, uint64_t before, uint64_t now)
{
    const opd_trial_oracle *oracle = context;
    if (!oracle->is_quiet) {
        opd_progress("reduce: %s, %" PRIu64 " runs, %" PRIu64 " -> %" PRIu64 " elements", pass, runs, before, now);
    }
}

opd_oracle opd_trial_oracle_bind(opd_trial_oracle *oracle)
{
    return (opd_oracle){ judge, accept, resumed, bycatch, progress, oracle };
}

void opd_trial_oracle_done(opd_trial_oracle *oracle)
{
    opd_free(oracle->lineage);
    oracle->lineage = NULL;
    oracle->lineage_count = 0;
}

/* The form once more, as often as the failure's rate makes it necessary. */
static opd_status replay_again(const opd_trial_oracle *oracle, opd_replay_result *result, const opd_case *item,
                               const opd_failure *failure)
{
    for (uint32_t i = 0;; i++) {
        opd_status status = opd_replay(result, oracle->source, item, failure, &oracle->options);
        if (status != OPD_OK || result->came_back) {
            return status;
        }
        opd_replay_result_done(result);
        if (i + 1 >= oracle->tries) {
            return opd_fail(
                OPD_E_NOFAILURE,
                "%s: not written: the reduced call passed when it was run once more; is the failure repeatable? (replay --repeat 20)",
                oracle->path);
        }
    }
}

opd_status opd_trial_oracle_finish(opd_trial_oracle *oracle, opd_replay_result *result, const opd_case *item,
                                   const opd_failure *failure)
{
    opd_replay_result last;
    opd_verdict verdict = OPD_VERDICT_UNRESOLVED;
    char path[4096];
    opd_status status = replay_again(oracle, &last, item, failure);
    if (status != OPD_OK) {
        return status;
    }
    best_path(path, sizeof path, oracle);
    status = write_verified(oracle, &verdict, oracle->path, item, failure, &last);
    if (status == OPD_OK && verdict != OPD_VERDICT_SAME) {
        status = opd_fail(OPD_E_NOFAILURE, "%s: not written: read back from disk, the reduced call does not fail (%s)",
                          oracle->path, opd_verdict_name(verdict));
    }
    if (status != OPD_OK) {
        opd_replay_result_done(&last);
        return status;
    }
    (void)unlink(path);
    *result = last;
    return OPD_OK;
}
