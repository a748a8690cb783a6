# SPDX-License-Identifier: Apache-2.0
"""What a bundle says of a crash: crash_cases.py BUILD CASE. The program ends as it would alone, every time."""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from record_harness import BUILD, PROBE, SANITIZED, TESTS, Bundle, Run, Skip, alone, has, main, same_as_alone

VICTIM = os.path.join(TESTS, "crash_victim")
WILD = VICTIM + "_wild"
ENV = dict(os.environ, OPENBLAS_NUM_THREADS="1")


def crashed(program, way, env=ENV, name="SIGSEGV"):
    """The bundle of the crash, once the program has ended as it would alone."""
    if os.uname().machine != "x86_64":
        raise Skip("stacks are kept on x86-64 only")
    if SANITIZED:
        raise Skip("the sanitizer's runtime has stacks of its own under everything")
    run = same_as_alone([program, way], env=env)
    assert len(run.failures) == 1, (run.report, run.trouble)
    bundle = run.failures[0]
    assert bundle.failure["outcome"] == "crash" and bundle.failure["reason"].find(name) >= 0, bundle.failure
    assert bundle.crash is not None and bundle.stacks[0]["state"] == "crashed", (bundle.crash, bundle.stacks)
    assert bundle.stacks[0]["thread"] == bundle.crash["thread"]
    return bundle


def names(stack):
    return [re.sub(r"\+0x[0-9a-f]+( \(guessed\))?$", "", frame["name"]) for frame in stack["frames"]]


def failing(bundle):
    calls = [call for call in bundle.calls if call["number"] == bundle.failure["call"] and call["thread"] == bundle.failure["thread"]]
    assert len(calls) == 1 and has(calls[0], "in_flight"), (bundle.failure, calls)
    return calls[0]


