#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command after "next:" works as it is printed: it is run, and what it prints next as well, until nothing is left.

A failure that a replay has found must be reduced, a reduced one must come back, an emitted C file must compile and fail.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BAD_LIBRARY = """
void cblas_dcopy(int n, const double *x, int incx, double *y, int incy)
{
    (void)x, (void)incx;
    for (int i = 0; i < n; i++) {
        y[(long)i * incy] = 0.0 / 0.0;
    }
}
"""
COPY = """
void cblas_dcopy(int n, const double *x, int incx, double *y, int incy);
static double x[6] = {1, 2, 3, 4, 5, 6}, y[6];
int main(void)
{
    cblas_dcopy(6, x, 1, y, 1);
    return 0;
}
"""
CRASH = """
void cblas_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy);
static double y[64];
int main(void)
{
    cblas_daxpy(64, 2.0, (const double *)64, 1, y, 1);
    return 0;
}
"""
CONTRACT = """
void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda, const double *b, int ldb,
                 double beta, double *c, int ldc);
static double a[16], b[16], c[16];
int main(void)
{
    c[0] = 0.0 / 0.0;
    cblas_dgemm(101, 111, 111, 4, 4, 4, 1, a, 3, b, 4, 0, c, 4);
    return 0;
}
"""
HANG = """
void cblas_dcopy(int n, const double *x, int incx, double *y, int incy)
{
    (void)n, (void)x, (void)incx, (void)y, (void)incy;
    for (volatile int spin = 0;; spin = spin == 0) {
    }
}
"""
FLAKY = """
void cblas_dcopy(int n, const double *x, int incx, double *y, int incy)
{
    static int calls;
    for (int i = 0; i < n; i++) {
        y[(long)i * incy] = x[(long)i * incx];
    }
    if (++calls % 3 == 0) {
        y[0] = 0.0 / 0.0;
    }
}
"""
READ_PAST = """
void cblas_dcopy(int n, const double *x, int incx, double *y, int incy)
{
    for (int i = 0; i <= n; i++) {
        double value = ((const volatile double *)x)[(long)i * incx];
        if (i < n) {
            y[(long)i * incy] = value;
        }
    }
}
"""


class Walk:
    def __init__(self, build, folder):
        self.build, self.folder, self.failed, self.count, self.seen = build, folder, 0, 0, set()
        self.environment = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C", OPSDEBUG_STORE="")

    def run(self, command):
        self.count += 1
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=500)
        return done.returncode, done.stdout + done.stderr

    def wrong(self, text):
        self.failed += 1
        print(text)

    def follow(self, scenario, command, wanted, depth=0):
        """Runs a command that must end with one of the statuses, then what it says is next; a reduction only once."""
        status, said = self.run(command)
        if status not in wanted:
            self.wrong(f"{scenario}: {command}: exit status {status}, not {wanted}\n{said}")
            return said
        for after in re.findall(r"^next: (.*)$", said, re.M) if depth < 5 else []:
            if after.startswith("ops-debug open "):  # serves a page to a browser
                continue
            words = after.split()
            if words[1] == "reduce" and after in self.seen:
                continue
            self.seen.add(after)
            known = {"reduce": (0,), "show": (0,), "group": (0,), "diagnose": (0, 1), "replay": (0, 1)}
            statuses = known[words[1]] if words[0] == "ops-debug" else (1,)
            if words[1] == "replay" and command.split()[1] == "reduce":
                statuses = (1,)
            said += self.follow(scenario, after, statuses, depth + 1)
        return said

    def build_c(self, name, text, *options):
        (self.folder / f"{name}.c").write_text(text)
        subprocess.run(["cc", "-O1", f"{name}.c", *options], cwd=self.folder, check=True)

    def record(self, name, text, *trigger):
        """The bundle of a program with one failure."""
        self.build_c(name, text, "-o", name, "-lopenblas")
        self.run(f"ops-debug record -q -o {name}.opsb {' '.join(trigger)} -- ./{name}")
        assert (self.folder / f"{name}.opsb").exists(), name
        return f"{name}.opsb"


def need(walk, scenario, said, *texts):
    for text in texts:
        if text not in said:
            walk.wrong(f"{scenario}: '{text}' does not come up:\n{said}")


