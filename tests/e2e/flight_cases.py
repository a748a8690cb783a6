# SPDX-License-Identifier: Apache-2.0
"""What a recording that is always on keeps, and what it may cost: flight_cases.py BUILD CASE."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from record_harness import *  # noqa: E402,F403

OPS_DEBUG = os.path.join(BUILD, "ops-debug")


def ops_debug(*words, **options):
    if not os.path.exists(OPS_DEBUG):
        raise Skip("ops-debug is not built")
    return subprocess.run([OPS_DEBUG, *words], capture_output=True, text=True, timeout=120, **options)


class Endless:
    """A program under `ops-debug record` that calls until it is killed."""

    def __init__(self, *options):
        self.out = tempfile.mkdtemp(prefix="record-")
        flag = os.path.join(self.out, "flag")
        self.recorder = subprocess.Popen([OPS_DEBUG, "record", *options, "-o", self.out, "--", VICTIM, "endless", flag],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.time() + 60
        while not os.path.exists(flag):
            assert time.time() < deadline and self.recorder.poll() is None, self.recorder.poll()
            time.sleep(0.02)

    def pid(self):
        listed = json.loads(ops_debug("trigger", "--json").stdout)["programs"]
        return [program for program in listed if program["collector"] == self.recorder.pid][0]

    def end(self):
        os.kill(self.pid()["pid"], signal.SIGTERM)
        return self.recorder.communicate(timeout=60)


def request_from_outside_brings_a_bundle_and_the_program_goes_on():
    if not os.path.exists(OPS_DEBUG):
        raise Skip("ops-debug is not built")
    program = Endless()
    listed = program.pid()
    assert listed["program"] == os.path.realpath(VICTIM) and listed["out"] == os.path.realpath(program.out), listed
    text = ops_debug("trigger").stdout
    assert str(listed["pid"]) in text and "next: ops-debug trigger " in text, text
    done = ops_debug("trigger", str(listed["pid"]), "--reason", "as I say")
    assert done.returncode == 0 and done.stdout.count("\n") == 1, done
    first = Bundle(done.stdout.strip())
    assert first.failure["outcome"] == "requested" and first.failure["reason"].startswith("as I say"), first.failure
    assert len(first.calls) > 100 and first.calls[-1]["operands"]["A"]["stored"].startswith("1"), len(first.calls)
    done = ops_debug("trigger", str(program.recorder.pid), "--json")  # the collector: all its processes
    document = json.loads(done.stdout)
    assert document["bundles"] == 1 and document["trouble"] == "", document
    second = Bundle(document["paths"][0])
    assert int(second.calls[-1]["number"]) > int(first.calls[-1]["number"]), "the program went on"
    program.end()
    assert ops_debug("trigger", str(listed["pid"])).returncode == 3


def requests_are_not_subject_to_the_cap_of_failures():
    if not os.path.exists(OPS_DEBUG):
        raise Skip("ops-debug is not built")
    program = Endless("--bundles", "0")
    pid = str(program.pid()["pid"])
    paths = {ops_debug("trigger", pid).stdout for _ in range(3)}
    assert len(paths) == 3 and all(os.path.exists(path.strip()) for path in paths), paths
    program.end()


def signal_for_a_bundle_goes_to_the_recorder():
    if not os.path.exists(OPS_DEBUG):
        raise Skip("ops-debug is not built")
    program = Endless()
    program.recorder.send_signal(signal.SIGUSR2)
    deadline = time.time() + 60
    while not [name for name in os.listdir(program.out) if name.endswith("-requested.opsb")]:
        assert time.time() < deadline and program.recorder.poll() is None
        time.sleep(0.02)
    program.end()
    assert "kill -USR2 to the process ops-debug record, never to the program" in " ".join(ops_debug("record", "--help").stdout.split())


def request_to_a_process_that_is_not_recorded_says_so():
    for pid in (str(os.getpid()), "999999999"):
        done = ops_debug("trigger", pid)
        assert done.returncode == 3 and done.stdout == "", done
        assert f"process {pid} is not recorded" in done.stderr and done.stderr.count("\n") == 1, done
    assert ops_debug("trigger", "x").returncode == 2


def failures_of_one_kind_leave_room_for_others():
    """Inf in the output of one routine in every call, and of another: four of the first, and the other is there."""
    run = same_as_alone([VICTIM, "two_failures", "40"])
    routines = [[call for call in bundle.calls if call["number"] == bundle.failure["call"]][0]["what"].split("(")[0]
                for bundle in run.failures]
    assert sorted(routines) == ["dgemm"] * 4 + ["dscal"] * 4, routines
    assert (run.report["bundles"], run.report["suppressed"]) == ("8", "72"), run.report
    run = same_as_alone([VICTIM, "two_failures", "40"], ["per_failure=1"])
    assert (run.report["bundles"], run.report["suppressed"]) == ("2", "78"), run.report


def reading_takes_no_more_than_all_of_a_short_run():
    """One call: its operands are read before its first time stamp and after its last, and that is time of the thread too."""
    for program in ([os.path.join(TESTS, "syscall_victim")], [VICTIM, "basic", "1"]):
        done = ops_debug("record", "--json", "-o", tempfile.mkdtemp(prefix="record-"), "--", *program)
        document = json.loads(done.stderr)
        assert document["calls"] >= 1 and 0 < document["own_ns"] <= document["thread_ns"], document


def first_calls_of_each_kind_keep_their_operands():
    """Two kinds of products and a sum of squares, in turns: the operands of two calls of each are read, and the bundle says so."""
    need_numpy()
    run = Run(script("""
        import numpy as np
        a, b = np.ones((16, 16)), np.ones((16, 8))
        for i in range(5):
            a @ a.copy(); a @ b; np.dot(a[0], a[1])
        """), ["first=2"])
    read = {}
    for call in run.runs[0].calls:
        kind = call["what"].split(", alpha")[0]
        if kind == "sdot(n=2)":  # numpy tries its BLAS once
            continue
        read.setdefault(kind, []).append([operand["before"] != "-" for operand in call["operands"].values()].count(True) > 0)
    assert len(read) == 3 and all(taken == [True, True, False, False, False] for taken in read.values()), read
    notes = [event["name"] for event in run.runs[0].events if event["kind"] == "note"]
    assert notes == ["operands of the first 2 calls of each kind were read"], notes
    child = same_as_alone([VICTIM, "forks"], ["first=1"])
    assert sorted([call["operands"]["A"]["before"] != "-" for call in bundle.calls] for bundle in child.runs) == \
        [[True, False], [True, False, False, False]], "a child begins anew"


def spent_allowance_is_announced_and_calls_go_on():
    """Far more is to be read than a ten-thousandth of the time allows: calls without operands, all of them counted, and what was asked for in words."""
    need_numpy()
    program = script("""
        import numpy as np
        r = np.random.default_rng(1)
        for i in range(300):
            a = r.standard_normal((200, 200))
            a @ a.T[:, :8]
        """)
    out = tempfile.mkdtemp(prefix="record-")
    done = ops_debug("record", "--json", "--overhead", "0.01", "-o", out, "--", *program)
    document = json.loads(done.stderr)
    run = Bundle([os.path.join(out, name) for name in os.listdir(out) if name.startswith("run-")][0])
    calls = [call for call in run.calls if call["what"].startswith("dgemm")]
    unread = [call for call in calls if all(operand["before"] == "-" for operand in call["operands"].values())]
    events = [event["name"] for event in run.events if event["kind"] == "overhead"]
    assert len(calls) == 300 and document["unread_calls"] == len(unread) > 0, (len(calls), document)
    assert events[0].startswith("the 0.01 % of time allowed are spent"), events
    assert all(first.startswith("the ") != second.startswith("the ") for first, second in zip(events, events[1:])), events
    assert document["own_ns"] > 0 and document["thread_ns"] > document["own_ns"], document
    done = ops_debug("record", "--overhead", "x", "-o", out, "--", "/bin/true")
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    shown = " ".join(ops_debug("show", run.path).stdout.split())
    assert "operands are not read from here on" in shown, shown[-2000:]


def operands_without_room_are_announced_in_the_bundle():
    """Of twelve products one operand each is over a quarter of the budget: said in the run where it happens, and by a note in each later bundle."""
    need_numpy()
    program = script("""
        import numpy as np
        r = np.random.default_rng(1)
        for i in range(12):
            r.standard_normal((300, 300)) @ r.standard_normal((300, 8))
        """)
    out = tempfile.mkdtemp(prefix="record-")
    done = ops_debug("record", "--json", "--budget", "1M", "--trigger", "exit", "-o", out, "--", *program)
    assert done.returncode == 0 and json.loads(done.stderr)["data_refused"] == 12, done.stderr
    run, asked = [[os.path.join(out, name) for name in os.listdir(out) if name.startswith("run-") == is_run][0] for is_run in (True, False)]
    told = [(event["value"], event["name"]) for event in Bundle(run).events if event["kind"] == "budget"]
    assert told == [(str(n), f"operands without room so far: {n}, the last of 720000 bytes") for n in (1, 2, 4, 8)], told
    notes = [event["name"] for event in Bundle(asked).events if event["kind"] == "note"]
    assert notes == ["12 operands so far found no room in the budget: digests and statistics alone"], notes
    shown = ops_debug("show", asked).stdout
    assert "note         12 operands so far found no room" in shown and "budget       operands without room so far: 1, " in shown, shown
    kinds = [event["kind"] for event in json.loads(ops_debug("show", "--json", asked).stdout)["events"]]
    assert kinds.count("budget") == 4, kinds
    proto = os.path.join(os.path.dirname(__file__), "..", "..", "proto")
    with open(asked, "rb") as bundle:
        decoded = subprocess.run(["protoc", "--decode=opsdebug.Bundle", "-I", proto, "bundle.proto"], stdin=bundle, capture_output=True)
    assert decoded.stdout.count(b'kind: "budget"') == 4 and notes[0].encode() in decoded.stdout, decoded.stderr


def stages_and_ranges_are_shown_with_their_call():
    out = tempfile.mkdtemp(prefix="record-")
    done = ops_debug("record", "-o", out, "--", os.path.join(BUILD, "record_runtime"))
    assert done.returncode == 0, done.stderr
    path = [os.path.join(out, name) for name in sorted(os.listdir(out)) if name.endswith(("-inf.opsb", "-nan.opsb"))][0]
    lines = ops_debug("show", path).stdout.splitlines()
    stages = [line for line in lines if line.startswith("  stage    ")]
    assert len(stages) == 4 and any(" Inf, first at " in stage for stage in stages), lines  # a row each
    assert sum(line.startswith("  in range ") for line in lines) == 1, lines
    events = json.loads(ops_debug("show", "--json", path).stdout)["events"]
    assert {"point", "range-push", "range-pop", "recipe"} <= {event["kind"] for event in events}, events
    assert all(event["thread"] > 0 and event["time_ns"] > 0 for event in events if event["kind"] == "point"), events


def operands_without_room_ask_for_what_was_short():
    """The budget where that was too small; where the address space of the program is limited, a larger budget would keep no more."""
    need_numpy()
    program = script("""
        import numpy as np
        a = np.ones((1400, 1400))
        a @ a
        """)
    limited = ["bash", "-c", 'ulimit -v 1000000; exec "$@"', "bash", *program]
    for command, budget, wanted in ((program, "1M", "a larger --budget keeps more"),
                                    (limited, "200M", "more memory for the program (ulimit -v) and the rings keeps more")):
        if command == limited and SANITIZED:
            continue  # the sanitizer's shadow needs terabytes of addresses
        done = ops_debug("record", "--budget", budget, "-o", tempfile.mkdtemp(prefix="record-"), "--", *command)
        lines = [line for line in done.stderr.splitlines() if "no room for the data" in line]
        assert done.returncode == 0 and len(lines) == 1 and lines[0].endswith(wanted), (wanted, done.stderr)


def summary_counts_a_call_with_layers_once():
    netlib = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3"
    if not os.path.exists(netlib):
        raise Skip("netlib libblas3 is not installed")
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(netlib))
    for capture in ("counts", "meta", "inputs"):
        done = ops_debug("record", "--json", "--capture", capture, "-o", tempfile.mkdtemp(prefix="record-"), "--", VICTIM + "_blas", "basic", "2", env=env)
        document = json.loads(done.stderr)
        assert [(line["name"], line["calls"]) for line in document["operators"]] == [("dgemm", 2)], (capture, document["operators"])
        assert (document["calls"], document["calls_nested"]) == (4, 2), (capture, document)
        done = ops_debug("record", "--capture", capture, "-o", tempfile.mkdtemp(prefix="record-"), "--", VICTIM + "_blas", "basic", "2", env=env)
        assert "ops-debug: 4 calls (2 nested in others) in 1 thread" in done.stderr, done.stderr


def summary_names_operators_and_what_was_seen_before():
    document = json.loads(ops_debug("record", "--json", "-o", tempfile.mkdtemp(prefix="record-"), "--", CHANGE, "store").stderr)
    calls = 12 + 12 + 16 + 20
    assert [(line["name"], line["calls"]) for line in document["operators"]] == [("sgemv", calls)], document["operators"]
    assert document["operators"][0]["bytes"] == document["bytes_seen"] and document["operators"][0]["ns"] > 0
    weights = 512 * 512 * 4
    # Each content is copied when it is new and when it is seen again; from the third call on it is known.
    vectors = document["bytes_known"] - (calls - 4 * 2) * weights
    assert 0 <= vectors < calls * 2 * 2048, document
    assert document["bytes_kept"] >= 4 * weights and document["bytes_tracked"] <= document["bytes_known"]
    done = ops_debug("record", "--per-failure", "1", "-o", tempfile.mkdtemp(prefix="record-"), "--", VICTIM, "two_failures", "20")
    assert "dgemm 20 calls" in done.stderr and "dscal 20 calls" in done.stderr, done.stderr
    assert "inf in dgemm: 20 seen, 1 written" in done.stderr and "inf in dscal: 20 seen, 1 written" in done.stderr, done.stderr


def clock_of_the_kernel_serves_where_the_counter_does_not():
    run = Run([VICTIM, "basic", "50"], env=dict(os.environ, OPSDEBUG_CLOCK="monotonic"))
    times = [int(call["ns"]) for call in run.runs[0].calls]
    assert len(times) == 50 and 0 < sum(times) < 10**9, times


def every_call_is_written_or_counted():
    """Threads that take the rings of ended ones, faster than they are drained, and children."""
    run = Run([os.path.join(TESTS, "soak_victim"), "400000"], ["capture=meta"])
    made = int(run.stdout.split()[0])
    assert int(run.report["calls"]) + int(run.report["dropped"]) == made > 400000, (run.report, made)
    told = sum(int(event["value"]) for bundle in run.runs for event in bundle.events if event["kind"] == "drop")
    assert told == int(run.report["dropped"]), (told, run.report)


CHANGE = os.path.join(TESTS, "change_victim")
KNOWN, TRACKED = 1 << 12, 1 << 13


def seen_inputs(bundle):
    return [[call["operands"][name]["before"] for name in ("A", "x")] for call in bundle.calls]


def in_order(bundles):
    return sorted(bundles, key=lambda bundle: (len(bundle.calls), seen_inputs(bundle)))


def no_way_of_changing_weights_goes_unnoticed():
    """Digests with write tracking are those without it, in whatever way one byte of the weights changes."""
    plain = same_as_alone([CHANGE], ["tracking=off", "trigger=none"])
    run = same_as_alone([CHANGE], ["trigger=none"])
    assert len(run.runs) == len(plain.runs) == 4, "the program and three children"
    assert run.report["dropped"] == plain.report["dropped"] == "0", (run.report, plain.report)
    tracked, seen = set(), {}
    for one, other in zip(in_order(run.runs), in_order(plain.runs)):
        digests, wanted = seen_inputs(one), seen_inputs(other)
        different = [at for at, pair in enumerate(zip(digests, wanted)) if pair[0] != pair[1]]
        assert not different and len(digests) == len(wanted) >= 12, (len(digests), len(wanted), different)
        assert not any(call["operands"]["A"]["flags"] & TRACKED for call in other.calls)
        for call, (weights, way) in zip(one.calls, digests):
            seen.setdefault(way, set()).add(weights)
            tracked |= {way} if call["operands"]["A"]["flags"] & TRACKED else set()
    assert len(seen) == 23 and all(len(contents) >= 2 for contents in seen.values()), seen
    if not tracked:
        raise Skip("the kernel here does not tell of writes: digests were compared without it")
    assert len(tracked) == len(seen) - 2, "all but a shared mapping and one of a file"


def memory_of_a_device_is_read_each_time_and_the_summary_says_why():
    """A library named as CUDA's is in the process: nothing is watched, by the summary and by the bundle, and what compression gained is told."""
    if SANITIZED:
        raise Skip("the sanitizer's runtime has to come before the library")
    folder = tempfile.mkdtemp(prefix="device-")
    library = os.path.join(folder, "libcuda.so.1")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", library, "-"], input="int none;\n", text=True, check=True)
    out = tempfile.mkdtemp(prefix="record-")
    env = dict(os.environ, LD_PRELOAD=" ".join(filter(None, [library, os.environ.get("LD_PRELOAD")])))
    done = ops_debug("record", "--trigger", "exit", "-o", out, "--", CHANGE, "store", env=env)
    said = " ".join(done.stderr.split())
    why = "0 B of them not read: io_uring, RDMA, a GPU, pinned memory or another userfaultfd is there"
    early = "0 B of them not read: the kernel does not tell of writes"  # nothing else was asked there
    assert done.returncode == 0 and (why in said or early in said), said
    assert re.search(r"bundles hold [0-9.]+ [KM]B of operands in [0-9.]+ [KM]?B", said), said
    asked = [os.path.join(out, name) for name in os.listdir(out) if not name.startswith("run-")][0]
    assert not any(call["operands"]["A"]["flags"] & TRACKED for call in Bundle(asked).calls)


