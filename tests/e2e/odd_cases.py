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


def process_never_takes_a_file_that_the_collector_has_not_finished():
    """Files wait for processes to come; the collector may be stopped anywhere while it makes one."""
    if SANITIZED:
        raise Skip("the sanitizer's runtime has to come first")
    env = dict(os.environ, LD_PRELOAD=os.path.join(TESTS, "libslow_files.so"))
    for way in ("exec", "spawn"):
        run = same_as_alone([ODD, "images", way, "9"], env=env)
        assert run.report["calls"] == "27" and run.trouble == "", (way, run.report, run.trouble)
        assert len(run.runs) == 9 and all(numbers(bundle) == [1, 2, 3] for bundle in run.runs), (way, run.report)


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


def in_flight(run):
    return [call for call in run.runs[-1].calls if has(call, "in_flight")]


def crash_under_a_handler_of_the_program_names_the_call():
    """Whatever its handler does that ends the process: strikes again, exit(3), _exit(3); on any stack; in the program or its child."""
    for mode in ("handler", "last", "stack", "child"):
        for how in ("default", "exit", "quit"):
            for where in ("operand", "result"):
                run = same_as_alone([ODD, mode, how, where])
                assert len(run.failures) == 1, (mode, how, where, run.report)
                failure, failing = run.failures[0].failure, run.failures[0].calls[-1]
                assert failure["outcome"] == "crash" and has(failing, "in_flight"), (mode, how, where, failure)
                assert failure["call"] == failing["number"] == ("1" if mode == "stack" else "3"), (mode, how, where, failure)
                assert failing["operands"]["A"]["stored"] == "1,0", "read before the routine met the fault"
                if how != "default" and os.uname().machine == "x86_64":
                    address = int(failure["address"], 16)
                    assert failure["signal"] == "11" and 64 <= address < 64 + 128, (mode, how, where, failure)


def recovery_from_a_fault_ends_the_call_as_crashed():
    """A jump of the program's handler out of the routine: the call is a failure with signal and address, in a bundle at once; those after it are there and not nested."""
    for mode, calls, left in (("handler", 6, 1), ("last", 3, 1), ("stack", 80, 40), ("child", 8, 1)):
        for where in ("operand", "result"):
            run = same_as_alone([ODD, mode, "jump", where])
            assert run.report["calls"] == str(calls) and run.report["nested"] == "0", (mode, where, run.report)
            assert len(in_flight(run)) == left, (mode, where, run.report)
            if os.uname().machine != "x86_64":
                continue
            written = min(left, 4)  # of one kind, at once
            assert (run.report["survived"], run.report["suppressed"]) == (str(left), str(left - written)), (mode, where, run.report)
            assert len(run.failures) == written, (mode, where, run.report)
            for bundle in run.failures:
                failure, failing = bundle.failure, [call for call in bundle.calls if call["number"] == bundle.failure["call"]][-1]
                assert (failure["outcome"], failure["signal"]) == ("crash", "11") and has(failing, "in_flight"), (mode, where, failure)
                assert 64 <= int(failure["address"], 16) < 64 + 128, (mode, where, failure)
                assert re.search(r"SIGSEGV, which the program survived, at address 0x[4-9a-f][0-9a-f], in \S+ of \S+", failure["reason"]), failure
            told = [event for event in run.runs[-1].events if event["kind"] == "crash"]
            assert [event["value"] for event in told] == [call["number"] for call in in_flight(run)], (mode, where, told)
            assert all(event["name"].startswith("SIGSEGV at address 0x") for event in told), told


def recovery_is_counted_where_no_crash_is_asked_for():
    run = same_as_alone([ODD, "handler", "jump", "operand"], ["trigger=nan"])
    assert not run.failures and run.report["survived"] == ("1" if os.uname().machine == "x86_64" else "0"), run.report


def nan_after_a_recovery_is_caught():
    """The frame of the routine that was left lies where the recorder works for a later one; that one is not nested in it."""
    for where in ("operand", "result"):
        run = same_as_alone([ODD, "smaller", "jump", where])
        assert run.report["calls"] == "3" and run.report["nested"] == "0", (where, run.report)
        wanted = ["crash", "nan"] if os.uname().machine == "x86_64" else ["nan"]
        assert [bundle.failure["outcome"] for bundle in run.failures] == wanted, (where, run.failures)


