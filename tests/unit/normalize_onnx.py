# SPDX-License-Identifier: Apache-2.0
"""
ONNX's own node tests of reductions and norms as cases in the form of normalize_numpy.py, read from the protobuf files directly.

Older forms are translated: axes as an attribute become an input, Scale and bias stay. The expected values are f32 and were made by numpy in f32,
so the gauge of a case is what f32 sums of its size may lose.
"""
import glob
import os
import struct
import numpy as np

ROOT = "/usr/share/libonnx-testdata/data/node"
MINE = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ArgMax", "ArgMin", "CumSum", "TopK", "Softmax", "LogSoftmax",
        "LayerNormalization", "InstanceNormalization", "BatchNormalization", "LpNormalization"}
EXACT = {"ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "TopK"}
DTYPES = {1: ("f32", "<f4"), 2: ("u8", "u1"), 3: ("i8", "i1"), 5: ("i16", "<i2"), 6: ("i32", "<i4"), 7: ("i64", "<i8"), 10: ("f16", "<f2"),
          11: ("f64", "<f8"), 12: ("u32", "<u4"), 13: ("u64", "<u8")}


def fields(data):
    """(number, value) of a message: int, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            size = 8 if kind == 1 else 4
            yield key >> 3, data[at:at + size]
            at += size


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def packed(number, values):
    """Repeated integers, packed or not."""
    for n, v in values:
        if n == number and isinstance(v, int):
            yield signed(v)
        elif n == number:
            yield from (signed(x) for _, x in fields(b"".join(b"\x08" + chunk for chunk in split_varints(v))))


def split_varints(data):
    start = 0
    for i, byte in enumerate(data):
        if byte < 128:
            yield data[start:i + 1]
            start = i + 1


def tensor(path):
    found = list(fields(open(path, "rb").read()))
    dims = list(packed(1, found))
    code = next(v for n, v in found if n == 2)
    dtype, numpy_type = DTYPES[code]
    raw = [v for n, v in found if n == 9]
    if raw:
        return dtype, np.frombuffer(raw[0], dtype=numpy_type).reshape(dims)
    if code == 1:
        data = b"".join(v for n, v in found if n == 4)
        return dtype, np.frombuffer(data, dtype="<f4").reshape(dims)
    return dtype, np.array(list(packed(5, found)) + list(packed(7, found))).astype(numpy_type).reshape(dims)


def node_of(model):
    graph = next(v for n, v in fields(model) if n == 7)
    nodes = [v for n, v in fields(graph) if n == 1]
    if len(nodes) != 1:
        return None
    found = list(fields(nodes[0]))
    inputs = [v.decode() for n, v in found if n == 1]
    attributes = {}
    for n, v in found:
        if n == 5:
            a = list(fields(v))
            name = next(x for k, x in a if k == 1).decode()
            ints = list(packed(8, a))
            real = [struct.unpack("<f", x)[0] for k, x in a if k == 2]
            whole = [signed(x) for k, x in a if k == 3]
            kind = next(x for k, x in a if k == 20)
            attributes[name] = real[0] if kind == 1 and real else whole[0] if kind == 2 and whole else ints if kind == 7 else 0
    outputs = [v.decode() for n, v in found if n == 2]
    return next(v for n, v in found if n == 4).decode(), inputs, outputs, attributes


def text(a):
    return ",".join(str(d) for d in a.shape) if a.ndim else "()"


def number(v):
    return float(v).hex() if isinstance(v, (float, np.floating)) else str(int(v))


def main():
    for path in sorted(glob.glob(ROOT + "/*/model.onnx")):
        node = node_of(open(path, "rb").read())
        if node is None or node[0] not in MINE:
            continue
        op, names, outputs, attributes = node
        base = os.path.dirname(path) + "/test_data_set_0/"
        files = iter(sorted(glob.glob(base + "input_*.pb"), key=lambda p: int(p.split("_")[-1][:-3])))
        inputs = [tensor(next(files)) if n else None for n in names]
        if op.startswith("Reduce") and "axes" in attributes:
            axes = np.array(attributes.pop("axes"), dtype=np.int64)
            inputs.append(("i64", axes))
        if op == "LogSoftmax" or op == "Softmax":
            attributes.setdefault("axis", -1)
        given = ",".join(f"{k}={v}" for k, v in attributes.items()) or "-"
        optional = {"LayerNormalization": ["Mean", "InvStdDev"], "BatchNormalization": ["running_mean", "running_var"]}.get(op, [])
        wanted = ",".join(optional[:len(outputs) - 1]) or "-"
        print(f"case ai.onnx {op} {given} {wanted}")
        for item in inputs:
            print("in -" if item is None else " ".join(["in", item[0], text(item[1])] + [number(v) for v in item[1].ravel()]))
        for i in range(len(outputs)):
            dtype, y = tensor(f"{base}output_{i}.pb")
            size = 0 if op in EXACT or y.dtype.kind in "iu" else np.max(np.abs(inputs[0][1]), initial=1.0)
            print(" ".join(["out", dtype, text(y)] + [x for v in y.ravel() for x in (number(v), number(float(abs(v) + size) if size else 0))]))
        print("end")


main()
