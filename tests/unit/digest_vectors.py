#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the expected values in test_digest.c: header and elements composed by hand from the definition of the digest in
tensor.h, hashed by `xxhsum -H2` (package xxhash). Run it and compare when the definition changes; that is a format change."""
import struct
import subprocess

F32, F64, U8 = 3, 4, 11


def digest(dtype, dims, form, form_words, code, elements):
    header = struct.pack("<II", dtype, len(dims) | form << 16) + struct.pack("<%dq" % (len(dims) + len(form_words)), *dims, *form_words)
    data = header + struct.pack("<%d%s" % (len(elements), code), *elements)
    return subprocess.run(["xxhsum", "-H2"], input=data, capture_output=True, check=True).stdout.split()[0].decode()


def main():
    vectors = {
        "scalar": digest(F64, [], 0, [], "d", [2.5]),
        "nothing": digest(F32, [0], 0, [], "f", []),
        "row of six": digest(F32, [6], 0, [], "f", [1, 2, 3, 4, 5, 6]),
        # columns of 2 in rows of 3 of a buffer 0..11
        "rows with a gap": digest(F32, [3, 2], 0, [], "f", [0, 1, 4, 5, 8, 9]),
        # 3x3 by columns, 0..8: column j holds rows j..2, so 0 <= row - column < 3: slope -1, outer = column
        "lower by columns": digest(F64, [3, 3], 1, [-1, 0, 3, -1, -1], "d", [0, 1, 2, 4, 5, 8]),
        "strictly lower by columns": digest(F64, [3, 3], 1, [-1, 1, 3, -1, -1], "d", [1, 2, 5]),
        # tridiagonal 4x4: storage 3 x 4 by columns, element (s, j) of matrix row j + s - 1, which lies in 0..3: 1 <= j + s < 5
        "band": digest(F64, [4, 3], 1, [1, 1, 5, -1, -1], "d", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        # bidiagonal (kl 0, ku 1) without its diagonal, which is storage row 1
        "unit band": digest(F64, [4, 2], 1, [1, 1, 5, -1, 1], "d", [2, 4, 6]),
        "packed upper without diagonal": digest(F32, [6], 2, [1], "f", [1, 3, 4]),
        "packed lower without diagonal": digest(F32, [6], 2, [0], "f", [1, 2, 4]),
        "million bytes": digest(U8, [1000000], 0, [], "B", [i * 7 % 256 for i in range(1000000)]),
    }
    for name, value in vectors.items():
        print("%-32s %s" % (name, value))


main()
