/* SPDX-License-Identifier: Apache-2.0 */
/* The naive variant of a BLAS routine, in place of a library's; outputs from elsewhere in place of both. */
#include "serial.h"

#include <string.h>

#include <opsdebug/memory.h>

/* Our own variant, for comparison: all outputs first, then stored, so that in-out operands are read as they were. */
opd_status opd_serial_run(const opd_call *call, const int *outputs, int count)
{
    void *values[OPD_MAX_OPERANDS] = { NULL };
    opd_status status = OPD_OK;
    for (int i = 0; i < count && status == OPD_OK; i++) {
        const opd_tensor *view = &call->operands[outputs[i]].view;
        if (opd_job_is_private(call, outputs[i])) {
            continue; /* stays as it was */
        }
        status = opd_alloc_array(&values[i], (size_t)opd_tensor_count(view), 2 * sizeof(long double));
        if (status == OPD_OK) {
            status = opd_naive_run(values[i], call, outputs[i]);
        }
    }
    for (int i = 0; i < count && status == OPD_OK; i++) {
        const opd_tensor *view = &call->operands[outputs[i]].view;
        const long double *value = values[i];
        int parts = opd_dtype_is_complex(view->dtype) ? 2 : 1;
        for (int64_t flat = 0; value != NULL && flat < opd_tensor_count(view); flat++) {
            int64_t index[OPD_MAX_RANK];
            opd_tensor_unflatten(view, flat, index);
            if (opd_tensor_exists(view, index)) {
                opd_element_store(view->dtype, (uint8_t *)view->data + opd_tensor_offset(view, index),
                                  (double)value[flat * parts], parts == 2 ? (double)value[flat * 2 + 1] : 0);
            }
        }
    }
    for (int i = 0; i < count; i++) {
        opd_free(values[i]);
    }
    return status;
}

void opd_given_put(const opd_call *call, opd_job *job, const int *outputs, int count)
{
    for (int i = 0; i < count; i++) {
        const opd_tensor *view = &call->operands[outputs[i]].view;
        const opd_job_operand *slot = &job->operands[outputs[i]];
        size_t size = opd_dtype_size(view->dtype);
        for (int64_t flat = 0; slot->given > 0 && flat < opd_tensor_count(view); flat++) {
            int64_t index[OPD_MAX_RANK];
            opd_tensor_unflatten(view, flat, index);
            if (opd_tensor_exists(view, index)) {
                memcpy((uint8_t *)view->data + opd_tensor_offset(view, index),
                       opd_job_at(job, slot->given) + (size_t)flat * size, size);
            }
        }
    }
}
