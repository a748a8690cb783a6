#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ops-debug trace`: variants whose inner stage is wrong on purpose are found at that stage, and healthy ones nowhere."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(sys.argv[1]).resolve() / "ops-debug"
ENVIRONMENT = dict(os.environ, LC_ALL="C", NO_COLOR="1")


def call(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=600, env=ENVIRONMENT)


def trace(op, *words, status):
    done = call("trace", "--op", op, "--json", *words)
    assert done.returncode == status, (op, words, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def says(found):
    return {stage["name"]: stage["says"] for stage in found["stages"]}


# Operator, variant, what shows it, the first stage that is wrong by its source (None: all stages are right, the outputs are not).
SMALL = ["--input-shapes", "[3,40]"]
NORM = ["--input-shapes", "[3,40];[40];[40]"]
HEADS = ["--input-shapes", "[1,2,5,8];[1,2,7,8];[1,2,7,4]"]
WRONG = [
    ("Softmax", "faulty-softmax_no_max", SMALL, "max"),
    ("Softmax", "faulty-softmax_last", SMALL, "sum"),
    ("LayerNormalization", "faulty-norm_sample", NORM, "variance"),
    ("LayerNormalization", "faulty-norm_one_pass", [*NORM, "--fill", "normal:1000:1"], "variance"),
    ("LayerNormalization", "faulty-norm_epsilon", [*NORM, "--fill", "normal:0:0.003"], "normalized"),
    ("RMSNormalization", "faulty-rms_epsilon", ["--input-shapes", "[3,40];[40]", "--fill", "normal:0:0.003"], "normalized"),
    ("FusedAttention", "faulty-attention_scale", HEADS, "scores"),
    ("FusedAttention", "faulty-attention_causal", [*HEADS, "--attrs", "is_causal=1"], "weights"),
    ("MatMulBiasGelu", "faulty-bias_lost", ["--input-shapes", "[4,6];[6,5];[5]"], "biased"),
    ("GeluAddResidual", "faulty-residual_first", ["--input-shapes", "[3,40];[3,40]"], "gelu"),
    ("LSTM", "faulty-lstm_gates", [], "cell"),
]


def first_wrong_stage_is_the_one_whose_source_is_wrong():
    for op, variant, words, stage in WRONG:
        for mode in ("all", "bisect"):
            found = trace(op, "--variant", variant, *words, "--checkpoint-mode", mode, status=1)
            assert found["first_wrong"] == stage, (op, variant, mode, found["first_wrong"], says(found))
            assert found["is_monotone"], (op, variant, mode, says(found))


def a_fault_that_stages_do_not_show_is_put_behind_the_last():
    done = call("trace", "--op", "Softmax", "--variant", "faulty-softmax_alias", "--input-shapes", "[3,40]")
    assert done.returncode == 3 and "NO_STAGE_SEEN" in done.stdout, done.stdout  # right unless the output lies in the input's memory
    done = call("trace", "--op", "LayerNormalization", "--variant", "faulty-norm_sample", *NORM, "--checkpoint-mode", "mean")
    assert done.returncode == 1 and "first wrong  the outputs, made after mean, which is right" in done.stdout, done.stdout
    assert done.stdout.splitlines()[-1] == ("next: ops-debug run --op LayerNormalization --variant faulty-norm_sample "
                                            "--input-shapes '[3,40];[40];[40]' --save fail.opsb"), done.stdout


def steps_come_before_stages():
    found = trace("LSTM", "--variant", "faulty-lstm_gates", status=1)
    stages = {stage["name"]: stage for stage in found["stages"]}
    assert stages["cell"]["first_step"] == 0 and stages["gates"]["first_step"] == 1, stages  # the gates of the next step read the wrong state
    assert stages["gates"]["steps"] == 7
    done = call("trace", "--op", "LSTM", "--variant", "faulty-lstm_gates")
    assert "first wrong  cell of step 0" in done.stdout, done.stdout


def bisection_asks_for_few_stages():
    found = trace("AddLayerNorm", "--checkpoint-mode", "bisect", status=0)
    assert found["probes"] == 3 and len(found["stages"]) == 4, found
    assert sum(said == "not asked for" for said in says(found).values()) == 1, found
    done = call("trace", "--op", "LSTM", "--checkpoint-mode", "bisect")
    assert done.returncode == 0 and "bisection    of no use: the stages come round step by step" in done.stdout, done.stdout


CHAINS = {"Softmax": [], "LogSoftmax": [], "LpNormalization": [], "LayerNormalization": [], "RMSNormalization": [], "GroupNormalization": [],
          "InstanceNormalization": [], "BatchNormalization": [], "LayerNormBias": [], "AddLayerNorm": [], "WindowL2Normalization": [],
          "GeluAddResidual": ["unfused"], "MatMulBiasGelu": ["portable", "unfused"], "QkvProjection": ["portable", "unfused"],
          "FusedAttention": ["portable", "unfused"], "Attention": ["portable", "unfused"], "LSTM": []}


def every_chain_has_stages_and_a_healthy_one_is_right_in_all():
    listed = {op["name"] for op in json.loads(call("ops", "--json").stdout)["operators"] if op.get("checkpoints")}
    assert listed == set(CHAINS), listed ^ set(CHAINS)
    for op, variants in CHAINS.items():
        for words in [[], ["--dtype", "f64"], ["--seed", "7"]]:
            for variant in variants if op == "GeluAddResidual" else [None, *variants]:  # None: the fastest
                words = [*words, *(["--variant", variant] if variant else [])]
                if op in ("FusedAttention", "Attention"):
                    words += ["--input-shapes", "[1,2,5,8];[1,2,7,8];[1,2,7,4]"]
                found = trace(op, *words, status=0)
                assert set(says(found).values()) == {"right"}, (op, words, says(found))
                assert found["first_wrong"] is None and found["is_monotone"]


def online_attention_puts_its_stages_together():
    """Several blocks of keys and parts of queries; keys that a causal row does not see; keys of the past; rows with nothing to attend to."""
    for op, words in (("FusedAttention", ["--input-shapes", "[1,2,70,8];[1,2,300,8];[1,2,300,4]"]), ("FusedAttention", ["--input-shapes", "[2,1,130,4];[2,1,130,4];[2,1,130,4]",
                       "--attrs", "is_causal=1"]), ("Attention", ["--input-shapes", "[1,4,66,8];[1,2,66,8];[1,2,66,8];bool[66,66]", "--dtype", "f16"]),
                      ("Attention", ["--input-shapes", "[1,2,3,8];[1,2,140,8];[1,2,140,8];-;[1,2,5,8];[1,2,5,8]", "--attrs", "is_causal=1"])):
        online = trace(op, *words, "--fill", "normal:0:2", status=0)
        assert set(says(online).values()) == {"right"}, (op, words, says(online))
    out = [json.loads(call("trace", "--op", "FusedAttention", *HEADS, "--variant", variant, "--json").stdout)["stages"] for variant in ("portable", "unfused")]
    assert [stage["count"] for stage in out[0]] == [stage["count"] for stage in out[1]] == [70, 70], out


def a_stage_that_is_not_seen_names_the_chain_that_has_it():
    done = call("trace", "--op", "GeluAddResidual", "--input-shapes", "[3,40];[3,40]")
    assert done.returncode == 3 and "not reported by this variant" in done.stdout and "NO_STAGE_SEEN" in done.stdout, done.stdout
    assert "not judged   gelu: not reported by variant " in done.stdout and "PASS" not in done.stdout, done.stdout
    assert trace("GeluAddResidual", "--input-shapes", "[3,40];[3,40]", status=3)["verdict"] == "NO_STAGE_SEEN"
    step = done.stdout.splitlines()[-1]
    assert step == "next: ops-debug trace --op GeluAddResidual --input-shapes '[3,40];[3,40]' --variant unfused", step
    done = subprocess.run(step.removeprefix("next: ").replace("ops-debug", str(PROGRAM), 1), shell=True, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0 and "right" in done.stdout and "next:" not in done.stdout, done.stdout


def stages_of_narrow_types_are_held_at_their_own_precision():
    for op, words in {"MatMulBiasGelu": ["--variant", "unfused"], "Softmax": [], "LayerNormalization": [], "LSTM": []}.items():
        for dtype in ("f16", "bf16"):
            if (op, dtype) != ("LSTM", "bf16"):
                found = trace(op, "--dtype", dtype, *words, status=0)
                assert set(says(found).values()) == {"right"}, (op, dtype, says(found))


def unknown_stages_and_operators_without_any_are_named():
    done = call("trace", "--op", "Softmax", "--checkpoint-mode", "max,mean")
    assert done.returncode == 2 and "Softmax has no stage mean; it has: max exp sum" in done.stderr, done.stderr
    done = call("trace", "--op", "Relu")
    assert done.returncode == 3 and "Relu declares no inner stages" in done.stderr, done.stderr


def a_saved_failure_is_traced_too():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "fail.opsb"
        done = call("run", "--op", "LayerNormalization", "--variant", "faulty-norm_sample", *NORM, "--save", path)
        assert done.returncode == 1, done.stderr
        done = call("trace", path, "--checkpoint-mode", "bisect", "--json", "--variant", "faulty-norm_sample")
        assert done.returncode == 1 and json.loads(done.stdout)["first_wrong"] == "variance", (done.stdout, done.stderr)


for test in [value for name, value in list(globals().items()) if callable(value) and value.__module__ == "__main__" and name not in
             ("call", "trace", "says")]:
    test()
    print(test.__name__)
