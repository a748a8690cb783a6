#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's Softmax and LayerNormalization on the shapes of bench_normalize.c, beside a copy of the same bytes, on one thread: megabytes (128)"""
import statistics
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("bench_normalize.py: PyTorch is missing; install python3-torch")

torch.set_num_threads(1)
ROUNDS = 9
elements = (int(sys.argv[1]) if len(sys.argv) > 1 else 128) << 18


def timed(run):
    start = time.thread_time()
    run()
    return time.thread_time() - start


def main():
    for row in (1024, 64, 16384):
        x = torch.randn(elements // row, row)
        copy = torch.empty_like(x)
        scale, bias = torch.randn(row), torch.randn(row)
        subjects = {
            "softmax": lambda: torch.softmax(x, -1, out=copy),
            "layer_norm": lambda: torch.nn.functional.layer_norm(x, (row,), scale, bias),
        }
        for name, run in subjects.items():
            run()
            pairs = [(timed(lambda: copy.copy_(x)), timed(run)) for _ in range(ROUNDS)]
            copied, spent = (statistics.median(p[i] for p in pairs) for i in (0, 1))
            rate = 2 * x.numel() * 4 / spent * 1e-9
            print(f"  torch {name} f32[{elements // row},{row}]: {rate:6.2f} GB/s, {100 * copied / spent:4.0f} % of a copy", flush=True)


main()
