#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the hand-written sources of the folders, in parallel: check_tidy.py BUILD [FILE...]"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

FOLDERS = ("core", "proto", "kernels", "recorder", "replayer", "reducer", "viewer-export", "cli")


KNOWLEDGE = pathlib.Path(__file__).with_name("analyzer.h")


def tidy(build, source):
    command = ["clang-tidy", "-p", str(build), "--quiet"]
    # gcc's warning flags and pragmas that clang does not know are no findings.
    command += ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-unknown-pragmas"]
    command += [f"--extra-arg=-include{KNOWLEDGE}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    return source, done.returncode, done.stdout or done.stderr


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parents[2]
    wanted = {pathlib.Path(f).resolve() for f in sys.argv[2:]}
    sources = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"]).resolve()
        inside = source.is_relative_to(root) and source.relative_to(root).parts[0] in FOLDERS
        if inside and (not wanted or source in wanted):
            sources.add(source)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, code, text in pool.map(lambda s: tidy(build, s), sorted(sources)):
            if code != 0:
                failed += 1
                print(f"== {source.relative_to(root)}\n{text}", flush=True)
    print(f"clang-tidy: {len(sources)} files, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
