#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Failures of operators outside BLAS, saved by `run`, go through every command that takes a bundle; each prints the next one, which works."""
import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ENVIRONMENT = dict(os.environ, LC_ALL="C", NO_COLOR="1", OPSDEBUG_STORE="", PATH=f"{BUILD}:{os.environ['PATH']}")
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="general-"))
atexit.register(shutil.rmtree, FOLDER)

# Operator, variant, what shows it; what is left of the call; words of the reduced failure.
CASES = [
    ("Softmax", "faulty-softmax_no_max", ["--fill", "constant:100", "--input-shapes", "[2,5]"], "Softmax(input f32[1, 1]", "NaN born in output[0, 0]"),
    # Candidates that the variant declines (normalized over more than the last axis) are no calls of it.
    ("LayerNormalization", "faulty-norm_one_pass", ["--fill", "normal:1000:1", "--input-shapes", "[2,3,8];[8];[8]"], "LayerNormalization(X f32[1, 1, ", "wrong value in Y["),
    ("FusedAttention", "faulty-attention_scale", ["--input-shapes", "[1,2,5,8];[1,2,7,8];[1,2,7,4]"], "FusedAttention(Q f32[1, ", "wrong value in Y["),
    ("MatMul", "faulty-matmul_column", ["--input-shapes", "[3,4];[4,5]"], "MatMul(", "wrong value in Y["),
    ("Add", "faulty-add_tail_read", ["--input-shapes", "[2,5];[2,5]", "--guard"], "Add(", "read out of bounds"),
]


def call(*words):
    return subprocess.run(["ops-debug", *map(str, words)], capture_output=True, text=True, timeout=600, env=ENVIRONMENT, cwd=FOLDER)


def check(done, status, *parts):
    assert done.returncode == status, (done.args, done.returncode, done.stdout, done.stderr)
    for part in parts:
        assert part in done.stdout, (done.args, part, done.stdout)
    return done.stdout


def next_of(text):
    return [line.removeprefix("next: ") for line in text.splitlines() if line.startswith("next: ")][-1]


def follow(text, status, *parts):
    """What it prints as the next command, run as it stands."""
    done = subprocess.run(["sh", "-c", next_of(text)], capture_output=True, text=True, timeout=600, env=ENVIRONMENT, cwd=FOLDER)
    return check(done, status, *parts)


def failures_are_replayed_reduced_and_explained():
    for op, variant, words, left, failure in CASES:
        name = f"{variant}.opsb"
        said = check(call("run", "--op", op, "--variant", variant, *words, "--save", name, "--no-exact"), 1)
        guard = ["--guard"] if "--guard" in words else []
        check(call("replay", name, *guard), 1, "failure reproduced")
        assert next_of(said) == " ".join(["ops-debug reduce", name, "-o min.opsb", *guard]), said
        said = check(call("reduce", name, "-o", f"min-{name}"), 0, left, failure)
        follow(said, 1, "failure reproduced")
        check(call("diagnose", f"min-{name}", *guard), 1, "failure ", failure)
        check(call("diff", name, f"min-{name}"), 1)
        check(call("attribute", f"min-{name}", "--range", "[" + "0," * (len(shape_of(f"min-{name}")) - 1) + "0]"), 0, "input ", "errors ")


def shape_of(name):
    """Of the last operand of the bundle's call, which is the output."""
    return json.loads(call("show", name, "--json").stdout)["calls"][0]["operands"][-1]["shape"]


def groups_and_traces_are_made():
    names = [f"{variant}.opsb" for _, variant, *_ in CASES]
    said = check(call("group", *names, *(f"min-{name}" for name in names)), 0, "mismatch|LayerNormalization|real|Y", "nan|Softmax|real|output", "mismatch|MatMul|real|Y")
    assert "could not be read" not in said
    for name in names:
        for form, ending in (("perfetto", "pftrace"), ("chrome", "json"), ("csv", "csv")):
            check(call("export", name, "-o", f"out.{ending}", "--format", form), 0, "1 call")
    check(call("trace", "faulty-norm_one_pass.opsb"), 1, "first wrong  variance", "next: ops-debug reduce faulty-norm_one_pass.opsb -o min.opsb")


def old_content_of_an_output_is_not_made_up():
    """Nobody recorded what the output held: no value of it can be the reason of the NaN."""
    document = json.loads(call("show", "min-faulty-softmax_no_max.opsb", "--json").stdout)
    operands = {operand["name"]: operand for operand in document["calls"][0]["operands"]}
    assert operands["input"].get("before") and not operands["output"].get("before"), operands
    assert document["failures"][0]["label"] != "unread-operand-read", document["failures"]


def a_c_file_is_for_blas_and_the_line_says_what_else():
    done = call("reduce", "faulty-softmax_no_max.opsb", "-o", "again.opsb", "--emit-c", "again.c")
    assert done.returncode == 3 and done.stdout == "" and len(done.stderr.splitlines()) == 1, (done.stdout, done.stderr)
    assert not (FOLDER / "again.opsb").exists() and not (FOLDER / "again.c").exists()
    words = done.stderr.strip().rpartition("the bundle alone: ")[2]
    assert words == "ops-debug reduce faulty-softmax_no_max.opsb -o again.opsb", done.stderr
    follow(f"next: {words}", 0, "written      again.opsb")


def a_failure_without_a_bundle_says_how_to_keep_it():
    said = check(call("run", "--op", "Softmax", "--variant", "faulty-softmax_no_max", "--fill", "constant:100", "--input-shapes", "[2,5]"), 1, "NAN")
    follow(said, 1, "next: ops-debug reduce fail.opsb -o min.opsb")
    check(call("replay", "fail.opsb"), 1, "failure reproduced")
    said = check(call("run", "--op", "Softmax"), 0)
    assert "next:" not in said, said


failures_are_replayed_reduced_and_explained()
groups_and_traces_are_made()
old_content_of_an_output_is_not_made_up()
a_c_file_is_for_blas_and_the_line_says_what_else()
a_failure_without_a_bundle_says_how_to_keep_it()
