# SPDX-License-Identifier: MIT
"""Completion in bash and zsh, asked of the shells themselves."""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import time

import program
import tap
from program import HOME, SOURCES, Up, compute

SUBCOMMANDS = "run up exec ps status down reap cp env captures providers tool".split()
BIN = HOME / "bin"
BIN.mkdir()
(BIN / "compute").symlink_to(program.COMPUTE)
ENV = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}

BASH = r"""
. "$0"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
compopt () { :; }
_compute compute "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
"""


def bash(*words, cwd=HOME):
    """What bash offers for the last word."""
    script = SOURCES / "completion" / "compute.bash"
    done = subprocess.run(["bash", "--norc", "-c", BASH, script, "compute", *words], env=ENV, cwd=cwd, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.splitlines()


def options(subcommand):
    lines = compute(subcommand, "--help").out.decode().splitlines()
    return [line.split()[0] for line in lines if line.startswith("  -")]


def long_options(subcommand):
    return [option for option in options(subcommand) if option.startswith("--")]


def test_bash_offers_subcommands():
    assert bash("") == [*SUBCOMMANDS, "--help", "--version"]
    assert bash("st") == ["status"]
    assert bash("--v") == ["--version"]


def test_bash_offers_the_options_of_each_subcommand():
    for subcommand in SUBCOMMANDS:
        assert bash(subcommand, "-") == options(subcommand), subcommand
    assert bash("run", "--ti") == ["--timeout"]
    assert bash("ps", "--ti") == []


def test_bash_offers_providers():
    assert "local" in bash("run", "--on", "")
    assert "local" in bash("run", "--on", "=")
    assert bash("run", "--on", "=", "loc") == ["local"]


def test_bash_offers_instances():
    with Up() as id:
        for subcommand in ("exec", "status", "down"):
            assert id in bash(subcommand, "local-"), subcommand
        assert id in bash("exec", "--timeout", "5", "local-")
        assert f"{id}:" in bash("cp", "local-")
        assert bash("cp", id, ":", "x") == [] and bash("cp", id, ":") == []


def test_bash_completes_the_command_like_any_command():
    (HOME / "some-file").write_text("")
    assert "uname" in bash("run", "--on", "local", "unam")
    assert "uname" in bash("run", "--on", "=", "local", "--", "unam")
    assert bash("run", "--on", "local", "cat", "some-f") == ["some-file"]
    assert bash("run", "--on", "local", "ls", "--ti") == []
    assert "uname" in bash("exec", "local-1", "unam")
    assert bash("exec", "local-1", "--ti") == ["--timeout"]
    assert bash("exec", "local-1", "--", "cat", "some-f") == ["some-file"]


def test_bash_offers_files_and_variables_where_they_belong():
    (HOME / "vars.env").write_text("")
    assert bash("run", "--env-file", "vars") == ["vars.env"]
    assert bash("run", "--env", "XDG_RUNTIME") == ["XDG_RUNTIME_DIR"]
    assert bash("ps", "--path", "bi") == ["bin"]
    assert bash("run", "--image", "") == []


def test_bash_offers_the_tools_of_a_file():
    (HOME / "tools.yaml").write_text("greet: {command: echo}\nshow: {command: ls}\n")
    assert bash("tool", "--tools", "tools.y") == ["tools.yaml"]
    assert bash("tool", "--tools", "tools.yaml", "") == ["greet", "show"]
    assert bash("tool", "--tools", "=", "tools.yaml", "gr") == ["greet"]
    assert bash("tool", "") == []


def test_bash_completion_finds_the_file_by_its_name():
    loader = pathlib.Path("/usr/share/bash-completion/bash_completion")
    if not loader.exists():
        raise tap.Skip("bash-completion is not installed")
    folder = HOME / "bash-completion" / "completions"
    folder.mkdir(parents=True)
    shutil.copy(SOURCES / "completion" / "compute.bash", folder / "compute")
    script = f". {loader} && _completion_loader compute; complete -p compute"
    done = subprocess.run(["bash", "--norc", "-c", script], env=ENV, capture_output=True, text=True, timeout=20)
    assert done.stdout == "complete -F _compute compute\n", done


class Zsh:
    """An interactive zsh without any start-up file but compinit, on a terminal."""

    def __init__(self):
        if shutil.which("zsh") is None:
            raise tap.Skip("zsh is not installed")
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(HOME)
            os.execvpe("zsh", ["zsh", "-f", "-i"], ENV | {"TERM": "dumb", "COLUMNS": "200"})
        self.pid = pid
        self.count = 0
        os.symlink(SOURCES / "completion", HOME / "fpath")
        self.ask("fpath=(~/fpath $fpath); autoload -U compinit && compinit -u -D && print -r mark$((0))\n", "mark0\r")

    def ask(self, text, *shown):
        """Types the text, and waits until all of that is shown."""
        os.write(self.terminal, text.encode())
        seen = ""
        deadline = time.monotonic() + 60
        while not all(part in seen for part in shown):
            assert select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))[0], (shown, seen)
            seen += os.read(self.terminal, 4096).decode(errors="replace")
        assert "compute:" not in seen and "_compute" not in seen and "_arguments" not in seen, seen

    def completes(self, typed, *shown):
        """Completes what is typed, on an empty line before and after."""
        self.ask(f"{typed}\t", *shown)
        self.count += 1
        self.ask(f"\x15print -r mark$(({self.count}))\n", f"mark{self.count}\r")

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def test_zsh_completes_subcommands_options_and_values():
    zsh = Zsh()
    try:
        zsh.completes("compute ", *SUBCOMMANDS)
        for subcommand in SUBCOMMANDS:
            zsh.completes(f"compute {subcommand} --", *long_options(subcommand))
        zsh.completes("compute stat", "compute status ")
        zsh.completes("compute run --timeout 5 --on lo", "--on local ")
        zsh.completes("compute run --on=lo", "--on=local ")
        zsh.completes("compute run --on local -- unam", "-- uname ")
        (HOME / "zsh-tools.yaml").write_text("greet: {command: echo}\n")
        zsh.completes("compute tool --tools zsh-to", "zsh-tools.yaml ")
        zsh.completes("compute tool --tools=zsh-tools.yaml gr", "greet ")
        with Up() as id:
            zsh.completes(f"compute status {id[:-2]}", id)
            zsh.completes(f"compute exec {id[:-2]}", id)
            zsh.completes(f"compute exec {id} --ti", "--timeout=")
            zsh.completes(f"compute cp {id[:-2]}", f"{id}:")
    finally:
        zsh.close()


tap.main(globals())
