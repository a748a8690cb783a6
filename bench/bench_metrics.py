#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of bench_metrics in numpy, on the same data: medians, in seconds of this process."""
import statistics
import sys
import time

import numpy

count = (int(sys.argv[1]) if len(sys.argv) > 1 else 64) << 18
random = numpy.random.default_rng(1)
want = random.standard_normal(count, dtype=numpy.float32)
got = want * (1 + numpy.float32(2**-23) * (random.integers(0, 9, count) - 4).astype(numpy.float32))


def figures():
    error = numpy.abs(got.astype(numpy.float64) - want)
    size = numpy.abs(want.astype(numpy.float64))
    relative = error / size
    ulp = error / numpy.spacing(numpy.abs(want))
    exponent = numpy.floor(numpy.log10(error[error > 0]))
    line = numpy.polyfit(want, got, 1)
    cosine = numpy.dot(got, want) / numpy.linalg.norm(got) / numpy.linalg.norm(want)
    return (error.max(), error.argmax(), numpy.percentile(relative, [50, 95, 99]), numpy.percentile(ulp, [50, 95, 99, 100]),
            numpy.histogram(exponent, bins=numpy.arange(-31, 31)), line, cosine, numpy.mean(got != want))


def median(run, times=3):
    taken = []
    for _ in range(times):
        begin = time.process_time()
        run()
        taken.append(time.process_time() - begin)
    return statistics.median(taken)


base = median(lambda: numpy.array_equal(got.view(numpy.uint8), want.view(numpy.uint8)), 5)
all_figures = median(figures)
print(f"numpy.array_equal {1e3 * base:8.1f} ms")
print(f"all figures       {1e3 * all_figures:8.1f} ms")
