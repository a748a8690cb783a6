#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ops-debug import onnx` and `replay`: forms of older operator sets against numpy, goldens that are wrong, bad input.

cli_import.py BUILD written    what is written here
cli_import.py BUILD stored     every test of libonnx-testdata: the count, and what is left out and why
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import onnx_cases  # noqa: E402
import onnx_write  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
ENVIRONMENT = dict(os.environ, LC_ALL="C", NO_COLOR="1", OPSDEBUG_STORE="")
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="import-"))


def call(*words, status):
    done = subprocess.run([BUILD / "ops-debug", *map(str, words)], capture_output=True, text=True, timeout=900, env=ENVIRONMENT, cwd=FOLDER)
    assert done.returncode == status, (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


def document(*words, status=0):
    return json.loads(call(*words, "--json", status=status).stdout)


# ------------------------------------------------------------------------------------------------------ stored tests

# Other than several operators, operators that the build does not know, and control flow.
TEXT = "element type STRING is not supported"
LEFT_OUT = {"node-test_cast_FLOAT_to_STRING": TEXT, "node-test_cast_STRING_to_FLOAT": TEXT,
            "node-test_castlike_FLOAT_to_STRING_expanded": TEXT, "node-test_castlike_STRING_to_FLOAT_expanded": TEXT}
# Their bf16 values are cut off, not rounded.
DISAGREE = {"node-test_cast_FLOAT_to_BFLOAT16", "node-test_castlike_FLOAT_to_BFLOAT16_expanded"}
RENAMED = {"Upsample": "Resize"}
AT_LEAST = 451  # of Debian 12's package, ONNX 1.12


def operators_of(model):
    """Names of a model's operators, Constants left out; empty: control flow."""
    graph = next(value for number, value in onnx_cases.fields(model.read_bytes()) if number == 7)
    names = []
    for node in (value for number, value in onnx_cases.fields(graph) if number == 1):
        parts = list(onnx_cases.fields(node))
        name = next(value for number, value in parts if number == 4).decode()
        domain = next((value for number, value in parts if number == 7), b"").decode()
        attributes = [value for number, value in parts if number == 5]
        if any(number == 6 for value in attributes for number, _ in onnx_cases.fields(value)):
            return []
        names.append(f"{domain or 'ai.onnx'}.{RENAMED.get(name, name)}")
    return [name for name in names if name != "ai.onnx.Constant"] or names[:1]


def stored_tests_of_known_operators_are_right():
    known = {f"{op['domain']}.{op['name']}" for op in document("ops")["operators"]}
    wanted = {}
    for model in sorted(DATA.glob("*/*/model.onnx")):
        names = operators_of(model)
        wanted["-".join(model.parts[-3:-1])] = len(names) == 1 and names[0] in known
    imported = document("import", "onnx", DATA, "-o", "all")
    got = {test["name"]: test for test in imported["tests"]}
    assert set(wanted) <= set(got), set(wanted) - set(got)
    for name, is_wanted in wanted.items():
        left_out = got[name].get("error")
        assert (left_out is None) == (is_wanted and name not in LEFT_OUT), (name, left_out)
        assert name not in LEFT_OUT or LEFT_OUT[name] in left_out, (name, left_out)
    assert not any(test.get("unreadable") for test in got.values() if test["name"] not in LEFT_OUT), imported
    replayed = document("replay", "all", "-j", 2)
    for one in replayed["replays"]:
        name = pathlib.Path(one["path"]).stem
        assert one["exit_status"] == 0 and one["golden"] and one["numbers"] is not None, one
        assert (one["same"] in ("bitwise", "bound")) == (name not in DISAGREE), one
        assert one["answer"].startswith("right"), one
    furthest = max(one["recorded_ulp"] for one in replayed["replays"] if "layer_normalization_4d_axis1" in one["path"])
    assert 651 < furthest < 652, furthest  # the goldens are f32 sums of their own: numpy in f64 says the same of this one
    said = call("replay", "all", "-j", 2, status=0).stdout
    label = [line for line in said.splitlines() if line.startswith("GOLDEN: ")]
    assert len(label) == 1 and f"GOLDEN: {len(replayed['replays'])} have expected values:" in label[0] and "ULP off" in label[0], said[-1000:]
    count = len(replayed["replays"])
    assert count == imported["imported"] and count >= AT_LEAST, (count, imported["imported"])
    print(f"{count} of {count + imported['left_out']} tests imported and right, {len(DISAGREE)} of them by the reference alone")
    reasons = {}
    for test in got.values():
        if "error" in test:
            reason = test["error"].split(": ", 1)[1] if test["error"].startswith("/") else test["error"]
            reasons.setdefault(reason.split(" (")[0], []).append(test["name"])
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):3} left out: {reason}")


