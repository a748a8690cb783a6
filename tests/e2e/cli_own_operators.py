#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of a user's own: examples/my_norm through every command, a project of `new` built and tried, and libraries that misbehave."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
NORM = BUILD / "examples" / "my_norm.so"
HOSTILE = BUILD / "tests" / "hostile_ops.so"
IS_SANITIZED = re.search(r"^OPD_SANITIZE:\w+=.+$", (BUILD / "CMakeCache.txt").read_text(), re.M) is not None
ENVIRONMENT = dict(os.environ, LC_ALL="C", NO_COLOR="1", PATH=f"{BUILD}:{os.environ['PATH']}", PKG_CONFIG_PATH=str(BUILD))


def call(*words, folder=None, **variables):
    return subprocess.run(["ops-debug", *map(str, words)], capture_output=True, text=True, timeout=800, cwd=folder,
                          env=dict(ENVIRONMENT, **variables))


def check(done, status, *parts):
    assert done.returncode == status, (done.args, done.returncode, done.stdout, done.stderr)
    for part in parts:
        assert part in done.stdout, (done.args, part, done.stdout)
    return done.stdout


def check_line(done, status, *parts):
    """Nothing on standard output, one line on standard error."""
    assert done.returncode == status and done.stdout == "", (done.args, done.returncode, done.stdout, done.stderr)
    line = [text for text in done.stderr.splitlines() if text != "the library greets"]
    assert len(line) == 1 and line[0].startswith("ops-debug"), (done.args, done.stderr)
    for part in parts:
        assert part in line[0], (done.args, part, line[0])


def own_operators_are_listed():
    listed = check(call("ops", "--library", NORM), 0)
    assert re.search(r"^my +RmsNorm +f32 +Y = X / sqrt", listed, re.M) and "StdNorm" in listed, listed
    check(call("ops", "--library", NORM, "StdNorm"), 0, "epsilon=1e-5", "variants    one-pass\n            two-pass\n            naive, allocates\n")
    assert "StdNorm" not in check(call("ops"), 0)


def variants_wrong_on_purpose_are_listed_when_asked_for():
    plain = check(call("ops", "Softmax"), 0, "naive")
    asked = check(call("ops", "Softmax", "-v"), 0, "naive", "wrong on purpose: ")
    assert "wrong on purpose" not in plain and len(asked.splitlines()) > len(plain.splitlines())
    assert {"one", "right"} <= set(re.findall(r"\w+", check(call("ops", "--library", BUILD / "tests/wrong_ops.so", "Twice", "-v"), 0)))


def the_wrong_one_is_found_and_travels(folder):
    check(call("run", "--library", NORM, "--op", "RmsNorm"), 0, "PASS")
    check(call("run", "--library", NORM, "--op", "StdNorm", "--variant", "two-pass"), 0, "PASS")
    check(call("run", "--library", NORM, "--op", "StdNorm", "--fill", "normal"), 0, "PASS")  # a mean of zero does not show it
    said = check(call("run", "--library", NORM, "--op", "StdNorm", "--save", "bad.opsb", folder=folder), 1, "FAIL", "wrong value in Y[")
    step = re.search(r"^next: (ops-debug reduce bad.opsb -o min.opsb --library \S+)$", said, re.M)
    assert step, said
    check(subprocess.run(step.group(1), shell=True, capture_output=True, text=True, timeout=800, cwd=folder, env=ENVIRONMENT), 0, "min.opsb")
    for bundle in ("bad.opsb", "min.opsb"):
        check(call("replay", bundle, "--library", NORM, folder=folder), 1, "failure reproduced", "one-pass")
        check(call("replay", bundle, "--library", NORM, "--variant", "two-pass", folder=folder), 0, "did not come back")
        check(call("show", bundle, folder=folder), 0, "StdNorm")
        check(call("export", bundle, "-o", bundle + ".json", "--format", "chrome", folder=folder), 0)
        assert "StdNorm" in (folder / (bundle + ".json")).read_text()
        check_line(call("replay", bundle, folder=folder), 3, "my", "StdNorm", "--library")
    small = json.loads(check(call("show", "--json", "min.opsb", folder=folder), 0))
    check(call("group", "bad.opsb", "min.opsb", folder=folder), 0, "StdNorm")
    check(call("diagnose", "bad.opsb", "--library", NORM, folder=folder), 1, "failure reproduced")
    assert small["failures"][0]["outcome"] == "mismatch", small


