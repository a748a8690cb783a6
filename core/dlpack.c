/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views as DLPack 0.6 tensors and back. DLPack has no bool at that version, no masks and no extent of the storage.
 */
#include <opsdebug/tensor.h>

#include <string.h>

#include "dtype.h"

#include <opsdebug/memory.h>

static uint8_t code_of(opd_dtype dtype)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    if (info->kind == OPD_CLASS_FLOAT) {
        return dtype == OPD_BF16 ? kDLBfloat : info->size != info->part ? kDLComplex : kDLFloat;
    }
    return info->kind == OPD_CLASS_SIGNED ? kDLInt : kDLUInt;
}

opd_status opd_tensor_to_dlpack(DLTensor *out, const opd_tensor *view)
{
    if (view->mask.kind != OPD_MASK_NONE) {
        return opd_fail(OPD_E_UNSUPPORTED, "DLPack cannot say which elements of a masked view exist");
    }
    if (view->dtype == OPD_BOOL || opd_dtype_size(view->dtype) == 0) {
        return opd_fail(OPD_E_UNSUPPORTED, "DLPack 0.6 has no code for %s", opd_dtype_name(view->dtype));
    }
    DLTensor tensor = {
        .data = view->data,
        .device = { .device_type = kDLCPU, .device_id = 0 },
        .ndim = view->rank,
        .dtype = { .code = code_of(view->dtype), .bits = (uint8_t)(8 * opd_dtype_size(view->dtype)), .lanes = 1 },
    };
    /* DLTensor has no const; a consumer must not write through these two. */
    const int64_t *shape = view->shape;
    const int64_t *stride = view->stride;
    memcpy(&tensor.shape, &shape, sizeof(shape));
    memcpy(&tensor.strides, &stride, sizeof(stride));
    *out = tensor;
    return OPD_OK;
}

static opd_dtype dtype_of(DLDataType type)
{
    for (unsigned i = 1; i < OPD_BOOL; i++) {
        opd_dtype dtype = (opd_dtype)i;
        if (code_of(dtype) == type.code && 8 * opd_dtype_size(dtype) == type.bits) {
            return dtype;
        }
    }
    return OPD_DTYPE_NONE;
}

opd_status opd_tensor_from_dlpack(opd_tensor *out, const DLTensor *tensor)
{
    if (tensor->device.device_type != kDLCPU) {
        return opd_fail(OPD_E_UNSUPPORTED, "the tensor is on device type %d, not in CPU memory",
                        (int)tensor->device.device_type);
    }
    opd_dtype dtype = tensor->dtype.lanes == 1 ? dtype_of(tensor->dtype) : OPD_DTYPE_NONE;
    if (dtype == OPD_DTYPE_NONE) {
        return opd_fail(OPD_E_UNSUPPORTED, "DLPack type code %u with %u bits and %u lanes has no dtype here",
                        tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
    }
    if (tensor->ndim < 0 || tensor->ndim > OPD_MAX_RANK) {
        return opd_fail(OPD_E_INVALID, "rank %d is not in 0..%d", tensor->ndim, OPD_MAX_RANK);
    }
    void *data = tensor->data == NULL ? NULL : (uint8_t *)tensor->data + tensor->byte_offset;
    opd_tensor view = { 0 };
    opd_status status = opd_tensor_contiguous(&view, dtype, tensor->ndim, tensor->shape, data);
    if (status != OPD_OK) {
        return status;
    }
    if (tensor->strides != NULL) {
        for (int32_t d = 0; d < tensor->ndim; d++) {
            view.stride[d] = tensor->strides[d];
        }
        view.storage = NULL;
        view.storage_bytes = 0;
        status = opd_tensor_check(&view);
        if (status != OPD_OK) {
            return status;
        }
    }
    *out = view;
    return OPD_OK;
}
