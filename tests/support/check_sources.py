#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Licence line, size, unique names and banned functions of every hand-written source."""
import pathlib
import re
import subprocess
import sys

SOURCES = {".c", ".h", ".py", ".proto"}
MAX_LINES = {".c": 600, ".h": 400, ".py": 600}
LICENCE = "SPDX-License-Identifier: Apache-2.0"

ALWAYS = {"atoi", "atol", "atof", "strcpy", "strcat", "sprintf", "vsprintf", "strtok", "gets", "alloca"}
MEMORY = {"malloc", "calloc", "realloc", "reallocarray", "free", "strdup", "strndup", "asprintf"}
OUTPUT = {"printf", "puts", "putchar", "perror", "exit", "abort"}
LIBRARIES = ("core/", "proto/", "kernels/", "recorder/", "replayer/", "reducer/", "viewer-export/")

# file -> banned names it may use after all, with the reason
EXCEPTIONS = {
    "core/memory.c": (MEMORY, "the seam itself"),
    "replayer/allocations.c": (MEMORY, "stands in front of them to count"),
}

CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def banned_in(name):
    banned = set(ALWAYS)
    if name.startswith(LIBRARIES) or name.startswith("cli/"):
        banned |= MEMORY
    if name.startswith(LIBRARIES):
        banned |= OUTPUT
    return banned - EXCEPTIONS.get(name, (set(), ""))[0]


def tracked(root):
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [n for n in listed.stdout.splitlines() if (root / n).exists()]
    return [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and "build" not in p.relative_to(root).parts]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    errors, seen = [], {}
    for name in sorted(tracked(root)):
        path = root / name
        is_script = name.startswith(("scripts/", ".ci/"))
        if path.suffix not in SOURCES and not is_script:
            continue
        text = path.read_text()
        lines = text.count("\n")
        if path.suffix in SOURCES and LICENCE not in "\n".join(text.splitlines()[:3]):
            errors.append(f"{name}:1: no line '{LICENCE}'")
        if lines > MAX_LINES.get(path.suffix, 10**9):
            errors.append(f"{name}: {lines} lines, over {MAX_LINES[path.suffix]}: split it by noun")
        if path.suffix == ".c" and path.name in seen:
            errors.append(f"{name}: the name is taken by {seen[path.name]}")
        seen[path.name] = name
        if path.suffix not in (".c", ".h"):
            continue
        code = CODE.sub(blank, text)
        for word in re.finditer(r"(?<![\w.>])([a-z_]+)\s*\(", code):
            if word.group(1) in banned_in(name):
                line = code.count("\n", 0, word.start()) + 1
                errors.append(f"{name}:{line}: {word.group(1)}() is banned here")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
