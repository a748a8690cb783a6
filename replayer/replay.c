/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opd_replay: plans the environment, hands the case to a worker, reads the verdict. Differences of the environment are
 * noted before results are judged.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/dnnl.h>

#include "job.h"

#define REFERENCE_LIMIT 8e9

/* What was recorded of this call's surroundings, as far as it is known. */
typedef struct recorded {
    const opd_environment_info *environment; /* NULL = unknown */
    const opd_module *provider;              /* same */
} recorded;

static recorded find_recorded(const opd_bundle *bundle, const opd_call *call)
{
    recorded found = { .environment = NULL };
    if (bundle != NULL) {
        found.environment = opd_bundle_environment(bundle);
        found.provider = call->provider != 0 ? opd_bundle_module(bundle, call->provider) : NULL;
    }
    return found;
}

static bool find_worker(char *path, size_t size, const char *wish)
{
    static const char *const places[] = { "opd-worker", "../libexec/opsdebug/opd-worker", "../opd-worker" };
    char self[PATH_MAX];
    if (wish != NULL) {
        return snprintf(path, size, "%s", wish) < (int)size;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        return false;
    }
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash != NULL && i < OPD_COUNT(places); i++) {
        slash[0] = '\0';
        if (snprintf(path, size, "%s/%s", self, places[i]) < (int)size && access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* The core to force: the one asked for must be fit; a recorded one that is not is left out, and said. */
static opd_status choose_core(opd_job *job, char *notes, size_t size, const recorded *then,
                              const opd_replay_options *options)
{
    const char *reason = NULL;
    if (options->core != NULL) {
        reason = opd_core_missing(options->core);
        if (reason != NULL) {
            return opd_fail(OPD_E_UNSUPPORTED, "%s", reason);
        }
        snprintf(job->core, sizeof job->core, "%s", options->core);
        job->is_core_asked = true;
        return OPD_OK;
    }
    if (then->provider == NULL || then->provider->core[0] == '\0') {
        return OPD_OK;
    }
    reason = opd_core_missing(then->provider->core);
    if (reason == NULL) {
        snprintf(job->core, sizeof job->core, "%s", then->provider->core);
    } else {
        opd_line(notes, size, "core: recorded %s, here not used: %s", then->provider->core, reason);
    }
    return OPD_OK;
}

/* The floating-point mode of the call, else of the process when it was attached, else the default. */
static void choose_mode(opd_job *job, char *notes, size_t size, const recorded *then)
{
    uint32_t wanted = job->call.mxcsr;
    if (wanted == 0 && then->environment != NULL) {
        wanted = then->environment->mxcsr & OPD_MXCSR_CONTROL;
    }
    job->mxcsr = (wanted & OPD_MXCSR_CONTROL) != 0 ? wanted & OPD_MXCSR_CONTROL : OPD_MXCSR_DEFAULT;
    if ((wanted & ~OPD_MXCSR_CONTROL) != 0) {
        opd_line(notes, size, "floating-point mode: recorded 0x%x, here 0x%x", wanted, job->mxcsr);
    }
#if !defined(__x86_64__)
    char words[OPD_MODE_TEXT];
    opd_mxcsr_describe(words, sizeof words, job->mxcsr);
    if (words[0] != '\0') {
        opd_line(notes, size, "floating-point mode: recorded %s, here not set: not an x86-64 CPU", words);
        job->mxcsr = OPD_MXCSR_DEFAULT;
    }
#endif
}

/* Of the call, where it says, else of its library. */
static int32_t recorded_threads(const opd_call *call, const recorded *then)
{
    for (int i = 0; i < call->attr_count && strcmp(call->domain, "dnnl") == 0; i++) {
        const opd_value *value = &call->attrs[i];
        if (strcmp(value->name, "threads") == 0 && value->kind == OPD_VALUE_INT && value->i > 0 && value->i < 4096) {
            return (int32_t)value->i;
        }
    }
    return then->provider != NULL ? then->provider->threads : 0;
}

static opd_status plan_job(opd_job *job, char *notes, size_t size, const recorded *then,
                           const opd_replay_options *options)
{
    opd_status status = choose_core(job, notes, size, then, options);
    if (status != OPD_OK) {
        return status;
    }
    /* Other operators run on variants of this build or a user's library. */
    bool is_primitive = strcmp(job->call.domain, "dnnl") == 0;
    bool is_library = is_primitive || strcmp(job->call.domain, "blas") == 0;
    const char *library = is_primitive ? OPD_DNNL_LIBRARY : is_library ? "libblas.so.3" : "";
    if (is_primitive && job->call.op == NULL) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s cannot be run again: what was recorded of it does not say all",
                        job->call.name);
    }
    if (options->isa != NULL && !is_primitive) {
        return opd_fail(OPD_E_INVALID, "--isa is for oneDNN, and %s is not its", job->call.name);
    }
    snprintf(job->isa, sizeof job->isa, "%s", options->isa != NULL ? options->isa : "");
    job->is_trusted_path = true;
    if (options->library != NULL) {
        library = options->library;
    } else if (is_library && then->provider != NULL && then->provider->path[0] != '\0') {
        library = then->provider->path;
        job->is_trusted_path = false;
    }
    if (snprintf(job->library, sizeof job->library, "%s", library) >= (int)sizeof job->library) {
        return opd_fail(OPD_E_INVALID, "the library's path is longer than %zu bytes", sizeof job->library - 1);
    }
    /* Outside BLAS a call is known by its operator and the variant that ran: "Softmax@avx2". */
    const char *ran = is_library || options->variant != NULL ? NULL : strrchr(job->call.symbol, '@');
    if (ran != NULL) {
        snprintf(job->variant, sizeof job->variant, "%s", ran + 1);
    }
    job->threads = options->threads > 0 ? options->threads : recorded_threads(&job->call, then);
    choose_mode(job, notes, size, then);
    const opd_operand *overflow = NULL;
    opd_call call = job->call;
    char text[OPD_JOB_TEXT] = "";
    if (!opd_call_check(&call, text, sizeof text, &overflow)) {
        snprintf(job->bad_args, sizeof job->bad_args, "%s", text);
    }
    if (overflow != NULL) {
        snprintf(job->overflow, sizeof job->overflow, "%s", overflow->name);
    }
    return OPD_OK;
}

