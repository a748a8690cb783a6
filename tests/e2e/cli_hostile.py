#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No text makes a terminal do anything, in any command of the program's own list: not one of a bundle, a name of a file or an argument.
Standard output and error hold no control character but line ends and tabs, and on a terminal the colours and the progress line of the
program; letters beyond ASCII stay, and JSON has the texts as they are."""
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile

TEXT = "a\033[2Jb\007\n\177"  # how every text of the hostile bundle begins
WORD = "x\033[2J\007\x9b\u00e9"
NAME = f"{WORD}.opsb"  # a file of that name is in the folder
CONTROLS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
OURS = re.compile(rb"\033\[(0|1|1;31|32|33)m|\r\033\[K|\r\n")
# Of each command of the list: what it is given; {} is the folder of the outputs.
GIVEN = {
    "record": [["-o", "{}/run", "--", WORD], ["-o", "{}/" + WORD, "--", "true"], ["--trigger", WORD, "--", "true"], ["-o", "{}/run", "--match", WORD, "--", "true"]],
    "trigger": [[WORD], ["1", "--reason", WORD]],
    "show": [["hostile.opsb"], ["hostile.opsb", "-v", "--all", "--environment"], ["hostile.opsb", "--call", "3"], ["folder"], [NAME], ["hostile.opsb", "--call", WORD], [WORD]],
    "replay": [["hostile.opsb", "-v"], ["hostile.opsb", "--call", "3"], ["folder"], [NAME, "--guard"], ["hostile.opsb", "--library", WORD], ["hostile.opsb", "--variant", WORD],
               ["hostile.opsb", "--core", WORD], ["hostile.opsb", "--junit", "{}/" + WORD]],
    "reduce": [["hostile.opsb", "-o", "{}/min.opsb", "--observed"], ["hostile.opsb", "-o", "{}/" + NAME, "--emit-c", "{}/" + WORD], ["hostile.opsb", "-o", "{}/no/" + WORD]],
    "group": [["hostile.opsb", "-v"], ["folder", NAME, WORD]],
    "diagnose": [["hostile.opsb"], [NAME, "-v"]],
    "diff": [["nan.opsb", "hostile.opsb"], ["hostile.opsb", NAME], [NAME, WORD]],
    "export": [["hostile.opsb", "-o", "{}/" + WORD + ".csv"], [NAME, "-o", "{}/out.json"], ["hostile.opsb", "-o", "{}/out", "--format", WORD]],
    "open": [[WORD], ["folder"]],
    "salvage": [["hostile.opsb", "-o", "{}/" + NAME], ["torn.opsb", "-o", "{}/mended.opsb"], [WORD]],
    "pack": [["hostile.opsb", "-o", "{}/" + NAME], ["hostile.opsb", "-o", "{}/packed.opsb", "--store", WORD]],
    "run": [["--op", WORD], ["--op", "Relu", "--input-shapes", WORD], ["--op", "Relu", "--fill", WORD], ["--op", "Relu", "--library", WORD], ["--op", "Relu", "--save", "{}/" + NAME]],
    "attribute": [["--op", WORD, "--range", "[0]"], ["hostile.opsb", "--range", WORD], ["hostile.opsb", "--range", "[0]"]],
    "trace": [["--op", WORD], ["hostile.opsb"], [NAME, "--checkpoint-mode", WORD]],
    "import": [["onnx", WORD], [WORD, WORD]],
    "validate": [["--op", WORD], ["--op", "Relu", "--form", WORD]],
    "selftest": [["--only", WORD]],
    "new": [[WORD], ["Good", "-o", "{}/no/" + WORD]],
    "ops": [[WORD], ["--library", WORD]],
}
faults = []


def on_terminal(command, folder):
    """Standard output and error on a terminal, as bytes."""
    master, slave = pty.openpty()
    child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, close_fds=True)
    os.close(slave)
    said = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        said += piece
    os.close(master)
    child.wait(timeout=60)
    return said


def check(where, said):
    found = CONTROLS.search(said)
    if found is not None:
        faults.append(f"{where}: {said[max(0, found.start() - 60):found.end() + 20]!r}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    tool = build / "ops-debug"
    table = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  (\w+) {2,}\S.*$", table[table.index("Commands:"):table.index("Example:")], re.M)
    assert sorted(commands) == sorted(GIVEN), "a command of the list is given nothing here, or one here is not of the list"
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        folder = pathlib.Path(name)
        for kind in ("hostile", "nan"):
            subprocess.run([build / "tests/make_bundle", kind, folder / f"{kind}.opsb"], check=True)
        whole = (folder / "hostile.opsb").read_bytes()
        (folder / NAME).write_bytes(whole)
        (folder / "torn.opsb").write_bytes(whole[:-100])
        (folder / "folder").mkdir()
        for path in (NAME, "torn.opsb"):
            shutil.copy(folder / path, folder / "folder")
        said_all = b""
        for command in ["--help", WORD, *commands]:
            for way, words in enumerate(GIVEN.get(command, [[]])):
                for extra in ((), ("--json",)) if words else ((),):
                    line = [tool, command, *(extra if command == "record" else ()), *words, *(() if command == "record" else extra)]
                    for kind in ("plain", "terminal"):
                        out = folder / f"{command[:1]}{way}{kind}{len(extra)}"
                        out.mkdir(exist_ok=True)
                        given = [str(word).replace("{}", out.name) for word in line]
                        if kind == "terminal":
                            said = OURS.sub(b"", on_terminal(given, folder))
                        else:
                            done = subprocess.run(given, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
                            said = done.stdout + done.stderr
                            if done.returncode < 0:
                                faults.append(f"{given}: ends by signal {-done.returncode}")
                            said_all += said
                        check(given, said)
                        shutil.rmtree(out)
        if "\u00e9".encode() not in said_all:
            faults.append("letters beyond ASCII do not pass")
        found = json.loads(subprocess.run([tool, "show", "--json", "hostile.opsb"], cwd=folder, capture_output=True, check=True).stdout)
        if not found["producer"].startswith(TEXT) or not found["environment"]["cpu_model"].startswith(TEXT):
            faults.append(f"JSON has another text: {found['producer']!r}")
        # What the bundle holds starts no line of its own.
        for words in GIVEN["show"][:3]:
            said = subprocess.run([tool, "show", *words], cwd=folder, capture_output=True, check=True).stdout
            if b"\n?" in said:
                faults.append(f"show {words}: a text of the bundle goes on in a line of its own")
    print("\n".join(faults) or "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
