#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sessions in README.md and its table of commands agree with the program.

The ```console blocks are run line by line, one after another, in a folder with examples/ in it; a ```c block whose first line is a comment with
a file's name is written to that file first. Numbers, digests and names of this machine may differ from the README's; words and exit statuses may not.
A line `...` in a command's output stands for any lines. What is said only of a slow machine is passed over.
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
    (r", N unfinished$", ""),  # a call may be in flight when a window is written
    (r"[ ]+", " "),
)
SLOW = "ops-debug: reading operands took "


def mask(line):
    line = re.sub(r"-\d+-(?=\d)", "-N-", line)
    for pattern, word in MASKS:
        line = re.sub(pattern, word, line)
    return line.strip()


def session(readme):
    """(command, lines it prints) of every console block, (None, (file, text)) of the C blocks, in order."""
    steps = []
    for kind, block in re.findall(r"```(console|c)\n(.*?)```", readme, re.S):
        if kind == "c":
            name = re.match(r"/\* (\w+\.c) \*/", block).group(1)
            assert len(block.splitlines()) < 40, f"{name}: {len(block.splitlines())} lines, and the text says under 40"
            steps.append((None, (name, block)))
            continue
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
    return steps


def is_as_said(got, want):
    pattern = "".join("(?:.*\n)*" if line == "..." else re.escape(mask(line) + "\n") for line in want)
    return re.fullmatch(pattern, "".join(mask(line) + "\n" for line in got)) is not None


def missing_commands(build, readme):
    """Commands of the program without a row in the table, with another summary, and rows of no command."""
    said = subprocess.run([build / "ops-debug", "--help"], capture_output=True, text=True, check=True).stdout
    have = dict(re.findall(r"^  (\w+) {2,}(\S.*)$", said[said.index("Commands:"):said.index("Example:")], re.M))
    table = re.search(r"^\| command \| does \|\n((?:\|.*\n)+)", readme, re.M).group(1)
    told = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.M))
    return sorted(name for name in have.keys() | told.keys() if have.get(name) != told.get(name))


def main():
    build, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).resolve().parents[2]
    cache = (build / "CMakeCache.txt").read_text()
    if re.search(r"^OPD_SANITIZE:\w+=.+$", cache, re.M):
        print("skipped: a sanitizer's runtime must be loaded first, which python3 does not do")
        return 77
    environment = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C", PKG_CONFIG_PATH=str(build))
    readme = (root / "README.md").read_text()
    wrong = missing_commands(build, readme)
    failed = len(wrong)
    for name in wrong:
        print(f"{name}: README.md has no row, another summary, or there is no such command")
    with tempfile.TemporaryDirectory(prefix="readme-") as folder:
        shutil.copytree(root / "examples", pathlib.Path(folder) / "examples")
        for command, want in session(readme):
            if command is None:
                (pathlib.Path(folder) / want[0]).write_text(want[1])
                continue
            done = subprocess.run(["bash", "-c", command + "\necho \"[exit $?]\""], cwd=folder, env=environment, timeout=240,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            got = [line for line in done.stdout.splitlines() if line != "[exit 0]" and not line.startswith(SLOW)]
            if not is_as_said(got, want):
                failed += 1
                print(f"$ {command}\n--- README.md\n" + "\n".join(want) + "\n--- got\n" + "\n".join(got) + "\n---")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
