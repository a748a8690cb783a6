#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fault of a library that no linker name means, behind a 64-bit prefixed name: recorded, replayed, reduced, and shown by the emitted program
when it is linked by the words that ops-debug prints; the same program passes with a sound library of the same name."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
CACHE_SANITIZE = re.compile(r"^OPD_SANITIZE:\w+=.+$", re.M)


def run(command, folder, want=0):
    done = subprocess.run(command, cwd=folder, shell=isinstance(command, str), text=True, timeout=200,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == want, f"{command} ends with {done.returncode}, not {want}:\n{done.stdout}"
    return done.stdout


def build_library(folder, where, *flags):
    (folder / where).mkdir()
    run(["cc", "-O1", "-shared", "-fPIC", *flags, SUPPORT / "wheel_blas.c", "-o", f"{where}/libwheel.so", "-lm"], folder)
    return folder / where / "libwheel.so"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    program = build / "ops-debug"
    if CACHE_SANITIZE.search((build / "CMakeCache.txt").read_text()):
        print("skipped: the program to record is built without the sanitizer, whose runtime must come first")
        return 77
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        folder = pathlib.Path(name).resolve()
        library = build_library(folder, "it's broken")
        sound = build_library(folder, "sound", "-DWHEEL_IS_SOUND")
        run(["cc", SUPPORT / "wheel_victim.c", library, f"-Wl,-rpath,{library.parent}", "-o", "victim"], folder)
        run([program, "record", "-q", "-o", "run", "--", "./victim"], folder)
        bundle, = folder.glob("run/*-nan.opsb")
        assert "failure reproduced" in run([program, "replay", bundle, "--library", library], folder, 1)
        said = run([program, "reduce", bundle, "-o", "min.opsb", "--emit-c", "min.c", "--library", library], folder)
        assert "m=1, n=1, k=3, alpha=1, beta=0" in said, said
        text = (folder / "min.c").read_text()
        assert "scipy_cblas_dgemm64_(int order, int transa, int transb, int64_t m" in text, text
        assert not re.search(r"\bcblas_dgemm\b", text) and len(text.splitlines()) < 100, text
        compile_and_run = re.search(r"^next: (cc .*) && \./a\.out$", said, re.M).group(1)
        assert shlex.split(compile_and_run)[2:] == [str(library), f"-Wl,-rpath,{library.parent}", "-lm"], compile_and_run
        assert compile_and_run.split("min.c ", 1)[1].replace(" -lm", "") in text, "the head of min.c has another command"
        run(compile_and_run + " -std=c17 -Wall -Wextra -Werror", folder)
        said = run(["./a.out"], folder, 1)
        assert re.search(r"^C\[0\]: got -?nan, want -?\d+ within \S+\nFAIL$", said, re.M), said
        run(["cc", "min.c", sound, f"-Wl,-rpath,{sound.parent}", "-lm", "-o", "sound.out"], folder)
        assert run(["./sound.out"], folder) == "ok\n"
    return 0


if __name__ == "__main__":
    sys.exit(main())
