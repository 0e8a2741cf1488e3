# SPDX-License-Identifier: MIT
"""Runs the program compute, in a private home. Arguments: the program, the folder of the provider odd, the sources."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

COMPUTE = os.path.abspath(sys.argv[1])
ODD_FOLDER = os.path.abspath(sys.argv[2])
SOURCES = pathlib.Path(sys.argv[3]).resolve()

home = tempfile.TemporaryDirectory(prefix="compute-cli.")
HOME = pathlib.Path(home.name)
os.environ.update(HOME=home.name, XDG_RUNTIME_DIR=home.name, XDG_DATA_HOME=home.name, COMPUTE_DOCKER="/no/docker")
for name in ("COMPUTE_PROVIDER_PATH", "COMPUTE_PROVIDER_PATH_ONLY", "ODD", "ODD_LOG"):
    os.environ.pop(name, None)

FOLDER_NOTE = f"compute: providers in '{ODD_FOLDER}'".encode()


def start(*words, **options):
    """A running compute, its output piped unless said otherwise, and unbuffered: a line can be read before finish()."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0} | options
    env = os.environ | options.pop("env", {})
    return subprocess.Popen([COMPUTE, *words], env=env, **options)


class Ended:
    """status, out and err. What is told about the folder of the provider odd, which depends on where the build lies, is left
    out of err."""

    def __init__(self, status, out, err):
        lines = err.splitlines(keepends=True)
        self.status, self.out = status, out
        self.err = b"".join(line for line in lines if not line.startswith(FOLDER_NOTE))

    @property
    def json(self):
        assert self.out.endswith(b"\n") and self.out.count(b"\n") == 1, self.out
        return json.loads(self.out.decode("utf-8"))

    def __repr__(self):
        return f"status {self.status}\nstdout {self.out!r}\nstderr {self.err!r}"


def finish(process, data=None, timeout=20):
    out, err = process.communicate(data, timeout=timeout)
    return Ended(process.returncode, out, err)


def compute(*words, data=None, **options):
    """compute WORDS..., to its end."""
    if data is not None:
        options["stdin"] = subprocess.PIPE
    return finish(start(*words, **options), data)


def run(*words, **options):
    """compute run --on local WORDS..."""
    return compute("run", "--on", "local", *words, **options)


def odd(subcommand, *words, **options):
    """A subcommand that knows the provider odd."""
    return compute(subcommand, "--path", ODD_FOLDER, *words, **options)


class Up:
    """An instance of its own for a with block."""

    def __init__(self, *words):
        self.words = words

    def __enter__(self):
        made = compute("up", "--on", "local", *self.words)
        assert made.status == 0 and made.err == b"" and made.out.endswith(b"\n"), made
        self.id = made.out[:-1].decode("ascii")
        return self.id

    def __exit__(self, *ignored):
        compute("down", self.id)


def expect(ended, status, out=None, err=None):
    """The status, and stdout and stderr byte for byte where given."""
    assert ended.status == status, ended
    assert out is None or ended.out == out, ended
    assert err is None or ended.err == err, ended
    return ended


def expect_error(ended, status, *texts):
    """One line on stderr that holds the texts, and nothing on stdout."""
    assert ended.status == status and ended.out == b"", ended
    assert ended.err.startswith(b"compute: ") and ended.err.endswith(b"\n") and ended.err.count(b"\n") == 1, ended
    for text in texts:
        assert text.encode() in ended.err, (text, ended)
    return ended


def until(condition, seconds=10, what="the condition"):
    """Polls until the condition holds, and returns what it gave."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < deadline, f"{what} did not come to hold in {seconds} s"
        time.sleep(0.01)


def living(word):
    """The processes with this word on their command line, zombies left out."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and word.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            pass
    return found
