#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads bundles with stock protoc and the shipped .proto files, independently of our reader.

    check_bundle.py PROTO_DIR GOLDEN_DIR WRITE_GOLDEN [--update]

The golden bundle must decode to the text kept beside it; a bundle written now must decode to the same text; its timeline,
inflated, must be a Perfetto trace with the two calls and an instant for the failure.
"""
import os
import re
import subprocess
import sys
import tempfile
import zlib


def decode(proto_dir, message, proto, data):
    command = ["protoc", f"--proto_path={proto_dir}", f"--decode={message}", proto]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"check_bundle: protoc cannot decode: {done.stderr.decode()}")
    return done.stdout.decode()


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def timelines(data):
    """The inflated field 50 of each record that has one."""
    at = 0
    while at < len(data):
        assert data[at] == 0x0A, f"no record at {at}"
        length, at = varint(data, at + 1)
        tag, body = varint(data, at + 20)
        if tag == 50 << 3 | 2:
            size, body = varint(data, body)
            yield zlib.decompress(data[body : body + size])
        at += length


def stable(text):
    """Without what a compressor or the encoder of the timeline may change: those bytes and all that follows from their length."""
    text = re.sub(r'compressed_packets: ".*"', 'compressed_packets: "..."', text)
    text = re.sub(r"check: \d+", "check: ...", text)
    text = re.sub(r"index_offset: \d+", "index_offset: ...", text)
    return re.sub(r"  index \{\n(    .*\n)*  \}", "  index {...}", text)


def check(condition, text):
    if not condition:
        sys.exit(f"check_bundle: {text}")


def main():
    proto_dir, golden_dir, write_golden = sys.argv[1:4]
    golden = os.path.join(golden_dir, "every_kind.opsb")
    expected = os.path.join(golden_dir, "every_kind.txt")
    with open(golden, "rb") as file:
        data = file.read()
    text = decode(proto_dir, "opsdebug.Bundle", "bundle.proto", data)
    if "--update" in sys.argv:
        with open(expected, "w", encoding="utf-8") as file:
            file.write(text)
    with open(expected, encoding="utf-8") as file:
        check(text == file.read(), f"{golden} does not decode to {expected}")

    with tempfile.TemporaryDirectory() as folder:
        fresh = os.path.join(folder, "fresh.opsb")
        subprocess.run([write_golden, fresh], check=True)
        with open(fresh, "rb") as file:
            written = file.read()
    now = decode(proto_dir, "opsdebug.Bundle", "bundle.proto", written)
    check(stable(now) == stable(text), "a bundle written now differs from the golden one")

    for content in (data, written):
        traces = list(timelines(content))
        check(len(traces) == 2, f"{len(traces)} timelines, not one of calls and one of the failure")
        failure = next(part for part in traces if b"failure" in part)
        traces.remove(failure)
        instant = decode(proto_dir, "opsdebug.perfetto.Trace", "perfetto.proto", failure)
        check(instant.count("type: TYPE_INSTANT") == 1, f"not one instant for the failure:\n{instant}")
        trace = decode(proto_dir, "opsdebug.perfetto.Trace", "perfetto.proto", traces[0])
        check(not re.search(r"^\s*\d+[: ]", trace, re.M), f"fields that perfetto.proto does not know:\n{trace}")
        check(trace.count("type: TYPE_SLICE_BEGIN") == 2, f"not two slices begin:\n{trace}")
        check(trace.count("type: TYPE_SLICE_END") == 1, f"not one slice ends (the other call is in flight):\n{trace}")
        for name in ("daxpy", "Swirl", "worker", "prog"):
            check(f'"{name}"' in trace, f"no {name} in the timeline:\n{trace}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
