# SPDX-License-Identifier: MIT
"""podman on a machine of its own, as root or as an ordinary user: what this machine's podman has, nobody sees or changes.

    podman.move_in(rootless=True)  # from here on, in namespaces of our own
    with podman.Podman() as engine:
        name = engine.image("compute-test/busybox")
        subprocess.run([program], env=os.environ | engine.env)
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import images
import tap
from engine import Client

# The world ends with its first process, and so do its mounts; control groups and the folder are left to who made it.
ALONE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "slave", "--pid", "--fork",
         "--kill-child", "--mount-proc"]
INSIDE = "COMPUTE_TEST_PODMAN"  # in the world: its folder
USER, GROUP = "nobody", "nogroup"
SUBORDINATES = f"{USER}:200000:65536\n"  # ids that an ordinary user may give to those of a container

# Without a network unless one is asked for: what a bridge needs is not everywhere. No systemd is there to be asked for a
# control group, and no journal for events.
CONFIG = """
[containers]
netns = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
"""
STORAGE = """
[storage]
driver = "overlay"
graphroot = "{0}/graph"
runroot = "{0}/runroot"
"""

# An ordinary user's podman finds its containers by these folders, and tests have others of their own. What watches a
# container leaves a file where it was started when memory ran out.
PROGRAM = """#!/bin/sh
unset XDG_CONFIG_HOME XDG_DATA_HOME
cd {0}/home || exit
HOME={0}/home XDG_RUNTIME_DIR={0}/runtime exec podman "$@"
"""


class Podman(Client):
    """Use it with "with", inside."""

    def __init__(self):
        program = f"{os.environ[INSIDE]}/podman"
        super().__init__(program, {"COMPUTE_DOCKER": program})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """All ends with the world."""


# ---- Inside ----------------------------------------------------------------------------------------------------------


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def cover(path, folder):
    """Changes of what is in path stay in folder; and everybody may enter it."""
    upper, work = (pathlib.Path(tempfile.mkdtemp(dir=folder)) for _ in range(2))
    upper.chmod(0o755)
    mount("-t", "overlay", "-o", f"lowerdir={path},upperdir={upper},workdir={work}", "overlay", path)


def open_way(path, folder):
    """Lets an ordinary user reach the tests, wherever they are."""
    for parent in reversed(pathlib.Path(path).resolve().parents):
        if not parent.stat().st_mode & 0o001:
            cover(parent, folder)


def furnish(folder):
    for path in ("/run", "/dev/shm", folder):
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", path)
    os.chmod("/dev/shm", 0o1777)
    for path in ("/etc", "/var/lib"):
        cover(path, folder)
    containers = pathlib.Path("/etc/containers")
    (containers / "containers.conf").write_text(CONFIG)
    (containers / "storage.conf").write_text(STORAGE.format(folder))
    program = pathlib.Path(folder, "podman")
    program.write_text(PROGRAM.format(folder))
    program.chmod(0o755)
    for name in ("home", "runtime"):
        pathlib.Path(folder, name).mkdir(mode=0o700)


def move_out_of_root(folder):
    """The words before a command that make it an ordinary user's."""
    for name in ("/etc/subuid", "/etc/subgid"):
        pathlib.Path(name).write_text(SUBORDINATES)
    for path in (sys.executable, "here", *sys.argv[3:]):
        open_way(path, folder)
    for name in ("home", "runtime"):
        shutil.chown(pathlib.Path(folder, name), USER, GROUP)
    return ["setpriv", f"--reuid={USER}", f"--regid={GROUP}", "--clear-groups", "env", f"HOME={folder}/home",
            f"XDG_RUNTIME_DIR={folder}/runtime"]


def main(folder, rootless, *command):
    """The first process of the world makes it and becomes the one that it is for."""
    here = os.getcwd()
    furnish(folder)
    words = move_out_of_root(folder) if rootless == "rootless" else []
    os.environ[INSIDE] = folder
    os.chdir(here)  # as it looks now
    words += [sys.executable, *command]
    os.execvp(words[0], words)


# ---- Outside ---------------------------------------------------------------------------------------------------------


def groups():
    """The control groups that podman makes, deepest first."""
    return [path for path, _, _ in os.walk("/sys/fs/cgroup", topdown=False) if "/libpod_parent" in path]


def run_inside(folder, rootless):
    """What podman starts shares a control group of the machine's: one at a time."""
    with open(pathlib.Path(tempfile.gettempdir(), "compute-test-podman"), "w", encoding="utf-8") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        return run_inside_alone(folder, rootless)


def run_inside_alone(folder, rootless):
    before = groups()
    command = [__file__, folder, "rootless" if rootless else "rootful", *sys.argv]
    process = subprocess.Popen([*ALONE, sys.executable, *command])
    try:
        return process.wait()
    finally:
        process.kill()
        process.wait()
        for path in groups():
            if path not in before:
                os.rmdir(path)


def move_in(rootless):
    """Goes on, or runs this program again, inside, and ends as it does."""
    if INSIDE in os.environ:
        return
    try:
        for program in ("podman", "runc", *["newuidmap"] * rootless):
            images.need(program)
        if os.geteuid() != 0:
            raise tap.Skip("only root can make a machine for podman")
    except tap.Skip as reason:
        print(f"1..0 # SKIP {reason}")
        sys.exit()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="compute-live-") as folder:
        os.chmod(folder, 0o755)
        sys.exit(run_inside(folder, rootless))


if __name__ == "__main__":
    main(*sys.argv[1:])