def validate_finds_it_too():
    check(call("validate", "--library", NORM, "--op", "StdNorm"), 1, "wrong", "kind         cancellation",
          "next: ops-debug run --op StdNorm --library")
    check(call("validate", "--library", NORM, "--op", "StdNorm", "--variant", "two-pass"), 0)
    check(call("validate", "--library", NORM, "--op", "RmsNorm"), 0)


def a_bare_name_is_a_file_here(folder):
    (folder / "norm.so").symlink_to(NORM)
    check(call("run", "--library", "norm.so", "--op", "RmsNorm", folder=folder), 0, "PASS")


def a_new_project_passes_as_it_is(folder):
    names = ["test", "my_operator"] if not IS_SANITIZED else []  # "test" is a target that CMake keeps for itself
    for name in names:
        made = check(call("new", name, folder=folder), 0, f"{name}/{name}.c", "next: cmake -S ")
        step = re.search(r"^next: (.*)$", made, re.M).group(1)
        done = subprocess.run(step + " -V", shell=True, capture_output=True, text=True, timeout=800, cwd=folder, env=ENVIRONMENT)
        check(done, 0, "100% tests passed")
        assert "warning" not in done.stdout + done.stderr, done.stdout + done.stderr
    check(call("new", "Softmax", "-o", "elsewhere", "--json", folder=folder), 0, '"folder": "elsewhere"')
    assert '.name = "Softmax"' in (folder / "elsewhere/Softmax.c").read_text() and "@" not in (folder / "elsewhere/CMakeLists.txt").read_text()
    assert os.access(folder / "elsewhere/test.sh", os.X_OK)


def new_refuses_names_and_folders(folder):
    for name in ("2x", "a-b", "a/b", "../x", "a b", "$(id)", "ä", "n" * 40):
        check_line(call("new", name, "-o", "refused", folder=folder), 2, "C identifier")
    (folder / "there").mkdir()
    (folder / "there/file").write_text("kept")
    check_line(call("new", "x", "-o", "there", folder=folder), 3, "there", "exists already")
    check_line(call("new", "x", "-o", "nowhere/x", folder=folder), 3, "nowhere/x: No such file")
    check_line(call("new", folder=folder), 2, "name the operator")
    assert (folder / "there/file").read_text() == "kept" and not (folder / "refused").exists()


def libraries_that_are_none_get_one_line(folder):
    (folder / "text.so").write_text("this is no ELF file\n" * 20)
    (folder / "short.so").write_bytes(NORM.read_bytes()[:3000])
    (folder / "folder.so").mkdir()
    plain = next(pathlib.Path("/usr/lib").glob("*-linux-gnu/libzstd.so.1"))
    for library, *parts in (("missing.so", "missing.so: No such file"), ("text.so", "text.so: "), ("short.so", "short.so crashes while it is loaded: SIGBUS"),
                            ("folder.so", "it is no file"), (plain, "exports no opsdebug_library()")):
        for words in (("run", "--op", "Keep"), ("ops",), ("validate", "--op", "Keep")):
            check_line(call(*words, "--library", library, folder=folder), 3, *parts)


