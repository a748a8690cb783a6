# SPDX-License-Identifier: Apache-2.0
"""Which library a call goes to, however the program came by the routine: binding_cases.py BUILD CASE."""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from record_harness import (BUILD, PYTHON, SANITIZED, TESTS, Run, Skip, alone, has, main, need_numpy, same_as_alone, script)

VICTIM = os.path.join(TESTS, "binding_victim")
PLUGIN = os.path.join(TESTS, "libplugin_tables.so")
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
NETLIB, OPENBLAS = f"{LIBRARIES}/blas/libblas.so.3", f"{LIBRARIES}/libopenblas.so.0"
BLIS = f"{LIBRARIES}/libblis.so.4"


def need(*paths):
    if not os.path.exists(os.path.join(BUILD, "opsdebug-audit.so")):
        raise Skip("the audit shim is not built on this processor")
    for path in paths:
        if not os.path.exists(path):
            raise Skip(f"{path} is not installed")


def with_netlib(**more):
    return dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(NETLIB), OPENBLAS_NUM_THREADS="1", **more)


def providers(bundle, outer_only=True):
    """Calls by the file that ran them; nested ones are a library's own layers."""
    calls = [call for call in bundle.calls if not (outer_only and has(call, "nested"))]
    return collections.Counter(os.path.realpath(call["provider"]) for call in calls)


def every_library_of_three_gets_its_own_calls():
    need(NETLIB, OPENBLAS, BLIS)
    for program in (VICTIM, VICTIM + "_now"):
        run = same_as_alone([program, "lookup", OPENBLAS, BLIS], env=with_netlib())
        expected = {os.path.realpath(path): count for path, count in ((NETLIB, 1), (OPENBLAS, 2), (BLIS, 3))}
        assert providers(run.runs[0]) == expected, providers(run.runs[0])
        assert run.report["audited"] == run.report["processes"] == "1", run.report


def routines_of_other_name_spaces_are_recorded_when_looked_up():
    if SANITIZED:
        raise Skip("the sanitizer's runtime refuses to be loaded a second time")
    need(NETLIB, OPENBLAS, BLIS)
    run = same_as_alone([VICTIM, "spaces", OPENBLAS, BLIS], env=with_netlib())
    expected = {os.path.realpath(path): count for path, count in ((NETLIB, 1), (OPENBLAS, 2), (BLIS, 3))}
    assert providers(run.runs[0]) == expected, providers(run.runs[0])
    assert "dlmopen" not in run.trouble, run.trouble


def calls_inside_another_name_space_are_missed_and_said():
    if SANITIZED:
        raise Skip("the sanitizer's runtime refuses to be loaded a second time")
    need(OPENBLAS)
    for options in ([], ["audit=off"]):
        run = same_as_alone([VICTIM, "apart", PLUGIN], options, env=with_netlib())
        assert run.report["calls"] == "0" and "libopenblas.so.0 was loaded into a name space of its own (dlmopen)" in run.why, run.why
    run = same_as_alone(["/bin/sh", "-c", f"{VICTIM} default; {VICTIM} apart {PLUGIN}"], env=with_netlib())
    assert sum(sum(providers(bundle).values()) for bundle in run.runs) == 1 and "of its own (dlmopen)" in run.trouble, run.trouble


def numpy_and_libraries_by_ctypes_are_told_apart():
    need_numpy()
    need(NETLIB, BLIS)
    run = Run(script(f"""
        import ctypes, numpy as np
        a = np.ones((3, 3)); a @ a; a @ a
        one, d, n = ctypes.c_int(1), ctypes.c_double, ctypes.c_int(3)
        x = (d * 3)(1, 2, 3)
        for path, times in (({NETLIB!r}, 3), ({BLIS!r}, 5)):
            dot = ctypes.CDLL(path).ddot_
            dot.restype = d
            for i in range(times): assert dot(ctypes.byref(n), x, ctypes.byref(one), x, ctypes.byref(one)) == 14
        """))
    assert run.status == 0, run.stderr
    found = providers(run.runs[0])
    assert found[os.path.realpath(NETLIB)] == 3 and found[os.path.realpath(BLIS)] == 5, found
    assert len(found) == 3 and sum(found.values()) >= 10, found  # numpy tries a product of its own when it is imported


