#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks an export in Chrome's JSON or in CSV with strict readers and prints the same JSON report as check_trace.py.

    check_text_trace.py FILE.json|FILE.csv
"""
import collections
import csv
import json
import re
import sys
from decimal import Decimal

HEADER = ["type", "pid", "tid", "row", "name", "category", "begin_ns", "duration_ns", "depth", "value", "arrows_in",
          "arrows_out", "arguments"]


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def strict(text):
    return json.loads(text, parse_constant=refuse, parse_float=Decimal)


def depth_of(slices, errors, row):
    """Slices in file order, outermost first: (begin, end). Returns the greatest depth; crossing slices are errors."""
    open_ends, deepest = [], 0
    for begin, end in sorted(slices, key=lambda times: times[0]):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and open_ends[-1] < end:
            errors.append(f"slices of row {row} cross at {begin}")
        open_ends.append(end)
        deepest = max(deepest, len(open_ends))
    return deepest


def nanoseconds(value, errors):
    if not re.fullmatch(r"\d+\.\d{3}", str(value)):
        errors.append(f"time {value} has not three decimals")
    return int(Decimal(value) * 1000)


def check_json(text, errors):
    trace = strict(text)
    if not re.fullmatch(r"\d+", trace["otherData"]["base_ns"]):
        errors.append("base_ns is no string of digits")
    rows, last, counters, counter_sum = collections.defaultdict(list), {}, 0, Decimal(0)
    flows, instants, categories = collections.defaultdict(list), 0, collections.Counter()
    for event in trace["traceEvents"]:
        row = (event["pid"], event["tid"])
        if event["ph"] == "X":
            begin = nanoseconds(event["ts"], errors)
            rows[row].append((begin, begin + nanoseconds(event["dur"], errors)))
            categories[event["cat"]] += 1
        elif event["ph"] == "C":
            (value,) = event["args"].values()
            last[event["pid"], event["name"]] = value
            counters, counter_sum = counters + 1, counter_sum + value
        elif event["ph"] in ("s", "f"):
            flows[event["id"]].append((event["ph"], nanoseconds(event["ts"], errors), row))
        elif event["ph"] == "i":
            instants += 1
        elif event["ph"] != "M":
            errors.append(f"phase {event['ph']}")
    pairs = 0
    for flow, ends in flows.items():
        ends.sort(key=lambda end: end[0], reverse=True)
        if [end[0] for end in ends] != ["s", "f"] or ends[0][1] >= ends[1][1]:
            errors.append(f"flow {flow}: {ends}")
        for _, time, row in ends:
            if not any(begin <= time <= end for begin, end in rows[row]):
                errors.append(f"flow {flow} is in no slice")
        pairs += 1
    errors.extend(f"counter {key} ends with {value}" for key, value in last.items() if value != 0)
    slices = [times for row in rows.values() for times in row]
    return {"slices": len(slices), "duration": sum(end - begin for begin, end in slices), "flow_pairs": pairs,
            "max_depth": max((depth_of(row, errors, key) for key, row in rows.items()), default=0),
            "instants": instants, "counters": counters, "counter_sum": float(counter_sum),
            "categories": dict(categories)}


def check_csv(stream, errors):
    lines = csv.reader(stream, strict=True)
    if next(lines) != HEADER:
        errors.append("other header")
    report = {"slices": 0, "duration": 0, "flow_pairs": 0, "max_depth": 0, "instants": 0, "counters": 0, "counter_sum": 0.0}
    departures, categories = 0, collections.Counter()
    for line in lines:
        entry = dict(zip(HEADER, line, strict=True))
        if entry["type"] == "counter":
            report["counters"] += 1
            report["counter_sum"] += float(entry["value"])
            continue
        if not isinstance(strict(entry["arguments"]), dict):
            errors.append("arguments are no object")
        report[f"{entry['type']}s"] += 1
        report["duration"] += int(entry["duration_ns"])
        report["flow_pairs"] += int(entry["arrows_in"])
        departures += int(entry["arrows_out"])
        if entry["type"] == "slice":
            categories[entry["category"]] += 1
            report["max_depth"] = max(report["max_depth"], int(entry["depth"]) + 1)
    if departures != report["flow_pairs"]:
        errors.append(f"{departures} arrows leave, {report['flow_pairs']} arrive")
    report["categories"] = dict(categories)
    return report


def main():
    errors = []
    with open(sys.argv[1], newline="", encoding="utf-8", errors="strict") as stream:
        report = check_csv(stream, errors) if sys.argv[1].endswith(".csv") else check_json(stream.read(), errors)
    report["errors"] = errors
    json.dump(report, sys.stdout)
    print()
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
