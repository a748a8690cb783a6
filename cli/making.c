/* SPDX-License-Identifier: Apache-2.0 */
/* Calls made from an operator's name and wishes: the operator found, the inputs filled, the result kept in a bundle. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <opsdebug/memory.h>

#include "guest.h"
#include "making.h"
#include "nearest.h"
#include "trial.h"

#define MEMORY_LIMIT ((uint64_t)8 << 30)

error_t opd_making_parse(int key, char *arg, const struct argp_state *state, opd_making *making)
{
    switch (key) {
    case OPD_KEY_OP:
        making->op = arg;
        return 0;
    case OPD_KEY_SHAPES:
        making->wish.shapes = arg;
        return 0;
    case OPD_KEY_DTYPE:
        making->wish.dtype = opd_dtype_parse(arg);
        if (making->wish.dtype == OPD_DTYPE_NONE) {
            opd_usage_error(state, "--dtype %s: f16, bf16, f32, f64, i8 .. i64, u8 .. u64 or bool", arg);
        }
        return 0;
    case OPD_KEY_ATTRS:
        making->wish.attributes = arg;
        return 0;
    case OPD_KEY_OUTPUTS:
        making->wish.outputs = arg;
        return 0;
    case OPD_KEY_VARIANT:
        making->variant = arg;
        return 0;
    case OPD_KEY_OP_LIBRARY:
        making->library = arg;
        return 0;
    case OPD_KEY_SEED:
        making->seed = opd_parse_count(state, "--seed", arg, 0, UINT64_MAX);
        return 0;
    case OPD_KEY_FILL:
        if (opd_fill_parse(&making->fill, arg) != OPD_OK) {
            opd_usage_error(state, "--fill %s: %s", arg, opd_error_text());
        }
        making->has_fill = true;
        return 0;
    case ARGP_KEY_END:
        if (making->op == NULL) {
            opd_usage_error(state, "name the operator with --op");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Is it the operator that the name, "NAME" or "DOMAIN.NAME", means? */
static bool is_named(const opd_op *op, const char *name)
{
    const char *dot = strrchr(name, '.');
    bool is_domain = dot == NULL || (strlen(op->domain) == (size_t)(dot - name) &&
                                     memcmp(op->domain, name, (size_t)(dot - name)) == 0);
    return is_domain && strcmp(op->name, dot != NULL ? dot + 1 : name) == 0;
}

opd_status opd_making_unknown(const char *name)
{
    const char *dot = strrchr(name, '.');
    opd_nearest nearest = { .word = dot != NULL ? dot + 1 : name };
    for (int i = 0; i < opd_op_count(); i++) {
        opd_nearest_try(&nearest, opd_op_at(i)->domain, opd_op_at(i)->name);
    }
    return opd_nearest_is_meant(&nearest)
               ? opd_fail(OPD_E_NAME, "no operator %s; did you mean %s.%s? (ops-debug ops lists them)", name,
                          nearest.domain, nearest.name)
               : opd_fail(OPD_E_NAME, "no operator %s; ops-debug ops lists them", name);
}

/* A contract of routines, which libraries compute and no variant of ours does. */
static opd_status refuse_routines(const opd_op *op)
{
    return opd_fail(
        OPD_E_UNSUPPORTED,
        "%s.%s has no variant to run here: it is the contract of %s, which BLAS libraries compute; record a program that "
        "calls one, and replay its bundle with --library",
        op->domain, op->name, op->routines != NULL ? op->routines : "routines");
}

opd_status opd_making_find(const opd_op **out, const char *name)
{
    static const char *const order[] = { "ai.onnx", "opsdebug", NULL };
    for (size_t k = 0; k < OPD_COUNT(order); k++) {
        for (int i = 0; i < opd_op_count(); i++) {
            const opd_op *op = opd_op_at(i);
            bool is_blas = strcmp(op->domain, "blas") == 0;
            if (!is_blas && (order[k] == NULL || strcmp(op->domain, order[k]) == 0) && is_named(op, name)) {
                *out = op;
                return OPD_OK;
            }
        }
    }
    for (int i = 0; i < opd_op_count(); i++) {
        if (is_named(opd_op_at(i), name)) {
            return refuse_routines(opd_op_at(i));
        }
    }
    return opd_making_unknown(name);
}

opd_status opd_making_case(opd_case *out, const opd_making *making)
{
    const opd_op *op = NULL;
    opd_status status = making->library != NULL ? opd_guest_load(making->library, making->timeout_ms) : OPD_OK;
    if (status == OPD_OK) {
        status = opd_making_find(&op, making->op);
    }
    return status == OPD_OK ? opd_making_fill(out, op, making) : status;
}