def build_id(path):
    text = subprocess.run(["readelf", "-n", os.path.realpath(path)], capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", text).group(1)


def write_past_a_vector_names_operand_and_distance():
    bundle = crashed(WILD, "past")
    assert failing(bundle)["symbol"] == "dscal_"
    crash = bundle.crash
    assert (crash["place"], crash["operand"], crash["distance"]) == ("3", "x", "0"), crash
    assert "past the end of x" in bundle.failure["reason"], bundle.failure
    assert crash["access"] == "write" and int(crash["address"], 16) % 4096 == 0 and crash["stack_limit"] == str(resource.getrlimit(resource.RLIMIT_STACK)[0] % 2**64)
    stack = [name for name, frame in zip(names(bundle.stacks[0]), bundle.stacks[0]["frames"]) if "preload" not in frame["module"]]
    assert stack[:2] == ["dscal_", "past"] and "main" in stack, stack
    assert bundle.stacks[0]["call"] == bundle.failure["call"]
    registers = bundle.stacks[0]
    assert int(registers["rip"], 16) == int(bundle.stacks[0]["frames"][0]["address"], 16)
    frames = [frame for frame in bundle.stacks[0]["frames"] if "preload" not in frame["module"]]
    assert frames[0]["build"] == build_id(os.path.join(TESTS, "libwild_blas.so")) and frames[1]["build"] == build_id(WILD), frames


def every_thread_has_its_stack():
    bundle = crashed(WILD, "past")
    others = [stack for stack in bundle.stacks[1:] if "wait_here" in names(stack)]
    assert len(others) == 2 and bundle.crash["threads"] == "3", [names(stack) for stack in bundle.stacks]
    for stack in others:
        assert stack["state"] in ("answered", "waiting") and stack["name"] == "crash_victim_wi", stack


def worker_of_the_library_is_put_to_the_call():
    bundle = crashed(WILD, "worker")
    assert failing(bundle)["symbol"] == "dgemm_" and bundle.failure["thread"] != bundle.crash["thread"], bundle.failure
    assert (bundle.crash["place"], bundle.crash["operand"], bundle.crash["distance"]) == ("2", "A", "16"), bundle.crash
    assert names(bundle.stacks[0])[0] == "wild_worker", names(bundle.stacks[0])
    assert "which worked for the call" in bundle.failure["reason"], bundle.failure
    caller = [stack for stack in bundle.stacks if stack["thread"] == bundle.failure["thread"]]
    assert len(caller) == 1 and caller[0]["call"] == bundle.failure["call"] and "dgemm_" in names(caller[0]), caller


def threads_of_openblas_and_openmp_are_put_to_the_call():
    """Whichever thread meets the page that is shut: the call is the same, and so is the element."""
    blis = "/usr/lib/x86_64-linux-gnu/blis-openmp"
    environments = [dict(os.environ, OPENBLAS_NUM_THREADS="2")]
    if os.path.exists(blis + "/libblas.so.3"):
        environments.append(dict(os.environ, BLIS_NUM_THREADS="2", LD_PRELOAD=blis + "/libblis.so.4"))
    for env in environments:
        bundle = crashed(VICTIM, "big", env)
        assert failing(bundle)["symbol"] == "dgemm_", bundle.failure
        row, column = map(int, bundle.crash["index"].split(","))
        assert bundle.crash["operand"] == "C" and column in (100, 101) and 0 <= row < 256, bundle.crash
        assert any(re.search("blas|blis", frame["module"]) for frame in bundle.stacks[0]["frames"][:3]), bundle.stacks[0]
        # Both may meet it at once: the caller then waits in its own handler, above an assembly frame that nothing unwinds.
        callers = [stack for stack in map(names, bundle.stacks) if {"main", "big", "on_fatal"} & set(stack)]
        assert callers, [names(stack) for stack in bundle.stacks]


def full_stack_is_told():
    for way in ("overflow", "deep"):
        bundle = crashed(VICTIM, way)
        assert bundle.crash["overflow"] == "1" and "stack of the thread is full" in bundle.failure["reason"], (way, bundle.crash)
        assert names(bundle.stacks[0])[0] == "crash_at_depth" and bundle.stacks[0]["cut"] == "1", (way, names(bundle.stacks[0]))


def lock_of_malloc_is_no_obstacle():
    bundle = crashed(VICTIM, "heap", dict(ENV, MALLOC_ARENA_MAX="1", LIBC_FATAL_STDERR_="1"), "SIGABRT")
    stack = names(bundle.stacks[0])
    assert "abort" in stack and "heap" in stack, stack


def thread_that_does_not_answer_is_told():
    bundle = crashed(VICTIM, "deaf")
    assert bundle.crash["silent"] == "1", bundle.crash
    deaf = [stack for stack in bundle.stacks if stack["state"] == "waiting"]
    assert len(deaf) == 1 and deaf[0]["rip"] != "0x0" and deaf[0]["rax"] == "0x0", deaf


def two_crashes_at_once_give_one_whole_bundle():
    bundle = crashed(VICTIM, "two")
    assert names(bundle.stacks[0])[0] in ("fall", "fall_thread", "two"), names(bundle.stacks[0])
    assert len(bundle.stacks) == 4 and bundle.crash["access"] == "write", bundle.stacks


def call_of_nothing_has_its_caller():
    bundle = crashed(VICTIM, "nowhere")
    assert bundle.crash["address"] == "0x0" and names(bundle.stacks[0])[:2] == ["nowhere", "main"], names(bundle.stacks[0])
    assert bundle.stacks[0]["frames"][0]["name"].endswith("(guessed)"), bundle.stacks[0]["frames"]


def crash_after_the_collector_was_killed_is_salvaged_whole():
    if os.uname().machine != "x86_64" or SANITIZED:
        raise Skip("stacks are kept on x86-64 only, and not under the sanitizer's")
    with tempfile.TemporaryDirectory() as out:
        recorder = subprocess.Popen([PROBE, "run", out, "--", VICTIM, "later"], env=ENV, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
        assert recorder.stdout.readline() == "called\n"
        recorder.kill()
        recorder.wait()
        recorder.communicate("go on\n")  # until the program has ended as well
        subprocess.run([PROBE, "recover", out], check=True, capture_output=True)
        bundles = [Bundle(os.path.join(out, name)) for name in os.listdir(out) if "crash" in name]
    assert len(bundles) == 1 and names(bundles[0].stacks[0])[0] == "fall" and len(bundles[0].stacks) == 3, bundles


def show_and_export_have_the_stacks():
    bundle = crashed(WILD, "past")
    tool = os.path.join(BUILD, "ops-debug")
    short = subprocess.run([tool, "show", bundle.path], capture_output=True, text=True, check=True).stdout
    whole = subprocess.run([tool, "show", "-v", bundle.path], capture_output=True, text=True, check=True).stdout
    document = json.loads(subprocess.run([tool, "show", "--json", bundle.path], capture_output=True, text=True, check=True).stdout)
    assert re.search(r"frame 0 +0x[0-9a-f]+ dscal_\+0x[0-9a-f]+ of libwild_blas.so", short) and "wait_here" not in short, short
    assert whole.count("wait_here") == 2 and "rip=" in whole and "limits " in whole and "build-id" in whole, whole
    assert document["crash"]["operand"] == "x" and document["crash"]["place"] == "after", document["crash"]
    assert [stack["state"] for stack in document["stacks"]].count("crashed") == 1 and len(document["stacks"]) == 3
    trace = os.path.join(tempfile.mkdtemp(), "trace.json")
    subprocess.run([tool, "export", bundle.path, "-o", trace, "--format", "chrome"], check=True, capture_output=True)
    with open(trace, encoding="utf-8") as file:
        drawn = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "stack"]
    assert len(drawn) == 3 and any("dscal_" in str(event["args"]) and "past" in str(event["args"]) for event in drawn), drawn
    assert document["stacks"][0]["registers"]["rip"] == document["stacks"][0]["frames"][0]["address"]


def core_is_dumped_as_before():
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        if file.read().strip() not in ("core", "core.%p"):
            raise Skip("cores do not go to the working directory here")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        raise Skip("the hard limit forbids cores")
    command = ["/bin/sh", "-c", f"ulimit -c unlimited; exec {VICTIM} deaf"]
    found = []
    for run in (lambda folder: alone(command, ENV, folder), lambda folder: Run(command, env=ENV, cwd=folder)):
        with tempfile.TemporaryDirectory() as folder:
            run(folder)
            found.append(any(name.startswith("core") for name in os.listdir(folder)))
    assert found[0] == found[1], found


def call_that_had_not_returned_is_told_with_how_the_process_ended():
    """The program is ended from outside, or the recorder is asked to end: the summary names the call, the run holds it. What ends in order in no time has none."""
    tool = os.path.join(BUILD, "ops-debug")
    if not os.path.exists(tool):
        raise Skip("ops-debug is not built")
    for whom, number in (("program", signal.SIGKILL), ("recorder", signal.SIGTERM)):
        for words in ([], ["--json"]):
            out = tempfile.mkdtemp(prefix="record-")
            recorder = subprocess.Popen([tool, "record", *words, "-o", out, "--", WILD, "stay"], env=ENV, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
            assert recorder.stdout.readline() == "begun\n"
            pid = int(subprocess.run(["pgrep", "-P", str(recorder.pid)], capture_output=True, text=True).stdout.split()[0])
            os.kill(pid if whom == "program" else recorder.pid, number)
            said = recorder.communicate()[1]
            assert recorder.returncode == -number, (whom, said)
            run = Bundle(os.path.join(out, f"run-{pid}.opsb"))
            assert [(call["symbol"], has(call, "in_flight")) for call in run.calls] == [("ddot_", False), ("dasum_", True)], run.calls
            if words:
                flight, = json.loads(said)["in_flight"]
                assert (flight["pid"], flight["call"], flight["what"], flight["signal"]) == (pid, 2, "dasum(n=2)", number), flight
                assert flight["ns"] > 0 and not flight["has_bundle"], flight
            else:
                name = signal.Signals(number).name
                assert re.search(rf"in flight for \S+ \S+ when process {pid} ended by {name}: dasum\(n=2\), call 2 of thread {pid}$", said, re.M), said
    document = json.loads(subprocess.run([tool, "record", "--json", "-o", tempfile.mkdtemp(), "--", VICTIM, "none"], env=ENV,
                                         capture_output=True, text=True).stderr)
    assert document["in_flight"] == [], document


def hang_that_has_its_bundle_is_told_without_advice():
    """A call beyond the timeout, ended from outside once its bundle is there."""
    tool = os.path.join(BUILD, "ops-debug")
    if not os.path.exists(tool):
        raise Skip("ops-debug is not built")
    out = tempfile.mkdtemp(prefix="record-")
    recorder = subprocess.Popen([tool, "record", "--trigger", "timeout=1s", "-o", out, "--", WILD, "stay"], env=ENV, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    assert recorder.stdout.readline() == "begun\n"
    deadline = time.time() + 60
    while not [name for name in os.listdir(out) if name.endswith("-timeout.opsb")] and time.time() < deadline:
        time.sleep(0.05)
    recorder.terminate()
    said = recorder.communicate()[1]
    assert "dasum(n=2), call 2 of thread" in said and "shorter timeout" not in said and "next: ops-debug replay" in said, said


def crash_outside_any_call_is_shown_not_replayed():
    if SANITIZED:
        raise Skip("the sanitizer's runtime has stacks of its own under everything")
    tool = os.path.join(BUILD, "ops-debug")
    out = tempfile.mkdtemp(prefix="record-")
    said = subprocess.run([tool, "record", "-o", out, "--", VICTIM, "nowhere"], env=ENV, capture_output=True, text=True).stderr
    path, = [os.path.join(out, name) for name in os.listdir(out) if name.endswith("-crash.opsb")]
    assert said.endswith(f"next: ops-debug show {path}\n"), said
    shown = subprocess.run([tool, "show", path], capture_output=True, text=True)
    assert shown.returncode == 0 and "nowhere" in shown.stdout and "next:" not in shown.stdout, shown
    for command in ("replay", "diagnose"):
        assert "is of no recorded call" in subprocess.run([tool, command, path], capture_output=True, text=True).stderr, command


main(globals())
