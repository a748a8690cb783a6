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
    for name in ("Relu",):
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
    for seed, name in (("1", "Neg"), ("424242", "Sqrt")):
        status, out, err = run("selftest", "--seed", seed, "--only", name, "--json")
        document = json.loads(out)
        check(status == 0 and document["right_kind"] == document["wrong_variants"] > 0, name, seed, out, err)


def forms_are_run_and_repeated():
    """A line of validate repeats a failure that run has no options for; each form beside a wrong variant fails."""
    for name, variant, form in (("Relu", "faulty-relu_aligned", "[1] | | misaligned"), ("Mul", "faulty-mul_alias", "[1];[1] | | in-place"),
                                ("Neg", "faulty-neg_stride", "[2] | | strided")):
        status, out, err = run("validate", "--op", name, "--variant", variant, "--form", form, "--json")
        document = json.loads(out)
        check(status == 1 and document["calls"] == 1 and document["failures"] == 1, form, out, err)
        check(document["probes"][0]["form"] == form, document["probes"])
    status, out, err = run("validate", "--op", "Relu", "--form", "[7] | | fill=special strided", "--json")
    check(status == 0 and json.loads(out)["probes"][0]["form"] == "[7] | | fill=special strided", out, err)
    status, out, err = run("validate", "--op", "Neg", "--variant", "faulty-neg_stride", "--seed", "7")
    line = [text for text in out.splitlines() if text.startswith("next: ")][-1]
    check(status == 1 and "--form" in line and "strided" in line, out)
    done = subprocess.run(line.removeprefix("next: ").replace("ops-debug", PROGRAM, 1), shell=True, capture_output=True, text=True)
    check(done.returncode == 1, line, done.stdout, done.stderr)
    for form in ("[1] | | sideways", "[1] | | strided guard", "[1] | | | |", "[1] | | dtype=f99", "[1] | | fill=nope"):
        status, out, err = run("validate", "--op", "Relu", "--form", form)
        check(status == 2 and out == "" and len(err.strip().splitlines()) == 1, form, status, out, err)


def boundaries_are_tried():
    """0, 1, primes, 2^20; around the widths that a variant declares (MatMul's columns: 8 or 16); misaligned and aliased operands."""
    status, out, err = run("validate", "--op", "Add", "--json")
    probes = json.loads(out)["probes"]
    forms = [probe["form"] for probe in probes]
    for form in ("[1,1,1];[1,1,1]", "[1,1,1048576];[1,1,1048576]", "[0,3,5];[0,3,5]", "[7,3,5];[7,3,5]"):
        check(form in forms, form, forms)
    for word in ("misaligned", "same-input", "in-place", "strided", "guard", "poisoned", "threads", "concurrent", "repeat"):
        check(any(form.endswith(word) for form in forms), word, forms)
    status, out, err = run("validate", "--op", "Transpose", "--variant", "portable", "--json")
    sizes = " ".join(probe["shapes"] for probe in json.loads(out)["probes"])
    for size in (31, 32, 33, 65535, 65536, 65537):  # "tile=32 block=65536"
        check(f"{size}" in sizes.replace("[", ",").replace("]", ",").split(","), size, sizes)


# Attributes of a contract, and the ends of what they may be: by what ONNX and the contracts say, not by what the program lists.
ENDS = {"ReduceSum": ["keepdims=0", "keepdims=1", "noop_with_empty_axes=0", "noop_with_empty_axes=1"],
        "Softmax": [f"axis={axis}" for axis in range(-3, 3)],  # of three dimensions
        "LayerNormalization": ["epsilon=0", "stash_type=1", "stash_type=10", "stash_type=11", "stash_type=16", "axis=-3", "axis=2"],
        "BatchNormalization": ["momentum=0", "momentum=1", "epsilon=0", "training_mode=1"],
        "MaxPool": ["dilations=[1,1]", "strides=[1,1]", "pads=[0,0,0,0]", "kernel_shape=[1,1]", "ceil_mode=1", "storage_order=0"]}


