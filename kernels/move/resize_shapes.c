/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Resize is asked for: sizes and scales of every axis, and which input elements with which weights an output index is made of.
 * Coordinates are f64, in the order of operations of the ONNX reference, so that every variant picks the same elements.
 * source    ONNX operators, Resize-19, and its reference implementation (length_resized = scale * length_original, not rounded).
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "move.h"

enum { X, ROI, SCALES, SIZES, Y };

/* Largest double below which neighbours are whole numbers: sizes stay far from it. */
#define REACH 4503599627370496.0

static double floor_of(double value)
{
    if (!(value > -REACH && value < REACH)) {
        return value;
    }
    double whole = (double)(int64_t)value;
    return whole > value ? whole - 1 : whole;
}

static opd_status check_kind(const opd_resize *resize, const opd_call *call)
{
    const opd_tensor *x = &call->operands[X].view;
    if (opd_call_int(call, "antialias", 0) != 0) {
        return opd_fail(OPD_E_UNSUPPORTED, "Resize: antialias is not supported");
    }
    if (resize->mode != OPD_RESIZE_NEAREST && !opd_dtype_is_float(x->dtype)) {
        return opd_fail(OPD_E_INVALID, "Resize: mode %s is of floats, X is %s", opd_call_text(call, "mode", ""),
                        opd_dtype_name(x->dtype));
    }
    return OPD_OK;
}

/* The axes that scales, sizes and roi speak of. */
static opd_status find_axes(int axes[OPD_MAX_RANK], int *count, const opd_call *call)
{
    int64_t listed[OPD_MAX_INTS];
    int given = opd_call_ints(call, "axes", listed);
    return opd_move_axes(axes, count, call, given >= 0 ? listed : NULL, given);
}

static opd_status take_scales(opd_resize *out, const opd_call *call, const int *axes, int count)
{
    double scales[OPD_MOVE_NUMBERS];
    int given = opd_move_reals(scales, call, SCALES);
    if (given != count) {
        return opd_fail(OPD_E_INVALID, "Resize: %d scales for %d axes", given, count);
    }
    for (int i = 0; i < count; i++) {
        double length = (double)out->from[axes[i]] * scales[i];
        if (!(scales[i] > 0) || !(length < REACH)) {
            return opd_fail(OPD_E_INVALID, "Resize: scale %g of axis %d", scales[i], axes[i]);
        }
        out->scale[axes[i]] = scales[i];
        out->length[axes[i]] = length;
        out->to[axes[i]] = (int64_t)length;
    }
    return OPD_OK;
}

/* One scale for all of the axes: the smallest, or the largest; lengths rounded half up. */
static void keep_aspect_ratio(opd_resize *out, opd_resize_policy policy, const int *axes, int count)
{
    double scale = out->scale[axes[0]];
    for (int i = 1; i < count; i++) {
        double other = out->scale[axes[i]];
        bool is_better = policy == OPD_RESIZE_NOT_LARGER ? other < scale : other > scale;
        scale = is_better ? other : scale;
    }
    for (int i = 0; i < count; i++) {
        out->scale[axes[i]] = scale;
        out->length[axes[i]] = scale * (double)out->from[axes[i]];
        out->to[axes[i]] = (int64_t)floor_of(out->length[axes[i]] + 0.5);
    }
}

static opd_status take_sizes(opd_resize *out, const opd_call *call, const int *axes, int count)
{
    int64_t sizes[OPD_MOVE_NUMBERS];
    int given = opd_move_integers(sizes, call, SIZES);
    opd_resize_policy policy = (opd_resize_policy)opd_move_word(call, "keep_aspect_ratio_policy", OPD_RESIZE_POLICIES);
    if (given != count) {
        return opd_fail(OPD_E_INVALID, "Resize: %d sizes for %d axes", given, count);
    }
    for (int i = 0; i < count; i++) {
        int64_t n = out->from[axes[i]];
        if (sizes[i] < 0 || (double)sizes[i] >= REACH || (n == 0 && sizes[i] > 0)) {
            return opd_fail(OPD_E_INVALID, "Resize: size %lld of axis %d, which has %lld elements", (long long)sizes[i],
                            axes[i], (long long)n);
        }
        out->scale[axes[i]] = n > 0 && sizes[i] > 0 ? (double)sizes[i] / (double)n : 1;
        out->length[axes[i]] = (double)sizes[i];
        out->to[axes[i]] = sizes[i];
    }
    if (policy != OPD_RESIZE_STRETCH && count > 0) {
        keep_aspect_ratio(out, policy, axes, count);
    }
    return OPD_OK;
}

