#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs: bench_recorder.py BUILD [--rounds N] [SECTION...], all sections unless some are named.

Every round runs each way of recording once, one after the other, so that a slow spell of the machine falls on all; medians are printed.
Processor time of the recorded thread. Peers that are not installed are left out, with a line (`scripts/setup bench` installs them)."""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

CALLS, DATA_CALLS, DATA_MIB = 1000000, 200, 4
PYTHON = "/usr/bin/python3"
ONE_THREAD = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")


def output(command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def loop(*words, program="recorder_loop"):
    return output([os.path.join(HERE, program), *words])


def size_of(folder):
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)


def record(options, command, **more):
    """What the program prints, and the bytes of the bundles for each call in them."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([os.path.join(BUILD, "ops-debug"), "record", "-o", out, *options, "--", *command], check=True, text=True,
                              capture_output=True, **more)
        return done.stdout, size_of(out) / int(re.search(r"^ops-debug: (\d+) calls? in", done.stderr, re.M).group(1))


def recorded(capture, *words, budget="256M", more=()):
    return record(["--capture", capture, "--budget", budget, *more], [os.path.join(HERE, "recorder_loop"), *words])[0]


def lttng(*words):
    """One tracepoint in the loop, its session on: what the program prints, and the bytes of the trace."""
    with tempfile.TemporaryDirectory() as out:
        def control(*command):
            output(["lttng", *command])
        control("create", "opd-bench", "--output", out)
        try:
            control("enable-channel", "-u", "opd_bench", "--num-subbuf", "16", "--subbuf-size", "1M")
            control("enable-event", "-u", "opd_bench:call", "-c", "opd_bench")
            control("start")
            said = loop(*words, program="recorder_loop_lttng")
            control("stop")
        finally:
            control("destroy", "opd-bench")
        return said, size_of(out)


def uftrace(*words):
    with tempfile.TemporaryDirectory() as out:
        text = output(["uftrace", "record", "--no-pager", "--no-libcall", "-d", out + "/u",
                       os.path.join(HERE, "recorder_loop_pg"), *words])
        return text.splitlines()[0], size_of(out + "/u")


def have(tool, program):
    if shutil.which(tool) is None or not os.path.exists(os.path.join(HERE, program)):
        print(f"{tool}: not installed, left out")
        return False
    if tool == "lttng":
        subprocess.run(["lttng-sessiond", "--daemonize"], capture_output=True)
    return True


def paired(ways, rounds):
    """{name: [what each round gave]} of {name: function}."""
    found = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            found[name].append(run())
    return found


def table(title, found, unit, rounds):
    """Medians beside those of the first way; ratios are medians of the rounds' ratios."""
    base = next(iter(found.values()))
    print(f"{title}: {unit}, medians of {rounds} paired rounds (lowest .. highest)")
    for name, values in found.items():
        ratio = statistics.median(a / b for a, b in zip(values, base))
        print(f"  {name:36}{statistics.median(values):10.2f}  {min(values):9.2f} .. {max(values):9.2f}   x {ratio:6.3f}"
              f"   {statistics.median(values) - statistics.median(base):+9.2f}", flush=True)


def calls(rounds):
    ways = {"no recording": lambda: float(loop("calls", str(CALLS))), "ops-debug meta": lambda: float(recorded("meta", "calls", str(CALLS))),
            "ops-debug counts": lambda: float(recorded("counts", "calls", str(CALLS)))}
    if have("lttng", "recorder_loop_lttng"):
        ways["LTTng-ust, one tracepoint"] = lambda: float(lttng("calls", str(CALLS))[0])
    if have("uftrace", "recorder_loop_pg"):
        ways["uftrace, entry and exit"] = lambda: float(uftrace("calls", str(CALLS))[0])
    table("a call that does nothing", paired(ways, rounds), "ns", rounds)
    table("with what collects it", paired({level: lambda level=level: whole(level) for level in ("meta", "counts")}, rounds), "ns", rounds)
    ways = {"1 thread": ("1",), "4 threads": ("4",), "8 threads": ("8",), "10000 sizes in turn": ("1", "10000")}
    table("the same at meta", paired({name: lambda more=more: float(recorded("meta", "calls", str(CALLS), *more)) for name, more in ways.items()}, rounds),
          "ns", rounds)


def whole(capture):
    """Processor time of the program and what collects its calls, ns a call."""
    before = os.times()
    recorded(capture, "calls", str(CALLS))
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system) / CALLS * 1e9


def hook(rounds):
    ways = {"ops-debug, nothing records": lambda: float(loop("hook", "100000000"))}
    if have("lttng", "recorder_loop_lttng"):
        ways["LTTng-ust, tracepoint off"] = lambda: float(loop("hook", "100000000", program="recorder_loop_lttng"))
    table("a hook of the C API beyond an empty loop", paired(ways, rounds), "ns", rounds)


def primitives(rounds):
    """A small oneDNN eltwise: its execution, and its making, which the recorder does the words of a call in."""
    program = os.path.join(HERE, "recorder_dnnl")
    for what, count in (("execute", "500000"), ("create", "200000")):
        command = [program, what, count]
        ways = {"no recording": lambda: float(output(command, env=ONE_THREAD)),
                "ops-debug meta": lambda: float(record(["--capture", "meta"], command, env=ONE_THREAD)[0])}
        table(f"oneDNN eltwise of 64 elements, {what}", paired(ways, rounds), "ns", rounds)