def broken_libraries_are_named():
    for word, *parts in (
        ("abi", "ABI 77"), ("sizes", "other opsdebug headers"), ("nothing", "returned nothing"), ("empty", "no operators"),
        ("signature", "contract of Keep"), ("symbol", "contract of Keep", "m"), ("type", "contract of Keep", "f33"), ("attribute", "contract of Keep"),
        ("flops", "contract of Keep", "nobody"), ("no-signature", "Keep", "lacks its signature"), ("no-domain", "Keep", "lacks its domain"),
        ("bound", "contract of Keep", "bound"), ("taken", "an operator Relu in ai.onnx already"), ("twins", "two variants keeps"),
        ("naive", "the definition's"), ("unnamed", "variant 1 of Keep"), ("no-run", "variant 1 of Keep"), ("stranger", "Kept", "no operator"),
        ("level", "variant crashes of Keep", "determinism"), ("constructor", "crashes while it is loaded: SIGSEGV"),
        ("leaves", "ends the process while it is loaded, with status 0"), ("shape", "crashes in the contract of Keep: SIGABRT"),
    ):
        check_line(call("run", "--library", HOSTILE, "--op", "hostile.Keep", OPD_TEST_BREAK=word), 3, HOSTILE.name, *parts)
    # A crash on a shape that no trial met: in this process, and said by it.
    check_line(call("run", "--library", HOSTILE, "--op", "Keep", "--input-shapes", "[13]"), 3, HOSTILE.name, "crashes in the contract", "SIGABRT")


def wishes_that_cannot_be_get_one_line():
    for words, status, part in ((("--op", "Kep"), 2, "did you mean hostile.Keep"), (("--op", "Keep", "--dtype", "f64"), 3, "f64"),
                                (("--op", "Keep", "--input-shapes", "[4,-1]"), 2, "-1"), (("--op", "Keep", "--input-shapes", "[2];[3]"), 3, "1 input, not 2"),
                                (("--op", "Keep", "--attrs", "axes=1"), 2, "axes"), (("--op", "Keep", "--attrs", "mode=three"), 2, "three"),
                                (("--op", "Keep", "--variant", "kept"), 2, "it has keeps"),
                                (("--op", "Keep", "--input-shapes", "[9999999,9999999,9999999]"), 3, "")):
        check_line(call("run", "--library", HOSTILE, *words), status, part)


def hostile_variants_end_in_one_word():
    for variant, status, word, *parts in (
        ("keeps", 0, "PASS"), ("crashes", 1, "CRASH", "SIGSEGV"), ("recurses", 1, "CRASH", "SIGSEGV"), ("hangs", 1, "TIMEOUT", "no return after 1000 ms"),
        ("outside", 1, "OOB_WRITE", "past its end"), ("exits", 1, "CRASH", "ended itself with status 0 inside the routine"), ("closes", 0, "PASS"),
        ("talks", 0, "PASS"), ("rounds", 1, "FP_MODE", "round toward zero"), ("shortens", 1, "FP_MODE", "x87"), ("lingers", 0, "PASS"),
        ("late", 1, "UNWRITTEN"), ("afterwards", 1, "CRASH", "in a thread that it left behind"),
    ):
        if IS_SANITIZED and variant in ("recurses", "talks"):
            continue
        words = ("run", "--library", HOSTILE, "--op", "Keep", "--variant", variant, "--timeout", 1 if variant == "hangs" else 60)
        said = check(call(*words), status, *parts)
        assert re.search(rf"^{word}$", said, re.M), (variant, said)
        document = json.loads(call(*words, "--json").stdout)
        assert document["verdict"] == word, (variant, document["verdict"])
    check_line(call("run", "--library", HOSTILE, "--op", "Keep", "--variant", "refuses"), 3, "variant refuses of Keep gave up: ")
    if not IS_SANITIZED:
        check_line(call("run", "--library", HOSTILE, "--op", "Keep", "--variant", "devours"), 3, "variant devours of Keep gave up: no 107374182400 bytes")


def a_variant_that_dies_with_three_threads_only_is_found():
    done = call("validate", "--library", HOSTILE, "--op", "Keep", "--variant", "dies_in_company", "--json")
    threads = [probe for probe in json.loads(done.stdout)["probes"] if probe["kind"] == "thread counts"]
    assert done.returncode == 1 and len(threads) == 2, done.stdout
    assert all(probe["outcome"] == "crash" and "SIGABRT" in probe["reason"] for probe in threads), threads


def a_definition_that_crashes_is_told_from_a_variant():
    check(call("run", "--library", HOSTILE, "--op", "Keep", OPD_TEST_BREAK="definition"), 3, "SIGABRT in the definition of Keep", "NO_VERDICT")
    done = call("validate", "--library", HOSTILE, "--op", "Keep", "--variant", "keeps", OPD_TEST_BREAK="definition")
    check_line(done, 3, "SIGABRT in the definition of Keep")