static opd_status take_region(opd_resize *out, const opd_call *call, const int *axes, int count)
{
    double roi[OPD_MOVE_NUMBERS];
    int given = opd_move_reals(roi, call, ROI);
    if (given != 2 * count) {
        return opd_fail(OPD_E_INVALID,
                        "Resize: tf_crop_and_resize needs %d elements of roi, begins then ends, it has %d", 2 * count,
                        given);
    }
    for (int i = 0; i < count; i++) {
        out->begin[axes[i]] = roi[i];
        out->end[axes[i]] = roi[count + i];
        if (!(roi[i] > -REACH && roi[i] < REACH && roi[count + i] > -REACH && roi[count + i] < REACH)) {
            return opd_fail(OPD_E_INVALID, "Resize: roi of axis %d is %g to %g", axes[i], roi[i], roi[count + i]);
        }
    }
    return OPD_OK;
}

static bool is_given(const opd_call *call, int operand)
{
    const opd_operand *given = &call->operands[operand];
    return (given->flags & OPD_OPERAND_ABSENT) == 0 && opd_tensor_count(&given->view) > 0;
}

/* Every element comes from its like: the length stays, and so do the coordinates. */
static void find_kept(opd_resize *out, int rank)
{
    for (int d = 0; d < rank; d++) {
        bool is_whole = out->coordinates != OPD_RESIZE_TF_CROP || (out->begin[d] == 0 && out->end[d] == 1);
        is_whole &= out->coordinates != OPD_RESIZE_TF_HALF_PIXEL; /* half an element aside at any scale */
        out->is_kept[d] = out->scale[d] == 1 && out->to[d] == out->from[d] && is_whole;
    }
}

opd_status opd_resize_resolve(opd_resize *out, const opd_call *call)
{
    const opd_tensor *x = &call->operands[X].view;
    int axes[OPD_MAX_RANK];
    int count = 0;
    *out = (opd_resize){
        .mode = (opd_resize_mode)opd_move_word(call, "mode", OPD_RESIZE_MODES),
        .coordinates =
            (opd_resize_coordinates)opd_move_word(call, "coordinate_transformation_mode", OPD_RESIZE_COORDINATES),
        .nearest = (opd_resize_nearest)opd_move_word(call, "nearest_mode", OPD_RESIZE_NEARESTS),
        .excludes_outside = opd_call_int(call, "exclude_outside", 0) != 0,
        .cubic_a = opd_call_real(call, "cubic_coeff_a", -0.75),
        .extrapolation = opd_call_real(call, "extrapolation_value", 0),
    };
    for (int d = 0; d < x->rank; d++) {
        out->from[d] = out->to[d] = x->shape[d];
        out->scale[d] = out->end[d] = 1;
        out->length[d] = (double)x->shape[d];
    }
    opd_status status = check_kind(out, call);
    if (status == OPD_OK) {
        status = find_axes(axes, &count, call);
    }
    if (status == OPD_OK && is_given(call, SCALES) == is_given(call, SIZES) && count > 0) {
        status = opd_fail(OPD_E_INVALID, "Resize: either scales or sizes must be given, and not both");
    }
    if (status == OPD_OK && count > 0) {
        status = is_given(call, SCALES) ? take_scales(out, call, axes, count) : take_sizes(out, call, axes, count);
    }
    if (status == OPD_OK && out->coordinates == OPD_RESIZE_TF_CROP) {
        status = take_region(out, call, axes, count);
    }
    find_kept(out, x->rank);
    return status;
}

