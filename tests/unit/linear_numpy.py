#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""MatMul, Gemm, Conv, pooling and attention of every variant against numpy and scipy, computed in f64 by other means.

linear_numpy.py PROBE GROUP    GROUP: products, windows or attention
"""
import itertools
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from operator_probe import Bf16, Declined, Probe, as_type, values_of  # noqa: E402

try:
    from scipy import signal, special
except ImportError:
    print("python3-scipy is not installed")
    sys.exit(77)

EPSILON = {"f16": 2.0 ** -10, "bf16": 2.0 ** -7, "f32": 2.0 ** -23, "f64": 2.0 ** -52}
FLOATS = ["f32", "f64", "f16", "bf16"]
rng = np.random.default_rng(20240611)
ran = set()


def normal(shape, dtype):
    return as_type(rng.standard_normal(shape), dtype)


def wide(array):
    return np.asarray(values_of(array), np.float64)


def same_class(got, want):
    return np.array_equal(np.isnan(got), np.isnan(want)) and np.array_equal(
        np.where(np.isinf(got), got, 0), np.where(np.isinf(want), want, 0))


def expect(answer, wants, gauges, dtype, what, terms=64):
    """Each variant's outputs near the wanted ones: rounding to the dtype, and terms * eps of the accumulator * gauge."""
    assert answer, what
    accumulator = EPSILON["f64" if dtype == "f64" else "f32"]
    for variant, outputs in answer.items():
        if isinstance(outputs, Declined):
            continue
        ran.add(variant)
        assert len(outputs) == len(wants), (what, variant, len(outputs))
        for got, want, gauge in zip(outputs, wants, gauges):
            got = np.asarray(got, np.float64)
            want = np.asarray(want, np.float64)
            assert got.shape == want.shape, (what, variant, got.shape, want.shape)
            assert same_class(got, want), (what, variant, "class", got, want)
            finite = np.isfinite(want)
            bound = EPSILON[dtype] * np.abs(want) + terms * accumulator * np.asarray(gauge) + (6e-8 if dtype == "f16" else 1e-38)
            wrong = np.abs(np.where(finite, got, 0) - np.where(finite, want, 0)) > np.where(finite, bound, 1)
            if wrong.any():
                at = tuple(np.argwhere(wrong)[0])
                raise AssertionError("%s, %s: %d wrong, first at %s: %r for %r" % (what, variant, wrong.sum(), at, got[at], want[at]))


def expect_exact(answer, wants, what):
    for variant, outputs in answer.items():
        if not isinstance(outputs, Declined):
            ran.add(variant)
            for got, want in zip(outputs, wants):
                assert np.array_equal(got, want, equal_nan=got.dtype.kind == "f"), (what, variant, got, want)


def expect_error(probe, text, *call, **more):
    try:
        probe.call(*call, **more)
    except ValueError as error:
        assert text in str(error), error
        return
    raise AssertionError("no error: %s" % text)


# ------------------------------------------------------------------------------------------------------ products

MATMUL_SHAPES = [((3, 4), (4, 5)), ((1, 1), (1, 1)), ((7, 13), (13, 17)), ((6, 16), (16, 16)), ((145, 300), (300, 193)),
                 ((2, 3, 4, 5), (2, 3, 5, 6)), ((2, 1, 4, 5), (3, 5, 6)), ((5, 6, 7), (7, 3)), ((4, 5), (3, 5, 2)),
                 ((5,), (5,)), ((5,), (5, 3)), ((3, 5), (5,)), ((2, 3, 5), (5,)), ((5,), (2, 5, 3)),
                 ((3, 0), (0, 4)), ((0, 3), (3, 4)), ((3, 4), (4, 0)), ((0, 3, 4), (4, 2)), ((1, 513), (513, 1))]


