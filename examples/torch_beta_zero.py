#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention scores into a buffer that is used again, where the first step left NaN.

With beta = 0 the old content of `out` must not count. PyTorch 1.13's baddbmm reads it all the same (pytorch issue 96037).
"""
import torch


def scores(query, key, bias, buffer):
    scale = query.shape[-1] ** -0.5
    return torch.baddbmm(bias, query, key.transpose(1, 2), beta=0, alpha=scale, out=buffer)


def main():
    torch.manual_seed(3)
    buffer = torch.full((2, 4, 6), float("nan"))
    for step in range(2):
        query, key = torch.randn(2, 4, 8), torch.randn(2, 6, 8)
        weights = torch.softmax(scores(query, key, torch.zeros(2, 4, 6), buffer), dim=-1)
        print(f"step {step}: mean weight {float(weights.mean()):.4f}")


if __name__ == "__main__":
    main()
