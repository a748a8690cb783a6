/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN primitives by dlopen: types from its header, functions by name. */
#include "dnnl_run.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>
#include <opsdebug/dnnl.h>
#include <opsdebug/kernel.h>

#include "dnnl_product.h"

/* Every function that is used; RUN(name) calls it. */
#define FUNCTIONS(X)                           \
    X(dnnl_engine_create)                      \
    X(dnnl_stream_create)                      \
    X(dnnl_stream_wait)                        \
    X(dnnl_memory_create)                      \
    X(dnnl_memory_destroy)                     \
    X(dnnl_memory_desc_equal)                  \
    X(dnnl_memory_desc_get_size)               \
    X(dnnl_post_ops_create)                    \
    X(dnnl_post_ops_append_sum_v3)             \
    X(dnnl_post_ops_append_eltwise)            \
    X(dnnl_post_ops_append_binary)             \
    X(dnnl_primitive_attr_create)              \
    X(dnnl_primitive_attr_set_post_ops)        \
    X(dnnl_primitive_attr_set_output_scales)   \
    X(dnnl_primitive_attr_set_scales)          \
    X(dnnl_primitive_attr_set_zero_points)     \
    X(dnnl_primitive_attr_set_scratchpad_mode) \
    X(dnnl_primitive_desc_create)              \
    X(dnnl_primitive_desc_iterator_create)     \
    X(dnnl_primitive_desc_iterator_next)       \
    X(dnnl_primitive_desc_iterator_fetch)      \
    X(dnnl_primitive_desc_query)               \
    X(dnnl_primitive_desc_query_md)            \
    X(dnnl_reorder_primitive_desc_create)      \
    X(dnnl_concat_primitive_desc_create)       \
    X(dnnl_sum_primitive_desc_create)          \
    X(dnnl_primitive_create)                   \
    X(dnnl_primitive_execute)

typedef struct functions {
#define X(name) __typeof__(&(name)) name; /* NOLINT(bugprone-macro-parentheses): a member */
    FUNCTIONS(X)
#undef X
} functions;

static const char *const function_names[] = {
#define X(name) #name,
    FUNCTIONS(X)
#undef X
};

/* An operand in a layout of the library's choice, and the way there. */
typedef struct detour {
    dnnl_memory_t memory; /* NULL: the operand lies as the primitive wants it */
    dnnl_primitive_t there, back;
} detour;

struct opd_dnnl_run {
    functions f;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t mds[OPD_MAX_OPERANDS]; /* as recorded */
    detour detours[OPD_MAX_OPERANDS];
    dnnl_memory_t memories[OPD_MAX_OPERANDS];
    dnnl_exec_arg_t args[OPD_MAX_OPERANDS];
    bool is_fixed[OPD_MAX_OPERANDS]; /* the primitive has it already */
    int count;                       /* operands */
    dnnl_exec_arg_t given[OPD_MAX_OPERANDS + 1];
    int given_count;
    opd_role roles[OPD_MAX_OPERANDS];
    dnnl_memory_t scratch;
    size_t scratch_bytes;
    void *handle;            /* of the library */
    const opd_call *product; /* that is no primitive, as it is placed; NULL: a primitive */
};

static opd_status check(dnnl_status_t status, const opd_call *call, const char *what)
{
    if (status == dnnl_success) {
        return OPD_OK;
    }
    return opd_fail(status == dnnl_out_of_memory ? OPD_E_NOMEM : OPD_E_UNSUPPORTED, "the library %s %s (its status %d)",
                    what, call->name, (int)status);
}

static opd_status load(opd_dnnl_run *run, void *handle)
{
    for (size_t i = 0; i < OPD_COUNT(function_names); i++) {
        void *function = dlsym(handle, function_names[i]);
        if (function == NULL) {
            return opd_fail(OPD_E_NOTFOUND, "the library has no %s", function_names[i]);
        }
        memcpy((uint8_t *)&run->f + i * sizeof function, &function, sizeof function);
    }
    return OPD_OK;
}