def an_operator_without_definition_is_not_called_right():
    """Crashes, stray writes and conduct are told all the same."""
    undefined = {"OPD_TEST_BREAK": "undefined"}
    said = check(call("run", "--library", HOSTILE, "--op", "Keep", "--variant", "keeps", **undefined), 3, "UNJUDGED: it ran, and there is nothing to judge it by")
    assert "PASS" not in said, said
    assert json.loads(call("run", "--library", HOSTILE, "--op", "Keep", "--variant", "keeps", "--json", **undefined).stdout)["verdict"] == "UNJUDGED"
    check(call("validate", "--library", HOSTILE, "--op", "Keep", "--variant", "keeps", "--form", "[7]", **undefined), 3, "UNJUDGED: no fault in memory")
    check(call("run", "--library", HOSTILE, "--op", "Keep", "--variant", "outside", **undefined), 1, "OOB_WRITE")
    check_line(call("attribute", "--library", HOSTILE, "--op", "Keep", "--range", "[0,0,0]", "--variant", "keeps", **undefined), 3, "Keep has no definition")
    check_line(call("run", "--library", HOSTILE, "--op", "Keep", "--variant", "naive", **undefined), 2, "Keep has no variant naive")


def a_definition_that_never_returns_ends_at_the_time_limit(folder):
    keep = ("--library", HOSTILE, "--op", "Keep", "--variant", "keeps")
    for word, part in (("definition-hangs", "the definition of Keep does not return within 1000 ms"),
                       ("definition-sleeps", "the time limit was reached in the operator's definition"),
                       ("definition-strays", "SIGSEGV in the definition of Keep")):
        check(call("run", *keep, "--timeout", 1, OPD_TEST_BREAK=word), 3, "NO_VERDICT", part)
    check(call("run", "--library", HOSTILE, "--op", "Keep", "--variant", "outside", "--save", "out.opsb", folder=folder), 1, "OOB_WRITE")
    again = ("out.opsb", "--library", HOSTILE, "--variant", "keeps", "--timeout", 1)
    for words, status in ((("replay",), 3), (("diagnose",), None), (("reduce", "-o", "min.opsb"), None)):
        done = call(*words, *again, folder=folder, OPD_TEST_BREAK="definition-hangs")
        said = done.stdout + done.stderr
        assert status in (None, done.returncode) and done.returncode >= 0, (done.args, done.returncode, said)
        assert "the definition of Keep does not return within 1000 ms" in said, (done.args, said)
        assert said.count("does not return") == 1, (done.args, said)
        if words[0] == "reduce":
            check_line(done, 3, "out.opsb: no verdict: ")
    check_line(call("validate", *keep, "--timeout", 1, "-j", 1, OPD_TEST_BREAK="definition-hangs"), 3,
               "the definition of Keep does not return within 1000 ms of CPU time", "; the calls after it were not tried")
    form = call("validate", *keep, "--timeout", 1, "--form", "[7]", OPD_TEST_BREAK="definition-hangs")
    check_line(form, 3, "the definition of Keep does not return")
    assert "not tried" not in form.stderr, form.stderr
    said = check(call("run", *keep, "--timeout", 1, "--reference", "naive", OPD_TEST_BREAK="definition-hangs"), 3, "NO_VERDICT")
    assert "REFERENCE" not in said, said
    check_line(call("run", *keep, "--timeout", 1, OPD_TEST_BREAK="entry-hangs"), 3, "does not come to an end while it is loaded: 1 s")


