# SPDX-License-Identifier: Apache-2.0
"""What the recorder sees of programs: recorder_cases.py BUILD CASE."""
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from record_harness import *  # noqa: E402,F403

SAMPLED = 1 << 14


def numpy_nan_is_caught():
    need_numpy()
    run = Run(script("""
        import numpy as np
        a = np.full((6, 6), 1e200); a[2, 3] = -1e200
        b = np.linspace(1, 2, 36).reshape(6, 6)
        for i in range(4): b @ b
        big = a @ a              # Inf
        nan = big @ np.array([[1.0, -1.0]] * 3 + [[-1.0, 1.0]] * 3)   # Inf - Inf, Inf in the input
        x = np.array([1e308, 1e308]); y = np.array([10.0, -10.0])
        print("done", x @ y)
        """))
    assert run.status == 0 and run.stdout.startswith("done")
    kinds = [bundle.failure["outcome"] for bundle in run.failures]
    assert "inf" in kinds, kinds
    first = run.failures[kinds.index("inf")]
    failing = [call for call in first.calls if call["number"] == first.failure["call"]][0]
    assert failing["what"].startswith("dgemm") and first.failure["operand"] == "C"
    for name in ("A", "B"):
        assert failing["operands"][name]["stored"].startswith("1"), failing
    c = failing["operands"]["C"]
    assert c["stored"].endswith(",1") and c["flags"] & MUST_NOT_READ, c
    assert "libblas" in failing["provider"] or "openblas" in failing["provider"], failing
    assert len(run.runs) == 1 and run.runs[0].head["kind"] == "run"
    assert not [call for call in run.runs[0].calls if has(call, "in_flight")]


def old_output_is_kept_where_a_failure_can_come_from_it():
    """numpy's matmul has beta = 0. What the output held is kept if a routine that reads it can bring a failure about."""
    need_numpy()
    program = script("""
        import numpy as np
        a = np.full((6, 6), 0.5)
        for old in 40.0, 60.0, 1e200, np.inf, np.nan:
            np.matmul(a, a, out=np.full((6, 6), old))
        """)
    for options, kept in ((["trigger=exit"], "00111"), (["trigger=exit,abs>100"], "01111"), (["trigger=exit", "capture=full"], "11111"), (["trigger=exit,always", "bundles=20", "per_failure=20"], "11111")):
        run = Run(program, options)
        assert run.status == 0 and run.failures, run.stderr
        old = [call["operands"]["C"] for call in run.failures[-1].calls if "C" in call["operands"]]
        assert "".join(c["stored"][0] for c in old) == kept, (options, old)
        assert all(c["flags"] & MUST_NOT_READ and not c["flags"] & UNREADABLE for c in old), old
        assert [c["nan"].split(",")[0] for c in old] == ["0"] * 4 + ["36"], old


def calls_inside_lapack_are_told_apart():
    need_numpy()
    run = Run(script("""
        import numpy as np
        a = np.random.default_rng(1).standard_normal((120, 120))
        b = a @ a
        s = np.linalg.svd(a, compute_uv=False)
        print(len(s))
        """))
    assert run.status == 0
    inner = [call for call in run.runs[0].calls if has(call, "from_library")]
    outer = [call for call in run.runs[0].calls if not has(call, "from_library")]
    assert len(inner) > 5 and all("blas" in call["caller"] or "lapack" in call["caller"] for call in inner), len(inner)
    assert any("numpy" in call["caller"] and call["what"].startswith("dgemm") for call in outer)


def layers_of_a_library_are_nested():
    netlib = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3"
    if not os.path.exists(netlib):
        raise Skip("netlib libblas3 is not installed")
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(netlib))
    run = same_as_alone([VICTIM + "_blas", "basic", "2"], env=env)
    outer = [call for call in run.runs[0].calls if not has(call, "nested")]
    inner = [call for call in run.runs[0].calls if has(call, "nested")]
    assert len(outer) == 2 and len(inner) == 2, run.report
    assert all(call["symbol"] == "cblas_dgemm" for call in outer) and all(call["symbol"] == "dgemm_" for call in inner)
    assert run.report["nested"] == "2"


