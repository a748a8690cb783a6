#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Exports of random runs keep what was written: number and durations of calls, nesting, arrows, marks.

    check_exports.py WRITE_RUN SEEDS [CALLS]

What to expect is worked out here from the list of calls that the writer of the bundle printed.
"""
import json
import os
import subprocess
import sys
import tempfile

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support")
FORMATS = [("pftrace", "check_trace.py"), ("json", "check_text_trace.py"), ("csv", "check_text_trace.py")]
FLOWS_OUT = 32


def output(*command, accept=(0,)):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode not in accept:
        sys.exit(f"{command} ended with {done.returncode}: {done.stdout[:2000]}")
    return json.loads(done.stdout)


def arrows(calls):
    """(producer, consumer) positions: the last output of the content that was there, each producer once."""
    found, leaving = [], {}
    for position, call in enumerate(calls):
        producers = []
        for digest in call["reads"]:
            makers = [(other["end"], at) for at, other in enumerate(calls)
                      if digest in other["makes"] and not other["flight"] and other["end"] <= call["begin"]
                      and other["begin"] < call["begin"]]
            if makers and max(makers)[1] not in producers:
                producers.append(max(makers)[1])
        for producer in producers:
            leaving[producer] = leaving.get(producer, 0) + 1
            if leaving[producer] <= FLOWS_OUT:
                found.append((producer, position))
    return found


def depths(calls):
    """Depth of each call inside the others of its thread."""
    result = {}
    for tid in {call["tid"] for call in calls}:
        around = []
        mine = sorted((call for call in calls if call["tid"] == tid), key=lambda call: call["number"])
        for call in mine:
            while around and not (around[-1]["begin"] <= call["begin"] and call["end"] <= around[-1]["end"]
                                  and call["begin"] < around[-1]["end"]):
                around.pop()
            result[tid, call["number"]] = len(around)
            around.append(call)
    return result


def compare(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {str(got)[:500]}, expected {str(wanted)[:500]}")


def check_list(report, calls, depth):
    """Each slice by itself; tids are not in the arguments, so threads go by name."""
    got = sorted((slice["track"], int(slice["args"]["number"]), slice["name"], slice["time"], slice["duration"], slice["depth"])
                 for slice in report["list"] if slice["category"] == "blas")
    wanted = sorted((f"worker {call['tid'] - 501}", call["number"], call["name"], call["begin"], call["end"] - call["begin"],
                     depth[call["tid"], call["number"]]) for call in calls)
    compare("slices", got, wanted)


def check_seed(write_run, seed, count, folder):
    bundle = f"{folder}/run.opsb"
    files = [f"{folder}/run.{suffix}" for suffix, _ in FORMATS]
    made = output(write_run, str(seed), str(count), str(1 + seed % 4), bundle)
    reports = output(write_run, "export", bundle, *files)
    calls = made["calls"]
    times = [call[edge] for call in calls for edge in ("begin", "end")]
    last = max(times + [4000] + [5000 + mark for mark in range(made["marks"] - 1)])
    for call in calls:
        if call["flight"]:
            call["end"] = last
    depth, flows = depths(calls), arrows(calls)
    wanted = {
        "slices": len(calls) + made["ranges"], "flow_pairs": len(flows), "instants": made["marks"],
        "duration": sum(call["end"] - call["begin"] for call in calls) + made["range_duration"],
        "max_depth": 1 + max(depth.values()), "categories": {"blas": len(calls), "range": made["ranges"]},
        "counters": 4 * sum(value == 0 for value in depth.values()),
    }
    sums = set()
    for path, report, (suffix, checker) in zip(files, reports, FORMATS):
        checked = output(f"{SUPPORT}/{checker}", path, *(["--slices"] if suffix == "pftrace" else []), accept=(0, 1))
        compare(f"seed {seed}: errors of {suffix}", checked["errors"], [])
        for key, value in wanted.items():
            compare(f"seed {seed}: {key} of {suffix}", checked[key], value)
        for key in ("slices", "instants", "counters", "flow_pairs"):
            compare(f"seed {seed}: reported {key} of {suffix}", report[key], wanted[key])
        compare("bytes", report["bytes"], os.path.getsize(path))
        compare("unfinished", report["unfinished"], sum(call["flight"] for call in calls))
        sums.add(round(checked["counter_sum"], 3))
        if suffix == "pftrace":
            check_list(checked, calls, depth)
            named = sorted((calls[a]["number"], calls[b]["number"]) for a, b in flows)
            compare("arrows", sorted((int(a), int(b)) for a, b in checked["flows"]), named)
    compare(f"seed {seed}: sums of counters by format", len(sums), 1)
    inside = output(f"{SUPPORT}/check_trace.py", bundle, "--open", accept=(0, 1))
    compare(f"seed {seed}: errors of the bundle itself", inside["errors"], [])
    finished = [call for call in calls if not call["flight"]]
    compare(f"seed {seed}: slices of the bundle itself", (inside["slices"], inside["duration"], inside["open"]),
            (len(finished), sum(call["end"] - call["begin"] for call in finished), len(calls) - len(finished)))
    return len(calls), len(flows)


def main():
    write_run, seeds = sys.argv[1], int(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 150
    totals = [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            for index, value in enumerate(check_seed(write_run, seed, 1 + seed * 37 % count, folder)):
                totals[index] += value
    print(f"{seeds} runs, {totals[0]} calls, {totals[1]} arrows")
    if totals[1] == 0:
        sys.exit("no run had an arrow")


if __name__ == "__main__":
    main()