def a_definition_that_leaves_its_arrays_is_told_from_a_variant(folder):
    """What is written past an array of the definition damages nothing of the variant's; X and Y have 7 elements."""
    keep = ("--library", HOSTILE, "--op", "Keep", "--variant", "keeps")
    check(call("run", "--library", HOSTILE, "--op", "Keep", "--variant", "outside", "--input-shapes", "[7]", "--save", "out.opsb", folder=folder), 1, "OOB_WRITE")
    again = ("out.opsb", "--library", HOSTILE, "--variant", "keeps")
    for word, part in (("writes-past", "the definition of Keep writes element 7 of Y, which has 7"), ("writes-far", "the definition of Keep writes element 8 of Y, which has 7"),
                       ("writes-before", "the definition of Keep writes before the start of Y"), ("reads-past", "the definition of Keep reads element 7 of X, which has 7"),
                       ("reads-before", "the definition of Keep reads before the start of an array: Y is made of it"),
                       ("gauge-past", "the definition of Keep writes element 7 of the gauge of Y, which has 7"),
                       ("writes-input", "the definition of Keep writes to operand X of the call: 4 bytes changed"),
                       ("writes-beside", "the definition of Keep writes beside operand Y of the call: 4 bytes changed")):
        broken = {"OPD_TEST_BREAK": "definition-" + word}
        done = call("run", *keep, "--input-shapes", "[7]", **broken)
        assert done.returncode == 3 and part in done.stdout + done.stderr, (word, done)
        check_line(call("validate", *keep, "--form", "[7]", **broken), 3, part)
        done = call("replay", "--guard", *again, folder=folder, **broken)
        assert done.returncode == 3 and "the definition of Keep " in done.stdout + done.stderr, (word, done)
        check_line(call("reduce", *again, "-o", "min.opsb", folder=folder, **broken), 3, "the definition of Keep ")
    assert not (folder / "min.opsb").exists()
    # At its start the array is at the page too: element -1 is met where it is read.
    done = call("replay", "--guard", *again, folder=folder, OPD_TEST_BREAK="definition-reads-before")
    assert "the definition of Keep reads" in done.stdout + done.stderr, done
    # As a variant it is what is looked at, and at fault.
    check(call("run", "--library", HOSTILE, "--op", "Keep", "--variant", "naive", "--input-shapes", "[7]", OPD_TEST_BREAK="definition-writes-past"), 1,
          "OOB_WRITE", "writes element 7 of Y")
    # What it does to the arrays' places and the rounding mode is put right.
    for word in ("breaks-arrays", "rounds"):
        check(call("run", *keep, OPD_TEST_BREAK="definition-" + word), 0, "PASS")


def public_functions_are_exported_and_nothing_else():
    wanted = set()
    for header in ("kernel", "op", "tensor", "status", "random"):
        text = (ROOT / f"include/opsdebug/{header}.h").read_text()
        wanted |= set(re.findall(r"^OPD_PUBLIC [^;(]*?\b(opd_\w+)(?:\(|;)", text, re.M))
    assert {"opd_fail", "opd_call_real", "opd_parallel", "opd_trace_emit", "opd_trace_enabled", "opd_tensor_count", "opd_element_load"} <= wanted, wanted

    def exported(path):
        listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        return {line.split()[-1] for line in listed.splitlines() if line.split()[-1].startswith("opd_")}

    for program in ("ops-debug", "opd-worker"):
        assert exported(BUILD / program) == wanted, (program, exported(BUILD / program) ^ wanted)
    for library in ("opsdebug-preload.so", "libopsdebug-record.so"):
        assert not exported(BUILD / library) & wanted, (library, exported(BUILD / library) & wanted)


for test in (public_functions_are_exported_and_nothing_else, own_operators_are_listed, variants_wrong_on_purpose_are_listed_when_asked_for,
             the_wrong_one_is_found_and_travels, validate_finds_it_too, a_bare_name_is_a_file_here, a_new_project_passes_as_it_is,
             new_refuses_names_and_folders, libraries_that_are_none_get_one_line, broken_libraries_are_named, wishes_that_cannot_be_get_one_line,
             hostile_variants_end_in_one_word, a_variant_that_dies_with_three_threads_only_is_found, a_definition_that_crashes_is_told_from_a_variant,
             an_operator_without_definition_is_not_called_right,
             a_definition_that_never_returns_ends_at_the_time_limit, a_definition_that_leaves_its_arrays_is_told_from_a_variant):
    if len(sys.argv) > 2 and sys.argv[2] not in test.__name__:
        continue
    if test.__code__.co_argcount:
        with tempfile.TemporaryDirectory(prefix="own-") as name:
            test(pathlib.Path(name))
    else:
        test()
    print(f"ok: {test.__name__}", flush=True)
