#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reduction that is killed at any time leaves a best that fails from disk; the next one goes on and spends no run twice. Two at once in
one folder keep to their own files; two of one output do not start."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

RUN_LINE = re.compile(r"^[A-Z] [0-9a-f]{32} .* \.$", re.M)


class Folder:
    def __init__(self, build, path):
        self.program, self.path = build / "ops-debug", path

    def start(self, bundle, out):
        return subprocess.Popen([self.program, "reduce", bundle, "-o", out, "--json"], cwd=self.path, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def reduce(self, bundle, out):
        done = self.start(bundle, out)
        text, said = done.communicate(timeout=300)
        assert done.returncode == 0, said
        return json.loads(text)

    def replay(self, bundle):
        return subprocess.run([self.program, "replay", "-q", bundle], cwd=self.path, timeout=100).returncode

    def logged_runs(self, out):
        return sum(len(RUN_LINE.findall(log.read_text())) for log in self.path.glob(f"{out}.*.log"))

    def names(self, pattern):
        return sorted(p.name for p in self.path.glob(pattern))


def killed_anywhere(folder, whole):
    """Kills after more and more logged runs, so in judging and in verifying alike."""
    total, bests = whole["runs"] + whole["accepted"], 0
    for step in range(1, 6):
        out = f"killed{step}.opsb"
        limit = total * step // 6
        search = folder.start("nan.opsb", out)
        while folder.logged_runs(out) < limit and search.poll() is None:
            time.sleep(0.002)
        search.send_signal(signal.SIGKILL)
        search.communicate()
        assert search.returncode == -signal.SIGKILL, "the search ended before it could be killed"
        spent = folder.logged_runs(out)
        assert not (folder.path / out).exists(), "a result without its final check"
        if (folder.path / f"{out}.best").exists():
            bests += 1
            assert folder.replay(f"{out}.best") == 1, f"the best after {spent} runs does not fail"
        again = folder.reduce("nan.opsb", out)
        assert again["call"]["dims"] == whole["call"]["dims"], again["call"]
        # The run that was being made when the signal came was in no log yet.
        assert spent + again["runs"] + again["accepted"] >= total and spent + again["runs"] <= total + 1, (spent, again["runs"], total)
        assert folder.replay(out) == 1
        assert folder.names(f"{out}*") == [out], folder.names(f"{out}*")
    assert bests >= 2, "too few searches were killed late enough to have a best"


def side_by_side(folder, whole):
    before = folder.names("*")
    searches = {out: folder.start(bundle, out) for bundle, out in (("nan.opsb", "a.opsb"), ("other.opsb", "b.opsb"))}
    for out, search in searches.items():
        text, said = search.communicate(timeout=300)
        assert search.returncode == 0, (out, said)
        assert json.loads(text)["call"]["dims"] == whole["call"]["dims"]
    assert folder.names("*") == sorted([*before, "a.opsb", "b.opsb"]), folder.names("*")

    # The log is opened under the lock; the search then stands still, so that it is not over before the second one looks.
    first = folder.start("nan.opsb", "same.opsb")
    while not folder.names("same.opsb.*log*") and first.poll() is None:
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)
    second = folder.start("other.opsb", "same.opsb")
    _, said = second.communicate(timeout=100)
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 3 and re.fullmatch(r"ops-debug: same\.opsb: another ops-debug is writing it[^\n]*\n", said), said
    first.communicate(timeout=300)
    assert first.returncode == 0 and folder.replay("same.opsb") == 1


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="killed-") as name:
        folder = Folder(build, pathlib.Path(name))
        for bundle in ("nan", "other"):
            subprocess.run([build / "tests/make_bundle", "nan", folder.path / f"{bundle}.opsb"], check=True)
        os.utime(folder.path / "nan.opsb")
        whole = folder.reduce("nan.opsb", "whole.opsb")
        assert whole["is_complete"] and folder.replay("whole.opsb") == 1
        killed_anywhere(folder, whole)
        side_by_side(folder, whole)
    return 0


if __name__ == "__main__":
    sys.exit(main())
