# SPDX-License-Identifier: MIT
"""sdk/quickstart.sh and tests/run.sh on machines that this one is not: each has only the programs it is given."""

import pathlib
import shutil
import subprocess
import tempfile

import rules
import tap

BASICS = ("sh", "cat", "dirname", "env", "rm")
BUILD = ("cc", "pkg-config", "meson", "ninja", "musl-gcc")
TEST = ("g++", "make", "groff", "python3", "clang", "clang-format", "shellcheck", "strace", "valgrind", "zsh", "busybox",
        "dockerd", "docker-registry", "runc", "podman", "newuidmap")
PACKAGES = "gcc pkg-config meson ninja-build musl-tools libglib2.0-dev libcjson-dev libyaml-dev"


class Machine:
    """A folder as PATH, a copy of the scripts, and a log of what the fake programs were called with."""

    def __init__(self, root, *programs):
        self.bin, self.tree, self.log = root / "bin", root / "tree", root / "log"
        self.bin.mkdir()
        self.log.touch()
        for script in "sdk/setup.sh", "sdk/quickstart.sh", "tests/run.sh":
            (self.tree / script).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(rules.TOP / script, self.tree / script)
        for name in BASICS:
            (self.bin / name).symlink_to(shutil.which(name))
        self.user(1000)
        for name in programs:
            self.fake(name)

    def fake(self, name, *actions):
        """A program that logs its call, then does the actions."""
        path = self.bin / name
        path.write_text("\n".join(["#!/bin/sh", f'echo "{name} $*" >>{self.log}', *actions, ""]))
        path.chmod(0o755)

    def user(self, uid):
        (self.bin / "id").unlink(missing_ok=True)
        (self.bin / "id").write_text(f"#!/bin/sh\necho {uid}\n")
        (self.bin / "id").chmod(0o755)

    def apt(self, *brings):
        """An apt-get that brings these programs."""
        copies = [f"[ $1 = update ] || {shutil.which('cp')} {self.bin}/true {self.bin}/{name}" for name in brings]
        (self.bin / "true").symlink_to(shutil.which("true"))
        self.fake("apt-get", "echo apt speaks", *copies)

    def products(self):
        """Meson makes a build that ninja finds done, with the two programs."""
        self.fake("meson", f"{shutil.which('mkdir')} -p build", "echo >build/build.ninja")
        for name in "cli/compute", "plugin-ls/plugin-ls":
            path = self.tree / "build/sdk" / name
            path.parent.mkdir(parents=True)
            path.write_text(f'#!/bin/sh\nfor word; do echo "[$word]"; done\n')
            path.chmod(0o755)

    def run(self, script="sdk/quickstart.sh"):
        command = [self.bin / "sh", self.tree / script]
        result = subprocess.run(command, env={"PATH": str(self.bin)}, stdin=subprocess.DEVNULL, text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return result.returncode, result.stdout, result.stderr

    def calls(self, *names):
        return [line for line in self.log.read_text().splitlines() if line.split()[0] in names]


def on(*programs):
    """Gives the test a machine with these programs."""

    def wrap(test):
        def run():
            with tempfile.TemporaryDirectory() as folder:
                test(Machine(pathlib.Path(folder), *programs))

        return run

    return wrap


@on()
def test_without_apt_the_packages_are_named(machine):
    status, _, errors = machine.run()
    assert status != 0 and f"hold, then run this again: {PACKAGES}\n" in errors, errors
    assert errors.count("\n") == 1 and not machine.log.read_text(), errors


@on(*BUILD)
def test_only_what_is_missing_is_named(machine):
    machine.fake("pkg-config", '[ "$2" = glib-2.0 ]')
    status, _, errors = machine.run()
    assert status != 0 and errors.endswith("again: libcjson-dev libyaml-dev\n"), errors


@on("apt-get")
def test_an_ordinary_user_without_sudo_is_told_the_command_for_root(machine):
    status, _, errors = machine.run()
    assert status != 0 and f"let root run: apt-get install {PACKAGES}\n" in errors, errors
    assert not machine.log.read_text()


@on()
def test_an_ordinary_user_installs_through_sudo_and_sees_the_command_first(machine):
    machine.fake("sudo", '"$@"')
    machine.apt(*BUILD)
    machine.products()
    status, output, errors = machine.run()
    assert status == 0, errors
    shown = "+ sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends gcc "
    assert output.index(shown) < output.rindex("apt speaks"), output
    assert machine.calls("sudo")[0] == "sudo apt-get update -q"


@on()
def test_root_installs_without_sudo(machine):
    machine.user(0)
    machine.fake("sudo", "exit 1")
    machine.apt(*BUILD)
    machine.products()
    status, output, errors = machine.run()
    assert status == 0 and "\n+ env DEBIAN_FRONTEND=noninteractive apt-get install " in output, errors
    assert not machine.calls("sudo")


@on("cc")
def test_a_failing_apt_ends_it(machine):
    machine.user(0)
    machine.fake("apt-get", "exit 100")
    assert machine.run()[0] != 0
    assert machine.calls("apt-get", "meson") == ["apt-get update -q"]


@on()
def test_what_apt_does_not_bring_is_named(machine):
    machine.user(0)
    machine.apt("cc", "pkg-config", "ninja", "musl-gcc")
    status, _, errors = machine.run()
    assert status != 0 and errors.endswith("still missing after the installation: meson\n"), errors


@on(*BUILD)
def test_with_everything_there_quickstart_builds_and_shows_two_commands(machine):
    machine.products()
    status, output, errors = machine.run()
    assert status == 0, errors
    assert machine.calls("meson", "ninja") == ["meson setup build -Dtests=false", "ninja -C build"]
    assert "\n$ build/sdk/cli/compute run --on local -c 'echo hello'\n[run]\n" in "\n" + output, output
    assert output.endswith("[-c]\n[echo hello]\n$ build/sdk/plugin-ls/plugin-ls\n"), output


@on(*BUILD)
def test_a_failing_build_runs_nothing(machine):
    machine.products()
    machine.fake("ninja", "exit 1")
    status, output, _ = machine.run()
    assert status != 0 and "compute" not in output


@on(*BUILD)
def test_quickstart_keeps_the_tests_of_a_build_that_has_them(machine):
    machine.products()
    (machine.tree / "build/build.ninja").touch()
    assert machine.run()[0] == 0
    assert machine.calls("meson", "ninja") == ["ninja -C build"]


@on(*BUILD)
def test_the_tests_need_more_packages(machine):
    status, _, errors = machine.run("tests/run.sh")
    assert status != 0 and " clang " in errors and " valgrind " in errors and "meson" not in errors, errors


@on(*BUILD, *TEST)
def test_the_tests_are_added_to_a_build_without_them(machine):
    machine.products()
    (machine.tree / "build/build.ninja").touch()
    assert machine.run("tests/run.sh")[0] == 0
    assert machine.calls("meson", "ninja", "python3") == [
        "meson configure build -Dtests=true",
        "ninja -C build",
        "meson test -C build",
        "python3 tests/sum.py build/meson-logs/testlog*.json",
    ]


@on(*BUILD, *TEST)
def test_a_failing_test_run_and_a_failing_sum_fail(machine):
    machine.products()
    machine.fake("python3", "exit 1")
    assert machine.run("tests/run.sh")[0] != 0
    machine.fake("python3")
    machine.fake("meson", f"{shutil.which('mkdir')} -p build", "echo >build/build.ninja", '[ "$1" != test ]')
    assert machine.run("tests/run.sh")[0] != 0


if __name__ == "__main__":
    tap.main(globals())