opd_status opd_resize_shape(opd_call *call)
{
    opd_resize resize;
    if (opd_move_is_unknown(call, ROI, SIZES)) {
        return OPD_OK;
    }
    opd_status status = opd_resize_resolve(&resize, call);
    if (status == OPD_OK) {
        opd_tensor *y = &call->operands[Y].view;
        y->rank = call->operands[X].view.rank;
        memcpy(y->shape, resize.to, (size_t)y->rank * sizeof y->shape[0]);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------- coordinates */

/* Position in the input of an output index. */
static double locate(const opd_resize *resize, int axis, double at)
{
    double n = (double)resize->from[axis];
    double scale = resize->scale[axis];
    double length = resize->length[axis];
    switch (resize->coordinates) {
    case OPD_RESIZE_ALIGN_CORNERS:
        return length == 1 ? 0 : at * (n - 1) / (length - 1);
    case OPD_RESIZE_ASYMMETRIC:
        return at / scale;
    case OPD_RESIZE_TF_CROP: {
        double width = resize->end[axis] - resize->begin[axis];
        double inside = length == 1 ? width * (n - 1) / 2 : at * width * (n - 1) / (length - 1);
        return inside + resize->begin[axis] * (n - 1);
    }
    case OPD_RESIZE_PYTORCH_HALF_PIXEL:
        return length == 1 ? -0.5 : (at + 0.5) / scale - 0.5;
    case OPD_RESIZE_TF_HALF_PIXEL:
        return (at + 0.5) / scale;
    case OPD_RESIZE_HALF_PIXEL_SYMMETRIC: {
        double adjustment = (double)resize->to[axis] / length;
        return n / 2 * (1 - adjustment) + (at + 0.5) / scale - 0.5;
    }
    default:
        return (at + 0.5) / scale - 0.5;
    }
}

static int64_t confine(double value, int64_t n)
{
    return value < 0 ? 0 : value > (double)(n - 1) ? n - 1 : (int64_t)value;
}

static double nearest_of(opd_resize_nearest mode, double position)
{
    double low = floor_of(position);
    double part = position - low;
    switch (mode) {
    case OPD_RESIZE_FLOOR:
        return low;
    case OPD_RESIZE_CEIL:
        return part > 0 ? low + 1 : low;
    case OPD_RESIZE_ROUND_PREFER_CEIL:
        return part < 0.5 ? low : low + 1;
    default:
        return part <= 0.5 ? low : low + 1;
    }
}

/* Keys 1981 with parameter a, at the distances 1 + t, t, 1 - t, 2 - t. */
static void cubic_weights(double weight[4], double a, double t)
{
    double u = 1 - t;
    weight[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    weight[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
    weight[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
}

/* Taps without weight away, those past the edge onto it or (excludes_outside) away as well. */
static void settle(opd_resize_taps *taps, const opd_resize *resize, double first, int64_t n)
{
    int kept = 0;
    double sum = 0;
    for (int i = 0; i < taps->count; i++) {
        double index = first + i;
        bool is_outside = index < 0 || index > (double)(n - 1);
        if (taps->weight[i] == 0 || (is_outside && resize->excludes_outside)) {
            continue;
        }
        taps->weight[kept] = taps->weight[i];
        taps->index[kept] = confine(index, n);
        sum += taps->weight[kept++];
    }
    taps->count = kept;
    for (int i = 0; i < kept && resize->excludes_outside; i++) {
        taps->weight[i] /= sum;
    }
}

void opd_resize_find_taps(opd_resize_taps *out, const opd_resize *resize, int axis, int64_t at)
{
    int64_t n = resize->from[axis];
    if (resize->is_kept[axis]) {
        *out = (opd_resize_taps){ .count = 1, .index = { at }, .weight = { 1 } };
        return;
    }
    double position = locate(resize, axis, (double)at);
    bool is_outside = position < 0 || position > (double)(n - 1);
    if (is_outside && resize->coordinates == OPD_RESIZE_TF_CROP) {
        *out = (opd_resize_taps){ .count = 0 };
        return;
    }
    double low = floor_of(position);
    double part = position - low;
    if (resize->mode == OPD_RESIZE_NEAREST) {
        *out = (opd_resize_taps){ .count = 1,
                                  .index = { confine(nearest_of(resize->nearest, position), n) },
                                  .weight = { 1 } };
        return;
    }
    if (resize->mode == OPD_RESIZE_LINEAR) {
        *out = (opd_resize_taps){ .count = 2, .weight = { 1 - part, part } };
        settle(out, resize, low, n);
        return;
    }
    *out = (opd_resize_taps){ .count = 4 };
    cubic_weights(out->weight, resize->cubic_a, part);
    settle(out, resize, low - 1, n);
}
