#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's node tests (Debian: libonnx-testdata) as wishes with data, for test_onnx_nodes.c.

onnx_cases.py DIR OPERATOR... > FILE    per test of one of the operators: a line "NAME|OPERATOR|SHAPES|ATTRIBUTES|OUTPUTS|EXPECTED"; then the bytes of the inputs that are
                            there and of the expected outputs. OUTPUTS is a mask, EXPECTED are dtypes and shapes. Tests of more nodes are left out.
"""
import os
import struct
import sys

DTYPES = {1: ("f32", 4, "f"), 2: ("u8", 1, "B"), 3: ("i8", 1, "b"), 4: ("u16", 2, "H"), 5: ("i16", 2, "h"), 6: ("i32", 4, "i"), 7: ("i64", 8, "q"),
          9: ("bool", 1, "B"), 10: ("f16", 2, "H"), 11: ("f64", 8, "d"), 12: ("u32", 4, "I"), 13: ("u64", 8, "Q"), 16: ("bf16", 2, "H")}
TYPED = {4: ("f", 4), 5: (None, 0), 7: (None, 0), 10: ("d", 8), 11: (None, 0)}  # fields of numbers: packed floats, or varints


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a protobuf message; lengths as bytes, fixed ones too."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def numbers(number, value):
    """One entry of a repeated field of numbers, packed or not."""
    letter, size = TYPED[number]
    if letter:
        return list(struct.unpack("<%d%s" % (len(value) // size, letter), value))
    result, at = [], 0
    while isinstance(value, bytes) and at < len(value):
        item, at = varint(value, at)
        result.append(signed(item))
    return result if isinstance(value, bytes) else [signed(value)]


def tensor(data):
    """name, dtype, shape, bytes; dtype None where we have none."""
    shape, code, raw, typed, name = [], 0, None, [], ""
    for number, value in fields(data):
        if number == 1:
            shape += numbers(7, value)
        elif number == 2:
            code = value
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
        elif number in TYPED:
            typed += numbers(number, value)
    if code not in DTYPES:
        return name, None, shape, b""
    dtype, size, letter = DTYPES[code]
    if raw is None and letter not in "fd":
        raw = b"".join((value % (1 << 8 * size)).to_bytes(size, "little") for value in typed)
    return name, dtype, shape, raw if raw is not None else struct.pack("<%d%s" % (len(typed), letter), *typed)


def attribute(data):
    name, text = "", None
    ints = []
    for number, value in fields(data):
        if number == 1:
            name = value.decode()
        elif number == 2:
            text = repr(struct.unpack("<f", value)[0])
        elif number == 3:
            text = str(signed(value))
        elif number == 4:
            text = value.decode()
        elif number == 8:
            ints += numbers(7, value)
    return "%s=%s" % (name, text if text is not None else str(ints).replace(" ", ""))


def node(data):
    inputs, outputs, op, domain, attributes = [], [], "", "", []
    for number, value in fields(data):
        if number == 1:
            inputs.append(value.decode())
        elif number == 2:
            outputs.append(value.decode())
        elif number == 4:
            op = value.decode()
        elif number == 7:
            domain = value.decode()
        elif number == 5:
            attributes.append(attribute(value))
    return inputs, outputs, op, domain, attributes


def load(directory, operators):
    """None: no test of one node of the operators."""
    graph = next(value for number, value in fields(open(os.path.join(directory, "model.onnx"), "rb").read()) if number == 7)
    nodes = [node(value) for number, value in fields(graph) if number == 1]
    inputs, outputs, op, domain, attributes = nodes[0]
    if len(nodes) != 1 or domain or op not in operators:
        return None
    data = {}
    for kind, number in ("input", 11), ("output", 12):
        order = [next(v for n, v in fields(value) if n == 1).decode() for n, value in fields(graph) if n == number]
        for i, name in enumerate(order):
            path = os.path.join(directory, "test_data_set_0", "%s_%d.pb" % (kind, i))
            data[name] = tensor(open(path, "rb").read())
    for number, value in fields(graph):
        if number == 5:
            item = tensor(value)
            data.setdefault(item[0], item)
    if op == "Split" and len(inputs) < 2:  # before opset 18 the number of outputs said it
        attributes.append("num_outputs=%d" % len(outputs))
    return inputs, outputs, op, attributes, data


def shape_text(item):
    return item[1] + str(item[2]).replace(" ", "")


def main():
    out = sys.stdout.buffer
    for name in sorted(os.listdir(sys.argv[1])):
        case = load(os.path.join(sys.argv[1], name), sys.argv[2:])
        if case is None:
            continue
        inputs, outputs, op, attributes, data = case
        shapes = ";".join(shape_text(data[i]) if i else "-" for i in inputs)
        out.write(("%s|%s|%s|%s|%s|%s\n" % (name, op, shapes, ",".join(attributes), "".join("1" if o else "0" for o in outputs),
                                            ";".join(shape_text(data[o]) for o in outputs if o))).encode())
        for used in inputs + outputs:
            if used:
                out.write(data[used][3])


if __name__ == "__main__":
    main()