# -------------------------------------------------------------------------------------------------------- older forms

X = np.arange(-11, 13, dtype=np.float32).reshape(2, 3, 4) / 8
I64 = np.int64


def softmax(x, axis):
    e = np.exp(x.astype(np.float64) - x.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).astype(np.float32)


def group_norm(x, scale, bias, groups, epsilon):
    parts = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    y = (parts - parts.mean(axis=2, keepdims=True)) / np.sqrt(parts.var(axis=2, keepdims=True) + epsilon)
    return (y * scale[None, :, None] + bias[None, :, None]).reshape(x.shape).astype(np.float32)


def forms():
    """operator, operator set, inputs, outputs, attributes"""
    yield "Neg", 1, [X], [-X], {"consumed_inputs": [0, 0]}
    yield "Add", 6, [X, X[0, :, 0].copy()], [X + X[0, :, :1]], {"axis": 1, "broadcast": 1}
    yield "Sub", 1, [X, X[0, 0].copy()], [X - X[0, 0]], {"broadcast": 1}
    yield "Mul", 6, [X, X[:, 0, 0].copy()], [X * X[:, :1, :1]], {"axis": -3, "broadcast": 1}
    yield "Clip", 6, [X], [X.clip(-0.5, np.float32(0.7))], {"min": -0.5, "max": float(np.float32(0.7))}
    yield "Clip", 6, [X], [X.clip(-0.5, None)], {"min": -0.5}
    yield "ReduceSum", 11, [X], [X.sum(axis=(0, 2))], {"axes": [0, 2], "keepdims": 0}
    yield "ReduceMax", 13, [X], [X.max(axis=1, keepdims=True)], {"axes": [-2]}
    yield "ReduceMean", 17, [X], [X.mean(keepdims=True).reshape(1, 1, 1)], {}
    yield "TopK", 1, [X], [np.sort(X, axis=1)[:, :0:-1], np.argsort(X, axis=1)[:, :0:-1]], {"k": 2, "axis": 1}
    yield "Reshape", 1, [X], [X.reshape(4, 6)], {"shape": [4, -1]}
    yield "Slice", 1, [X], [X[:, 1:3, -2:]], {"starts": [1, -2], "ends": [3, 100], "axes": [1, 2]}
    yield "Slice", 9, [X], [X[1:2, :2]], {"starts": [1, 0], "ends": [2, 2]}
    yield "Split", 2, [X], [X[:, :1], X[:, 1:]], {"axis": 1, "split": [1, 2]}
    yield "Split", 2, [X], [X[..., :2], X[..., 2:]], {"axis": 2}
    yield "Split", 13, [X, np.array([3, 1], I64)], [X[..., :3], X[..., 3:]], {"axis": -1}
    yield "Pad", 1, [X[0]], [np.pad(X[0], ((1, 0), (0, 2)), constant_values=3)], {"paddings": [1, 0, 0, 2], "value": 3.0}
    yield "Pad", 2, [X[0]], [np.pad(X[0], ((1, 1), (2, 0)), mode="reflect")], {"pads": [1, 2, 1, 0], "mode": "reflect"}
    yield "Concat", 1, [X, X], [np.concatenate([X, X], axis=1)], {}
    yield "Concat", 4, [X, X], [np.concatenate([X, X], axis=2)], {"axis": 2}
    yield "Cast", 1, [X], [X.astype(np.int32)], {"to": "INT32"}
    yield "Cast", 19, [X], [X.astype(np.float16)], {"to": 10, "saturate": 1}
    yield "Softmax", 11, [X], [softmax(X.reshape(2, 12), 1).reshape(X.shape)], {}
    yield "Softmax", 11, [X], [softmax(X.reshape(1, 24), 1).reshape(X.shape)], {"axis": 0}
    yield "Softmax", 1, [X], [softmax(X, 2)], {"axis": 2}
    yield "LogSoftmax", 12, [X], [np.log(softmax(X.reshape(6, 4).astype(np.float64), 1)).astype(np.float32).reshape(X.shape)], {"axis": -1}
    yield "Softmax", 13, [X], [softmax(X, 1)], {"axis": 1}
    image = X.reshape(1, 2, 3, 4)
    yield "Upsample", 1, [image], [image.repeat(2, 2).repeat(3, 3)], {"height_scale": 2.0, "width_scale": 3.0, "mode": "nearest"}
    yield "Upsample", 7, [image], [image.repeat(2, 2)], {"scales": [1.0, 1.0, 2.0, 1.0]}
    yield "Upsample", 9, [image, np.array([1, 1, 1, 2], np.float32)], [image.repeat(2, 3)], {}
    ends = np.concatenate([image[..., :1], (image[..., :1] + image[..., 1:2]) / 2, image[..., 1:2], (image[..., 1:2] + image[..., 2:3]) / 2,
                           image[..., 2:3], (image[..., 2:3] + image[..., 3:]) / 2, image[..., 3:], image[..., 3:]], axis=3)
    yield "Resize", 10, [image, np.array([1, 1, 1, 2], np.float32)], [ends], {"mode": "linear"}
    empty = np.zeros(0, np.float32)
    yield "Resize", 11, [image, empty, empty, np.array([1, 2, 6, 4], I64)], [image.repeat(2, 2)], {"mode": "nearest"}
    scale, bias = np.array([1, 2], np.float32), np.array([0.5, -1], np.float32)
    wide = np.arange(32, dtype=np.float32).reshape(1, 4, 2, 4) % 7
    yield "GroupNormalization", 18, [wide, scale, bias], [group_norm(wide, scale, bias, 2, 1e-5)], {"num_groups": 2}
    ones = np.ones(2, np.float32)
    norm = ((image.astype(np.float64) - 0.5) / np.sqrt(1 + 1e-3)).astype(np.float32)
    yield "BatchNormalization", 6, [image, ones, 0 * ones, ones / 2, ones], [norm], {"is_test": 1, "spatial": 1, "epsilon": 1e-3, "consumed_inputs": [0, 0, 0, 1, 1]}
    yield "BatchNormalization", 9, [image, ones, 0 * ones, ones / 2, ones], [norm], {"epsilon": 1e-3}
    many = [X * np.float32(i) for i in range(31)]
    yield "Concat", 13, many, [np.concatenate(many, axis=1)], {"axis": 1}
    yield "Split", 18, [np.concatenate(many[:30], axis=0)], many[:30], {"num_outputs": 30}
    yield "Gemm", 6, [X[0], X[0].T.copy(), np.ones(3, np.float32)], [X[0] @ X[0].T + 1], {"broadcast": 1}


