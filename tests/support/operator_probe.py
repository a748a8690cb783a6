#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Calls operators through the program operator_probe, with numpy arrays in and out. bf16 arrays are Bf16 objects."""
import subprocess

import numpy as np

NAMES = {np.dtype(t): n for n, t in {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.bool_}.items()}
TYPES = {n: t for t, n in NAMES.items()}


class Declined(Exception):
    pass


def widen(bits):
    """f32 of bf16 bits."""
    return np.frombuffer((bits.reshape(-1).astype(np.uint32) << np.uint32(16)).tobytes(), np.float32).reshape(bits.shape)


class Bf16:
    """bf16 by its bits; float() rounds to nearest even."""

    def __init__(self, values):
        single = np.asarray(values, np.float32)
        bits = np.frombuffer(single.tobytes(), np.uint32).astype(np.uint64)
        rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
        self.bits = np.where(np.isnan(single).reshape(-1), np.uint16(0x7FC0), rounded).reshape(single.shape)
        self.shape = single.shape

    def values(self):
        return widen(self.bits)


def as_type(values, dtype):
    return Bf16(values) if dtype == "bf16" else np.asarray(values).astype(TYPES[dtype])


def values_of(array):
    return array.values() if isinstance(array, Bf16) else array


def describe(array):
    if array is None:
        return "-"
    name = "bf16" if isinstance(array, Bf16) else NAMES[array.dtype]
    return "%s[%s]" % (name, ",".join(str(d) for d in array.shape))


def text_of(value):
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(str(v) for v in value)
    return repr(float(value)) if isinstance(value, float) else str(value)


class Probe:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def close(self):
        self.process.stdin.close()
        return self.process.wait()

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("operator_probe ended with %s" % self.process.wait())
        return line.decode().rstrip("\n")

    def call(self, op, inputs, attributes=None, outputs="-", variant="*", threads=2):
        """{variant: [outputs] or Declined}. ValueError: the call cannot be made."""
        domain, name = op.split(":") if ":" in op else ("ai.onnx", op)
        attributes = ",".join("%s=%s" % (k, text_of(v)) for k, v in (attributes or {}).items())
        lines = [domain, name, ";".join(describe(a) for a in inputs), attributes or "-", outputs, variant, str(threads)]
        out = self.process.stdin
        out.write(("\n".join(lines) + "\n").encode())
        head = None
        data = b"".join((a.bits if isinstance(a, Bf16) else np.ascontiguousarray(a)).tobytes() for a in inputs if a is not None)
        try:
            out.flush()
        except BrokenPipeError:
            pass
        # The program reads data only when the call could be made; what it says first tells.
        out.write(data)
        out.flush()
        answer = {}
        current = None
        while True:
            head = self.line()
            word, _, rest = head.partition(" ")
            if word == "end":
                return answer
            if word == "error":
                self.restart()
                raise ValueError(rest)
            if word == "variant":
                current = rest
                answer[current] = []
            elif word == "declined":
                answer[current] = Declined(rest)
            elif word == "failed":
                raise RuntimeError("%s of %s: %s" % (current, op, rest))
            elif word == "output":
                answer[current].append(self.read_output(rest))

    def restart(self):
        """Drops a process whose input holds data that no call reads."""
        program = self.process.args
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read_output(self, text):
        _, dtype, dims = (text.split(" ") + [""])[:3]
        shape = [int(d) for d in dims.split(",")] if dims else []
        kind = np.dtype(np.uint16) if dtype == "bf16" else TYPES[dtype]
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        data = np.frombuffer(self.process.stdout.read(size), kind).reshape(shape)
        return widen(data) if dtype == "bf16" else data
