# SPDX-License-Identifier: MIT
"""A real Docker engine for tests: the one that answers here, or one of our own that leaves nothing behind.

    with Engine() as engine:
        name = engine.image("compute-test/busybox")
        engine.docker("run", "--rm", name, "echo", "hi").stdout
        subprocess.run([program], env=os.environ | engine.env)
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import images
import tap

SOCKET = "unix:///var/run/docker.sock"
START_SECONDS = 60
STOP_SECONDS = 5

# An engine of our own has its bridge in a network of its own, too. Shims have their sockets in /run, whatever is set.
PREPARE = 'mount -t tmpfs tmpfs /run && busybox ip link set lo up && exec "$@"'
ALONE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "slave", "--net", "--pid", "--fork",
         "--kill-child", "--mount-proc", "sh", "-c", PREPARE, "sh"]


def environment(host):
    """For programs that are to use this engine. A context would count more than the host."""
    return {"DOCKER_HOST": host, "DOCKER_CONTEXT": ""}


class Client:
    """A program that is used like docker, and what it has loaded."""

    def __init__(self, program, env):
        self.program = program
        self.env = env  # for programs that are to use the same engine
        self.loaded = []

    def docker(self, *args, check=True, **options):
        """How the client ended, with its output as text. It must succeed unless check=False. Other options: run's."""
        stdin = {} if "input" in options else {"stdin": subprocess.DEVNULL}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 120} | stdin | options
        done = subprocess.run([self.program, *args], env=os.environ | self.env, check=False, **options)
        called = f"{self.program} {' '.join(args)}"
        assert not check or done.returncode == 0, f"{called}: status {done.returncode}: {done.stderr}"
        return done

    def image(self, name):
        """Makes one of images.IMAGES, unless the engine has it, and returns its name."""
        if name in self.loaded:
            return name
        with images.Image(name) as image:
            label = f'{{{{index .Config.Labels "{images.LABEL}"}}}}'
            there = self.docker("image", "inspect", "--format", label, name, check=False)
            if there.stdout.strip() != image.digest:
                self.load(image)
        return name

    def load(self, image):
        with tempfile.TemporaryFile() as archive:
            image.write(archive)
            archive.seek(0)
            self.docker("load", "--quiet", stdin=archive)
        self.loaded.append(image.name)


def answers(host):
    client = Client("docker", environment(host))
    try:
        return client.docker("version", "--format", "{{.Server.Version}}", check=False, timeout=10).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def remove_files(folder):
    """What an engine that has ended leaves: its folder and, in each hierarchy, the control group of its containers."""
    for group, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if f"/{folder.name}/" in group + "/":
            os.rmdir(group)
    shutil.rmtree(folder)


class Daemon:
    """dockerd in a folder of its own. It needs root."""

    def __init__(self):
        program = images.need("dockerd")
        if os.geteuid() != 0:
            raise tap.Skip("no engine answers, and only root can start one")
        self.program = program
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="compute-live-"))
        self.host = f"unix://{self.folder}/sock"
        self.log = self.folder / "log"
        (self.folder / "daemon.json").write_text(json.dumps(self.settings()))
        self.start()

    def start(self):
        """Also after end: what it has is what its folder has, as after a boot."""
        (self.folder / "pid").unlink(missing_ok=True)
        shutil.rmtree(self.folder / "exec", ignore_errors=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*ALONE, self.program, "--config-file", self.folder / "daemon.json"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def settings(self):
        """No rule of a firewall: the bridge joins the containers, and leads nowhere else."""
        return {
            "data-root": f"{self.folder}/data",
            "exec-root": f"{self.folder}/exec",
            "pidfile": f"{self.folder}/pid",
            "hosts": [self.host],
            "iptables": False,
            "ip6tables": False,
            "ip-masq": False,
            "cgroup-parent": self.folder.name,
            "exec-opts": ["native.cgroupdriver=cgroupfs"],
        }

    def wait(self):
        deadline = time.monotonic() + START_SECONDS
        while not answers(self.host):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("dockerd does not answer:\n" + self.log.read_text()[-2000:])
            time.sleep(0.1)

    def signal(self, number):
        """To dockerd and to unshare, which only KILL ends. False when both are gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
            return True
        return False

    def end(self):
        """The kernel lets go of dockerd only once everything in its namespaces has ended."""
        self.signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=STOP_SECONDS)
        self.signal(signal.SIGKILL)
        self.process.wait()
        while self.signal(0):
            time.sleep(0.01)

    def stop(self):
        self.end()
        remove_files(self.folder)


class Engine(Client):
    """Use it with "with". private: an engine of our own even where another one answers. An engine that was there before
    loses the images that it got from here, and every container of such an image."""

    def __init__(self, private=False):
        super().__init__("docker", {})
        self.private = private
        self.daemon = None

    def __enter__(self):
        images.need("docker")
        hosts = [] if self.private else [os.environ.get("DOCKER_HOST"), SOCKET]
        self.host = next((host for host in hosts if host and answers(host)), None)
        if self.host is None:
            self.start()
        self.env = environment(self.host)
        return self

    def start(self):
        """From here on, whoever is told to end, ends the engine first."""
        self.daemon = Daemon()
        self.host = self.daemon.host
        self.handler = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            self.daemon.wait()
        except BaseException:
            self.stop()
            raise

    def stop(self):
        """Who is told to end twice, still ends the engine."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.daemon.stop()
        signal.signal(signal.SIGTERM, self.handler)

    def __exit__(self, *_):
        try:
            self.remove()
        finally:
            if self.daemon:
                self.stop()

    def remove(self):
        """Containers go first, even from an engine that ends with them: it would give each ten seconds. A test may have
        ended an engine of our own, and a container may go by itself meanwhile; one that stays keeps its image."""
        ours = self.daemon is not None
        found = self.docker("ps", "--all", "--quiet", "--filter", f"label={images.LABEL}", check=not ours)
        if found.stdout:
            self.docker("rm", "--force", "--volumes", *found.stdout.split(), check=False)
        if self.loaded and not ours:
            self.docker("rmi", *self.loaded)

    def image(self, name):
        if name == images.PYTHON and not self.daemon:
            raise tap.Skip(f"{name} is not replaced in an engine that is not ours")
        return super().image(name)
