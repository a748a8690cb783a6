#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""general_numpy.py broadcast < LINES: shapes "2,3;3;" per line (no numbers: a scalar); prints the broadcast shape, or "refused"."""
import sys

import numpy as np


def broadcast(line):
    shapes = [tuple(int(d) for d in text.split(",") if d) for text in line.split(";")]
    try:
        return ",".join(str(d) for d in np.broadcast_shapes(*shapes))
    except ValueError:
        return "refused"


def main():
    if sys.argv[1:] != ["broadcast"]:
        sys.exit("unknown arguments")
    for line in sys.stdin:
        print(broadcast(line.rstrip("\n")))


main()