def ends_of_what_attributes_may_be_are_tried():
    for name, ends in ENDS.items():
        status, out, err = run("validate", "--op", name, "--json")
        probes = json.loads(out)["probes"]
        tried = [probe["attributes"] for probe in probes if probe["kind"] == "attributes" and probe["fill"] == ""]
        check(status == 0, name, [probe for probe in probes if probe["outcome"] != "ok"], json.loads(out)["determinism"], err)
        check(set(ends) <= set(tried), name, set(ends) - set(tried), tried)
        check(len(tried) == len(set(tried)), name, "one is tried twice", tried)
        # A sum over all dimensions has no batch whose elements could be compared; rows of LayerNormalization are one.
        batch = json.loads(out)["determinism"]["batch"]
        check(batch == ("unknown" if name == "ReduceSum" else "same"), name, json.loads(out)["determinism"])


def twins_with_other_contents_keep_the_shapes():
    """Threads at once have data of their own; contents that shapes hang on (scales of Resize) are the same for all."""
    for seed in ("34", "36"):
        status, out, err = run("validate", "--op", "Resize", "--seed", seed, "--form", " | | concurrent")
        check(status == 0, out, err)


def what_leaves_the_range_on_the_way_is_not_accused():
    """Squares beyond f32 whose root is not; products of weights and values below the least subnormal."""
    for name in ("LpNormalization", "ReduceL2", "RMSNormalization", "opsdebug.WindowL2Normalization"):
        for value in ("1e-40", "1e-23", "1e25"):
            status, out, err = run("validate", "--op", name, "--variant", "naive", "--form", f"| | fill=constant:{value}")
            check(status == 0, name, value, out, err)
    for name, variant, form, seed in (("opsdebug.FusedAttention", "unfused", "[2,4,5,4];[2,4,6,4];[2,4,6,2];- | | fill=constant:1e-40", "0"),
                                      ("opsdebug.FusedAttention", "unfused", "[2,4,5,4];[2,4,5,4];[2,4,5,2];- | | fill=special", "1636"),
                                      ("opsdebug.LayerNormBias", "naive", "[2,65,5];[5];[5];[5] | | dtype=bf16 fill=special", "2574"),
                                      ("Attention", "naive", "[2,4,5,2];[2,4,7,2];[2,4,7,8];-;-;- | | fill=special", "2927"),
                                      ("opsdebug.FusedAttention", "portable", "[13,4,5,4];[13,4,6,4];[13,4,6,2];- | | fill=special", "2152"),
                                      ("opsdebug.FusedAttention", "portable", "[2,4,257,4];[2,4,6,4];[2,4,6,2];- | | fill=special", "9559"),
                                      ("opsdebug.AddLayerNorm", "naive", "[2,129,5];[2,129,5];[5];[5] | | fill=special", "4454"),
                                      ("LayerNormalization", "portable", "[63,3,5];[5];[5] | | dtype=f64 fill=special", "98588"),
                                      ("LpNormalization", "naive", "[2,3,5] | | fill=special", "92482"),
                                      ("RMSNormalization", "avx2", "[2,17,5];[5] | | fill=special", "10526"),
                                      ("opsdebug.WindowL2Normalization", "naive", "[2,3,5,63] | | fill=special", "7203"),
                                      ("opsdebug.WindowL2Normalization", "naive", "[1,1,1,8] | | fill=special", "100486"),
                                      ("ReduceMean", "naive", "[1,1,8];- | | fill=special", "91943"),
                                      ("Gemm", "avx2", "[3,2];[2,5];[3,5] | alpha=0 | fill=special", "3014867"),
                                      ("LSTM", "avx2", "[3,385,5];[1,16,5];[1,16,4];[1,32];-;-;-;- | | fill=special", "3000494")):
        status, out, err = run("validate", "--op", name, "--variant", variant, "--form", form, "--seed", seed)
        check(status == 0 or "this CPU has no" in err, name, form, out, err)