/* ---------------------------------------------------------------------------------------------- the primitive */

static opd_status append_post_ops(opd_dnnl_run *run, const opd_call *call)
{
    opd_dnnl_post_op ops[OPD_DNNL_POST_OPS];
    dnnl_post_ops_t post_ops;
    int count = opd_dnnl_post_ops(ops, call);
    dnnl_status_t status = count > 0 ? run->f.dnnl_post_ops_create(&post_ops) : dnnl_success;
    for (int i = 0; i < count && status == dnnl_success; i++) {
        const opd_dnnl_post_op *op = &ops[i];
        dnnl_memory_desc_t src1;
        if (op->kind == dnnl_sum) {
            status = run->f.dnnl_post_ops_append_sum_v3(post_ops, op->scale, op->zero_point, op->dtype);
        } else if (op->kind == dnnl_eltwise) {
            status = run->f.dnnl_post_ops_append_eltwise(post_ops, op->scale, op->alg, op->alpha, op->beta);
        } else {
            for (int k = 0; k < call->operand_count; k++) {
                if (opd_dnnl_arg(call, k) == (DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1) &&
                    opd_dnnl_memory_desc(&src1, call, k) == OPD_OK) {
                    status = run->f.dnnl_post_ops_append_binary(post_ops, op->alg, &src1);
                }
            }
        }
    }
    if (count > 0 && status == dnnl_success) {
        status = run->f.dnnl_primitive_attr_set_post_ops(run->attr, post_ops);
    }
    return check(status, call, "refuses the post-ops of");
}

/* One scale or zero point, several of the case's, or the promise that they come at execution. */
static dnnl_status_t set_quant(opd_dnnl_run *run, opd_job *job, const opd_dnnl_quant *quant)
{
    const float late_scale = DNNL_RUNTIME_F32_VAL;
    const int32_t late_zero = DNNL_RUNTIME_S32_VAL;
    const int kinds = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_ATTR_INPUT_SCALES;
    const opd_job_operand *slot = quant->operand >= 0 ? &job->operands[quant->operand] : NULL;
    bool is_several = slot != NULL && !quant->is_late;
    if (is_several && (slot->before == 0 || slot->before_bytes < (uint64_t)quant->count * sizeof late_scale)) {
        return dnnl_invalid_arguments;
    }
    const void *several = is_several ? opd_job_at(job, slot->before) : NULL;
    dnnl_dim_t count = is_several ? quant->count : 1;
    if ((quant->arg & DNNL_ARG_ATTR_ZERO_POINTS) != 0) {
        const int32_t *zeros = is_several ? several : quant->is_late ? &late_zero : &quant->zero;
        return run->f.dnnl_primitive_attr_set_zero_points(run->attr, quant->arg & ~kinds, count, quant->mask, zeros);
    }
    const float *scales = is_several ? several : quant->is_late ? &late_scale : &quant->scale;
    if (quant->arg == DNNL_ARG_ATTR_OUTPUT_SCALES) {
        return run->f.dnnl_primitive_attr_set_output_scales(run->attr, count, quant->mask, scales);
    }
    return run->f.dnnl_primitive_attr_set_scales(run->attr, quant->arg & ~kinds, count, quant->mask, scales);
}

static opd_status make_attributes(opd_dnnl_run *run, opd_job *job)
{
    const opd_call *call = &job->call;
    opd_dnnl_quant quants[OPD_DNNL_QUANTS];
    int count = opd_dnnl_quants(quants, call);
    dnnl_status_t status = run->f.dnnl_primitive_attr_create(&run->attr);
    if (status == dnnl_success) {
        status = run->f.dnnl_primitive_attr_set_scratchpad_mode(run->attr, dnnl_scratchpad_mode_user);
    }
    for (int i = 0; i < count && status == dnnl_success; i++) {
        status = set_quant(run, job, &quants[i]);
    }
    opd_status checked = check(status, call, "refuses the attributes of");
    return checked == OPD_OK ? append_post_ops(run, call) : checked;
}

