# SPDX-License-Identifier: Apache-2.0
"""Calls that are counted rather than recorded: count_cases.py BUILD CASE."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from record_harness import *  # noqa: E402,F403


def counted(bundle):
    """Calls by thread and kind, scalars left out: those of a bundle of capture level counts, or of one with a record of each."""
    calls, kinds = {}, {}
    for call in bundle.calls:
        what = re.sub(r", (alpha|beta|c|s)=[^,)]*", "", call["what"])
        calls[call["thread"], call["number"]] = (call["thread"], call["symbol"], what, call["flags"] & ~0x10)
    for number, kind in calls.items():
        kinds[kind] = kinds.get(kind, 0) + (0 if bundle.counts else 1)
    for count in bundle.counts:
        kinds[calls[str(count["thread"]), str(count["number"])]] += count["calls"]
    return kinds


def unnumbered(kinds):
    """Threads by their order: two runs give them other numbers."""
    threads = sorted({int(kind[0]) for kind in kinds})
    return {(threads.index(int(kind[0])), *kind[1:]): count for kind, count in kinds.items()}


def counts_are_those_of_every_call():
    """Held against a run with a record of each call: threads, kinds, nesting, calls inside LAPACK."""
    need_numpy()
    program = script("""
        import threading
        import numpy as np
        a, b = np.ones((8, 8)), np.ones((6, 6), np.float32)
        def work(times):
            for i in range(times): a @ a
            for i in range(2 * times): b @ b.T; b @ b
            np.linalg.svd(np.arange(63.0).reshape(9, 7))
        for times in (5, 7):
            thread = threading.Thread(target=work, args=(times,)); thread.start(); thread.join()
        work(11)
        """)
    meta, counts = (same_as_alone(program, [f"capture={level}"]) for level in ("meta", "counts"))
    want, got = unnumbered(counted(meta.runs[0])), unnumbered(counted(counts.runs[0]))
    assert got == want and len(got) > 100, {kind: (want.get(kind), got.get(kind)) for kind in {*want, *got} if want.get(kind) != got.get(kind)}
    main_dgemm = [count for (thread, symbol, what, _), count in got.items() if thread == 0 and "dgemm" in symbol and "m=8, n=8, k=8" in what]
    assert main_dgemm == [11], main_dgemm
    for key in ("calls", "nested", "threads"):
        assert counts.report[key] == meta.report[key], (key, counts.report, meta.report)
    assert int(counts.report["kinds"]) == len(counts.runs[0].counts) and counts.report["dropped"] == "0", counts.report
    assert all(count["ns"] > 0 and count["rest"] == 0 for count in counts.runs[0].counts if count["calls"] > 4)


def kinds_beyond_those_told_apart_are_counted_by_operator():
    need_numpy()
    run = same_as_alone(script("""
        import numpy as np
        x, y = np.ones(4000), np.ones(4000, np.float32)
        print(sum(x[:n] @ x[:n] for n in range(3, 3003)), sum(y[:n] @ y[:n] for n in range(3, 2004)))
        """), ["capture=counts"])
    what = {(call["thread"], call["number"]): call["what"] for call in run.runs[0].calls}
    calls, rest = {}, []
    for count in run.runs[0].counts:
        kind = what[str(count["thread"]), str(count["number"])]
        name = kind.split("(")[0] if "n=2)" not in kind else "those of importing numpy"
        calls[name] = calls.get(name, 0) + count["calls"]
        rest += [name] if count["rest"] else []
    assert {name: calls[name] for name in ("ddot", "sdot")} == {"ddot": 3000, "sdot": 2001} and sorted(rest) == ["ddot", "sdot"], (calls, rest)
    assert sum(calls.values()) == int(run.report["calls"]) and run.report["dropped"] == "0", (calls, run.report)


def counts_outlive_the_program_and_its_children():
    """A child of a fork counts for itself; SIGKILL takes nothing."""
    need_numpy()
    run = Run(script("""
        import os, signal
        import numpy as np
        a = np.ones((5, 5))
        for i in range(10): a @ a
        if os.fork() == 0:
            for i in range(30): a @ a
            os._exit(0)
        os.wait()
        for i in range(3): a @ a
        os.kill(os.getpid(), signal.SIGKILL)
        """), ["capture=counts", "trigger=none"])
    assert run.report["signal"] == "9", run.report
    found = sorted(max(count["calls"] for count in bundle.counts) for bundle in run.runs)
    assert found == [13, 30], [bundle.counts for bundle in run.runs]


def broken_contracts_are_found_while_counting():
    run = Run([VICTIM, "bad_ld"], ["capture=counts"])
    kinds = [bundle.failure["outcome"] for bundle in run.failures]
    assert kinds == [bundle.failure["outcome"] for bundle in Run([VICTIM, "bad_ld"], ["capture=meta"]).failures] and kinds, kinds


main(globals())
