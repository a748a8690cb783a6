/* SPDX-License-Identifier: Apache-2.0 */
/* A call's attributes by name, for definitions and variants. */
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
