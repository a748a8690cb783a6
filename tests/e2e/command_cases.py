# SPDX-License-Identifier: Apache-2.0
"""What `ops-debug record` takes, says and prints: command_cases.py BUILD CASE."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from record_harness import *  # noqa: E402,F403

OPS_DEBUG = os.path.join(BUILD, "ops-debug")


def ops_debug(*words, **options):
    if not os.path.exists(OPS_DEBUG):
        raise Skip("ops-debug is not built")
    return subprocess.run([OPS_DEBUG, *words], capture_output=True, text=True, timeout=120, **options)


def folder(prefix="record-"):
    return tempfile.mkdtemp(prefix=prefix)


def bundle_that_was_there_is_kept():
    out = os.path.join(folder(), "one.opsb")
    assert ops_debug("record", "-o", out, "--", VICTIM, "overflow", "1").returncode == 0
    with open(out, "rb") as file:
        first = file.read()
    done = ops_debug("record", "-o", out, "--", "/bin/true")
    assert done.returncode == 0 and "one.opsb.old" in done.stderr, done
    with open(out + ".old", "rb") as file:
        assert file.read() == first
    with open(out, "rb") as file:
        second = file.read()
    done = ops_debug("record", "-o", out, "--", "/no/such/program")  # nothing is recorded: nothing is moved
    assert done.returncode == 127, done
    with open(out, "rb") as file, open(out + ".old", "rb") as old:
        assert file.read() == second and old.read() == first
    assert sorted(os.listdir(os.path.dirname(out))) == ["one.opsb", "one.opsb.old"], os.listdir(os.path.dirname(out))
    directory = os.path.join(folder(), "a.opsb")
    os.mkdir(directory)
    done = ops_debug("record", "-o", directory, "--", "/bin/echo", "started")
    assert done.returncode == 125 and done.stdout == "" and "is a folder" in done.stderr, done


def unrecorded_child_beside_recorded_calls_is_named():
    """A BLAS in a process without the recorder is a gap; a process without a BLAS is none. Two looks tell, and how soon they come is the machine's affair: the
    processes live longer until they were seen."""
    for seconds in (1, 4, 16, 64):
        other = f"import ctypes, time; ctypes.CDLL('libopenblas.so.0'); time.sleep({seconds})"
        program = f'{VICTIM} basic 3; env -i /usr/bin/python3 -ISc "{other}" & env -i /bin/sleep {seconds}; wait'
        done = ops_debug("record", "--json", "-o", folder(), "--", "/bin/sh", "-c", program)
        document = json.loads(done.stderr)
        if "trouble" in document and "(python3)" in document["trouble"]:
            break
    assert document["calls"] == 3 and "(python3) ran without the recorder" in document["trouble"], document
    assert "openblas" in document["trouble"] and "sleep" not in document["trouble"], document


def json_of_record_is_one_document_apart_from_the_program():
    """On standard error, and in a file for a program that writes there too; standard output is the program's, byte for byte."""
    out = folder()
    report = os.path.join(out, "report.json")
    done = ops_debug("record", "--json", "-o", out, "--", VICTIM, "overflow", "2")
    assert done.stdout == alone([VICTIM, "overflow", "2"])[1], done.stdout
    document = json.loads(done.stderr)
    assert (document["calls"], document["failures"], document["status"]) == (2, 2, 0), document
    assert all(os.path.exists(path) for path in document["bundles"]) and len(document["bundles"]) == 2, document
    done = ops_debug("record", "--report", report, "-o", out, "--", "/bin/sh", "-c", f"echo noise >&2; {VICTIM} basic 3; exit 5")
    assert done.returncode == 5 and done.stderr.startswith("noise\n") and "3 calls in 1 thread of " in done.stderr, done
    with open(report) as file:
        document = json.load(file)
    assert (document["calls"], document["status"], document["bundles"]) == (3, 5, []), document


def report_that_cannot_be_written_is_known_before_the_program_starts():
    done = ops_debug("record", "--report", "/no/such/folder/x", "-o", folder(), "--", "/bin/echo", "started")
    assert (done.returncode, done.stdout) == (125, "") and done.stderr.count("\n") == 1, done
    assert "/no/such/folder/x" in done.stderr


