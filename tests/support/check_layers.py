#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which folder may know which contract. Fails on any other include, private headers of another folder included."""
import pathlib
import re
import sys

CORE = {"status", "memory", "metrics", "tensor", "random"}
FORMAT = CORE | {"contract", "op", "bundle"}
WIRING = None  # may include every contract

ALLOWED = {
    "core": CORE,
    "proto": FORMAT | {"packet", "onnx"},
    "kernels": CORE | {"contract", "op", "kernel", "library", "dnnl"},
    "recorder": FORMAT | {"record", "library", "dnnl"},
    "replayer": FORMAT | {"kernel", "library", "replay", "dnnl"},
    "reducer": FORMAT | {"reduce", "dnnl"},
    "viewer-export": FORMAT | {"packet", "view"},
    "cli": WIRING,
    "tests": WIRING,
    "bench": WIRING,
    "examples": WIRING,
}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
GENERATED = re.compile(r".*\.pb-c\.h$")


def check(root, folder, contracts, path, errors):
    names = {p.name for p in (root / folder).rglob("*.h")} | {p.name for p in (root / folder).rglob("*.def")}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        where = f"{path.relative_to(root)}:{number}"
        bracket, target = found.groups()
        if target.startswith("opsdebug/"):
            contract = pathlib.PurePath(target).stem
            if bracket == '"':
                errors.append(f'{where}: write <{target}>')
            if contracts is not None and contract not in contracts:
                errors.append(f"{where}: {folder}/ may not know {target}")
        elif GENERATED.match(target):
            if folder != "proto":
                errors.append(f"{where}: generated protobuf types stop at proto/")
        elif bracket == '"' and contracts is not None and pathlib.PurePath(target).name not in names:
            errors.append(f'{where}: "{target}" is not a header of {folder}/; only include/opsdebug/ crosses folders')


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    errors = []
    for header in sorted((root / "include/opsdebug").glob("*.h")):
        for line in header.read_text().splitlines():
            found = INCLUDE.match(line)
            if found and found.group(1) == '"':
                errors.append(f"{header.name}: a public header includes a private one: {found.group(2)}")
    for folder, contracts in ALLOWED.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".inc"):
                check(root, folder, contracts, path, errors)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
