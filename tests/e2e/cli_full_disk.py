#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk without room: one line that names the file, status 3, nothing left behind but what a second run goes on from, and that is named.
Each command runs in a mount namespace of its own, on a small tmpfs. Skipped where such a mount is not allowed."""
import pathlib
import subprocess
import sys
import tempfile

ROOM = (0, 4, 8)  # KB that are left


def shell(script, *arguments):
    return subprocess.run(["unshare", "-r", "-m", "sh", "-c", script, "sh", *map(str, arguments)], capture_output=True, text=True, timeout=300)


def run(build, bundle, room, command):
    """Status, the error, and the names that are there afterwards, with their sizes."""
    script = ('mount -t tmpfs -o size=64k tmpfs "$1" && cd "$1" && dd if=/dev/zero of=fill bs=1k count=$((64 - $2)) 2>/dev/null; bundle=$3; tool=$4; shift 4; '
              '"$tool" "$@" >/dev/null; status=$?; rm fill; for f in *; do [ -e "$f" ] && stat -c "%n %s" "$f"; done; exit $status')
    with tempfile.TemporaryDirectory(prefix="full-") as folder:
        done = shell(script, folder, room, bundle, build / "ops-debug", *[word.format(bundle=bundle) for word in command])
    return done.returncode, done.stderr, dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="full-") as folder:
        if shell('mount -t tmpfs -o size=64k tmpfs "$1"', folder).returncode != 0:
            print("skipped: a mount namespace with a tmpfs of its own is not allowed here")
            return 77
        bundle = pathlib.Path(folder) / "nan.opsb"
        subprocess.run([build / "tests/make_bundle", "nan", bundle], check=True)
        for command in (["export", "{bundle}", "-o", "out.csv"], ["export", "{bundle}", "-o", "out.json"], ["export", "{bundle}", "-o", "out.pftrace"],
                        ["pack", "{bundle}", "-o", "out.opsb"], ["salvage", "{bundle}", "-o", "out.opsb"], ["replay", "{bundle}", "-q", "--junit", "out.xml"]):
            status, said, left = run(build, bundle, 0, command)
            assert status == 3 and left == {} and len(said.splitlines()) == 1 and command[-1] in said, (command, status, said, left)
        kept = set()
        for room in ROOM:
            status, said, left = run(build, bundle, room, ["reduce", "{bundle}", "-o", "min.opsb", "--emit-c", "min.c"])
            assert status == 3 and len(said.splitlines()) == 1 and "min.opsb" in said and said.count("min.opsb.new") <= 1, (room, status, said)
            assert all(name in said and int(size) > 0 for name, size in left.items()), (room, said, left)
            assert set(left) <= {"min.opsb.best", *[name for name in left if name.endswith(".log")]}, left
            assert room > 0 or left == {}, left
            assert not left or "the same command goes on from there" in said, said
            kept |= {name.rsplit(".", 1)[1] for name in left}
        assert kept == {"log", "best"}, kept
    return 0


if __name__ == "__main__":
    sys.exit(main())
