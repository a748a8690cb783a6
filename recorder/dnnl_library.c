/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's query functions, found by name in the loaded library, and what they tell of a primitive descriptor. */
#include <fnmatch.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "counts.h"
#include "dnnl_primitives.h"
#include "modules.h"
#include "packed.h"

#define LIBRARIES_MAX 4u

static opd_dnnl_library libraries[LIBRARIES_MAX];
static _Atomic(const opd_dnnl_library *) known[LIBRARIES_MAX];
static _Atomic uint32_t library_count;
static int (*max_threads)(void);

static const struct {
    size_t offset;
    const char *name;
} functions[] = {
    { offsetof(opd_dnnl_library, query), "dnnl_primitive_desc_query" },
    { offsetof(opd_dnnl_library, query_md), "dnnl_primitive_desc_query_md" },
    { offsetof(opd_dnnl_library, engine_kind), "dnnl_engine_get_kind" },
    { offsetof(opd_dnnl_library, primitive_desc), "dnnl_primitive_get_primitive_desc" },
    { offsetof(opd_dnnl_library, attr), "dnnl_primitive_desc_get_attr" },
    { offsetof(opd_dnnl_library, output_scales), "dnnl_primitive_attr_get_output_scales" },
    { offsetof(opd_dnnl_library, scales), "dnnl_primitive_attr_get_scales" },
    { offsetof(opd_dnnl_library, zero_points), "dnnl_primitive_attr_get_zero_points" },
    { offsetof(opd_dnnl_library, fpmath_mode), "dnnl_primitive_attr_get_fpmath_mode" },
    { offsetof(opd_dnnl_library, post_ops), "dnnl_primitive_attr_get_post_ops" },
    { offsetof(opd_dnnl_library, post_ops_len), "dnnl_post_ops_len" },
    { offsetof(opd_dnnl_library, post_op_kind), "dnnl_post_ops_get_kind" },
    { offsetof(opd_dnnl_library, post_op_sum), "dnnl_post_ops_get_params_sum_v3" },
    { offsetof(opd_dnnl_library, post_op_eltwise), "dnnl_post_ops_get_params_eltwise" },
    { offsetof(opd_dnnl_library, post_op_binary), "dnnl_post_ops_get_params_binary" },
    { offsetof(opd_dnnl_library, memory_handle), "dnnl_memory_get_data_handle" },
    { offsetof(opd_dnnl_library, memory_desc), "dnnl_memory_get_memory_desc" },
};

static void fill_library(opd_dnnl_library *out, const struct dl_find_object *object)
{
    const char *name = object->dlfo_link_map->l_name;
    void *handle = name != NULL && name[0] != '\0' ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    bool is_whole = handle != NULL;
    for (size_t i = 0; i < OPD_COUNT(functions) && is_whole; i++) {
        void *function = dlsym(handle, functions[i].name);
        memcpy((uint8_t *)out + functions[i].offset, &function, sizeof(function));
        is_whole = function != NULL;
    }
    if (max_threads == NULL && is_whole) { /* of the OpenMP that the library runs on, where it runs on one */
        void *function = dlsym(handle, "omp_get_max_threads");
        memcpy(&max_threads, &function, sizeof(function));
    }
    out->start = (uintptr_t)object->dlfo_map_start;
    out->size = (uintptr_t)object->dlfo_map_end - out->start;
    out->is_whole = is_whole; /* the reference is kept on purpose */
}

static const opd_dnnl_library *find_library(const void *function)
{
    for (size_t i = 0; i < LIBRARIES_MAX; i++) {
        const opd_dnnl_library *library = atomic_load_explicit(&known[i], memory_order_acquire);
        if (library != NULL && (uintptr_t)function - library->start < library->size) {
            return library;
        }
    }
    return NULL;
}

const opd_dnnl_library *opd_dnnl_library_of(const void *function)
{
    struct dl_find_object object;
    const opd_dnnl_library *found = find_library(function);
    if (found != NULL || !opd_module_find(&object, function)) {
        return found != NULL && found->is_whole ? found : NULL;
    }
    sigset_t signals;
    opd_here_hold_signals(&signals);
    opd_dnnl_library library = { 0 };
    fill_library(&library, &object); /* one that lacks a function is remembered as such */
    uint32_t index = atomic_fetch_add(&library_count, 1);
    if (index < LIBRARIES_MAX) { /* two threads at once: two entries of the same */
        libraries[index] = library;
        atomic_store_explicit(&known[index], &libraries[index], memory_order_release);
        found = &libraries[index];
    }
    opd_here_release_signals(&signals);
    return found != NULL && found->is_whole ? found : NULL;
}

/* ------------------------------------------------------------------------------------------------- a primitive */

typedef struct asking {
    const opd_dnnl_library *library;
    const_dnnl_primitive_desc_t desc;
    const dnnl_exec_arg_t *exec;
    int count;
} asking;

