/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operators that move elements are asked to do, read from a call's attributes and integer inputs and checked, once for
 * shapes, definitions and variants. Private to kernels/move.
 */
#ifndef OPD_KERNELS_MOVE_H
#define OPD_KERNELS_MOVE_H

#include <opsdebug/kernel.h>

enum { OPD_MOVE_NUMBERS = 2 * OPD_MAX_RANK }; /* elements of an input that says what to do: pads have the most */

/*
 * The numbers that an input holds: those in memory, or (a call without data) those that opd_move_generate() would put there.
 * Their number; 0 when it is absent or empty, -1 when they are too many or not known (recorded without data).
 */
int opd_move_integers(int64_t values[OPD_MOVE_NUMBERS], const opd_call *call, int operand);
int opd_move_reals(double values[OPD_MOVE_NUMBERS], const opd_call *call, int operand);
/* Was the call recorded without the contents of one of its inputs first .. last? Then its outputs are what they are. */
bool opd_move_is_unknown(const opd_call *call, int first, int last);

/* Legal contents for the inputs that say what to do, made from the seed. */
opd_generate_function opd_move_generate;
/* errors: E_INVALID what is asked for cannot be done, by name. */
opd_shape_function opd_transpose_shape, opd_reshape_shape, opd_slice_shape, opd_split_shape, opd_pad_shape,
    opd_gather_shape, opd_expand_shape, opd_resize_shape;

/* Position of an attribute's word in a list of words. */
int opd_move_word(const opd_call *call, const char *attribute, const char *words);
/* axis counted from the front; -1 when the rank has no such axis. */
int opd_move_axis(int64_t axis, int rank);
/* Axes that an input or attribute lists, no one twice; none listed: all in order. Their number, in *count. */
opd_status opd_move_axes(int axes[OPD_MAX_RANK], int *count, const opd_call *call, int64_t *listed, int listed_count);

/* Source axis of each axis of the result. */
opd_status opd_transpose_axes(int axes[OPD_MAX_RANK], const opd_call *call);

/* First element, step and number of elements of each axis; a step beyond int64's reach only where the number is below 2. */
typedef struct opd_slice_ranges {
    int64_t start[OPD_MAX_RANK], step[OPD_MAX_RANK], count[OPD_MAX_RANK];
} opd_slice_ranges;
opd_status opd_slice_resolve(opd_slice_ranges *out, const opd_call *call);

/* Size of each output along the axis. */
opd_status opd_split_sizes(int64_t sizes[OPD_MAX_OPERANDS], int *axis, const opd_call *call);

/* Words as the contract lists them, and what they stand for in the same order. */
#define OPD_PAD_MODES "constant|reflect|edge|wrap"
typedef enum opd_pad_mode { OPD_PAD_CONSTANT, OPD_PAD_REFLECT, OPD_PAD_EDGE, OPD_PAD_WRAP } opd_pad_mode;
/* Negative pads have cut the input before it is padded: `first` and `kept` are what is left of each axis. */
typedef struct opd_pads {
    opd_pad_mode mode;
    int64_t first[OPD_MAX_RANK], kept[OPD_MAX_RANK];   /* of the input */
    int64_t before[OPD_MAX_RANK], after[OPD_MAX_RANK]; /* >= 0 */
} opd_pads;
opd_status opd_pads_resolve(opd_pads *out, const opd_call *call);
/* Input index that output index `at` of axis d takes; -1 = the constant. */
static inline int64_t opd_pads_source(const opd_pads *pads, int d, int64_t at)
{
    int64_t n = pads->kept[d];
    at -= pads->before[d];
    if (at >= 0 && at < n) {
        return pads->first[d] + at;
    }
    switch (pads->mode) {
    case OPD_PAD_EDGE:
        at = at < 0 ? 0 : n - 1;
        break;
    case OPD_PAD_WRAP:
        at %= n;
        at += at < 0 ? n : 0;
        break;
    case OPD_PAD_REFLECT: { /* there and back again, the ends once */
        int64_t period = n > 1 ? 2 * (n - 1) : 1;
        at %= period;
        at += at < 0 ? period : 0;
        at = at < n ? at : period - at;
        break;
    }
    default:
        return -1;
    }
    return pads->first[d] + at;
}

/* Index into an axis of n elements, from the end when negative; -1 = out of range. */
static inline int64_t opd_gather_index(int64_t index, int64_t n)
{
    index += index < 0 ? n : 0;
    return index >= 0 && index < n ? index : -1;
}

#define OPD_RESIZE_MODES "nearest|linear|cubic"
typedef enum opd_resize_mode { OPD_RESIZE_NEAREST, OPD_RESIZE_LINEAR, OPD_RESIZE_CUBIC } opd_resize_mode;
#define OPD_RESIZE_COORDINATES \
    "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|tf_crop_and_resize|tf_half_pixel_for_nn"
typedef enum opd_resize_coordinates {
    OPD_RESIZE_HALF_PIXEL,
    OPD_RESIZE_HALF_PIXEL_SYMMETRIC,
    OPD_RESIZE_PYTORCH_HALF_PIXEL,
    OPD_RESIZE_ALIGN_CORNERS,
    OPD_RESIZE_ASYMMETRIC,
    OPD_RESIZE_TF_CROP,
    OPD_RESIZE_TF_HALF_PIXEL, /* until operator set 18 */
} opd_resize_coordinates;
#define OPD_RESIZE_NEARESTS "round_prefer_floor|round_prefer_ceil|floor|ceil"
typedef enum opd_resize_nearest {
    OPD_RESIZE_ROUND_PREFER_FLOOR,
    OPD_RESIZE_ROUND_PREFER_CEIL,
    OPD_RESIZE_FLOOR,
    OPD_RESIZE_CEIL,
} opd_resize_nearest;
#define OPD_RESIZE_POLICIES "stretch|not_larger|not_smaller"
typedef enum opd_resize_policy { OPD_RESIZE_STRETCH, OPD_RESIZE_NOT_LARGER, OPD_RESIZE_NOT_SMALLER } opd_resize_policy;

typedef struct opd_resize {
    opd_resize_mode mode;
    opd_resize_coordinates coordinates;
    opd_resize_nearest nearest;
    bool excludes_outside;
    double cubic_a, extrapolation;
    double scale[OPD_MAX_RANK], length[OPD_MAX_RANK]; /* length: of the result before it is rounded to a whole number */
    double begin[OPD_MAX_RANK], end[OPD_MAX_RANK];    /* begin, end: region of interest, of the axis' length 1 */
    int64_t from[OPD_MAX_RANK], to[OPD_MAX_RANK];
    bool is_kept[OPD_MAX_RANK]; /* the axis is copied: every element of it comes from its like */
} opd_resize;
opd_status opd_resize_resolve(opd_resize *out, const opd_call *call);

/* What an output index of an axis is made of: at most 4 input indices with weights, in that order. */
typedef struct opd_resize_taps {
    int count; /* 0: the extrapolation value */
    int64_t index[4];
    double weight[4];
} opd_resize_taps;
void opd_resize_find_taps(opd_resize_taps *out, const opd_resize *resize, int axis, int64_t at);

/* Definitions. */
opd_definition opd_transpose_define, opd_reshape_define, opd_concat_define, opd_slice_define, opd_split_define,
    opd_pad_define, opd_gather_define, opd_expand_define, opd_resize_define;

#endif