def older_forms_are_those_of_today():
    for i, (op, opset, inputs, outputs, attributes) in enumerate(forms()):
        constants = [1] if i % 2 and len(inputs) > 1 else []  # as an initializer of the model
        onnx_write.write_test(FOLDER / "forms" / f"{i:02}_{op}_{opset}", op, opset, inputs, outputs, attributes, constants)
    imported = document("import", "onnx", "forms", "-o", "forms-bundles")
    assert imported["left_out"] == 0, imported
    replayed = document("replay", "forms-bundles", "-j", 2)
    assert len(replayed["replays"]) == imported["imported"] == len(list(forms()))
    for one in replayed["replays"]:
        assert one["exit_status"] == 0 and one["same"] in ("bitwise", "bound"), (one["path"], one["answer"], one["numbers"])


def forms_without_translation_say_so():
    ones = np.ones(2, np.float32)
    image = X.reshape(1, 2, 3, 4)
    for name, op, opset, inputs, outputs, attributes, said in (
            ("train", "BatchNormalization", 6, [image, ones, ones, ones, ones], [image], {"is_test": 0}, "is_test"),
            ("running", "BatchNormalization", 9, [image, ones, ones, ones, ones], [image, ones, ones], {}, "trains"),
            ("string", "Cast", 1, [X], [X], {"to": "WORD"}, "unknown type WORD"),
            ("attribute", "Neg", 13, [X], [-X], {"speed": 3}, "no attribute speed"),
            ("shape", "Neg", 13, [X], [-X[0]], {}, "output Y is f32[2, 3, 4] by the contract, and f32[3, 4] in the file"),
            ("dtype", "Neg", 13, [X], [-X.astype(np.float64)], {}, "f64[2, 3, 4] in the file"),
            ("rank", "Add", 6, [X, X], [X], {"axis": 2, "broadcast": 1}, "does not fit the first at axis")):
        onnx_write.write_test(FOLDER / "refused" / name, op, opset, inputs, outputs, attributes)
        done = call("import", "onnx", f"refused/{name}", "-o", "refused.opsb", status=3)
        assert said in done.stderr and len(done.stderr.splitlines()) == 1 and not (FOLDER / "refused.opsb").exists(), done.stderr


