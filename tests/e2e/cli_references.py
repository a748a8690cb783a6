#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""References beside high precision: other makers' libraries, one that is wrong, labels and their conditions, expected outputs in diagnosis."""
import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
PROGRAM = BUILD / "ops-debug"
BAD = BUILD / "tests" / "wrong_gemm.so"
ENVIRONMENT = dict(os.environ, LC_ALL="C", NO_COLOR="1")
PLACE = pathlib.Path(sysconfig.get_config_var("LIBDIR")) / sysconfig.get_config_var("MULTIARCH")
PLACE = PLACE if PLACE.is_dir() else pathlib.Path("/usr/lib") / sysconfig.get_config_var("MULTIARCH")
LIBRARIES = {"netlib": PLACE / "blas" / "libblas.so.3", "openblas": PLACE / "libopenblas.so.0", "blis": PLACE / "libblis.so.4",
             "onednn": PLACE / "libdnnl.so.2"}
ZLIB = PLACE / "libzstd.so.1"  # a library of nothing numerical, which ops-debug itself needs
MISSING = [f"{name} ({path})" for name, path in LIBRARIES.items() if not path.exists()]
if MISSING:
    print("skipped: references of other makers are not installed: " + ", ".join(MISSING))
    sys.exit(77)


def call(*words, **more):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=600, env=dict(ENVIRONMENT, **more))


def run(op, *words, status=0, **more):
    done = call("run", "--op", op, "--json", *words, **more)
    assert done.returncode == status, (op, words, done.returncode, done.stdout[:2000], done.stderr)
    return json.loads(done.stdout)


def row_of(found, name):
    return next(row for row in found["references"] if row["name"] == name)


# operator, words: what the other library is asked
ASKED = [("Conv", ["--attrs", "group=4,pads=[1,1,1,1],strides=[2,1]", "--input-shapes", "[2,8,9,7];[12,2,3,3];[12]"]),
         ("Conv", ["--input-shapes", "[1,3,11];[4,3,2]", "--attrs", "dilations=[3]"]),
         ("MaxPool", ["--attrs", "kernel_shape=[3,2],pads=[1,0,1,0],strides=[2,1]"]),
         ("AveragePool", ["--attrs", "kernel_shape=[3,3],pads=[1,1,1,1],count_include_pad=1"]), ("AveragePool", []),
         ("GlobalAveragePool", []), ("Softmax", ["--attrs", "axis=1"]), ("LogSoftmax", []), ("LayerNormalization", []),
         ("BatchNormalization", []), ("Relu", []), ("LeakyRelu", ["--attrs", "alpha=0.3"]), ("Tanh", []), ("Sigmoid", []), ("Gelu", []),
         ("Gelu", ["--attrs", "approximate=tanh"]), ("Exp", []), ("Abs", []), ("HardSwish", []), ("Add", ["--input-shapes", "[3,1,5];[4,1]"]),
         ("Mul", []), ("Min", ["--input-shapes", "[7,5];[7,5]"]), ("ReduceSum", []), ("ReduceMax", []), ("ReduceMean", [])]


def one_dnn_is_asked_about_what_it_computes_too():
    for op, words in ASKED:
        found = run(op, *words, "--reference", "library", "--no-exact")
        row = row_of(found, "library")
        assert row["is_there"] and row["maker"].startswith("variant onednn, libdnnl"), (op, words, row)
        assert row["itself"]["verdict"] in ("PASS", "PASS_ACCUM") and found["verdict"] == "PASS", (op, words, row["itself"]["verdict"], found["verdict"])


def products_ask_a_blas_other_than_the_one_that_ran():
    shapes = ["--input-shapes", "[2,5,33];[33,9]"]
    for variant, maker in (("openblas", "netlib"), ("avx2", "openblas"), ("portable", "openblas")):
        if variant == "avx2" and "avx2" not in open("/proc/cpuinfo", encoding="utf-8").read():
            continue
        row = row_of(run("MatMul", *shapes, "--variant", variant, "--reference", "library"), "library")
        assert row["is_there"] and row["maker"].startswith(f"variant {maker}"), (variant, row)
    for variant in ("netlib", "blis", "onednn"):  # a library is a variant like others, and is judged like them
        assert run("MatMul", *shapes, "--variant", variant)["variant"] == variant
    assert run("Gemm", "--attrs", "transA=1,alpha=0.5,beta=2", "--variant", "netlib")["verdict"] == "PASS"


