#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A recording for a long time: recorder_soak.py BUILD [CALLS] [KILLS].

CALLS calls (default 10^8) by 8 threads, with children that call and a library that comes and goes: no call uncounted, no growth of the
program, nothing left in shared memory. Then KILLS programs (default 1000), each killed at a random moment: no completed call is lost. `scripts/test full` runs it.
"""
import glob
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
CALLS = int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**8
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
OPS_DEBUG = os.path.join(BUILD, "ops-debug")
TESTS = os.path.join(BUILD, "tests")


def recorded_at_length():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place, tempfile.TemporaryDirectory() as out:  # a place that no other recording uses
        report = os.path.join(out, "report.json")
        done = subprocess.run([OPS_DEBUG, "record", "-q", "--capture", "meta", "--report", report, "-o", out, "--",
                               os.path.join(TESTS, "soak_victim"), str(CALLS)],
                              stdout=subprocess.PIPE, text=True, env=dict(os.environ, OPSDEBUG_SHM_DIR=place))
        assert done.returncode == 0, done
        left = os.listdir(place)
        made, first_kib, last_kib = (int(word) for word in done.stdout.split())
        with open(report) as file:
            document = json.load(file)
    counted = document["calls"] + document["dropped"]
    print(f"{made} calls made, {document['calls']} written, {document['dropped']} counted as overwritten, in {document['processes']} processes; "
          f"memory of the program {first_kib} KiB after a tenth, {last_kib} KiB at the end", flush=True)
    assert counted == made, (counted, made)
    assert last_kib < first_kib + 16 * 1024, "it grows"
    assert not left, f"left in shared memory: {left}"


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def killed_at_random():
    """The program counts its calls in a file as they return; what is recorded may be one more, the one in flight, never less."""
    seed = random.randrange(2**32)
    print(f"{KILLS} random kills, seed {seed}", flush=True)
    chance = random.Random(seed)
    for kill in range(KILLS):
        if kill % 50 == 0:
            print(f"{kill} of {KILLS} kills", flush=True)
        with tempfile.TemporaryDirectory() as out:
            count = os.path.join(out, "count")
            recorder = subprocess.Popen([OPS_DEBUG, "record", "-q", "-o", os.path.join(out, "run"), "--",
                                         os.path.join(TESTS, "record_victim"), "counted", count], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not os.path.exists(count) or os.path.getsize(count) < 8:
                time.sleep(0.001)
            time.sleep(chance.random() * 0.2)
            children = subprocess.run(["pgrep", "-P", str(recorder.pid)], capture_output=True, text=True).stdout.split()
            victims = chance.choice([children, [str(recorder.pid)] + children, children + [str(recorder.pid)]])
            for pid in victims:
                os.kill(int(pid), signal.SIGKILL)
            recorder.wait()
            while any(is_alive(pid) for pid in victims):  # the session of a program that still dies is let alone
                time.sleep(0.001)
            if str(recorder.pid) in victims:
                subprocess.run([OPS_DEBUG, "salvage", "-q", os.path.join(out, "run")], capture_output=True)
            with open(count, "rb") as file:
                returned = struct.unpack("Q", file.read(8))[0]
            numbers = set()
            refused = {}
            for path in glob.glob(os.path.join(out, "run", "run-*")):  # salvage writes what the rings held beside what was written before
                shown = subprocess.run([OPS_DEBUG, "show", "--json", "--all", path], capture_output=True, text=True)
                if shown.stdout == "":  # a file that its writer had no time to begin
                    refused[os.path.basename(path)] = (os.path.getsize(path), shown.stderr)
                    continue
                numbers |= {call["number"] for call in json.loads(shown.stdout)["calls"]}
            completed = len(numbers)
            assert completed >= returned, (completed, returned, victims, refused)
            assert all(size < 64 for size, _ in refused.values()), refused


recorded_at_length()
killed_at_random()
