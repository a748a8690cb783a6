# SPDX-License-Identifier: Apache-2.0
"""The recorder in programs that leave where one does not expect it: odd_cases.py BUILD CASE. No call is lost, no crash made up."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from record_harness import *  # noqa: E402,F403

ODD = os.path.join(TESTS, "odd_victim")


def numbers(bundle):
    return [int(call["number"]) for call in bundle.calls]


def every_image_of_a_chain_is_recorded():
    """Whether a program execs itself, or starts the next by any other way: each image's calls are there, in its own run."""
    for way, count in (("exec", 12), ("exec", 80), ("thread", 9), ("spawn", 9), ("vfork", 9), ("fork", 9)):
        if SANITIZED and count == 80:
            continue
        run = same_as_alone([ODD, "images", way, str(count)])
        assert run.status == 6 and run.report["calls"] == str(3 * count), (way, run.report)
        assert len(run.runs) == count and all(numbers(bundle) == [1, 2, 3] for bundle in run.runs), (way, run.report)
        assert run.report["processes"] == ("1" if way in ("exec", "thread") else str(count)), (way, run.report)
        assert not run.failures and run.trouble == "", (way, run.trouble)


def a_process_of_another_pid_namespace_is_recorded():
    if os.geteuid() != 0 or subprocess.run(["unshare", "-pf", "true"], capture_output=True).returncode != 0:
        raise Skip("a pid namespace needs root")
    run = Run(["unshare", "-pf", "--mount-proc", "sh", "-c", f"sleep 0.3; {ODD} images spawn 3; sleep 0.3; {ODD} images exec 3"])
    assert run.report["calls"] == "18", run.report


def a_program_under_valgrind_is_recorded():
    if SANITIZED or shutil.which("valgrind") is None:
        raise Skip("valgrind is not installed, or does not run sanitized programs")
    run = Run(["valgrind", "-q", "--trace-children=yes", ODD, "images", "exec", "3"])
    assert run.status == 6 and run.report["calls"] == "9", (run.report, run.why, run.stderr)


main(globals())