def budget_out_of_range_is_a_usage_error_with_the_range():
    with open("/proc/meminfo") as info:
        kib = int(re.search(r"MemTotal:\s+(\d+) kB", info.read())[1])
    for budget in ("100T", "1K", "255K"):
        done = ops_debug("record", "--budget", budget, "-o", folder(), "--", "/bin/echo", "started")
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1, done
        assert f"--budget: '{budget}' is not from 256K to {kib // 1024}M, the memory of this machine" in done.stderr, done.stderr
    done = ops_debug("record", "--budget", "256K", "-o", folder(), "--", VICTIM, "basic", "3")
    assert done.returncode == 0 and "3 calls in 1 thread" in done.stderr, done


def settings_without_effect_are_named_at_the_start():
    given = ["--sample", "3", "--budget", "1M", "--overhead", "5", "--first", "2", "--no-write-tracking"]
    for level in ("counts", "meta"):
        done = ops_debug("record", "-o", folder(), "--capture", level, *given, "--", "true")
        for flag in (flag for flag in given if flag.startswith("--")):
            assert f"--capture {level} reads no operand, so {flag} has no effect" in done.stderr, (flag, done.stderr)
    assert "no effect" not in ops_debug("record", "-o", folder(), "--capture", "stats", *given, "--", "true").stderr
    done = ops_debug("record", "-o", folder(), "--range", "0:0", "--", "true")
    assert done.returncode == 2 and "1 <= A <= B" in done.stderr, done


def every_trigger_is_in_the_help():
    known = ops_debug("record", "--trigger", "?", "--", "true").stderr.split("known are ")[1].split(";")[0].split(", ")
    text = " ".join(ops_debug("record", "--help").stdout.split())
    assert len(known) == 9 and "none" in known, known
    for item in known:
        assert item.split("=")[0] in re.search(r"--trigger=LIST (.*?) --verify", text)[1], item


def a_call_that_did_not_end_has_no_time():
    """A replay that crashes, and the summary and counts of a call that never returned."""
    need_numpy()
    program = script("""
        import ctypes
        library, x = ctypes.CDLL("libblas.so.3"), (ctypes.c_double * 16)()
        library.cblas_dger(102, 3, 3, ctypes.c_double(1), x, -1073741825, x, 1, x, 3)
        """)
    out = folder()
    done = ops_debug("record", "-o", out, "--", *program)
    assert "dger 1 call\n" in done.stderr, done.stderr
    bundle = [name for name in os.listdir(out) if name.endswith("-crash.opsb")]
    assert len(bundle) == 1, os.listdir(out)
    done = ops_debug("replay", os.path.join(out, bundle[0]))
    assert done.returncode == 1 and "ran on  " in done.stdout and "(0 ns)" not in done.stdout, done


def a_diagnosis_looks_at_the_values_that_were_kept():
    """The element that a triangular solve divides by; zeros beside the diagonal are none."""
    need_numpy()
    for corner, told in (("1e-310", "A[1,1] of the diagonal is of size 1e-310 and dtrsm divides by it"),
                         ("0", "A[1,1] of the diagonal is 0 and dtrsm divides by it")):
        program = script(f"""
            import ctypes
            library, number = ctypes.CDLL("libblas.so.3"), ctypes.c_double
            a, b = (number * 4)(2, 0, 0, {corner}), (number * 2)(2, 5)
            library.cblas_dtrsm(102, 141, 122, 111, 131, 2, 1, number(1), a, 2, b, 2)
            """)
        out = folder()
        assert ops_debug("record", "-o", out, "--", *program).returncode == 0
        bundle = [name for name in os.listdir(out) if name.endswith(("-inf.opsb", "-nan.opsb"))]  # as the kernel multiplies by the inverse
        assert len(bundle) == 1, os.listdir(out)
        found = json.loads(ops_debug("diagnose", "--json", os.path.join(out, bundle[0])).stdout)
        assert told in json.dumps(found), found


def calls_that_are_not_read_are_told_at_the_start():
    """What triggers cannot see there. Arguments need no operand: what is illegal in a call that a sample passes by is a failure as ever."""
    for words, told in ((["--first", "2"], "--first 2 leaves later calls of a kind unread: the triggers nan and inf see nothing there"),
                        (["--sample", "3"], "--sample 3 leaves the calls between unread"),
                        (["--overhead", "5"], "--overhead 5 leaves calls beyond that share unread"),
                        (["--first", "2", "--trigger", "abs>1,exit"], "the triggers abs see nothing there")):
        assert told in ops_debug("record", *words, "-o", folder(), "--", "true").stderr.splitlines()[0], words
    for words in ([], ["--first", "2", "--trigger", "crash,contract"], ["--first", "2", "--capture", "meta"]):
        assert "unread" not in ops_debug("record", *words, "-o", folder(), "--", "true").stderr, words
    for option in ("first", "sample"):
        text = " ".join(ops_debug("record", "--help").stdout.split())
        assert "nan, inf and abs see nothing" in re.search(rf"--{option}=N (.*?) --", text)[1], option
    need_numpy()
    run = Run(script("""
        import ctypes
        library, x = ctypes.CDLL("libblas.so.3"), (ctypes.c_double * 16)()
        for lda in (4, 4, 3, 4):
            library.cblas_dgemv(101, 111, 4, 4, ctypes.c_double(1), x, lda, x, 1, ctypes.c_double(0), x, 1)
        """), ["sample=4"])
    assert [(bundle.failure["outcome"], bundle.failure["call"]) for bundle in run.failures] == [("contract", "3")], run.report


