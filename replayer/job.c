/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a case into the memory file of a worker: contents packed per operand, and which operands must stay together
 * because their memory meets.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "job.h"
#include "presets.h"

#define DEFAULT_LIMIT   ((uint64_t)8 << 30)
#define DEFAULT_TIMEOUT 60000

static uint64_t align_up(uint64_t value)
{
    return (value + 63) & ~UINT64_C(63);
}

/* Views of a call with bad arguments may describe nothing. */
static bool is_placeable(const opd_operand *operand)
{
    return opd_tensor_check(&operand->view) == OPD_OK && operand->view.dtype != OPD_DTYPE_NONE;
}

/* Memory of a masked matrix exists as a whole: a kernel may load what it must not use. */
static void whole_span(opd_job_operand *slot, const opd_tensor *view)
{
    opd_tensor whole = *view;
    whole.mask = (opd_mask){ .kind = OPD_MASK_NONE };
    opd_tensor_span(&whole, &slot->low, &slot->high);
}

static opd_status choose_place(opd_job_operand *slot, const opd_operand *operand, bool is_bad_call)
{
    bool is_output_only = operand->role == OPD_ROLE_OUT && opd_digest_is_none(&operand->before);
    slot->is_in_case = operand->view.data != NULL;
    slot->address = slot->is_in_case ? (uint64_t)(uintptr_t)operand->view.data : operand->address;
    if ((operand->flags & OPD_OPERAND_RETURNED) != 0) {
        slot->place = OPD_PLACE_RETURNED;
        return OPD_OK;
    }
    if (!is_placeable(operand)) {
        slot->place = operand->address == 0 ? OPD_PLACE_NULL : OPD_PLACE_UNREADABLE;
        return OPD_OK;
    }
    whole_span(slot, &operand->view);
    if (operand->view.data != NULL && !is_output_only) {
        slot->place = OPD_PLACE_DATA;
        slot->before_bytes = opd_tensor_packed_bytes(&operand->view);
        return OPD_OK;
    }
    if ((operand->flags & OPD_OPERAND_UNREADABLE) != 0) {
        slot->place = operand->address == 0 ? OPD_PLACE_NULL : OPD_PLACE_UNREADABLE;
        return OPD_OK;
    }
    bool must_read = (operand->role & OPD_ROLE_IN) != 0 && (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0;
    if (must_read && slot->high > slot->low && !is_bad_call) {
        return opd_fail(OPD_E_NOTFOUND, "the content of operand %s was not kept: nothing to replay with",
                        operand->name);
    }
    slot->place = OPD_PLACE_CANARY;
    return OPD_OK;
}

/* An operand without a pointer argument of its own lies where that of another points. */
static void share_pointers(opd_job *job, const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_job_operand *slot = &job->operands[i];
        int owner = opd_call_shared(call, i);
        if (owner >= 0 && owner < call->operand_count && job->operands[owner].is_in_case &&
            (slot->place == OPD_PLACE_DATA || slot->place == OPD_PLACE_CANARY)) {
            slot->place = OPD_PLACE_SHARED;
            slot->address = job->operands[owner].address;
            slot->is_in_case = true;
            slot->before_bytes = 0;
        }
    }
}

static bool meets(const opd_job *job, const opd_case *item, int a, int b)
{
    const opd_job_operand *one = &job->operands[a];
    const opd_job_operand *two = &job->operands[b];
    const void *storage = item->call.operands[a].view.storage;
    if (!one->is_in_case || !two->is_in_case || one->place == OPD_PLACE_RETURNED || two->place == OPD_PLACE_RETURNED) {
        return false;
    }
    if (job->guard == OPD_GUARD_NONE && storage != NULL && storage == item->call.operands[b].view.storage) {
        return true;
    }
    int64_t low_a = (int64_t)one->address + one->low;
    int64_t high_a = (int64_t)one->address + one->high;
    int64_t low_b = (int64_t)two->address + two->low;
    int64_t high_b = (int64_t)two->address + two->high;
    return low_a < high_b && low_b < high_a;
}

/* Groups are the connected components of "memory meets"; offsets are from the group's lowest byte. */
static void group_operands(opd_job *job, const opd_case *item)
{
    int count = job->call.operand_count;
    for (int i = 0; i < count; i++) {
        job->operands[i].group = i;
    }
    for (int round = 0; round < count; round++) {
        for (int a = 0; a < count; a++) {
            for (int b = 0; b < a; b++) {
                int low =
                    job->operands[a].group < job->operands[b].group ? job->operands[a].group : job->operands[b].group;
                if (job->operands[a].group != job->operands[b].group && meets(job, item, a, b)) {
                    job->operands[a].group = low;
                    job->operands[b].group = low;
                }
            }
        }
    }
    for (int i = 0; i < count; i++) {
        int64_t lowest = INT64_MAX;
        for (int k = 0; k < count; k++) {
            int64_t low = (int64_t)job->operands[k].address + job->operands[k].low;
            if (job->operands[k].group == job->operands[i].group && low < lowest) {
                lowest = low;
            }
        }
        job->operands[i].group_offset = (int64_t)job->operands[i].address + job->operands[i].low - lowest;
    }
}

