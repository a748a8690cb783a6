/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages are copied as they are reported, in double precision. A stage is wrong where its error is more than the rounding of that element (in the
 * accumulator, or in the dtype it is reported in), four times the largest error of the narrow definition, and two units in the last place of the
 * stage's largest element explain.
 */
#include "stage_log.h"

#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "own_definition.h"

typedef struct stage_copy {
    char name[OPD_NAME];
    int64_t count;
    double *value;
    double epsilon; /* of the dtype it was reported in */
} stage_copy;

typedef struct stage_log {
    stage_copy stages[OPD_MAX_STAGES];
    int count;
    const char *wanted; /* names, "a b"; others are not kept */
    opd_status status;
} stage_log;

/* Is name a word of the list? */
static bool is_word(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = list + strspn(list, " "); *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length == size && memcmp(at, name, size) == 0) {
            return true;
        }
        at += length;
    }
    return false;
}

/* A stage reported in parts is put together in the order of its reports. */
static void take(void *context, const char *stage, const opd_tensor *view)
{
    stage_log *log = context;
    int at = 0;
    while (at < log->count && strcmp(log->stages[at].name, stage) != 0) {
        at++;
    }
    if (at == OPD_MAX_STAGES || log->status != OPD_OK || !is_word(log->wanted, stage)) {
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
    copy->epsilon = opd_dtype_is_float(view->dtype) ? opd_dtype_epsilon(view->dtype) : 0;
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

static opd_status log_definition(stage_log *log, opd_job *job, const opd_call *call, bool is_wide)
{
    long double *values[OPD_MAX_OPERANDS] = { NULL };
    opd_own_definition own;
    opd_trace_to(take, log);
    opd_own_definition_begin(&own, job);
    opd_status status = opd_definition_run(values, NULL, call, is_wide);
    opd_own_definition_end(&own);
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

/* What rounding explains of an error, beside a part of the element itself. */
static double floor_of(const stage_copy *want, double naive_abs, double epsilon)
{
    double largest = 0;
    for (int64_t i = 0; i < want->count; i++) {
        double size = fabs(want->value[i]);
        largest = isfinite(size) && size > largest ? size : largest;
    }
    return 4 * naive_abs + 2 * epsilon * largest;
}

static void hold(opd_stage_report *out, const stage_copy *got, const stage_copy *want, double epsilon)
{
    double worst = -1;
    double explained = floor_of(want, out->naive_abs, epsilon);
    int64_t in_step = got->count / (out->steps > 0 ? out->steps : 1);
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
        bool is_wrong = is_other || error > 64 * epsilon * fabs(want->value[i]) + explained;
        if (is_wrong && !out->is_wrong) {
            out->first_step = in_step > 0 ? i / in_step : 0;
        }
        out->is_wrong |= is_wrong;
        out->wrong_count += is_wrong;
    }
    out->max_abs = worst > 0 ? worst : 0;
}

static void report(opd_replay_result *result, const char *name, const stage_log logs[3], const opd_call *call)
{
    opd_stage_report *out = &result->stages[result->stage_count];
    const stage_copy *got = find(&logs[0], name);
    const stage_copy *want = find(&logs[1], name);
    double epsilon = opd_dtype_epsilon(opd_dtype_real(call->dtype) == OPD_F64 ? OPD_F64 : OPD_F32);
    *out = (opd_stage_report){ .is_reported = got != NULL, .count = got != NULL ? got->count : 0, .steps = 1 };
    memcpy(out->name, name, strlen(name) + 1);
    if (call->op->steps != NULL && (opd_call_eval(&out->steps, call, call->op->steps) != OPD_OK || out->steps < 1)) {
        out->steps = 1;
    }
    out->is_compared = got != NULL && want != NULL && got->count == want->count;
    if (out->is_compared) {
        out->naive_abs = largest_error(find(&logs[2], name), want);
        hold(out, got, want, got->epsilon > epsilon ? got->epsilon : epsilon);
    }
    result->stage_count++;
}

opd_status opd_stages_hold(opd_job *job, const opd_call *call, const opd_variant *variant)
{
    opd_replay_result *result = &job->result;
    const char *wanted = job->stages;
    stage_log logs[3]; /* of the variant, the wide and the narrow definition */
    const char *text = call->op != NULL && call->op->checkpoints != NULL ? call->op->checkpoints : "";
    memset(logs, 0, sizeof logs);
    for (int k = 0; k < 3; k++) {
        logs[k].wanted = wanted[0] != '\0' ? wanted : text;
    }
    result->stage_count = 0;
    opd_status status = log_definition(&logs[1], job, call, true);
    if (status == OPD_OK) {
        status = log_definition(&logs[2], job, call, false);
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
        if (is_word(logs[0].wanted, name)) {
            report(result, name, logs, call);
        }
    }
    for (int i = 0; i < 3; i++) {
        log_done(&logs[i]);
    }
    return status;
}