def what_a_library_cannot_do_is_said():
    for op, words, reason in (("Softmax", ["--dtype", "f64"], "f32 only"), ("Erf", [], "no other library"), ("MaxPool", ["--attrs", "auto_pad=VALID"], "padding"),
                              ("Cast", [], "no other library")):
        row = row_of(run(op, *words, "--reference", "library"), "library")
        assert not row["is_there"] and reason in row["reason"], (op, row)


def a_wrong_library_is_suspect_and_the_operator_is_not_blamed():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("libopenblas.so.0", "libblas.so.3"):
            os.symlink(BAD, pathlib.Path(folder) / name)
        shapes = ["--input-shapes", "[6,8];[8,5]", "--variant", "portable"]
        for found in (run("MatMul", *shapes, "--reference-library", BAD),
                      run("MatMul", *shapes, "--reference", "library", LD_LIBRARY_PATH=folder)):
            assert found["reference"] == "SUSPECT" and found["verdict"] == "DISPUTED", (found["verdict"], found["reference"])
            assert row_of(found, "library")["label"] == "SUSPECT" and "library" in found["references_say"], found["references_say"]
        found = run("MatMul", *shapes, "--reference", "all", LD_LIBRARY_PATH=folder)
        assert "right by high precision and by naive" in found["references_say"], found["references_say"]
        assert row_of(found, "naive")["label"] == "SAME" and row_of(found, "library")["label"] == "SUSPECT"