static bool is_recorded(const opd_bundle *recorded, const opd_operand *operand)
{
    return recorded != NULL && (operand->role & OPD_ROLE_OUT) != 0 && !opd_digest_is_none(&operand->after) &&
           opd_bundle_has_tensor(recorded, &operand->after);
}

/* Places and offsets of everything in the file; *size is its size. */
static opd_status lay_out(opd_job *job, uint64_t *size, const opd_case *item, const opd_bundle *recorded)
{
    uint64_t at = align_up(sizeof(opd_job));
    uint64_t total = 0;
    bool is_bad_call = (item->call.flags & OPD_CALL_BAD_ARGS) != 0;
    for (int i = 0; i < item->call.operand_count; i++) {
        opd_status status = choose_place(&job->operands[i], &item->call.operands[i], is_bad_call);
        if (status != OPD_OK) {
            return status;
        }
    }
    share_pointers(job, &item->call);
    for (int i = 0; i < item->call.operand_count; i++) {
        const opd_operand *operand = &item->call.operands[i];
        opd_job_operand *slot = &job->operands[i];
        if (is_recorded(recorded, operand) && slot->place != OPD_PLACE_UNREADABLE && slot->place != OPD_PLACE_NULL) {
            slot->recorded_bytes = opd_tensor_packed_bytes(&operand->view);
        }
        slot->before = at;
        slot->recorded = align_up(at + slot->before_bytes);
        total += slot->before_bytes + slot->recorded_bytes;
        if (total > job->memory_limit) {
            return opd_fail(OPD_E_LIMIT, "the operands need more than the memory limit of %llu bytes",
                            (unsigned long long)job->memory_limit);
        }
        at = align_up(slot->recorded + slot->recorded_bytes);
    }
    for (int i = 0; i < item->call.operand_count && job->keep_outputs; i++) {
        opd_job_operand *slot = &job->operands[i];
        uint64_t span = (uint64_t)(slot->high - slot->low);
        if (slot->place == OPD_PLACE_RETURNED) {
            span = 16;
        }
        if ((item->call.operands[i].role & OPD_ROLE_OUT) != 0 && span > 0 && span <= OPD_JOB_OUTPUT_LIMIT) {
            slot->output = at;
            slot->output_bytes = span;
            at = align_up(at + span);
        }
    }
    *size = at;
    return OPD_OK;
}

/* The output of other that goes with an operand; NULL = none. errors: E_INVALID it is of another kind. */
static opd_status find_twin(const opd_operand **out, const opd_operand *operand, const opd_call *other)
{
    *out = NULL;
    for (int i = 0; other != NULL && (operand->role & OPD_ROLE_OUT) != 0 && i < other->operand_count; i++) {
        const opd_operand *twin = &other->operands[i];
        if (strcmp(twin->name, operand->name) != 0 || twin->view.data == NULL) {
            continue;
        }
        if (twin->view.dtype != operand->view.dtype || twin->view.rank != operand->view.rank ||
            memcmp(twin->view.shape, operand->view.shape, (size_t)twin->view.rank * sizeof twin->view.shape[0]) != 0) {
            return opd_fail(OPD_E_INVALID, "the values of %s are of another dtype or shape", operand->name);
        }
        *out = twin;
    }
    return OPD_OK;
}

/* Room for outputs from elsewhere. */
static opd_status lay_out_others(opd_job *job, uint64_t *size, const opd_case *item, const opd_replay_options *options)
{
    for (int i = 0; i < item->call.operand_count; i++) {
        const opd_operand *operand = &item->call.operands[i];
        const opd_operand *given = NULL;
        const opd_operand *golden = NULL;
        opd_job_operand *slot = &job->operands[i];
        opd_status status = find_twin(&given, operand, options->given);
        if (status == OPD_OK) {
            status = find_twin(&golden, operand, options->golden);
        }
        if (status != OPD_OK) {
            return status;
        }
        slot->whole_bytes = (uint64_t)opd_tensor_count(&operand->view) * opd_dtype_size(operand->view.dtype);
        if (given != NULL) {
            slot->given = *size;
            *size = align_up(*size + slot->whole_bytes);
        }
        if (golden != NULL) {
            slot->golden = *size;
            *size = align_up(*size + slot->whole_bytes);
        }
    }
    return OPD_OK;
}

static void copy_whole(void *to, const opd_tensor *view)
{
    size_t size = opd_dtype_size(view->dtype);
    for (int64_t flat = 0; flat < opd_tensor_count(view); flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, flat, index);
        memcpy((uint8_t *)to + (size_t)flat * size, (const uint8_t *)view->data + opd_tensor_offset(view, index), size);
    }
}