/* What could only be known once the library was loaded. */
static void note_provider(char *notes, size_t size, const opd_job *job, const recorded *then,
                          const opd_replay_options *options)
{
    const opd_replay_result *result = &job->result;
    const opd_module *provider = then->provider;
    /* The same build-id is the same library by whatever path (/lib is /usr/lib, alternatives are links). */
    bool is_same_build =
        provider != NULL && provider->build_id[0] != '\0' && strcmp(provider->build_id, result->build_id) == 0;
    if (provider != NULL && provider->path[0] != '\0' && !is_same_build &&
        strcmp(provider->path, result->library) != 0 && result->library[0] != '\0') {
        opd_line(notes, size, "library: recorded %s, here %s", provider->path, result->library);
    }
    if (provider != NULL && provider->build_id[0] != '\0' && strcmp(provider->build_id, result->build_id) != 0 &&
        result->library[0] != '\0') {
        opd_line(notes, size, "build-id: recorded %s, here %s", provider->build_id,
                 result->build_id[0] != '\0' ? result->build_id : "none");
    }
    const char *core = options->core != NULL ? options->core : provider != NULL ? provider->core : "";
    if (core[0] != '\0' && result->core[0] != '\0' && strcasecmp(core, result->core) != 0) {
        opd_line(notes, size, "core: %s %s, here %s", options->core != NULL ? "asked for" : "recorded", core,
                 result->core);
    }
    if (options->core != NULL && provider != NULL && provider->core[0] != '\0' &&
        strcasecmp(provider->core, result->core) != 0) {
        opd_line(notes, size, "core: recorded %s, here %s", provider->core, result->core);
    }
    if (provider != NULL && provider->threads > 0 && result->threads > 0 && provider->threads != result->threads) {
        opd_line(notes, size, "threads: recorded %d, here %d", provider->threads, result->threads);
    } else if (job->threads > 0 && result->threads > 0 && job->threads != result->threads) {
        opd_line(notes, size, "threads: asked for %d, here %d", job->threads, result->threads);
    } else if (options->threads > 0 && result->threads == 0) {
        opd_line(notes, size, "threads: asked for %d, the library does not say whether it takes them",
                 options->threads);
    }
}

static void note_alignment(char *notes, size_t size, const opd_job *job)
{
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; i < job->call.operand_count; i++) {
        if (job->alignment_changed[i] && used + OPD_NAME + 3 < sizeof names) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                                     job->call.operands[i].name);
        }
    }
    if (used > 0) {
        opd_line(notes, size, "alignment: guards move %s within the cache line", names);
    }
}

/* The reference is slower than a library by orders of magnitude: left out where the answer does not hang on it. */
static void spare_reference(opd_job *job, const opd_failure *expected, double limit)
{
    opd_outcome outcome = expected != NULL ? expected->outcome : OPD_OUTCOME_OK;
    if (outcome == OPD_OUTCOME_HANG) {
        job->skip_reference = true; /* whether it returns is the question */
    }
    job->reference_limit = limit > 0 ? limit : REFERENCE_LIMIT;
    job->is_reference_dear = outcome != OPD_OUTCOME_MISMATCH && opd_call_flops(&job->call) > job->reference_limit;
}

static void note_reference(char *notes, size_t size, const opd_job *job, const opd_replay_result *result)
{
    bool is_bad_call = (job->call.flags & OPD_CALL_BAD_ARGS) != 0;
    if (job->is_reference_dear && !is_bad_call && !job->skip_reference && !job->is_born_expected &&
        !result->numbers.is_valid) {
        opd_line(notes, size, "reference: not run, the call has %.2g operations (limit %.2g)",
                 opd_call_flops(&job->call), job->reference_limit);
    }
}