def pinned_memory_is_not_watched():
    """A ring of io_uring that no descriptor and no mapping shows writes into its registered buffer past the page tables: no digest is old."""
    plain = same_as_alone([CHANGE, "pinned"], ["tracking=off", "trigger=none"])
    run = same_as_alone([CHANGE, "pinned"], ["trigger=none"])
    wanted = seen_inputs(plain.runs[0])
    assert seen_inputs(run.runs[0]) == wanted and len({weights for weights, _ in wanted}) == 4, wanted


def program_gets_a_userfaultfd_over_weights_that_were_watched():
    """It makes one late and registers the weights: it is refused nothing, no digest is old, and the summary says why watching ended."""
    plain = same_as_alone([CHANGE, "userfaultfd"], ["tracking=off", "trigger=none"])
    run = same_as_alone([CHANGE, "userfaultfd"], ["trigger=none"])
    wanted = seen_inputs(plain.runs[0])
    assert seen_inputs(run.runs[0]) == wanted and len({weights for weights, _ in wanted}) == 4, wanted
    done = ops_debug("record", "--json", "-o", tempfile.mkdtemp(prefix="record-"), "--", CHANGE, "userfaultfd")
    why = json.loads(done.stderr)["untracked"]
    if "userfaultfd is not to be had" in run.stdout or why.startswith("the kernel does not tell"):
        raise Skip("no userfaultfd, or no word of writes, is to be had here: digests were compared")
    assert run.stdout.count("userfaultfd has the weights") == 3, run.stdout
    tracked = [bool(call["operands"]["A"]["flags"] & TRACKED) for call in run.runs[0].calls]
    assert any(tracked[:12]) and not any(tracked[12:]) and why == "the program uses userfaultfd", (tracked, why)