def deeply_bound_plugin_is_recorded_with_its_tables():
    if SANITIZED:
        raise Skip("the sanitizer's runtime refuses RTLD_DEEPBIND")
    need(NETLIB, OPENBLAS)
    for mode in ("now", "lazy"):
        run = same_as_alone([VICTIM, "plugin", PLUGIN, mode], env=with_netlib())
        dots = [call for call in run.runs[0].calls if call["symbol"] == "ddot_" and not has(call, "nested")]
        assert len(dots) == 4, (mode, [call["symbol"] for call in run.runs[0].calls])
        assert {os.path.realpath(call["provider"]) for call in dots} == {os.path.realpath(OPENBLAS)}, dots
        assert {os.path.basename(call["caller"]) for call in dots} == {"libplugin_tables.so"}, dots


def a_lookup_finds_what_it_would_find_alone():
    need(NETLIB)
    run = same_as_alone([VICTIM, "default"], env=with_netlib())
    assert run.stdout.endswith(" missing\n"), run.stdout
    assert providers(run.runs[0]) == {os.path.realpath(NETLIB): 1}
    same_as_alone([PYTHON, "-c", "import ctypes\ntry: print(ctypes.CDLL(None).dgemm_)\nexcept AttributeError as e: print(e)"])


def preload_alone_is_the_fallback_and_is_said():
    need(NETLIB, OPENBLAS)
    tool = os.path.join(BUILD, "ops-debug")
    for options, binding, calls in (([], "audit", 3), (["--no-audit"], "preload", 1)):
        run = Run([VICTIM, "lookup", OPENBLAS], ["audit=off"] if options else [], env=with_netlib())
        assert (run.status, run.stdout) == alone([VICTIM, "lookup", OPENBLAS], with_netlib())
        assert sum(providers(run.runs[0]).values()) == calls, (options, providers(run.runs[0]))
        done = subprocess.run([tool, "record", "-o", run.out + "/more", "--json", *options, "--", VICTIM, "lookup", OPENBLAS],
                              capture_output=True, text=True, env=with_netlib())
        document = json.loads(done.stderr)
        assert done.returncode == 0 and document["binding"] == binding, document


def audit_library_of_the_user_sees_what_it_saw():
    """Its bindings and lookups, whether it asks for them or has no such function; the process of the recorder has it too."""
    need(NETLIB)
    head = "#define _GNU_SOURCE\n#include <link.h>\n#include <stdio.h>\nunsigned la_version(unsigned v) { return v; }\n"
    plain = head + 'void la_preinit(uintptr_t *c) { (void)c; dprintf(1, "mine\\n"); }\n'
    full = plain + ("unsigned la_objopen(struct link_map *m, Lmid_t s, uintptr_t *c) { (void)m; (void)s; (void)c; return 3; }\n"
                    "uintptr_t la_symbind64(Elf64_Sym *s, unsigned n, uintptr_t *f, uintptr_t *t, unsigned *g, const char *name)\n"
                    '{ (void)n; (void)f; (void)t; dprintf(1, "%s %u\\n", name, *g & LA_SYMB_DLSYM); return s->st_value; }\n')
    out = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"user-audit-{os.getpid()}.so")
    for source, least in ((plain, 1), (full, 3)):
        if subprocess.run(["cc", "-shared", "-fPIC", "-o", out, "-xc", "-"], input=source, text=True).returncode != 0:
            raise Skip("there is no compiler")
        try:
            env = with_netlib(LD_AUDIT=out)
            run = Run([VICTIM, "default"], env=env)
            status, expected = alone([VICTIM, "default"], env)
        finally:
            os.unlink(out)
        lines = expected.splitlines()
        assert status == run.status == 0 and len(lines) > least and not set(lines) - set(run.stdout.splitlines()), (
            lines, run.stdout.splitlines())
        assert run.report["audited"] == "1" and providers(run.runs[0]) == {os.path.realpath(NETLIB): 1}, run.report