def crash_names_the_call_in_flight():
    run = same_as_alone([VICTIM, "huge_stride"])
    assert run.status == 128 + signal.SIGSEGV and run.report["signal"] == "11"
    assert len(run.failures) == 1
    failure = run.failures[0].failure
    failing = run.failures[0].calls[-1]
    assert failure["outcome"] == "crash" and failure["signal"] == "11" and failure["call"] == "4", failure
    assert has(failing, "in_flight") and failing["what"].startswith("dger") and "overflows" in failure["reason"]
    assert failing["operands"]["x"]["flags"] & UNREADABLE, failing["operands"]["x"]
    assert failing["operands"]["A"]["stored"].startswith("1")
    assert int(failure["address"], 16) != 0 and failure["symbol"] != "", failure


def null_operand_crash_is_recorded():
    run = same_as_alone([VICTIM, "null_operand"])
    assert run.report["signal"] == "11" and run.failures[0].failure["call"] == "3"


def wild_operand_crashes_in_the_routine_with_the_others_kept():
    run = same_as_alone([VICTIM, "wild_operand"])
    failure = run.failures[0].failure
    failing = run.failures[0].calls[-1]
    assert run.report["signal"] == "11" and failure["outcome"] == "crash", failure
    assert 64 <= int(failure["address"], 16) < 64 + 128 and "gemm" in failure["symbol"], failure
    assert failing["operands"]["B"]["flags"] & UNREADABLE and failing["operands"]["A"]["stored"].startswith("1"), failing


def bad_arguments_are_a_contract_failure():
    run = same_as_alone([VICTIM, "bad_ld"])
    assert run.failures[0].failure["outcome"] == "contract", run.failures[0].failure
    assert "ldb = 3" in run.failures[0].failure["reason"]
    assert has(run.failures[0].calls[-1], "bad_args") and run.failures[0].calls[-1]["bad_arg"] == "11"


def quick_exit_and_signals_keep_every_call():
    run = same_as_alone([VICTIM, "quick_exit"])
    assert run.status == 5 and len(run.runs[0].calls) == 3 and not run.failures
    for number in (signal.SIGKILL, signal.SIGTERM):
        run = same_as_alone([VICTIM, "raise", str(int(number))])
        assert run.report["signal"] == str(int(number)) and len(run.runs[0].calls) == 3 and not run.failures
    run = same_as_alone([VICTIM, "raise", str(int(signal.SIGABRT))])
    assert run.failures[0].failure["outcome"] == "crash" and run.failures[0].failure["call"] == "0"


def forked_child_has_a_run_of_its_own():
    run = same_as_alone([VICTIM, "forks"])
    assert all("blas" in call["provider"] for bundle in run.runs for call in bundle.calls)
    assert sorted(len(bundle.calls) for bundle in run.runs) == [2, 4] and run.report["processes"] == "2"
    child = min(run.runs, key=lambda bundle: len(bundle.calls))
    assert [call["number"] for call in child.calls] == ["1", "2"], child.calls


def exec_begins_a_new_run():
    run = same_as_alone([VICTIM, "executes"])
    assert sorted(len(bundle.calls) for bundle in run.runs) == [2, 4], run.report


def threads_have_rings_of_their_own():
    run = same_as_alone([VICTIM, "threads", "20"])
    calls = run.runs[0].calls
    assert len(calls) == 32 * 20 and run.report["dropped"] == "0"
    by_thread = {}
    for call in calls:
        by_thread.setdefault(call["thread"], []).append(int(call["number"]))
    assert len(by_thread) == 32 and all(numbers == list(range(1, 21)) for numbers in by_thread.values())


def smallest_stacks_suffice():
    for capture in ("meta", "inputs", "full"):
        run = same_as_alone([os.path.join(TESTS, "ilp64_victim"), "stacks"], [f"capture={capture}"])
        assert "error 0" in run.stdout and run.report["calls"] == "40", (run.stdout, run.report)