static void fill_others(opd_job *job, const opd_case *item, const opd_replay_options *options)
{
    for (int i = 0; i < item->call.operand_count; i++) {
        const opd_operand *twin = NULL;
        const opd_job_operand *slot = &job->operands[i];
        if (slot->given > 0 && find_twin(&twin, &item->call.operands[i], options->given) == OPD_OK && twin != NULL) {
            copy_whole(opd_job_at(job, slot->given), &twin->view);
        }
        if (slot->golden > 0 && find_twin(&twin, &item->call.operands[i], options->golden) == OPD_OK && twin != NULL) {
            copy_whole(opd_job_at(job, slot->golden), &twin->view);
        }
    }
}

/* Contents into the file. A recorded output that cannot be read is done without. */
static void fill(opd_job *job, const opd_case *item, const opd_bundle *recorded)
{
    for (int i = 0; i < item->call.operand_count; i++) {
        opd_job_operand *slot = &job->operands[i];
        const opd_operand *operand = &item->call.operands[i];
        if (slot->before_bytes > 0) {
            opd_tensor_pack(opd_job_at(job, slot->before), &operand->view);
        }
        if (slot->recorded_bytes > 0 && opd_bundle_tensor(opd_job_at(job, slot->recorded), slot->recorded_bytes,
                                                          recorded, &operand->after, &operand->view) != OPD_OK) {
            slot->recorded_bytes = 0;
        }
    }
}

static opd_status name_peers(opd_job *job, const char *const *peers)
{
    for (int i = 0; peers != NULL && peers[i] != NULL; i++) {
        const opd_rule *rule = opd_rule_find(peers[i]);
        if (i >= OPD_MAX_PEERS || rule == NULL || rule->meaning == NULL || opd_rule_needs_naive(rule)) {
            return opd_fail(OPD_E_INVALID, "%s is no preset that can be asked beside the verdict", peers[i]);
        }
        snprintf(job->peers[i], sizeof job->peers[i], "%s", rule->name);
    }
    return OPD_OK;
}

opd_status opd_job_new(opd_job **out, int *fd, const opd_case *item, const opd_bundle *recorded,
                       const opd_replay_options *options)
{
    opd_job plan = { .magic = OPD_JOB_MAGIC, .job_bytes = sizeof(opd_job), .call = item->call };
    uint64_t size = 0;
    if (options->variant != NULL &&
        snprintf(plan.variant, sizeof plan.variant, "%s", options->variant) >= (int)sizeof plan.variant) {
        return opd_fail(OPD_E_INVALID, "the name of a variant has at most %zu characters", sizeof plan.variant - 1);
    }
    if (options->convention != NULL) {
        if (opd_rule_find(options->convention) == NULL) {
            return opd_fail(OPD_E_INVALID, "no rule %s to judge by", options->convention);
        }
        snprintf(plan.convention, sizeof plan.convention, "%s", options->convention);
        plan.abs_err = options->abs_err;
        plan.rel_err = options->rel_err;
        plan.is_convention_deciding = options->is_convention_deciding;
    }
    plan.concurrent = options->concurrent;
    plan.is_poisoned = options->is_poisoned;
    plan.repeat = options->repeat > 0 ? options->repeat : 1;
    plan.guard = (int32_t)options->guard;
    plan.is_timeout_cpu = options->is_timeout_cpu;
    plan.timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : DEFAULT_TIMEOUT;
    plan.memory_limit = options->memory_limit > 0 ? options->memory_limit : DEFAULT_LIMIT;
    plan.keep_outputs = options->keep_outputs;
    plan.skip_reference = options->skip_reference;
    plan.with_metrics = options->with_metrics;
    plan.with_stages = options->with_stages;
    plan.certify_limit = options->with_metrics ? options->certify_limit : -1.0;
    snprintf(plan.engine, sizeof plan.engine, "%s", options->engine != NULL ? options->engine : "");
    snprintf(plan.stages, sizeof plan.stages, "%s", options->stages != NULL ? options->stages : "");
    plan.is_exact_data = options->is_exact_data;
    plan.is_given = options->given != NULL;
    plan.golden_sureness = options->golden != NULL ? (int32_t)options->golden_sureness : (int32_t)OPD_SURENESS_NONE;
    opd_status status = name_peers(&plan, options->peers);
    if (status == OPD_OK) {
        status = lay_out(&plan, &size, item, recorded);
    }
    if (status == OPD_OK) {
        status = lay_out_others(&plan, &size, item, options);
    }
    if (status != OPD_OK) {
        return status;
    }
    group_operands(&plan, item);
    plan.size = size;
    int file = memfd_create("opd-job", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)size) != 0) {
        status = opd_fail(OPD_E_IO, "cannot create a memory file of %llu bytes: %s", (unsigned long long)size,
                          strerror(errno));
        goto out;
    }
    opd_job *job = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (job == MAP_FAILED) {
        status = opd_fail(OPD_E_NOMEM, "cannot map a memory file of %llu bytes", (unsigned long long)size);
        goto out;
    }
    memcpy(job, &plan, sizeof plan);
    fill(job, item, recorded);
    fill_others(job, item, options);
    *out = job;
    *fd = file;
    return OPD_OK;
out:
    if (file >= 0) {
        close(file);
    }
    return status;
}

void opd_job_close(opd_job *job, int fd)
{
    if (job != NULL) {
        munmap(job, job->size);
        close(fd);
    }
}
