# SPDX-License-Identifier: MIT
"""What the built files export: libcompute the list in exports.txt, a provider its one entry.

    exports.py LIBRARY PROVIDER...
"""

import pathlib
import subprocess
import sys

import abi
import tap


def exported(path):
    """{symbol: version} of what a library defines for others."""
    command = ["nm", "-D", "--defined-only", "--format=posix", path]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    symbols = [line.split()[0] for line in lines if line.split()[1] != "A"]  # A: the name of a version itself
    return dict((symbol.split("@")[0], symbol.split("@")[-1]) for symbol in symbols)


def same(found, wanted):
    found, wanted = set(found), set(wanted)
    assert found == wanted, f"not in the list: {sorted(found - wanted)}; missing: {sorted(wanted - found)}"


def cases(library, providers):
    listed = (abi.HERE / "exports.txt").read_text().split()
    yield "libcompute exports what exports.txt lists", lambda: same(exported(library), listed)
    yield "exports.txt lists what compute.h declares", lambda: same(listed, abi.exports(abi.HEADERS))
    yield "every export has the version COMPUTE_1", lambda: same(exported(library).values(), ["COMPUTE_1"])
    for provider in providers:
        name = pathlib.Path(provider).name
        yield f"{name} exports its entry only", lambda p=provider: same(exported(p), ["compute_provider_init"])


if __name__ == "__main__":
    tap.run(dict(cases(sys.argv[1], sys.argv[2:])))