def system_calls_of_the_program_return_as_they_would_alone():
    """By syscall(): seven arguments, errors, and children that come back on a new stack or on the parent's."""
    run = same_as_alone([os.path.join(TESTS, "syscall_victim")])
    assert run.status == 0 and len(run.runs[0].calls) == 1, run.stderr
    assert run.stdout == "mapped 1\nerror 1\nfork 7\nstack 8\nvfork 9\n", run.stdout


def known_content_has_the_statistics_it_was_seen_with():
    """A change is noticed wherever it lies, among the first bytes or at the end; what comes again is told as known, with its NaN counted."""
    need_numpy()
    run = Run(script("""
        import numpy as np
        a, x = np.ones((64, 64), np.float32), np.full((64, 4), np.nan, np.float32)
        for i in range(9):
            if i in (3, 6):
                a[{3: (-1, -1), 6: (0, 0)}[i]] = np.nan
            np.matmul(a, x)
        """), ["trigger=exit"])
    assert run.status == 0, run.stderr
    seen = [call["operands"]["A"] for call in run.failures[0].calls if call["what"].startswith("sgemm")]
    assert [one["nan"].split(",")[0] for one in seen] == list("000111222"), seen
    assert [bool(one["flags"] & KNOWN) for one in seen] == [False, False, True] * 3, seen  # the second sight is the one that is kept
    digests = [one["before"] for one in seen]
    assert [digests.index(one) for one in digests] == [0, 0, 0, 3, 3, 3, 6, 6, 6] and all(one["stored"][0] == "1" for one in seen), seen