/* Outputs into memory of the result's own. */
static opd_status take_outputs(opd_replay_result *out, opd_job *job)
{
    size_t total = 0;
    for (int i = 0; i < job->call.operand_count; i++) {
        total += (size_t)job->operands[i].output_bytes + 64;
    }
    if (!job->keep_outputs || out->output_count == 0) {
        return OPD_OK;
    }
    void *memory = NULL;
    opd_status status = opd_alloc(&memory, total);
    if (status != OPD_OK) {
        return status;
    }
    out->memory = memory;
    out->memory_size = total;
    size_t at = 0;
    for (int i = 0; i < out->output_count; i++) {
        int64_t low = 0;
        int64_t high = 0;
        opd_tensor *view = &out->outputs[i].view;
        for (int k = 0; k < job->call.operand_count; k++) {
            const opd_job_operand *slot = &job->operands[k];
            opd_tensor_span(view, &low, &high);
            if (strcmp(job->call.operands[k].name, out->outputs[i].name) != 0 || slot->output_bytes == 0 ||
                (uint64_t)(high - low) > slot->output_bytes) {
                continue;
            }
            memcpy((uint8_t *)memory + at, opd_job_at(job, slot->output), (size_t)(high - low));
            view->data = (uint8_t *)memory + at - low;
            view->storage = (uint8_t *)memory + at;
            view->storage_bytes = (uint64_t)(high - low);
            at += ((size_t)slot->output_bytes + 63) & ~(size_t)63;
            break;
        }
    }
    return OPD_OK;
}

static opd_status run_worker(opd_replay_result *out, opd_spawn *spawn, const recorded *then,
                             const opd_failure *expected)
{
    const opd_job *job = spawn->job;
    opd_status status = opd_worker_environment(&spawn->environment, then->environment,
                                               job->core[0] != '\0' ? job->core : NULL, job->isa, job->threads);
    if (status == OPD_OK) {
        status = opd_spawn_run(spawn);
    }
    opd_free(spawn->environment);
    if (status != OPD_OK) {
        return status;
    }
    if (atomic_load(&job->stage) == OPD_STAGE_FAILED) {
        return opd_fail((opd_status)job->status, "%s", job->text);
    }
    if (atomic_load(&job->stage) == OPD_STAGE_SPAWNED) {
        return opd_fail(OPD_E_CHILD, "the worker %s did not start its job%s%s", spawn->worker,
                        spawn->output[0] != '\0' ? ": " : "", spawn->output);
    }
    opd_verdict_read(out, spawn, expected);
    return OPD_OK;
}

opd_status opd_replay(opd_replay_result *out, const opd_bundle *environment_of, const opd_case *item,
                      const opd_failure *expected, const opd_replay_options *options)
{
    static const opd_replay_options defaults = OPD_REPLAY_OPTIONS_INIT;
    opd_job *job = NULL;
    int fd = -1;
    char worker[PATH_MAX];
    char notes[sizeof out->environment] = "";
    opd_replay_result result = { 0 };
    opd_environment_info here;
    options = options != NULL ? options : &defaults;
    recorded then = find_recorded(environment_of, &item->call);
    if (!find_worker(worker, sizeof worker, options->worker)) {
        return opd_fail(OPD_E_CHILD, "opd-worker is not beside this program nor in ../libexec/opsdebug");
    }
    opd_status status = opd_job_new(&job, &fd, item, environment_of, options);
    if (status != OPD_OK) {
        return status;
    }
    job->is_born_expected = options->lazy_reference && expected != NULL &&
                            (expected->outcome == OPD_OUTCOME_NAN_BORN || expected->outcome == OPD_OUTCOME_INF_BORN);
    spare_reference(job, expected, options->reference_limit);
    if (then.environment != NULL) {
        status = opd_environment_read(&here);
        if (status == OPD_OK) {
            opd_environment_compare(notes, sizeof notes, then.environment, &here);
        }
    }
    if (status == OPD_OK) {
        status = plan_job(job, notes, sizeof notes, &then, options);
    }
    if (status == OPD_OK) {
        opd_spawn spawn = { .worker = worker, .job = job, .fd = fd, .options = options };
        spawn.operations = opd_call_flops(&job->call);
        status = run_worker(&result, &spawn, &then, expected);
        job->call.op = item->call.op; /* the worker's is an address in another program */
    }
    if (status == OPD_OK) {
        note_provider(notes, sizeof notes, job, &then, options);
        note_alignment(notes, sizeof notes, job);
        if (job->note[0] != '\0') {
            opd_line(notes, sizeof notes, "%s", job->note);
        }
        note_reference(notes, sizeof notes, job, &result);
        memcpy(result.environment, notes, sizeof result.environment);
        status = take_outputs(&result, job);
    }
    opd_job_close(job, fd);
    if (status == OPD_OK) {
        *out = result;
    }
    return status;
}

void opd_replay_result_done(opd_replay_result *result)
{
    if (result != NULL) {
        opd_free(result->memory);
        result->memory = NULL;
        result->memory_size = 0;
    }
}
