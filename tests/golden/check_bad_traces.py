#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The trace checker itself: every text trace of bad_traces, encoded by stock protoc, must be refused for the reason that its first line
gives ("# expect: ..."), and is accepted when that line says "nothing".

    check_bad_traces.py FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROTO = os.path.join(HERE, "../../proto")
CHECKER = os.path.join(HERE, "../support/check_trace.py")


def errors_of(data):
    with tempfile.NamedTemporaryFile(suffix=".pftrace") as trace:
        trace.write(data)
        trace.flush()
        done = subprocess.run([CHECKER, trace.name], stdout=subprocess.PIPE, check=False)
    report = json.loads(done.stdout)
    if done.returncode != (1 if report["errors"] else 0):
        sys.exit(f"exit {done.returncode} with {report['errors']}")
    return report["errors"]


def encode(text):
    return subprocess.run(["protoc", f"--proto_path={PROTO}", "--encode=opsdebug.perfetto.Trace", "perfetto.proto"],
                          input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


def expect(name, errors, wanted):
    is_met = not errors if wanted == "nothing" else any(wanted in error for error in errors)
    if not is_met:
        print(f"{name}: expected '{wanted}', got {errors}")
    return is_met


def main():
    cases = sorted(pathlib.Path(sys.argv[1]).glob("*.txt"))
    met = [expect(case.name, errors_of(encode(case.read_text())), case.read_text().split("\n")[0][len("# expect: "):])
           for case in cases]
    # What no text can say.
    good = encode(pathlib.Path(sys.argv[1], "good.txt").read_text())
    packed = b"\x0a\x0a\x50\x01\x68\x02\x5a\x04\x1a\x02\x01\x01"
    met += [expect("cut", errors_of(good[:-1]), "is cut"), expect("garbage", errors_of(good + b"x"), "bad varint"),
            expect("another field", errors_of(good + b"\x12\x00"), "between packets"),
            expect("packed numbers", errors_of(good + packed), "packed numbers"),
            expect("no trace", errors_of(b"{}"), "does not begin with 0x0A")]
    print(f"{sum(met)} passed, {len(met) - sum(met)} failed")
    return 0 if all(met) and len(cases) > 20 else 1


if __name__ == "__main__":
    sys.exit(main())
