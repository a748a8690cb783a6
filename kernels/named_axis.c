/* SPDX-License-Identifier: Apache-2.0 */
/* Dimensions of a call's operands by the names its contract gives them. */
#include <string.h>

#include "binding.h"

bool opd_call_axis(char name[OPD_NAME], const opd_call *call, int operand, int axis)
{
    opd_binding binding;
    opd_place places[OPD_MAX_RANK];
    const opd_plan *plan = call->op != NULL ? opd_plan_of_call(call) : NULL;
    if (plan == NULL || !plan->is_general || operand < 0 || operand >= call->operand_count) {
        return false;
    }
    const opd_operand *item = &call->operands[operand];
    if (axis < 0 || axis >= item->view.rank || (item->flags & OPD_OPERAND_ABSENT) != 0 ||
        opd_binding_of_call(&binding, call, plan) != OPD_OK ||
        opd_binding_places(places, &binding, operand, item->view.rank) != OPD_OK || places[axis].slot < 0) {
        return false;
    }
    int slot = places[axis].slot;
    int rank = binding.rank[slot];
    int element = places[axis].element < 0 ? rank + places[axis].element : places[axis].element;
    if (element < 0 || element >= rank || binding.dims[slot][element] != item->view.shape[axis]) {
        return false; /* broadcast along it */
    }
    bool is_single = plan->values[slot].reach <= OPD_REACH_MAYBE;
    opd_name_numbered(name, plan->values[slot].name, is_single ? -1 : element);
    return true;
}
