#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a golden case: CASE/cmd (shell) with the programs of BUILD first in PATH; compares exit status and output.

expect.exit  the exit status, default 0
expect.out   standard output; in a line '*' stands for any text, a line '...' for any lines
expect.err   standard error, likewise; default: empty
--update     writes what came, keeping a file that already matches
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def matches(pattern, text):
    parts = []
    for line in pattern.splitlines():
        parts.append(r"(?:.*\n)*?" if line == "..." else "[^\n]*".join(map(re.escape, line.split("*"))) + r"\n")
    if text and not text.endswith("\n"):
        text += "\n"
    return re.fullmatch("".join(parts), text) is not None


def run(case, build, source):
    environment = dict(os.environ, SOURCE=str(source), CASE=str(case), LC_ALL="C", NO_COLOR="1", COLUMNS="80")
    environment["PATH"] = f"{build}:{environment['PATH']}"
    environment.pop("ARGP_HELP_FMT", None)
    environment["LSAN_OPTIONS"] = f"suppressions={source}/tests/support/lsan.supp:print_suppressions=0"
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        done = subprocess.run(["sh", case / "cmd"], cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout, done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    o = parser.parse_args()
    source = pathlib.Path(__file__).resolve().parents[2]
    failed = 0
    for case in o.cases:
        case = case.resolve()
        if not (case / "cmd").is_file():
            parser.error(f"{case}: no case, it has no cmd")
        code, out, err = run(case, o.build.resolve(), source)
        if code == 77:
            print(f"skipped: {out}{err}")
            return 77
        for name, default, got in (("expect.exit", "0\n", f"{code}\n"), ("expect.out", "", out), ("expect.err", "", err)):
            path = case / name
            want = path.read_text() if path.exists() else default
            if matches(want, got):
                continue
            if o.update:
                path.write_text(got)
                print(f"{path}: rewritten")
                continue
            failed += 1
            print(f"{case.name}: {name} differs\n--- wanted\n{want}--- got\n{got}---\n"
                  f"rerun: {shlex.quote(str(pathlib.Path(__file__)))} --update {o.build} {case}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
