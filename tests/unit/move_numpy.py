#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the operators that move elements should give, by numpy; Resize by matrices of weights, one of each axis, in f64.

move_numpy.py FILE    FILE: see tests/support/trial_cases.py. Prints each wrong result and, last, "checked RUNS wrong COUNT".
"""
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import trial_cases  # noqa: E402

EPSILON = {"f16": 2.0**-23, "bf16": 2.0**-23, "f32": 2.0**-23, "f64": 2.0**-52}  # of the accumulator
HALF_ULP = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}


def transpose(a, x):
    return [np.transpose(x[0], a.get("perm"))]


def reshape(a, x):
    shape = x[1].tolist()
    if not a["allowzero"]:
        shape = [x[0].shape[d] if n == 0 else n for d, n in enumerate(shape)]
    return [np.reshape(x[0], shape)]


def concat(a, x):
    return [np.concatenate(x, a["axis"])]


def slice_(a, x):
    data, starts, ends, axes, steps = x
    where = [slice(None)] * data.ndim
    for i, start in enumerate(starts.tolist()):
        axis = int(axes[i]) if axes is not None else i
        where[axis] = slice(start, int(ends[i]), int(steps[i]) if steps is not None else 1)
        step, n = where[axis].step, data.shape[axis]
        if step < 0 and where[axis].stop < -n:  # before the first element
            where[axis] = slice(start, None, step)
    return [data[tuple(where)]]


def split(a, x):
    data, sizes = x
    axis = a["axis"]
    if sizes is None:
        count = a.get("num_outputs", 2)
        each = -(-data.shape[axis] // count)
        edges = [min(each * (i + 1), data.shape[axis]) for i in range(count - 1)]
    else:
        edges = np.cumsum(sizes)[:-1]
    return np.split(data, edges, axis)


def pad(a, x):
    data, pads, constant, axes = x
    axes = range(data.ndim) if axes is None else [int(axis) % data.ndim for axis in axes]
    count = len(pads) // 2
    both = [(0, 0)] * data.ndim
    for i, axis in enumerate(axes):
        both[axis] = (int(pads[i]), int(pads[count + i]))
    data = data[tuple(slice(max(0, -b), n - max(0, -e)) for (b, e), n in zip(both, data.shape))]
    both = [(max(0, b), max(0, e)) for b, e in both]
    if a["mode"] == "constant":
        return [np.pad(data, both, "constant", constant_values=0 if constant is None else constant)] if data.ndim else [data]
    if a["mode"] == "wrap":  # np.pad itself is wrong before numpy 1.25 where it wraps more than once
        for axis, (before, after) in enumerate(both):
            n = data.shape[axis]
            data = np.take(data, np.arange(-before, n + after), axis, mode="wrap") if before or after else data
        return [data]
    return [np.pad(data, both, a["mode"]) if data.ndim and any(map(any, both)) else data]


def gather(a, x):
    return [np.take(x[0], x[1], a["axis"])]


def expand(a, x):
    return [np.broadcast_to(x[0], np.broadcast_shapes(x[0].shape, tuple(x[1].tolist())))]


# ------------------------------------------------------------------------------------------------------ Resize

def position(a, at, scale, n, length, size, region):
    mode = a["coordinate_transformation_mode"]
    if mode == "align_corners":
        return 0.0 if length == 1 else at * (n - 1) / (length - 1)
    if mode == "asymmetric":
        return at / scale
    if mode == "tf_crop_and_resize":
        width = region[1] - region[0]
        return (width * (n - 1) / 2 if length == 1 else at * width * (n - 1) / (length - 1)) + region[0] * (n - 1)
    if mode == "pytorch_half_pixel" and length == 1:
        return -0.5
    if mode == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    shift = n / 2 * (1 - size / length) if mode == "half_pixel_symmetric" else 0.0
    return shift + (at + 0.5) / scale - 0.5


def neighbours(a, at):
    """Indices and weights before the edges are looked at."""
    low = math.floor(at)
    t = at - low
    if a["mode"] == "nearest":
        up = {"floor": False, "ceil": t > 0, "round_prefer_floor": t > 0.5, "round_prefer_ceil": t >= 0.5}[a["nearest_mode"]]
        return [(low + up, 1.0)]
    if a["mode"] == "linear":
        return [(low, 1 - t), (low + 1, t)]

    def keys(d):  # the cubic convolution kernel of distance d
        c = a["cubic_coeff_a"]
        return (c + 2) * d**3 - (c + 3) * d**2 + 1 if d <= 1 else c * d**3 - 5 * c * d**2 + 8 * c * d - 4 * c if d < 2 else 0.0
    return [(low + i, keys(abs(t - i))) for i in (-1, 0, 1, 2)]


def weights(a, n, size, scale, length, region):
    """Matrix [size, n], which rows lie outside, and the errors that f64 weights may have, in units of their eps."""
    matrix, outside, slack = np.zeros((size, n)), np.zeros(size, bool), np.zeros((size, n))
    for row in range(size):
        at = position(a, row, scale, n, length, size, region)
        if a["coordinate_transformation_mode"] == "tf_crop_and_resize" and not 0 <= at <= n - 1:
            outside[row] = True
            continue
        taps = neighbours(a, at)
        if a["exclude_outside"] and a["mode"] != "nearest":
            taps = [(i, w) for i, w in taps if 0 <= i < n]
            total = sum(w for _, w in taps)
            taps = [(i, w / total) for i, w in taps]
        for i, w in taps:
            matrix[row, min(max(i, 0), n - 1)] += w
            slack[row, min(max(i, 0), n - 1)] = a["mode"] == "cubic"
    return matrix, outside, slack


def resize_plan(a, x):
    data, roi, scales, sizes = x
    rank = data.ndim
    axes = [axis % rank for axis in a.get("axes", range(rank))]
    plan = [(n, 1.0, float(n), (0.0, 1.0)) for n in data.shape]
    use_scales = scales is not None and scales.size > 0
    all_scales = [float(scales[i]) if use_scales else float(sizes[i]) / data.shape[axis] if data.shape[axis] else 1.0
                  for i, axis in enumerate(axes)]
    policy = a["keep_aspect_ratio_policy"]
    if not use_scales and policy != "stretch" and axes:
        all_scales = [(min if policy == "not_larger" else max)(all_scales)] * len(axes)
    for i, axis in enumerate(axes):
        n = data.shape[axis]
        length = n * all_scales[i]
        size = int(length)
        if not use_scales:
            size = int(sizes[i]) if policy == "stretch" else math.floor(length + 0.5)
            length = float(size) if policy == "stretch" else length
        crops = a["coordinate_transformation_mode"] == "tf_crop_and_resize"
        plan[axis] = (size, all_scales[i], length, (float(roi[i]), float(roi[len(axes) + i])) if crops else (0.0, 1.0))
    return plan


def wide(array, dtype):
    return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64) if dtype == "bf16" else array.astype(np.float64)


def resize(a, x, dtype):
    data = x[0]
    plan = resize_plan(a, x)
    outside = np.zeros([p[0] for p in plan], bool)
    is_nearest = a["mode"] == "nearest"
    value = data if is_nearest else wide(data, dtype)
    gauge = None if is_nearest else np.abs(value)
    for axis, (size, scale, length, region) in enumerate(plan):
        matrix, rows, slack = weights(a, data.shape[axis], size, scale, length, region)
        outside |= rows.reshape([-1 if d == axis else 1 for d in range(data.ndim)])
        if is_nearest:
            value = np.take(value, matrix.argmax(1) if data.shape[axis] else np.zeros(0, int), axis)
        else:
            value = np.moveaxis(np.tensordot(matrix, value, (1, axis)), 0, axis)
            gauge = np.moveaxis(np.tensordot(np.abs(matrix) + (slack if dtype == "f64" else 0), gauge, (1, axis)), 0, axis)
    fill = np.float64(a["extrapolation_value"])
    if is_nearest and dtype == "bf16":
        fill = (np.asarray(fill, np.float32).view(np.uint32) >> 16).astype(np.uint16)  # values of the tests are exact
    return [np.where(outside, fill, value).astype(data.dtype if is_nearest else np.float64), gauge]


# ----------------------------------------------------------------------------------------------------- judging

RULES = {"Transpose": transpose, "Reshape": reshape, "Concat": concat, "Slice": slice_, "Split": split, "Pad": pad, "Gather": gather,
         "Expand": expand}


def expect(case, inputs):
    if case["op"] != "Resize":
        return RULES[case["op"]](case["attributes"], inputs)
    value, case["gauge"] = resize(case["attributes"], inputs, case["inputs"][0][1])
    return [value]


def differs(case, got, want, dtype):
    if case.get("gauge") is None:
        return None if got.tobytes() == np.ascontiguousarray(want).astype(got.dtype).tobytes() else "other elements"
    got = wide(got, dtype)
    bound = 16 * EPSILON[dtype] * case["gauge"] + HALF_ULP[dtype] * np.abs(want) + 1e-7 * (dtype == "f16")
    bad = ~(np.abs(got - want) <= bound)
    return None if not bad.any() else "%g at %s, not %g" % (got[bad][0], np.argwhere(bad)[0], want[bad][0])


trial_cases.judge(sys.argv[1], expect, differs)
