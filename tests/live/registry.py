# SPDX-License-Identifier: MIT
"""A registry for the engine's pulls: Debian's own, behind a gate of ours that can be slow, stand still or refuse.

    with Registry(engine) as registry:
        registry.push("compute-test/busybox")
        registry.gate.seconds = 2
"""

import contextlib
import ctypes
import json
import os
import pathlib
import selectors
import socket
import subprocess
import tempfile
import threading
import time

import images

PIECE = 64 * 1024
CLONE_NEWNET = 0x40000000
REFUSED = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}"


def listen_there(network):
    """A socket that listens on loopback in another network, and its port. Only the thread that makes it goes there."""
    made = []

    def make():
        with open(network) as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"setns {network}")
        made.append(socket.create_server(("127.0.0.1", 0)))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made[0], made[0].getsockname()[1]


class Gate:
    """Carries connections from the engine's loopback to the registry's socket."""

    def __init__(self, network, target):
        self.target = target
        self.seconds = 0  # how long each piece of a layer is held
        self.stands_still = False  # no layer gets through
        self.held = False  # one stood still
        self.refuses = False
        self.connections = 0
        self.listener, self.port = listen_there(network)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, near):
        with near, contextlib.suppress(OSError):
            if self.refuses:
                near.recv(PIECE)
                text = json.dumps({"errors": [{"code": "DENIED", "message": "not for you"}]})
                near.sendall(REFUSED.format(len(text), text).encode())
                return
            with socket.socket(socket.AF_UNIX) as far:
                far.connect(self.target)
                self.carry(near, far)

    def carry(self, near, far):
        with selectors.DefaultSelector() as selector:
            selector.register(near, selectors.EVENT_READ, far)
            selector.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in selector.select():
                    data = key.fileobj.recv(PIECE)
                    if not data:
                        return
                    if key.fileobj is far and len(data) > PIECE // 4:
                        self.hold()
                    key.data.sendall(data)

    def hold(self):
        time.sleep(self.seconds)
        while self.stands_still:
            self.held = True
            time.sleep(0.05)

    def close(self):
        """Who comes now is turned away at once; a listener that another thread waits on is not closed by close alone."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Registry:
    def __init__(self, engine, password=False):
        self.engine, self.password = engine, password

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        config = folder / "config"
        config.write_text(json.dumps(self.settings(folder)))  # which is YAML, too
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", images.need("docker-registry"), "serve", config],
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={"PATH": os.environ["PATH"]})
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        end = time.monotonic() + 30
        while not (folder / "socket").exists():
            assert process.poll() is None and time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.02)
        self.gate = Gate(f"/proc/{self.engine.daemon.process.pid}/ns/net", str(folder / "socket"))
        self.stack.callback(self.gate.close)
        return self

    def __exit__(self, *_):
        self.stack.close()

    def settings(self, folder):
        settings = {
            "version": 0.1,
            "log": {"level": "error"},
            "storage": {"filesystem": {"rootdirectory": f"{folder}/data"}},
            "http": {"net": "unix", "addr": f"{folder}/socket", "secret": "none"},
        }
        if self.password:
            (folder / "users").touch()
            settings["auth"] = {"htpasswd": {"realm": "test", "path": f"{folder}/users"}}
        return settings

    def name(self, image):
        return f"127.0.0.1:{self.gate.port}/{image}"

    def push(self, image):
        """The name by which the engine can pull the image. It is taken from the engine."""
        name = self.name(image)
        self.engine.docker("tag", self.engine.image(image), name)
        self.engine.docker("push", "--quiet", name)
        self.engine.docker("rmi", name)
        return name
