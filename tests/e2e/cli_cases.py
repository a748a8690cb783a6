#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fault of a real library through the whole path: cli_cases.py BUILD cases/NAME.json; NAME.c is recorded, replayed and reduced."""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def call(command, folder, environment):
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400)


def ask(build, folder, environment, *arguments):
    done = call([build / "ops-debug", *arguments, "--json"], folder, environment)
    document = json.loads(done.stdout) if done.stdout.strip() else {}
    return done.returncode, document, done.stderr


def record(build, case, source, folder, environment):
    done = call(["cc", "-O1", source, "-o", "program", "-lopenblas", "-lm"], folder, environment)
    assert done.returncode == 0, done.stderr
    plain = call(["./program"], folder, environment)
    recorded = call([build / "ops-debug", "record", "-q", "-o", "run", *case["record"], "--", "./program"], folder, environment)
    assert recorded.returncode == plain.returncode == case["ends"], (recorded, plain)
    assert recorded.stdout == plain.stdout and recorded.stderr == plain.stderr, "the program's output has changed"
    assert plain.stdout == case.get("says", plain.stdout), plain.stdout
    bundles = [b for b in sorted(glob.glob(f"{folder}/run/*.opsb")) if "/run/run-" not in b]
    assert len(bundles) == 1, bundles
    return bundles[0]


def check_recorded(build, case, bundle, folder, environment):
    if "failure" in case:
        _, document, _ = ask(build, folder, environment, "show", bundle)
        failure = document["failures"][0]
        for key, want in case["failure"].items():
            assert failure.get(key) == want, f"recorded {key}: {failure}"


def check_replays(build, case, bundle, folder, environment):
    for step in case["replay"]:
        code, document, said = ask(build, folder, environment, "replay", bundle, *step["options"])
        if step.get("skip_if_exit") == code:
            print(f"skipped: {step['why']}")
            sys.exit(77)
        where = f"replay {' '.join(step['options'])}"
        assert code == step["exit"], f"{where}: exit status {code}\n{json.dumps(document, indent=1)}\n{said}"
        result = document["replays"][0]
        for key in ("outcome", "operand"):
            if key in step:
                assert result["observed"].get(key) == step[key], f"{where}: {key} is {result['observed']}"
        if "answer" in step:
            assert result["answer"] == step["answer"], f"{where}: {result['answer']}"


def check_diagnoses(build, case, bundle, folder, environment):
    for step in case.get("diagnose", []):
        code, document, said = ask(build, folder, environment, "diagnose", bundle, *step["options"])
        got = document["failure"].get("label", "")
        assert (code, got) == (step["exit"], step["label"]), (step, code, document["failure"], said)


def check_reduction(build, case, bundle, folder, environment):
    want = case["reduce"]
    code, document, said = ask(build, folder, environment, "reduce", bundle, "-o", "min.opsb", "--emit-c", "min.c", *want.get("options", []))
    if "refused" in want:
        assert code == 1 and want["refused"] in said and not (folder / "min.opsb").exists(), (code, said)
        return
    assert code == 0, said
    dims, failure = document["call"]["dims"], document["failure"]
    kept = document["call"]["attributes"]
    for name, value in want.get("dims", {}).items():
        assert dims[name] == value, f"reduced to {dims}"
    for name, value in want.get("attributes", {}).items():
        assert kept[name] == value, f"reduced to {kept}"
    for name, value in want.get("dims_at_most", {}).items():
        assert dims[name] <= value, f"reduced to {dims}"
    assert failure["outcome"] == want["outcome"] and failure["label"] == want["label"], failure
    assert document["runs"] <= want["runs"] and document["is_complete"], f"{document['runs']} runs"
    assert document["explain"] != "" or "dims" not in want or all(v == 1 for v in want["dims"].values()), "nothing explained"
    guard = ["--guard"] if document["guard"] else []
    code, again, said = ask(build, folder, environment, "replay", "min.opsb", *guard)
    assert code == 1 and again["replays"][0]["came_back"], (again, said)
    if "c_exit" in want:
        built = call(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "min.c", "-o", "min", "-lopenblas", "-lm"], folder, environment)
        assert built.returncode == 0, built.stderr
        done = call(["./min"], folder, environment)
        assert done.returncode == want["c_exit"] and want.get("c_says", "") in done.stdout, done


def main():
    build, data = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    case = json.loads(data.read_text())
    flag = case.get("needs_cpu_flag")
    if flag is not None and flag not in pathlib.Path("/proc/cpuinfo").read_text().split():
        print(f"skipped: this CPU has no {flag}, so its kernels cannot show it")
        return 77
    environment = dict(os.environ, **case.get("environment", {}))
    with tempfile.TemporaryDirectory(prefix="case-") as name:
        folder = pathlib.Path(name)
        bundle = record(build, case, data.with_suffix(".c"), folder, environment)
        check_recorded(build, case, bundle, folder, environment)
        check_replays(build, case, bundle, folder, environment)
        check_diagnoses(build, case, bundle, folder, environment)
        check_reduction(build, case, bundle, folder, environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