def matmul(probe):
    for (a, b), dtype in itertools.product(MATMUL_SHAPES, FLOATS):
        x, y = normal(a, dtype), normal(b, dtype)
        answer = probe.call("MatMul", [x, y])
        expect(answer, [np.matmul(wide(x), wide(y))], [np.matmul(abs(wide(x)), abs(wide(y)))], dtype, ("MatMul", a, b, dtype))
    for (a, b), dtype in itertools.product(MATMUL_SHAPES, ["i32", "i64", "u32", "u64"]):
        low, high = (-2 ** 31, 2 ** 31) if dtype[0] == "i" else (0, 2 ** 32)
        x, y = (as_type(rng.integers(low, high, s), dtype) for s in (a, b))
        with np.errstate(over="ignore"):
            expect_exact(probe.call("MatMul", [x, y]), [np.matmul(x, y)], ("MatMul", a, b, dtype))
    # Whole numbers whose sums are exact: every variant gives the same bits.
    x, y = (as_type(rng.integers(-64, 65, s), "f32") for s in ((3, 67, 301), (301, 59)))
    expect_exact(probe.call("MatMul", [x, y]), [np.matmul(wide(x), wide(y)).astype(np.float32)], "whole numbers")
    x, y = normal((5, 7), "f32"), normal((7, 4), "f32")
    x[2, 3] = np.nan
    x[3, 1] = np.inf
    y[1, 2] = 0
    y[6, 0] = -np.inf
    with np.errstate(invalid="ignore"):
        expect(probe.call("MatMul", [x, y]), [np.matmul(wide(x), wide(y))], [np.ones((5, 4)) * 50], "f32", "NaN and Inf")
    expect_error(probe, "k", "MatMul", [normal((3, 4), "f32"), normal((5, 6), "f32")])


def gemm(probe):
    biases = [None, (7, 9), (1, 9), (7, 1), (9,), (1,), (), (1, 1)]
    for trans_a, trans_b, bias in itertools.product((0, 1), (0, 1), biases):
        for dtype, alpha, beta in (("f32", 1.0, 1.0), ("f64", 0.5, -2.0), ("f16", 0.25, 1.0), ("bf16", 1.0, 0.5)):
            a = normal((5, 7) if trans_a else (7, 5), dtype)
            b = normal((9, 5) if trans_b else (5, 9), dtype)
            c = None if bias is None else normal(bias, dtype)
            inputs = [a, b] if c is None else [a, b, c]
            left, right = wide(a).T if trans_a else wide(a), wide(b).T if trans_b else wide(b)
            added = 0 if c is None else beta * wide(c)
            attributes = {"transA": trans_a, "transB": trans_b, "alpha": alpha, "beta": beta}
            expect(probe.call("Gemm", inputs, attributes), [alpha * (left @ right) + added],
                   [abs(alpha) * (abs(left) @ abs(right)) + abs(added)], dtype, ("Gemm", attributes, bias, dtype))
    a, b = normal((4, 3), "f32"), normal((3, 5), "f32")
    poison = np.full((4, 5), np.nan, np.float32)
    expect(probe.call("Gemm", [a, b, poison], {"beta": 0.0}), [wide(a) @ wide(b)], [abs(wide(a)) @ abs(wide(b))], "f32",
           "beta = 0 does not read C")
    a[1, 1] = np.nan
    with np.errstate(invalid="ignore"):
        expect(probe.call("Gemm", [a, b], {"alpha": 0.0}), [0 * (wide(a) @ wide(b))], [np.ones((4, 5))], "f32",
               "alpha = 0 keeps a NaN of A")
    x, y, z = (as_type(rng.integers(-2 ** 31, 2 ** 31, s), "i32") for s in ((4, 6), (6, 3), (4, 3)))
    with np.errstate(over="ignore"):
        expect_exact(probe.call("Gemm", [x, y, z], {"alpha": 3.0, "beta": -2.0}), [np.int32(3) * (x @ y) + np.int32(-2) * z], "Gemm i32")
    expect_error(probe, "alpha = 0.5 is no whole number", "Gemm", [x, y, z], {"alpha": 0.5})
    expect(probe.call("Gemm", [normal((3, 0), "f32"), normal((0, 4), "f32"), np.ones((4,), np.float32)]), [np.ones((3, 4))],
           [np.ones((3, 4))], "f32", "k = 0")


def gelu(x, approximate):
    if approximate == "tanh":
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    return x / 2 * (1 + special.erf(x / math.sqrt(2)))