def handler_of_the_program_stays():
    run = same_as_alone([VICTIM, "own_handler"])
    assert run.status == 6 and "survived" in run.stdout
    assert [has(call, "in_flight") for call in run.runs[0].calls] == [False, True, False, False]
    assert all(call["depth"] == "0" for call in run.runs[0].calls)
    ops_debug = os.path.join(BUILD, "ops-debug")
    if os.uname().machine != "x86_64" or not os.path.exists(ops_debug):
        return
    assert [(bundle.failure["outcome"], bundle.failure["call"], bundle.failure["address"]) for bundle in run.failures] == [("crash", "2", "0x0")], run.report
    said = subprocess.run([ops_debug, "record", "-o", tempfile.mkdtemp(prefix="record-"), "--", VICTIM, "own_handler"], capture_output=True, text=True)
    assert said.returncode == 6 and "1 call ended in a crash that the program survived: dgemm 1\n" in said.stderr, said
    shown = subprocess.run([ops_debug, "show", run.runs[0].path], capture_output=True, text=True).stdout
    assert re.search(r"^crash        SIGSEGV at address 0x0 in call 2, which the program survived \(thread \d+\)$", shown, re.M), shown


def input_is_kept_as_before_an_in_place_call():
    run = same_as_alone([VICTIM, "in_place"], ["trigger=exit"])
    x = run.failures[0].calls[0]["operands"]["x"]
    assert x["before"] != x["after"] and x["stored"].startswith("1") and run.failures[0].failure["outcome"] == "requested"


def characters_need_no_end():
    run = same_as_alone([VICTIM, "characters"])
    assert run.runs[0].calls[0]["what"].startswith("dgemm(N, T"), run.runs[0].calls[0]


def wheels_names_have_their_integer_width():
    run = same_as_alone([os.path.join(TESTS, "ilp64_victim"), "names"])
    symbols = [call["symbol"] for call in run.runs[0].calls]
    assert symbols == ["cblas_dgemm64_", "scipy_cblas_dgemm64_", "dgemm_64_"], symbols
    assert all(has(call, "ilp64") and "m=2, n=2, k=2" in call["what"] for call in run.runs[0].calls)


def long_call_is_a_timeout():
    run = same_as_alone([os.path.join(TESTS, "ilp64_victim"), "slow"], ["trigger=timeout=300ms"])
    assert len(run.failures) == 1 and run.failures[0].failure["outcome"] == "timeout"
    assert run.failures[0].failure["call"] == "2" and has(run.failures[0].calls[1], "in_flight")
    assert len(run.runs[0].calls) == 3 and not has(run.runs[0].calls[1], "in_flight")


def failures_are_capped_and_counted():
    run = same_as_alone([VICTIM, "overflow", "50"], ["bundles=3"])
    assert (run.report["bundles"], run.report["suppressed"]) == ("3", "47"), run.report
    assert [bundle.failure["call"] for bundle in run.failures] == ["1", "2", "3"]


def filters_leave_out_calls():
    run = same_as_alone([VICTIM, "basic", "10"], ["range=3:5"])
    assert [call["number"] for call in run.runs[0].calls] == ["3", "4", "5"] and run.report["dropped"] == "0"
    run = same_as_alone([VICTIM, "basic", "3"], ["match=*dot*"])
    assert run.report["calls"] == "0"
    run = same_as_alone([VICTIM, "basic", "6"], ["sample=3"])
    taken = [call["operands"]["A"]["before"] != "-" for call in run.runs[0].calls]
    assert taken == [False, False, True, False, False, True], taken
    notes = [event["name"] for event in run.runs[0].events if event["kind"] == "note"]
    assert len(notes) == 1 and "one call in 3" in notes[0], notes


def meta_reads_no_operand():
    run = same_as_alone([VICTIM, "basic", "3"], ["capture=meta"])
    assert all(operand["before"] == "-" for call in run.runs[0].calls for operand in call["operands"].values())
    run = same_as_alone([VICTIM, "bad_ld"], ["capture=meta"])
    assert run.failures[0].failure["outcome"] == "contract"


def overtaken_reader_counts_what_it_lost():
    run = same_as_alone([VICTIM, "basic", "200000"], ["capture=meta"])
    assert int(run.report["calls"]) + int(run.report["dropped"]) == 200000, run.report
    lost = sum(int(event["value"]) for event in run.runs[0].events if "value" in event)
    assert lost == int(run.report["dropped"]), (lost, run.report)


