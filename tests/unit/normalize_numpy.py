# SPDX-License-Identifier: Apache-2.0
"""
Cases of reductions and norms with values that numpy computes in f64, for test_normalize_numpy.c; the seed is fixed.

  case DOMAIN NAME ATTRIBUTES OUTPUTS        '-' for none
  in DTYPE SHAPE VALUES...                   '-' absent; SHAPE "2,3" or "()"
  out DTYPE SHAPE VALUE GAUGE ...            gauge 0: the same value; the error may be 16 eps gauge beside the rounding of the output
  end
"""
import os
import runpy
import sys
import numpy as np

rng = np.random.default_rng(20240611)
FLOATS = ["f32", "f64", "f16", "bf16"]
INTS = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64}


def narrow(a, dtype):
    """Values as the dtype has them, in f64."""
    a = np.asarray(a, dtype=np.float64)
    if dtype == "f64":
        return a
    with np.errstate(over="ignore"):
        if dtype == "f16":
            return a.astype(np.float16).astype(np.float64)
        f = a.astype(np.float32)
        if dtype == "f32":
            return f.astype(np.float64)
        bits = f.view(np.uint32).copy() if f.ndim else np.array([f]).view(np.uint32)
        special = ~np.isfinite(f)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        out = rounded.astype(np.uint32).view(np.float32).reshape(f.shape)
        return np.where(special, f, out).astype(np.float64)


def shape_text(a):
    return ",".join(str(d) for d in a.shape) if a.ndim else "()"


def number(v):
    return float(v).hex() if isinstance(v, (float, np.floating)) else str(int(v))


def case(name, attributes, inputs, outputs, domain="ai.onnx", wanted="-"):
    lines = [f"case {domain} {name} {attributes or '-'} {wanted}"]
    for item in inputs:
        if item is None:
            lines.append("in -")
            continue
        dtype, a = item
        lines.append(" ".join(["in", dtype, shape_text(a)] + [number(v) for v in a.ravel()]))
    for dtype, value, gauge in outputs:
        value, gauge = np.asarray(value), np.broadcast_to(np.asarray(gauge, dtype=np.float64), np.asarray(value).shape)
        pairs = [x for v, g in zip(value.ravel(), gauge.ravel()) for x in (number(v), number(g))]
        lines.append(" ".join(["out", dtype, shape_text(value)] + pairs))
    print("\n".join(lines + ["end"]))


