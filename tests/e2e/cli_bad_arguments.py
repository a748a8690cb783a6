#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that break their contract, each by one argument: cli_bad_arguments.py BUILD. What was given is recorded and said, the
stand-alone C file passes the same value and fails, and each argument is a group of its own."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = """
#include <stdlib.h>
void cblas_dgemm(int o, int ta, int tb, int m, int n, int k, double al, const double *a, int lda, const double *b, int ldb, double be, double *c, int ldc);
void cblas_dsymm(int o, int s, int u, int m, int n, double al, const double *a, int lda, const double *b, int ldb, double be, double *c, int ldc);
void cblas_dtrsm(int o, int s, int u, int t, int d, int m, int n, double al, const double *a, int lda, double *b, int ldb);
void dtrsm_(const char *s, const char *u, const char *t, const char *d, const int *m, const int *n, const double *al, const double *a, const int *lda,
            double *b, const int *ldb);
static double a[16], b[16], c[16];
int main(int count, char **arguments)
{
    const int four = 4;
    const double one = 1;
    switch (count > 1 ? atoi(arguments[1]) : -1) {
    case 0: cblas_dgemm(7, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4); break;
    case 1: cblas_dgemm(101, 999, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4); break;
    case 2: cblas_dgemm(101, 111, 'N', 4, 4, 4, 1, a, 4, b, 4, 0, c, 4); break;
    case 3: cblas_dgemm(101, 111, 111, -4, 4, 4, 1, a, 4, b, 4, 0, c, 4); break;
    case 4: cblas_dgemm(101, 111, 111, 4, 4, 4, 1, a, 3, b, 4, 0, c, 4); break;
    case 5: cblas_dgemm(101, 111, 111, 4, 4, 4, 1, a, 4, b, 3, 0, c, 4); break;
    case 6: cblas_dsymm(102, 122, 121, 4, 4, 1, a, 4, b, 4, 0, c, 4); break;
    case 7: cblas_dtrsm(102, 141, 'U', 111, 131, 4, 4, 1, a, 4, b, 4); break;
    case 8: cblas_dtrsm(102, 141, 121, 111, 122, 4, 4, 1, a, 4, b, 4); break;
    case 9: dtrsm_("Q", "U", "N", "N", &four, &four, &one, a, &four, b, &four); break;
    case 10: cblas_dgemm(142, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4); break;
    }
    return 0;
}
"""
GEMM, TRSM = "contract|gemm|real|{}|bad-args", "contract|trsm|real|{}|bad-args"
# Value in `show --json` (of the call's order, or of an attribute), the reason, the group, the call in C (None: not reduced, to save time).
CASES = {
    0: ("order", 7, "argument 1 of cblas_dgemm: order = 7 is neither", GEMM.format("order"), r"cblas_dgemm\(7,"),
    1: ("transa", 999, "argument 2 of cblas_dgemm (order is argument 1): transa = 999", GEMM.format("transa"), r"cblas_dgemm\(101 /\* R \*/, 999,"),
    2: ("transb", 78, "argument 3 of cblas_dgemm (order is argument 1): transb = 78", GEMM.format("transb"), None),
    3: ("m", -4, "argument 4 of cblas_dgemm (order is argument 1): m = -4", GEMM.format("m"), None),
    4: ("lda", 3, "argument 9 of cblas_dgemm (order is argument 1): lda = 3", GEMM.format("lda"), None),
    5: ("ldb", 3, "argument 11 of cblas_dgemm (order is argument 1): ldb = 3", GEMM.format("ldb"), None),
    6: ("side", 122, "argument 2 of cblas_dsymm (order is argument 1): side = 122", "contract|symm|real|side|bad-args", r"cblas_dsymm\(102 /\* C \*/, 122,"),
    7: ("uplo", 85, "argument 3 of cblas_dtrsm (order is argument 1): uplo = 85", TRSM.format("uplo"), None),
    8: ("diag", 122, "argument 5 of cblas_dtrsm (order is argument 1): diag = 122", TRSM.format("diag"), None),
    9: ("side", "Q", "argument 1 of dtrsm_: side = Q", TRSM.format("side"), r'dtrsm_\("Q",'),
    10: ("order", 142, "argument 1 of cblas_dgemm: order = 142 is neither", GEMM.format("order"), None),
}
faults = []


def need(is_so, *what):
    if not is_so:
        faults.append(" ".join(str(part) for part in what))


def ask(tool, *arguments):
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def check_case(tool, folder, number):
    name, value, reason, _, call = CASES[number]
    out = folder / f"run{number}"
    code, _, said = ask(tool, "record", "-q", "-o", out, "--", folder / "victim", number)
    found = [path for path in sorted(out.glob("*.opsb")) if not path.name.startswith("run-")]
    need(code == 0 and len(found) == 1, number, "not recorded:", code, found, said)
    if len(found) != 1:
        return None
    document = json.loads(ask(tool, "show", "--json", found[0])[1])
    recorded = document["calls"][-1]
    given = {"order": recorded.get("order"), **recorded["dims"], **recorded["attributes"]}
    need(given[name] == value, number, name, "is shown as", given[name])
    text = ask(tool, "show", found[0])[1]
    need(isinstance(value, str) or name in ("lda", "ldb") or f"{name}={value}" in text, number, "show does not say", name, value, text)
    need(reason in ask(tool, "diagnose", found[0])[1], number, ask(tool, "diagnose", found[0])[1])
    if call is not None:
        check_program(tool, folder, number, found[0], call)
    return found[0]


def check_program(tool, folder, number, bundle, call):
    source, program = folder / f"m{number}.c", folder / f"m{number}"
    code, said, errors = ask(tool, "reduce", "-q", bundle, "-o", folder / f"m{number}.opsb", "--emit-c", source)
    need(code == 0, number, "reduce:", code, said, errors)
    if code != 0:
        return
    text = source.read_text()
    need(re.search(call, text), number, "the program passes another value:\n", text)
    built = ask("cc", "-std=c17", "-Wall", "-Wextra", "-Werror", source, "-o", program, "-lopenblas", "-lm")
    need(built[0] == 0, number, built[2])
    code, said, _ = ask(program)
    need(code == 1 and said.splitlines()[-1] == "FAIL", number, "the program ends with", code, said)


def main():
    tool = pathlib.Path(sys.argv[1]).resolve() / "ops-debug"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "victim.c").write_text(PROGRAM)
        subprocess.run(["cc", folder / "victim.c", "-o", folder / "victim", "-lopenblas"], check=True)
        bundles = [bundle for bundle in (check_case(tool, folder, number) for number in CASES) if bundle is not None]
        groups = json.loads(ask(tool, "group", "--json", *bundles)[1])["groups"]
        found = {group["key"]: group["count"] for group in groups}
        wanted = {}
        for case in CASES.values():
            wanted[case[3]] = wanted.get(case[3], 0) + 1
        need(found == wanted, "groups:", found)
    print("\n".join(faults) or "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
