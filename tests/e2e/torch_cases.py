# SPDX-License-Identifier: Apache-2.0
"""ATen operators under the recorder, and on the way from recording to group: torch_cases.py BUILD CASE."""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from record_harness import *  # noqa: E402,F403

TORCH = ["torch=1"]
FRESH, STATE, VIEW = 1 << 7, 1 << 8, 1 << 10
OPS_DEBUG = os.path.join(BUILD, "ops-debug")

# A fresh output full of NaN, of which beta = 0 says that it is not to be read.
BETA_ZERO = """
    import torch
    torch.manual_seed(3)
    weights = torch.randn(3, 4, 6)
    out = torch.full((3, 5, 6), float("nan"))
    torch.baddbmm(torch.randn(3, 5, 6), torch.randn(3, 5, 4), weights, beta=0, out=out)
    print(out.isnan().sum().item())
    """


def need_torch():
    if SANITIZED:
        raise Skip("PyTorch does not start under the sanitizer's preloaded runtime in reasonable time")
    found = importlib.util.find_spec("torch")  # importing it takes seconds
    version = ""
    if found is not None:
        with open(os.path.join(os.path.dirname(found.origin), "version.py"), encoding="ascii") as file:
            version = file.read()
    if "'1.13" not in version:
        raise Skip("python3-torch 1.13 is not installed")