def settings_that_cannot_be_had_are_told_before_the_program_starts():
    under = ["bash", "-c", 'ulimit -f 1 && exec "$@"', "bash", OPS_DEBUG, "record", "-o", folder()]
    program = ["--", "/bin/sh", "-c", "echo started >&2"]
    lines = subprocess.run([*under, *program], capture_output=True, text=True, timeout=60).stderr.splitlines()
    assert re.match("ops-debug: nothing is recorded: the file size limit is 1024 bytes .*; the program runs without the recorder$", lines[0]), lines
    assert lines[1] == "started" and len(lines) == 3, lines
    for words in (["-q"], ["--json"]):
        said = subprocess.run([*under, *words, *program], capture_output=True, text=True, timeout=60).stderr
        assert said.startswith("started\n"), said


def several_bundles_are_shown_one_after_the_other():
    out = folder()
    paths = [os.path.join(out, name) for name in ("a.opsb", "b.opsb")]
    for i, path in enumerate(paths):
        ops_debug("record", "-o", path, "--trigger", "exit", "--", VICTIM, "basic", str(i + 2))
    alone_each = [ops_debug("show", path).stdout for path in paths]
    done = ops_debug("show", *paths)
    assert done.returncode == 0 and done.stdout == f"==> {paths[0]} <==\n{alone_each[0]}\n==> {paths[1]} <==\n{alone_each[1]}", done.stdout
    document = json.loads(ops_debug("show", "--json", *paths, out).stdout)["shown"]
    assert [len(part["calls"]) for part in document[:2]] == [2, 3] and len(document[2]["bundles"]) == 2, document
    assert document[0] == json.loads(ops_debug("show", "--json", paths[0]).stdout)
    done = ops_debug("show", paths[0], os.path.join(out, "none.opsb"), paths[1])
    assert done.returncode == 3 and "none.opsb" in done.stderr and done.stdout.count("bundle       ") == 2, done
    for command in ("replay", "diagnose", "reduce"):
        done = ops_debug(command, *paths)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "is one argument too many" in done.stderr, done


def triggers_that_a_level_cannot_fire_are_named_at_the_start():
    def first_line(*words):
        return ops_debug("record", *words, "-o", folder(), "--", VICTIM, "overflow", "1").stderr.splitlines()[0]

    assert "triggers nan and inf never fire" in first_line("--capture", "meta")
    assert "triggers inf never fire" in first_line("--capture", "meta", "--trigger", "inf,crash")
    for words in (("--capture", "meta", "--trigger", "crash,contract,timeout,exit,always"), ("--capture", "stats"), ()):
        assert "never fire" not in first_line(*words), words
    document = json.loads(ops_debug("record", "--json", "--capture", "meta", "-o", folder(), "--", VICTIM, "basic", "1").stderr)
    assert document["idle_triggers"] == "nan and inf", document
    for capture in ("meta", "stats"):
        run = Run([VICTIM, "basic", "3"], [f"capture={capture}", "trigger=always"])
        assert [bundle.failure["call"] for bundle in run.failures] == ["1", "2", "3"], (capture, run.report)


def glob_of_match_is_over_the_routine_and_its_operator():
    def calls(glob, program):
        return Run(program, [f"match={glob}", "capture=meta"]).report["calls"]

    for glob, wanted in (("dgemm", "3"), ("gemm", "3"), ("?gemm", "3"), ("cblas_dgemm", "0"), ("sgemm", "0")):
        assert calls(glob, [VICTIM, "basic", "3"]) == wanted, glob
    # cblas_dgemm64_, scipy_cblas_dgemm64_ and dgemm_64_
    assert calls("dgemm", [os.path.join(TESTS, "ilp64_victim"), "names"]) == "3"