def fused_products(probe):
    for dtype, approximate, rows, bias in itertools.product(FLOATS, ("none", "tanh"), ((5,), (2, 77)), (False, True)):
        x, w, b = normal(rows + (33,), dtype), normal((33, 50), dtype), normal((50,), dtype)
        inputs = [x, w, b] if bias else [x, w]
        inner = wide(x) @ wide(w) + (wide(b) if bias else 0)
        gauge = abs(wide(x)) @ abs(wide(w)) + abs(wide(b))
        expect(probe.call("opsdebug:MatMulBiasGelu", inputs, {"approximate": approximate}), [gelu(inner, approximate)], [gauge],
               dtype, ("MatMulBiasGelu", dtype, approximate, rows))
        attributes = {"q_num_heads": 3, "kv_num_heads": 1}
        expect(probe.call("opsdebug:QkvProjection", inputs, attributes),
               np.split(inner, [30, 40], axis=-1), np.split(gauge + 0 * inner, [30, 40], axis=-1), dtype, ("QkvProjection", dtype, rows))


# ------------------------------------------------------------------------------------------------------- windows

def pads_of(size, kernel, stride, dilation, auto_pad):
    span = (kernel - 1) * dilation + 1
    total = max(0, (-(-size // stride) - 1) * stride + span - size)
    return {"SAME_UPPER": (total // 2, total - total // 2), "SAME_LOWER": (total - total // 2, total // 2)}.get(auto_pad, (0, 0))


def windows_of(x, kernel, strides, dilations, pads, fill, ceil=False, beyond=None):
    """[N, C, out..., kernel...] by padding, numpy's sliding_window_view and slicing. beyond: what ceil_mode adds."""
    rank = len(kernel)
    extra = []
    for i in range(rank):
        span = (kernel[i] - 1) * dilations[i] + 1
        room = x.shape[i + 2] + pads[i] + pads[i + rank] - span
        out = -(-room // strides[i]) + 1 if ceil else room // strides[i] + 1
        if ceil and (out - 1) * strides[i] >= x.shape[i + 2] + pads[i]:
            out -= 1
        extra.append((out, max(0, (out - 1) * strides[i] + span - x.shape[i + 2] - pads[i] - pads[i + rank])))
    declared = [(0, 0), (0, 0)] + [(pads[i], pads[i + rank]) for i in range(rank)]
    padded = np.pad(x, declared, constant_values=fill)
    padded = np.pad(padded, [(0, 0), (0, 0)] + [(0, e[1]) for e in extra], constant_values=fill if beyond is None else beyond)
    spans = [(kernel[i] - 1) * dilations[i] + 1 for i in range(rank)]
    view = np.lib.stride_tricks.sliding_window_view(padded, spans, axis=tuple(range(2, 2 + rank)))
    cut = [slice(None)] * 2 + [slice(0, (extra[i][0] - 1) * strides[i] + 1, strides[i]) for i in range(rank)]
    return view[tuple(cut + [slice(0, None, d) for d in dilations])]


def conv_reference(x, w, b, strides, dilations, pads, group):
    rank = w.ndim - 2
    parts = []
    for images, filters in zip(np.split(x, group, axis=1), np.split(w, group, axis=0)):
        windows = windows_of(images, w.shape[2:], strides, dilations, pads, 0)
        axes = [1] + list(range(2 + rank, 2 + 2 * rank))
        parts.append(np.moveaxis(np.tensordot(windows, filters, (axes, list(range(1, 2 + rank)))), -1, 1))
    y = np.concatenate(parts, axis=1)
    return y if b is None else y + b.reshape((1, -1) + (1,) * rank)


CONVS = [  # X, W, attributes
    ((1, 1, 5, 5), (1, 1, 3, 3), {}),
    ((2, 3, 9, 11), (4, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((1, 4, 12, 37), (6, 2, 3, 5), {"group": 2, "strides": [2, 1], "pads": [1, 2, 0, 2]}),
    ((2, 6, 10, 19), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
    ((1, 4, 9, 9), (8, 1, 3, 3), {"group": 4, "strides": [2, 2]}),
    ((1, 2, 15, 15), (3, 2, 3, 3), {"dilations": [2, 3], "pads": [2, 3, 2, 3]}),
    ((1, 2, 8, 7), (3, 2, 3, 2), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ((1, 2, 8, 7), (3, 2, 4, 3), {"auto_pad": "SAME_LOWER", "strides": [3, 1]}),
    ((1, 2, 8, 7), (3, 2, 3, 3), {"auto_pad": "VALID", "strides": [2, 1]}),
    ((3, 5, 33), (7, 5, 4), {"strides": [3], "pads": [2, 1]}),
    ((1, 2, 5, 6, 7), (2, 2, 3, 2, 3), {"pads": [1, 0, 1, 1, 1, 1], "strides": [1, 2, 1]}),
    ((1, 40, 14, 14), (160, 40, 1, 1), {}),
    ((1, 3, 2, 2), (2, 3, 5, 5), {"pads": [2, 2, 2, 2]}),
    ((0, 3, 5, 5), (2, 3, 3, 3), {}),
]


def window_attributes(x, kernel, attributes):
    rank = len(kernel)
    strides = attributes.get("strides", [1] * rank)
    dilations = attributes.get("dilations", [1] * rank)
    pads = attributes.get("pads", [0] * 2 * rank)
    if "SAME" in attributes.get("auto_pad", ""):
        both = [pads_of(x[i + 2], kernel[i], strides[i], dilations[i], attributes["auto_pad"]) for i in range(rank)]
        pads = [p[0] for p in both] + [p[1] for p in both]
    return strides, dilations, pads


def conv(probe):
    for (x, w, attributes), dtype, has_bias in itertools.product(CONVS, FLOATS, (False, True)):
        image, filters, bias = normal(x, dtype), normal(w, dtype), normal((w[0],), dtype)
        more = window_attributes(x, w[2:], attributes) + (attributes.get("group", 1),)
        inputs = [image, filters] + ([bias] if has_bias else [])
        want = conv_reference(wide(image), wide(filters), wide(bias) if has_bias else None, *more)
        gauge = conv_reference(abs(wide(image)), abs(wide(filters)), abs(wide(bias)), *more)
        expect(probe.call("Conv", inputs, attributes), [want], [gauge], dtype, ("Conv", x, w, attributes, dtype))
    image, filters = normal((1, 1, 20, 21), "f64"), normal((1, 1, 3, 4), "f64")
    want = signal.correlate2d(image[0, 0], filters[0, 0], "valid")[None, None]
    expect(probe.call("Conv", [image, filters]), [want], [np.ones(want.shape) * 10], "f64", "scipy's correlate2d")
    # An infinite weight reaches only windows that have an element under it, not those that have padding there.
    image = np.ones((1, 1, 3, 3), np.float32)
    filters = np.ones((1, 1, 3, 3), np.float32)
    filters[0, 0, 0, 0] = np.inf
    want = np.full((3, 3), np.inf)
    want[0], want[:, 0] = [4, 6, 4], [4, 6, 4]
    expect(probe.call("Conv", [image, filters], {"pads": [1, 1, 1, 1]}), [want[None, None]], [np.ones((1, 1, 3, 3)) * 9], "f32",
           "Inf over padding")
    expect_error(probe, "group = 2", "Conv", [np.ones((1, 4, 5, 5), np.float32), np.ones((3, 2, 3, 3), np.float32)], {"group": 2})
    expect_error(probe, "kernel spans 5", "Conv", [np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 5, 5), np.float32)])
    expect_error(probe, "strides", "Conv", [np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)], {"strides": [0, 1]})


POOLS = [  # X, attributes
    ((1, 2, 8, 9), {"kernel_shape": [2, 2]}),
    ((2, 3, 13, 40), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 1, 4, 4), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    ((1, 1, 2, 2), {"kernel_shape": [3, 3], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
    ((1, 1, 7, 10), {"kernel_shape": [2, 3], "strides": [2, 3], "pads": [0, 1, 1, 2], "ceil_mode": 1}),
    ((1, 2, 11, 12), {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 1, 2, 0]}),
    ((2, 2, 19), {"kernel_shape": [4], "strides": [3]}),
    ((1, 2, 5, 6, 7), {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2]}),
    ((1, 2, 9, 8), {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER", "strides": [2, 1]}),
    ((1, 2, 9, 8), {"kernel_shape": [3, 4], "auto_pad": "SAME_LOWER"}),
    ((1, 2, 1, 1), {"kernel_shape": [1, 1]}),
    ((0, 2, 4, 4), {"kernel_shape": [2, 2]}),
]


def pooled(x, attributes, fill, beyond=None):
    kernel = attributes["kernel_shape"]
    strides, dilations, pads = window_attributes(x.shape, kernel, attributes)
    windows = windows_of(x, kernel, strides, dilations, pads, fill, attributes.get("ceil_mode", 0) == 1, beyond)
    return windows.reshape(windows.shape[:2 + len(kernel)] + (math.prod(kernel),))


def average_pool(probe):
    for (shape, attributes), dtype, counts in itertools.product(POOLS, FLOATS, (0, 1)):
        x = normal(shape, dtype)
        # The declared padding counts, what ceil_mode adds does not.
        count = pooled(np.ones(shape), attributes, counts, 0).sum(-1)
        windows = pooled(wide(x), attributes, 0)
        expect(probe.call("AveragePool", [x], dict(attributes, count_include_pad=counts)), [windows.sum(-1) / count],
               [abs(windows).sum(-1) / count], dtype, ("AveragePool", shape, attributes, dtype, counts))
    # One window of two positions that both lie in the padding: a mean of nothing.
    x = np.ones((1, 1, 1), np.float32)
    answer = probe.call("AveragePool", [x], {"kernel_shape": [2], "dilations": [2], "pads": [1, 1]})
    expect(answer, [np.full((1, 1, 1), np.nan)], [np.ones((1, 1, 1))], "f32", "a mean of nothing")
    expect_error(probe, "kernel_shape has 1 values", "AveragePool", [np.ones((1, 1, 4, 4), np.float32)], {"kernel_shape": [2]})


def global_average_pool(probe):
    for shape, dtype in itertools.product(((2, 3, 7, 9), (1, 2, 1000), (1, 1, 1, 1), (2, 2, 3, 4, 5), (0, 3, 4, 4)), FLOATS):
        x = normal(shape, dtype)
        axes = tuple(range(2, len(shape)))
        expect(probe.call("GlobalAveragePool", [x]), [wide(x).mean(axes, keepdims=True)], [abs(wide(x)).mean(axes, keepdims=True)],
               dtype, ("GlobalAveragePool", shape, dtype))


def max_pool(probe):
    for (shape, attributes), dtype in itertools.product(POOLS, FLOATS + ["i8", "u8"]):
        whole = dtype in ("i8", "u8")
        x = as_type(rng.integers(-128 if dtype == "i8" else 0, 127, shape), dtype) if whole else normal(shape, dtype)
        low = -128 if dtype == "i8" else 0 if whole else -np.inf
        want = pooled(values_of(x), attributes, low).max(-1)
        expect_exact(probe.call("MaxPool", [x], attributes), [want], ("MaxPool", shape, attributes, dtype))
        for order in (0, 1):
            flat = np.arange(int(np.prod(shape)), dtype=np.int64)
            if order:  # planes in row-major order, each stored with its first dimension fastest
                flat = flat.reshape((-1,) + shape[:1:-1]).transpose((0,) + tuple(range(len(shape) - 2, 0, -1)))
            places = pooled(flat.reshape(shape), attributes, -1)
            value = pooled(values_of(x).astype(np.float64), attributes, -np.inf)
            at = np.take_along_axis(places, value.argmax(-1)[..., None], -1)[..., 0]
            expect_exact(probe.call("MaxPool", [x], dict(attributes, storage_order=order), "*"), [want, at],
                         ("MaxPool with Indices", shape, attributes, dtype, order))
    x = np.zeros((1, 1, 3, 16), np.float32)
    x[0, 0, 1, 3] = np.nan
    x[0, 0, :, 10:12] = -np.inf
    want = pooled(x, {"kernel_shape": [3, 2]}, -np.inf).max(-1)
    expect_exact(probe.call("MaxPool", [x], {"kernel_shape": [3, 2]}), [want], "a NaN is the largest")
    answer = probe.call("MaxPool", [np.ones((1, 1, 1), np.float32)], {"kernel_shape": [2], "dilations": [2], "pads": [1, 1]}, "*")
    expect_exact(answer, [np.full((1, 1, 1), -np.inf), np.full((1, 1, 1), -1)], "a window of padding alone")


# ----------------------------------------------------------------------------------------------------- attention

def attend(q, k, v, bias, scale, softcap):
    """Of [B, H, S, D] in f64, with its gauge."""
    scores = np.einsum("bhsd,bhld->bhsl", q, k) * scale
    reach = np.einsum("bhsd,bhld->bhsl", abs(q), abs(k)) * scale
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    with np.errstate(invalid="ignore"):
        scores = scores + bias
        weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
        weights = weights / weights.sum(-1, keepdims=True)
        counted = np.where(np.isfinite(bias + 0 * reach), reach + np.where(np.isfinite(bias), abs(bias), 0), 0)
        return weights @ v, (weights @ abs(v)) * (1 + counted.max(-1, keepdims=True, initial=0))


def scores_are_kept_where_asked(probe):
    """qk_matmul_output: the scaled product, capped, with mask and causality, as weights."""
    b, h, g, s, l, d = 2, 4, 2, 5, 7, 8
    for dtype, mode, softcap in itertools.product(("f32", "f64", "f16"), range(4), (0.0, 1.5)):
        q, k, v = normal((b, h, s, d), dtype), normal((b, g, l, d), dtype), normal((b, g, l, d), dtype)
        mask = normal((s, l), dtype)
        repeat = lambda x: np.repeat(wide(x), h // g, 1)
        kept = np.einsum("bhsd,bhld->bhsl", wide(q), repeat(k)) / math.sqrt(d)
        gauge = np.einsum("bhsd,bhld->bhsl", abs(wide(q)), abs(repeat(k))) + 4
        bias = wide(mask) + causal_bias(s, l, 0)
        want, want_gauge = attend(wide(q), repeat(k), repeat(v), bias, 1 / math.sqrt(d), softcap)
        if mode > 0 and softcap:
            kept = softcap * np.tanh(kept / softcap)
        if mode > 1:
            kept = kept + bias
        if mode > 2:
            kept = np.exp(kept - kept.max(-1, keepdims=True))
            kept = kept / kept.sum(-1, keepdims=True)
        answer = probe.call("Attention", [q, k, v, mask], {"qk_matmul_output_mode": mode, "softcap": softcap, "is_causal": 1}, "qk_matmul_output")
        expect(answer, [want, kept], [want_gauge, gauge], dtype, ("qk_matmul_output", dtype, mode, softcap))


def causal_bias(rows, keys, past):
    return np.where(np.arange(keys)[None, :] <= np.arange(rows)[:, None] + past, 0, -np.inf)


def fused_attention(probe):
    shapes = [(1, 2, 2, 5, 7, 8, 8), (2, 4, 2, 66, 130, 10, 12), (1, 1, 1, 1, 1, 1, 1), (1, 3, 1, 65, 260, 5, 7),
              (1, 1, 1, 64, 128, 64, 64), (1, 1, 1, 200, 200, 8, 5), (0, 2, 2, 4, 4, 8, 8), (1, 1, 1, 3, 2, 6, 0)]
    for (b, h, g, s, l, d, e), dtype, causal in itertools.product(shapes, FLOATS, (0, 1)):
        if s * l > 10000 and dtype != "f32":
            continue
        q, k, v = normal((b, h, s, d), dtype), normal((b, g, l, d), dtype), normal((b, g, l, e), dtype)
        repeat = lambda x: np.repeat(wide(x), h // g, 1)
        for mask in (None, (s, l), (b, 1, s, l), (h, 1, l)) if s < 200 else (None, (s, l)):
            bias = np.zeros((s, l))
            inputs = [q, k, v]
            if mask is not None:
                values = rng.standard_normal(mask) * 2
                values[rng.random(mask) < 0.2] = -np.inf
                values[..., 0] = np.where(np.isinf(values[..., 0]), 0.5, values[..., 0])  # some key is always open
                inputs.append(as_type(values, dtype))
                bias = bias + wide(inputs[-1])
            bias = bias + (causal_bias(s, l, 0) if causal else 0)
            want, gauge = attend(wide(q), repeat(k), repeat(v), bias, 1 / math.sqrt(d), 0)
            expect(probe.call("opsdebug:FusedAttention", inputs, {"is_causal": causal}), [want], [gauge], dtype,
                   ("FusedAttention", b, h, g, s, l, d, e, dtype, causal, mask))


def special_attention(probe):
    q, k, v = (normal((1, 1, 70, 8), "f32") for _ in range(3))
    mask = np.zeros((70, 70), np.float32)
    mask[3] = -np.inf
    want, gauge = attend(wide(q), wide(k), wide(v), mask.astype(np.float64), 1 / math.sqrt(8), 0)
    assert np.isnan(want[0, 0, 3]).all()
    expect(probe.call("opsdebug:FusedAttention", [q, k, v, mask]), [want], [gauge], "f32", "a row with nothing to attend to is NaN")
    for causal, place, what in itertools.product((0, 1), ((1, 69, 2), (2, 69, 2)), (np.nan, np.inf)):
        inputs = [x.copy() for x in (q, k, v)]
        inputs[place[0]][0, 0, place[1], place[2]] = what
        bias = causal_bias(70, 70, 0) if causal else np.zeros((70, 70))
        with np.errstate(invalid="ignore", over="ignore"):
            want, gauge = attend(*(wide(x) for x in inputs), bias, 1 / math.sqrt(8), 0)
        gauge = np.where(np.isfinite(gauge), gauge, 1)
        expect(probe.call("opsdebug:FusedAttention", inputs, {"is_causal": causal}), [want], [gauge], "f32",
               ("a weight of 0 hides no NaN", causal, place, what))
    # Scores far apart: without the largest score taken off, exp overflows.
    big = [as_type(wide(x) * 30, "f32") for x in (q, k)] + [v]
    want, gauge = attend(*(wide(x) for x in big), np.zeros((70, 70)), 1 / math.sqrt(8), 0)
    expect(probe.call("opsdebug:FusedAttention", big), [want], [gauge], "f32", "large scores")


def attention(probe):
    b, h, g, s, l, d, e, past = 2, 4, 2, 9, 11, 8, 6, 5
    for dtype, flat, has_past, causal, mask_kind, softcap, scale in itertools.product(
            ("f32", "f16"), (False, True), (False, True), (0, 1), (None, "bool", "added", "short"), (0.0, 2.5), (None, 0.3)):
        q, k, v = normal((b, h, s, d), dtype), normal((b, g, l, d), dtype), normal((b, g, l, e), dtype)
        past_k, past_v = normal((b, g, past, d), dtype), normal((b, g, past, e), dtype)
        keys = l + (past if has_past else 0)
        whole_k = np.concatenate([values_of(past_k), values_of(k)], 2) if has_past else values_of(k)
        whole_v = np.concatenate([values_of(past_v), values_of(v)], 2) if has_past else values_of(v)
        bias = np.zeros((s, keys))
        mask = None
        if mask_kind == "bool":
            mask = rng.random((b, 1, s, keys)) < 0.7
            mask[..., 0] = True
            bias = bias + np.where(mask, 0, -np.inf)
        elif mask_kind is not None:
            covered = keys - 2 if mask_kind == "short" else keys
            mask = normal((h, s, covered), dtype)
            bias = bias + np.concatenate([wide(mask), np.full((h, s, keys - covered), -np.inf)], -1)
        if causal:
            bias = bias + causal_bias(s, keys, past if has_past else 0)
        attributes = {"is_causal": causal, "softcap": softcap}
        if scale is not None:
            attributes["scale"] = scale
        inputs = [q, k, v]
        if flat:
            inputs = [as_type(np.moveaxis(wide(x), 1, 2).reshape(b, x.shape[2], -1), dtype) for x in inputs]
            attributes.update(q_num_heads=h, kv_num_heads=g)
        inputs += [mask] + ([past_k, past_v] if has_past else [])
        while inputs[-1] is None:
            inputs.pop()
        repeat = lambda x: np.repeat(np.asarray(x, np.float64), h // g, 1)
        want, gauge = attend(wide(q), repeat(whole_k), repeat(whole_v), bias, scale or 1 / math.sqrt(d), softcap)
        if flat:
            want, gauge = (np.moveaxis(x, 1, 2).reshape(b, s, h * e) for x in (want, gauge))
        answer = probe.call("Attention", inputs, attributes, "present_key,present_value")
        expect(answer, [want, whole_k, whole_v], [gauge, 0 * whole_k, 0 * whole_v], dtype,
               ("Attention", dtype, flat, has_past, attributes, mask_kind))
    scores_are_kept_where_asked(probe)
    one = np.ones((1, 2, 4), np.float32)
    expect_error(probe, "q_num_heads", "Attention", [one, one, one])
    four = np.ones((1, 3, 2, 4), np.float32)
    two = np.ones((1, 2, 2, 4), np.float32)
    expect_error(probe, "no multiple", "Attention", [four, two, two])
    agreeing = probe.call("Attention", [four, four, four], {"q_num_heads": 3, "kv_num_heads": 3})
    expect(agreeing, [four], [four], "f32", "heads that the attributes give too")  # a mean of rows of ones
    expect_error(probe, "q_num_heads is 4, and Q has 3 heads", "Attention", [four, four, four], {"q_num_heads": 4})
    expect_error(probe, "kv_num_heads is 1, and K has 3 heads", "Attention", [four, four, four], {"kv_num_heads": 1})


def threads_change_nothing(probe):
    calls = [("MatMul", [normal((3, 301, 270), "f32"), normal((270, 400), "f32")], {}),
             ("Conv", [normal((2, 8, 40, 41), "f32"), normal((16, 8, 3, 3), "f32")], {"pads": [1, 1, 1, 1]}),
             ("opsdebug:FusedAttention", [normal((1, 3, 200, 16), "f32") for _ in range(3)], {"is_causal": 1})]
    for op, inputs, attributes in calls:
        one, four = (probe.call(op, inputs, attributes, threads=n) for n in (1, 4))
        for variant in one:
            if not isinstance(one[variant], Declined) and variant != "openblas":
                assert np.array_equal(one[variant][0], four[variant][0]), (op, variant)


def narrow_floats(probe):
    """Every f16 and bf16 pattern through a product of one term, exact in f32: loads it and rounds the result once."""
    for dtype, factor in itertools.product(("f16", "bf16"), (1.0, 0.34375, 3.0 * 2.0 ** -9, 2.0 ** -14)):
        patterns = np.arange(65536, dtype=np.uint16).reshape(-1, 1)
        x = patterns.view(np.float16) if dtype == "f16" else Bf16(np.zeros((65536, 1)))
        if dtype == "bf16":
            x.bits = patterns
        y = as_type(np.full((1, 1), factor), dtype)
        product = values_of(x).astype(np.float32) * values_of(y).astype(np.float32)
        with np.errstate(over="ignore"):
            want = values_of(as_type(product, dtype))
        answer = probe.call("MatMul", [x, y])
        for variant, outputs in answer.items():
            if not isinstance(outputs, Declined):
                assert np.array_equal(outputs[0], want, equal_nan=True), (dtype, factor, variant)


GROUPS = {
    "products": [matmul, gemm, fused_products, narrow_floats],
    "windows": [conv, average_pool, global_average_pool, max_pool],
    "attention": [fused_attention, special_attention, attention, threads_change_nothing],
}


def main():
    probe = Probe(sys.argv[1])
    for test in GROUPS[sys.argv[2]]:
        with np.errstate(divide="ignore", invalid="ignore"):
            test(probe)
        print("%s: right" % test.__name__)
    assert probe.close() == 0
    print("variants that ran: %s" % ", ".join(sorted(ran)))


if __name__ == "__main__":
    main()