def a_program_that_is_asked_to_end_in_a_call_has_not_crashed():
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    for how in ("exit", "quit"):
        run = same_as_alone([ODD, "stop", how], env=env)
        assert run.status == 3 and not run.failures, (how, run.report)


def jumps_out_of_anything_lose_no_later_call():
    """An alarm strikes while the recorder copies or the routine runs, on either stack; 30 times."""
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    for stack in ([], ["other"]):
        run = same_as_alone([ODD, "alarms", "30", *stack], env=env)
        calls = run.runs[0].calls
        small = [call for call in calls if not has(call, "in_flight") and "m=4," in call["what"]]
        assert len(small) == 130, (stack, run.report)
        assert run.report["nested"] == "0" and run.report["dropped"] == run.report["survived"] == "0", (stack, run.report)
        assert all(call["operands"]["A"]["before"] != "-" for call in small), "copies go on too"


def threads_that_end_in_a_routine_blame_nobody():
    for where in ("operand", "result"):
        run = same_as_alone([ODD, "threads", where])
        assert run.report["calls"] == "45" and not run.failures, (where, run.report)
        run = same_as_alone([ODD, "threads", where, "crashes"])
        assert [bundle.failure["call"] for bundle in run.failures] == ["0"], (where, run.failures[0].failure)


def faulthandler_of_python_prints_and_the_crash_is_recorded():
    need_numpy()
    if SANITIZED:
        raise Skip("the sanitizer's runtime has handlers of its own")
    text = ("import ctypes, numpy as np\na = np.ones((4, 4)); a @ a\nd = ctypes.c_double\np = a.ctypes.data_as(ctypes.c_void_p)\n"
            "ctypes.CDLL('libblas.so.3').cblas_dgemm(101, 111, 111, 4, 4, 4, d(1), p, 4, ctypes.c_void_p(64), 4, d(0), p, 4)")
    run = Run([PYTHON, "-X", "faulthandler", "-c", text])
    assert run.status == 139 and "Fatal Python error: Segmentation fault" in run.stderr, run.stderr
    failing = run.failures[0].calls[-1]
    assert run.failures[0].failure["outcome"] == "crash" and has(failing, "in_flight"), run.failures[0].failure
    assert failing["symbol"] == "cblas_dgemm" and failing["operands"]["A"]["stored"] == "1,0", failing


def forked_workers_name_the_library():
    need_numpy()
    text = ("import multiprocessing as mp, numpy as np, sys\ndef work(i):\n    a = np.full((8, 8), 1e200)\n"
            "    with np.errstate(all='ignore'): return float((a @ a)[0, 0])\n"
            "a = np.ones((8, 8))\nif sys.argv[1] == 'warm': a @ a\nwith mp.get_context('fork').Pool(2) as p: print(p.map(work, range(4)))")
    for warm in ("warm", "cold"):
        run = same_as_alone([PYTHON, "-c", text, warm])
        assert len(run.failures) == 4, run.report
        for bundle in run.failures:
            assert bundle.head["pid"] != "0" and "blas" in bundle.calls[-1]["provider"], (warm, bundle.calls[-1])


def programs_in_a_sandbox_are_not_killed_by_the_recorder():
    """Once a program forbids itself system calls, arguments and times are recorded, operands no more. The strict mode forbids
    the clock as well, and ends the recording."""
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    for kind, count in (("filter", 2003), ("strict", 3)):
        run = same_as_alone([ODD, "sandbox", kind], env=env)
        assert run.status == 7 and run.stdout == "in\n" and run.report["calls"] == str(count), (kind, run.stdout, run.report)
        has_data = [call["operands"]["A"]["before"] != "-" for call in run.runs[0].calls]
        assert has_data == [True] * 3 + [False] * (count - 3), kind


def short_time_limits_have_operands():
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    run = Run([ODD, "large", "1100"], ["trigger=timeout=0.002"], env=env)
    assert run.failures and run.failures[0].failure["outcome"] == "timeout", run.report
    failing = run.failures[0].calls[-1]
    assert all(failing["operands"][name]["stored"].startswith("1") for name in "AB"), failing["operands"]


main(globals())
