/* SPDX-License-Identifier: Apache-2.0 */
/* What definitions and variants ask a call: its attributes by name, whether its operands are plain memory. */
#include <string.h>

#include <opsdebug/kernel.h>

static const opd_value *find(const opd_call *call, const char *name)
{
    for (int i = 0; i < call->attr_count && i < OPD_MAX_ATTRS + OPD_MAX_OPERANDS; i++) {
        if (strcmp(call->attrs[i].name, name) == 0) {
            return &call->attrs[i];
        }
    }
    return NULL;
}

int64_t opd_call_int(const opd_call *call, const char *name, int64_t otherwise)
{
    const opd_value *value = find(call, name);
    return value != NULL && value->kind == OPD_VALUE_INT ? value->i : otherwise;
}

double opd_call_real(const opd_call *call, const char *name, double otherwise)
{
    const opd_value *value = find(call, name);
    return value != NULL && value->kind == OPD_VALUE_REAL ? value->re : otherwise;
}

const char *opd_call_text(const opd_call *call, const char *name, const char *otherwise)
{
    const opd_value *value = find(call, name);
    return value != NULL && value->kind == OPD_VALUE_TEXT ? value->text : otherwise;
}

int opd_call_ints(const opd_call *call, const char *name, int64_t *ints)
{
    const opd_value *value = find(call, name);
    if (value == NULL || value->kind != OPD_VALUE_INTS || value->i < 0 || value->i > OPD_MAX_INTS) {
        return -1;
    }
    memcpy(ints, value->ints, (size_t)value->i * sizeof ints[0]);
    return (int)value->i;
}

static bool is_contiguous(const opd_tensor *view)
{
    int64_t stride = 1;
    for (int d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] == 0) {
            return true;
        }
        if (view->shape[d] != 1 && view->stride[d] != stride) {
            return false;
        }
        stride *= view->shape[d];
    }
    return view->mask.kind == OPD_MASK_NONE;
}

const char *opd_call_strided(const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) == 0 && !is_contiguous(&call->operands[i].view)) {
            return "an operand is not contiguous";
        }
    }
    return NULL;
}
