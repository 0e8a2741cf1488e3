# SPDX-License-Identifier: MIT
"""test_pull.py COMPUTE LIBCOMPUTE: images that the engine does not have, from a registry on its loopback."""

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from unittest import mock

import host
import tap
from place import BUSYBOX, cleanup, compute, containers, engine, start, wait_true
from registry import Registry

PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(host.STRUCTS["progress"]))
QUICKLY = 5  # seconds, on a busy machine


@contextlib.contextmanager
def absent_image():
    """A registry with an image that the engine can get only there: its layers go with its own name."""
    with Registry(engine()) as registry:
        name = registry.push(BUSYBOX)
        engine().docker("rmi", BUSYBOX)
        engine().loaded.remove(BUSYBOX)
        try:
            yield registry, name
        finally:
            registry.gate.stands_still = False
            engine().docker("rmi", name, check=False)


def run(image, *words, **options):
    return compute("run", "--on", "docker", "--image", image, *words, **options)


def nothing_is_left():
    return wait_true(lambda: not containers())


def test_an_absent_image_is_pulled_with_progress_and_then_is_there():
    with absent_image() as (registry, name):
        status, out, err = run(name, "-c", "echo on")
        assert (status, out) == (0, "on\n"), err
        assert err == f"compute: pull {name}\n", err
        registry.gate.close()
        before = registry.gate.connections
        assert run(name, "-c", "echo on") == (0, "on\n", ""), "no registry is needed for what is there"
        assert registry.gate.connections == before


def test_quiet_is_quiet_about_a_pull():
    with absent_image() as (_, name):
        assert run(name, "--quiet", "-c", "echo on") == (0, "on\n", "")


def test_progress_counts_the_layers():
    seen = []

    def progress(_, given):
        seen.append((given.contents.step.decode(), given.contents.done, given.contents.total))

    keep = PROGRESS(progress)
    with absent_image() as (_, name), mock.patch.dict(os.environ, engine().env), host.Registry() as registry:
        handle = registry.resolve(b"docker")
        caller = host.make("call", cancel_fd=-1, progress=ctypes.cast(keep, ctypes.c_void_p))
        host.provision(handle, caller, image=name.encode())
        host.LIBRARY.compute_close(handle)
    step = f"pull {name}"
    assert seen[0] == (step, 0, 0) and seen[-1] == (step, 1, 1) and (step, 0, 1) in seen, seen


def test_an_unknown_image_is_an_error_that_names_it():
    with Registry(engine()) as registry:
        name = registry.name("no/such-image:7")
        status, out, err = run(name, "--quiet", "-c", "true")
        assert (status, out) == (125, ""), err
        assert err.count("\n") == 1 and f"cannot pull image '{name}'" in err and "unknown" in err, err
        assert nothing_is_left()


def test_a_registry_that_wants_a_password_is_an_error_that_says_so():
    with Registry(engine(), password=True) as registry:
        name = registry.name(BUSYBOX)
        status, out, _ = run(name, "--json", "-c", "true")
        error = json.loads(out)["error"]
        assert status == 125 and error["code"] == "engine", out
        assert f"cannot pull image '{name}'" in error["message"] and "no basic auth credentials" in error["message"], out


def test_a_registry_that_refuses_is_an_error_that_says_so():
    with Registry(engine()) as registry:
        registry.gate.refuses = True
        name = registry.name(BUSYBOX)
        status, out, err = run(name, "--quiet", "-c", "true")
        assert (status, out) == (125, ""), err
        assert f"cannot pull image '{name}'" in err and "denied" in err, err


def test_a_registry_that_is_not_there_is_an_error_that_says_so():
    with Registry(engine()) as registry:
        name = registry.name(BUSYBOX)
        registry.gate.close()
        status, _, err = run(name, "--quiet", "-c", "true")
        assert status == 125 and f"cannot pull image '{name}'" in err and "connection refused" in err, err


def test_an_interrupt_ends_a_slow_pull():
    with absent_image() as (registry, name):
        registry.gate.stands_still = True
        process = start("run", "--on", "docker", "--image", name, "-c", "true")
        assert process.stderr.readline() == f"compute: pull {name}\n"
        assert wait_true(lambda: registry.gate.held)
        assert process.poll() is None
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130 and time.monotonic() - begin < QUICKLY, time.monotonic() - begin
        assert nothing_is_left()
        registry.gate.stands_still = False
        assert run(name, "--quiet", "-c", "echo on") == (0, "on\n", ""), "a pull that was given up can begin again"


def test_the_limit_of_a_command_is_not_that_of_a_pull():
    with absent_image() as (registry, name):
        registry.gate.seconds = 0.1
        begin = time.monotonic()
        status, out, _ = run(name, "--json", "--timeout", "1.5", "-c", "echo on")
        assert time.monotonic() - begin > 2, "the pull was too fast for this test"
        result = json.loads(out)
        assert (status, result["stdout"], result["timedOut"]) == (0, "on\n", False), out


host.open_library(sys.argv[2])
with cleanup:
    tap.main(globals())