def nothing_seen_is_explained():
    run = same_as_alone([VICTIM, "by_handle", "libopenblas.so.0"], ["capture=meta", "audit=off"])
    assert run.report["calls"] == "0" and "by handle" in run.why, run.why
    run = same_as_alone([os.path.join(TESTS, "ilp64_victim"), "odd"])
    assert run.report["calls"] == "0" and "stub_blas" in run.why, run.why
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "libfoo.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-xc", "-"], input="void dgemm_foo7_(void) {}", text=True, check=True)
        run = same_as_alone([PYTHON, "-c", f"import ctypes; ctypes.CDLL({library!r})"])
        assert run.report["calls"] == "0" and "under a name the recorder does not know: dgemm_foo7_" in run.why, run.why
        for names, unknown in ((["cblas_ddot_myodd"], "cblas_ddot_myodd"), (["cblas_zdotc_sub_odd"], "cblas_zdotc_sub_odd"),
                               (["my_cblas_idamax64_x"], "my_cblas_idamax64_x"), (["dnrm2_odd_"], "dnrm2_odd_"), (["dsyr2k_odd"], "dsyr2k_odd"),
                               (["dcopy_to_user", "sswap_pages", "zscal", "ddot_product", "scanner_drot", "cblas_ddotter", "csyr_odd_",
                                 "cblas_dgemmer", "dgemm_batch_"], None)):
            library = os.path.join(folder, f"lib{names[0]}.so")
            source = "\n".join(f"void {name}(void) {{}}" for name in names)
            subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", "-o", library, "-xc", "-"], input=source, text=True, check=True)
            run = same_as_alone([PYTHON, "-c", f"import ctypes; ctypes.CDLL({library!r})"])
            told = f"under a name the recorder does not know: {unknown}" in run.why if unknown else run.why.startswith("no BLAS library was seen")
            assert run.report["calls"] == "0" and told, (names, run.why)
    run = same_as_alone(["/bin/true"])
    assert run.why.startswith("no BLAS library was seen; nor would be a program that started without LD_PRELOAD"), run.why
    if os.path.exists(VICTIM + "_static"):
        run = same_as_alone([VICTIM + "_static", "basic"])
        assert run.report["calls"] == "0" and "its own copy" in run.why, run.why


def lost_preload_is_noticed():
    run = Run(["/bin/sh", "-c", "env -i sleep 3; echo over"])
    assert run.status == 0 and run.stdout == "over\n"
    assert "(sleep) ran without the recorder" in run.why, run.why


def sanitized_program_is_recorded():
    victim = VICTIM + "_asan"
    if not os.path.exists(victim):
        raise Skip("this build has sanitizers everywhere")
    run = same_as_alone([victim, "basic"])
    assert run.report["calls"] == "3", (run.report, run.stderr)


def program_that_cannot_start_is_reported():
    for program, status in (("/no/such/program", 127), ("/etc/passwd", 126)):
        out = tempfile.mkdtemp(prefix="record-")
        done = subprocess.run([PROBE, "run", out, "--", program], capture_output=True, text=True)
        assert done.returncode == status and program in done.stderr, done
        assert os.listdir(out) == []




def numpy_floating_point_warnings_stay():
    need_numpy()
    program = script("""
        import warnings, numpy as np
        warnings.simplefilter("error")
        try:
            np.full((4, 4), 1e200) @ np.full((4, 4), 1e200)
            print("silent")
        except RuntimeWarning as warning:
            print(warning)
        a = np.full((4, 4), 1e-310)
        print((a @ np.eye(4))[0, 0])
        """)
    same_as_alone(program)
    same_as_alone(program, ["capture=full"])


def operator_of_the_program_is_recorded_through_the_c_api():
    run = Run([os.path.join(BUILD, "record_c_api")])
    assert (run.status, run.stdout) == alone([os.path.join(BUILD, "record_c_api")], cwd=tempfile.mkdtemp(prefix="record-"))
    assert run.report["calls"] == "5" and run.report["processes"] == "1", run.report
    assert [call["symbol"] for call in run.runs[0].calls] == ["Softmax"] * 5
    failure = run.failures[0].failure
    assert len(run.failures) == 1 and failure["outcome"] in ("nan", "inf") and failure["operand"] == "Y", failure
    failing = [call for call in run.failures[0].calls if call["number"] == failure["call"]][0]
    assert failing["operands"]["X"]["stored"] == "1,0" and failing["operands"]["Y"]["stored"][2] == "1", failing
    kinds = [event["kind"] for event in run.runs[0].events]
    assert kinds == ["range-push"] + ["mark"] * 5 + ["range-pop"], kinds