def weights_survive_the_laps_of_what_changes():
    """Data of the inputs of a hundred calls, far more than the budget; the weights are still there, once."""
    program = script("""
        import numpy as np
        r = np.random.default_rng(1)
        weights = r.standard_normal((256, 256)).astype(np.float32)      # 256 KiB
        for i in range(400):
            x = r.standard_normal((256, 64)).astype(np.float32)         # 64 KiB each, new each time
            weights @ x
        """)
    need_numpy()
    run = Run(program, ["budget=4194304", "trigger=exit"])
    calls = run.failures[0].calls
    calls = [call for call in calls if call["what"].startswith("sgemm")]
    names = [name for name in ("A", "B") if len({call["operands"][name]["before"] for call in calls}) == 1]
    assert len(names) == 1, names
    kept = [call["operands"][names[0]] for call in calls]
    other = [call["operands"]["AB".replace(names[0], "")] for call in calls]
    assert all(operand["stored"].startswith("1") for operand in kept[2:]), [operand["stored"] for operand in kept]
    stored = [operand["stored"].startswith("1") for operand in other]
    assert stored[-1] and not stored[0] and sum(stored) < 64, sum(stored)
    assert all(operand["flags"] & KNOWN for operand in kept[3:]) and not any(operand["flags"] & KNOWN for operand in other)
    assert run.report["refused"] == "0", run.report


main(globals())
