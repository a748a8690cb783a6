#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cmake --install` into a folder of its own: what is installed records and replays, and a C program and an operator of one's own build against it by pkg-config."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command, folder, environment, status=0):
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == status, f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def find(prefix, pattern):
    found = list(prefix.glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def install(build, prefix):
    said = run(["cmake", "--install", str(build), "--prefix", str(prefix)], build, None)
    targets = re.findall(r"^-- (?:Installing|Up-to-date): (\S+\.so)$", said, re.M)
    assert len(targets) == len(set(targets)) == 2 + (build / "opsdebug-audit.so").exists(), f"shared objects are installed by more than one list: {targets}"
    for pattern in ("bin/ops-debug", "libexec/opsdebug/opd-worker", "include/opsdebug/record.h", "share/man/man1/ops-debug.1"):
        find(prefix, pattern)
    find(prefix, "lib/**/opsdebug/opsdebug-preload.so")
    headers = sorted((prefix / "include/opsdebug").glob("*.h"))
    assert {"record.h", "kernel.h"} <= {p.name for p in headers}, headers
    for header in headers:  # none needs one that is not installed
        run(["cc", "-std=c17", "-fsyntax-only", "-x", "c", "-I", str(prefix / "include"), str(header)], prefix, None)
    manual = find(prefix, "share/man/man1/ops-debug.1").read_text()
    assert manual.startswith(".TH") and all(f'.SS "{name} ' in manual for name in ("record", "salvage")), manual[:200]
    return find(prefix, "lib/**/libopsdebug-record.so"), find(prefix, "lib/**/pkgconfig/opsdebug.pc")


def records_and_replays(folder, environment):
    plain = run(["/usr/bin/python3", str(ROOT / "examples/numpy_nan.py")], folder, environment)
    recorded = run(["ops-debug", "record", "-q", "-o", "run", "--", "/usr/bin/python3", str(ROOT / "examples/numpy_nan.py")], folder, environment)
    assert recorded == plain, "the program's output has changed"
    bundle = sorted(folder.glob("run/*-nan.opsb"))[0]
    said = run(["ops-debug", "replay", str(bundle)], folder, environment, 1)
    assert "failure reproduced, bitwise" in said, said


def builds_by_pkg_config(folder, environment, library, description):
    environment = dict(environment, PKG_CONFIG_PATH=str(description.parent), LD_LIBRARY_PATH=str(library.parent))
    flags = run(["pkg-config", "--cflags", "--libs", "opsdebug"], folder, environment).split()
    assert not [f for f in flags if str(ROOT) in f], flags
    source = str(ROOT / "examples/record_c_api.c")
    run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", source, "-o", "own", *flags, "-lm"], folder, environment)
    run(["ops-debug", "record", "-q", "-o", "own-run", "--", "./own"], folder, environment)
    bundle = find(folder, "own-run/*-nan.opsb")
    failure = json.loads(run(["ops-debug", "show", "--json", str(bundle)], folder, environment))["failures"][0]
    assert failure["outcome"] == "nan", failure


def makes_operators(folder, environment, description):
    """A project of `new` builds against the installed headers, and the installed programs load what it builds."""
    environment = dict(environment, PKG_CONFIG_PATH=str(description.parent))
    step = re.search(r"^next: (.*)$", run(["ops-debug", "new", "my_operator"], folder, environment), re.M).group(1)
    said = run(["sh", "-c", step + " -V"], folder, environment)
    assert "100% tests passed" in said and "PASS" in said, said
    assert str(ROOT) not in (folder / "my_operator/build/CMakeCache.txt").read_text()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if re.search(r"^OPD_SANITIZE:\w+=.+$", (build / "CMakeCache.txt").read_text(), re.M):
        print("skipped: a build with sanitizers is not for installing")
        return 77
    with tempfile.TemporaryDirectory(prefix="install-") as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        library, description = install(build, prefix)
        environment = dict(os.environ, PATH=f"{prefix}/bin:/usr/bin:/bin", NO_COLOR="1", LC_ALL="C")
        records_and_replays(folder, environment)
        builds_by_pkg_config(folder, environment, library, description)
        makes_operators(folder, environment, description)
    return 0


if __name__ == "__main__":
    sys.exit(main())
