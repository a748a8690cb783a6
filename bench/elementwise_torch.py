#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's elementwise operators as bench_elementwise measures ours: GB/s read and written, medians, one thread's processor time, with
the copy of the same array in the same rounds. usage: elementwise_torch.py [MEGABYTES]"""
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("skipped: /usr/bin/python3 has no torch (apt install python3-torch)", file=sys.stderr)
    sys.exit(77)

ROUNDS = 9


def main():
    torch.set_num_threads(1)
    count = (int(sys.argv[1]) if len(sys.argv) > 1 else 64) << 18
    x = (torch.rand(count) - 0.5) * 8
    b = (torch.rand(count) - 0.5) * 8
    positive = x.abs()
    y = torch.empty_like(x)
    passes = {
        "copy": (lambda: y.copy_(x), 2), "abs": (lambda: torch.abs(x, out=y), 2), "relu": (lambda: torch.clamp_min(x, 0, out=y), 2),
        "add": (lambda: torch.add(x, b, out=y), 3), "exp": (lambda: torch.exp(x, out=y), 2),
        "log": (lambda: torch.log(positive, out=y), 2), "erf": (lambda: torch.erf(x, out=y), 2),
        "tanh": (lambda: torch.tanh(x, out=y), 2), "sigmoid": (lambda: torch.sigmoid(x, out=y), 2),
        "gelu": (lambda: torch._C._nn.gelu(x, out=y), 2),
        "gelu tanh": (lambda: torch._C._nn.gelu(x, approximate="tanh", out=y), 2),
        "hardswish": (lambda: torch._C._nn.hardswish(x, out=y), 2), "pow": (lambda: torch.pow(positive, b, out=y), 3),
    }
    rates = {name: [] for name in passes}
    for turn in range(ROUNDS + 1):
        for name, (run, operands) in passes.items():
            start = time.thread_time()
            run()
            spent = time.thread_time() - start
            if turn > 0:  # the first one is not counted
                rates[name].append(4 * count * operands / spent * 1e-9)
    for name, values in rates.items():
        ratio = statistics.median(v / c for v, c in zip(values, rates["copy"]))
        print(f"PyTorch {torch.__version__} {name:12} {statistics.median(values):8.2f} {100 * ratio:9.0f}%")


main()
