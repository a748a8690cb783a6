#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs: bench_recorder.py BUILD [ROUNDS [perceptron]].

Every round runs each way of recording once, one after the other, so that a slow spell of the machine falls on all;
medians are printed. Processor time of the recorded thread. Peers that are not installed are left out, with a line."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
HERE = os.path.join(BUILD, "bench")
CALLS, DATA_CALLS, DATA_MIB = 1000000, 200, 4


def output(command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def plain(*words, program="recorder_loop"):
    return output([os.path.join(HERE, program), *words])


def recorded(capture, *words, budget="256M"):
    with tempfile.TemporaryDirectory() as out:
        return output([os.path.join(BUILD, "ops-debug"), "record", "-q", "-o", out, "--capture", capture, "--budget", budget,
                       "--", os.path.join(HERE, "recorder_loop"), *words])


def lttng(*words):
    """One tracepoint in the loop, its session on."""
    with tempfile.TemporaryDirectory() as out:
        def control(*command):
            output(["lttng", *command])
        control("create", "opd-bench", "--output", out)
        try:
            control("enable-event", "-u", "opd_bench:call")
            control("start")
            return plain(*words, program="recorder_loop_lttng")
        finally:
            control("destroy", "opd-bench")


def uftrace(*words):
    with tempfile.TemporaryDirectory() as out:
        text = output(["uftrace", "record", "--no-pager", "--no-libcall", "-d", out + "/u",
                       os.path.join(HERE, "recorder_loop_pg"), *words])
        return text.splitlines()[0]


def have(tool, program):
    if shutil.which(tool) is None or not os.path.exists(os.path.join(HERE, program)):
        print(f"{tool}: not installed (scripts/setup bench), left out")
        return False
    return True


def main():
    ways = {"no recording": plain, "ops-debug meta": lambda *w: recorded("meta", *w)}
    if have("lttng", "recorder_loop_lttng"):
        subprocess.run(["lttng-sessiond", "--daemonize"], capture_output=True)
        ways["LTTng-ust, one tracepoint"] = lttng
    if have("uftrace", "recorder_loop_pg"):
        ways["uftrace, entry and exit"] = uftrace
    times = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, run in ways.items():
            times[name].append(float(run("calls", str(CALLS))))
    base = statistics.median(times["no recording"])
    print(f"cost of a call, ns, median of {ROUNDS} paired rounds of {CALLS} calls (spread: lowest .. highest)")
    for name, values in times.items():
        print(f"  {name:28} {statistics.median(values):8.1f}   {min(values):8.1f} .. {max(values):.1f}"
              f"   over no recording {statistics.median(values) - base:8.1f}")

    seconds = {"no recording": [], "stats": [], "inputs": [], "full": []}
    memory = {name: [] for name in seconds}
    words = ("data", str(DATA_CALLS), str(DATA_MIB))
    for _ in range(max(3, ROUNDS // 2)):
        for name in seconds:
            text = plain(*words) if name == "no recording" else recorded(name, *words, budget="64M")
            seconds[name].append(float(text.split()[0]))
            memory[name].append(int(text.split()[1]))
    gigabytes = DATA_CALLS * DATA_MIB * 2**20 / 1e9
    base = statistics.median(seconds["no recording"])
    print(f"capture of fresh random f32, {DATA_CALLS} calls of {DATA_MIB} MiB, in and out, budget 64 MiB")
    for name in ("stats", "inputs", "full"):
        extra = statistics.median(seconds[name]) - base
        grown = statistics.median(memory[name]) - statistics.median(memory["no recording"])
        print(f"  {name:8} {gigabytes / extra:6.2f} GB/s of operands a core   memory of the program grows by {grown / 1024:.1f} MiB")


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


def perceptron(rounds):
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    words = ["/usr/bin/python3", "-c", PERCEPTRON]
    ways = {"no recording": None, "meta": ["--capture", "meta"], "inputs": [], "inputs, no write tracking": ["--no-write-tracking"]}
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, options in ways.items():
            with tempfile.TemporaryDirectory() as out:
                front = [] if options is None else [os.path.join(BUILD, "ops-debug"), "record", "-q", *options, "-o", out, "--"]
                times[name].append(float(output([*front, *words], env=environment)))
    base = statistics.median(times["no recording"])
    print(f"perceptron of three 1024-wide layers in numpy, batch 1, us a pass, median of {rounds} paired rounds")
    for name, values in times.items():
        print(f"  {name:28} {statistics.median(values):8.1f}   {statistics.median(values) / base:5.2f} of no recording")


if len(sys.argv) > 3 and sys.argv[3] == "perceptron":
    perceptron(ROUNDS)
else:
    main()
    perceptron(max(3, ROUNDS // 2))