def ops_debug(*words):
    done = subprocess.run([OPS_DEBUG, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def named(calls, symbol):
    return [call for call in calls if call["symbol"] == symbol]


def training_step_is_recorded_with_the_blas_calls_inside():
    need_torch()
    run = same_as_alone(script("""
        import torch
        torch.manual_seed(7)
        x = torch.randn(16, 24)
        w = torch.randn(24, 8, requires_grad=True)
        y = (x @ w).relu()
        loss = torch.cat([y, y * 2.0]).sum()
        loss.backward()
        with torch.no_grad():
            w.add_(w.grad, alpha=-0.5)
        print(float(loss), float(w.sum()))
        """), TORCH + ["trigger=exit"])
    calls = run.runs[0].calls
    forward = named(calls, "mm.default")[0]
    assert forward["what"].startswith("mm(") and forward["depth"] == "0", forward
    assert "libtorch_cpu" in forward["provider"], forward
    views = {name: operand["view"] for name, operand in forward["operands"].items()}
    assert views == {"self": "f32[16, 24]", "mat2": "f32[24, 8]", "result": "f32[16, 8]"}, views
    assert forward["operands"]["result"]["flags"] & FRESH
    inner = calls[calls.index(forward) + 1]
    assert inner["symbol"] == "sgemm_" and inner["depth"] == "1", inner
    assert inner["operands"]["C"]["after"] == forward["operands"]["result"]["after"]  # the same elements: the same digest
    assert len(named(calls, "mm.default")) == 2 and named(calls, "threshold_backward.default"), "backward is recorded"
    step = named(calls, "add_.Tensor")[-1]
    assert step["operands"]["self"]["role"] == "3" and "alpha=-0.5" in step["what"], step
    assert step["operands"]["self"]["before"] == forward["operands"]["mat2"]["before"], "the weights before the step"
    assert named(calls, "cat.default")[0]["operands"]["result"]["view"] == "f32[32, 8]"
    assert all(call["flags"] & VIEW for call in named(calls, "t.default"))
    random = named(calls, "randn.default")
    assert random[0]["operands"]["generator"]["view"] == "u8[5056]" and random[0]["operands"]["generator"]["flags"] & STATE
    assert random[0]["operands"]["generator"]["before"] != random[1]["operands"]["generator"]["before"]
    seeds = {event["name"]: event["value"] for event in run.runs[0].events if event["kind"] == "seed"}
    assert seeds["torch.manual_seed"] == "7", seeds
    states = {event["name"].split()[0] for event in run.failures[0].events if event["kind"] == "state"}
    assert {"torch.default_generator", "numpy.random"} <= states, run.failures[0].events


def recorded_operators_replay_bitwise():
    need_torch()
    folder = os.path.join(tempfile.mkdtemp(prefix="record-"), "one.opsb")
    program = script("""
        import torch
        torch.manual_seed(1)
        x = torch.randn(5, 7)
        x.mul_(torch.bernoulli(torch.full((5, 7), 0.5)))
        y = torch.nn.functional.layer_norm(x.t(), (5,))
        z = torch.softmax(y, 1).masked_fill(y > 1, float("-inf"))
        a, b = torch.stack([z, y]).max(0)
        print(torch.where(b == 0, a, y).sum().item())
        """)
    status, _, said = ops_debug("record", "--torch", "--trigger", "exit", "-o", folder, "--", *program)
    assert status == 0, said
    status, text, said = ops_debug("replay", folder, "--json")
    document = json.loads(text)
    answers = {(item["call"]["name"], item["answer"]) for item in document["replays"]}
    assert status == 0 and len(answers) > 8, (status, said, answers)
    silent = {("_local_scalar_dense", "nothing wrong found")}  # has no output to compare
    assert {answer for _, answer in answers - silent} == {"same result, bitwise"}, answers
    names = {name for name, _ in answers}
    assert {"randn", "bernoulli", "native_layer_norm", "_softmax", "stack", "max.dim", "where.self", "mul_.Tensor"} <= names, names


def old_output_read_with_beta_zero_goes_the_whole_way():
    need_torch()
    out = tempfile.mkdtemp(prefix="record-")
    status, text, said = ops_debug("record", "--torch", "-o", out, "--", *script(BETA_ZERO))
    assert status == 0 and int(text) > 0, (text, said)
    bundle = next(os.path.join(out, name) for name in os.listdir(out) if "nan" in name)
    status, text, said = ops_debug("replay", bundle, "--json")
    replay = json.loads(text)["replays"][0]
    assert status == 1 and replay["answer"] == "failure reproduced, bitwise", (text, said)
    assert replay["call"]["name"] == "baddbmm.out"
    status, text, said = ops_debug("diagnose", bundle)
    assert status == 1 and "unread-operand-read" in text, text + said
    least = os.path.join(out, "least.opsb")
    status, text, said = ops_debug("reduce", bundle, "-o", least)
    assert status == 0, text + said
    shown = json.loads(ops_debug("show", least, "--json")[1])
    call = shown["calls"][0]
    shapes = {operand["name"]: operand["shape"] for operand in call["operands"]}
    assert shapes == {name: [1, 1, 1] for name in ("self", "batch1", "batch2", "out")}, shapes
    assert ops_debug("replay", least)[0] == 1
    status, text, said = ops_debug("group", bundle, least, "--json")
    groups = json.loads(text)["groups"]
    assert status == 0 and len(groups) == 1, text + said


def recipe_stands_in_for_a_content_that_was_not_kept():
    out = tempfile.mkdtemp(prefix="record-")
    status, _, said = ops_debug("record", "--capture", "stats", "-o", out, "--", os.path.join(BUILD, "record_runtime"))
    assert status == 0, said
    bundle = next(os.path.join(out, name) for name in sorted(os.listdir(out)) if "-inf" in name or "-nan" in name)
    shown = json.loads(ops_debug("show", bundle, "--json")[1])
    assert {"kind": "seed", "name": "weights", "seed": "42"} in shown["generators"], shown["generators"]
    assert "seed         weights 42\n" in ops_debug("show", bundle)[1]
    # Ours subtracts the maximum: with the right input there is nothing wrong.
    status, text, said = ops_debug("replay", bundle, "--json", "-v")
    replay = json.loads(text)["replays"][0]
    assert status == 0 and "error" not in replay, (status, text, said)
    assert replay["observed"]["outcome"] == "ok" and replay["call"]["name"] == "Softmax", replay


def forked_workers_and_threads_are_recorded():
    need_torch()
    run = same_as_alone(script("""
        import threading
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Numbers(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                return torch.full((3,), float(i)) @ torch.ones(3)

        if __name__ == "__main__":
            print(sum(float(batch.sum()) for batch in DataLoader(Numbers(), batch_size=2, num_workers=2)))
            worker = threading.Thread(target=lambda: print(float(torch.ones(5).cumsum(0)[-1])))
            worker.start()
            worker.join()
        """), TORCH)
    by_process = {bundle.head["pid"]: bundle.calls for bundle in run.runs}
    assert sum(len(named(calls, "dot.default")) for calls in by_process.values()) == 4, by_process.keys()
    assert len([pid for pid, calls in by_process.items() if named(calls, "dot.default")]) == 2
    main = next(calls for calls in by_process.values() if named(calls, "cumsum.default"))
    assert named(main, "cumsum.default")[0]["thread"] != main[0]["thread"]


def uncaught_error_looks_as_it_does_alone():
    need_torch()
    program = script("""
        import torch
        try:
            torch.ones(2, 3) @ torch.ones(4, 5)
        except RuntimeError as error:
            print(error)
        torch.ones(2).view(7)
        """)
    run = Run(program, TORCH)
    done = subprocess.run(program, capture_output=True, text=True)
    assert (run.status, run.stdout, run.stderr) == (done.returncode, done.stdout, done.stderr.rstrip("\n")), (run.stderr, done.stderr)
    refused = [call for call in run.runs[0].calls if call["symbol"] == "mm.default"]
    assert len(refused) == 1 and not has(refused[0], "in_flight"), refused


def other_version_or_none_costs_one_line_and_no_more():
    folder = tempfile.mkdtemp(prefix="record-")
    os.mkdir(os.path.join(folder, "torch"))
    with open(os.path.join(folder, "torch", "__init__.py"), "w", encoding="ascii") as file:
        file.write("__version__ = '9.9'\n")
    with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="ascii") as file:
        file.write("import builtins\nbuiltins.own_site = 'mine'\n")
    env = dict(os.environ, PYTHONPATH=folder)
    run = Run(script("import sys, torch; print(torch.__version__, own_site, [p for p in sys.path if 'opsdebug' in p])"), TORCH, env=env)
    assert run.status == 0 and run.stdout == "9.9 mine []\n", (run.stdout, run.stderr)
    assert len(run.stderr.splitlines()) == 1 and "9.9" in run.stderr, run.stderr
    bare = [PYTHON, "-S", "-c", "print('no site')"]
    run = Run(bare, TORCH, env=env)
    assert (run.status, run.stdout, run.stderr) == (0, "no site\n", "")


def states_of_numpy_generators_are_those_of_the_trigger():
    """Against what the generators say of themselves."""
    need_torch()
    run = same_as_alone(script("""
        import numpy as np
        first = np.random.default_rng(1)
        import torch
        second = np.random.default_rng(2)
        other = np.random.Generator(np.random.SFC64(3))
        first.standard_normal(5); second.standard_normal(7)
        for generator in (first, second):
            state = generator.bit_generator.state["state"]
            print((state["state"].to_bytes(16, "little") + state["inc"].to_bytes(16, "little")).hex())
        torch.ones(2) / 0
        first.standard_normal(9); second.standard_normal(9)
        """), TORCH)
    found = {name: state.hex() for name, state in states(run.failures[0]).items() if "PCG64" in name}
    assert found == {f"numpy.Generator-{i + 1}.PCG64": line for i, line in enumerate(run.stdout.split())}, (found, run.stdout)


def operators_of_pytorch_are_told_as_such():
    need_torch()
    run = Run(script("""
        import torch
        (torch.ones(2, 3).view(6) / 0)
        """), TORCH)
    shown = ops_debug("show", run.failures[0].path, "--all")[1]
    assert "unknown" not in shown and "PyTorch operator of aten" in shown and "computes nothing, PyTorch" in shown, shown
    notes = [call["flags"] for call in json.loads(ops_debug("show", run.failures[0].path, "--json")[1])["calls"] if call["domain"] == "aten"]
    assert len(notes) == 3 and all("PyTorch operator of aten" in text for text in notes), notes


def operators_are_counted_without_records():
    """By name, held against a run with a record of each."""
    need_torch()
    program = script("""
        import torch
        torch.manual_seed(1)
        x, w = torch.randn(6, 5), torch.randn(5, 4, requires_grad=True)
        for i in range(20):
            (x @ w).relu().sum().backward()
        print(w.grad.sum().item())
        """)
    tallies = []
    for level in ("meta", "counts"):
        run = Run(program, TORCH + [f"capture={level}"])
        names = {(call["thread"], call["number"]): call["symbol"] for call in run.runs[0].calls}
        tally = {}
        for count in run.runs[0].counts or [{"thread": thread, "number": number, "calls": 1} for thread, number in names]:
            name = names[str(count["thread"]), str(count["number"])]
            tally[name] = tally.get(name, 0) + count["calls"]
        tallies.append(tally)
    assert tallies[0] == tallies[1] and tallies[0]["relu.default"] == 20, tallies
    assert len(run.runs[0].calls) < 60 and sum(tally.values()) == int(run.report["calls"]), run.report


main(globals())
