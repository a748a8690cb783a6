/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reduction of a contiguous tensor as loops: neighbouring dimensions of one kind are one, kept and reduced ones alternate. Private to the folder.
 *
 * The innermost dimension decides: reduced, it is a row of `length` elements; kept, it is `width` columns of `rows` rows, `row_stride` apart. The
 * outputs are `outer` in number (times width), each made of `parts` such rows or blocks.
 */
#ifndef OPD_KERNELS_REDUCE_PLAN_H
#define OPD_KERNELS_REDUCE_PLAN_H

#include <opsdebug/kernel.h>

typedef struct opd_reduce_dims {
    int count;
    int64_t size[OPD_MAX_RANK], stride[OPD_MAX_RANK]; /* outermost first */
    int64_t total;
} opd_reduce_dims;

typedef struct opd_reduce_plan {
    opd_reduce_dims kept, reduced; /* without the innermost loops below */
    bool by_columns;
    int64_t length;
    int64_t width, rows, row_stride;
    int64_t terms; /* elements that make one output */
} opd_reduce_plan;

void opd_reduce_plan_make(opd_reduce_plan *out, const opd_tensor *data, const bool *reduced);
/* Elements from the start to number `index` of the dims. */
int64_t opd_reduce_offset(const opd_reduce_dims *dims, int64_t index);

#endif