static const char *implementation(const opd_dnnl_run *run, dnnl_primitive_desc_t desc)
{
    const char *name = NULL;
    dnnl_status_t status = run->f.dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&name);
    return status == dnnl_success && name != NULL ? name : "";
}

/* The implementation that was recorded, else the first that there is. */
static opd_status choose_implementation(opd_dnnl_run *run, const opd_call *call, bool is_any)
{
    opd_dnnl_descriptor descriptor;
    opd_dnnl_descriptor hinted;
    dnnl_primitive_desc_t hint = NULL;
    dnnl_primitive_desc_iterator_t iterator = NULL;
    const char *wanted = opd_call_text(call, "impl", "");
    opd_status status = opd_dnnl_describe(&descriptor, call, is_any);
    if (status == OPD_OK) {
        status = opd_dnnl_describe_hint(&hinted, call, is_any);
        if (status == OPD_OK) {
            status = check(run->f.dnnl_primitive_desc_create(&hint, &hinted, NULL, run->engine, NULL), call,
                           "makes no forward primitive for");
        } else if (status == OPD_E_NOTFOUND) {
            opd_error_clear();
            status = OPD_OK;
        }
    }
    if (status == OPD_OK) {
        status = check(run->f.dnnl_primitive_desc_iterator_create(&iterator, &descriptor, run->attr, run->engine, hint),
                       call, "makes no primitive for");
    }
    if (status != OPD_OK) {
        return status;
    }
    do {
        dnnl_primitive_desc_t desc = run->f.dnnl_primitive_desc_iterator_fetch(iterator);
        bool is_it = desc != NULL && (is_any || strcmp(implementation(run, desc), wanted) == 0);
        if (desc != NULL && (run->desc == NULL || is_it)) {
            run->desc = desc;
        }
        if (is_it) {
            break;
        }
    } while (run->f.dnnl_primitive_desc_iterator_next(iterator) == dnnl_success);
    return run->desc != NULL ? OPD_OK
                             : opd_fail(OPD_E_UNSUPPORTED, "the library makes no primitive for %s", call->name);
}

/* What has no operation descriptor: sources first, the destination last. */
static opd_status make_plain(opd_dnnl_run *run, const opd_call *call)
{
    const dnnl_memory_desc_t *dst = &run->mds[call->operand_count - 1];
    int sources = call->operand_count - 1;
    float scales[OPD_MAX_OPERANDS];
    dnnl_status_t status = dnnl_unimplemented;
    for (int i = 0; i < sources; i++) {
        char name[OPD_NAME];
        snprintf(name, sizeof name, "scale%d", i);
        scales[i] = (float)opd_call_real(call, name, 1);
    }
    if (opd_dnnl_kind(call) == dnnl_reorder && sources >= 1) {
        status = run->f.dnnl_reorder_primitive_desc_create(&run->desc, &run->mds[0], run->engine, &run->mds[1],
                                                           run->engine, run->attr);
    } else if (opd_dnnl_kind(call) == dnnl_concat) {
        status = run->f.dnnl_concat_primitive_desc_create(&run->desc, dst, sources, (int)opd_call_int(call, "axis", 0),
                                                          run->mds, run->attr, run->engine);
    } else if (opd_dnnl_kind(call) == dnnl_sum) {
        status =
            run->f.dnnl_sum_primitive_desc_create(&run->desc, dst, sources, scales, run->mds, run->attr, run->engine);
    }
    return check(status, call, "makes no primitive for");
}

