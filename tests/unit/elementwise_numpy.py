#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges elementwise results by values of its own: whole numbers in Python's integers, floats in numpy's longest type.

elementwise_numpy.py FILE    FILE: per case a line of JSON and the bytes of its inputs and outputs. Prints each wrong result and, last,
                             "checked RESULTS wrong COUNT".
"""
import json
import math
import sys

import numpy as np

try:
    from scipy.special import erf
except ImportError:
    erf = np.vectorize(math.erf)

DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32,
          "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.uint8}
FLOATS = ("f16", "bf16", "f32", "f64")
FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
LEAST_EXPONENT = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}
LARGEST = {"f16": 65504.0, "bf16": float.fromhex("0x1.fep127"), "f32": float.fromhex("0x1.fffffep127"), "f64": sys.float_info.max}
ONNX = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64", 12: "u32",
        13: "u64", 16: "bf16"}
WIDE = np.longdouble


LIMITS = {name: (int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for name, kind in DTYPES.items() if name[0] in "iu"}


def wrap(value, dtype):
    low, high = LIMITS[dtype]
    return (value - low) % (high - low + 1) + low


def saturate(value, dtype):
    low, high = LIMITS[dtype]
    if value != value:
        return 0
    if np.isinf(value):
        return low if value < 0 else high
    return min(max(int(value), low), high)


def load(array, dtype):
    """Floats as long double, integers as Python's own."""
    if dtype == "bf16":
        return (np.atleast_1d(array).astype(np.uint32) << 16).view(np.float32).astype(WIDE).reshape(array.shape)
    return array.astype(WIDE) if dtype in FLOATS else array.astype(object)


def truncated(a, b):
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def whole_power(a, b, dtype):
    if b >= 0:
        return pow(a, b, 1 << 64) if a >= 0 else (-1) ** (b & 1) * pow(-a, b, 1 << 64)
    return LIMITS[dtype][1] if a == 0 else 1 if a == 1 else (-1) ** (b & 1) if a == -1 else 0


def power(a, b):
    """Of infinite bases by hand: the C library's powl is wrong for some."""
    result = np.power(a, b)
    sign = np.where((np.fmod(np.abs(b), 2) == 1) & (a < 0), -1, 1)
    return np.where(np.isinf(a) & (b != 0) & (b == b), np.where(b > 0, sign * WIDE(np.inf), sign * WIDE(0)), result)


def integer_rule(op, dtype, x, second):
    rules = {
        "Abs": lambda a: abs(a), "Neg": lambda a: -a, "Relu": lambda a: max(a, 0),
        "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": truncated,
        "Min": lambda *v: min(v), "Max": lambda *v: max(v),
        "Clip": lambda a, b, c: min(max(a, b), c),
        "Pow": lambda a, b: whole_power(a, b, dtype) if second not in FLOATS else saturate(power(WIDE(a), b), dtype),
    }
    of = rules[op]
    rule = np.frompyfunc(lambda *v: wrap(int(of(*v)), dtype), len(x), 1)
    return rule(*x)


def float_rule(op, x, case):
    one, half = WIDE(1), WIDE(0.5)
    alpha = WIDE(np.float32(case["alpha"]))

    def gelu(a):
        if case["approximate"] == "tanh":
            return half * a * (one + np.tanh(np.sqrt(WIDE(2) / WIDE(np.pi)) * (a + WIDE(0.044715) * a * a * a)))
        return half * a * (one + erf((a / np.sqrt(WIDE(2))).astype(np.float64)))

    def clip(a, b, c):  # a bound of NaN is none
        a = np.where(a < b, b, a)
        return np.where(c < a, c, a)

    rules = {
        "Abs": np.abs, "Neg": np.negative, "Relu": lambda a: np.where(a < 0, 0 * one, a), "Add": np.add, "Sub": np.subtract,
        "Mul": np.multiply, "Div": np.divide, "Pow": power, "Sqrt": np.sqrt, "Reciprocal": lambda a: one / a, "Exp": np.exp,
        "Log": np.log, "Erf": lambda a: erf(a.astype(np.float64)), "LeakyRelu": lambda a: np.where(a < 0, alpha * a, a),
        "Sigmoid": lambda a: np.where(a < 0, np.exp(-np.abs(a)), one) / (one + np.exp(-np.abs(a))), "Tanh": np.tanh,
        "Gelu": gelu, "GeluAddResidual": lambda a, r: gelu(a) + r,
        "HardSwish": lambda a: a * np.clip(a / 6 + half, 0, 1), "Clip": clip,
        "Min": lambda *v: np.minimum.reduce(np.broadcast_arrays(*v)), "Max": lambda *v: np.maximum.reduce(np.broadcast_arrays(*v)),
    }
    return np.asarray(rules[op](*x))


