/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of kernels (kernels.def, then users' libraries, which come first), the choice of a variant, and its run.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/memory.h>

#include "kernel_lists.h"

enum { MAX_LISTS = 64 };

struct kernel_list {
    const opd_kernel *kernels;
    int count;
};

static const struct built_in {
    const opd_kernel *kernels;
    const int *count;
} built_in[] = {
#define OPD_KERNELS(list) { opd_kernels_##list, &opd_kernels_##list##_count },
#include "kernels.def"
#undef OPD_KERNELS
    { NULL, NULL },
};

static struct kernel_list added[MAX_LISTS]; /* written before added_count says so */
static atomic_int added_count;

opd_status opd_kernels_add(const opd_kernel *kernels, int count)
{
    int at = atomic_load(&added_count);
    if (at == MAX_LISTS) {
        return opd_fail(OPD_E_LIMIT, "more than %d libraries of operators", MAX_LISTS);
    }
    added[at] = (struct kernel_list){ kernels, count };
    atomic_store(&added_count, at + 1);
    return OPD_OK;
}

/* The newest library first, then this build. */
const opd_kernel *opd_kernel_at(int index)
{
    for (int i = atomic_load(&added_count) - 1; i >= 0 && index >= 0; i--) {
        if (index < added[i].count) {
            return &added[i].kernels[index];
        }
        index -= added[i].count;
    }
    for (const struct built_in *list = built_in; list->kernels != NULL && index >= 0; list++) {
        if (index < *list->count) {
            return &list->kernels[index];
        }
        index -= *list->count;
    }
    return NULL;
}

int opd_kernel_count(void)
{
    int count = 0;
    for (int i = 0; i < atomic_load(&added_count); i++) {
        count += added[i].count;
    }
    for (const struct built_in *list = built_in; list->kernels != NULL; list++) {
        count += *list->count;
    }
    return count;
}

static bool is_of(const opd_kernel *kernel, const char *domain, const char *name)
{
    return strcmp(kernel->domain, domain) == 0 && strcmp(kernel->name, name) == 0;
}

const opd_kernel *opd_kernel_find(const char *domain, const char *name)
{
    const opd_kernel *kernel = NULL;
    for (int i = 0; (kernel = opd_kernel_at(i)) != NULL; i++) {
        if (is_of(kernel, domain, name)) {
            return kernel;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------------- the definition as variants */

/* Row by row over the last dimension. */
static void store(const opd_call *call, int operand, const long double *value)
{
    const opd_tensor *view = &call->operands[operand].view;
    int64_t count = opd_tensor_count(view);
    int64_t row = view->rank > 0 ? view->shape[view->rank - 1] : 1;
    int64_t step = (view->rank > 0 ? view->stride[view->rank - 1] : 1) * (int64_t)opd_dtype_size(view->dtype);
    for (int64_t at = 0; at < count; at += row) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, at, index);
        uint8_t *to = (uint8_t *)view->data + opd_tensor_offset(view, index);
        for (int64_t i = 0; i < row; i++) {
            opd_element_store_wide(view->dtype, to + i * step, value[at + i]);
        }
    }
}

static opd_status run_definition(const opd_call *call, bool is_wide)
{
    long double *value[OPD_MAX_OPERANDS] = { NULL };
    opd_status status = opd_definition_run(value, NULL, call, is_wide);
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        if (value[i] != NULL && call->operands[i].view.data != NULL) {
            store(call, i, value[i]);
        }
    }
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(value[i]);
    }
    return status;
}

static opd_status run_naive(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    return run_definition(call, false);
}

static opd_status run_wide(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    return run_definition(call, true);
}

static const opd_variant definitions[] = {
    { .name = "naive", .isa = "", .run = run_naive, .determinism = OPD_DETERMINISM_ISA },
    { .name = "high-precision", .isa = "", .run = run_wide, .determinism = OPD_DETERMINISM_ISA },
};

/* ------------------------------------------------------------------------------------------- choosing, running */

