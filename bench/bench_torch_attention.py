#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of bench_linear: for each line on stdin, milliseconds of the attention chain and of PyTorch's own function.

bench_torch_attention.py THREADS
"""
import math
import sys
import time

import torch

torch.set_num_threads(int(sys.argv[1]))
functional = torch.nn.functional
# Its name until 2.0 had an underscore, and it gave the weights too.
attention = getattr(functional, "scaled_dot_product_attention", None) or functional._scaled_dot_product_attention


def chain(q, k, v):
    return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * (1 / math.sqrt(64)), -1), v)


def milliseconds(function, *inputs):
    start = time.perf_counter()
    function(*inputs)
    return 1e3 * (time.perf_counter() - start)


inputs = [torch.randn(1, 8, 1024, 64) for _ in range(3)]
with torch.no_grad():
    for _ in range(3):
        chain(*inputs)
        attention(*inputs)
    print("PyTorch %s, %d threads" % (torch.__version__, torch.get_num_threads()), flush=True)
    for _ in sys.stdin:
        print(milliseconds(chain, *inputs), milliseconds(attention, *inputs), flush=True)
