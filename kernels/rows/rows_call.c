/* SPDX-License-Identifier: Apache-2.0 */
/* What variants built on rows.h share. */
#include "rows_call.h"

enum { PARTS_PER_THREAD = 4 };
/*
 * Streaming saves reading the lines that are overwritten, but what comes next then finds nothing in the caches: only for outputs beyond them. And
 * it wants long stretches: rows of 256 bytes went at half the speed of plain stores, of 4096 at 1.5 times (Zen 3).
 */
static const int64_t stream_bytes = (int64_t)16 << 20;
static const int64_t stream_row_bytes = 2048;

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

const char *opd_rows_decline(const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) == 0 && !is_contiguous(&call->operands[i].view)) {
            return "an operand is not contiguous";
        }
    }
    return NULL;
}

const char *opd_rows_decline_integers(const opd_call *call)
{
    return opd_dtype_is_float(call->operands[0].view.dtype) ? opd_rows_decline(call) : "only for floating point";
}

int64_t opd_rows_parts(int32_t threads)
{
    return threads > 1 ? (int64_t)threads * PARTS_PER_THREAD : 1;
}

bool opd_rows_stream(const opd_tensor *output, int64_t row)
{
    int64_t size = (int64_t)opd_dtype_size(output->dtype);
    return row * size >= stream_row_bytes && opd_tensor_count(output) * size >= stream_bytes;
}