/* Memory of the library's own for an operand, reordered there and back. */
static opd_status make_detour(opd_dnnl_run *run, const opd_call *call, int operand, const dnnl_memory_desc_t *wanted)
{
    detour *to = &run->detours[operand];
    dnnl_primitive_desc_t desc;
    dnnl_status_t status = run->f.dnnl_memory_create(&to->memory, wanted, run->engine, DNNL_MEMORY_ALLOCATE);
    if (status == dnnl_success) {
        status = run->f.dnnl_reorder_primitive_desc_create(&desc, &run->mds[operand], run->engine, wanted, run->engine,
                                                           NULL);
    }
    if (status == dnnl_success) {
        status = run->f.dnnl_primitive_create(&to->there, desc);
    }
    if (status == dnnl_success) {
        status = run->f.dnnl_reorder_primitive_desc_create(&desc, wanted, run->engine, &run->mds[operand], run->engine,
                                                           NULL);
    }
    if (status == dnnl_success) {
        status = run->f.dnnl_primitive_create(&to->back, desc);
    }
    return check(status, call, "does not reorder the operands of");
}

/* Are the operands laid out as the primitive wants them? */
static opd_status check_layouts(opd_dnnl_run *run, const opd_call *call, bool is_any)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        int arg = opd_dnnl_arg(call, i);
        const dnnl_memory_desc_t *wanted = run->f.dnnl_primitive_desc_query_md(run->desc, dnnl_query_exec_arg_md, arg);
        run->args[i].arg = arg;
        run->roles[i] = call->operands[i].role;
        if (opd_dnnl_quant_arg(call, i) != 0) {
            run->is_fixed[i] = opd_dnnl_quant_is_fixed(call, i);
            continue; /* the library does not describe them */
        }
        if (wanted == NULL || wanted->ndims == 0) {
            status = opd_fail(OPD_E_UNSUPPORTED, "%s here takes no %s", call->name, call->operands[i].name);
        } else if (run->f.dnnl_memory_desc_equal(wanted, &run->mds[i]) == 0) {
            status = is_any ? make_detour(run, call, i, wanted)
                            : opd_fail(OPD_E_UNSUPPORTED, "%s: the library wants another layout of %s", call->name,
                                       call->operands[i].name);
        }
    }
    run->count = call->operand_count;
    return status;
}

static opd_status make_primitive(opd_dnnl_run *run, opd_job *job, bool is_any)
{
    const opd_call *call = &job->call;
    dnnl_primitive_kind_t kind = opd_dnnl_kind(call);
    bool is_plain = kind == dnnl_reorder || kind == dnnl_concat || kind == dnnl_sum;
    opd_status status = make_attributes(run, job);
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        status = opd_dnnl_memory_desc(&run->mds[i], call, i);
    }
    if (status == OPD_OK) {
        status = is_plain ? make_plain(run, call) : choose_implementation(run, call, is_any);
    }
    if (status == OPD_OK) {
        status = check_layouts(run, call, is_any);
    }
    if (status == OPD_OK) {
        status = check(run->f.dnnl_primitive_create(&run->primitive, run->desc), call, "makes no primitive for");
    }
    if (status != OPD_OK) {
        return status;
    }
    const char *name = implementation(run, run->desc);
    snprintf(job->result.variant, sizeof job->result.variant, "%.31s", name);
    if (strcmp(name, opd_call_text(call, "impl", "")) != 0) {
        snprintf(job->note, sizeof job->note, "implementation: recorded %s, here %.64s",
                 opd_call_text(call, "impl", ""), name);
    }
    return OPD_OK;
}

opd_status opd_dnnl_run_open(opd_dnnl_run **out, void *handle, opd_job *job)
{
    static opd_dnnl_run run;
    if (opd_dnnl_product_is(&job->call)) {
        run.handle = handle;
        run.product = &job->call;
        *out = &run;
        return OPD_OK;
    }
    opd_status status = load(&run, handle);
    if (status == OPD_OK && opd_dnnl_kind(&job->call) == dnnl_undefined_primitive) {
        status = opd_fail(OPD_E_UNSUPPORTED, "%s cannot be run again: what was recorded of it does not say all",
                          job->call.name);
    }
    if (status == OPD_OK) {
        status = check(run.f.dnnl_engine_create(&run.engine, dnnl_cpu, 0), &job->call, "makes no engine for");
    }
    if (status == OPD_OK) {
        status = check(run.f.dnnl_stream_create(&run.stream, run.engine, dnnl_stream_default_flags), &job->call,
                       "makes no stream for");
    }
    if (status == OPD_OK) {
        status = make_primitive(&run, job, job->isa[0] != '\0');
    }
    if (status == OPD_OK) {
        const dnnl_memory_desc_t *scratch =
            run.f.dnnl_primitive_desc_query_md(run.desc, dnnl_query_exec_arg_md, DNNL_ARG_SCRATCHPAD);
        run.scratch_bytes = scratch != NULL ? run.f.dnnl_memory_desc_get_size(scratch) : 0;
        *out = &run;
    }
    return status;
}

