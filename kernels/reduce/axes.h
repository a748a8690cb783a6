/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of reductions: which dimensions an operator of reduce/ works on, and the shapes that follow. Private to kernels/. */
#ifndef OPD_KERNELS_AXES_H
#define OPD_KERNELS_AXES_H

#include <opsdebug/op.h>

/* A tensor [outer, size, inner] about one axis. */
typedef struct opd_axis {
    int64_t outer, size, inner;
} opd_axis;

/* Which dimensions of operand 0 the axes of operand 1 reduce; without data they are the last ones. errors: E_INVALID out of range, or twice. */
opd_status opd_axes_of(bool reduced[OPD_MAX_RANK], const opd_call *call);

/* axis counts from the end when negative. errors: E_INVALID out of range. */
opd_status opd_axis_of(opd_axis *out, const opd_tensor *view, int64_t axis);

/* The whole number that operand `index` holds; otherwise when it is not known yet. errors: E_INVALID it has not exactly one element. */
opd_status opd_axis_number(int64_t *out, const opd_call *call, int index, int64_t otherwise);

opd_shape_function opd_shape_reduce;
opd_shape_function opd_shape_arg_extreme;
opd_shape_function opd_shape_cumulative_sum;
opd_shape_function opd_shape_top_k;
opd_generate_function opd_generate_axes;
opd_generate_function opd_generate_top_k;

#endif
