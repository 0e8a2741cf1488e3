# SPDX-License-Identifier: MIT
"""Environments on the provider local: what a file says is what is done, and what fails is told."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tap
from program import HOME, compute, expect, expect_error, living, start, until

ENVIRONMENT = ".praisonai/environment.yaml"


class Project:
    """A folder with an environment, in which compute is run."""

    def __init__(self, text=None):
        self.text = text

    def __enter__(self):
        self.holder = tempfile.TemporaryDirectory(prefix="compute-project.")
        self.folder = pathlib.Path(self.holder.name)
        if self.text is not None:
            self.write(self.text)
        return self

    def __exit__(self, *_):
        self.holder.cleanup()

    def write(self, text, path=ENVIRONMENT):
        path = self.folder / path
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def compute(self, *words, **options):
        return compute(*words, cwd=options.pop("cwd", self.folder), **options)

    def run(self, *words, **options):
        return self.compute("run", "--on", "local", *words, **options)


def test_setup_runs_in_order_before_the_command_and_is_told():
    with Project("setup:\n  - echo one >> log\n  - echo two >> log\nworking_dir: {0}\n") as project:
        project.write(f"setup:\n  - echo one >> log\n  - echo two >> log\nworking_dir: {project.folder}\n")
        result = expect(project.run("-c", "cat log"), 0, out=b"one\ntwo\n")
        lines = result.err.decode().splitlines()
        assert lines[0] == "compute: setup 1 of 2: echo one >> log" and lines[1].endswith(" s"), lines
        assert lines[2] == "compute: setup 2 of 2: echo two >> log" and len(lines) == 4, lines
        assert expect(project.run("--quiet", "-c", "true"), 0, b"", b"")


def test_the_file_is_found_from_a_folder_below_and_backend_names_the_provider():
    with Project("backend: local\nenv: {A: found}\n") as project:
        below = project.folder / "a/b"
        below.mkdir(parents=True)
        expect(project.compute("run", "-c", "echo $A", cwd=below), 0, b"found\n")
        expect(project.compute("run", "--env", "A=mine", "-c", "echo $A", cwd=below), 0, b"mine\n")
        expect_error(project.compute("run", "--no-environment", "-c", "true", cwd=below), 2, "no place was named")
        other = project.write("backend: local\nenv: {A: other}\n", "other.yaml")
        expect(project.compute("run", "--environment", str(other), "-c", "echo $A", cwd="/"), 0, b"other\n")
        assert project.compute("run", "--on", "local", "--environment", "none.yaml", "-c", "true").status == 125


def test_case_G08_a_step_that_fails_fails_the_run_and_names_itself_and_its_last_words():
    with Project("setup: ['true', 'echo out; echo why >&2; exit 3']\n") as project:
        result = project.run("-c", "echo never")
        assert result.status == 125 and result.out == b"", result
        assert b"setup 2 of 2 'echo out; echo why >&2; exit 3' failed (exit 3): out\\x0awhy" in result.err, result
        error = project.run("--json", "-c", "true").json["error"]
        assert error["code"] == "prepare_failed" and error["provider"] == "local", error


def test_no_value_of_a_variable_is_in_what_is_told_of_a_step():
    with Project("env: {TOKEN: s3cr3t-canary}\nsetup: ['echo s3cr3t-canary is $TOKEN; exit 1']\n") as project:
        error = project.run("--json", "-c", "true").json["error"]
        assert "s3cr3t-canary" not in error["message"] and "*** is ***" in error["message"], error
        project.write("env: {TOKEN: s3cr3t-canary}\n")
        for words in (["show"], ["show", "--json"]):
            out = expect(project.compute("env", *words), 0).out
            assert b"TOKEN" in out and b"s3cr3t-canary" not in out, out


def test_a_failed_or_cancelled_preparation_leaves_nothing():
    with Project("setup: ['sleep 8787 & sleep 8787']\n") as project:
        process = start("run", "--on", "local", "-c", "true", cwd=project.folder)
        assert until(lambda: len(living("8787")) == 2), living("8787")
        process.terminate()
        process.communicate(timeout=20)
        assert process.returncode == 128 + 15
        assert until(lambda: not living("8787"))
        assert project.compute("ps", "--on", "local", "--quiet").out == b""
        project.write("setup: ['sleep 8686 & exit 1']\n")
        assert project.compute("up", "--on", "local").status == 125
        assert until(lambda: not living("8686"))
        assert project.compute("ps", "--on", "local", "--quiet").out == b""


def test_refresh_runs_on_a_reuse_only_and_local_keeps_nothing():
    with Project("setup: ['echo setup']\nrefresh: ['echo refresh']\n") as project:
        for _ in range(2):
            assert b"refresh" not in expect(project.run("-c", "true"), 0).err
        result = project.run("--json", "-c", "true").json["environment"]
        assert (result["reused"], result["captured"], result["why"]) == (False, False, "local keeps no captures"), result
        assert project.compute("captures", "explain", "--on", "local").out.endswith(b": miss: local keeps no captures\n")
        assert project.compute("captures", "list", "--json").json == {"captures": []}


def test_up_prepares_and_exec_finds_what_was_prepared():
    with Project() as project:
        project.write(f"setup: ['echo made > made']\nworking_dir: {project.folder}\nenv: {{A: kept}}\n")
        instance = expect(project.compute("up", "--on", "local"), 0).out.decode().strip()
        try:
            expect(project.compute("exec", instance, "-c", "cat made; echo $A"), 0, b"made\nkept\n")
        finally:
            expect(project.compute("down", instance), 0)


def test_the_hash_is_that_of_the_definition_alone():
    with Project("image: python:3.12-slim\n") as project:
        hash_ = project.compute("env", "hash").out
        assert hash_ == b"79649e139e6e\n", hash_
        assert project.compute("env", "hash", "--json").json == {"definition_hash": "79649e139e6e"}
        assert project.compute("env", "hash", "--image", "other").out != hash_
        shown = project.compute("env", "show", "--json").json
        assert shown["definition_hash"] == "79649e139e6e" and shown["image"] == "python:3.12-slim", shown


def test_what_is_wrong_in_a_file_is_told_before_anything_runs():
    with Project("setup: ['echo never']\nimages: x\n") as project:
        for words in (["env", "check"], ["run", "--on", "local", "-c", "true"], ["up", "--on", "local"]):
            result = project.compute(*words)
            assert result.status == 125 and b"environment.yaml:2: an environment has no key 'images'" in result.err, result
            assert b"image, packages, setup" in result.err and b"never" not in result.err, result
    with Project() as project:
        assert b"no .praisonai/environment.yaml" in project.compute("env", "check").err
        assert project.compute("env", "frob").status == 2
        assert project.compute("captures", "frob").status == 2


def test_a_mistyped_action_is_answered_with_the_nearest():
    for words, meant in ((["captures", "prun"], "prune"), (["env", "shwo"], "show")):
        expect_error(compute(*words), 2, f"'{words[1]}' is none of ", f"did you mean '{meant}'?")
    expect_error(compute("captures", "frobnicate"), 2, "is none of list, prune, explain")


def test_an_age_is_a_number_of_days_that_can_be():
    for age in ("-1", "x", "1e3", "", "99999999999999"):
        expect_error(compute("captures", "prune", "--older-than", age), 2, "--older-than", "days" if age else "empty")
    for age in ("0", "0.5", "14", "36500"):
        expect(compute("captures", "prune", "--older-than", age), 0)


def test_one_environment_is_asked_for_or_none():
    words = ["--on", "local", "--environment", "e.yaml", "--no-environment"]
    expect_error(compute("run", *words, "-c", "true"), 2, "both --environment and --no-environment")


def test_a_step_that_yaml_takes_for_something_else_is_to_be_quoted():
    with Project("setup: true\n") as project:
        assert b"'setup' is true or false; it must be a list of texts, or one (quote it)" in project.compute("env", "check").err
        project.write("setup: 'true'\n")
        expect(project.run("-c", "true"), 0)


# ---- Packages: the real programs, on indexes and files of this machine -----------------------------------------------


def wheel(folder):
    """A package for pip, version 1.2, which has a module canary_package."""
    import zipfile

    path = folder / "canary_package-1.2-py3-none-any.whl"
    about = "canary_package-1.2.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("canary_package.py", "print('canary')\n")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: canary-package\nVersion: 1.2\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return path


@functools.cache
def pip_path():
    """A PATH on which pip is one of a place of its own; what it installs stays there."""
    subprocess.run([sys.executable, "-m", "venv", HOME / "venv"], check=True)
    return f"{HOME}/venv/bin:/usr/bin:/bin"


def test_pip_installs_by_specifier_from_an_index_and_a_package_is_one_argument():
    with Project() as project:
        wheel(project.folder)
        env = {"PATH": pip_path(), "PIP_NO_INDEX": "1",
               "PIP_FIND_LINKS": str(project.folder), "HOME": str(project.folder)}
        project.write(json.dumps({"packages": {"pip": ["canary-package>=1.0,<2"]}, "env": env}))
        expect(project.run("-c", "python -c 'import canary_package'"), 0, b"canary\n")
        project.write(json.dumps({"packages": {"pip": ["canary-package; touch /tmp/compute-canary"]}, "env": env}))
        assert project.run("-c", "true").status == 125
        assert not os.path.exists("/tmp/compute-canary")


def test_case_C08_a_failed_install_fails_each_time():
    with Project() as project:
        env = {"PATH": pip_path(), "PIP_NO_INDEX": "1", "HOME": str(project.folder)}
        project.write(json.dumps({"packages": {"pip": ["no-such-package-zz-1"]}, "env": env}))
        for _ in range(2):
            error = project.run("--json", "-c", "true").json["error"]
            assert error["code"] == "prepare_failed" and "pip no-such-package-zz-1" in error["message"], error


def test_npm_installs_a_folder():
    if shutil.which("npm") is None:
        raise tap.Skip("no npm here")
    with Project() as project:
        package = project.folder / "a package"
        package.mkdir()
        (package / "package.json").write_text('{"name": "canary", "version": "1.0.0", "bin": {"canary": "run.js"}}')
        (package / "run.js").write_text("#!/usr/bin/env node\nconsole.log('canary');\n")
        env = {"npm_config_prefix": str(project.folder / "npm"), "npm_config_offline": "true",
               "HOME": str(project.folder)}
        project.write(json.dumps({"packages": {"npm": [str(package)]}, "env": env}))
        expect(project.run("-c", f"{project.folder}/npm/bin/canary"), 0, b"canary\n")


def test_apt_installs_a_file():
    if os.geteuid() != 0:
        raise tap.Skip("only root installs packages")
    with Project() as project:
        tree = project.folder / "canary"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr/share/canary").mkdir(parents=True)
        (tree / "usr/share/canary/said").write_text("canary\n")
        (tree / "DEBIAN/control").write_text("Package: canary\nVersion: 1\nArchitecture: all\n"
                                             "Maintainer: nobody <nobody@example.org>\nDescription: canary\n")
        subprocess.run(["dpkg-deb", "--build", tree, project.folder / "canary.deb"], check=True, stdout=subprocess.DEVNULL)
        root = project.folder / "root"
        for below in ("var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/apt/lists/partial", "etc/apt/apt.conf.d",
                      "var/cache/apt/archives/partial", "etc/apt/preferences.d", "var/log/apt"):
            (root / below).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        config = project.folder / "apt.conf"
        config.write_text(f'Dir "{root}/"; Dir::State::status "{root}/var/lib/dpkg/status"; Dir::Bin::dpkg "/usr/bin/dpkg";'
                          f' DPkg::Options {{ "--root={root}"; }}; APT::Sandbox::User "root";')
        env = {"APT_CONFIG": str(config), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        project.write(json.dumps({"packages": {"apt": [str(project.folder / "canary.deb")]}, "env": env}))
        expect(project.run("-c", f"cat {root}/usr/share/canary/said"), 0, b"canary\n")


if __name__ == "__main__":
    tap.main(globals())
