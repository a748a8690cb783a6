#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone, as C17 and as C++17: check_headers.py ROOT CC CXX"""
import pathlib
import subprocess
import sys


def main():
    root, cc, cxx = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    failed = False
    for header in sorted((root / "include/opsdebug").glob("*.h")):
        for compiler, language, standard in ((cc, "c", "c17"), (cxx, "c++", "c++17")):
            source = f"#include <opsdebug/{header.name}>\n#include <opsdebug/{header.name}>\n"
            command = [compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                       "-fsyntax-only", "-I", str(root / "include"), "-"]
            done = subprocess.run(command, input=source, capture_output=True, text=True)
            if done.returncode != 0:
                failed = True
                print(f"{header.name} as {standard}:\n{done.stderr}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
