# SPDX-License-Identifier: MIT
"""The images of the live tests, made of what this machine has: nothing is pulled, and no build runs in an engine."""

import hashlib
import io
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile

import tap

LABEL = "compute.test"  # on each image, so that whatever runs one has it too
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# What Python 3.11, the shells and the usual tools need of Debian 12.
PACKAGES = """libc6 util-linux libgcc-s1 libcrypt1 dash bash coreutils grep sed findutils procps libproc2-0 libacl1
libattr1 libselinux1 libgmp10 libpcre2-8-0 libtinfo6 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libexpat1
zlib1g libbz2-1.0 liblzma5 libffi8 libssl3 libuuid1 libsystemd0 libcap2 libgcrypt20 liblz4-1 libzstd1
libgpg-error0""".split()
LINKS = {"usr/bin/python3": "python3.11", "usr/local/bin/python": "/usr/bin/python3"}
HERE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
OTHER = "amd64" if HERE == "arm64" else "arm64"

SHOW = r"""
#include <stdio.h>
#include <stdlib.h>

extern char **environ;

/* show [STATUS [WORD...]]: a line for each argument, one for each variable, then the status. */
int
main (int argc, char **argv)
{
  for (int i = 0; i < argc; i++)
    puts (argv[i]);
  for (char **variable = environ; *variable != NULL; variable++)
    puts (*variable);
  return argc > 1 ? atoi (argv[1]) : 0;
}
"""


def need(program):
    """The path of a program, wherever root has it, or a skip."""
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise tap.Skip(f"no {program} here")
    return path


# ---- Layers: each is an open file that holds a tar -----------------------------------------------------------------


def add(archive, path, data=None, mode=0o755, link=None):
    """A file with data, a link, or else a folder. The same input gives the same bytes, hence the same image."""
    entry = tarfile.TarInfo(path)
    entry.mode = mode
    entry.type = tarfile.SYMTYPE if link else tarfile.DIRTYPE if data is None else tarfile.REGTYPE
    entry.linkname = link or ""
    entry.size = len(data or b"")
    archive.addfile(entry, io.BytesIO(data or b""))


def rename_applets(binary, names):
    """busybox without some applets. Links left out would not do: its shell finds the applets it knows by itself. A last
    letter that is one higher leaves the table of names in order, as the search in it wants."""
    table = binary.index(b"\0[\0[[\0")
    for name in names:
        end = binary.index(b"\0" + name.encode() + b"\0", table) + len(name)
        binary = binary[:end] + bytes([binary[end] + 1]) + binary[end + 1 :]
    return binary


def for_another_cpu(binary):
    """An ELF file that says to be for the other of two CPUs: no kernel of this one runs it."""
    machine = {"arm64": 183, "amd64": 62}[OTHER]
    return binary[:18] + machine.to_bytes(2, "little") + binary[20:]


