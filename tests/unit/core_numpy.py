#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reference values for the core tests, from numpy.

core_numpy.py health DATA < LINES    a line "DTYPE OFFSET COUNT" per blob of DATA; prints
                                     count nan +inf -inf subnormal zero min max mean mean|x| first_nan first_inf
core_numpy.py narrow < LINES         a line per double (hex float); prints f16, bf16 and f32 patterns in hex
core_numpy.py widen                  prints the double of every f16 pattern, then of every bf16 pattern, as bits
"""
import math
import sys
from fractions import Fraction

import numpy as np

DTYPES = {
    "f16": np.float16, "bf16": None, "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
    "u64": np.uint64, "bool": np.bool_,
}


def bf16_values(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def smallest_normal(dtype):
    return float(np.finfo(np.float32 if dtype == "bf16" else DTYPES[dtype]).tiny)


def position(mask):
    return int(np.argmax(mask)) if mask.any() else -1


def health(data, dtype, offset, count):
    if dtype == "bf16":
        values = bf16_values(np.frombuffer(data, np.uint16, count, offset))
    elif dtype == "bool":
        values = np.frombuffer(data, np.uint8, count, offset) != 0
    else:
        values = np.frombuffer(data, DTYPES[dtype], count, offset)
    is_complex = values.dtype.kind == "c"
    parts = np.stack([values.real, values.imag], axis=1) if is_complex else values.reshape(-1, 1)
    parts = parts.astype(np.float64)
    nan = np.isnan(parts).any(axis=1)
    pos = np.isposinf(parts).any(axis=1)
    neg = np.isneginf(parts).any(axis=1)
    small = np.zeros(count, bool)
    if dtype in ("f16", "bf16", "f32", "f64", "c64", "c128"):
        small = ((np.abs(parts) < smallest_normal(dtype)) & (parts != 0)).any(axis=1)
    zero = (parts == 0).all(axis=1)
    finite = parts[np.isfinite(parts)]
    numbers = [finite.min(), finite.max(), finite.mean(), np.abs(finite).mean()] if finite.size else [np.inf, -np.inf, 0.0, 0.0]
    counts = [count, nan.sum(), pos.sum(), neg.sum(), small.sum(), zero.sum()]
    return [int(c) for c in counts] + [float(n).hex() for n in numbers] + [position(nan), position(pos | neg)]


def nearest_even(x, exponent_bits, fraction_bits):
    """The pattern nearest to a double, in exact rational arithmetic."""
    sign = int(np.signbit(x)) << (exponent_bits + fraction_bits)
    top = (1 << exponent_bits) - 1
    if np.isnan(x):
        return sign | top << fraction_bits | 1 << (fraction_bits - 1)
    if np.isinf(x):
        return sign | top << fraction_bits
    if x == 0:
        return sign
    size = abs(Fraction(x))
    bias = top >> 1
    exponent = max(1 - bias, math.frexp(x)[1] - 1)
    steps = size / Fraction(2) ** (exponent - fraction_bits)
    whole = round(steps)  # Fraction rounds half to even
    pattern = whole if exponent == 1 - bias else whole + ((exponent + bias - 1) << fraction_bits)
    return sign | min(pattern, top << fraction_bits)


def narrow():
    for line in sys.stdin:
        x = float.fromhex(line.strip())
        half = int(np.float64(x).astype(np.float16).view(np.uint16))
        single = int(np.float64(x).astype(np.float32).view(np.uint32))
        print("%x %x %x" % (half, nearest_even(x, 8, 7), single))


def widen():
    patterns = np.arange(65536, dtype=np.uint16)
    for values in (patterns.view(np.float16), bf16_values(patterns)):
        for bits in values.astype(np.float64).view(np.uint64):
            print("%x" % bits)


def main():
    np.seterr(all="ignore")  # NaN and overflow are what is tested
    if sys.argv[1] == "health":
        with open(sys.argv[2], "rb") as file:
            data = file.read()
        for line in sys.stdin:
            dtype, offset, count = line.split()
            print(*health(data, dtype, int(offset), int(count)))
    elif sys.argv[1] == "narrow":
        narrow()
    else:
        widen()


main()
