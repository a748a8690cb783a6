#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The session in README.md and the examples of every --help agree with the programs.

The session (the first ```console block) is run line by line in a folder with examples/ in it. Numbers, digests and names of this machine
may differ from the README's; words and exit statuses may not.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MASKS = (
    (r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b", "HEX"),
    (r"(/[\w.+-]+)+\.so[\w.]*", "LIBRARY"),
    (r"core \w+", "core CORE"),
    (r"\b(Haswell|SkylakeX|Zen|Sandybridge|Nehalem|Cooperlake|Sapphirerapids)\b", "CORE"),
    (r"(?<![\w])-?\d+(\.\d+)?([eE][+-]?\d+)?( (ns|us|ms|s|B|KB|MB|GB)\b)?", "N"),
    (r"\bN threads?\b", "N threads"),
    (r"[ ]+", " "),
)


def mask(line):
    line = re.sub(r"-\d+-(?=\d)", "-N-", line)
    for pattern, word in MASKS:
        line = re.sub(pattern, word, line)
    return line.strip()


def session(readme):
    block = re.search(r"```console\n(.*?)```", readme, re.S).group(1)
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


def main():
    build, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).resolve().parents[2]
    cache = (build / "CMakeCache.txt").read_text()
    if re.search(r"^OPD_SANITIZE:\w+=.+$", cache, re.M):
        print("skipped: a sanitizer's runtime must be loaded first, which python3 does not do")
        return 77
    environment = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="readme-") as folder:
        shutil.copytree(root / "examples", pathlib.Path(folder) / "examples")
        for command, want in session((root / "README.md").read_text()):
            done = subprocess.run(["bash", "-c", command + "\necho \"[exit $?]\""], cwd=folder, env=environment, timeout=240,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            got = [line for line in done.stdout.splitlines() if line != "[exit 0]"]
            if list(map(mask, got)) != list(map(mask, want)):
                failed += 1
                print(f"$ {command}\n--- README.md\n" + "\n".join(want) + "\n--- got\n" + "\n".join(got) + "\n---")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