# ------------------------------------------------------------------------------------------------------------- goldens

def the_reference_decides_and_not_the_golden():
    wrong = np.exp(X)
    wrong[1, 2, 3] *= np.float32(1.001)
    onnx_write.write_test(FOLDER / "golden", "Exp", 13, [X], [wrong])
    said = call("import", "onnx", "golden", status=0).stdout  # -o: NAME.opsb
    assert said.startswith("golden.opsb: golden\n") and "next: ops-debug replay golden.opsb" in said, said
    said = call("replay", "golden.opsb", status=0).stdout
    assert "GOLDEN" in said and "right by the reference; the expected values are further off" in said, said
    found = document("replay", "golden.opsb")
    assert found["replays"][0]["same"] == "different" and found["replays"][0]["recorded_ratio"] > 1000, found
    wrong[1, 2, 3] = np.nan
    onnx_write.write_test(FOLDER / "golden", "Exp", 13, [X], [wrong])
    call("import", "onnx", "golden", "-o", "golden.opsb", status=0)
    assert document("replay", "golden.opsb")["replays"][0]["recorded_ratio"] == "Infinity"


def nan_that_is_expected_is_right():
    with np.errstate(all="ignore"):
        onnx_write.write_test(FOLDER / "nan", "Sqrt", 13, [X], [np.sqrt(X)])
    call("import", "onnx", "nan/model.onnx", "-o", "nan.opsb", status=0)
    assert document("replay", "nan.opsb")["replays"][0]["same"] == "bitwise"


def a_wrong_variant_is_found_whatever_the_golden_says():
    x = X.copy()
    x[0, 1, 2] = np.nan
    right = np.where(np.isnan(x), x, np.maximum(x, 0))
    for name, golden, answer in ("relu", right, "failure found"), ("lossy", np.nan_to_num(right), "wrong by the reference, right by the expected values: one of the two is wrong"):
        onnx_write.write_test(FOLDER / name, "Relu", 14, [x], [golden])
        call("import", "onnx", name, status=0)
        found = document("replay", f"{name}.opsb", "--variant", "faulty-relu_nan", status=1)["replays"][0]
        assert found["answer"] == answer, (found["answer"], found["observed"])
        assert document("replay", f"{name}.opsb")["replays"][0]["answer"].startswith("right"), name


def bundles_do_not_depend_on_where_memory_is():
    onnx_write.write_test(FOLDER / "same", "Neg", 13, [X], [-X])
    ids = []
    for out in "one.opsb", "two.opsb":
        call("import", "onnx", "same", "-o", out, status=0)
        shown = document("show", out)
        ids.append(json.dumps([[o.get("address"), o.get("before"), o.get("after")] for c in shown["calls"] for o in c["operands"]]))
    assert ids[0] == ids[1] and ids[0].count("null") == 2, ids  # an input has no `after`, an output no `before`


# ----------------------------------------------------------------------------------------------------------- bad input