def scenarios(walk):
    make = walk.build / "tests/make_bundle"
    subprocess.run([make, "nan", "nan.opsb"], cwd=walk.folder, check=True)
    for first in ("show", "replay", "diagnose", "group"):
        said = walk.follow("nan", f"ops-debug {first} nan.opsb", (0, 1))
        need(walk, "nan", said, "reduce nan.opsb")
    need(walk, "call", walk.follow("call", "ops-debug replay nan.opsb --call 2", (1,)), "--call 2")
    need(walk, "core", walk.follow("core", "ops-debug replay nan.opsb --core Nehalem", (0, 1)), "--core Nehalem")
    for library in ("blis", "netlib"):
        said = walk.follow("library", f"ops-debug replay nan.opsb --library {library}", (0, 1))
        need(walk, "library", said, f"--library {library}")

    crash = walk.record("crash", CRASH)
    need(walk, "crash", walk.follow("crash", f"ops-debug replay {crash}", (1,)), f"reduce {crash}")
    contract = walk.record("contract", CONTRACT)
    said = walk.follow("contract", f"ops-debug replay -v {contract}", (1,))
    need(walk, "contract", said, "with the outputs untouched", f"reduce {contract}", "by its own count")
    if "became" in said:
        walk.wrong(f"contract: a NaN that C held before has become one:\n{said}")
    need(walk, "contract", walk.run(f"ops-debug show {contract}")[1], "illegal argument 9 of cblas_dgemm")
    need(walk, "contract", walk.run(f"ops-debug diagnose {contract}")[1], "argument 9 of cblas_dgemm (order is argument 1): lda = 3")

    copy = walk.record("copy", COPY, "--trigger", "exit")
    for name, text, options, outcome in (("bad", BAD_LIBRARY, "", "NaN born"), ("past", READ_PAST, "--guard ", "read out of bounds"),
                                         ("flaky", FLAKY, "--repeat 9 ", "NaN born"),
                                         ("hang", HANG, "--timeout 1", "no return within the time limit")):
        walk.build_c(name, text, "-shared", "-fPIC", "-o", f"lib{name}.so")
        for first in ("replay", "diagnose"):
            said = walk.follow(name, f"ops-debug {first} {copy} --library ./lib{name}.so {options}", (1,))
            need(walk, name, said, outcome, f"--library ./lib{name}.so {options}".strip(), f"reduce {copy}")
            if first == "replay":
                need(walk, name, said, "replay min.opsb" if name == "flaky" else "cc min.c")
    addresses = r"address 0x[0-9a-f]{6,}, address mod 64"
    for view, shown in ((f"{crash}", 0), (f"{crash} -v", 1), (f"{copy} --call 1", 2)):
        said = walk.run(f"ops-debug show {view}")[1]
        if len(re.findall(addresses, said)) != shown:
            walk.wrong(f"show {view}: addresses of operands:\n{said}")
    need(walk, "flaky", walk.run(f"ops-debug diagnose {copy} --library ./libflaky.so --repeat 9")[1], "stale-scratch", "3 of 9 runs")
    status, said = walk.run(f"ops-debug replay -v {copy} --library ./libhang.so --timeout 4")
    need(walk, "progress", said, "ops-debug: replay: in the routine, ")
    # A reduced bundle whose failure needs guard pages says so, whichever command offers it.
    status, said = walk.run(f"ops-debug reduce {copy} -o past.opsb --library ./libpast.so")
    need(walk, "guard", said, "replay past.opsb --library ./libpast.so --guard")
    need(walk, "guard", walk.run("ops-debug show past.opsb")[1], "next: ops-debug replay past.opsb --guard")
    walk.follow("guard", "ops-debug reduce past.opsb -o again.opsb --library ./libpast.so", (0,))

    # Another failure than the recorded one: reduced as what it is, and only when that is asked for.
    subprocess.run(["cp", copy, "other.opsb"], cwd=walk.folder, check=True)
    walk.run(f"ops-debug reduce {copy} -o bad.opsb --library ./libbad.so")
    said = walk.follow("other", "ops-debug replay bad.opsb --library ./libpast.so --guard", (1,))
    need(walk, "other", said, "another failure than the recorded one", "--observed")
    status, said = walk.run("ops-debug reduce bad.opsb -o refused.opsb --library ./libpast.so --guard")
    if status != 1 or (walk.folder / "refused.opsb").exists():
        walk.wrong(f"other: reduced without being asked to, exit status {status}:\n{said}")


def lists_of_calls(walk):
    """The list of a run's calls keeps no operands: nothing that needs them is offered."""
    for name in ("one", "two"):
        walk.build_c("many", COPY, "-o", "many", "-lopenblas")
        walk.run(f"ops-debug record -q -o {name} --trigger nan -- ./many")
    one, two = (next((walk.folder / name).glob("run-*.opsb")) for name in ("one", "two"))
    status, said = walk.run(f"ops-debug diff {one} {two}; ops-debug show {one}; ops-debug show one")
    if "next:" in said:
        walk.wrong(f"a list of calls is offered for replay:\n{said}")
    said = walk.follow("list", f"ops-debug pack {one} -o packed.opsb", (0,))
    need(walk, "list", said, "keeps no operands")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if re.search(r"^OPD_SANITIZE:\w+=.+$", (build / "CMakeCache.txt").read_text(), re.M):
        print("skipped: a sanitizer takes the crashes that are to be recorded")
        return 77
    with tempfile.TemporaryDirectory(prefix="next-") as name:
        walk = Walk(build, pathlib.Path(name))
        scenarios(walk)
        lists_of_calls(walk)
    print(f"{walk.count} commands, {walk.failed} wrong")
    return 1 if walk.failed else 0


if __name__ == "__main__":
    sys.exit(main())
