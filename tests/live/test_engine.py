# SPDX-License-Identifier: MIT
"""The engine of the live tests: it runs, its images are what they say, and it leaves nothing."""

import contextlib
import functools
import os
import pathlib
import signal
import subprocess
import sys
import time
from unittest import mock

import images
import tap
from engine import Engine, remove_files

cleanup = contextlib.ExitStack()


@functools.cache
def engine():
    """The one that most tests share."""
    return cleanup.enter_context(Engine(private=True))


def run(name, *words, options=(), status=0):
    """What a container of an image prints."""
    command = ["run", "--rm", "--network", "none", *options, engine().image(name), *words]
    done = engine().docker(*command, check=False)
    assert done.returncode == status, (command, done)
    return done.stdout


def config(name):
    """What an image says about itself."""
    format = "{{.Architecture}} {{json .Config}}"
    return engine().docker("image", "inspect", "--format", format, engine().image(name)).stdout


def names(engine):
    """An engine's images, with their ids."""
    return sorted(engine.docker("images", "--all", "--format", "{{.Repository}} {{.ID}}").stdout.splitlines())


def shell(name, script, **options):
    return run(name, "sh", "-c", script, **options)


def traces(folder):
    """What is left of an engine of our own: processes, mounts, control groups, and the folder."""
    found = [folder] if os.path.exists(folder) else []
    name = os.path.basename(folder)
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if name.encode() in path.read_bytes():
                found.append(path)
    found += [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if name in line]
    return found + [path for path, _, _ in os.walk("/sys/fs/cgroup") if name in path]


def running(folder):
    """What still runs of an engine and its containers. A process that is about to end has no command line any more."""
    found = [trace for trace in traces(folder) if str(trace).startswith("/proc")]
    for path, _, _ in os.walk("/sys/fs/cgroup"):
        if os.path.basename(folder) in path:
            with contextlib.suppress(OSError):
                found += pathlib.Path(path, "cgroup.procs").read_text().split()
    return found


def test_busybox_runs():
    assert run("compute-test/busybox", "sh", "-c", "echo hi") == "hi\n"
    assert shell("compute-test/busybox", "/usr/bin/timeout 5 /usr/bin/head -n 1 /etc/group") == "root:x:0:\n"


def test_containers_reach_each_other_and_nothing_else():
    name = engine().image("compute-test/busybox")
    server = engine().docker("run", "--detach", name, "nc", "-l", "-p", "80", "-e", "echo", "hello").stdout.strip()
    address = engine().docker("inspect", "--format", "{{.NetworkSettings.IPAddress}}", server).stdout.strip()
    script = f"until nc {address} 80; do sleep 0.1; done; ip route"
    assert engine().docker("run", "--rm", name, "timeout", "20", "sh", "-c", script).stdout.startswith("hello\n")


def test_an_image_is_made_once():
    name = engine().image("compute-test/busybox")
    before = names(engine())
    engine().loaded.remove(name)
    engine().image(name)
    assert engine().loaded.count(name) == 0 and names(engine()) == before


def test_the_image_with_python():
    script = "import json, sys; print(json.dumps(sys.version_info[:2]))"
    assert run(images.PYTHON, "python", "-c", script) == "[3, 11]\n"
    assert shell(images.PYTHON, "command -v python3; command -v bash") == "/usr/bin/python3\n/bin/bash\n"


def test_the_image_without_a_shell():
    shown = run("compute-test/no-shell", "/show", "7", "a b", options=["--env", "NAME=value"], status=7).splitlines()
    assert shown[:3] == ["/show", "7", "a b"] and "NAME=value" in shown, shown
    shell("compute-test/no-shell", "true", status=127)


def test_the_image_of_a_user():
    assert shell("compute-test/user", "id -u; pwd; test -w . || echo read-only") == "1000\n/srv\nread-only\n"


def test_the_image_with_an_odd_entrypoint():
    assert run("compute-test/entrypoint", status=1) == ""
    assert '"Cmd":["odd"]' in config("compute-test/entrypoint")


def test_the_image_without_timeout():
    script = "timeout 1 true; echo $?; ps; echo $?; head -n 1 /etc/group; echo $?; tail -n 1 /etc/group; ls /bin/sh"
    assert shell("compute-test/no-timeout", script) == "127\n127\n127\nuser:x:1000:\n/bin/sh\n"


def test_the_image_with_a_volume():
    assert " /data " in shell("compute-test/volume", "grep ' /data ' /proc/mounts")


def test_the_image_of_another_cpu():
    assert config("compute-test/foreign").split()[0] not in (images.HERE, config("compute-test/busybox").split()[0])
    assert shell("compute-test/foreign", "echo here") == "here\n"


def test_nothing_is_left():
    with Engine(private=True) as ended:
        folder = str(ended.daemon.folder)
        name = ended.image("compute-test/busybox")
        ended.docker("run", "--detach", name, "sh", "-c", "sleep 1000 & setsid sleep 1000")
        assert len(traces(folder)) > 3, traces(folder)
    assert not traces(folder), traces(folder)


def start_other():
    """A program that uses an engine until it is ended, and the engine's folder."""
    engine()  # or a skip
    script = """if True:
        import time, engine
        with engine.Engine(private=True) as other:
            other.docker("run", "--detach", other.image("compute-test/busybox"), "sleep", "1000")
            print(other.daemon.folder, flush=True)
            time.sleep(1000)"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, text=True)
    folder = process.stdout.readline().strip()
    process.stdout.close()
    return process, folder


def test_a_program_told_to_end_leaves_nothing():
    process, folder = start_other()
    process.terminate()
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert not traces(folder), traces(folder)


def test_a_killed_program_leaves_files_only():
    process, folder = start_other()
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while running(folder):
        assert time.monotonic() < deadline, traces(folder)
        time.sleep(0.1)
    remove_files(pathlib.Path(folder))
    assert not traces(folder), traces(folder)


def test_an_engine_that_was_there_keeps_what_it_had():
    with Engine(private=True) as host:
        host.docker("import", "-", "theirs", input=images.busybox().getvalue(), text=False)
        theirs = host.docker("run", "--detach", "--network", "none", "theirs", "sleep", "1000").stdout
        host.image("compute-test/busybox")
        before = names(host)
        with mock.patch.dict(os.environ, host.env), Engine() as guest:
            assert guest.host == host.host and guest.daemon is None
            for name in ("compute-test/busybox", "compute-test/volume"):
                guest.docker("run", "--detach", guest.image(name), "sleep", "1000")
            assert guest.loaded == ["compute-test/volume"]
        assert names(host) == before
        assert host.docker("ps", "--quiet", "--no-trunc").stdout == theirs
        host.docker("rm", "--force", theirs.strip())


with cleanup:
    tap.main(globals())