def data_beside_a_model_file_and_several_sets_are_found():
    onnx_write.write_test(FOLDER / "sets", "Neg", 13, [X], [-X])
    shutil.copytree(FOLDER / "sets" / "test_data_set_0", FOLDER / "sets" / "test_data_set_1")
    call("import", "onnx", "sets", status=3)  # two bundles: where?
    assert document("import", "onnx", "sets", "-o", "sets-out")["imported"] == 2
    assert sorted(p.name for p in (FOLDER / "sets-out").iterdir()) == ["sets-1.opsb", "sets.opsb"]
    (FOLDER / "beside").mkdir()
    shutil.copy(FOLDER / "sets" / "model.onnx", FOLDER / "beside" / "minus.onnx")
    for path in (FOLDER / "sets" / "test_data_set_0").iterdir():
        shutil.copy(path, FOLDER / "beside")
    assert call("import", "onnx", "beside/minus.onnx", status=0).stdout.startswith("minus.opsb")
    os.remove(FOLDER / "beside" / "output_0.pb")  # then there is nothing to compare with, and the reference judges
    call("import", "onnx", "beside", "-o", "minus.opsb", status=0)
    found = document("replay", "minus.opsb")["replays"][0]
    assert not found["golden"] and found["same"] == "unknown" and found["exit_status"] == 0, found
    os.remove(FOLDER / "beside" / "input_0.pb")
    assert "input x0 has no value" in call("import", "onnx", "beside", "-o", "x.opsb", status=3).stderr


def bad_input_is_one_line():
    onnx_write.write_test(FOLDER / "bad", "Neg", 13, [X], [-X])
    model = FOLDER / "bad" / "model.onnx"
    tensor = FOLDER / "bad" / "test_data_set_0" / "input_0.pb"
    good_model, good_tensor = model.read_bytes(), tensor.read_bytes()
    (FOLDER / "empty").mkdir()
    (FOLDER / "file").write_text("x")

    def refuse(status, said, *words):
        done = call("import", *words, status=status)
        assert said in done.stderr and len(done.stderr.splitlines()) == 1 and done.stdout == "", (words, done.stderr, done.stdout)
        assert not (FOLDER / "bad.opsb").exists() and not (FOLDER / "bad.opsb.partial").exists()

    refuse(2, "format numpy", "numpy", "bad")
    refuse(2, "what to import", "onnx")
    refuse(2, "one argument too many", "onnx", "bad", "bad")
    refuse(3, "no/where", "onnx", "no/where")
    refuse(3, "no ONNX model", "onnx", "empty")
    refuse(3, "no/bad.opsb", "onnx", "bad", "-o", "no/bad.opsb")
    refuse(3, "-o file: is no folder", "onnx", "bad", "-o", "file")
    refuse(3, "empty", "onnx", "bad", "-o", "")
    for size in 0, 1, len(good_model) // 2, len(good_model) - 1:
        model.write_bytes(good_model[:size])
        refuse(3, "bad/model.onnx", "onnx", "bad")
    model.write_bytes(good_model)
    for bytes_ in good_tensor[:-1], b"", b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x10\x02", b"\xff" * 100:
        tensor.write_bytes(bytes_)
        refuse(3, "test_data_set_0/input_0.pb", "onnx", "bad")
    os.remove(tensor)
    os.mkdir(tensor)
    refuse(3, "input_0.pb", "onnx", "bad")


def a_tree_goes_on_past_what_it_cannot_read():
    for name in "one", "two", "three":
        onnx_write.write_test(FOLDER / "tree" / name, "Neg", 13, [X], [-X])
    (FOLDER / "tree" / "two" / "model.onnx").write_bytes(b"\xff")
    done = call("import", "onnx", "tree", "-o", "tree-out", status=3)
    assert "two: " in done.stderr and "2 of 3 tests imported into tree-out, 1 left out" in done.stdout, (done.stdout, done.stderr)
    assert sorted(p.name for p in (FOLDER / "tree-out").iterdir()) == ["one.opsb", "three.opsb"]


def main():
    try:
        if sys.argv[2:] == ["stored"]:
            if not DATA.is_dir():
                print("skipped: libonnx-testdata is not installed")
                return 77
            stored_tests_of_known_operators_are_right()
            return 0
        for check in (older_forms_are_those_of_today, forms_without_translation_say_so, the_reference_decides_and_not_the_golden,
                      nan_that_is_expected_is_right,
                      a_wrong_variant_is_found_whatever_the_golden_says, bundles_do_not_depend_on_where_memory_is,
                      data_beside_a_model_file_and_several_sets_are_found, bad_input_is_one_line, a_tree_goes_on_past_what_it_cannot_read):
            check()
            print(check.__name__)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    return 0


sys.exit(main())