def bundles_that_were_asked_for_are_no_failures():
    out = folder()
    for trigger, mode in (("exit", "basic"), ("always", "basic"), ("inf", "overflow")):
        done = ops_debug("record", "-q", "-o", out, "--trigger", trigger, "--", VICTIM, mode, "2")
        assert done.returncode == 0, done
    listed = json.loads(ops_debug("show", out, "--json").stdout)["bundles"]
    kinds = sorted(bundle["kind"] for bundle in listed)
    assert kinds == ["failure"] * 2 + ["requested"] * 3 + ["run"] * 3, kinds
    document = json.loads(ops_debug("group", out, "--json").stdout)
    assert [(group["count"], group["key"].split("|")[0]) for group in document["groups"]] == [(2, "inf")], document
    assert document["requested"] == 3, document
    text = ops_debug("group", out).stdout
    assert "3 bundles asked for (exit, always, a signal), no failure: left out" in text and "requested|" not in text, text
    for bundle in listed:
        reasons = [failure["reason"] for failure in bundle.get("failures", [])]
        assert all(not reason.rstrip().endswith(":") for reason in reasons), reasons
        if bundle["kind"] == "requested":
            assert ops_debug("replay", "-q", bundle["path"]).returncode == 0, bundle
    assert ops_debug("replay", "-q", out).returncode == 1, "the failures come back"


def collector_is_started_for_its_own_program_only():
    done = ops_debug("record", "--attach", "1", "-o", folder())
    assert (done.returncode, done.stdout) == (125, "") and "process 1 did not ask for a collector" in done.stderr, done
    done = ops_debug("record", "--attach", "999999999", "-o", folder())
    assert done.returncode == 125 and "there is no process 999999999" in done.stderr, done
    for text in (ops_debug("record", "--help").stdout, ops_debug("--man").stdout):
        assert "attach" not in text and "--report" in text.replace("\\-", "-"), text[-500:]


def verified(program, *options):
    """The report, and the bundles that were made."""
    out = folder()
    done = ops_debug("record", "--json", "-o", out, *options, "--", *program)
    assert done.returncode == 0 and done.stdout == alone(program)[1], done
    document = json.loads(done.stderr)
    return document, [Bundle(path) for path in document["bundles"]]


# A product whose last term is 0 most of the times, by a library that leaves the last term out.
WRONG_AT_TIMES = """
    import ctypes
    import numpy as np
    library = ctypes.CDLL({library!r})
    random = np.random.default_rng(1)
    ones, c = np.ones((8, 8)), np.zeros((8, 8))
    for wrong in {wrong!r}:
        a = random.standard_normal((8, 8))
        a[:, -1] *= wrong
        library.cblas_dgemm(101, 111, 111, 8, 8, 8, ctypes.c_double(1), ctypes.c_void_p(a.ctypes.data), 8,
                            ctypes.c_void_p(ones.ctypes.data), 8, ctypes.c_double(0), ctypes.c_void_p(c.ctypes.data), 8)
        print(c.sum() - a[:, :-1].sum() * 8 < 1e-10)
    """


def wrong_results_are_found_by_the_reference_beside_the_program():
    """With what went in, at whatever level; the replay of the bundle tells the same, and another library is right."""
    need_numpy()
    library = os.path.join(TESTS, "wrong_gemm.so")
    if not os.path.exists(library):
        raise Skip("wrong_gemm.so is not built")
    for level in ("meta", "inputs"):
        report, bundles = verified(script(WRONG_AT_TIMES.format(library=library, wrong=[0, 0, 1, 0])), "--capture", level, "--verify", "1", "--match", "*gemm")
        counts = report["verify"]
        assert (counts["verified"], counts["wrong"], counts["busy"], counts["lost"]) == (4, 1, 0, 0), (level, report)
        assert len(bundles) == 1 and bundles[0].head["kind"] == "failure", report
        failure, call = bundles[0].failure, bundles[0].calls[0]
        assert failure["outcome"] == "mismatch" and failure["operand"] == "C" and failure["call"] == call["number"] == "3", failure
        assert [call["operands"][name]["stored"][0] for name in "AB"] == ["1", "1"] and call["provider"] == library, call
        assert ops_debug("replay", bundles[0].path, "--library", library).returncode == 1
        again = ops_debug("replay", bundles[0].path, "--library", "naive", "--json")
        assert json.loads(again.stdout)["replays"][0]["observed"]["outcome"] == "ok", again


