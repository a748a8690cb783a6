#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job by hand: record an unmodified numpy program, show, replay bitwise, reduce, compile, group, export; and the exit statuses."""
import glob
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile


class Job:
    def __init__(self, build, folder):
        self.root = pathlib.Path(__file__).resolve().parents[2]
        self.folder = folder
        self.environment = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C")

    def run(self, command, status=0):
        done = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == status, f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def json(self, command, status=0):
        def refuse(name):
            raise AssertionError(f"{command}: {name} is not JSON")
        return json.loads(self.run(command + " --json", status).stdout, parse_constant=refuse)


def record(job):
    script = job.root / "examples/numpy_nan.py"
    plain = job.run(f"/usr/bin/python3 {script}")
    recorded = job.run(f"ops-debug record -o run/ -- /usr/bin/python3 {script}")
    assert recorded.stdout == plain.stdout, "the program's output has changed"
    assert plain.stderr == "" and re.search(r"^next: ops-debug replay run/\S+-nan\.opsb$", recorded.stderr, re.M), recorded.stderr
    quiet = job.run(f"ops-debug record -q -o quiet/ -- /usr/bin/python3 {script}")
    assert quiet.stdout == plain.stdout and quiet.stderr == ""
    bundles = sorted(glob.glob(f"{job.folder}/run/*-nan.opsb"))
    assert len(bundles) == 4 and len(glob.glob(f"{job.folder}/run/run-*.opsb")) == 1, os.listdir(job.folder / "run")
    return os.path.relpath(bundles[0], job.folder)


def look(job, bundle):
    listed = job.json("ops-debug show run/")["bundles"]
    assert {b["kind"] for b in listed} == {"failure", "run"}
    whole = job.json(f"ops-debug show {bundle}")
    failure = whole["failures"][0]
    assert (failure["outcome"], failure["operand"], failure["index"]) == ("nan", "C", [5, 5]), failure
    call = next(c for c in whole["calls"] if c["number"] == failure["call"])
    assert call["name"] == "zgemm" and call["dims"] == {"m": 8, "n": 8, "k": 256}, call
    text = job.run(f"ops-debug show {bundle} --environment").stdout
    assert "NaN born in C[5, 5]" in text and "libblas" in text + "libopenblas" and "core" in text


def replay(job, bundle):
    text = job.run(f"ops-debug replay {bundle}", 1).stdout
    assert "failure reproduced, bitwise" in text and "next: ops-debug reduce" in text, text
    result = job.json(f"ops-debug replay {bundle} --repeat 5", 1)["replays"][0]
    assert result["runs"] == 5 and result["is_repeatable"] and result["came_back"] and result["same"] == "bitwise", result
    # Our own naive loops overflow in the same way: NaN is what the arithmetic gives.
    job.run(f"ops-debug replay {bundle} --library naive -q", 1)
    assert job.run(f"ops-debug replay {bundle} -q", 1).stdout == ""
    job.run("ops-debug replay run/ -j 2 --junit junit.xml", 1)
    assert '<testsuite name="ops-debug replay" tests="4" failures="4"' in (job.folder / "junit.xml").read_text()


def reduce(job, bundle):
    before = (job.folder / bundle).read_bytes()
    reduced = job.json(f"ops-debug reduce {bundle} -o min.opsb --emit-c min.c")
    assert reduced["call"]["dims"] == {"m": 1, "n": 1, "k": 1} and reduced["is_complete"], reduced
    assert reduced["failure"]["label"] == "nan-made", reduced["failure"]
    assert (job.folder / bundle).read_bytes() == before, "the input bundle was changed"
    assert sorted(p.name for p in job.folder.glob("min*")) == ["min.c", "min.opsb"], list(job.folder.glob("min*"))
    assert "failure reproduced, bitwise" in job.run("ops-debug replay min.opsb", 1).stdout
    assert len((job.folder / "min.c").read_text().splitlines()) < 100
    job.run("cc -std=c17 -Wall -Wextra -Werror min.c -lopenblas -lm && ./a.out", 1)
    # A call that is fine has nothing to reduce.
    job.run("ops-debug record -q -o fine.opsb --trigger exit -- ./a.out", 1)


def group_and_export(job, bundle):
    groups = job.json("ops-debug group run/ min.opsb")["groups"]
    assert len(groups) == 1 and groups[0]["count"] == 5 and groups[0]["representative"] == "min.opsb", groups
    assert all(m["why"] for m in groups[0]["members"])
    failing = job.json(f"ops-debug show {bundle}")["failures"][0]["call"]  # what came after it may have come too late
    for name in ("trace.pftrace", "trace.json", "calls.csv"):
        report = job.json(f"ops-debug export {bundle} -o {name}")
        assert report["slices"] >= failing >= 5 and report["instants"] >= 1, report
        assert report["bytes"] == (job.folder / name).stat().st_size, report
    json.loads((job.folder / "trace.json").read_text())
    assert job.run(f"ops-debug diff {bundle} {bundle}").stdout == "no difference\n"
    found = job.json(f"ops-debug diff {bundle} min.opsb", 1)["differences"]
    assert any(d["what"] == "calls" for d in found), found
    job.run(f"ops-debug pack {bundle} -o packed.opsb")
    job.run("ops-debug replay packed.opsb -q", 1)
    assert job.json(f"ops-debug diagnose {bundle}", 1)["failure"]["label"] == "nan-made"


def ends_as_the_program(job):
    """Status, signal, missing program; -o of one bundle."""
    assert job.run("ops-debug record -q -o s/ -- sh -c 'exit 37'", 37).stdout == ""
    done = subprocess.run(["ops-debug", "record", "-q", "-o", "k/", "--", "sh", "-c", "kill -TERM $$"], cwd=job.folder,
                          env=job.environment, timeout=60)
    assert done.returncode == -signal.SIGTERM, done
    done = subprocess.run(["ops-debug", "record", "-q", "-o", "a/", "--", "sh", "-c", "kill -ABRT $$"], cwd=job.folder,
                          env=job.environment, timeout=60)
    assert done.returncode == -signal.SIGABRT, done
    assert not list(job.folder.glob("core*")), "ops-debug left a core dump of its own"
    said = job.run("ops-debug record -o n/ -- true").stderr
    assert "no call was seen" in said, said


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if re.search(r"^OPD_SANITIZE:\w+=.+$", (build / "CMakeCache.txt").read_text(), re.M):
        print("skipped: a sanitizer's runtime must be loaded first, which python3 does not do")
        return 77
    with tempfile.TemporaryDirectory(prefix="main-job-") as folder:
        job = Job(build, pathlib.Path(folder))
        bundle = record(job)
        look(job, bundle)
        replay(job, bundle)
        reduce(job, bundle)
        group_and_export(job, bundle)
        ends_as_the_program(job)
    return 0


if __name__ == "__main__":
    sys.exit(main())
