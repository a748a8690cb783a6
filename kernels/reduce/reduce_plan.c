/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the dimensions of a reduction into loops. */
#include "reduce_plan.h"

static void push(opd_reduce_dims *dims, int64_t size, int64_t stride)
{
    dims->size[dims->count] = size;
    dims->stride[dims->count++] = stride;
    dims->total *= size;
}

/* Takes the innermost dimension off: its size, and its stride. */
static int64_t pop(opd_reduce_dims *dims, int64_t *stride)
{
    dims->count--;
    *stride = dims->stride[dims->count];
    return dims->size[dims->count];
}

static int64_t total_of(const opd_reduce_dims *dims)
{
    int64_t total = 1;
    for (int d = 0; d < dims->count; d++) {
        total *= dims->size[d];
    }
    return total;
}

void opd_reduce_plan_make(opd_reduce_plan *out, const opd_tensor *data, const bool *reduced)
{
    opd_reduce_plan plan = { .kept = { .total = 1 }, .reduced = { .total = 1 }, .width = 1, .rows = 1, .length = 1 };
    int64_t size[OPD_MAX_RANK];
    bool is_reduced[OPD_MAX_RANK];
    int count = 0;
    for (int d = 0; d < data->rank; d++) {
        if (data->shape[d] == 1) {
            continue;
        }
        if (count > 0 && is_reduced[count - 1] == reduced[d]) {
            size[count - 1] *= data->shape[d];
        } else {
            size[count] = data->shape[d];
            is_reduced[count++] = reduced[d];
        }
    }
    int64_t strides[OPD_MAX_RANK];
    int64_t stride = 1;
    for (int d = count - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= size[d];
    }
    for (int d = 0; d < count; d++) {
        push(is_reduced[d] ? &plan.reduced : &plan.kept, size[d], strides[d]);
    }
    plan.terms = plan.reduced.total;
    plan.by_columns = count > 0 && !is_reduced[count - 1];
    if (plan.by_columns) {
        plan.width = pop(&plan.kept, &stride);
        if (plan.reduced.count > 0) {
            plan.rows = pop(&plan.reduced, &plan.row_stride);
        }
    } else if (count > 0) {
        plan.length = pop(&plan.reduced, &stride);
    }
    plan.kept.total = total_of(&plan.kept);
    plan.reduced.total = total_of(&plan.reduced);
    *out = plan;
}

int64_t opd_reduce_offset(const opd_reduce_dims *dims, int64_t index)
{
    int64_t offset = 0;
    for (int d = dims->count - 1; d >= 0; d--) {
        offset += index % dims->size[d] * dims->stride[d];
        index /= dims->size[d];
    }
    return offset;
}
