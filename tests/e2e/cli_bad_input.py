#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command on every kind of bad input: exit status 3, one line on standard error that names the file, nothing written."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

COMMANDS = {
    "show": ["show", "{}"],
    "replay": ["replay", "{}"],
    "reduce": ["reduce", "{}", "-o", "out.opsb"],
    "group": ["group", "{}"],
    "diagnose": ["diagnose", "{}"],
    "export": ["export", "{}", "-o", "out.pftrace"],
    "diff": ["diff", "nan.opsb", "{}"],
    "salvage": ["salvage", "{}", "-o", "out.opsb"],
    "pack": ["pack", "{}", "-o", "out.opsb"],
}
FORMATS = ("perfetto", "chrome", "csv")
TAKES_FOLDERS = {"show", "replay", "group"}


class Check:
    def __init__(self, build, folder):
        self.build, self.folder, self.failed, self.count = build, folder, 0, 0

    def run(self, arguments, status, said=(), lines=1):
        self.count += 1
        before = sorted(p.name for p in self.folder.iterdir())
        done = subprocess.run([self.build / "ops-debug", *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, env=dict(os.environ, OPSDEBUG_STORE=""))
        errors = done.stderr.splitlines()
        after = sorted(p.name for p in self.folder.iterdir())
        wrong = []
        if done.returncode != status:
            wrong.append(f"exit status {done.returncode}, not {status}")
        if lines is not None and (len(errors) != lines or not all(e.startswith("ops-debug: ") for e in errors)):
            wrong.append(f"{len(errors)} lines on standard error, not {lines}")
        wrong += [f"does not say '{word}'" for word in said if word not in done.stderr]
        if status != 0 and after != before:
            wrong.append(f"left {set(after) - set(before)} behind")
        if wrong:
            self.failed += 1
            print(f"ops-debug {' '.join(arguments)}: {'; '.join(wrong)}\n{done.stdout[-500:]}{done.stderr}")


def make_inputs(build, folder):
    for kind in ("nan", "fine", "unknown-operator", "other-version"):
        subprocess.run([build / "tests/make_bundle", kind, folder / f"{kind}.opsb"], check=True)
    whole = (folder / "nan.opsb").read_bytes()
    (folder / "empty.opsb").write_bytes(b"")
    (folder / "text.opsb").write_text("this is not a bundle\n" * 50)
    (folder / "zeros.opsb").write_bytes(bytes(4096))
    (folder / "folder.opsb").mkdir()
    (folder / "nothing").mkdir()
    (folder / "stub.opsb").write_bytes(whole[:20])
    return whole


def bad_files(check):
    for name, said in (("missing.opsb", "missing.opsb"), ("empty.opsb", "empty.opsb"), ("text.opsb", "text.opsb"),
                       ("zeros.opsb", "zeros.opsb"), ("stub.opsb", "stub.opsb"), ("other-version.opsb", "version")):
        for arguments in COMMANDS.values():
            check.run([a.format(name) for a in arguments], 3, [said, name])
    for command, arguments in COMMANDS.items():
        check.run([a.format("folder.opsb") for a in arguments], 3, ["folder.opsb"])
        if command in TAKES_FOLDERS:
            check.run([a.format("nothing") for a in arguments], 3, ["nothing", "no bundle"])
    for paths, said in ((["nothing"], ""), (["nothing", "missing.opsb"], "1 of 1 file could not be read\n")):
        done = subprocess.run([check.build / "ops-debug", "group", *paths], cwd=check.folder, capture_output=True, text=True)
        if done.stdout != said:
            check.failed += 1
            print(f"group {' '.join(paths)}: a folder without a bundle counts as a file: {done}")
    for name in ("missing.opsb", "empty.opsb", "folder.opsb", "text.opsb", "zeros.opsb", "stub.opsb", "other-version.opsb"):
        check.run(["open", name], 3, [name])
        check.run(["import", "onnx", name, "-o", "imported"], 3, [name])


def torn_and_damaged(check, whole):
    """A torn bundle is read up to its last whole record, and that is said."""
    folder = check.folder
    torn = folder / "torn.opsb.partial"
    torn.write_bytes(whole[:-40])
    for name in (torn.name, "torn.opsb"):
        check.run(["show", name], 0, ["not complete", "salvage"])
    check.run(["group", torn.name], 0, ["not complete"])
    (folder / "cut.opsb").write_bytes(whole[:len(whole) // 2])
    for arguments in (["replay", "cut.opsb"], ["reduce", "cut.opsb", "-o", "never.opsb"]):
        check.run(arguments, 3, ["cut.opsb: ", "not complete", "salvage"])
    check.run(["export", torn.name, "-o", "torn.csv"], 0, ["not complete"])
    check.run(["salvage", torn.name, "-o", "mended.opsb"], 0, lines=0)
    check.run(["show", "mended.opsb"], 0, lines=0)
    check.run(["replay", "mended.opsb"], 1, lines=0)

    # Without its tensors the failing call cannot be run; the line says which data is missing.
    def lost_at(size):
        cut = folder / "cut.opsb"
        cut.write_bytes(whole[:size])
        done = subprocess.run([check.build / "ops-debug", "show", cut], capture_output=True, text=True)
        return done.returncode == 0 and "FAILS" not in done.stdout

    size = next(s for s in range(len(whole) // 2, 0, -1) if lost_at(s))
    (folder / "cut.opsb").write_bytes(whole[:size])
    for command in (["replay", "cut.opsb"], ["reduce", "cut.opsb", "-o", "out.opsb"]):
        check.run([*command, "--call", "2"], 3, ["cut.opsb"], lines=None)


def nothing_is_left(check, whole):
    """Where damage has left no call, what works on calls says so and writes nothing; what is there can still be shown and saved."""
    def left(size):
        (check.folder / "cut.opsb").write_bytes(whole[:size])
        done = subprocess.run([check.build / "ops-debug", "show", "--json", "cut.opsb"], cwd=check.folder, capture_output=True, text=True)
        found = json.loads(done.stdout) if done.returncode == 0 else {"calls": [], "failures": []}
        return done.returncode, len(found["calls"]), len(found["failures"])

    kinds = {}
    for size in range(len(whole), 0, -16):
        kinds.setdefault(left(size), size)
    for kind in ((0, 0, 1), (0, 0, 0)):  # with and without the failure whose call is lost
        (check.folder / "cut.opsb").write_bytes(whole[:kinds[kind]])
        shutil.copy(check.folder / "cut.opsb", check.folder / "cut2.opsb.partial")
        for command in ("replay", "reduce", "group", "diagnose", "pack", "export", "diff"):
            check.run([a.format("cut.opsb") for a in COMMANDS[command]], 3, ["cut.opsb: torn or damaged, and no call is left in it (cut.opsb: ", "salvage"])
        check.run(["diff", "cut.opsb", "nan.opsb"], 3, ["cut.opsb: torn or damaged, and no call is left in it"])
        check.run(["group", "nan.opsb", "cut.opsb", "cut2.opsb.partial"], 3, ["ops-debug: cut.opsb: torn", "ops-debug: cut2.opsb.partial: torn"], lines=2)
        done = subprocess.run([check.build / "ops-debug", "group", "--json", "nan.opsb", "cut.opsb"], cwd=check.folder, capture_output=True, text=True)
        found = json.loads(done.stdout)
        if done.returncode != 3 or len(found["groups"]) != 1 or "no call is left" not in found["unread"][0]["error"]:
            check.failed += 1
            print(f"group --json of a whole and a torn bundle: {done}")
        check.run(["show", "cut.opsb"], 0, ["cut.opsb", "salvage"])
        check.run(["salvage", "cut.opsb", "-o", "left.opsb"], 0, lines=0)
        # What is whole and has no call is no damage.
        check.run(["show", "left.opsb"], 0, lines=0)
        check.run(["group", "left.opsb"], 0, lines=0)
        for name in ("left.csv", "left2.opsb"):
            check.run(["export" if name.endswith("csv") else "pack", "left.opsb", "-o", name], 0, lines=0)
            (check.folder / name).unlink()
        (check.folder / "left.opsb").unlink()
    (check.folder / "cut2.opsb.partial").unlink()
    # A list that is still written has no call yet.
    subprocess.run([check.build / "tests/make_bundle", "list", check.folder / "list.opsb"], check=True)
    growing = (check.folder / "list.opsb").read_bytes()
    size = next(s for s in range(100, len(growing)) if b"solve input.dat" in growing[:s])
    ends = [s for s in range(size, size + 400) if whole_records_only(check, growing[:s])]
    (check.folder / "run-1.opsb.partial").write_bytes(growing[:ends[0]])
    check.run(["group", "run-1.opsb.partial"], 0, ["not complete"])
    (check.folder / "run-1.opsb.partial").rename(check.folder / "run-1.opsb")
    check.run(["group", "run-1.opsb"], 3, ["no call is left"])


def whole_records_only(check, content):
    (check.folder / "part.opsb.partial").write_bytes(content)
    done = subprocess.run([check.build / "ops-debug", "show", "part.opsb.partial"], cwd=check.folder, capture_output=True, text=True)
    (check.folder / "part.opsb.partial").unlink()
    return done.returncode == 0 and "damaged" not in done.stderr


def inputs_that_no_recording_kept(check):
    """A list of a run's calls has no operands, whichever way it is asked; the line names the options of record that keep them."""
    for kind, options in (("list", "--trigger exit"), ("list-meta", "--capture inputs --trigger exit")):
        subprocess.run([check.build / "tests/make_bundle", kind, check.folder / "run-4711.opsb"], check=True)
        for command in (["replay"], ["replay", "--guard"], ["reduce", "-o", "out.opsb"]):
            check.run([*command, "run-4711.opsb"], 3, ["run-4711.opsb: keeps no operands of its 2 calls", f", or record {options}, has them"])
            check.run([*command, "run-4711.opsb", "--call", "2"], 3, [f"call 2 of thread 4712: zgemm: its inputs were not kept; record {options} keeps them"])
        check.run(["diagnose", "run-4711.opsb", "--call", "2"], 0, [f"its inputs were not kept; record {options} keeps them"])


def flipped_tensor(check, whole):
    """Flipping a byte of a tensor's record loses that record only; replay names what it lacks."""
    seen = 0
    for position in range(60, len(whole) - 60, 7):
        bent = bytearray(whole)
        bent[position] ^= 0x20
        (check.folder / "bent.opsb").write_bytes(bent)
        done = subprocess.run([check.build / "ops-debug", "replay", "bent.opsb"], cwd=check.folder, capture_output=True,
                              text=True, timeout=60)
        if done.returncode not in (0, 1, 3):
            check.failed += 1
            print(f"byte {position} flipped: exit status {done.returncode}\n{done.stderr}")
        if done.returncode == 3:
            seen += 1
            if "bent.opsb" not in done.stderr.splitlines()[-1]:
                check.failed += 1
                print(f"byte {position} flipped: the last line does not name the file\n{done.stderr}")
        if done.returncode == 3 and seen == 1:  # `show` and `export` do not read that data, and say so all the same
            check.run(["show", "bent.opsb"], 0, ["bent.opsb", "damaged in 1 place", "salvage"])
            check.run(["export", "bent.opsb", "-o", "bent.csv"], 0, ["bent.opsb", "damaged in 1 place", "salvage"])
            (check.folder / "bent.csv").unlink()
    if seen == 0:
        check.failed += 1
        print("no flipped byte made a replay impossible")


def operators_and_selectors(check):
    check.run(["show", "unknown-operator.opsb"], 0, lines=0)
    check.run(["replay", "unknown-operator.opsb"], 3, ["Frobnicate", "unknown"])
    check.run(["reduce", "unknown-operator.opsb", "-o", "out.opsb"], 3, ["Frobnicate", "unknown"])
    check.run(["show", "nan.opsb", "--call", "77"], 3, ["77"])
    check.run(["replay", "nan.opsb", "--call", "4712:77"], 3, ["no call 4712:77"])
    check.run(["replay", "nan.opsb", "--call", "0"], 3, ["no call 0"])
    check.run(["replay", "nan.opsb", "--library", "./no-such-library.so"], 3, ["no-such-library"])
    check.run(["replay", "nan.opsb", "--core", "Pentium"], 2, ["ops-debug replay: --core Pentium: OpenBLAS knows no such core"], lines=None)
    for library in ("blis", "netlib", "naive"):  # no library to choose a core of
        check.run(["replay", "nan.opsb", "--core", "Nehalem", "--library", library], 3, ["--core", "no effect"])
    check.run(["reduce", "nan.opsb", "-o", "no/such/folder/out.opsb"], 3, ["no/such/folder"])
    check.run(["reduce", "nan.opsb", "-o", "nan.opsb"], 3, ["nan.opsb"])
    check.run(["export", "nan.opsb", "-o", "no/such/folder/out.csv"], 3, ["no/such/folder"])
    # What the user typed is named, not the file that is written beside it first.
    for arguments in (["replay", "nan.opsb", "-q", "--junit", "no/x"], ["pack", "nan.opsb", "-o", "no/x"],
                      ["salvage", "nan.opsb", "-o", "no/x"], ["reduce", "nan.opsb", "-o", "no/x"]):
        check.run(arguments, 3, [": cannot create no/x: "])
    # Nothing that cannot be done is offered as the next step.
    for command in (["show", "unknown-operator.opsb"], ["group", "unknown-operator.opsb"], ["diagnose", "unknown-operator.opsb"]):
        done = subprocess.run([check.build / "ops-debug", *command], cwd=check.folder, capture_output=True, text=True, timeout=60)
        if "next:" in done.stdout:
            check.failed += 1
            print(f"{command}: offers {done.stdout}")
    (check.folder / "run").mkdir()
    check.run(["record", "-o", "run", "--", "./no-such-program"], 127, ["no-such-program"])
    (check.folder / "data").write_text("no program")
    check.run(["record", "-o", "run", "--", "./data"], 126, ["data"])


def mixed_folder(check):
    """One bad file is no reason to say nothing of the others: it is named, counted, and decides the exit status last."""
    def fill(name, *bundles):
        folder = check.folder / name
        folder.mkdir()
        for bundle in bundles:
            shutil.copy(check.folder / bundle, folder)
        (folder / "directory.opsb").mkdir()
        os.mkfifo(folder / "pipe.opsb")
        return ["directory.opsb", "pipe.opsb", *(b for b in bundles if b in BAD)]

    def document(*arguments):
        done = subprocess.run([check.build / "ops-debug", *arguments, "--json"], cwd=check.folder, capture_output=True, text=True,
                              timeout=120)
        return done.returncode, json.loads(done.stdout)

    BAD = ("empty.opsb", "text.opsb", "stub.opsb", "other-version.opsb")
    bad = fill("mixed", "nan.opsb", "fine.opsb", *BAD)
    check.run(["replay", "mixed"], 1, bad, lines=len(bad))
    check.run(["replay", "mixed", "-j", "3", "-q"], 1, bad, lines=len(bad))
    check.run(["group", "mixed"], 3, bad, lines=len(bad))
    check.run(["group", "nan.opsb", "text.opsb", "missing.opsb"], 3, ["text.opsb", "missing.opsb"], lines=2)
    check.run(["show", "mixed"], 3, bad, lines=len(bad))
    quiet = fill("quiet", "fine.opsb", "text.opsb")
    check.run(["replay", "quiet"], 3, quiet, lines=len(quiet))
    for arguments, status in ((["replay", "mixed"], 1), (["group", "mixed"], 3), (["show", "mixed"], 3)):
        code, found = document(*arguments)
        named = sorted(pathlib.Path(item["path"]).name for item in found["unread"])
        if code != status or named != sorted(bad) or not all(item["error"] for item in found["unread"]):
            check.failed += 1
            print(f"{arguments}: exit status {code}, unread {found['unread']}")
    counts = document("replay", "mixed")[1]["counts"]
    if counts != {"replays": 1, "found": 1, "could_not_run": 0, "not_concerned": 0, "unread": len(bad)}:
        check.failed += 1
        print(f"counts: {counts}")
    subprocess.run([check.build / "ops-debug", "replay", "mixed", "-q", "--junit", "mixed.xml"], cwd=check.folder,
                   stderr=subprocess.DEVNULL)
    if f'tests="{1 + len(bad)}" failures="1" errors="{len(bad)}"' not in (check.folder / "mixed.xml").read_text():
        check.failed += 1
        print((check.folder / "mixed.xml").read_text())


def same_file_twice(check):
    """The output may not replace the input, under whatever name."""
    os.link(check.folder / "nan.opsb", check.folder / "twin.opsb")
    os.mkfifo(check.folder / "pipe")
    for command, extra in (("reduce", []), ("pack", []), ("salvage", []), ("export", ["--format", "csv"])):
        for name in ("nan.opsb", "./nan.opsb", "twin.opsb"):
            check.run([command, "nan.opsb", "-o", name, *extra], 3, [name])
    whole = (check.folder / "nan.opsb").read_bytes()
    check.run(["reduce", "nan.opsb", "-o", "out.opsb", "--emit-c", "twin.opsb"], 3, ["--emit-c", "twin.opsb"])
    check.run(["reduce", "nan.opsb", "-o", "out.opsb", "--emit-c", "out.opsb"], 3, ["--emit-c", "out.opsb"])
    check.run(["replay", "nan.opsb", "--junit", "twin.opsb"], 3, ["--junit", "twin.opsb"])
    # A device or a pipe is neither written to nor replaced.
    for name in ("pipe", "folder.opsb"):
        for command, extra in (("reduce", []), ("pack", []), ("salvage", []), ("export", ["--format", "csv"])):
            check.run([command, "nan.opsb", "-o", name, *extra], 3, [name])
    check.run(["replay", "nan.opsb", "--junit", "pipe"], 3, ["--junit", "pipe"])
    check.run(["open", "pipe"], 3, ["pipe"])
    check.run(["pack", "nan.opsb", "-o", ""], 3, ["-o", "empty"])
    check.run(["replay", ""], 2, ["empty"], lines=None)
    if (check.folder / "nan.opsb").read_bytes() != whole or not (check.folder / "pipe").is_fifo():
        check.failed += 1
        print("a file that was named as output in vain has changed")


def what_is_there_is_kept(check):
    """Only a file of the kind that is to be written is replaced, or an empty one."""
    notes = check.folder / "notes"
    notes.write_text("what nobody has twice\n")
    for command, extra in (("reduce", []), ("pack", []), ("salvage", []), *(("export", ["--format", f]) for f in FORMATS)):
        check.run([command, "nan.opsb", "-o", "notes", *extra], 3, ["-o", "notes is there"])
    for name in ("notes", "fine.opsb"):
        check.run(["reduce", "nan.opsb", "-o", "out.opsb", "--emit-c", name], 3, ["--emit-c", f"{name} is there"])
        check.run(["replay", "nan.opsb", "--junit", name], 3, ["--junit", f"{name} is there"])
        check.run(["export", "nan.opsb", "-o", name, "--format", "csv"], 3, [f"{name} is there"])
    if notes.read_text() != "what nobody has twice\n":
        check.failed += 1
        print("a file of another kind was replaced")
    (check.folder / "again.xml").write_text("")
    for form in FORMATS:
        for _ in range(2):
            check.run(["export", "nan.opsb", "-o", form, "--format", form], 0, lines=0)
    for _ in range(2):
        check.run(["pack", "nan.opsb", "-o", "again.opsb"], 0, lines=0)
        check.run(["replay", "nan.opsb", "-q", "--junit", "again.xml"], 1, lines=0)
        check.run(["reduce", "nan.opsb", "-q", "-o", "again.opsb", "--emit-c", "again.c"], 0, lines=0)


def one_cause_is_said_once(check):
    """What no call of a bundle can do is one line, however many calls there are."""
    subprocess.run([check.build / "tests/make_bundle", "several", check.folder / "several.opsb"], check=True)
    check.run(["replay", "several.opsb"], 0, lines=0)
    check.run(["replay", "several.opsb", "--library", "nosuch.so"], 3, ["nosuch.so"])
    check.run(["replay", "several.opsb", "--core", "Bulldozer"], 3, ["Bulldozer"])


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bad-input-"))
    check = Check(build, folder)
    try:
        whole = make_inputs(build, folder)
        bad_files(check)
        torn_and_damaged(check, whole)
        nothing_is_left(check, whole)
        inputs_that_no_recording_kept(check)
        flipped_tensor(check, whole)
        operators_and_selectors(check)
        mixed_folder(check)
        same_file_twice(check)
        what_is_there_is_kept(check)
        one_cause_is_said_once(check)
    finally:
        shutil.rmtree(folder)
    print(f"{check.count} commands, {check.failed} wrong")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