static const dnnl_memory_desc_t *find_memory(void *context, int arg)
{
    const asking *of = context;
    const dnnl_memory_desc_t *desc = NULL;
    for (int i = 0; i < of->count; i++) {
        if (of->exec[i].arg == arg) {
            return of->library->memory_desc(of->exec[i].memory, &desc) == dnnl_success ? desc : NULL;
        }
    }
    return of->exec == NULL ? of->library->query_md(of->desc, dnnl_query_exec_arg_md, arg) : NULL;
}

static void read_post_ops(opd_dnnl_facts *facts, const opd_dnnl_library *library, const_dnnl_primitive_attr_t attr)
{
    const_dnnl_post_ops_t post_ops;
    if (library->post_ops(attr, &post_ops) != dnnl_success || post_ops == NULL) {
        return;
    }
    int count = library->post_ops_len(post_ops);
    facts->is_odd |= count > OPD_DNNL_POST_OPS;
    for (int i = 0; i < count && i < OPD_DNNL_POST_OPS; i++) {
        opd_dnnl_post_op *op = &facts->post_ops[facts->post_op_count++];
        const dnnl_memory_desc_t *src1;
        *op = (opd_dnnl_post_op){ .kind = library->post_op_kind(post_ops, i) };
        dnnl_status_t status = dnnl_unimplemented;
        if (op->kind == dnnl_sum) {
            status = library->post_op_sum(post_ops, i, &op->scale, &op->zero_point, &op->dtype);
        } else if (op->kind == dnnl_eltwise) {
            status = library->post_op_eltwise(post_ops, i, &op->scale, &op->alg, &op->alpha, &op->beta);
        } else if (op->kind == dnnl_binary) {
            status = library->post_op_binary(post_ops, i, &op->alg, &src1);
        }
        facts->is_odd |= status != dnnl_success;
    }
}

/* What is given at execution is no number yet. */
static bool is_late(const float *scales, const int32_t *zeros)
{
    uint32_t bits = 0;
    if (scales == NULL) {
        return *zeros == DNNL_RUNTIME_S32_VAL;
    }
    memcpy(&bits, scales, sizeof(bits));
    return bits == DNNL_RUNTIME_F32_VAL_REP.u;
}

static void add_quant(opd_dnnl_facts *facts, opd_dnnl_quant quant, const float *scales, const int32_t *zeros)
{
    quant.is_late = is_late(scales, zeros);
    quant.numbers = scales != NULL ? (const void *)scales : zeros;
    quant.scale = scales != NULL ? scales[0] : 1;
    quant.zero = zeros != NULL ? zeros[0] : 0;
    bool is_nothing = quant.count == 1 && !quant.is_late && quant.scale == 1 && quant.zero == 0;
    if (!is_nothing && facts->quant_count < OPD_DNNL_QUANTS) {
        facts->quants[facts->quant_count++] = quant;
    }
}

static void read_quants(opd_dnnl_facts *facts, const opd_dnnl_library *library, const_dnnl_primitive_attr_t attr)
{
    static const int scaled[] = { DNNL_ARG_SRC_0, DNNL_ARG_SRC_1 };
    static const int shifted[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST };
    const float *scales = NULL;
    const int32_t *zeros = NULL;
    opd_dnnl_quant quant = { .arg = DNNL_ARG_ATTR_OUTPUT_SCALES };
    if (library->output_scales(attr, &quant.count, &quant.mask, &scales) == dnnl_success && scales != NULL) {
        add_quant(facts, quant, scales, NULL);
    }
    for (size_t i = 0; i < OPD_COUNT(scaled); i++) {
        quant.arg = DNNL_ARG_ATTR_INPUT_SCALES | scaled[i];
        if (library->scales(attr, scaled[i], &quant.count, &quant.mask, &scales) == dnnl_success && scales != NULL) {
            add_quant(facts, quant, scales, NULL);
        }
    }
    for (size_t i = 0; i < OPD_COUNT(shifted); i++) {
        quant.arg = DNNL_ARG_ATTR_ZERO_POINTS | shifted[i];
        if (library->zero_points(attr, shifted[i], &quant.count, &quant.mask, &zeros) == dnnl_success &&
            zeros != NULL) {
            add_quant(facts, quant, NULL, zeros);
        }
    }
}

static void read_attributes(opd_dnnl_facts *facts, const asking *of)
{
    const opd_dnnl_library *library = of->library;
    const_dnnl_primitive_attr_t attr;
    dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_strict;
    if (library->attr(of->desc, &attr) != dnnl_success || attr == NULL) {
        return;
    }
    read_quants(facts, library, attr);
    facts->is_odd |= library->fpmath_mode(attr, &mode) == dnnl_success && mode != dnnl_fpmath_mode_strict;
    read_post_ops(facts, library, attr);
}

