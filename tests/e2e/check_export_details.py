#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A bundle with one call of every odd kind, exported to every format, arrives with each detail in its place.

    check_export_details.py WRITE_RUN
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support")
WORKER = 'w "q" \\ \x01 \xff \xc3\xa9,'  # bytes as latin-1
WORKER_UTF8 = 'w "q" \\ \x01 \ufffd \u00e9,'
failed = 0


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode > 1:
        sys.exit(f"{command} ended with {done.returncode}")
    return json.loads(done.stdout)


def check(what, got, wanted):
    global failed
    if got != wanted:
        failed += 1
        print(f"{what}: {got!r}, expected {wanted!r}")


def checked(folder, name):
    script = "check_trace.py" if name.endswith(("pftrace", "opsb")) else "check_text_trace.py"
    report = run(f"{SUPPORT}/{script}", f"{folder}/{name}", "--slices", *(["--open"] if name.endswith("opsb") else []))
    check(f"errors of {name}", report["errors"], [])
    return report


def check_calls(calls):
    """name, row, begin, duration, depth of calls by number."""
    wanted = {1: ("dgemm", WORKER, 1000, 1000, 0), 2: ("zgemv", WORKER, 1000, 1000, 1), 3: ("ddot", WORKER, 2000, 0, 0),
              4: ("dscal", WORKER, 2500, 1000, 0), 5: ("dscal", "overlapping calls", 3000, 1000, 0),
              6: ("dgemm", WORKER, 5000, 1, 0), 7: ('frobnicate "x"', WORKER, 6000, 1000, 0),
              8: ("dgemm", WORKER, 10000, 100, 0), 49: ("dgemm", WORKER, 12000, 8000, 0)}
    for number, expected in wanted.items():
        call = calls[number]
        check(f"call {number}", (call["name"], call["track"], call["time"], call["duration"], call["depth"]), expected)


def check_arguments(arguments, number_type):
    """Arguments of the calls by number, as a format gives them."""
    first = arguments[1]
    for key, wanted in {"attr_alpha": "NaN", "attr_beta": "-Inf", "flags": "cblas,row-major", "A_flags": "must-not-read",
                        "dtype": "f64", "dim_m": number_type(128), "A_in_nan": number_type(1), "A_in_inf": number_type(5),
                        "A_in_subnormal": number_type(4)}.items():
        check(f"argument {key}", first.get(key), wanted)
    check("shape", first["A_shape"].startswith("f64[128, 128]"), True)
    check("min", float(first["A_in_min"]), 0.1)
    check("flops of 128^3", float(first["flops"]), 2.0 * 128**3)
    check("bytes of three matrices", int(first["operand_bytes"]), 3 * 8 * 128 * 128)
    check("complex", arguments[2].get("attr_alpha"), "1.5-2i")
    check("bad argument", (arguments[6].get("bad_arg"), arguments[6].get("flags"), "flops" in arguments[6]),
          (number_type(9), "bad-args", False))
    check("unknown operator", (arguments[7].get("dtype"), arguments[7].get("operand_bytes")), ("bf16", number_type(0)))
    check("in flight", (arguments[49].get("failure"), arguments[49].get("label"), "unfinished" in arguments[49]),
          ("crash", "int32-overflow", True))


def check_marks(marks, number_type, reason, pointer):
    """marks: (name, category, time, arguments)"""
    by_name = {name: (category, time, arguments) for name, category, time, arguments in marks}
    check("drop", by_name["ring full"][:2] + (by_name["ring full"][2]["value"],), ("drop", 8000, number_type(-3)))
    check("mark of an unknown thread", by_name["in another thread"][:2], ("mark", 20000))
    category, time, arguments = by_name["crash"]
    check("failure at the end of its call", (category, time), ("failure", 20000))
    wanted = {"outcome": "crash", "thread": number_type(501), "call": number_type(49), "operand": "B", "index": "3, -4",
              "bad_elements": number_type(5), "signal": number_type(11), "signal_code": number_type(1),
              "fault_address": pointer(0xDEADBEEF000), "pc": pointer(0x1234), "pc_symbol": "dgemm_kernel+0x1f0",
              "label": "int32-overflow", "confidence": arguments["confidence"], "reason": reason}
    check("failure", arguments, wanted)
    check("confidence", float(arguments["confidence"]), 0.75)


