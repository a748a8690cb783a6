/* SPDX-License-Identifier: Apache-2.0 */
/* A probe carried out: the call made, changed in the one way that the probe is about, run in a worker. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "making.h"
#include "probes.h"

enum { CPU_LIMIT_MS = 10000, AT_ONCE = 6, RUNS = 4 };
#define MEMORY_LIMIT ((uint64_t)2 << 30)

static bool is_content(const opd_operand *operand)
{
    return operand->role != OPD_ROLE_OUT && operand->view.data != NULL;
}

/* The same elements in memory as the call's views and addresses want it. */
static opd_status rebuild(opd_case *item, opd_call *call)
{
    opd_case made = { 0 };
    for (int i = 0; i < call->operand_count; i++) {
        call->operands[i].view.data = NULL;
    }
    opd_status status = opd_case_allocate(&made, call, MEMORY_LIMIT);
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        opd_operand *operand = &made.call.operands[i];
        operand->address = (uint64_t)(uintptr_t)operand->view.data;
        if (is_content(&item->call.operands[i])) {
            void *packed = NULL;
            status = opd_alloc(&packed, (size_t)opd_tensor_packed_bytes(&operand->view) + 1);
            if (status == OPD_OK) {
                opd_tensor_pack(packed, &item->call.operands[i].view);
                opd_tensor_unpack(&operand->view, packed);
            }
            opd_free(packed);
        } else { /* the memory comes with the run, at this place in its page */
            operand->view.data = NULL;
            operand->view.storage = NULL;
            operand->view.storage_bytes = 0;
        }
    }
    if (status != OPD_OK) {
        opd_case_done(&made);
        return status;
    }
    opd_case_done(item);
    *item = made;
    return OPD_OK;
}

/* A gap after each element. */
static opd_status spread(opd_case *item)
{
    opd_call call = item->call;
    for (int i = 0; i < call.operand_count; i++) {
        opd_tensor *view = &call.operands[i].view;
        for (int k = 0; k < view->rank; k++) {
            view->stride[k] *= 2;
        }
        call.operands[i].address = 0;
    }
    return rebuild(item, &call);
}

/* As far off a vector's alignment as elements can be. */
static opd_status misalign(opd_case *item)
{
    opd_call call = item->call;
    for (int i = 0; i < call.operand_count; i++) {
        call.operands[i].address = opd_dtype_size(call.operands[i].view.dtype);
    }
    return rebuild(item, &call);
}

/* Two inputs of one kind in the same memory; not where the contract says what they hold. */
static bool merge(opd_case *item)
{
    opd_call *call = &item->call;
    for (int b = 1; b < call->operand_count && call->op->generate == NULL; b++) {
        opd_operand *later = &call->operands[b];
        for (int a = 0; a < b; a++) {
            const opd_operand *first = &call->operands[a];
            bool is_alike = first->role == OPD_ROLE_IN && later->role == OPD_ROLE_IN && first->view.data != NULL &&
                            later->view.data != NULL && first->view.dtype == later->view.dtype &&
                            later->view.dtype == call->dtype && first->view.rank == later->view.rank &&
                            memcmp(first->view.shape, later->view.shape, sizeof first->view.shape) == 0;
            if (is_alike) {
                later->view = first->view;
                later->address = first->address;
                return true;
            }
        }
    }
    return false;
}

/* Outputs into the memory of the inputs that the contract lets them have: "Y=X". */
static bool share(opd_case *item)
{
    const char *at = item->call.op->in_place;
    bool is_shared = false;
    while (at != NULL && *at != '\0') {
        char names[2][OPD_NAME] = { "", "" };
        size_t size = strcspn(at, "=");
        size_t rest = at[size] == '=' ? strcspn(at + size + 1, " ") : 0;
        snprintf(names[0], sizeof names[0], "%.*s", (int)size, at);
        snprintf(names[1], sizeof names[1], "%.*s", (int)rest, at + size + (rest > 0));
        opd_operand *out = opd_call_operand(&item->call, names[0]);
        const opd_operand *in = opd_call_operand(&item->call, names[1]);
        if (out != NULL && in != NULL && in->view.data != NULL && out->view.dtype == in->view.dtype &&
            out->view.rank == in->view.rank && memcmp(out->view.shape, in->view.shape, sizeof in->view.shape) == 0) {
            out->view.data = in->view.data;
            out->view.storage = in->view.storage;
            out->view.storage_bytes = in->view.storage_bytes;
            out->address = in->address;
            is_shared = true;
        }
        at += size + rest + (at[size] == '=');
        at += strspn(at, " ");
    }
    return is_shared;
}