def wrong_results_of_one_kind_are_counted_and_few_are_written():
    need_numpy()
    library = os.path.join(TESTS, "wrong_gemm.so")
    if not os.path.exists(library):
        raise Skip("wrong_gemm.so is not built")
    report, bundles = verified(script(WRONG_AT_TIMES.format(library=library, wrong=[1] * 9)), "--verify", "1", "--match", "*gemm", "--per-failure", "2")
    assert report["verify"]["wrong"] == 9 and len(bundles) == 2 and report["suppressed"] == 7, report
    assert [(kind["outcome"], kind["routine"], kind["seen"], kind["written"]) for kind in report["failure_kinds"]] == [("mismatch", "dgemm", 9, 2)], report


def right_results_pass_the_reference():
    """Triangles, strides, results that are returned, operands in place and laid over each other, positions counted from 0."""
    need_numpy()
    report, bundles = verified(script("""
        import ctypes
        import numpy as np
        library, real = ctypes.CDLL("libblas.so.3"), ctypes.c_double
        random = np.random.default_rng(1)
        def at(array):
            return ctypes.c_void_p(array.ctypes.data)
        x, y = random.standard_normal(50), random.standard_normal(50)
        a, b, c = random.standard_normal((3, 7, 7))
        z, one = random.standard_normal(9) * (1 + 2j), np.zeros(1, complex)
        library.cblas_dscal(50, real(2), at(x), 1)
        library.cblas_daxpy(50, real(3), at(x), 1, at(y), 1)
        library.cblas_daxpy(50, real(3), at(x), 1, at(x), 1)
        library.cblas_drot(25, at(x), 2, at(y), -1, real(.6), real(.8))
        library.cblas_dgemm(101, 111, 112, 7, 7, 7, real(1.5), at(a), 7, at(b), 7, real(2), at(c), 7)
        library.cblas_dsyrk(101, 121, 111, 7, 7, real(1.5), at(a), 7, real(2), at(c), 7)
        library.cblas_dtrsm(101, 141, 121, 111, 131, 7, 7, real(1.5), at(a), 7, at(c), 7)
        library.cblas_dnrm2.restype = real
        print(library.cblas_dnrm2(50, at(y), 1), library.cblas_idamax(50, at(y), 1))
        library.cblas_zdotc_sub(9, at(z), 1, at(z), 1, at(one))
        print(x.sum(), y.sum(), c.sum(), one)
        """), "--capture", "meta", "--verify", "1", "--range", "2:100")
    counts = report["verify"]
    assert counts["verified"] == report["calls"] == 10 and counts["wrong"] == 0 and not bundles, report


def calls_to_verify_are_sampled_and_none_is_left_uncounted():
    need_numpy()
    report, _ = verified(script("""
        import numpy as np
        a = np.ones((12, 12))
        for i in range(1500): a @ a
        print(1)
        """), "--capture", "stats", "--verify", "10", "--match", "dgemm")
    counts = report["verify"]
    seen = sum(counts[key] for key in ("verified", "busy", "lost", "large", "unjudged"))
    assert counts["verified"] > 0 and counts["wrong"] == counts["large"] == counts["unjudged"] == 0, report
    assert 0.5 < seen / (report["calls"] / 10) < 2, report  # a hash chooses them
    assert ops_debug("record", "--capture", "counts", "--verify", "10", "--", "/bin/true").returncode == 2


def statistics_are_sampled_only_where_they_are_all_there_is():
    need_numpy()
    assert ops_debug("record", "--sample-stats", "--", "/bin/true").returncode == 2
    out = folder()
    done = ops_debug("record", "-o", out, "--capture", "stats", "--sample-stats", "--trigger", "exit", "--match", "dgemm", "--",
                     *script("import numpy as np; np.ones((90, 90)) @ np.ones((90, 90)).copy()"))
    bundle = os.path.join(out, next(name for name in os.listdir(out) if "requested" in name))
    shown = ops_debug("show", bundle, "--call", "1" if "dgemm" in ops_debug("show", bundle, "--call", "1").stdout else "2").stdout
    assert "statistics sampled" in shown and "no digest, sampled 2048: 1 .. 1, mean 1" in shown and "no digest, sampled 2048: 90 .. 90" in shown, shown
    calls = json.loads(ops_debug("show", bundle, "--json").stdout)["calls"]
    health = [operand["health_before"] for operand in calls[-1]["operands"] if operand["name"] == "A"]
    assert health[0]["sampled"] and health[0]["count"] == 2048, health
    assert done.returncode == 0, done


main(globals())
