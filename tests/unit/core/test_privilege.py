# SPDX-License-Identifier: MIT
"""A host application with raised privileges takes no provider from a place that its caller controls.

test_privilege.py HOST FIXTURES: the program host, which holds the core, and the folder of the fixtures.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile

import tap

HOST, FIXTURES = sys.argv[1:]
NOBODY = 65534
CAP_NET_BIND_SERVICE = 10


class Place:
    """A program and, apart from it, folders with providers that an ordinary user has made."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        self.program = os.path.join(self.folder, "program")
        shutil.copy(HOST, self.program)
        os.chmod(self.program, 0o755)
        self.bait = os.path.join(self.folder, "bait")
        for below in "env", "data/compute/providers/1", "home/.local/share/compute/providers/1", "lib":
            os.makedirs(os.path.join(self.bait, below))
            shutil.copy(os.path.join(FIXTURES, "compute-provider-ok.so"), os.path.join(self.bait, below))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def environment(self, **more):
        path = {
            "COMPUTE_PROVIDER_PATH": os.path.join(self.bait, "env"),
            "XDG_DATA_HOME": os.path.join(self.bait, "data"),
            "HOME": os.path.join(self.bait, "home"),
            "LD_LIBRARY_PATH": os.path.join(self.bait, "lib"),
        }
        # A process that is traced cannot look for its leaks.
        return {"PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "detect_leaks=0", **path, **more}

    def run(self, *before, **more):
        command = [*before, self.program]
        result = subprocess.run(command, env=self.environment(**more), stdout=subprocess.PIPE, text=True, check=True)
        return result.stdout.splitlines()


def as_nobody():
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []


def test_an_ordinary_process_looks_where_its_user_says():
    with Place() as place:
        lines = place.run(*as_nobody())
        assert "name ok" in lines, lines
        assert "resolve 0" in lines, lines
        assert any(line.startswith(f"folder user 5 {place.bait}/data/") for line in lines), lines


def raise_by_setuid(program):
    os.chmod(program, 0o4755)


def raise_by_capability(program):
    """Capabilities raise a process without changing its user: a comparison of user ids would not see it."""
    version_2, effective = 0x02000000, 1
    value = struct.pack("<IIIII", version_2 | effective, 1 << CAP_NET_BIND_SERVICE, 0, 0, 0)
    os.setxattr(program, "security.capability", value)


def check_raised(raise_it):
    with Place() as place:
        raise_it(place.program)
        for more in {}, {"COMPUTE_PROVIDER_PATH_ONLY": "1"}:
            lines = place.run(*as_nobody(), **more)
            assert "name ok" not in lines, lines
            assert "resolve 0" not in lines, lines
            ignored = [line for line in lines if line.endswith(": the process has raised privileges")]
            assert [line.split()[1] for line in ignored] == ["env", "user"], lines
            assert any(line.startswith("folder system") for line in lines), lines


def test_a_setuid_process_ignores_environment_and_user():
    check_raised(raise_by_setuid)


def test_a_process_with_file_capabilities_ignores_environment_and_user():
    check_raised(raise_by_capability)


def test_a_setuid_process_opens_nothing_of_its_caller():
    with Place() as place:
        raise_by_setuid(place.program)
        log = os.path.join(place.folder, "log")
        trace = ["strace", "-f", "-u", "nobody", "-e", "trace=%file", "-o", log]
        place.run(*trace)
        with open(log, encoding="utf-8", errors="replace") as file:
            calls = [line for line in file if place.bait in line and "execve(" not in line]
        assert os.path.getsize(log) > 1000
        assert not calls, calls


if __name__ == "__main__":
    tests = dict(globals())
    if os.geteuid() != 0:  # who else could raise a program's privileges
        tests = {name: value for name, value in tests.items() if not name.startswith("test_a_")}
    tap.main(tests)