size_t opd_dnnl_run_scratch(const opd_dnnl_run *run)
{
    return run->scratch_bytes;
}

/* ---------------------------------------------------------------------------------------------------- its run */

opd_status opd_dnnl_run_place(opd_dnnl_run *run, const opd_call *call, void *scratch)
{
    dnnl_status_t status = dnnl_success;
    if (run->product != NULL) {
        run->product = call;
        return OPD_OK;
    }
    run->given_count = 0;
    for (int i = 0; i < run->count && status == dnnl_success; i++) {
        bool is_summed = run->mds[i].extra.flags != 0; /* sizes of theirs are no formula of a descriptor's */
        if (is_summed &&
            run->f.dnnl_memory_desc_get_size(&run->mds[i]) != opd_tensor_packed_bytes(&call->operands[i].view)) {
            return opd_fail(OPD_E_UNSUPPORTED, "%s: the library has other sums behind %s", call->name,
                            call->operands[i].name);
        }
        if (run->memories[i] != NULL) {
            run->f.dnnl_memory_destroy(run->memories[i]);
        }
        status = run->f.dnnl_memory_create(&run->memories[i], &run->mds[i], run->engine, call->operands[i].view.data);
        run->args[i].memory = run->detours[i].memory != NULL ? run->detours[i].memory : run->memories[i];
        if (!run->is_fixed[i]) {
            run->given[run->given_count++] = run->args[i];
        }
    }
    if (run->scratch != NULL) {
        run->f.dnnl_memory_destroy(run->scratch);
        run->scratch = NULL;
    }
    if (status == dnnl_success && run->scratch_bytes > 0) {
        const dnnl_memory_desc_t *desc =
            run->f.dnnl_primitive_desc_query_md(run->desc, dnnl_query_exec_arg_md, DNNL_ARG_SCRATCHPAD);
        status = run->f.dnnl_memory_create(&run->scratch, desc, run->engine, scratch);
        run->given[run->given_count++] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, run->scratch };
    }
    return check(status, call, "takes no memory for");
}

static dnnl_status_t reorder(opd_dnnl_run *run, dnnl_primitive_t primitive, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
    return run->f.dnnl_primitive_execute(primitive, run->stream, 2, args);
}

opd_status opd_dnnl_run_execute(opd_dnnl_run *run)
{
    if (run->product != NULL) {
        return opd_dnnl_product_run(run->handle, run->product);
    }
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < run->count && status == dnnl_success; i++) {
        if (run->detours[i].memory != NULL && (run->roles[i] & OPD_ROLE_IN) != 0) {
            status = reorder(run, run->detours[i].there, run->memories[i], run->detours[i].memory);
        }
    }
    if (status == dnnl_success) {
        status = run->f.dnnl_primitive_execute(run->primitive, run->stream, run->given_count, run->given);
    }
    for (int i = 0; i < run->count && status == dnnl_success; i++) {
        if (run->detours[i].memory != NULL && (run->roles[i] & OPD_ROLE_OUT) != 0) {
            status = reorder(run, run->detours[i].back, run->detours[i].memory, run->memories[i]);
        }
    }
    if (status == dnnl_success) {
        status = run->f.dnnl_stream_wait(run->stream);
    }
    return status == dnnl_success ? OPD_OK
                                  : opd_fail(OPD_E_CHILD, "the library gave up with its status %d", (int)status);
}