def program_with_the_c_api_starts_its_own_collector():
    if not os.path.exists(os.path.join(BUILD, "ops-debug")):
        raise Skip("ops-debug is not built")
    folder = tempfile.mkdtemp(prefix="record-")
    status, _ = alone([os.path.join(BUILD, "record_c_api")], cwd=folder)
    assert status == 0
    out = os.path.join(folder, "ops-debug-out")
    deadline = time.time() + 30
    while not [name for name in os.listdir(out) if name.startswith("run-") and name.endswith(".opsb")]:
        assert time.time() < deadline, os.listdir(out)
        time.sleep(0.05)
    bundles = [Bundle(os.path.join(out, name)) for name in sorted(os.listdir(out))]
    assert [bundle.head["kind"] for bundle in bundles] == ["failure", "run"] and len(bundles[1].calls) == 5


def every_routine_goes_through_the_recorder():
    """Each symbol of the installed OpenBLAS, called as C and gfortran call it: same results, each call recorded as it was made."""
    program, seen, first = os.path.join(TESTS, "every_routine"), [], 0

    def plain(text):  # f32 scalars read rounded
        return re.sub(r"-?\d+\.\d+(e[-+]\d+)?", lambda number: repr(struct.unpack("f", struct.pack("f", float(number[0])))), text)

    while True:  # as many at a time as a ring holds with their operands: the collector may be as late as it likes
        run = same_as_alone([program, str(first), str(first + 148)], ["capture=full", "trigger=nan,inf,contract,exit"])
        made = [(symbol, plain(what)) for symbol, what, *_ in (line.split("|") for line in run.stdout.splitlines())]
        if not made:
            break
        assert [bundle.failure["outcome"] for bundle in run.failures] == ["requested"], [bundle.failure for bundle in run.failures]
        found = [(call["symbol"], plain(call["what"])) for call in run.runs[0].calls]
        assert found == made, next(pair for pair in zip(found, made) if pair[0] != pair[1])
        assert run.report["nested"] == "0" and run.report["dropped"] == "0", run.report
        seen, first = seen + found, first + 148
    assert len(seen) > 800 and len({symbol for symbol, _ in seen}) >= 2 * 150, len(seen)


def a_call_of_every_routine_replays():
    ops_debug = os.path.join(BUILD, "ops-debug")
    if not os.path.exists(ops_debug) or SANITIZED:
        raise Skip("it needs ops-debug without sanitizers")
    for first in range(0, 444, 148):
        run = Run([os.path.join(TESTS, "every_routine"), str(first), str(first + 148)], ["capture=full", "trigger=exit"])
        calls = run.failures[0].calls
        done = subprocess.run([ops_debug, "replay", run.failures[0].path], capture_output=True, text=True, timeout=250)
        answers = [line for line in done.stdout.splitlines()[1:] if run.failures[0].path.endswith(line.split(" ")[0])]
        assert len(answers) == len(calls) == 148, (len(answers), len(calls))
        bitwise = [line for line in answers if line.endswith("same result, bitwise")]
        for line in answers:
            name = line.split()[2]
            # OpenBLAS 0.3.21 returns 0 for the norm over a negative increment; buffers are aligned otherwise in the worker.
            good = "same result" in line or "nothing wrong found" in line or ("nrm2" in name and "failure found" in line)
            assert good, line
        assert len(bitwise) > 120, len(bitwise)


def garbage_in_the_upper_half_is_an_abi_mismatch():
    """A caller that was compiled for 32-bit integers meets a 64-bit library: its arguments carry whatever was there before."""
    run = same_as_alone([os.path.join(TESTS, "ilp64_victim"), "garbage"])
    assert run.status == 128 + signal.SIGSEGV, run.status
    failing = run.failures[0].calls[-1]
    assert has(failing, "in_flight") and has(failing, "abi_suspect"), failing
    assert failing["symbol"] == "cblas_dgemm64_" and run.failures[0].failure["outcome"] == "crash"
    assert all(operand["stored"].startswith("0") for operand in failing["operands"].values()), failing["operands"]
    ops_debug = os.path.join(BUILD, "ops-debug")
    if os.path.exists(ops_debug):
        done = subprocess.run([ops_debug, "diagnose", run.failures[0].path], capture_output=True, text=True, timeout=60)
        assert "abi-mismatch" in done.stdout, done


