#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What LSTM should give, by numpy in f64: the equations of ONNX, one sequence at a time.

lstm_numpy.py FILE    FILE: see tests/support/trial_cases.py. Prints each wrong result and, last, "checked RUNS wrong COUNT".
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import trial_cases  # noqa: E402

TOLERANCE = {"f16": 2.0**-10, "f32": 2.0**-18, "f64": 2.0**-46}  # of states whose size is about 1


def sequence(a, x, w, r, b, h, c, p):
    """x [steps, inputs]; the states after each step."""
    clip = a.get("clip", np.inf)

    def f(z):
        return 1 / (1 + np.exp(-np.clip(z, -clip, clip)))

    def g(z):
        return np.tanh(np.clip(z, -clip, clip))
    hs, cs = [h], [c]
    for step in x:
        zi, zo, zf, zc = np.split(w @ step + r @ h + b, 4)
        pi, po, pf = np.split(p, 3)
        i = f(zi + pi * c)
        c = (1 - i if a["input_forget"] else f(zf + pf * c)) * c + i * g(zc)
        h = f(zo + po * c) * g(c)
        hs.append(h)
        cs.append(c)
    return hs, cs


def expect(case, inputs):
    a = case["attributes"]
    x, w, r, b, lengths, h, c, p = [v if v is None or v.dtype == np.int32 else v.astype(np.float64) for v in inputs]
    if a["layout"]:
        x = x.swapaxes(0, 1)
        h, c = [v if v is None else v.swapaxes(0, 1) for v in (h, c)]
    steps, batch, _ = x.shape
    directions, hidden = w.shape[0], r.shape[2]
    y = np.zeros((steps, directions, batch, hidden))
    y_h, y_c = np.zeros((2, directions, batch, hidden))
    for d in range(directions):
        bias = np.zeros(4 * hidden) if b is None else b[d, :4 * hidden] + b[d, 4 * hidden:]
        for n in range(batch):
            order = list(range(steps if lengths is None else lengths[n]))
            if d == 1 or a["direction"] == "reverse":
                order.reverse()
            hs, cs = sequence(a, x[order, n], w[d], r[d], bias, np.zeros(hidden) if h is None else h[d, n],
                              np.zeros(hidden) if c is None else c[d, n], np.zeros(3 * hidden) if p is None else p[d])
            for step, state in zip(order, hs[1:]):
                y[step, d, n] = state
            y_h[d, n], y_c[d, n] = hs[-1], cs[-1]
    if a["layout"]:
        return [y.transpose(2, 0, 1, 3), y_h.swapaxes(0, 1), y_c.swapaxes(0, 1)]
    return [y, y_h, y_c]


def differs(case, got, want, dtype):
    bad = ~(np.abs(got.astype(np.float64) - want) <= TOLERANCE[dtype] * np.maximum(1, np.abs(want)))
    return None if not bad.any() else "%g at %s, not %g" % (got[bad][0], np.argwhere(bad)[0], want[bad][0])


trial_cases.judge(sys.argv[1], expect, differs)