opd_status opd_making_fill(opd_case *out, const opd_op *op, const opd_making *making)
{
    opd_call call;
    opd_case item = { 0 };
    opd_status status = opd_call_make(&call, op, &making->wish);
    if (status == OPD_OK) {
        status = opd_case_allocate(&item, &call, MEMORY_LIMIT);
    }
    if (status == OPD_OK) {
        status = opd_call_generate(&item.call, making->seed, making->has_fill ? &making->fill : NULL);
        if (status != OPD_OK) {
            opd_case_done(&item);
        }
    }
    if (status != OPD_OK) {
        return status;
    }
    item.call.seed = making->seed;
    item.call.number = 1;
    item.call.pid = (uint32_t)getpid();
    item.call.thread = item.call.pid;
    for (int i = 0; i < item.call.operand_count; i++) {
        opd_operand *operand = &item.call.operands[i];
        if (operand->role == OPD_ROLE_OUT) { /* its shape may hang on contents: the memory comes with the run */
            operand->view.data = NULL;
            operand->view.storage = NULL;
            operand->view.storage_bytes = 0;
        }
        operand->address = (uint64_t)(uintptr_t)operand->view.data;
    }
    *out = item;
    return OPD_OK;
}

opd_status opd_making_or_bundle(opd_case *out, opd_ruling *ruling, const opd_making *making, const char *path,
                                const opd_shared *shared)
{
    opd_bundle *bundle = NULL;
    opd_subject subject;
    opd_replay_options wish = { .library = making->library };
    *ruling = (opd_ruling){ .rule = "" };
    if (path == NULL) {
        return opd_making_case(out, making);
    }
    opd_status status = opd_source_open(&bundle, path, shared);
    if (status == OPD_OK) {
        status = opd_subject_find(&subject, bundle, NULL);
    }
    if (status == OPD_OK) {
        *ruling = subject.ruling;
        status = opd_trial_load(out, bundle, &subject, &wish);
    }
    opd_bundle_close(bundle);
    return status;
}

/* What the run left, as a recorder would keep it: replays compare theirs with it. */
static opd_status write_outputs(opd_writer *writer, opd_call *call, const opd_replay_result *result)
{
    opd_status status = OPD_OK;
    for (int k = 0; k < result->output_count && status == OPD_OK; k++) {
        const opd_operand *output = &result->outputs[k];
        opd_operand *operand = opd_call_operand(call, output->name);
        void *packed = NULL;
        if (operand == NULL || output->view.data == NULL) {
            continue;
        }
        status = opd_alloc(&packed, (size_t)opd_tensor_packed_bytes(&output->view) + 1);
        if (status == OPD_OK) {
            opd_tensor_pack(packed, &output->view);
            operand->after = opd_packed_digest(&output->view, packed);
            status = opd_writer_tensor(writer, &operand->after, &output->view, packed);
        }
        opd_free(packed);
    }
    return status;
}

opd_status opd_making_save(const char *path, const opd_case *item, const opd_replay_result *result,
                           const opd_replay_result *expected, const opd_replay_options *way)
{
    struct timespec now;
    opd_writer *writer = NULL;
    opd_environment_info environment;
    bool has_failure = result->observed.outcome != OPD_OUTCOME_OK;
    opd_header_info header = { .pid = (uint32_t)getpid() };
    snprintf(header.kind, sizeof header.kind, "%s", has_failure ? "failure" : "api");
    clock_gettime(CLOCK_REALTIME, &now);
    header.created_realtime_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    snprintf(header.capture, sizeof header.capture, "full");
    snprintf(header.producer, sizeof header.producer, "ops-debug %s", OPD_VERSION);
    opd_status status = opd_environment_read(&environment);
    if (status == OPD_OK) {
        status = opd_writer_open(&writer, path, &header);
    }
    if (status != OPD_OK) {
        return status;
    }
    opd_call call = item->call;
    if (result->variant[0] != '\0') {
        snprintf(call.symbol, sizeof call.symbol, "%.20s@%.26s", call.name, result->variant);
    }
    status = opd_writer_environment(writer, &environment);
    if (status == OPD_OK) {
        status = write_outputs(writer, &call, expected != NULL ? expected : result);
    }
    if (status == OPD_OK && expected != NULL) {
        opd_event event = { .kind = OPD_EVENT_GOLDEN, .thread = call.thread, .value = (int64_t)call.number };
        snprintf(event.name, sizeof event.name, "%.30s of %.40s, %s", expected->variant, call.name,
                 opd_sureness_name(expected->sureness));
        status = opd_writer_event(writer, &event);
    }
    if (status == OPD_OK) {
        status = opd_ruling_write(writer, &call, way);
    }
    if (status == OPD_OK) {
        status = opd_writer_call_with_data(writer, &call);
    }
    if (status == OPD_OK && has_failure) {
        opd_failure failure = result->observed;
        failure.thread = call.thread;
        failure.call_number = call.number;
        status = opd_writer_failure(writer, &failure);
    }
    if (status != OPD_OK) {
        opd_writer_abandon(writer, false);
        return status;
    }
    return opd_writer_close(writer);
}
