/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between strided blocks of the same shape, the one loop under all operators that move elements. Private to kernels/move. */
#ifndef OPD_KERNELS_MOVE_COPY_H
#define OPD_KERNELS_MOVE_COPY_H

#include <opsdebug/tensor.h>

typedef struct opd_move_copy {
    uint8_t *to;
    const uint8_t *from;
    int size; /* bytes of an element: 1, 2, 4, 8 */
    int rank;
    int64_t shape[OPD_MAX_RANK];
    int64_t to_stride[OPD_MAX_RANK];   /* bytes, any sign */
    int64_t from_stride[OPD_MAX_RANK]; /* bytes, any sign; 0 repeats */
} opd_move_copy;

/*
 * Copies every element. The blocks do not meet, or are the same. Runs that are contiguous on both sides are memcpy(), transposes go by tiles,
 * the rest element by element; on several threads where there is enough to do.
 */
void opd_move_copy_run(const opd_move_copy *copy, int32_t threads);
/* count elements, steps in bytes apart. */
void opd_move_row(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t count, int size);

#endif
