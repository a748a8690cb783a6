#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Floating-point modes are of threads and change while a program runs: each call replays under its own. floating_modes.py BUILD"""
import glob
import json
import os
import platform
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
OPS = os.path.join(BUILD, "ops-debug")
VICTIM = os.path.join(BUILD, "tests", "mode_victim")
WORDS = {"0x1f80": None, "0x9fc0": "FTZ DAZ", "0x7f80": "round toward zero", "0x5f80": "round up"}
# In the order of the program, CALLS calls each, the last by the C API.
CALLS = 4
PARTS = [("0x1f80", "start"), ("0x9fc0", "flush"), ("0x7f80", "zero"), ("0x1f80", "nearest"), ("0x5f80", "up")]


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def ask(*command, status=0):
    return json.loads(run(OPS, *command, "--json", status=status))


def record(folder):
    plain = run(VICTIM)
    recorded = run(OPS, "record", "-q", "-o", folder, "--capture", "full", "--trigger", "exit", "--", VICTIM)
    assert recorded == plain, "the program's output has changed"
    bundles = [b for b in glob.glob(f"{folder}/*.opsb") if not os.path.basename(b).startswith("run-")]
    assert len(bundles) == 1, os.listdir(folder)
    return bundles[0], plain.splitlines()


def check_modes(calls):
    calls = sorted(calls, key=lambda call: int(call["begin_ns"]))
    wanted = [mode for mode, _ in PARTS for _ in range(CALLS)]
    assert [call["mxcsr"] for call in calls] == wanted, [call["mxcsr"] for call in calls]
    assert [call["domain"] for call in calls] == ["blas", "blas", "blas", "example"] * len(PARTS)
    return [call for call in calls if call["domain"] == "blas"]


def check_call(bundle, call):
    name = f"{call['thread']}:{call['number']}"
    result = ask("replay", bundle, "--call", name)["replays"][0]
    assert result["same"] == "bitwise", f"{call['name']} under {call['mxcsr']}: {json.dumps(result, indent=1)}"
    assert result["observed"]["outcome"] == "ok", f"{call['name']} under {call['mxcsr']}: {result['observed']}"
    shown = run(OPS, "show", bundle, "--call", name)
    words = WORDS[call["mxcsr"]]
    assert ("floating-point mode" in shown) == (words is not None) and (words or "") in shown, shown


def check_difference(bundle, folder):
    """Two programs that differ in nothing but the mode of their calls."""
    other = os.path.join(folder, "other")
    run(OPS, "record", "-q", "-o", other, "--capture", "full", "--trigger", "exit", "--", VICTIM, "default")
    others = [b for b in glob.glob(f"{other}/*.opsb") if not os.path.basename(b).startswith("run-")]
    assert "mxcsr 0x9fc0 | mxcsr 0x1f80" in run(OPS, "diff", bundle, others[0], status=1)


def main():
    if platform.machine() != "x86_64":
        print("skipped: no MXCSR on this machine")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        bundle, lines = record(os.path.join(folder, "run"))
        by_part = {name: [line.split()[1] for line in lines if line.startswith(name + " ")] for _, name in PARTS}
        assert len({tuple(bits) for bits in by_part.values()}) == 4 and by_part["start"] == by_part["nearest"], by_part
        calls = check_modes(ask("show", bundle)["calls"])
        run_bundle = glob.glob(os.path.join(folder, "run", "run-*.opsb"))[0]
        check_modes(ask("show", run_bundle)["calls"])
        for call in calls:
            check_call(bundle, call)
        check_difference(bundle, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
