/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operators that move elements are asked for, checked and in one form (axes from the front, ranges inside the input), and the shapes
 * that follow. Resize has a file of its own.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "move.h"

int opd_move_word(const opd_call *call, const char *attribute, const char *words)
{
    const char *word = opd_call_text(call, attribute, "");
    size_t size = strlen(word);
    for (int i = 0; words != NULL; i++) {
        const char *end = strchr(words, '|');
        size_t item = end != NULL ? (size_t)(end - words) : strlen(words);
        if (item == size && memcmp(words, word, size) == 0) {
            return i;
        }
        words = end != NULL ? end + 1 : NULL;
    }
    return 0; /* the default: the contract lets no other word through */
}

int opd_move_axis(int64_t axis, int rank)
{
    axis += axis < 0 ? rank : 0;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

opd_status opd_move_axes(int axes[OPD_MAX_RANK], int *count, const opd_call *call, int64_t *listed, int listed_count)
{
    int rank = call->operands[0].view.rank;
    bool is_taken[OPD_MAX_RANK] = { false };
    *count = listed == NULL ? rank : listed_count;
    if (*count < 0 || *count > rank) {
        return opd_fail(OPD_E_INVALID, "%s: %d axes, %s has %d", call->op->name, listed_count, call->operands[0].name,
                        rank);
    }
    for (int i = 0; i < *count; i++) {
        axes[i] = listed == NULL ? i : opd_move_axis(listed[i], rank);
        if (axes[i] < 0) {
            return opd_fail(OPD_E_INVALID, "%s: %s has no axis %lld: it has %d", call->op->name, call->operands[0].name,
                            (long long)listed[i], rank);
        }
        if (is_taken[axes[i]]) {
            return opd_fail(OPD_E_INVALID, "%s: axis %d is named twice", call->op->name, axes[i]);
        }
        is_taken[axes[i]] = true;
    }
    return OPD_OK;
}

/* An integer input as read; errors: E_INVALID it is too long. */
static opd_status read_input(int64_t values[OPD_MOVE_NUMBERS], int *count, const opd_call *call, int operand)
{
    *count = opd_move_integers(values, call, operand);
    return *count >= 0 ? OPD_OK
                       : opd_fail(OPD_E_INVALID, "%s: %s has more than %d elements, or none are known", call->op->name,
                                  call->operands[operand].name, OPD_MOVE_NUMBERS);
}

static bool is_there(const opd_call *call, int operand)
{
    return (call->operands[operand].flags & OPD_OPERAND_ABSENT) == 0;
}

/* --------------------------------------------------------------------------------------------------- Transpose */

opd_status opd_transpose_axes(int axes[OPD_MAX_RANK], const opd_call *call)
{
    int64_t listed[OPD_MAX_INTS];
    int given = opd_call_ints(call, "perm", listed);
    int rank = call->operands[0].view.rank;
    int count = 0;
    if (given >= 0 && given != rank) {
        return opd_fail(OPD_E_INVALID, "Transpose: perm has %d elements, data %d dimensions", given, rank);
    }
    for (int d = 0; d < rank && given < 0; d++) {
        axes[d] = rank - 1 - d;
    }
    return given < 0 ? OPD_OK : opd_move_axes(axes, &count, call, listed, given);
}

opd_status opd_transpose_shape(opd_call *call)
{
    int axes[OPD_MAX_RANK];
    opd_status status = opd_transpose_axes(axes, call);
    const opd_tensor *data = &call->operands[0].view;
    opd_tensor *out = &call->operands[1].view;
    for (int d = 0; d < data->rank && status == OPD_OK; d++) {
        out->shape[d] = data->shape[axes[d]];
    }
    out->rank = data->rank;
    return status;
}

/* ----------------------------------------------------------------------------------------------------- Reshape */

/* Sizes as asked for, 0 and -1 resolved. */
static opd_status resolve_sizes(int64_t *sizes, int rank, const opd_call *call)
{
    const opd_tensor *data = &call->operands[0].view;
    bool allows_zero = opd_call_int(call, "allowzero", 0) != 0;
    int64_t total = opd_tensor_count(data);
    int64_t product = 1;
    int open = -1;
    for (int d = 0; d < rank; d++) {
        if (sizes[d] == -1) {
            if (open >= 0) {
                return opd_fail(OPD_E_INVALID, "Reshape: shape has -1 more than once");
            }
            open = d;
            continue;
        }
        if (sizes[d] < 0 || (sizes[d] == 0 && !allows_zero && d >= data->rank)) {
            return opd_fail(OPD_E_INVALID, "Reshape: shape has %lld in dimension %d%s", (long long)sizes[d], d,
                            sizes[d] == 0 ? ", where data has none" : "");
        }
        sizes[d] = sizes[d] == 0 && !allows_zero ? data->shape[d] : sizes[d];
        if (!opd_mul_i64(&product, product, sizes[d])) {
            return opd_fail(OPD_E_INVALID, "Reshape: shape has more elements than can be counted");
        }
    }
    if (open >= 0) {
        bool is_empty = product == 0 && total == 0;
        sizes[open] = product > 0 ? total / product : 0;
        product *= is_empty ? 0 : sizes[open];
    }
    return product == total ? OPD_OK
                            : opd_fail(OPD_E_INVALID, "Reshape: %lld elements of data do not make a shape of %lld%s",
                                       (long long)total, (long long)product, open >= 0 ? ", with -1 what fits" : "");
}

opd_status opd_reshape_shape(opd_call *call)
{
    int64_t sizes[OPD_MOVE_NUMBERS];
    int rank = 0;
    if (opd_move_is_unknown(call, 1, 1)) {
        return OPD_OK;
    }
    opd_status status = read_input(sizes, &rank, call, 1);
    if (status == OPD_OK && rank > OPD_MAX_RANK) {
        status = opd_fail(OPD_E_INVALID, "Reshape: shape has %d dimensions, %d can be", rank, OPD_MAX_RANK);
    }
    if (status == OPD_OK) {
        status = resolve_sizes(sizes, rank, call);
    }
    if (status == OPD_OK) {
        opd_tensor *out = &call->operands[2].view;
        out->rank = rank;
        memcpy(out->shape, sizes, (size_t)rank * sizeof sizes[0]);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------- Slice */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* One axis of n elements, as Python's slice.indices(). */
static void resolve_range(opd_slice_ranges *out, int axis, int64_t n, const int64_t range[3])
{
    int64_t start = range[0] < 0 ? range[0] + n : range[0];
    int64_t end = range[1] < 0 ? range[1] + n : range[1];
    int64_t step = range[2] < -INT64_MAX ? -INT64_MAX : range[2];
    int64_t span = 0;
    if (step > 0) {
        start = clamp(start, 0, n);
        span = clamp(end, 0, n) - start;
    } else {
        start = clamp(start, -1, n - 1);
        span = start - clamp(end, -1, n - 1);
    }
    out->start[axis] = start;
    out->step[axis] = step;
    out->count[axis] = span > 0 ? (span - 1) / (step > 0 ? step : -step) + 1 : 0;
}

opd_status opd_slice_resolve(opd_slice_ranges *out, const opd_call *call)
{
    int64_t values[4][OPD_MOVE_NUMBERS]; /* starts, ends, axes, steps */
    const opd_tensor *data = &call->operands[0].view;
    int axes[OPD_MAX_RANK];
    int count = 0;
    int named = 0;
    opd_status status = OPD_OK;
    for (int i = 3; i >= 0 && status == OPD_OK; i--) {
        status = read_input(values[i], &count, call, 1 + i);
    }
    if (status == OPD_OK) { /* without axes: the first ones */
        for (int i = 0; i < count && !is_there(call, 3); i++) {
            values[2][i] = i;
        }
        status = opd_move_axes(axes, &named, call, values[2], count);
    }
    for (int d = 0; d < data->rank; d++) {
        out->start[d] = 0;
        out->step[d] = 1;
        out->count[d] = data->shape[d];
    }
    for (int i = 0; i < named && status == OPD_OK; i++) {
        const int64_t range[] = { values[0][i], values[1][i], is_there(call, 4) ? values[3][i] : 1 };
        if (range[2] == 0) {
            return opd_fail(OPD_E_INVALID, "Slice: the step of axis %d is 0", axes[i]);
        }
        resolve_range(out, axes[i], data->shape[axes[i]], range);
    }
    return status;
}

opd_status opd_slice_shape(opd_call *call)
{
    opd_slice_ranges ranges;
    if (opd_move_is_unknown(call, 1, 4)) {
        return OPD_OK;
    }
    opd_status status = opd_slice_resolve(&ranges, call);
    if (status == OPD_OK) {
        opd_tensor *out = &call->operands[5].view;
        out->rank = call->operands[0].view.rank;
        memcpy(out->shape, ranges.count, (size_t)out->rank * sizeof out->shape[0]);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------- Split */

opd_status opd_split_sizes(int64_t sizes[OPD_MAX_OPERANDS], int *axis, const opd_call *call)
{
    const opd_tensor *input = &call->operands[0].view;
    int64_t values[OPD_MOVE_NUMBERS];
    int count = 0;
    int parts = call->operand_count - 2;
    bool has_split = is_there(call, 1);
    *axis = opd_move_axis(opd_call_int(call, "axis", 0), input->rank);
    if (*axis < 0) {
        return opd_fail(OPD_E_INVALID, "Split: input has no axis %lld", (long long)opd_call_int(call, "axis", 0));
    }
    if (has_split && opd_call_int(call, "num_outputs", 0) > 0) {
        return opd_fail(OPD_E_INVALID, "Split: both split and num_outputs are given");
    }
    opd_status status = read_input(values, &count, call, 1);
    int64_t n = input->shape[*axis];
    int64_t each = n / parts + (n % parts != 0 ? 1 : 0);
    int64_t left = n;
    for (int i = 0; i < parts && status == OPD_OK; i++) {
        sizes[i] = has_split ? values[i] : each < left ? each : left;
        if (has_split && (count != parts || sizes[i] < 0 || sizes[i] > left)) {
            return opd_fail(OPD_E_INVALID, "Split: %lld of split for outputs%d, where %lld are left",
                            (long long)sizes[i], i, (long long)left);
        }
        left -= sizes[i];
    }
    return status != OPD_OK || left == 0 ? status
                                         : opd_fail(OPD_E_INVALID, "Split: split leaves %lld of %lld on axis %d",
                                                    (long long)left, (long long)n, *axis);
}

opd_status opd_split_shape(opd_call *call)
{
    int64_t sizes[OPD_MAX_OPERANDS];
    int axis = 0;
    if (opd_move_is_unknown(call, 1, 1)) {
        return OPD_OK;
    }
    opd_status status = opd_split_sizes(sizes, &axis, call);
    const opd_tensor *input = &call->operands[0].view;
    for (int i = 2; i < call->operand_count && status == OPD_OK; i++) {
        opd_tensor *out = &call->operands[i].view;
        out->rank = input->rank;
        memcpy(out->shape, input->shape, sizeof out->shape);
        out->shape[axis] = sizes[i - 2];
    }
    return status;
}

/* --------------------------------------------------------------------------------------------------------- Pad */

/* One axis: what is cut, what is added. */
static opd_status resolve_pad(opd_pads *out, int axis, int64_t n, const int64_t pads[2])
{
    int64_t least = -n;
    bool is_cut = pads[0] < least || pads[1] < least || (pads[0] < 0 ? -pads[0] : 0) + (pads[1] < 0 ? -pads[1] : 0) > n;
    int64_t sum = 0;
    if (is_cut) {
        return opd_fail(OPD_E_INVALID, "Pad: pads cut more than the %lld elements of axis %d", (long long)n, axis);
    }
    out->first[axis] = pads[0] < 0 ? -pads[0] : 0;
    out->kept[axis] = n - out->first[axis] - (pads[1] < 0 ? -pads[1] : 0);
    out->before[axis] = pads[0] > 0 ? pads[0] : 0;
    out->after[axis] = pads[1] > 0 ? pads[1] : 0;
    if (!opd_add_i64(&sum, out->before[axis], out->after[axis]) || !opd_add_i64(&sum, sum, out->kept[axis])) {
        return opd_fail(OPD_E_INVALID, "Pad: axis %d becomes longer than can be counted", axis);
    }
    bool has_source = out->mode == OPD_PAD_CONSTANT || out->kept[axis] > 0;
    return has_source || sum == 0
               ? OPD_OK
               : opd_fail(OPD_E_INVALID, "Pad: axis %d has no element to pad with; mode constant needs none", axis);
}

opd_status opd_pads_resolve(opd_pads *out, const opd_call *call)
{
    const opd_tensor *data = &call->operands[0].view;
    int64_t pads[OPD_MOVE_NUMBERS];
    int64_t listed[OPD_MOVE_NUMBERS];
    int axes[OPD_MAX_RANK];
    int pad_count = 0;
    int named = 0;
    int count = 0;
    opd_status status = read_input(pads, &pad_count, call, 1);
    if (status == OPD_OK) {
        status = read_input(listed, &count, call, 3);
    }
    if (status == OPD_OK) {
        status = opd_move_axes(axes, &named, call, is_there(call, 3) ? listed : NULL, count);
    }
    if (status == OPD_OK && pad_count != 2 * named) {
        status = opd_fail(OPD_E_INVALID, "Pad: %d pads for %d axes", pad_count, named);
    }
    out->mode = (opd_pad_mode)opd_move_word(call, "mode", OPD_PAD_MODES);
    for (int d = 0; d < data->rank; d++) {
        out->first[d] = out->before[d] = out->after[d] = 0;
        out->kept[d] = data->shape[d];
    }
    for (int i = 0; i < named && status == OPD_OK; i++) {
        const int64_t both[] = { pads[i], pads[named + i] };
        status = resolve_pad(out, axes[i], data->shape[axes[i]], both);
    }
    return status;
}

opd_status opd_pad_shape(opd_call *call)
{
    opd_pads pads;
    if (opd_move_is_unknown(call, 1, 1) || opd_move_is_unknown(call, 3, 3)) {
        return OPD_OK;
    }
    opd_status status = opd_pads_resolve(&pads, call);
    opd_tensor *out = &call->operands[4].view;
    for (int d = 0; d < call->operands[0].view.rank && status == OPD_OK; d++) {
        out->shape[d] = pads.before[d] + pads.kept[d] + pads.after[d];
    }
    out->rank = call->operands[0].view.rank;
    return status;
}

/* ------------------------------------------------------------------------------------------------------ Gather */

opd_status opd_gather_shape(opd_call *call)
{
    const opd_tensor *data = &call->operands[0].view;
    const opd_tensor *indices = &call->operands[1].view;
    int axis = opd_move_axis(opd_call_int(call, "axis", 0), data->rank);
    int64_t n = axis >= 0 ? data->shape[axis] : 0;
    for (int64_t flat = 0; indices->data != NULL && flat < opd_tensor_count(indices); flat++) {
        int64_t at[OPD_MAX_RANK];
        opd_tensor_unflatten(indices, flat, at);
        const uint8_t *element = (const uint8_t *)indices->data + opd_tensor_offset(indices, at);
        int64_t index = (int64_t)opd_element_load_wide(indices->dtype, element);
        if (opd_gather_index(index, n) < 0) {
            return opd_fail(OPD_E_INVALID, "Gather: indices has %lld at %lld, axis %d of data has %lld",
                            (long long)index, (long long)flat, axis, (long long)n);
        }
    }
    opd_tensor *out = &call->operands[2].view;
    int rank = data->rank - 1 + indices->rank;
    if (axis < 0 || rank > OPD_MAX_RANK) {
        return opd_fail(OPD_E_INVALID, "Gather: the output has %d dimensions, %d can be", rank, OPD_MAX_RANK);
    }
    for (int d = 0; d < rank; d++) {
        bool is_picked = d >= axis && d < axis + indices->rank;
        out->shape[d] = is_picked ? indices->shape[d - axis] : data->shape[d < axis ? d : d - indices->rank + 1];
    }
    out->rank = rank;
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------------------------ Expand */

opd_status opd_expand_shape(opd_call *call)
{
    const opd_tensor *input = &call->operands[0].view;
    opd_tensor *out = &call->operands[2].view;
    int64_t sizes[OPD_MOVE_NUMBERS];
    int count = 0;
    if (opd_move_is_unknown(call, 1, 1)) {
        return OPD_OK;
    }
    opd_status status = read_input(sizes, &count, call, 1);
    if (status == OPD_OK && count > OPD_MAX_RANK) {
        status = opd_fail(OPD_E_INVALID, "Expand: shape has %d dimensions, %d can be", count, OPD_MAX_RANK);
    }
    int rank = count > input->rank ? count : input->rank;
    for (int d = 0; d < rank && status == OPD_OK; d++) {
        int own = d - (rank - input->rank);
        int asked = d - (rank - count);
        int64_t n = own >= 0 ? input->shape[own] : 1;
        int64_t size = asked >= 0 ? sizes[asked] : 1;
        if (size < 0 || (size != n && size != 1 && n != 1)) {
            return opd_fail(OPD_E_INVALID, "Expand: shape has %lld in dimension %d, input %lld", (long long)size, asked,
                            (long long)n);
        }
        out->shape[d] = n == 1 ? size : n;
    }
    out->rank = status == OPD_OK ? rank : 0;
    return status;
}