def programs_that_are_executed_are_audited_too():
    need(NETLIB, OPENBLAS)
    run = same_as_alone(["/bin/sh", "-c", f"{VICTIM} lookup {OPENBLAS}; exec {VICTIM} lookup {OPENBLAS}"], env=with_netlib())
    assert sorted(sum(providers(bundle).values()) for bundle in run.runs) == [3, 3], [providers(b) for b in run.runs]


def tables_of_scipy_lose_no_call():
    """The calls recorded are those that a BLAS between counts, routine by routine: f2py's tables, Cython's, LAPACK's calls."""
    need_numpy()
    counting = os.path.join(TESTS, "counting")
    need(os.path.join(counting, "libblas.so.3"))
    if subprocess.run([PYTHON, "-c", "import scipy.linalg"], capture_output=True).returncode != 0:
        raise Skip("python3-scipy is not installed")
    if SANITIZED:
        raise Skip("scipy takes minutes under the sanitizer")
    program = script("""
        import sys
        if sys.argv[1] == "deep":
            import os; sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
        import numpy as np, scipy.linalg as sl, scipy.linalg.blas as sb, scipy.sparse as ss, scipy.sparse.linalg as sp
        import scipy.linalg.cython_blas
        g = np.random.default_rng(3); a = g.standard_normal((9, 9)); v = g.standard_normal(9)
        for i in range(3): sb.dgemm(1.0, a, a); sb.ddot(v, v); sb.dgemv(2.0, a, v); sb.daxpy(v, v.copy()); sb.dnrm2(v)
        sb.zgemm(1.0, a + 1j, a); sb.dtrsm(1.0, a, a); sb.dsyrk(1.0, a); sb.idamax(v); sb.drot(v, v, .6, .8)
        sl.lu_factor(a); sl.qr(a); sl.svd(a); sl.eigh(a @ a.T); sl.cholesky(a @ a.T + np.eye(9)); sl.expm(a); sl.solve(a, v)
        sl.cython_blas.__pyx_capi__
        s = ss.csc_matrix(a + 30 * np.eye(9)); sp.splu(s).solve(v); sp.gmres(s, v); sp.eigsh(s @ s.T, k=2, tol=.1); sp.svds(s, k=2)
        sl.interpolative.svd(a, 5) if hasattr(sl, "interpolative") else None
        sl.qr_insert(*sl.qr(a), v, 3, "col")     # through Cython's cython_blas
        sl.qr_update(*sl.qr(a), v, v)
        """)
    for mode in ("plain", "deep"):
        listing = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"counting-{os.getpid()}-{mode}")
        env = dict(os.environ, LD_LIBRARY_PATH=counting, OPENBLAS_NUM_THREADS="1", COUNTING_BLAS=listing)
        run = Run([*program, mode], ["capture=meta"], env=env)
        assert run.status == 0, run.stderr
        with open(listing, encoding="utf-8") as lines:
            counted = {name: int(count) for name, count in map(str.split, lines)}
        os.unlink(listing)
        seen = collections.Counter(call["symbol"] for call in run.runs[0].calls if "counting" in call["provider"])
        assert len(counted) > 12, (mode, counted)
        assert counted == seen, (mode, {k: (counted.get(k), seen.get(k)) for k in {*counted, *seen}
                                                              if counted.get(k) != seen.get(k)})
        assert run.report["dropped"] == "0", run.report  # all of them fit the ring


main(globals())