def bits_may_differ_where_nobody_promises_them():
    """OpenBLAS divides a product otherwise among three threads, and takes memory for them: neither is declared not to happen. Our own sums promise the bits."""
    for form, seed in (("| | fill=constant:1e9 threads", "2451"), ("| | repeat", "33")):
        status, out, err = run("validate", "--op", "MatMul", "--variant", "openblas", "--form", form, "--seed", seed)
        check(status == 0 or "declines" in err, form, out, err)
    status, out, err = run("validate", "--op", "ReduceSum", "--variant", "faulty-sum_threads", "--form", "[1000] | | threads", "--json")
    check(status == 1 and json.loads(out)["probes"][0]["thread_dependent"], out, err)


def a_mask_does_not_hide_what_is_wrong():
    """The key that the causal mask should have excluded, where there is one query, and two keys."""
    status, out, err = run("validate", "--op", "opsdebug.FusedAttention", "--variant", "faulty-attention_causal",
                           "--form", "[1,1,1,1];[1,1,2,1];[1,1,2,1] | is_causal=1", "--json")
    check(status == 1 and json.loads(out)["failures"] == 1, out, err)


def large_values_tell_range_however_long_sums_round():
    """Softmax sums 2^20 terms in f32 besides; Exp sums nothing, so that nothing cancels."""
    for name, variant in (("Exp", "faulty-exp_range"), ("Softmax", "faulty-softmax_no_max")):
        status, out, err = run("validate", "--op", name, "--variant", variant, "--seed", "1001", "--json")
        check(status == 1 and json.loads(out)["kind"] == "range", out[-3000:], err)


def terms_that_cancel_are_told_so_whether_or_not_a_nan_is_left():
    """With seed 1 the variance of one line comes out negative."""
    for seed in ("1", "1001"):
        status, out, err = run("validate", "--op", "LayerNormalization", "--variant", "faulty-norm_one_pass", "--seed", seed, "--json")
        check(status == 1 and json.loads(out)["kind"] == "cancellation", seed, out[-3000:], err)


def right_variants_are_not_accused():
    status, out, err = run("selftest", "--seed", "3", "--only", "Add", "--healthy", "60", "--json")
    document = json.loads(out)
    check(status == 0 and document["verifications"] >= 60 and document["false_alarms"] == 0, out[-3000:], err)
    check(document["forms_failing"] == document["wrong_variants"] == 5, document)
    rules = {rule["rule"]: rule for rule in document["other_rules"]}
    # A flipped sign and an unwritten element everybody sees; a read past the end nobody but us.
    check(set(rules) == {"torch", "onnx", "cosine"} and all(3 <= rule["wrong_variants_found"] <= 4 for rule in rules.values()), rules)


def usage_errors_are_one_line():
    for arguments in (("validate",), ("validate", "--op", "Nope"), ("validate", "--op", "Relu", "extra"), ("selftest", "--jobs", "0"),
                      ("validate", "--op", "Relu", "--variant", "nope")):
        status, out, err = run(*arguments)
        check(status in (2, 3) and out == "" and len(err.strip().splitlines()) == 1, arguments, status, out, err)


right_variants_pass()
a_wrong_one_is_told_with_a_command_that_shows_it()
kinds_do_not_hang_on_the_seed()
forms_are_run_and_repeated()
boundaries_are_tried()
ends_of_what_attributes_may_be_are_tried()
twins_with_other_contents_keep_the_shapes()
what_leaves_the_range_on_the_way_is_not_accused()
bits_may_differ_where_nobody_promises_them()
a_mask_does_not_hide_what_is_wrong()
large_values_tell_range_however_long_sums_round()
terms_that_cancel_are_told_so_whether_or_not_a_nan_is_left()
right_variants_are_not_accused()
usage_errors_are_one_line()
