#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""validate and selftest as a user runs them: right variants pass, wrong ones are told by kind, whatever the seed."""
import json
import subprocess
import sys

PROGRAM = sys.argv[1] + "/ops-debug"


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=280)
    return done.returncode, done.stdout, done.stderr


def check(condition, what, *more):
    if not condition:
        print("FAILED:", what, *more)
        sys.exit(1)


def right_variants_pass():
    for name in ("Relu", "RMSNormalization"):
        status, out, err = run("validate", "--op", name, "--json")
        document = json.loads(out)
        check(status == 0 and document["failures"] == 0 and document["kind"] is None, name, out[-2000:], err)
        check(document["calls"] > 50, f"{name}: {document['calls']} calls")
        check(document["determinism"]["threads"] == "same", document["determinism"])


def a_wrong_one_is_told_with_a_command_that_shows_it():
    status, out, err = run("validate", "--op", "Relu", "--variant", "faulty-relu_nan")
    check(status == 1 and "FAIL" in out and "nan-rule" in out, out, err)
    line = [text for text in out.splitlines() if text.startswith("next: ")][-1]
    done = subprocess.run(line.removeprefix("next: ").replace("ops-debug", PROGRAM, 1), shell=True, capture_output=True, text=True)
    check(done.returncode == 1, line, done.stdout, done.stderr)


def kinds_do_not_hang_on_the_seed():
    for seed in ("1", "424242"):
        for name in ("Neg", "Sqrt"):
            status, out, err = run("selftest", "--seed", seed, "--only", name, "--json")
            document = json.loads(out)
            check(status == 0 and document["right_kind"] == document["wrong_variants"] > 0, name, seed, out, err)


def usage_errors_are_one_line():
    for arguments in (("validate",), ("validate", "--op", "Nope"), ("validate", "--op", "Relu", "extra"), ("selftest", "--jobs", "0"),
                      ("validate", "--op", "Relu", "--variant", "nope")):
        status, out, err = run(*arguments)
        check(status in (2, 3) and out == "" and len(err.strip().splitlines()) == 1, arguments, status, out, err)


right_variants_pass()
a_wrong_one_is_told_with_a_command_that_shows_it()
kinds_do_not_hang_on_the_seed()
usage_errors_are_one_line()
