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

const char *opd_rows_decline(const opd_call *call)
{
    return opd_call_strided(call);
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
