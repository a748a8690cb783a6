#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that nothing has, in any command, are an error of usage: one line with what is meant or what there is, status 2, nothing on standard output."""
import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(sys.argv[1]).resolve() / "ops-debug"
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="names-"))
atexit.register(shutil.rmtree, FOLDER)
ENVIRONMENT = dict(os.environ, LC_ALL="C", NO_COLOR="1")


def call(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=600, env=ENVIRONMENT, cwd=FOLDER)


NORM = ["--op", "LayerNormalization"]
# What is given; what the line says.
UNKNOWN = [
    (["selftest", "--only", "Nope"], "no operator Nope; ops-debug ops lists them"), (["selftest", "--only", "Softmx"], "did you mean ai.onnx.Softmax?"),
    (["selftest", "--skip-wrong", "--healthy", "3", "--only", "Softmx"], "did you mean ai.onnx.Softmax?"),
    (["selftest", "--only", "blas.Softmax"], "no operator blas.Softmax"),
    (["selftest", "--only", "Reshape"], "has no variant that is wrong on purpose"),
    (["run", "--op", "Softmx"], "did you mean ai.onnx.Softmax?"), (["validate", "--op", "Softmx"], "did you mean ai.onnx.Softmax?"),
    (["trace", "--op", "Softmx"], "did you mean ai.onnx.Softmax?"), (["attribute", "--op", "Softmx", "--range", "[0]"], "did you mean ai.onnx.Softmax?"),
    (["ops", "Softmx"], "did you mean ai.onnx.Softmax?"), (["ops", "dgemmm"], "no operator dgemmm"),
    (["run", "--op", "Softmax", "--variant", "navie"], "Softmax has no variant navie; it has "),
    (["validate", "--op", "Relu", "--variant", "navie"], "Relu has no variant navie; it has "),
    (["validate", "--op", "Relu", "--variant", "navie", "--form", "[7]"], "Relu has no variant navie"),
    (["trace", *NORM, "--variant", "navie"], "has no variant navie"), (["attribute", *NORM, "--variant", "navie", "--range", "[0,0,0]"], "has no variant navie"),
    (["run", "--op", "Softmax", "--attrs", "axes=1"], "Softmax has no attribute axes; it has axis"),
    (["validate", "--op", "Softmax", "--form", "[3] | axes=1 |"], "Softmax has no attribute axes; it has axis"),
    (["run", *NORM, "--outputs", "Mean,Variance"], "LayerNormalization has no output Variance; it has Y, Mean, InvStdDev"),
    (["attribute", *NORM, "--output", "Z", "--range", "[0,0,0]"], "LayerNormalization has no output Z"),
    (["trace", *NORM, "--checkpoint-mode", "mean,median"], "LayerNormalization has no stage median; it has: mean variance normalized"),
    (["trace", *NORM, "--checkpoint-mode", ","], "--checkpoint-mode names no stage"), (["run", "--op", "Softmax", "--fill", "unifrm"], "none of: uniform"),
    (["run", "--op", "Softmax", "--reference", "troch"], "--reference troch"), (["replayy"], "did you mean replay?"), (["help", "runn"], "did you mean run?"),
    (["record", "--trigger", "nann", "--", "true"], "unknown trigger 'nann'"),
    (["replay", "fail.opsb", "--variant", "navie"], "Softmax has no variant navie"), (["reduce", "fail.opsb", "-o", "min.opsb", "--variant", "navie"], "has no variant navie"),
    (["diagnose", "fail.opsb", "--variant", "navie"], "has no variant navie"), (["attribute", "fail.opsb", "--range", "[0,0]", "--variant", "navie"], "has no variant navie"),
    (["trace", "fail.opsb", "--variant", "navie"], "has no variant navie"), (["replay", "fail.opsb", "--core", "Pentium"], "--core Pentium: OpenBLAS knows no such core"),
    (["replay", "fail.opsb", "--isa", "SSE5"], "--isa SSE5"), (["export", "fail.opsb", "-o", "out", "--format", "perfeto"], "known: perfetto"),
]


