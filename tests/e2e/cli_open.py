#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`open` serves the file once on 127.0.0.1:9001, to the viewer's origin only, and ends; a preflight does not count."""
import pathlib
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

ADDRESS = ("127.0.0.1", 9001)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(ADDRESS)
        except OSError as error:
            print(f"skipped: 127.0.0.1:9001 is taken ({error})")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "a trace.pftrace"
        packet = bytes(range(256)) * 40000
        length = len(packet)
        trace.write_bytes(b"\x0a" + bytes([length & 127 | 128, length >> 7 & 127 | 128, length >> 14 & 127 | 128, length >> 21]) + packet)
        program = subprocess.Popen([build / "ops-debug", "open", trace], stdout=subprocess.PIPE, text=True)
        try:
            first = program.stdout.readline()
            url = first.split("?url=")[1].strip()
            assert first.startswith("open https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/a_trace.pftrace"), first
            asked = urllib.request.Request(url, method="OPTIONS")
            with urllib.request.urlopen(asked, timeout=10) as reply:
                assert reply.status == 204
                assert reply.headers["Access-Control-Allow-Private-Network"] == "true"
            try:
                urllib.request.urlopen("http://127.0.0.1:9001/favicon.ico", timeout=10)
                raise AssertionError("the icon was served")
            except urllib.error.HTTPError as error:
                assert error.code == 404
            # A second server must be refused with one line.
            second = subprocess.run([build / "ops-debug", "open", trace], capture_output=True, text=True, timeout=10)
            assert second.returncode == 3 and "9001" in second.stderr and second.stderr.count("\n") == 1, second
            with urllib.request.urlopen(url, timeout=10) as reply:
                assert reply.headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev"
                assert reply.read() == trace.read_bytes()
            assert program.wait(10) == 0
        finally:
            program.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