def a_library_asked_for_by_file_is_the_one_asked_or_the_command_fails():
    """Named by what it exports, whatever the file is called; what cannot be asked is said with its path."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="references-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "text.so").write_text("this is no ELF file\n" * 20)
    shapes = ["--input-shapes", "[6,8];[8,5]"]
    for name, maker in (("netlib", "netlib"), ("blis", "blis"), ("openblas", "openblas")):
        alias = folder / f"lib{'netlib' if maker != 'netlib' else 'openblas'}-{name}.so"  # a name that is not its own
        os.symlink(LIBRARIES[name], alias)
        row = row_of(run("MatMul", *shapes, "--reference-library", alias, "--reference", "library"), "library")
        assert row["is_there"] and row["maker"] == f"{maker}, {alias.name}", row
        assert row["itself"]["maker"] == maker, row["itself"]
    row = row_of(run("MatMul", *shapes, "--reference-library", BAD), "library")
    assert row["maker"] == f"of unknown maker, {BAD.name}", row
    row = row_of(run("MatMul", *shapes, "--reference-library", LIBRARIES["onednn"]), "library")
    assert row["maker"].startswith("onednn, libdnnl"), row
    for op, path, *parts in (("MatMul", "/nonexistent.so", "cannot be loaded"), ("MatMul", folder / "text.so", "cannot be loaded"),
                             ("Softmax", "/nonexistent.so", "cannot be loaded"), ("MatMul", ZLIB, "exports no cblas_sgemm", "exports not what oneDNN 2 does"),
                             ("Softmax", LIBRARIES["openblas"], "exports not what oneDNN 2 does"), ("Erf", LIBRARIES["onednn"], "no other library has Erf")):
        for form in ([], ["--json"]):
            done = call("run", "--op", op, "--reference", "library", "--reference-library", path, "--no-exact", *form)
            lines = done.stderr.splitlines()
            assert done.returncode == 3 and done.stdout == "" and len(lines) == 1, (op, path, done.returncode, done.stdout, done.stderr)
            assert all(part in lines[0] for part in (f"--reference-library {path}: ", *parts)), (op, path, lines)


WRONG_TORCH = """
import os, sys
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
del sys.modules["torch"]
import torch
whole = torch.Tensor.__matmul__
torch.Tensor.__matmul__ = lambda x, y: whole(x[..., 1:], y[..., 1:, :])  # the first term is left out
"""


def references_that_differ_pairwise_are_a_conflict():
    """A CBLAS without the last term of each product, a PyTorch without the first, and high precision."""
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
        print("no PyTorch: no conflict is tried")
        return
    shapes = ["--input-shapes", "[6,8];[8,5]", "--reference-library", BAD]
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder) / "torch"
        package.mkdir()
        (package / "__init__.py").write_text(WRONG_TORCH)
        found = run("MatMul", "--variant", "portable", *shapes, "--reference", "all", PYTHONPATH=folder)
        assert found["reference"] == "CONFLICT" and found["verdict"] == "DISPUTED", (found["reference"], found["verdict"])
        assert found["references_say"] == "high precision, library and torch differ pairwise by more than they may", found["references_say"]
        assert [row_of(found, name)["label"] for name in ("naive", "library", "torch")] == ["SAME", "SUSPECT", "SUSPECT"]
        # One of them alone is suspect, whatever it is called.
        found = run("MatMul", "--variant", "portable", *shapes[:2], "--reference", "torch", PYTHONPATH=folder)
        assert found["reference"] == "SUSPECT" and found["references_say"].startswith("wrong by torch, right by high precision"), found["references_say"]
        # An operator that is wrong in a third way, with nobody to bear high precision out: it is not blamed alone.
        found = run("MatMul", "--variant", "faulty-matmul_column", *shapes, status=1)
        assert found["reference"] == "CONFLICT" and found["verdict"] == "DISPUTED", (found["reference"], found["verdict"], found["references_say"])
        assert found["references_say"] == "it, high precision and every other reference differ pairwise", found["references_say"]


def labels_have_their_conditions():
    """EXACT: nothing is rounded. CERTIFIED: a bound under 1/16 of what is allowed. HIGH: under 1/4. else SAME."""
    for op, words, label in (("Relu", [], "EXACT"), ("Transpose", [], "EXACT"), ("Add", ["--dtype", "i32"], "EXACT"), ("MatMul", [], "CERTIFIED"),
                             ("MatMul", ["--dtype", "f64", "--input-shapes", "[2,300];[300,2]"], "CERTIFIED"), ("Softmax", [], "CERTIFIED"),
                             ("LayerNormalization", ["--dtype", "f64"], "CERTIFIED"), ("FusedAttention", ["--input-shapes", "[1,2,5,8];[1,2,7,8];[1,2,7,4]"], "CERTIFIED"),
                             ("LSTM", [], "CERTIFIED"), ("Gelu", ["--dtype", "f64"], "CERTIFIED"), ("Exp", [], "CERTIFIED"), ("Resize", ["--attrs", "mode=linear"], "HIGH")):
        found = run(op, *words, "--no-exact")
        assert found["reference"] == label, (op, words, found["reference"], found["reference_doubt"], found["certificate"])
        doubt = found["reference_doubt"]
        assert {"EXACT": doubt == 0, "CERTIFIED": doubt < 1 / 16 and found["certificate"], "HIGH": doubt < 1 / 4, "SAME": doubt >= 1 / 4}[label], (op, doubt)
    # What long double cannot vouch for: sums of f64 long enough. (2 * 2 n + 8) 2^-64 of 16 * 2^-52 is over a quarter from n = 4094 on; a run with more bits decides then.
    found = run("MatMul", "--dtype", "f64", "--input-shapes", "[1,60000];[60000,1]", "--fill", "uniform:0:1", "--no-exact")
    assert found["reference"] == "CERTIFIED" and "113 bits" in found["certificate"], (found["reference"], found["reference_doubt"], found["certificate"])
    done = call("run", "--op", "Softmax", "-v")
    assert "certificate  CERTIFIED: off by at most" in done.stdout, done.stdout


# operator, words: what PyTorch has, by names and attributes of ONNX
TORCH = [("TopK", ["--input-shapes", "[3,9];i64[1]"]), ("LSTM", ["--outputs", "*"]), ("LSTM", ["--attrs", "direction=bidirectional,layout=1"]),
         ("LSTM", ["--attrs", "direction=reverse"]), ("LayerNormalization", ["--outputs", "*"]), ("MaxPool", ["--outputs", "*"]),
         ("AveragePool", ["--attrs", "kernel_shape=[3,2],pads=[1,1,1,1],strides=[2,1]"]), ("BatchNormalization", ["--attrs", "training_mode=1", "--outputs", "*"]),
         ("Resize", ["--attrs", "mode=linear", "--input-shapes", "[1,2,5,6];-;[4]"]), ("Attention", []), ("Slice", []), ("Split", []), ("Pad", []), ("Gather", []),
         ("Expand", []), ("Reshape", []), ("Concat", []), ("Transpose", ["--attrs", "perm=[2,0,1]"]), ("CumSum", ["--attrs", "exclusive=1,reverse=1"]),
         ("ArgMax", ["--attrs", "select_last_index=1"]), ("LpNormalization", ["--attrs", "p=1"]), ("GeluAddResidual", []), ("MatMulBiasGelu", []),
         ("QkvProjection", []), ("FusedAttention", ["--attrs", "is_causal=1"]), ("WindowL2Normalization", []), ("AddLayerNorm", []), ("LayerNormBias", []),
         ("RMSNormalization", []), ("GroupNormalization", []), ("Cast", ["--attrs", "to=11"])]
TORCH += [("Attention", ["--outputs", "*", "--attrs", f"qk_matmul_output_mode={mode},softcap=0.7,is_causal=1", "--input-shapes", "[2,4,5,8];[2,2,7,8];[2,2,7,6]"])
          for mode in range(4)]


def torch_is_asked_about_all_it_has():
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
        print("no PyTorch: its table is not tried")
        return
    # Each starts a Python with PyTorch: some seconds on a slow machine.
    for op, words in TORCH if os.environ.get("OPD_TEST_FULL") == "1" else TORCH[::6]:
        found = run(op, *words, "--reference", "torch", "--no-exact")
        row = row_of(found, "torch")
        assert row["is_there"], (op, words, row["reason"])
        fine = ("PASS", "PASS_ACCUM", "MISTRUSTED")
        assert row["against"]["verdict"] in fine and found["verdict"] in fine, \
            (op, words, row["itself"]["verdict"], row["against"]["verdict"], found["references_say"])


def expected_outputs_are_read_by_diagnosis():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "norm.opsb"
        words = ["--input-shapes", "[3,40];[40];[40]", "--no-exact"]
        assert call("run", "--op", "LayerNormalization", *words, "--save", path, "--expected").returncode == 0
        done = call("diagnose", path, "--json")
        found = json.loads(done.stdout)
        assert done.returncode == 0 and found["expected"]["is_met"], found
        done = call("diagnose", path, "--variant", "faulty-norm_sample", "--json")
        found = json.loads(done.stdout)
        assert done.returncode == 1 and not found["expected"]["is_met"] and found["failure"]["label"] != "disputed", found
        assert "the outputs are not the expected ones" in call("diagnose", path, "--variant", "faulty-norm_sample").stdout
        # A wrong record: expected values that a wrong variant left, taken for right ones.
        wrong = wrong_expectation(pathlib.Path(folder) / "wrong")
        done = call("diagnose", wrong, "--json")
        found = json.loads(done.stdout)
        assert done.returncode == 0 and found["failure"]["label"] == "wrong-expectation", found
        done = call("diagnose", wrong, "--variant", "faulty-norm_sample", "--json")
        found = json.loads(done.stdout)
        assert done.returncode == 1 and found["failure"]["label"] == "disputed", found
        done = call("replay", wrong)
        assert done.returncode == 0 and "right by the reference; the expected values are further off" in done.stdout, done.stdout


def wrong_expectation(folder):
    """The call as an ONNX test whose output_0.pb holds what the wrong variant made."""
    import numpy as np
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
    import onnx_write  # noqa: E402
    rng = np.random.default_rng(3)
    x, scale, bias = rng.normal(size=(3, 40)).astype(np.float32), rng.normal(size=40).astype(np.float32), rng.normal(size=40).astype(np.float32)
    wide = x.astype(np.float64)
    y = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, ddof=1, keepdims=True) + 1e-5) * scale + bias
    onnx_write.write_test(folder, "LayerNormalization", 17, [x, scale, bias], [y.astype(np.float32)], {})
    assert call("import", "onnx", folder, "-o", folder.with_suffix(".opsb")).returncode == 0
    return folder.with_suffix(".opsb")


for test in [one_dnn_is_asked_about_what_it_computes_too, products_ask_a_blas_other_than_the_one_that_ran, what_a_library_cannot_do_is_said,
             a_wrong_library_is_suspect_and_the_operator_is_not_blamed, a_library_asked_for_by_file_is_the_one_asked_or_the_command_fails,
             references_that_differ_pairwise_are_a_conflict, labels_have_their_conditions, torch_is_asked_about_all_it_has, expected_outputs_are_read_by_diagnosis]:
    test()
    print(f"ok: {test.__name__}")
