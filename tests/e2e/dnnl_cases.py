# SPDX-License-Identifier: Apache-2.0
"""oneDNN primitives recorded, replayed and reduced: dnnl_cases.py BUILD CASE. Each case is a function named by behaviour."""
import collections
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from record_harness import *  # noqa: E402,F403

OPS_DEBUG = os.path.join(BUILD, "ops-debug")
PRIMITIVES = os.path.join(TESTS, "dnnl_victim")
OTHERS = os.path.join(TESTS, "dnnl_other_victim")
QUANTIZED = os.path.join(TESTS, "dnnl_int8_victim")

CNN = """
    import torch
    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
              torch.nn.Conv2d(8, 12, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(108, 5)]
    model = torch.nn.Sequential(*layers)
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    images, wanted = torch.randn(4, 3, 16, 16), torch.tensor([0, 1, 2, 3])
    for i in range(2):
        steps.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), wanted)
        loss.backward()
        steps.step()
    print(float(loss))
"""
# What dnnl_victim.c executes, by its main().
EXECUTED = {"convolution forward": 4, "convolution backward_data": 3, "convolution backward_weights": 3,
            "deconvolution forward": 1, "deconvolution backward_data": 1, "deconvolution backward_weights": 1,
            "inner_product forward": 1, "inner_product backward_data": 1, "inner_product backward_weights": 1,
            "matmul": 3, "concat": 1, "sum": 1, "binary": 3, "eltwise forward": 10, "eltwise backward_data": 10,
            "softmax forward": 1, "softmax backward_data": 1, "logsoftmax forward": 1, "logsoftmax backward_data": 1,
            "pooling forward": 3, "pooling backward_data": 3,
            "layer_normalization forward": 1, "layer_normalization backward": 1,
            "batch_normalization forward": 3, "batch_normalization backward": 2}
# What dnnl_other_victim.c executes, likewise.
EXECUTED_OTHERS = {"rnn forward": 14, "rnn backward": 7, "lrn forward": 3, "lrn backward_data": 3, "shuffle forward": 1,
                   "shuffle backward_data": 1, "resampling forward": 2, "resampling backward_data": 2, "reduction": 3,
                   "prelu forward": 1, "prelu backward": 1}
ENCODER = """
    import torch
    torch.manual_seed(2)
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2).eval()
    with torch.no_grad():
        print(float(model(torch.randn(1, 8, 32)).sum()))
    model.train()
    model(torch.randn(2, 8, 32)).sum().backward()
"""


