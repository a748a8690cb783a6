#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors in ONNX's wire format, and what python reads in them, for test_onnx.c.

onnx_tensors.py made     every dtype, form and a few shapes, random bits
onnx_tensors.py stored   every .pb file of libonnx-testdata up to 1 MiB whose dtype we have

Per tensor a line "SIZE DTYPE BYTES DIMS...", SIZE bytes of message, BYTES of content in row-major order.
"""
import glob
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import onnx_cases  # noqa: E402
import onnx_write  # noqa: E402


def put(message, dtype, shape, content):
    sys.stdout.buffer.write(("%d %s %d %s\n" % (len(message), dtype, len(content), " ".join(map(str, shape)))).encode())
    sys.stdout.buffer.write(message + content)


def made():
    random = np.random.default_rng(7)
    for code, dtype, bits, _ in onnx_write.TYPES:
        for shape in ((), (0,), (1,), (3, 4), (2, 0, 5), (2, 1, 3, 1, 1, 1, 1, 2)):
            count = int(np.prod(shape, dtype=np.int64))
            content = random.integers(0, 2 if dtype == "bool" else 256, count * np.dtype(bits).itemsize, dtype=np.uint8).tobytes()
            for form in "raw", "packed", "single":
                put(onnx_write.tensor(code, shape, np.frombuffer(content, bits), form, "a name"), dtype, shape, content)


def stored():
    for path in sorted(glob.glob("/usr/share/libonnx-testdata/data/*/*/*/*.pb")):
        if os.path.getsize(path) > 1 << 20:
            continue
        with open(path, "rb") as file:
            message = file.read()
        try:
            _, dtype, shape, content = onnx_cases.tensor(message)
        except (TypeError, ValueError, IndexError):  # a sequence
            continue
        sizes = {name: np.dtype(bits).itemsize for _, name, bits, _ in onnx_write.TYPES}
        if dtype is not None and len(content) == sizes[dtype] * np.prod(shape, dtype=np.float64):  # else an optional that looks like one
            put(message, dtype, shape, content)


made() if sys.argv[1] == "made" else stored()