# Options that take a number: command, option, beside it; of each, texts that are none.
NUMBERS = [(command, "--call", ["fail.opsb"]) for command in ("show", "replay", "reduce", "diagnose")] + [
    (command, option, ["fail.opsb"]) for command in ("replay", "reduce", "diagnose") for option in ("--threads", "--repeat", "--timeout")] + [
    ("replay", "--jobs", ["fail.opsb"]), ("reduce", "--budget", ["fail.opsb", "-o", "min.opsb"]),
    *[("run", option, ["--op", "Relu"]) for option in ("--repeat", "--threads", "--timeout", "--seed", "--abs-err", "--rel-err")],
    *[("selftest", option, []) for option in ("--seed", "--healthy", "--jobs")], *[("validate", option, ["--op", "Relu"]) for option in ("--jobs", "--seed")],
    *[(command, "--seed", ["--op", "Relu"]) for command in ("trace", "attribute")], ("trigger", "--timeout", ["1"]),
    *[("record", option, ["-o", "out", "--", "true"]) for option in ("--budget", "--range", "--sample", "--first", "--overhead", "--verify", "--bundles", "--per-failure")],
]
NO_NUMBERS = ("x", "", "-1", "1x", "nan", "1:", "99999999999999999999x")
# Numbers within a text.
WITHIN = [
    (["attribute", "--op", "Relu", "--range", "x"], "--range x: wanted is a list"), (["attribute", "--op", "Relu", "--range", "[1,x]"], "--range [1,x]"),
    (["run", "--op", "Relu", "--input-shapes", "[x]"], "not [x]"), (["run", "--op", "Relu", "--input-shapes", "[2,-3]"], "negative"),
    (["trace", *NORM, "--input-shapes", "[3"], "not [3"), (["run", "--op", "Softmax", "--attrs", "axis=x"], "axis is a whole number, not x"),
    (["run", *NORM, "--attrs", "epsilon=x"], "epsilon is a number, not x"), (["run", "--op", "Softmax", "--attrs", "axis"], "NAME=VALUE"),
    (["replay", "fail.opsb", "--call", "1:x"], "neither NUMBER nor THREAD:NUMBER"), (["show", "fail.opsb", "--call", " 1"], "neither NUMBER nor"),
    (["record", "--trigger", "timeout=x", "--", "true"], "timeout"), (["trigger", "x"], "x"), (["run", "--op", "Relu", "--fill", "constant:x"], "--fill constant:x"),
]


def malformed_numbers_are_errors_of_usage():
    for command, option, beside in NUMBERS:
        for text in NO_NUMBERS:
            done = call(command, f"{option}={text}", *beside)
            assert done.returncode == 2 and done.stdout == "", (command, option, text, done.returncode, done.stdout, done.stderr)
            assert len(done.stderr.splitlines()) == 1 and (text == "" or text in done.stderr), (command, option, text, done.stderr)
    for words, part in WITHIN:
        done = call(*words)
        assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1 and part in done.stderr, (words, done)
    assert sorted(path.name for path in FOLDER.iterdir()) == ["fail.opsb"], "something was written"


def names_that_nothing_has_are_errors_of_usage():
    for words, part in UNKNOWN:
        done = call(*words)
        assert done.returncode == 2 and done.stdout == "", (words, done.returncode, done.stdout, done.stderr)
        assert len(done.stderr.splitlines()) == 1 and part in done.stderr, (words, done.stderr)
    assert sorted(path.name for path in FOLDER.iterdir()) == ["fail.opsb"], "something was written"


def what_is_there_but_cannot_be_run_is_no_error_of_usage():
    done = call("run", "--op", "blas.gemm")
    assert done.returncode == 3 and "blas.gemm has no variant to run here: it is the contract of " in done.stderr, done.stderr
    done = call("run", "--op", "gemm")  # no operator of ONNX by that name: letters count
    assert done.returncode == 3 and "replay its bundle with --library" in done.stderr, done.stderr
    done = call("show", "fail.opsb", "--call", "99")
    assert done.returncode == 3 and "no call 99" in done.stderr, done.stderr


def a_domain_may_stand_before_the_operator():
    found = json.loads(call("selftest", "--only", "ai.onnx.Gather", "--seed", "3", "--json").stdout)
    assert found["wrong_variants"] == 1 and found["variants"][0]["detected"] == "negative-index" and found["forms_failing"] == 1, found


def contracts_tell_workspace_and_threads():
    found = json.loads(call("ops", "FusedAttention", "--json").stdout)["operators"][0]
    variants = {variant["name"]: variant for variant in found["variants"]}
    assert found["thread_safety"] == "safe" and variants["portable"]["workspace_bytes"] > 0 and variants["naive"]["allocates"], found
    assert not variants["portable"]["allocates"] and variants["naive"]["workspace_bytes"] == 0, variants
    assert json.loads(call("ops", "dgemm", "--json").stdout)["operators"][0]["thread_safety"] == "of the library"
    said = call("ops", "FusedAttention").stdout
    assert f", workspace {variants['portable']['workspace_bytes']} bytes" in said and "threads     safe" in said, said


done = call("run", "--op", "Softmax", "--variant", "faulty-softmax_no_max", "--fill", "constant:100", "--input-shapes", "[2,5]", "--save", "fail.opsb")
assert done.returncode == 1, (done.stdout, done.stderr)
for test in (malformed_numbers_are_errors_of_usage, names_that_nothing_has_are_errors_of_usage, what_is_there_but_cannot_be_run_is_no_error_of_usage,
             a_domain_may_stand_before_the_operator, contracts_tell_workspace_and_threads):
    test()
    print(f"ok: {test.__name__}")
