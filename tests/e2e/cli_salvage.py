#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ops-debug record is killed in the middle: the program goes on to its own end, and `salvage FOLDER` brings every call it made."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

CALLS = 200


def sessions_of(out):
    """Other tests may record at the same time: a session names its output."""
    found = []
    for control in pathlib.Path("/dev/shm").glob(f"ops-debug-{os.geteuid()}-*/control"):
        try:
            if os.fsencode(out) in control.read_bytes():
                found.append(control)
        except FileNotFoundError:
            pass
    return found


def ask(build, *arguments):
    return subprocess.run([build / "ops-debug", *arguments], capture_output=True, text=True, timeout=100)


def wait_for(condition, what):
    deadline = time.time() + 60
    while not condition():
        assert time.time() < deadline, what
        time.sleep(0.01)


def kill_in_the_middle(build, folder, out):
    """The program's exit status is in done when it has ended: its parent is gone by then."""
    program = f"echo $$ > {folder}/pid; {build}/tests/record_victim steps {folder}/at; echo $? > {folder}/done.new; mv {folder}/done.new {folder}/done"
    recorder = subprocess.Popen([build / "ops-debug", "record", "-o", out, "--", "sh", "-c", program],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for((folder / "at").exists, "the program does not come to its middle")
    recorder.send_signal(signal.SIGKILL)
    recorder.wait()
    assert not (folder / "done").exists(), "it was too late to kill"
    running = ask(build, "salvage", out)
    assert running.returncode in (0, 3) and "still runs" in running.stderr, running
    wait_for((folder / "done").exists, "the program does not end")
    shell = (folder / "pid").read_text().strip()
    wait_for(lambda: not os.path.exists(f"/proc/{shell}"), "the shell does not end")
    assert (folder / "done").read_text() == "7\n", "the program's exit status has changed"


def numbers(build, out):
    seen = []
    for path in sorted(out.glob("run-*.opsb")):
        document = json.loads(ask(build, "show", path, "--json", "--all").stdout)
        seen += [call["number"] for call in document["calls"] if call["name"] == "dgemm"]
    return sorted(seen)


def names_what_is_waiting(build, folder, out):
    """Every command over a folder says it, whether the folder holds bundles by then or looks empty."""
    bundle = folder / "one.opsb"
    subprocess.run([build / "tests/make_bundle", "nan", bundle], check=True)
    waiting = f"1 recording into it was killed, whose calls wait in shared memory: ops-debug salvage {out} brings them"
    kept = {path: path.read_bytes() for path in out.iterdir()}
    for path in kept:
        path.unlink()
    for command in ("show", "group", "replay"):
        done = ask(build, command, out)
        assert done.returncode == 3 and done.stderr == f"ops-debug: {out}: holds no bundle yet: {waiting}\n", done
    for path, content in kept.items():
        path.write_bytes(content)
    (out / "one.opsb").write_bytes(bundle.read_bytes())
    for command, status in (("show", 0), ("group", 0), ("replay", 1)):
        done = ask(build, command, out, "--json")
        assert done.returncode == status and f"ops-debug: {out}: {waiting}\n" in done.stderr, done
        assert json.loads(done.stdout)["waiting"] == [{"path": str(out), "recordings": 1}], done.stdout
        assert ask(build, command, out, "-q").stderr == "", command
    (out / "one.opsb").unlink()
    bundle.unlink()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="left-") as name:
        folder = pathlib.Path(name)
        out = folder / "run"
        kill_in_the_middle(build, folder, out)
        assert sessions_of(out), "nothing to recover"
        for said in (ask(build, "show", out).stderr, ask(build, "record", "-o", out, "--", "true").stderr):
            assert f"ops-debug salvage {out}" in said, said
        names_what_is_waiting(build, folder, out)
        other = ask(build, "show", folder)
        assert "salvage" not in other.stderr, "another folder's session is named"
        mended = ask(build, "salvage", out)
        assert mended.returncode == 0 and mended.stderr == "" and f"next: ops-debug show {out}" in mended.stdout, mended
        assert numbers(build, out) == list(range(1, CALLS + 1)), numbers(build, out)
        assert not list(out.glob("*.partial")) and not sessions_of(out), "something is left"
        assert "salvage" not in ask(build, "show", out).stderr
        again = ask(build, "salvage", out)
        assert again.returncode == 3 and again.stderr == f"ops-debug: {out}: no recording was left behind\n", again
    return 0


if __name__ == "__main__":
    sys.exit(main())
