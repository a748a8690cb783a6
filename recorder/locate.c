/* SPDX-License-Identifier: Apache-2.0 */
/* From the place of an element in walk order to its index tuple, with no data at hand. */
#include <stdlib.h>

#include "inquest.h"

/* Byte offset from element 0 of the element at a place in walk order. */
static bool find_offset(int64_t *offset, const opd_tensor *view, int64_t element)
{
    opd_runs runs;
    opd_run run;
    opd_runs_begin(&runs, view);
    while (opd_runs_next(&runs, &run)) {
        if (element < run.count) {
            *offset = run.offset + element * run.step;
            return true;
        }
        element -= run.count;
    }
    return false;
}

/* The dimension with the longest stride among those not taken; takes it. */
static int take_widest(const opd_tensor *view, bool is_taken[OPD_MAX_RANK])
{
    int widest = -1;
    for (int i = 0; i < view->rank; i++) {
        if (!is_taken[i] && (widest < 0 || llabs(view->stride[i]) > llabs(view->stride[widest]))) {
            widest = i;
        }
    }
    is_taken[widest] = true;
    return widest;
}

/* Longest strides first: right for every view whose elements do not overlap. */
void opd_window_index(int64_t index[OPD_MAX_RANK], const opd_tensor *view, int64_t offset)
{
    bool is_taken[OPD_MAX_RANK] = { false };
    offset /= (int64_t)opd_dtype_size(view->dtype);
    for (int step = 0; step < view->rank; step++) {
        int i = take_widest(view, is_taken);
        int64_t stride = llabs(view->stride[i]);
        int64_t place = stride > 0 ? offset / stride : 0;
        place = place < view->shape[i] ? place : view->shape[i] - 1;
        offset -= place * stride;
        index[i] = view->stride[i] < 0 ? view->shape[i] - 1 - place : place;
    }
}

bool opd_window_locate(int64_t index[OPD_MAX_RANK], const opd_tensor *view, int64_t element)
{
    int64_t offset;
    if (element < 0 || !find_offset(&offset, view, element)) {
        return false;
    }
    int64_t size = (int64_t)opd_dtype_size(view->dtype);
    for (int i = 0; i < view->rank; i++) { /* from the lowest address */
        offset -= view->stride[i] < 0 ? (view->shape[i] - 1) * view->stride[i] * size : 0;
    }
    opd_window_index(index, view, offset);
    return true;
}
