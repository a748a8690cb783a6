# SPDX-License-Identifier: Apache-2.0
"""Reads the files that trial_file.c writes, and judges them by a function of the caller."""
import json

import numpy as np

DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": np.uint16, "i8": np.int8, "i16": np.int16, "i32": np.int32,
          "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.uint8}


def read(file, operand):
    if operand is None:
        return None
    _, dtype, shape = operand
    count = int(np.prod(shape, dtype=np.int64))
    data = file.read(count * np.dtype(DTYPES[dtype]).itemsize)
    return np.frombuffer(data, DTYPES[dtype], count).reshape(shape)


def judge(path, expect, differs):
    """expect(case, inputs): the right outputs (None where absent). differs(case, got, want, dtype): what is wrong, or None. Prints the tally."""
    runs = wrong = 0
    with open(path, "rb") as file:
        for line in iter(file.readline, b""):
            case = json.loads(line)
            inputs = [read(file, operand) for operand in case["inputs"]]
            want = expect(case, inputs)
            for variant in case["variants"]:
                runs += 1
                for operand, right in zip(case["outputs"], want):
                    got = read(file, operand)
                    if operand is None:
                        continue
                    problem = "shape %s, not %s" % (got.shape, right.shape) if got.shape != right.shape else \
                        differs(case, got, right, operand[1])
                    if problem is not None:
                        wrong += 1
                        print(case["op"], variant, case["attributes"], case["inputs"], operand, problem)
                        if any(array is not None and array.size <= 16 for array in inputs):
                            print("   ", [array.tolist() for array in inputs if array is not None and array.size <= 16])
    print("checked", runs, "wrong", wrong)