def cast(x, source, target):
    if target in FLOATS:
        return x.astype(WIDE) if source in FLOATS else np.frompyfunc(lambda a: WIDE(np.longdouble(str(a))), 1, 1)(x).astype(WIDE)
    if target == "bool":
        return (x != 0).astype(object)
    rule = (lambda a: saturate(a, target)) if source in FLOATS else (lambda a: wrap(int(a), target))
    return np.frompyfunc(rule, 1, 1)(x)


def expected(case, x, dtypes):
    op, target = case["op"], case["outputs"][0]["dtype"]
    if op == "Cast":
        assert ONNX[case["to"]] == target
        return cast(x[0], dtypes[0], target)
    if op == "Where":
        return np.where(np.asarray(x[0] != 0, bool), x[1], x[2])
    if target in FLOATS:
        x = [np.vectorize(lambda a: WIDE(str(a)), otypes=[WIDE])(v) if v.dtype == object else v for v in x]
        return float_rule(op, x, case)
    return integer_rule(op, target, x, dtypes[1] if len(dtypes) > 1 else None)


def compare_floats(want, got, dtype, case):
    """Indices whose class differs, or whose error is over the bound."""
    low = LARGEST[dtype] * (WIDE(1) + WIDE(2) ** (-FRACTION[dtype] - 2))
    overflow = np.abs(want) >= low
    want = np.where(overflow, np.copysign(WIDE(np.inf), want), want)
    bad = np.isnan(want) != np.isnan(got)
    infinite = np.isinf(want) | np.isinf(got)
    edge = np.abs(np.where(infinite, 0, want)) > low * (1 - WIDE(2) ** (2 - FRACTION[dtype]))  # may round either way
    bad |= infinite & (want != got) & ~edge & ~np.isnan(want)
    finite = np.isfinite(want) & np.isfinite(got)
    safe = np.where(finite, want, 1)
    exponent = np.maximum(np.frexp(safe)[1] - 1, LEAST_EXPONENT[dtype])
    ulp = np.ldexp(WIDE(1), exponent - FRACTION[dtype])
    error = np.where(finite, np.abs(np.where(finite, got, 1) - safe), 0) / ulp
    if case["kind"] == "gauge":
        x = case["loaded"]
        gauge = np.abs(x[0]) * (WIDE(1) if case["op"] == "HardSwish" else WIDE(0.25))
        gauge = gauge + (np.abs(x[1]) if len(x) > 1 else 0)
        accumulator = "f64" if dtype == "f64" else "f32"
        ratio = np.maximum(error * ulp - ulp / 2, 0) / (np.where(finite, gauge, 1) + WIDE(1e-300)) * WIDE(2) ** FRACTION[accumulator]
        return bad | (finite & (ratio > case["limit"]))
    return bad | (error > case["limit"] + 1e-9)


def clip_bounds(items, x, dtype):
    """An absent bound as one that does nothing."""
    given = iter(x)
    low, high = (np.nan, np.nan) if dtype in FLOATS else LIMITS[dtype]
    none = [None, np.full((), low, WIDE if dtype in FLOATS else object), np.full((), high, WIDE if dtype in FLOATS else object)]
    items = items + [None] * (3 - len(items))
    return [next(given) if item else none[i] for i, item in enumerate(items)]


def judge(case, got, want, dtype):
    want = np.broadcast_to(want, got.shape)
    if dtype in FLOATS:
        return compare_floats(want.astype(WIDE), load(got, dtype), dtype, case)
    return got != want.astype(got.dtype)


def main():
    np.seterr(all="ignore")  # NaN and overflow are what is tested
    results = wrong = 0
    with open(sys.argv[1], "rb") as file:
        for line in iter(file.readline, b""):
            case = json.loads(line)

            def take(item):
                array = np.frombuffer(file.read(item["bytes"]), DTYPES.get(item["dtype"], np.uint16))
                return array.reshape(item["shape"])
            present = [item for item in case["inputs"] if item]
            dtypes = [item["dtype"] for item in present]
            x = [load(take(item), item["dtype"]) for item in present]
            if case["op"] == "Clip":
                x = clip_bounds(case["inputs"], x, dtypes[0])
            case["loaded"] = x
            want = expected(case, x, dtypes)
            verdicts = {}  # variants mostly give the same bits
            for item in case["outputs"]:
                got = take(item)
                key = got.tobytes()
                if key not in verdicts:
                    verdicts[key] = judge(case, got, want, item["dtype"])
                bad = verdicts[key]
                results += got.size
                if bad.any():
                    wrong += int(bad.sum())
                    at = np.unravel_index(int(np.argmax(bad)), got.shape)
                    values = [np.broadcast_to(v, got.shape)[at] for v in x]
                    print(case["op"], item["variant"], dtypes, item["shape"], "at", at, "of", values, "got", got[at], "not",
                          np.broadcast_to(want, got.shape)[at])
    print("checked", results, "wrong", wrong)


main()
