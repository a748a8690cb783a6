#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The definitions with 113 bits of mantissa call no function of the C library's other long double: check_quad.py BUILD"""
import pathlib
import re
import subprocess
import sys


def main():
    objects = sorted(pathlib.Path(sys.argv[1], "kernels").rglob("opd_quad.dir/**/*.o"))
    if not objects:
        print("skipped: this build has no such definitions")
        return 77
    called = subprocess.run(["nm", "-u", *objects], capture_output=True, text=True, check=True).stdout
    wrong = sorted(set(re.findall(r"^ +U (_*[a-z0-9]+l)$", called, re.M)))
    print(f"{len(objects)} objects" + "".join(f"\n{name}: has no second name in quad_math.h" for name in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