def check_perfetto(report):
    calls = {int(each["args"]["number"]): each for each in report["list"] if each["category"] != "range"}
    check_calls(calls)
    check_arguments({number: call["args"] for number, call in calls.items()}, str)
    marks = [(mark["name"], mark["category"], mark["time"], mark["args"]) for mark in report["marks"]]
    check_marks(marks, str, 'line "one"\nline two, \x01\xff', str)
    check("rows", sorted((row["kind"], row["name"]) for row in report["rows"] if row["kind"] != "counter"),
          sorted([("process", ""), ("thread", WORKER), ("plain", "overlapping calls"), ("plain", "ranges"),
                  ("plain", "failures"), ("plain", "events")]))
    (never_popped,) = [each for each in report["list"] if each["category"] == "range"]
    check("range", (never_popped["name"], never_popped["time"], never_popped["duration"], never_popped["args"]),
          ("never popped", 950, 19050, {"value": "0", "unfinished": "true"}))
    check("arrows go to the first 32 readers", sorted((int(a), int(b)) for a, b in report["flows"]),
          [(8, number) for number in range(9, 41)])


def check_chrome(path):
    trace = json.load(open(path, encoding="utf-8"))
    base = int(trace["otherData"]["base_ns"])
    check("base", base, 900)
    events = trace["traceEvents"]
    check_arguments({event["args"]["number"]: event["args"] for event in events if event["ph"] == "X" and "number" in event["args"]},
                    lambda value: value)
    check_marks([(event["name"], event["cat"], base + round(event["ts"] * 1000), event["args"]) for event in events
                 if event["ph"] == "i"], lambda value: value, 'line "one"\nline two, \x01\ufffd', hex)
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    check("thread name", WORKER_UTF8 in names, True)


def check_csv(path):
    with open(path, newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    slices = {arguments["number"]: arguments for arguments in
              (json.loads(line["arguments"]) for line in lines if line["type"] == "slice") if "number" in arguments}
    check_arguments(slices, lambda value: value)
    check_marks([(line["name"], line["category"], int(line["begin_ns"]), json.loads(line["arguments"])) for line in lines
                 if line["type"] == "instant"], lambda value: value, 'line "one"\nline two, \x01\ufffd', hex)
    check("name with quotes", [line["begin_ns"] for line in lines if line["name"] == 'frobnicate "x"'], ["6000"])
    check("header of an empty run", set(line["type"] for line in lines), {"slice", "instant", "counter"})


def main():
    write_run = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        names = ["run.pftrace", "run.json", "run.csv"]
        paths = [f"{folder}/{name}" for name in names]
        run(write_run, "details", f"{folder}/run.opsb")
        reports = run(write_run, "export", f"{folder}/run.opsb", *paths)
        for name, report in zip(names, reports):
            got = checked(folder, name)
            check(f"totals of {name}", (got["slices"], got["flow_pairs"], got["instants"], got["max_depth"]), (50, 32, 3, 2))
            check(f"report of {name}", (report["cut"], report["unfinished"], report["slices"]), (8, 2, 50))
        check_perfetto(checked(folder, names[0]))
        check_chrome(paths[1])
        check_csv(paths[2])
        inside = checked(folder, "run.opsb")
        check("timeline in the bundle", (inside["slices"], inside["open"]), (48, 1))

        run(write_run, "empty", f"{folder}/run.opsb")
        run(write_run, "export", f"{folder}/run.opsb", *paths)
        for name in names:
            check(f"an empty run as {name}", checked(folder, name)["slices"], 0)
    print(f"{0 if failed else 1} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
