/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of norms that depend on the place of an axis or on an attribute. */
#include "normalize_shapes.h"

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

opd_status opd_shape_layer_norm(opd_call *call)
{
    enum { X = 0, MEAN = 4, INVERSE = 5 };
    const opd_tensor *x = &call->operands[X].view;
    int64_t axis = opd_call_int(call, "axis", -1);
    opd_dtype dtype = opd_dtype_from_onnx(opd_call_int(call, "stash_type", 1));
    axis += axis < 0 ? x->rank : 0;
    for (int i = MEAN; i <= INVERSE && i < call->operand_count; i++) {
        opd_tensor *view = &call->operands[i].view;
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) == 0) {
            view->dtype = dtype;
            view->rank = x->rank;
            for (int d = 0; d < x->rank; d++) {
                view->shape[d] = d < axis ? x->shape[d] : 1;
            }
        }
    }
    return OPD_OK;
}

opd_status opd_shape_batch_norm(opd_call *call)
{
    enum { RUNNING_MEAN = 6, RUNNING_VARIANCE = 7 };
    if (opd_call_int(call, "training_mode", 0) != 0) {
        return OPD_OK;
    }
    for (int i = RUNNING_MEAN; i <= RUNNING_VARIANCE && i < call->operand_count; i++) {
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) == 0) {
            return opd_fail(OPD_E_INVALID, "%s is an output only with training_mode=1", call->operands[i].name);
        }
    }
    return OPD_OK;
}