def floats(shape, dtype, kind="normal"):
    a = rng.standard_normal(shape)
    if kind == "offset":
        a = a + 100.0
    if kind == "large":
        a = a * {"f16": 1000.0, "f64": 1e300}.get(dtype, 1e37)
    if kind == "special" and a.size > 3:
        flat = a.ravel()
        flat[0], flat[-1], flat[a.size // 2] = np.nan, np.inf, -np.inf
    if kind == "infinite":
        a = np.full(shape, -np.inf)
    return narrow(a, dtype)


def kinds_of(shape, kinds):
    """Of large ones the first kind only."""
    return kinds if np.prod(shape) < 1200 else kinds[:1]


def wide(a):
    return np.asarray(a).astype(np.longdouble)


def f64(a):
    return np.asarray(a, dtype=np.float64)


# ---------------------------------------------------------------------------------------------------------- reductions

SHAPES = [((2, 3, 4), [1]), ((4, 33), [-1]), ((5, 17, 9), [0, 2]), ((3, 300), [0]), ((7,), [0]), ((1, 1), [0]), ((2, 0, 3), [1]),
          ((2, 5, 3, 4), [1, 3]), ((1, 2500), [1]), ((70, 2, 40), [0])]


def reductions():
    for shape, axes in SHAPES:
        for keep in (0, 1):
            for dtype in FLOATS:
                for kind in kinds_of(shape, ("normal", "offset", "special")):
                    reduce_floats(dtype, floats(shape, dtype, kind), axes, keep)
            for dtype, t in INTS.items():
                reduce_integers(dtype, t, shape, axes, keep)
    x = floats((2, 3), "f32")
    case("ReduceSum", "noop_with_empty_axes=1,keepdims=0", [("f32", x)], [("f32", x, 0)])
    case("ReduceL2", "noop_with_empty_axes=1", [("f32", x)], [("f32", abs(x), abs(x))])
    case("ReduceMean", "keepdims=0", [("f32", x)], [("f32", x.mean(), abs(x).mean())])
    for dtype in ("f32", "f64"):
        big = narrow(np.array([[3.0, 4.0], [-3.0, 4.0]]) * {"f32": 1e37, "f64": 1e300}[dtype], dtype)
        tiny = narrow(np.array([3.0, 4.0]) * {"f32": 1e-40, "f64": 1e-310}[dtype], dtype)
        for a in (big, tiny):
            norm = f64(np.sqrt((wide(a) ** 2).sum(axis=-1)))
            case("ReduceL2", "keepdims=0", [(dtype, a), ("i64", np.array([-1]))], [(dtype, norm, norm)])


def reduce_floats(dtype, x, axes, keep):
    ax = tuple(axes)
    given = [(dtype, x), ("i64", np.array(axes))]
    at = f"keepdims={keep}"
    w = wide(x)
    n = np.prod([x.shape[a] for a in axes])
    with np.errstate(all="ignore"):
        total, size = w.sum(axis=ax, keepdims=bool(keep)), abs(w).sum(axis=ax, keepdims=bool(keep))
        case("ReduceSum", at, given, [(dtype, f64(total), f64(size))])
        case("ReduceMean", at, given, [(dtype, f64(total / n), f64(size / n))])
        norm = f64(np.sqrt((w * w).sum(axis=ax, keepdims=bool(keep))))
        case("ReduceL2", at, given, [(dtype, norm, norm)])
        case("ReduceMax", at, given, [(dtype, x.max(axis=ax, keepdims=bool(keep), initial=-np.inf), 0)])
        case("ReduceMin", at, given, [(dtype, x.min(axis=ax, keepdims=bool(keep), initial=np.inf), 0)])


def reduce_integers(dtype, t, shape, axes, keep):
    if dtype in ("i16", "u16"):
        return
    info = np.iinfo(t)
    x = rng.integers(info.min, info.max, size=shape, dtype=t, endpoint=True)
    ax = tuple(axes)
    given = [(dtype, x), ("i64", np.array(axes))]
    at = f"keepdims={keep}"
    k = bool(keep)
    case("ReduceMax", at, given, [(dtype, x.max(axis=ax, keepdims=k, initial=info.min), 0)])
    case("ReduceMin", at, given, [(dtype, x.min(axis=ax, keepdims=k, initial=info.max), 0)])
    if dtype in ("i8", "u8"):
        return
    exact = x.astype(object)
    n = int(np.prod([shape[a] for a in axes]))
    total = np.asarray(exact.sum(axis=ax, keepdims=k))
    bits = 8 * np.dtype(t).itemsize

    def wrap(v):
        v = int(v) % (1 << bits)
        return v - (1 << bits) if info.min < 0 and v >> (bits - 1) else v

    def mean(v):
        v = int(v)
        return 0 if n == 0 else abs(v) // n * (1 if v >= 0 else -1)

    import math
    squares = np.asarray((exact * exact).sum(axis=ax, keepdims=k))
    each = lambda f, a: np.array([f(v) for v in np.asarray(a, dtype=object).ravel()], dtype=object).reshape(np.shape(a))
    case("ReduceSum", at, given, [(dtype, each(wrap, total), 0)])
    case("ReduceMean", at, given, [(dtype, each(mean, total), 0)])
    case("ReduceL2", at, given, [(dtype, each(lambda v: min(math.isqrt(int(v)), int(info.max)), squares), 0)])


def positions():
    for shape, axis in (((4, 33), 1), ((4, 33), 0), ((3, 5, 7), 1), ((6,), 0), ((1, 1), -1), ((2, 3, 300), -2)):
        for dtype in FLOATS + list(INTS):
            for kind in ("normal", "special") if dtype in FLOATS else ("ties",):
                x = floats(shape, dtype, kind) if dtype in FLOATS else rng.integers(0, 4, size=shape).astype(INTS[dtype])
                if kind == "normal":
                    x = narrow(np.round(x), dtype) + 0.0  # ties
                position(dtype, x, axis)


def position(dtype, x, axis):
    size = x.shape[axis]
    n = x.shape[axis]
    for last in (0, 1):
        for keep in (0, 1):
            flipped = np.flip(x, axis) if last else x
            back = lambda i: n - 1 - i if last else i
            put = lambda i: np.expand_dims(back(i), axis) if keep else back(i)
            at = f"axis={axis},keepdims={keep},select_last_index={last}"
            case("ArgMax", at, [(dtype, x)], [("i64", put(np.argmax(flipped, axis)), 0)])
            case("ArgMin", at, [(dtype, x)], [("i64", put(np.argmin(flipped, axis)), 0)])
    moved = np.moveaxis(x, axis, -1)
    for largest in (0, 1):
        for k in sorted({0, 1, min(3, size), size}):
            order = np.empty(moved.shape[:-1] + (k,), dtype=np.int64)
            for at in np.ndindex(moved.shape[:-1]):
                row = [float("inf") if v != v else v for v in moved[at].tolist()]
                nan = [v != v for v in moved[at].tolist()]
                key = (lambda i: (-nan[i], -row[i], i)) if largest else (lambda i: (nan[i], row[i], i))
                order[at] = sorted(range(size), key=key)[:k]
            values = np.take_along_axis(moved, order, axis=-1)
            back = lambda a: np.moveaxis(a, -1, axis)
            case("TopK", f"axis={axis},largest={largest}", [(dtype, x), ("i64", np.array([k]))],
                 [(dtype, back(values), 0), ("i64", back(order), 0)])


def running_sums():
    for shape, axis in (((4, 33), 1), ((4, 33), 0), ((3, 5, 300), 1), ((1,), 0), ((0, 3), 0), ((0, 3), 1)):
        for dtype in FLOATS + ["i32", "u32", "i64", "u64"]:
            x = floats(shape, dtype) if dtype in FLOATS else rng.integers(
                np.iinfo(INTS[dtype]).min, np.iinfo(INTS[dtype]).max, size=shape, dtype=INTS[dtype], endpoint=True)
            for reverse in (0, 1):
                for exclusive in (0, 1):
                    running_sum(dtype, x, axis, reverse, exclusive)


def running_sum(dtype, x, axis, reverse, exclusive):
    def run(a):
        a = np.flip(a, axis) if reverse else a
        with np.errstate(over="ignore"):
            s = np.cumsum(a, axis=axis, dtype=a.dtype)
        if exclusive and a.shape[axis]:
            s = np.concatenate([np.zeros_like(np.take(s, [0], axis)), np.take(s, range(a.shape[axis] - 1), axis)], axis)
        return np.flip(s, axis) if reverse else s
    gauge = f64(run(abs(wide(x)))) if dtype in FLOATS else 0
    y = f64(run(wide(x))) if dtype in FLOATS else run(x)
    case("CumSum", f"exclusive={exclusive},reverse={reverse}", [(dtype, x), ("i32", np.array(axis))], [(dtype, y, gauge)])


# --------------------------------------------------------------------------------------------------------------- norms

def softmaxes():
    for shape, axis in (((4, 33), 1), ((4, 33), 0), ((3, 5, 300), 1), ((2, 3, 4, 5), -3), ((5, 1), -1), ((1,), 0), ((3, 0), 1), ((1, 4500), 1),
                        ((0, 4), 1)):
        for dtype in FLOATS:
            for kind in kinds_of(shape, ("normal", "offset", "large", "special", "infinite")):
                softmax(dtype, floats(shape, dtype, kind), axis)


def softmax(dtype, x, axis):
    w = wide(x)
    with np.errstate(all="ignore"):
        top = w.max(axis=axis, keepdims=True, initial=-np.inf)
        e = np.exp(w - top)
        total = e.sum(axis=axis, keepdims=True)
        y = e / total
        case("Softmax", f"axis={axis}", [(dtype, x)], [(dtype, f64(y), f64(np.where(y == 0, 0, y * (1 + abs(w - top)))))])
        z = w - top - np.log(total)
        case("LogSoftmax", f"axis={axis}", [(dtype, x)], [(dtype, f64(z), f64(abs(w) + abs(top) + abs(np.log(total)) + 1))])
        for p in (1, 2):
            norm = (abs(w) ** p).sum(axis=axis, keepdims=True) ** (np.longdouble(1) / p)
            n = np.where(norm == 0, 0 * w, w / np.where(norm == 0, 1, norm))
            case("LpNormalization", f"axis={axis},p={p}", [(dtype, x)], [(dtype, f64(n), f64(abs(n)))])


def norm(w, axes, scale, bias, epsilon, size=None):
    """y, gauge, mean, inverse, variance; w in long double."""
    size = abs(w) if size is None else size
    with np.errstate(all="ignore"):
        mean = w.mean(axis=axes, keepdims=True)
        variance = ((w - mean) ** 2).mean(axis=axes, keepdims=True)
        inverse = 1 / np.sqrt(variance + np.longdouble(epsilon))
        y = (w - mean) * inverse * scale + bias
        gauge = abs(scale) * inverse * (size + size.mean(axis=axes, keepdims=True)) + abs(bias)
    return f64(y), f64(gauge), mean, inverse, variance


KINDS = ("normal", "offset", "large", "special")


def layer_norms():
    for shape, axis in (((4, 33), -1), ((3, 4, 20), 1), ((2, 3, 5), 0), ((3, 1), -1), ((0, 5), -1), ((1, 2500), -1)):
        for dtype in FLOATS:
            for kind in kinds_of(shape, KINDS):
                layer_norm(dtype, floats(shape, dtype, kind), axis)
    constant = narrow(np.full((2, 7), 3.3), "f32")
    y, gauge, *_ = norm(wide(constant), (1,), wide(np.ones(7)), wide(np.zeros(7)), 1e-5)
    case("LayerNormalization", "", [("f32", constant), ("f32", np.ones(7))], [("f32", y, gauge)])


def layer_norm(dtype, x, axis):
    first = axis % x.ndim
    axes, tail = tuple(range(first, x.ndim)), x.shape[first:]
    scale, bias = floats(tail, dtype), floats(tail, dtype)
    w = wide(x)
    for epsilon in (1e-5, 0.5):
        at = f"axis={axis},epsilon={epsilon}"
        y, gauge, mean, inverse, variance = norm(w, axes, wide(scale), wide(bias), epsilon)
        with np.errstate(all="ignore"):
            size = abs(w).mean(axis=axes, keepdims=True)
            reach = (2 * abs(w - mean) * (abs(w) + size)).mean(axis=axes, keepdims=True) + variance
            slope = inverse * (1 + inverse**2 * reach)
        s, b = (dtype, scale), (dtype, bias)
        stash = f",stash_type={11 if dtype == 'f64' else 1}"
        out = "f64" if dtype == "f64" else "f32"
        case("LayerNormalization", at + stash, [(dtype, x), s, b],
             [(dtype, y, gauge), (out, f64(mean), f64(size)), (out, f64(inverse), f64(slope))], wanted="Mean,InvStdDev")
        y, gauge, *_ = norm(w, axes, wide(scale), 0 * wide(bias), epsilon)
        case("LayerNormalization", at, [(dtype, x), s], [(dtype, y, gauge)])
        with np.errstate(all="ignore"):
            r = f64(w / np.sqrt((w * w).mean(axis=axes, keepdims=True) + np.longdouble(epsilon)) * wide(scale))
        case("RMSNormalization", at, [(dtype, x), s], [(dtype, r, abs(r))])
        if axis == -1:
            fused(dtype, x, scale, bias, epsilon)
    if len(tail) == 2:
        row = floats(tail[1:], dtype)
        y, gauge, *_ = norm(w, axes, wide(row), wide(np.zeros(1)), 1e-5)
        case("LayerNormalization", f"axis={axis}", [(dtype, x), (dtype, row)], [(dtype, y, gauge)])


def fused(dtype, x, scale, bias, epsilon):
    row, other = floats(x.shape[-1:], dtype), floats(x.shape, dtype)
    s, b = (dtype, scale), (dtype, bias)
    with np.errstate(all="ignore"):
        added, size = wide(x) + wide(row), abs(wide(x)) + abs(wide(row))
        y, gauge, *_ = norm(added, (x.ndim - 1,), wide(scale), wide(bias), epsilon, size)
        case("LayerNormBias", f"epsilon={epsilon}", [(dtype, x), (dtype, row), s, b], [(dtype, y, gauge)], "opsdebug")
        added, size = wide(x) + wide(other), abs(wide(x)) + abs(wide(other))
        y, gauge, *_ = norm(added, (x.ndim - 1,), wide(scale), wide(bias), epsilon, size)
        case("AddLayerNorm", f"epsilon={epsilon}", [(dtype, x), (dtype, other), s, b],
             [(dtype, y, gauge), (dtype, f64(added), f64(size))], "opsdebug")


def by_channel(a, rank):
    return wide(a).reshape((1, -1) + (1,) * (rank - 2))


def channel_norms():
    for shape, groups in (((2, 6, 5, 3), 3), ((3, 4, 20), 2), ((2, 300), 4), ((1, 4, 9, 9), 1), ((1, 2, 4200), 2)):
        for dtype in FLOATS:
            for kind in kinds_of(shape, KINDS):
                channel_norm(dtype, floats(shape, dtype, kind), groups)


def channel_norm(dtype, x, groups):
    n, c, rank = x.shape[0], x.shape[1], x.ndim
    scale, bias, given = floats((c,), dtype), floats((c,), dtype), floats((c,), dtype)
    variance = narrow(rng.uniform(0.5, 2, c), dtype)
    s, b = (dtype, scale), (dtype, bias)
    w = wide(x)
    lines = w.reshape(n, groups, -1)
    per = lambda a: np.broadcast_to(by_channel(a, rank), x.shape).reshape(lines.shape)
    y, gauge, *_ = norm(lines, (2,), per(scale), per(bias), 1e-5)
    case("GroupNormalization", f"num_groups={groups}", [(dtype, x), s, b], [(dtype, y.reshape(x.shape), gauge.reshape(x.shape))])
    if rank > 2:
        y, gauge, *_ = norm(w, tuple(range(2, rank)), by_channel(scale, rank), by_channel(bias, rank), 1e-3)
        case("InstanceNormalization", "epsilon=1e-3", [(dtype, x), s, b], [(dtype, y, gauge)])
    with np.errstate(all="ignore"):
        inverse = 1 / np.sqrt(by_channel(variance, rank) + np.longdouble(1e-5))
        m, g, o = by_channel(given, rank), by_channel(scale, rank), by_channel(bias, rank)
        y = (w - m) * inverse * g + o
        gauge = abs(g) * inverse * (abs(w) + abs(m)) + abs(o)
    inputs = [(dtype, x), s, b, (dtype, given), (dtype, variance)]
    case("BatchNormalization", "", inputs, [(dtype, f64(y), f64(gauge))])
    axes = (0,) + tuple(range(2, rank))
    y, gauge, mean, inverse, made = norm(w, axes, g, o, 1e-5)
    with np.errstate(all="ignore"):
        size = abs(w).mean(axis=axes, keepdims=True)
        reach = (2 * abs(w - mean) * (abs(w) + size)).mean(axis=axes) + made.ravel()
        mo = np.longdouble(0.75)
        running = wide(given) * mo + mean.ravel() * (1 - mo)
        spread = wide(variance) * mo + made.ravel() * (1 - mo)
        case("BatchNormalization", "training_mode=1,momentum=0.75", inputs,
             [(dtype, y, gauge), (dtype, f64(running), f64(abs(wide(given)) * mo + (1 - mo) * size.ravel())),
              (dtype, f64(spread), f64(wide(variance) * mo + (1 - mo) * reach))], wanted="running_mean,running_var")


def windows():
    for shape in ((2, 3, 5, 7), (1, 4, 1, 1), (1, 2, 1, 9), (1, 2, 9, 1), (2, 5, 4, 300), (1, 1, 3, 3), (0, 2, 3, 3)):
        for dtype in FLOATS:
            for kind in kinds_of(shape, ("normal", "offset", "large")):
                window(dtype, floats(shape, dtype, kind))
    zeros = np.zeros((1, 2, 3, 3))
    case("WindowL2Normalization", "", [("f32", zeros)], [("f32", zeros, 0)], "opsdebug")


def window(dtype, x):
    w = np.pad(wide(x), ((0, 0), (0, 0), (1, 1), (1, 1)))
    ones = np.pad(np.ones(x.shape[2:]), 1)
    h, v = x.shape[2:]
    parts = [(slice(i, i + h), slice(j, j + v)) for i in range(3) for j in range(3)]
    places = sum(ones[p] for p in parts)
    mean = sum(w[(slice(None), slice(None)) + p] for p in parts) / places
    size = sum(abs(w[(slice(None), slice(None)) + p]) for p in parts) / places
    total = np.sqrt((mean * mean).sum(axis=1, keepdims=True))
    y = mean / total
    gauge = size / total + abs(y) * (1 + (abs(mean) * size).sum(axis=1, keepdims=True) / total**2)
    case("WindowL2Normalization", "", [(dtype, x)], [(dtype, f64(y), f64(gauge))], "opsdebug")


PARTS = {"reductions": reductions, "positions": positions, "running_sums": running_sums, "softmaxes": softmaxes,
         "layer_norms": layer_norms, "channel_norms": channel_norms, "windows": windows,
         "onnx": lambda: runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "normalize_onnx.py"))}
PARTS[sys.argv[1]]()
