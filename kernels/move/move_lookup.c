/* SPDX-License-Identifier: Apache-2.0 */
/* Gather and Pad on contiguous operands: runs found by index arithmetic, copied whole; rows are shared between threads. */
#include <string.h>

#include <opsdebug/memory.h>

#include "move.h"
#include "move_copy.h"
#include "move_variants.h"

enum { PART_BYTES = 1 << 18 };

static int64_t minimum(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows that a part takes, rows of so many bytes. */
static int64_t rows_per_part(int64_t row_bytes)
{
    return row_bytes >= PART_BYTES ? 1 : PART_BYTES / (row_bytes > 0 ? row_bytes : 1);
}

/* ------------------------------------------------------------------------------------------------------ Gather */

typedef struct gathering {
    const uint8_t *data;
    const uint8_t *indices;
    uint8_t *out;
    opd_dtype index_dtype;
    int64_t n, picks;  /* entries along the axis; indices */
    int64_t run;       /* bytes of an entry */
    int64_t rows, per; /* runs in all, per part */
} gathering;

static int64_t index_at(const gathering *job, int64_t at)
{
    if (job->index_dtype == OPD_I32) {
        int32_t index = 0;
        memcpy(&index, job->indices + 4 * at, sizeof index);
        return opd_gather_index(index, job->n);
    }
    int64_t index = 0;
    memcpy(&index, job->indices + 8 * at, sizeof index);
    return opd_gather_index(index, job->n);
}

static void gather_part(void *context, int64_t part)
{
    const gathering *job = context;
    int64_t end = minimum(job->rows, (part + 1) * job->per);
    for (int64_t row = part * job->per; row < end; row++) {
        int64_t entry = row / job->picks * job->n + index_at(job, row % job->picks);
        memcpy(job->out + row * job->run, job->data + entry * job->run, (size_t)job->run);
    }
}

opd_status opd_gather_run(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *data = &call->operands[0].view;
    const opd_tensor *indices = &call->operands[1].view;
    const opd_tensor *out = &call->operands[2].view;
    int axis = opd_move_axis(opd_call_int(call, "axis", 0), data->rank);
    gathering job = {
        .data = data->data,
        .indices = indices->data,
        .out = out->data,
        .index_dtype = indices->dtype,
        .n = data->shape[axis],
        .picks = opd_tensor_count(indices),
        .run = (int64_t)opd_dtype_size(data->dtype),
    };
    if (opd_tensor_count(out) == 0) {
        return OPD_OK;
    }
    for (int d = axis + 1; d < data->rank; d++) {
        job.run *= data->shape[d];
    }
    job.rows = job.picks;
    for (int d = 0; d < axis; d++) {
        job.rows *= data->shape[d];
    }
    for (int64_t i = 0; i < job.picks; i++) { /* before anything is read through one */
        if (index_at(&job, i) < 0) {
            return opd_fail(OPD_E_INVALID, "Gather: the index at %lld is out of range", (long long)i);
        }
    }
    job.per = rows_per_part(job.run);
    opd_parallel(workspace->threads, (job.rows + job.per - 1) / job.per, gather_part, &job);
    return OPD_OK;
}

/* --------------------------------------------------------------------------------------------------------- Pad */

typedef struct padding {
    opd_pads pads;
    const opd_tensor *data, *out;
    uint8_t constant[8];
    int size;
    int last;      /* axis of the rows */
    int64_t inner; /* elements of one entry of that axis: those of the axes behind it, which are not padded */
    int64_t rows, per;
} padding;

/* First byte in data of the row that an output row takes; NULL = all of it is the constant. */
static const uint8_t *source_row(const padding *job, int64_t row)
{
    int64_t offset = 0;
    int64_t step = job->inner * job->data->shape[job->last];
    for (int d = job->last - 1; d >= 0; d--) {
        int64_t from = opd_pads_source(&job->pads, d, row % job->out->shape[d]);
        row /= job->out->shape[d];
        if (from < 0) {
            return NULL;
        }
        offset += from * step;
        step *= job->data->shape[d];
    }
    return (const uint8_t *)job->data->data + offset * job->size;
}

/* Entries first .. end of the row axis, which lie in the padding. */
static void pad_entries(const padding *job, uint8_t *to, const uint8_t *row, int64_t first, int64_t end)
{
    int64_t bytes = job->inner * job->size;
    if (job->pads.mode == OPD_PAD_CONSTANT) {
        opd_move_row(to + first * bytes, job->size, job->constant, 0, (end - first) * job->inner, job->size);
        return;
    }
    for (int64_t at = first; at < end; at++) {
        memcpy(to + at * bytes, row + opd_pads_source(&job->pads, job->last, at) * bytes, (size_t)bytes);
    }
}

static void pad_part(void *context, int64_t part)
{
    const padding *job = context;
    const opd_pads *pads = &job->pads;
    int64_t bytes = job->inner * job->size;
    int64_t length = job->out->shape[job->last];
    int64_t before = pads->before[job->last];
    int64_t kept = pads->kept[job->last];
    int64_t end = minimum(job->rows, (part + 1) * job->per);
    for (int64_t row = part * job->per; row < end; row++) {
        uint8_t *to = (uint8_t *)job->out->data + row * length * bytes;
        const uint8_t *from = source_row(job, row);
        if (from == NULL) {
            opd_move_row(to, job->size, job->constant, 0, length * job->inner, job->size);
            continue;
        }
        pad_entries(job, to, from, 0, before);
        memcpy(to + before * bytes, from + pads->first[job->last] * bytes, (size_t)(kept * bytes));
        pad_entries(job, to, from, before + kept, length);
    }
}

opd_status opd_pad_run(const opd_call *call, const opd_workspace *workspace)
{
    const opd_operand *constant = &call->operands[2];
    padding job = { .data = &call->operands[0].view, .out = &call->operands[4].view, .inner = 1 };
    opd_status status = opd_pads_resolve(&job.pads, call);
    if (status != OPD_OK || opd_tensor_count(job.out) == 0) {
        return status;
    }
    job.size = (int)opd_dtype_size(job.data->dtype);
    if (job.pads.mode == OPD_PAD_CONSTANT && (constant->flags & OPD_OPERAND_ABSENT) == 0) {
        memcpy(job.constant, constant->view.data, (size_t)job.size);
    }
    if (job.data->rank == 0) {
        memcpy(job.out->data, job.data->data, (size_t)job.size);
        return OPD_OK;
    }
    for (job.last = job.data->rank - 1; job.last > 0; job.last--) {
        int64_t n = job.data->shape[job.last];
        if (n != job.pads.kept[job.last] || n != job.out->shape[job.last]) {
            break;
        }
        job.inner *= n;
    }
    job.rows = opd_tensor_count(job.out) / (job.inner * job.out->shape[job.last]);
    job.per = rows_per_part(job.inner * job.out->shape[job.last] * job.size);
    opd_parallel(workspace->threads, (job.rows + job.per - 1) / job.per, pad_part, &job);
    return OPD_OK;
}