const opd_variant *opd_kernel_variant(const opd_kernel *kernel, int index)
{
    const opd_kernel *other = NULL;
    bool is_defined = false;
    for (int i = 0; (other = opd_kernel_at(i)) != NULL; i++) {
        if (!is_of(other, kernel->domain, kernel->name)) {
            continue;
        }
        if (index < other->variant_count) {
            return &other->variants[index];
        }
        index -= other->variant_count;
        is_defined |= other->define != NULL;
    }
    return is_defined && index < (int)OPD_COUNT(definitions) ? &definitions[index] : NULL;
}

const opd_variant *opd_kernel_named(const opd_kernel *kernel, const char *name)
{
    const opd_variant *variant = NULL;
    for (int i = 0; (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        if (strcmp(variant->name, name) == 0) {
            return variant;
        }
    }
    return NULL;
}

bool opd_variant_is_definition(const opd_variant *variant)
{
    return variant >= definitions && variant < definitions + OPD_COUNT(definitions);
}

/* Why the variant cannot do the call; NULL = it can. A call of NULL asks for the machine alone. */
static const char *obstacle(char *text, size_t size, const opd_variant *variant, const opd_call *call)
{
    const char *missing = opd_isa_missing(variant->isa);
    if (missing != NULL) {
        snprintf(text, size, "this CPU has no %s", missing);
        return text;
    }
    return variant->declines != NULL ? variant->declines(call) : NULL;
}

/* The fastest of a kernel's own variants, without a look at the other lists; NULL: the slow way must tell. */
static const opd_variant *choose_own(const opd_kernel *kernel, const opd_call *call)
{
    char text[64];
    for (int i = 0; i < kernel->variant_count && atomic_load(&added_count) == 0; i++) {
        const opd_variant *variant = &kernel->variants[i];
        if (opd_variant_is_choice(variant) && obstacle(text, sizeof text, variant, call) == NULL) {
            return variant;
        }
    }
    return NULL;
}

opd_status opd_kernel_choose(const opd_variant **out, const opd_kernel *kernel, const opd_call *call, const char *name)
{
    const opd_variant *own = name == NULL ? choose_own(kernel, call) : NULL;
    if (own != NULL) {
        *out = own;
        return OPD_OK;
    }
    char names[256] = "";
    char text[64];
    size_t used = 0;
    const opd_variant *variant = NULL;
    for (int i = 0; (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        bool is_named = name != NULL && strcmp(variant->name, name) == 0;
        const char *reason = is_named || (name == NULL && opd_variant_is_choice(variant))
                                 ? obstacle(text, sizeof text, variant, call)
                                 : "";
        if (reason == NULL) {
            *out = variant;
            return OPD_OK;
        }
        if (is_named) {
            return opd_fail(OPD_E_DECLINED, "variant %s of %s declines: %s", name, kernel->name, reason);
        }
        if (variant->fault == NULL && used < sizeof names) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", variant->name);
        }
    }
    if (name != NULL) {
        return opd_fail(OPD_E_NAME, "%s has no variant %s; it has %s", kernel->name, name, names);
    }
    return opd_fail(OPD_E_DECLINED, "no variant of %s can do this call (%s)", kernel->name, names);
}

opd_status opd_variant_run(const opd_variant *variant, const opd_call *call, const opd_workspace *workspace)
{
    if (workspace != NULL) {
        return variant->run(call, workspace);
    }
    opd_workspace own = { .threads = (int32_t)sysconf(_SC_NPROCESSORS_ONLN) };
    own.threads = own.threads > 0 ? own.threads : 1;
    own.size = variant->workspace != NULL ? variant->workspace(call, own.threads) : 0;
    void *block = NULL;
    if (own.size > 0) {
        opd_status status = opd_alloc(&block, own.size + 63);
        if (status != OPD_OK) {
            return status;
        }
        own.bytes = (void *)(((uintptr_t)block + 63) & ~(uintptr_t)63);
    }
    opd_status status = variant->run(call, &own);
    opd_free(block);
    return status;
}