static bool is_watched(const char *name)
{
    const opd_control *control = opd_recorder.control;
    char kind[OPD_NAME] = "";
    size_t size = strcspn(name, " ");
    memcpy(kind, name, size < sizeof(kind) ? size : 0);
    return control == NULL || control->match[0] == '\0' || fnmatch(control->match, name, 0) == 0 ||
           fnmatch(control->match, kind, 0) == 0;
}

static void pack(opd_dnnl_primitive *out, const opd_dnnl_facts *facts)
{
    opd_call call;
    if (opd_dnnl_call(&call, out->args, facts) != OPD_OK) {
        opd_error_clear();
        return;
    }
    out->op = call.op;
    out->operand_count = (uint8_t)call.operand_count;
    out->is_watched = is_watched(call.name);
    for (int i = 0; i < call.operand_count; i++) {
        const dnnl_memory_desc_t *memory = facts->memory(facts->context, out->args[i]);
        out->starts[i] = memory != NULL ? memory->offset0 * (int64_t)opd_dtype_size(call.operands[i].view.dtype) : 0;
    }
    out->word_count = opd_pack_call(out->words, OPD_DNNL_WORDS, &call, out->address_at);
    out->kind = opd_mix((uint64_t)(uintptr_t)out->library, out->word_count);
    for (uint32_t i = 0; i < out->word_count; i++) { /* addresses among them are 0 yet */
        out->kind = opd_mix(out->kind, out->words[i]);
    }
}

static void clear(opd_dnnl_primitive *out, const opd_dnnl_library *library)
{
    out->library = library;
    out->op = NULL;
    out->word_count = 0;
    out->operand_count = 0;
    out->fixed_bits = 0;
    out->is_watched = true;
}

void opd_dnnl_prepare_product(opd_dnnl_primitive *out, opd_dnnl_facts *facts)
{
    clear(out, NULL);
    facts->threads = max_threads != NULL ? max_threads() : 0;
    pack(out, facts);
}

/* What other engines work on is not this process's memory. */
static bool is_of_cpu(const opd_dnnl_library *library, const_dnnl_primitive_desc_t desc)
{
    dnnl_engine_t engine = NULL;
    dnnl_engine_kind_t kind = dnnl_any_engine;
    return library->query(desc, dnnl_query_engine, 0, (void *)&engine) == dnnl_success &&
           library->engine_kind(engine, &kind) == dnnl_success && kind == dnnl_cpu;
}

void opd_dnnl_prepare(opd_dnnl_primitive *out, const opd_dnnl_library *library, const_dnnl_primitive_desc_t desc,
                      const dnnl_exec_arg_t *exec, int count)
{
    asking of = { library, desc, exec, count };
    float scales[OPD_DNNL_SOURCES];
    opd_dnnl_facts facts = { .memory = find_memory, .context = &of, .implementation = "" };
    const_dnnl_op_desc_t descriptor = NULL;
    clear(out, library);
    if (!is_of_cpu(library, desc) || library->query(desc, dnnl_query_primitive_kind, 0, &facts.kind) != dnnl_success) {
        return;
    }
    bool has_none = facts.kind == dnnl_reorder || facts.kind == dnnl_concat || facts.kind == dnnl_sum;
    if (!has_none && library->query(desc, dnnl_query_op_d, 0, (void *)&descriptor) == dnnl_success) {
        facts.descriptor = descriptor;
        memcpy(&facts.kind, descriptor, sizeof(facts.kind)); /* the query calls logsoftmax a softmax */
    }
    if (library->query(desc, dnnl_query_impl_info_str, 0, (void *)&facts.implementation) != dnnl_success) {
        facts.implementation = "";
    }
    if (facts.kind == dnnl_sum && opd_dnnl_scales_of(scales, desc)) {
        facts.sum_scales = scales;
    }
    facts.threads = max_threads != NULL ? max_threads() : 0;
    read_attributes(&facts, &of);
    pack(out, &facts);
}

void opd_dnnl_pin(opd_dnnl_primitive *out, const_dnnl_primitive_t primitive)
{
    const_dnnl_primitive_desc_t desc;
    const_dnnl_primitive_attr_t attr;
    opd_dnnl_facts facts = { .quant_count = 0 };
    if (out->word_count == 0 || out->library->primitive_desc(primitive, &desc) != dnnl_success ||
        out->library->attr(desc, &attr) != dnnl_success || attr == NULL) {
        return;
    }
    read_quants(&facts, out->library, attr);
    for (int i = 0; i < out->operand_count; i++) {
        for (int k = 0; k < facts.quant_count; k++) {
            const opd_dnnl_quant *quant = &facts.quants[k];
            if (quant->arg == out->args[i] && !quant->is_late) {
                out->fixed[i] = quant->numbers;
                out->fixed_bits |= UINT32_C(1) << i;
            }
        }
    }
}
