# SPDX-License-Identifier: MIT
"""The program compute, the first argument of each of these tests, on an engine of our own: docker's, unless the last
argument is "podman", or "rootless" for the podman of an ordinary user."""

import contextlib
import functools
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import podman
from engine import Engine

COMPUTE = sys.argv[1]
ENGINE = sys.argv[-1] if sys.argv[-1] in ("podman", "rootless") else "docker"
BUSYBOX = "compute-test/busybox"

# Behind a shell's &, the tests themselves are started with this ignored, and so would compute be.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

cleanup = contextlib.ExitStack()


@functools.cache
def engine():
    return cleanup.enter_context(Engine(private=True) if ENGINE == "docker" else podman.Podman())


def start(*words, env=None, program=(COMPUTE,)):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*program, *words], env=os.environ | engine().env | (env or {}), text=True,
                            **streams)


def compute(*words, **options):
    """What the program prints, what it says, and its exit status."""
    process = start(*words, **options)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def run(*words, image=BUSYBOX, **options):
    return compute("run", "--on", "docker", "--image", engine().image(image), *words, **options)


def arguments(*words):
    """The options that give docker run each word as it is."""
    return [part for word in words for part in ("--option", f"docker.args={word}")]


def containers():
    return engine().docker("ps", "--all", "--quiet").stdout.split()


def wait_true(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@contextlib.contextmanager
def detached(*words, image=BUSYBOX, **options):
    status, out, err = compute("up", "--on", "docker", "--image", engine().image(image), *words, **options)
    assert status == 0, err
    try:
        yield out.strip()
    finally:
        compute("down", out.strip())
        assert wait_true(lambda: not containers()), containers()


@contextlib.contextmanager
def instead_of_docker(script):
    """The environment in which a script of ours is the docker program."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "docker")
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        yield {"COMPUTE_DOCKER": str(program)}


def files_of(image):
    """The paths in the layers of an image."""
    paths = []
    with tempfile.TemporaryFile() as archive:
        engine().docker("save", image, stdout=archive)
        archive.seek(0)
        with tarfile.open(fileobj=archive) as layers:
            for name in (name for name in layers.getnames() if name.endswith("layer.tar")):
                with tarfile.open(fileobj=layers.extractfile(name)) as layer:
                    paths += layer.getnames()
    return paths