def file(rounds):
    words = ("calls", str(CALLS // 10))
    ways = {"ops-debug meta, the run's bundle": lambda: record(["--capture", "meta"], [os.path.join(HERE, "recorder_loop"), *words])[1]}
    if have("lttng", "recorder_loop_lttng"):
        ways["LTTng-ust, one event"] = lambda: lttng(*words)[1] / (CALLS / 10)
    if have("uftrace", "recorder_loop_pg"):
        ways["uftrace"] = lambda: uftrace(*words)[1] / (CALLS / 10)
    table("file of a run", paired(ways, rounds), "bytes a call", rounds)


def data(rounds):
    seconds = {"no recording": [], "stats": [], "stats, sampled": [], "inputs": [], "full": []}
    memory = {name: [] for name in seconds}
    words = ("data", str(DATA_CALLS), str(DATA_MIB))
    for _ in range(max(3, rounds // 2)):
        for name in seconds:
            text = loop(*words) if name == "no recording" else recorded(name.split(",")[0], *words, budget="64M", more=["--sample-stats"] if "sampled" in name else [])
            seconds[name].append(float(text.split()[0]))
            memory[name].append(int(text.split()[1]))
    gigabytes = DATA_CALLS * DATA_MIB * 2**20 / 1e9
    base = statistics.median(seconds["no recording"])
    print(f"capture of fresh random f32, {DATA_CALLS} calls of {DATA_MIB} MiB, in and out, budget 64 MiB")
    for name in list(seconds)[1:]:
        extra = statistics.median(seconds[name]) - base
        grown = statistics.median(memory[name]) - statistics.median(memory["no recording"])
        print(f"  {name:16} {gigabytes / extra:6.2f} GB/s of operands a core   memory of the program grows by {grown / 1024:.1f} MiB", flush=True)


SGEMM = """
import statistics, time
import numpy as np
a, b = np.ones((64, 64), np.float32), np.ones((64, 64), np.float32)
times = []
for _ in range(60):
    begin = time.thread_time()
    for _ in range(500):
        a @ b
    times.append(time.thread_time() - begin)
print(statistics.median(times[10:]) * 2e3)
"""
# A perceptron of three 1024-wide layers, batch 1: time of a forward pass after the weights have been seen often.
PERCEPTRON = """
import statistics, time
import numpy as np
r = np.random.default_rng(1)
layers = [r.standard_normal((1024, 1024)).astype(np.float32) / 32 for _ in range(3)]
def forward(x):
    for weights in layers:
        x = np.maximum(weights @ x, 0)
    return x
times = []
for i in range(120):
    x = r.standard_normal(1024).astype(np.float32)
    begin = time.thread_time()
    forward(x)
    times.append(time.thread_time() - begin)
print(statistics.median(times[20:]) * 1e6)
"""
# Inference with a transformer encoder, batch 1; the argument names the observer of PyTorch's own.
ENCODER = """
import statistics, sys, tempfile, time
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 4).eval()
x = torch.randn(1, 64, 128)
def run():
    times = []
    with torch.no_grad():
        for _ in range(260):
            begin = time.thread_time()
            model(x)
            times.append(time.thread_time() - begin)
    print(statistics.median(times[180:]) * 1e3)
if sys.argv[1] == "profiler":
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        run()
elif sys.argv[1] == "graph":
    from torch.profiler import ExecutionGraphObserver
    observer = ExecutionGraphObserver()
    observer.register_callback(tempfile.mktemp())
    observer.start()
    run()
    observer.stop()
else:
    run()
"""


def python(program, options=None, *words):
    command = [PYTHON, "-c", program, *words]
    return float(output(command, env=ONE_THREAD) if options is None else record(options, command, env=ONE_THREAD)[0])


def sgemm(rounds):
    ways = {"no recording": None, "meta": ["--capture", "meta"]}
    table("numpy, product of 64x64", paired({name: lambda options=options: python(SGEMM, options) for name, options in ways.items()}, rounds),
          "us", rounds)


def perceptron(rounds):
    ways = {"no recording": None, "meta": ["--capture", "meta"], "inputs": [], "inputs, no write tracking": ["--no-write-tracking"]}
    table("numpy, three 1024-wide layers, batch 1",
          paired({name: lambda options=options: python(PERCEPTRON, options) for name, options in ways.items()}, rounds), "us a pass", rounds)


def encoder(rounds):
    ways = {"no recording": (None, "plain"), "meta": (["--capture", "meta"], "plain"), "inputs, 256 MiB": (["--budget", "256M"], "plain"),
            "torch.profiler": (None, "profiler"), "ExecutionGraphObserver": (None, "graph")}
    table("PyTorch, transformer encoder d=128, 4 layers, batch 1",
          paired({name: lambda options=options, kind=kind: python(ENCODER, options, kind) for name, (options, kind) in ways.items()}, rounds),
          "ms a pass", rounds)


SECTIONS = {section.__name__: section for section in (calls, hook, primitives, file, data, sgemm, perceptron, encoder)}
parser = argparse.ArgumentParser(description="What recording costs, beside its peers.")
parser.add_argument("build", help="folder with ops-debug and bench/")
parser.add_argument("sections", nargs="*", metavar="SECTION", help="of " + " ".join(SECTIONS) + "; all when none is named")
parser.add_argument("--rounds", type=int, default=7)
arguments = parser.parse_intermixed_args()
BUILD = os.path.abspath(arguments.build)
HERE = os.path.join(BUILD, "bench")
if unknown := [name for name in arguments.sections if name not in SECTIONS]:
    sys.exit(f"no section {unknown[0]}; there are {' '.join(SECTIONS)}")
for section in arguments.sections or SECTIONS:
    SECTIONS[section](arguments.rounds)
