# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX models and tensors by the field numbers of onnx.proto, for tests; numpy arrays are the values."""
import os
import struct

import numpy as np

# TensorProto.DataType, our name, numpy's type of the bits, typed field
TYPES = [(1, "f32", "<f4", 4), (2, "u8", "u1", 5), (3, "i8", "i1", 5), (4, "u16", "<u2", 5), (5, "i16", "<i2", 5), (6, "i32", "<i4", 5),
         (7, "i64", "<i8", 7), (9, "bool", "u1", 5), (10, "f16", "<u2", 5), (11, "f64", "<f8", 10), (12, "u32", "<u4", 11), (13, "u64", "<u8", 11),
         (14, "c64", "<c8", 4), (15, "c128", "<c16", 10), (16, "bf16", "<u2", 5)]


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """An int as varint, a float as fixed32, text, bytes or a list of messages as bytes."""
    if isinstance(value, list):
        return b"".join(field(number, item) for item in value)
    if isinstance(value, (int, np.integer)):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, (float, np.floating)):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def typed(number, array, is_packed):
    """The values of a flat array in a typed field."""
    if number in (4, 10):
        parts = array.view("<f4" if number == 4 else "<f8")
        if is_packed:
            return field(number, parts.tobytes())
        return b"".join(varint(number << 3 | (5 if number == 4 else 1)) + part.tobytes() for part in parts)
    if is_packed:
        return field(number, b"".join(varint(int(value)) for value in array))
    return b"".join(field(number, int(value)) for value in array)


def tensor(code, shape, array, form="raw", name=""):
    """form: raw, packed (values and dimensions), single."""
    number = next(t[3] for t in TYPES if t[0] == code)
    flat = np.ascontiguousarray(array).reshape(-1)
    dims = field(1, b"".join(map(varint, shape))) if form == "packed" and shape else field(1, list(map(int, shape)))
    data = field(9, flat.tobytes()) if form == "raw" else typed(number, flat, form == "packed")
    return dims + field(2, code) + data + (field(8, name) if name else b"")


CODES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13}


def of_array(array, name=""):
    array = np.asarray(array)
    return tensor(CODES[array.dtype.name], array.shape, array, name=name)


def attribute(name, value):
    head = field(1, name)
    if isinstance(value, str):
        return head + field(4, value) + field(20, 3)
    if isinstance(value, float):
        return head + field(2, value) + field(20, 1)
    if isinstance(value, int):
        return head + field(3, value) + field(20, 2)
    if isinstance(value, bytes):  # a graph
        return head + field(6, value) + field(20, 5)
    if value and isinstance(value[0], float):
        return head + field(7, value) + field(20, 6)
    return head + field(8, value) + field(20, 7)


def node(op, inputs, outputs, attributes, domain=""):
    return field(1, inputs) + field(2, outputs) + field(4, op) + field(5, [attribute(*item) for item in attributes.items()]) + (field(7, domain) if domain else b"")


def value(name, kind=1, code=0):
    return field(1, name) + field(2, field(kind, field(1, code) if code else b""))


def model(nodes, inputs, outputs, opset, constants=(), kind=1):
    graph = field(1, nodes) + field(5, list(constants)) + field(11, [value(name, kind) for name in inputs]) + field(12, [value(name) for name in outputs])
    return field(1, 3) + field(7, graph) + field(8, field(2, opset))


def write_test(folder, op, opset, inputs, outputs, attributes=None, constants=(), names=None):
    """A test folder; inputs that are None are absent, constants are positions whose tensors stand in the model."""
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    edges = ["" if array is None else "x%d" % i for i, array in enumerate(inputs)]
    results = ["y%d" % i for i in range(len(outputs))]
    kept = [of_array(inputs[i], "x%d" % i) for i in constants]
    files = [array for i, array in enumerate(inputs) if array is not None and i not in constants]
    with open(os.path.join(folder, "model.onnx"), "wb") as out:
        out.write(model([node(op, edges, results, attributes or {})], [e for e in edges if e], results, opset, kept))
    for kind, arrays in ("input", files), ("output", outputs):
        for i, array in enumerate(arrays):
            with open(os.path.join(data, "%s_%d.pb" % (kind, i)), "wb") as out:
                out.write(of_array(array))
