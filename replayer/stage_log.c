/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages are copied as they are reported, in double precision. A stage is wrong where its error is more than the accumulator's rounding of that
 * element and four times the largest error of the narrow definition explain.
 */
#include "stage_log.h"

#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

typedef struct stage_copy {
    char name[OPD_NAME];
    int64_t count;
    double *value;
} stage_copy;

typedef struct stage_log {
    stage_copy stages[OPD_MAX_STAGES];
    int count;
    opd_status status;
} stage_log;

/* A stage reported in parts is put together in the order of its reports. */
static void take(void *context, const char *stage, const opd_tensor *view)
{
    stage_log *log = context;
    int at = 0;
    while (at < log->count && strcmp(log->stages[at].name, stage) != 0) {
        at++;
    }
    if (at == OPD_MAX_STAGES || log->status != OPD_OK || strlen(stage) >= OPD_NAME) {
        return;
    }
    stage_copy *copy = &log->stages[at];
    int64_t count = opd_tensor_count(view);
    void *grown = copy->value;
    log->status = opd_grow(&grown, (size_t)(copy->count + count), sizeof *copy->value);
    copy->value = grown;
    if (log->status != OPD_OK) {
        return;
    }
    for (int64_t flat = 0; flat < count; flat++) {
        int64_t index[OPD_MAX_RANK];
        double unused = 0;
        opd_tensor_unflatten(view, flat, index);
        opd_element_load(view->dtype, (const uint8_t *)view->data + opd_tensor_offset(view, index),
                         &copy->value[copy->count + flat], &unused);
    }
    copy->count += count;
    memcpy(copy->name, stage, strlen(stage) + 1);
    log->count = at == log->count ? at + 1 : log->count;
}

static void log_done(stage_log *log)
{
    for (int i = 0; i < OPD_MAX_STAGES; i++) {
        opd_free(log->stages[i].value);
    }
}

static const stage_copy *find(const stage_log *log, const char *name)
{
    for (int i = 0; i < log->count; i++) {
        if (strcmp(log->stages[i].name, name) == 0) {
            return &log->stages[i];
        }
    }
    return NULL;
}

static opd_status log_definition(stage_log *log, const opd_call *call, bool is_wide)
{
    long double *values[OPD_MAX_OPERANDS] = { NULL };
    opd_trace_to(take, log);
    opd_status status = opd_definition_run(values, NULL, call, is_wide);
    opd_trace_to(NULL, NULL);
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(values[i]);
    }
    return status == OPD_E_DECLINED ? log->status : status != OPD_OK ? status : log->status;
}

static bool is_other_class(double got, double want)
{
    if (isnan(got) || isnan(want)) {
        return isnan(got) != isnan(want);
    }
    return (isinf(got) || isinf(want)) && got != want;
}

static double largest_error(const stage_copy *one, const stage_copy *two)
{
    double largest = 0;
    for (int64_t i = 0; one != NULL && one->count == two->count && i < one->count; i++) {
        double error = fabs(one->value[i] - two->value[i]);
        largest = isfinite(error) && error > largest ? error : largest;
    }
    return largest;
}

static void hold(opd_stage_report *out, const stage_copy *got, const stage_copy *want, double epsilon)
{
    double worst = -1;
    for (int64_t i = 0; i < got->count; i++) {
        bool is_other = is_other_class(got->value[i], want->value[i]);
        double error = is_other ? (double)INFINITY : fabs(got->value[i] - want->value[i]);
        error = isnan(error) ? 0 : error; /* the same class, not finite */
        if (error > worst) {
            worst = error;
            out->worst = i;
            out->got = got->value[i];
            out->want = want->value[i];
        }
        out->is_wrong |= is_other || error > 64 * epsilon * fabs(want->value[i]) + 4 * out->naive_abs;
    }
    out->max_abs = worst > 0 ? worst : 0;
}

static void report(opd_replay_result *result, const char *name, const stage_log logs[3], double epsilon)
{
    opd_stage_report *out = &result->stages[result->stage_count];
    const stage_copy *got = find(&logs[0], name);
    const stage_copy *want = find(&logs[1], name);
    *out = (opd_stage_report){ .is_reported = got != NULL, .count = got != NULL ? got->count : 0 };
    memcpy(out->name, name, strlen(name) + 1);
    out->is_compared = got != NULL && want != NULL && got->count == want->count;
    if (out->is_compared) {
        out->naive_abs = largest_error(find(&logs[2], name), want);
        hold(out, got, want, epsilon);
    }
    result->stage_count++;
}

opd_status opd_stages_hold(opd_replay_result *result, const opd_call *call, const opd_variant *variant)
{
    stage_log logs[3]; /* of the variant, the wide and the narrow definition */
    const char *text = call->op != NULL && call->op->checkpoints != NULL ? call->op->checkpoints : "";
    double epsilon = opd_dtype_epsilon(opd_dtype_real(call->dtype) == OPD_F64 ? OPD_F64 : OPD_F32);
    memset(logs, 0, sizeof logs);
    result->stage_count = 0;
    opd_status status = log_definition(&logs[1], call, true);
    if (status == OPD_OK) {
        status = log_definition(&logs[2], call, false);
    }
    if (status == OPD_OK) {
        opd_trace_to(take, &logs[0]);
        (void)opd_variant_run(variant, call, NULL);
        opd_trace_to(NULL, NULL);
        status = logs[0].status;
    }
    while (status == OPD_OK && result->stage_count < OPD_MAX_STAGES) {
        char name[OPD_NAME];
        text += strspn(text, " ");
        size_t size = strcspn(text, " ");
        if (size == 0 || size >= sizeof name) {
            break;
        }
        memcpy(name, text, size);
        name[size] = '\0';
        text += size;
        report(result, name, logs, epsilon);
    }
    for (int i = 0; i < 3; i++) {
        log_done(&logs[i]);
    }
    return status;
}