def ops_debug(*words, ok=(0,)):
    done = subprocess.run([OPS_DEBUG, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode in ok, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def torch_is_needed(python=PYTHON):
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode != 0:
        raise Skip("python3-torch is not installed")


def record(program, *options, env=None, timeout=200, may_hang=False):
    """The bundles of a recorded run that are no list of the whole run."""
    if SANITIZED:
        raise Skip("the sanitizer's runtime does not go into this program")
    out = tempfile.mkdtemp(prefix="dnnl-")
    command = [OPS_DEBUG, "record", "--capture", "full", *options, "-o", out, "--", *program]
    done = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env={**os.environ, **(env or {})}, start_new_session=True)

    def bundles():
        found = sorted(glob.glob(out + "/*.opsb"))
        return [path for path in found if not os.path.basename(path).startswith("run-")]

    deadline = time.time() + timeout
    while done.poll() is None and time.time() < deadline and not (may_hang and bundles()):
        time.sleep(0.05)
    if done.poll() is None:  # a program that hangs: what it was recorded for
        os.killpg(done.pid, signal.SIGKILL)
    done.wait()
    return bundles()


def replays(bundle, *options, ok=(0, 1)):
    return json.loads(ops_debug("replay", bundle, "--json", *options, ok=ok))["replays"]


def all_are_bitwise(found):
    others = [(item["call"]["name"], item["same"], item["verdict"]) for item in found if item["same"] != "bitwise"]
    assert found and not others, others


def training_steps_of_a_convolutional_network_replay_bitwise():
    torch_is_needed()
    bundle, = record(script(CNN), "--trigger", "exit")
    found = replays(bundle)
    all_are_bitwise(found)
    names = {item["call"]["name"] for item in found}
    assert {"convolution forward", "convolution backward_data", "convolution backward_weights", "reorder",
            "sgemm"} <= names, names
    assert all(item["verdict"] == "PASS" for item in found), [item["verdict"] for item in found]


def transformer_encoder_replays_bitwise():
    torch_is_needed()
    bundle, = record(script(ENCODER), "--trigger", "exit")
    found = replays(bundle)
    all_are_bitwise(found)
    assert len(found) > 20, len(found)


def every_primitive_is_recorded_right_and_replays_bitwise():
    bundle, = record([PRIMITIVES], "--trigger", "exit", env={"OMP_NUM_THREADS": "2"})
    found = replays(bundle)
    all_are_bitwise(found)
    # The library against definitions of our own.
    wrong = [(item["call"]["name"], item["verdict"], item["call"]["attributes"]) for item in found
             if item["verdict"] != "PASS"]
    assert not wrong, wrong
    names = collections.Counter(item["call"]["name"] for item in found)
    assert names.pop("reorder") > 0  # how many more depends on the layouts that the CPU's implementations like
    assert names == EXECUTED, names


def quantized_primitives_and_products_replay_bitwise():
    bundle, = record([QUANTIZED], "--trigger", "exit", env={"OMP_NUM_THREADS": "2"})
    found = replays(bundle)
    all_are_bitwise(found)
    names = collections.Counter(item["call"]["name"] for item in found)
    assert names.pop("reorder") >= 3
    assert names == {"convolution forward": 6, "matmul": 5, "inner_product forward": 2, "binary": 1,
                     "dnnl_sgemm": 3, "dnnl_gemm_u8s8s32": 2, "dnnl_gemm_s8s8s32": 2}, names
    # Of real results, the library against definitions of ours, with scales by channel and zero points.
    real = [item for item in found if item["call"]["name"] in ("matmul", "inner_product forward")
            and item["verdict"] != "UNJUDGED"]
    assert [item["verdict"] for item in real] == ["PASS"] * 3, [(item["call"]["attributes"], item["verdict"])
                                                               for item in real]
    assert not [item for item in found if item["verdict"] not in ("PASS", "UNJUDGED")]
    products = [(item["call"]["symbol"], item["verdict"]) for item in found if "gemm" in item["call"]["name"]]
    assert products == [("dnnl_sgemm", "PASS")] * 3 + [("dnnl_gemm_u8s8s32", "PASS")] * 2 + \
        [("dnnl_gemm_s8s8s32", "PASS"), ("dnnl_gemm_s8s8s32", "UNJUDGED")], products  # the last is rounded
    stray = [item["observed"] for item in replays(bundle, "--guard") if item["observed"]["outcome"] != "ok"]
    assert not stray, stray


def recurrent_cells_and_other_primitives_replay_bitwise():
    bundle, = record([OTHERS], "--trigger", "exit", env={"OMP_NUM_THREADS": "2"})
    found = replays(bundle)
    all_are_bitwise(found)
    names = collections.Counter(item["call"]["name"] for item in found)
    names.pop("reorder", None)
    assert names == EXECUTED_OTHERS, names
    # The library's forward cells against a definition of ours; the others have none.
    forward = [item for item in found if item["call"]["name"] == "rnn forward"]
    assert all(item["verdict"] == "PASS" for item in forward), [(item["call"]["attributes"], item["verdict"])
                                                                for item in forward]


def recurrent_cells_are_within_rounding_by_definition_and_on_another_instruction_set():
    bundle, = record([OTHERS], "--trigger", "exit", "--match", "rnn*")
    for options in (["--library", "naive"], ["--isa", "SSE41"]):
        found = [item for item in replays(bundle, *options, ok=(0, 1, 3))
                 if item.get("call", {}).get("name") == "rnn forward"]
        assert len(found) == EXECUTED_OTHERS["rnn forward"], (options, len(found))
        others = [(item["call"]["attributes"], item["same"], item["verdict"]) for item in found
                  if item["same"] not in ("bitwise", "bound") or item["verdict"] != "PASS"]
        assert not others, (options, others)
    stray = [item["observed"] for item in replays(bundle, "--guard") if item["observed"]["outcome"] != "ok"]
    assert not stray, stray


def primitives_stay_inside_their_operands():
    bundle, = record([PRIMITIVES], "--trigger", "exit", env={"OMP_NUM_THREADS": "1"})
    found = replays(bundle, "--guard")
    stray = [item["observed"] for item in found if item["observed"]["outcome"] != "ok"]
    assert found and not stray, stray


def another_instruction_set_is_within_rounding():
    bundle, = record([PRIMITIVES], "--trigger", "exit")
    found = replays(bundle, "--isa", "SSE41")
    assert found and all(item["same"] in ("bitwise", "bound") for item in found), \
        [(item["call"]["name"], item["same"]) for item in found]
    assert any("implementation: recorded" in item["environment"] for item in found)


def calls_that_an_option_does_not_concern_are_counted_apart():
    """One call of BLAS and one of oneDNN: --isa is of the one, --core of the other. Where it is of none, nothing could run."""
    mixed, = record(script("""
        import ctypes
        dnnl, blas, wide, one = ctypes.CDLL("libdnnl.so.2"), ctypes.CDLL("libblas.so.3"), ctypes.c_int64(4), ctypes.c_float(1)
        x, y = (ctypes.c_float * 16)(*range(16)), (ctypes.c_float * 16)()
        blas.cblas_sscal(4, one, x, 1)
        no = ctypes.c_char(b"N")
        dnnl.dnnl_sgemm(no, no, wide, wide, wide, one, x, wide, x, wide, ctypes.c_float(0), y, wide)
    """), "--trigger", "exit")
    core = replays(mixed)[0]["core"]
    for words, concerned, option in ((["--isa", "SSE41"], "dnnl_sgemm", "--isa is for oneDNN, and sscal is not its"),
                                     (["--core", core], "sscal", "--core is for OpenBLAS, and dnnl_sgemm is not its")):
        if words[1] == "":
            continue  # the BLAS here has no cores
        document = json.loads(ops_debug("replay", mixed, "--json", *words))
        counts = document["counts"]
        assert (counts["replays"], counts["found"], counts["could_not_run"], counts["not_concerned"]) == (2, 0, 0, 1), (words, counts)
        assert [item["call"]["name"] for item in document["replays"] if "error" not in item] == [concerned], document
        assert [(item["answer"], item["error"]) for item in document["replays"] if "error" in item] == [("not concerned", option)], document
        text = ops_debug("replay", mixed, *words)
        assert "2 replays: 0 with a finding, 1 without, 0 could not run, 1 not concerned\n" in text and option in text, text
    ops_debug("replay", mixed, "--isa", "SSE41", "--call", "1", ok=(3,))
    ops_debug("replay", mixed, "--isa", "SSE41", "--call", "2")


def overrun_of_scratch_memory_is_one_minimal_form_whatever_it_led_to():
    forms = []
    for sizes, threads in [("1 7 64 16", "1"), ("4 3 32 8", "2"), ("8 7 64 16", "2")]:
        found = record([PRIMITIVES, "overrun", *sizes.split()], "--trigger", "exit,crash,timeout=2s", may_hang=True,
                       env={"OMP_NUM_THREADS": threads, "DNNL_MAX_CPU_ISA": "AVX2"})
        calls = [(bundle, call) for bundle in found
                 for call in json.loads(ops_debug("show", bundle, "--all", "--json"))["calls"]
                 if call["name"] == "convolution backward_weights"]
        assert calls, found
        bundle, call = calls[0]
        if call["attributes"]["impl"] != "jit_1x1:avx2":
            raise Skip("the implementation at fault is not for this CPU")
        smallest = os.path.join(tempfile.mkdtemp(prefix="dnnl-"), "min.opsb")
        made = json.loads(ops_debug("reduce", bundle, "--call", f"{call['thread']}:{call['number']}", "--guard", "-o",
                                    smallest, "--json"))
        assert made["failure"]["label"] == "oob-write", made["failure"]
        assert made["failure"]["operand"] == "scratchpad", made["failure"]
        assert made["call"]["attributes"]["strides"] == [2, 2] and made["call"]["dims"]["ic"] < 8, made["call"]
        forms.append((made["call"]["dims"], made["call"]["attributes"]["threads"]))
        ops_debug("replay", smallest, "--guard", ok=(1,))
    assert all(form == forms[0] for form in forms), forms


def nan_born_in_a_convolution_is_named():
    torch_is_needed()
    bundle, = record(script("""
        import torch
        weights = torch.full((16, 16, 3, 3), float("inf"))
        torch.nn.functional.conv2d(torch.zeros(4, 16, 16, 16), weights)
    """))
    shown = json.loads(ops_debug("show", bundle, "--json"))
    failure = shown["failures"][0]
    assert failure["outcome"] == "nan" and failure["operand"] == "dst", failure
    assert replays(bundle)[0]["came_back"]


def only_primitives_that_match_are_recorded():
    bundle, = record([PRIMITIVES], "--trigger", "exit", "--match", "pooling*")
    names = {call["name"] for call in json.loads(ops_debug("show", bundle, "--all", "--json"))["calls"]}
    assert names == {"pooling forward", "pooling backward_data"}, names


if __name__ == "__main__":
    main(globals())
