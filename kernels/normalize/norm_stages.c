/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and reporting of inner stages; their names are the contract's. */
#include "norm_stages.h"

#include <string.h>

/* The next word of *text, which goes on behind it; false at the end. */
static bool next_name(char name[OPD_NAME], const char **text)
{
    const char *at = *text + strspn(*text, " ");
    size_t size = strcspn(at, " ");
    if (size == 0 || size >= OPD_NAME) {
        return false;
    }
    memcpy(name, at, size);
    name[size] = '\0';
    *text = at + size;
    return true;
}

static int64_t count_of(const opd_stages *stages, int stage)
{
    return (stages->whole >> stage & 1u) != 0 ? stages->elements : stages->lines;
}

size_t opd_stages_bytes(const opd_stages *stages)
{
    if (!opd_trace_enabled) {
        return 0;
    }
    size_t bytes = 0;
    char name[OPD_NAME];
    const char *text = stages->call->op->checkpoints;
    for (int i = 0; i < OPD_STAGES && next_name(name, &text); i++) {
        bytes += (size_t)count_of(stages, i) * sizeof(double);
    }
    return bytes;
}

void opd_stages_begin(opd_stages *stages, void *memory)
{
    char name[OPD_NAME];
    const char *text = stages->call->op->checkpoints;
    double *at = memory;
    for (int i = 0; i < OPD_STAGES && memory != NULL && next_name(name, &text); i++) {
        stages->value[i] = at;
        at += count_of(stages, i);
    }
}

void opd_stages_emit(const opd_stages *stages)
{
    char name[OPD_NAME];
    const char *text = stages->call->op->checkpoints;
    for (int i = 0; i < OPD_STAGES && stages->value[i] != NULL && next_name(name, &text); i++) {
        const opd_tensor *x = &stages->call->operands[0].view;
        bool is_whole = (stages->whole >> i & 1u) != 0;
        opd_tensor view;
        if (opd_tensor_contiguous(&view, OPD_F64, is_whole ? x->rank : 1, is_whole ? x->shape : &stages->lines,
                                  stages->value[i]) == OPD_OK) {
            opd_tracepoint(name, &view);
        }
    }
}
