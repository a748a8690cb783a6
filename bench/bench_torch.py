# SPDX-License-Identifier: Apache-2.0
"""
What `record --torch` costs a training step of a small transformer encoder (d=128, 4 layers), against a TorchDispatchMode that does nothing, in
the same run: bench_torch.py BUILD [PAIRS]. Medians of paired runs. Each run is a process; its steps are timed inside.
"""
import os
import statistics
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
STEPS = 30
PYTHON = "/usr/bin/python3"
PROGRAM = """
import sys, time
import torch
from torch.utils._python_dispatch import TorchDispatchMode
torch.manual_seed(0)
torch.set_num_threads(1)

class Nothing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 32, 128), torch.randn(8, 32, 128)

def step():
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()

def run():
    for _ in range(5):
        step()
    times = []
    for _ in range(int(sys.argv[2])):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    print(sorted(times)[len(times) // 2])

if sys.argv[1] == "nothing":
    with Nothing():
        run()
else:
    run()
"""


def run(kind, capture=None):
    program = [PYTHON, "-c", PROGRAM, kind, str(STEPS)]
    if capture is not None:
        out = tempfile.mkdtemp(prefix="bench-torch-")
        torch = [] if kind == "plain" else ["--torch"]
        program = [os.path.join(BUILD, "ops-debug"), "record", "-q", *torch, "--capture", capture, "-o", out, "--", *program]
    return float(subprocess.run(program, check=True, capture_output=True, text=True, cwd="/").stdout)


def main():
    kinds = {"alone": ("plain", None), "no-op mode": ("nothing", None), "--torch, meta": ("recorded", "meta"),
             "--torch, inputs": ("recorded", "inputs")}
    times = {name: [] for name in kinds}
    for _ in range(PAIRS):
        for name, (kind, capture) in kinds.items():
            times[name].append(run(kind, capture))
    base = times["no-op mode"]
    print(f"{'training step':<18}{'median ms':>10}{'of no-op mode':>15}")
    for name, found in times.items():
        ratio = statistics.median(a / b for a, b in zip(found, base))
        print(f"{name:<18}{statistics.median(found) * 1e3:>10.2f}{ratio:>15.2f}")


main()