static bool poison_unread(opd_case *item)
{
    bool is_any = false;
    for (int i = 0; i < item->call.operand_count; i++) {
        opd_operand *operand = &item->call.operands[i];
        if (is_content(operand) && (operand->flags & OPD_OPERAND_MUST_NOT_READ) != 0 &&
            opd_dtype_is_float(operand->view.dtype)) {
            const opd_fill nan = { .kind = OPD_FILL_CONSTANT, .a = (double)NAN };
            opd_tensor_fill(&operand->view, &nan);
            is_any = true;
        }
    }
    return is_any;
}

/* i becomes -1 - i in integer operands that generated inputs hold as indices. */
static bool negate(opd_case *item)
{
    bool is_any = false;
    for (int i = 0; i < item->call.operand_count; i++) {
        opd_operand *operand = &item->call.operands[i];
        bool is_index = operand->view.dtype == OPD_I64 || operand->view.dtype == OPD_I32;
        int64_t count = is_content(operand) && is_index ? opd_tensor_count(&operand->view) : 0;
        bool is_own = operand->view.dtype != item->call.dtype;
        for (int64_t k = 0; k < count && is_own; k++) {
            uint8_t *element = (uint8_t *)operand->view.data + k * (int64_t)opd_dtype_size(operand->view.dtype);
            opd_element_store_wide(operand->view.dtype, element,
                                   -1 - opd_element_load_wide(operand->view.dtype, element));
            is_any = true;
        }
    }
    if (is_any && opd_call_bind(&item->call) != OPD_OK) {
        return false;
    }
    for (int i = 0; i < item->call.operand_count; i++) {
        if (item->call.operands[i].role == OPD_ROLE_OUT) {
            item->call.operands[i].view.data = NULL;
        }
    }
    return is_any;
}

/* false: there is nothing to try. */
static bool change(opd_case *item, opd_status *status, const opd_probe *probe)
{
    switch (probe->kind) {
    case OPD_PROBE_STRIDED:
        *status = spread(item);
        return *status == OPD_OK;
    case OPD_PROBE_MISALIGNED:
        *status = misalign(item);
        return *status == OPD_OK;
    case OPD_PROBE_SAME_INPUT:
        return merge(item);
    case OPD_PROBE_IN_PLACE:
        return share(item);
    case OPD_PROBE_UNREAD:
        return poison_unread(item);
    case OPD_PROBE_NEGATIVE:
        return negate(item);
    default:
        return true;
    }
}

static void set_options(opd_replay_options *options, const opd_probe *probe, uint32_t timeout_ms)
{
    options->timeout_ms =
        (timeout_ms > 0 ? timeout_ms : CPU_LIMIT_MS) * (probe->kind == OPD_PROBE_AT_ONCE ? AT_ONCE : 1);
    options->is_timeout_cpu = true;
    options->guard = probe->kind == OPD_PROBE_GUARD ? OPD_GUARD_BOTH : OPD_GUARD_NONE;
    options->repeat = probe->kind == OPD_PROBE_REPEAT ? RUNS : 1;
    options->is_poisoned = probe->kind == OPD_PROBE_POISONED;
    options->concurrent = probe->kind == OPD_PROBE_AT_ONCE ? AT_ONCE : 0;
    options->threads = probe->kind == OPD_PROBE_THREADS ? 1 : 0;
    options->with_metrics = true;
}