def sizes_of_the_wrong_width_that_no_memory_holds_point_to_the_diagnosis():
    """k of a 64-bit interface whose upper half is garbage: A and B would have 2^48 elements."""
    ops_debug = os.path.join(BUILD, "ops-debug")
    if not os.path.exists(ops_debug):
        raise Skip("ops-debug is not built")
    library = os.path.join(TESTS, "libstub_blas.so")
    run = Run([PYTHON, "-c", f"""
import ctypes
library, x, wide = ctypes.CDLL({library!r}), (ctypes.c_double * 16)(), ctypes.c_int64
k = wide((0xffff << 32) | 2)
library.cblas_dgemm64_(101, 111, 111, wide(2), wide(2), k, ctypes.c_double(1), x, k, x, wide(2), ctypes.c_double(0), x, wide(2))
"""])
    assert [bundle.failure["outcome"] for bundle in run.failures] == ["crash"], run.report
    path = run.failures[0].path
    for words in (["replay"], ["reduce", "-o", os.path.join(tempfile.mkdtemp(prefix="record-"), "min.opsb")]):
        done = subprocess.run([ops_debug, *words, path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 3 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done
        assert "cannot map" in done.stderr and f"the width of its integers is suspect: ops-debug diagnose {path} says why" in done.stderr, done
    done = subprocess.run([ops_debug, "diagnose", path], capture_output=True, text=True, timeout=60)
    assert "abi-mismatch" in done.stdout and "says why" not in done.stderr, done


def wide_integers_under_a_plain_name_are_right_or_marked():
    """A program and a library with 64-bit integers, and a name that means 32-bit ones: small values are recorded as they are; where
    the half that is read makes no sense, the call is marked and the label names the widths, not the argument."""
    run = same_as_alone([os.path.join(TESTS, "ilp64_victim"), "plain"])
    assert run.status == 0 and [call["symbol"] for call in run.runs[0].calls] == ["dgemm_", "dgemm_"]
    small, wide = run.runs[0].calls
    assert "m=2, n=2, k=2" in small["what"] and not has(small, "abi_suspect") and not has(small, "bad_args"), small
    assert has(wide, "abi_suspect"), wide
    assert len(run.failures) == 1 and run.failures[0].failure["outcome"] == "contract", run.report
    ops_debug = os.path.join(BUILD, "ops-debug")
    if os.path.exists(ops_debug):
        done = subprocess.run([ops_debug, "diagnose", run.failures[0].path], capture_output=True, text=True, timeout=60)
        assert "abi-mismatch" in done.stdout, done.stdout


def api_object_in_front_of_the_preloaded_one_attaches_once():
    """Either order of the two objects: one attachment, one run, and the wrappers record as well."""
    if SANITIZED:
        raise Skip("the sanitizer's runtime must be preloaded before anything else")
    api = os.path.join(BUILD, "libopsdebug-record.so")
    program = os.path.join(BUILD, "record_c_api")
    for command in ([program], ["/bin/sh", "-c", f'LD_PRELOAD={api}:$LD_PRELOAD exec {program}'],
                    ["/bin/sh", "-c", f'LD_PRELOAD={api}:$LD_PRELOAD exec {VICTIM} basic 3']):
        run = Run(command)
        is_api = VICTIM not in command[-1]
        assert run.report["calls"] == ("5" if is_api else "3") and run.report["processes"] == "1", (command, run.report)
        assert len(run.runs) == 1 and len(run.runs[0].calls) == int(run.report["calls"]), (command, run.runs)


def children_without_a_blas_cost_next_to_nothing():
    """No process file, so no attachment, for a hundred of them; one that calls later is recorded, and so is a crash."""
    run = Run(["/bin/sh", "-c", "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done"])
    assert run.report["processes"] == "1" and run.why.startswith("no BLAS library was seen; nor would be a program that started without LD_PRELOAD"), (run.report, run.why)
    run = Run(["/bin/sh", "-c", "sh -c 'kill -SEGV $$'; echo over"])
    assert run.stdout == "over\n" and [bundle.failure["outcome"] for bundle in run.failures] == ["crash"], run.report
    run = Run(["/bin/sh", "-c", f"{VICTIM} by_handle libopenblas.so.0; {VICTIM} basic 2"], ["capture=meta", "audit=off"])
    assert run.report["calls"] == "2" and run.report["processes"] == "3", run.report


def library_that_ends_the_process_over_bad_arguments():
    netlib = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3"
    if not os.path.exists(netlib):
        raise Skip("netlib libblas3 is not installed")
    run = same_as_alone([VICTIM + "_blas", "bad_ld"], env=dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(netlib)))
    failing = run.failures[0].calls[-1]
    assert run.failures[0].failure["outcome"] == "contract" and "ldb = 3" in run.failures[0].failure["reason"]
    assert has(failing, "in_flight") and has(failing, "bad_args"), failing


def constructors_that_call_while_others_do_not_lock():
    if SANITIZED:
        raise Skip("the sanitizer's own start goes through the program's dlsym, which looks itself up by it")
    run = same_as_alone([os.path.join(TESTS, "plugin_victim"), os.path.join(TESTS, "libplugin_early.so")])
    callers = {os.path.basename(call["caller"]) for call in run.runs[0].calls}
    assert callers == {"plugin_victim", "libplugin_early.so"}, callers


def runtime_records_itself_and_survives_its_faulty_operator():
    program = [os.path.join(BUILD, "record_runtime")]
    run = Run(program, ["capture=stats"])
    lines = run.stdout.splitlines()
    assert run.status == 0 and len(lines) == 6 and "nan" not in run.stdout, run.stdout
    assert [line.endswith("by the reference") for line in lines] == [False] * 3 + [True] * 3, lines
    events = run.runs[0].events
    kinds = [event["kind"] for event in events]
    assert kinds.count("range-push") == kinds.count("range-pop") == kinds.count("recipe") == 6, kinds
    points = [event["name"] for event in events if event["kind"] == "point"]
    assert len(points) == 28 and any(" Inf, first at " in point for point in points), points  # 4 rows of 7 runs
    assert [event["value"] for event in events if event["kind"] == "seed"] == ["42"]
    asked = [bundle for bundle in run.failures if bundle.failure["outcome"] == "requested"]
    assert len(asked) == 1 and "the reference took over" in asked[0].failure["reason"], asked
    failed = [bundle for bundle in run.failures if bundle.failure["outcome"] in ("nan", "inf")]
    failing = [call for call in failed[0].calls if call["number"] == failed[0].failure["call"]][0]
    # At this level nothing but the recipe can be where a content is asked for.
    assert failing["operands"]["input"]["stored"].startswith("1"), failing


def magnitude_beyond_the_limit_freezes_a_bundle():
    need_numpy()
    program = script("""
        import numpy as np
        a = np.full((3, 3), 10.0)
        print((a @ a)[0, 0], (a @ -(a * 10))[0, 0])
        """)
    run = same_as_alone(program, ["trigger=abs>2999"])
    assert [(bundle.failure["outcome"], bundle.failure["operand"]) for bundle in run.failures] == [("magnitude", "C")]
    assert run.failures[0].failure["call"] == run.runs[0].calls[-1]["number"]
    reason = run.failures[0].failure["reason"]  # 10 times 3 products of 10 and -100
    assert reason.startswith("-3000 in C of dgemm(") and reason.endswith("beyond the limit of +-2999"), reason
    assert not same_as_alone(program, ["trigger=abs>3000"]).failures


def seeds_of_the_c_library_are_noted():
    need_numpy()
    run = same_as_alone(script("""
        import ctypes
        c = ctypes.CDLL(None)
        c.srand48(ctypes.c_long(-3)); c.srand(7); c.srandom(9); c.srand(8)
        c.seed48((ctypes.c_ushort * 3)(1, 2, 3))
        c.drand48.restype = ctypes.c_double
        import numpy as np
        print(c.drand48(), c.rand(), np.ones((2, 2)) @ np.ones((2, 2)))
        """), ["trigger=exit"])
    for bundle in run.runs + run.failures:
        seeds = {event["name"]: event["value"] for event in bundle.events if event["kind"] == "seed"}
        assert seeds == {"srand48": "-3", "srand": "8", "srandom": "9", "seed48": str(1 + (2 << 16) + (3 << 32))}, seeds


def a_process_that_only_seeds_leaves_nothing():
    """Not the program itself, which is always there, but what it starts."""
    need_numpy()
    seeds = f"{PYTHON} -c 'import ctypes; c = ctypes.CDLL(None); c.srand(5); c.srand48(7); print(1)'"
    run = same_as_alone(["/bin/sh", "-c", f"{seeds}; {seeds}; echo end"], ["trigger=exit"])
    assert [bundle.head["kind"] for bundle in run.runs] == ["run"] and run.report["processes"] == "1", run.report
    assert "sh" in run.runs[0].head["program"] and len(run.failures) == 1, run.failures
    assert not [event for bundle in run.runs + run.failures for event in bundle.events if event["kind"] == "seed"]


def seeds_before_the_first_call_are_told_with_it():
    """Of a process that is attached by its first call, by a generator's last seed."""
    need_numpy()
    run = same_as_alone(["/bin/sh", "-c", f"""{PYTHON} -c 'import ctypes
c = ctypes.CDLL(None); c.srand(5); c.srand(6); c.srand48(ctypes.c_long(7))
import numpy as np
print(np.ones((2, 2)) @ np.ones((2, 2)))'; echo end"""], ["trigger=exit"])
    python = [bundle for bundle in run.runs + run.failures if "python" in bundle.head["program"]]
    assert len(python) == 2, [bundle.head for bundle in run.runs + run.failures]
    for bundle in python:
        seeds = {event["name"]: event["value"] for event in bundle.events if event["kind"] == "seed"}
        assert seeds == {"srand": "6", "srand48": "7"}, (bundle.path, bundle.events)


def state_of_drand48_is_that_of_the_trigger():
    """Checked by the generator's rule: X' = 0x5deece66d X + 0xb modulo 2^48, seeded with seed, 0x330e."""
    need_numpy()
    run = same_as_alone(script("""
        import ctypes
        import numpy as np
        c = ctypes.CDLL(None)
        c.drand48.restype = ctypes.c_double
        c.srand48(ctypes.c_long(11))
        print([c.drand48() for i in range(3)])
        print(np.full((2, 2), 1e300) @ np.full((2, 2), 1e300))
        print(c.drand48())
        """))
    state = 11 << 16 | 0x330e
    for _ in range(3):
        state = (0x5deece66d * state + 0xb) % 2 ** 48
    found = states(run.failures[0])
    assert run.failures[0].failure["outcome"] == "inf" and list(found) == ["drand48"], found
    assert found["drand48"][:6] == state.to_bytes(6, "little"), (found, state)


def sampled_statistics_are_told_as_such():
    """What is no larger than a sample is read as ever; by default all is."""
    need_numpy()
    program = script("""
        import numpy as np
        big, small = np.full((300, 300), 1e200), np.ones((20, 20))
        small @ small.copy()
        (big @ (big * 2))[0, 0]
        """)
    run = same_as_alone(program, ["capture=stats", "sample_stats=on"])
    kinds = [bundle.failure["outcome"] for bundle in run.failures]
    assert kinds == ["inf"] and run.failures[0].failure["bad"] == "2048" and "a sample of C" in run.failures[0].failure["reason"], run.failures[0].failure
    operands = {call["what"].split("m=")[1].split(",")[0]: call["operands"] for call in run.failures[0].calls if "dgemm" in call["what"]}
    for name, operand in operands["300"].items():
        assert operand["flags"] & SAMPLED or name == "C", operands
        assert operand["before"] == operand["after"] == "-", operands
    assert operands["300"]["C"]["flags"] & SAMPLED
    assert all(operand["before"] != "-" and not operand["flags"] & SAMPLED for name, operand in operands["20"].items() if name != "C"), operands
    assert any("sampled: statistics" in event["name"] for bundle in (run.runs[0], run.failures[0]) for event in bundle.events if event["kind"] == "note")
    whole = Run(program, ["capture=stats"])
    assert whole.failures[0].failure["bad"] == "90000" and not any(
        operand["flags"] & SAMPLED for call in whole.runs[0].calls for operand in call["operands"].values())


main(globals())
