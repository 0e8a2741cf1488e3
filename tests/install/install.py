# SPDX-License-Identifier: MIT
"""An installation, moved to where nobody configured it, is complete: its programs run, and a host and a provider are
built against it with pkg-config alone.

    install.py SOURCE BUILD PREFIX LIBDIR
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tap

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])
PREFIX, LIBDIR = sys.argv[3:5]

FILES = """
bin/compute
bin/plugin-ls
include/compute/compute.h
include/compute/error.h
include/compute/provider.h
include/compute/runner.h
libexec/compute/compute-provider-probe
libexec/compute/compute-runner
share/bash-completion/completions/compute
share/bash-completion/completions/plugin-ls
share/man/man1/compute.1
share/man/man1/plugin-ls.1
share/zsh/site-functions/_compute
share/zsh/site-functions/_plugin-ls
LIB/compute/compute-provider-probe
LIB/compute/compute-runner
LIB/compute/providers/1/compute-provider-docker.so
LIB/compute/providers/1/compute-provider-local.so
LIB/libcompute-runner.a
LIB/libcompute.so
LIB/libcompute.so.1
LIB/libcompute.so.1.0.0
LIB/pkgconfig/compute-sdk.pc
LIB/pkgconfig/compute.pc
"""


class Place:
    """The moved installation, and a scratch folder beside it."""

    def __init__(self, folder):
        self.scratch = folder
        folder.chmod(0o755)
        destination = folder / "destination"
        command = ["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", destination]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.prefix = folder / "moved" / "here"
        self.prefix.parent.mkdir()
        (destination / PREFIX.lstrip("/")).rename(self.prefix)
        shutil.rmtree(destination)
        self.env = {
            "COMPUTE_DOCKER": "/no/docker",
            "PATH": f"{self.prefix}/bin:{os.environ['PATH']}",
            "HOME": str(folder),
            # No other library's file is found: neither a host nor a provider needs one.
            "PKG_CONFIG_LIBDIR": str(self.prefix / LIBDIR / "pkgconfig"),
        }

    def run(self, *command, folder=None, env=None, status=0):
        """What a command prints, after checking how it exits. A string is for the shell."""
        result = subprocess.run(command if len(command) > 1 else ["sh", "-ec", command[0]], cwd=folder or self.scratch,
                                env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        assert result.returncode == status, f"{command} exited with {result.returncode}:\n{result.stdout}"
        return result.stdout

    def template(self, name):
        """A copy of the provider to start from."""
        copy = self.scratch / name
        shutil.copytree(SOURCE / "sdk/template", copy)
        return copy


def every_file_is_in_its_place(place):
    found = {str(path.relative_to(place.prefix)) for path in place.prefix.rglob("*") if not path.is_dir()}
    wanted = set(FILES.replace("LIB/", f"{LIBDIR}/").split())
    assert found == wanted, f"unknown: {sorted(found - wanted)}; missing: {sorted(wanted - found)}"


def nothing_leads_out_of_it(place):
    """Neither to the build, nor to the prefix that it was configured for."""
    for path in place.prefix.rglob("*"):
        if path.is_symlink():
            assert path.resolve().is_relative_to(place.prefix.resolve()) and path.exists(), path
        elif path.suffix == ".pc":
            assert PREFIX not in path.read_text() and str(BUILD) not in path.read_text(), path
        elif path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            for line in place.run("readelf", "-dW", str(path)).splitlines():
                runpath = re.search(r"R(?:UN)?PATH.*\[(.*)\]", line)
                assert not runpath or runpath.group(1).startswith("$ORIGIN"), f"{path}: {line}"


def programs_run_a_command(place):
    assert place.run("compute run --on local -c 'echo hello'") == "hello\n"


def plugin_ls_finds_the_provider_beside_it(place):
    assert str(place.prefix / LIBDIR / "compute/providers/1/compute-provider-local.so") in place.run("plugin-ls", "local")
    place.run("plugin-ls", "--probe", "local")


def manual_pages_are_well_formed(place):
    for name in "compute", "plugin-ls":
        page = place.prefix / f"share/man/man1/{name}.1"
        assert place.run("groff", "-man", "-Tutf8", "-ww", "-z", str(page)) == "", name


def host_is_built(place, compiler):
    """The one of the README."""
    body = re.search(r"`host\.c`:\n\n```c\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (place.scratch / "host.c").write_text(body.group(1))
    build = "-Wall -Wextra -Werror -o host host.c $(pkg-config --cflags --libs compute)"
    place.run(f'{compiler} {build} -Wl,-rpath,"$(pkg-config --variable=libdir compute)"')
    assert re.fullmatch(r"hello from process \d+\n", place.run("./host"))


def runs_nice(place, *options):
    assert place.run("compute", "run", "--quiet", *options, "--on", "nice", "-c", "nice") == "19\n"


def runs_nice_from_the_environment(place, folder):
    """As an ordinary user: for root a folder counts only where nobody else can write to a parent, as they can to /tmp."""
    drop = "setpriv --reuid=65534 --regid=65534 --clear-groups" if os.geteuid() == 0 else ""
    output = place.run(f"{drop} compute run --quiet --on nice -c nice", env={"COMPUTE_PROVIDER_PATH": str(folder)})
    assert output == "19\n", output


def provider_is_built_by_make(place, compiler):
    folder = place.template(f"make-{compiler}")
    place.run("make", f"CC={compiler}", "CFLAGS=-Wall -Wextra -Werror", folder=folder)
    runs_nice(place, "--path", str(folder))
    runs_nice_from_the_environment(place, folder)
    place.run("plugin-ls", "--path", str(folder), "--probe", "--deps", "nice")


def provider_is_built_by_meson(place):
    folder = place.template("meson")
    place.run("meson setup --werror build && ninja -C build", folder=folder)
    runs_nice(place, "--path", str(folder / "build"))


def provider_is_installed_where_every_host_finds_it(place):
    folder = place.template("installed")
    place.run("make", "install", folder=folder)
    runs_nice(place)
    assert "nice" in place.run("plugin-ls")
    (place.prefix / LIBDIR / "compute/providers/1/compute-provider-nice.so").unlink()


def cases(place):
    for test in (
        every_file_is_in_its_place,
        nothing_leads_out_of_it,
        programs_run_a_command,
        plugin_ls_finds_the_provider_beside_it,
        manual_pages_are_well_formed,
        provider_is_built_by_meson,
        provider_is_installed_where_every_host_finds_it,
    ):
        yield test.__name__.replace("_", " "), lambda t=test: t(place)
    for compiler in "gcc", "clang":
        yield f"a host is built by {compiler}", lambda c=compiler: host_is_built(place, c)
        yield f"a provider is built by make and {compiler}", lambda c=compiler: provider_is_built_by_make(place, c)
    yield "using it has written nothing into it", lambda: every_file_is_in_its_place(place)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        tap.run(dict(cases(Place(pathlib.Path(scratch)))))
