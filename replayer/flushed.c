/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A routine under DAZ reads subnormal numbers as zeros, which may change its result by any factor that they are multiplied
 * with: the reference, which knows no such mode, is given zeros too. They are in place for its run only.
 */
#include "flushed.h"

#include <float.h>
#include <math.h>
#include <string.h>

static double smallest_normal(opd_dtype dtype)
{
    switch (opd_dtype_real(dtype)) {
    case OPD_F32:
        return (double)FLT_MIN;
    case OPD_F64:
        return DBL_MIN;
    default:
        return 0; /* no arithmetic of SSE's: nothing is flushed */
    }
}

/* Zeros keep their sign. */
static void flush_packed(void *packed, uint64_t bytes, opd_dtype dtype)
{
    if (opd_dtype_real(dtype) == OPD_F32) {
        float *value = packed;
        for (uint64_t i = 0; i < bytes / sizeof *value; i++) {
            value[i] = fabsf(value[i]) < FLT_MIN ? copysignf(0, value[i]) : value[i];
        }
    } else {
        double *value = packed;
        for (uint64_t i = 0; i < bytes / sizeof *value; i++) {
            value[i] = fabs(value[i]) < DBL_MIN ? copysign(0, value[i]) : value[i];
        }
    }
}

static opd_status flush_operand(void **kept, const opd_tensor *view)
{
    void *flushed = NULL;
    uint64_t bytes = opd_tensor_packed_bytes(view);
    opd_status status = opd_alloc(kept, (size_t)bytes);
    if (status == OPD_OK) {
        opd_tensor_pack(*kept, view);
        status = opd_alloc(&flushed, (size_t)bytes);
    }
    if (status == OPD_OK) {
        memcpy(flushed, *kept, (size_t)bytes);
        flush_packed(flushed, bytes, view->dtype);
        opd_tensor_unpack(view, flushed);
    }
    opd_free(flushed);
    return status;
}

static void flush_scalars(opd_call *call)
{
    double smallest = smallest_normal(call->dtype);
    for (int i = 0; i < call->attr_count; i++) {
        opd_value *value = &call->attrs[i];
        if (value->kind == OPD_VALUE_REAL || value->kind == OPD_VALUE_COMPLEX) {
            value->re = fabs(value->re) < smallest ? copysign(0, value->re) : value->re;
            value->im = fabs(value->im) < smallest ? copysign(0, value->im) : value->im;
        }
    }
}

opd_status opd_flushed_begin(opd_flushed *out, const opd_judge *judge)
{
    opd_status status = OPD_OK;
    memset(out->kept, 0, sizeof out->kept);
    out->call = *judge->call;
    if ((judge->job->mxcsr & OPD_MXCSR_DAZ) == 0) {
        return OPD_OK;
    }
    flush_scalars(&out->call);
    for (int i = 0; i < out->call.operand_count && status == OPD_OK; i++) {
        const opd_operand *operand = &out->call.operands[i];
        bool is_read = (operand->role & OPD_ROLE_IN) != 0 && (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0 &&
                       operand->view.data != NULL && judge->job->operands[i].place == OPD_PLACE_DATA;
        opd_health health;
        if (!is_read || smallest_normal(operand->view.dtype) == 0) {
            continue;
        }
        opd_tensor_health(&health, &operand->view);
        if (health.subnormal > 0) {
            status = flush_operand(&out->kept[i], &operand->view);
        }
    }
    return status;
}

void opd_flushed_end(opd_flushed *flushed)
{
    for (int i = OPD_MAX_OPERANDS; i-- > 0;) { /* backwards: operands may share memory */
        if (flushed->kept[i] != NULL) {
            opd_tensor_unpack(&flushed->call.operands[i].view, flushed->kept[i]);
            opd_free(flushed->kept[i]);
        }
    }
}