def busybox(without=(), change=bytes):
    program = need("busybox")
    binary = pathlib.Path(program).read_bytes()
    if b"/ld-" in binary[:4096]:
        raise tap.Skip(f"{program} is not static")
    applets = subprocess.run([program, "--list-full"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for folder in ("bin", "etc", "root", "sbin", "srv", "usr", "usr/bin", "usr/sbin"):
            add(archive, folder)
        add(archive, "tmp", mode=0o1777)
        add(archive, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n", 0o644)
        add(archive, "etc/group", b"root:x:0:\nuser:x:1000:\n", 0o644)
        add(archive, "bin/busybox", change(rename_applets(binary, without)))
        for applet in applets:
            name = applet.rpartition("/")[2]
            if applet.startswith(("bin/", "sbin/", "usr/")) and name not in ("busybox", *without):
                add(archive, applet, link="/bin/busybox")
    return layer


def show():
    compiler = shutil.which("musl-gcc") or need("gcc")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "show")
        subprocess.run([compiler, "-static", "-Os", "-x", "c", "-", "-o", program], input=SHOW.encode(), check=True)
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as archive:
            add(archive, "show", program.read_bytes())
    return layer


def python():
    """A small Debian with Python 3.11: the packages of this machine's release, unpacked."""
    layer = tempfile.TemporaryFile()
    with tempfile.TemporaryDirectory(prefix="compute-live-") as name:
        folder, root = pathlib.Path(name), pathlib.Path(name, "root")
        done = subprocess.run([need("apt-get"), "download", "-q", *PACKAGES], cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        for package in sorted(folder.glob("*.deb")):
            subprocess.run([need("dpkg-deb"), "-x", package, root], check=True)
        for link, target in LINKS.items():
            (root / link).parent.mkdir(parents=True, exist_ok=True)
            (root / link).symlink_to(target)
        (root / "tmp").mkdir(mode=0o1777, exist_ok=True)
        (root / "tmp").chmod(0o1777)
        with tarfile.open(fileobj=layer, mode="w") as archive:
            archive.add(root, ".")
    layer.seek(0)
    return layer


# ---- Images --------------------------------------------------------------------------------------------------------

PYTHON = "python:3.11-slim"
BUSYBOX = {"Cmd": ["sh"], "Env": [PATH]}
WHOLE = {  # all that an image can say, in words that are hard to say again
    "User": "1000",
    "WorkingDir": "/w",
    "Env": ["PATH=/w/bin:/usr/bin:/bin", 'ODD=a  "b" $HOME \\c <d>', "OPENAI_API_KEY=of-the-image", "TOKEN=its-own-token"],
    "Entrypoint": ["/bin/sh", "-c", 'echo "$@" <a', "$HOME"],
    "Cmd": ["it's", ""],
    "Volumes": {"/data": {}},
}

# A row each: the name, its layer, its configuration, and for which CPU it says to be. What is in "foreign" runs here
# all the same: only its word is against it.
IMAGES = {
    "compute-test/bare": (busybox, {"Env": [PATH]}, HERE),
    "compute-test/busybox": (busybox, BUSYBOX, HERE),
    "compute-test/entrypoint": (busybox, BUSYBOX | {"Entrypoint": ["/bin/false"], "Cmd": ["odd"]}, HERE),
    "compute-test/foreign": (busybox, BUSYBOX, OTHER),
    "compute-test/no-shell": (show, {"Cmd": ["/show"]}, HERE),
    "compute-test/no-timeout": (lambda: busybox(without=("timeout", "ps", "head")), BUSYBOX, HERE),
    "compute-test/other-cpu": (lambda: busybox(change=for_another_cpu), BUSYBOX, OTHER),
    "compute-test/user": (busybox, BUSYBOX | {"User": "1000", "WorkingDir": "/srv"}, HERE),
    "compute-test/volume": (busybox, BUSYBOX | {"Volumes": {"/data": {}}}, HERE),
    "compute-test/whole": (busybox, WHOLE, HERE),
    PYTHON: (python, {"Cmd": ["python3"], "Env": [PATH, "LANG=C.UTF-8"]}, HERE),
}


class Image:
    """What an engine loads: a layer and what is said about it. Use it with "with"."""

    def __init__(self, name):
        make, config, architecture = IMAGES[name]
        self.name = name
        self.layer = make()
        self.layer.seek(0)
        layer_hash = hashlib.file_digest(self.layer, "sha256").hexdigest()
        self.about = {
            "architecture": architecture,
            "os": "linux",
            "created": "2000-01-01T00:00:00Z",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + layer_hash]},
            "history": [{"created": "2000-01-01T00:00:00Z", "created_by": "tests/live"}],
        }
        self.digest = hashlib.sha256(json.dumps(self.about).encode()).hexdigest()
        self.about["config"] = config | {"Labels": {LABEL: self.digest}}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.layer.close()

    def write(self, stream):
        """The archive that "docker load" takes."""
        size = self.layer.seek(0, io.SEEK_END)
        self.layer.seek(0)
        tag = self.name if ":" in self.name else self.name + ":latest"
        manifest = [{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]
        with tarfile.open(fileobj=stream, mode="w|") as archive:
            add(archive, "config.json", json.dumps(self.about).encode())
            add(archive, "manifest.json", json.dumps(manifest).encode())
            entry = tarfile.TarInfo("layer.tar")
            entry.size = size
            archive.addfile(entry, self.layer)