static bool has_other_bits(const opd_replay_result *a, const opd_replay_result *b)
{
    for (int i = 0; i < a->output_count && i < b->output_count; i++) {
        if (!opd_digest_equal(&a->outputs[i].after, &b->outputs[i].after)) {
            return true;
        }
    }
    return false;
}

opd_determinism opd_declared_determinism(const opd_op *op, const char *variant)
{
    const opd_kernel *kernel = opd_kernel_find(op->domain, op->name);
    const opd_variant *known = NULL;
    for (int i = 0; kernel != NULL && (known = opd_kernel_variant(kernel, i)) != NULL; i++) {
        if (strcmp(known->name, variant) == 0) {
            return known->determinism;
        }
    }
    return op->determinism;
}

static opd_status carry_out(opd_finding *out, const opd_case *item, const opd_probe *probe, opd_replay_options *options)
{
    opd_replay_result more;
    opd_status status = opd_replay(&out->result, NULL, item, NULL, options);
    if (status != OPD_OK || probe->kind != OPD_PROBE_THREADS) {
        return status;
    }
    options->threads = 3;
    status = opd_replay(&more, NULL, item, NULL, options);
    if (status == OPD_OK) {
        out->is_thread_dependent = has_other_bits(&out->result, &more);
        out->is_thread_promised =
            opd_declared_determinism(item->call.op, out->result.variant) >= OPD_DETERMINISM_THREADS;
        if (out->result.observed.outcome == OPD_OUTCOME_OK && more.observed.outcome != OPD_OUTCOME_OK) {
            out->result.observed =
                more.observed; /* right alone, and not in company: without bits, when it did not return */
        }
        opd_replay_result_done(&more);
    } else {
        opd_replay_result_done(&out->result);
    }
    return status;
}

void opd_probe_run(opd_finding *out, const opd_op *op, const opd_probe *probe, const opd_probe_way *way)
{
    opd_making making = OPD_MAKING_INIT;
    opd_replay_options options = OPD_REPLAY_OPTIONS_INIT;
    opd_case item = { 0 };
    memset(out, 0, sizeof *out);
    making.wish.dtype = probe->dtype;
    making.wish.shapes = probe->shapes[0] != '\0' ? probe->shapes : NULL;
    making.wish.attributes = probe->attributes[0] != '\0' ? probe->attributes : NULL;
    making.seed = way->seed;
    making.has_fill = probe->fill[0] != '\0';
    out->status = making.has_fill ? opd_fill_parse(&making.fill, probe->fill) : OPD_OK;
    if (out->status == OPD_OK) {
        out->status = opd_making_fill(&item, op, &making);
    }
    if (out->status == OPD_OK && !change(&item, &out->status, probe)) {
        out->status = out->status == OPD_OK ? OPD_E_INVALID : out->status;
    }
    if (out->status == OPD_OK) {
        out->call = item.call;
        set_options(&options, probe, way->timeout_ms);
        options.variant = way->variant;
        options.library = way->library;
        options.peers = way->peers;
        out->status = carry_out(out, &item, probe, &options);
    }
    opd_outcome outcome = out->result.observed.outcome;
    if (out->status == OPD_OK && (outcome == OPD_OUTCOME_HARNESS || outcome == OPD_OUTCOME_UNSUPPORTED)) {
        out->status = opd_fail(OPD_E_CHILD, "%s", out->result.observed.reason);
        out->is_definition_late = out->result.is_definition_late;
        opd_replay_result_done(&out->result);
    }
    if (out->status != OPD_OK) {
        snprintf(out->error, sizeof out->error, "%s", opd_error_text());
    } else {
        opd_replay_result_done(&out->result);
    }
    opd_case_done(&item);
}

bool opd_finding_is_failure(const opd_finding *finding)
{
    opd_outcome outcome = finding->result.observed.outcome;
    bool is_verdict = outcome != OPD_OUTCOME_HARNESS && outcome != OPD_OUTCOME_UNSUPPORTED;
    bool is_promise_broken = finding->is_thread_dependent && finding->is_thread_promised;
    return finding->status == OPD_OK && is_verdict && (outcome != OPD_OUTCOME_OK || is_promise_broken);
}
