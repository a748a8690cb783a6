# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the recorder for the cases of e2e and fault: SCRIPT BUILD CASE. A case is a function named by behaviour.

What the program prints, returns and dies of must be as without the recorder; what was recorded is read from the bundles."""
import os
import re
import subprocess
import sys
import tempfile
import textwrap

BUILD = sys.argv[1]
TESTS = os.path.join(BUILD, "tests")
PROBE = os.path.join(TESTS, "record_probe")
VICTIM = os.path.join(TESTS, "record_victim")
PYTHON = "/usr/bin/python3"
SANITIZED = os.environ.get("OPD_SANITIZE", "") != ""
if SANITIZED:  # the runtime comes into every program: it is to leave crashes and leaks to the program
    os.environ["ASAN_OPTIONS"] = ("detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:"
                                  "handle_sigfpe=0:use_sigaltstack=0:detect_odr_violation=0:disable_coredump=0")


class Skip(Exception):
    pass


def words(line):
    """KEY=VALUE words of a line; some last keys take all that follows."""
    line, free, rest = re.match(r"(.*?)(?: (what|reason|name|view|command)=(.*))?$", line).groups()
    result = dict(word.split("=", 1) for word in line.split(" ") if "=" in word)
    if free:
        result[free] = rest
    return result


class Bundle:
    def __init__(self, path):
        text = subprocess.run([PROBE, "dump", path], check=True, capture_output=True, text=True).stdout
        self.path, self.calls, self.failure, self.events, self.crash, self.stacks, self.counts = path, [], None, [], None, [], []
        for line in text.splitlines():
            fields = words(line.strip())
            if line.startswith("bundle "):
                self.head = fields
            elif line.startswith("call "):
                fields["flags"] = int(fields["flags"], 16)
                fields["operands"] = {}
                self.calls.append(fields)
            elif line.startswith("  operand "):
                fields["flags"] = int(fields["flags"], 16)
                self.calls[-1]["operands"][line.split()[1]] = fields
            elif line.startswith("failure "):
                self.failure = fields
            elif line.startswith("crash "):
                self.crash = fields
            elif line.startswith("stack "):
                fields["frames"] = []
                self.stacks.append(fields)
            elif line.startswith("  frame "):
                self.stacks[-1]["frames"].append(fields)
            elif line.startswith("event "):
                self.events.append(fields)
            elif line.startswith("count "):
                self.counts.append({key: int(value) for key, value in fields.items()})


class Run:
    """One recorded run and its bundles."""

    def __init__(self, program, options=(), env=None, cwd=None, out=None, wrap=()):
        self.out = out or tempfile.mkdtemp(prefix="record-")
        command = [*wrap, PROBE, "run", self.out, *options, "--", *program]
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, timeout=120)
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        lines = done.stderr.splitlines()
        found = [line for line in lines if line.startswith("report ")]
        assert found, done.stderr
        self.report = words(found[0])
        self.why = next(line[4:] for line in lines if line.startswith("why "))
        self.reduced = next(line[8:] for line in lines if line.startswith("reduced "))
        self.run_trouble = next(line[12:] for line in lines if line.startswith("run_trouble "))
        self.trouble = next(line[8:] for line in lines if line.startswith("trouble "))
        self.stderr = "\n".join(lines[: lines.index(found[0])])
        names = sorted(os.listdir(self.out))
        self.runs = [Bundle(os.path.join(self.out, name)) for name in names if name.startswith("run-")]
        self.failures = [Bundle(os.path.join(self.out, name)) for name in names if not name.startswith("run-")]


FLAGS = {"in_flight": 1, "bad_args": 2, "nested": 4, "from_library": 8, "cblas": 16, "ilp64": 32, "row_major": 64, "abi_suspect": 256}
MUST_NOT_READ, UNREADABLE = 1, 2


def has(call, flag):
    return call["flags"] & FLAGS[flag] != 0


def alone(program, env=None, cwd=None):
    done = subprocess.run(program, capture_output=True, text=True, env=env, cwd=cwd, timeout=120)
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return status, done.stdout


def same_as_alone(program, options=(), env=None):
    run = Run(program, options, env)
    assert (run.status, run.stdout) == alone(program, env), (run.status, run.stdout, run.stderr)
    return run


def states(bundle):
    """The bytes of the generators' states by their names."""
    found = [event["name"].split() + [event["value"]] for event in bundle.events if event["kind"] == "state"]
    return {name: subprocess.run([PROBE, "content", bundle.path, digest, size], check=True, capture_output=True).stdout
            for name, digest, size in found}


def script(text):
    return [PYTHON, "-c", textwrap.dedent(text)]


def need_numpy():
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode != 0:
        raise Skip("python3-numpy is not installed")


def main(cases):
    try:
        cases[sys.argv[2]]()
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
