# SPDX-License-Identifier: MIT
"""Runs plugin-ls on folders of a test's own, with providers made from the fixtures."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time

PROGRAM = os.environ["COMPUTE_TEST_PLUGIN_LS"]
FIXTURES = pathlib.Path(os.environ["COMPUTE_TEST_FIXTURES"])
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "sdk" / "plugin-ls"
CAPABILITIES = ["execute", "files", "detached", "capture", "isolation"]  # by bit


def fixture(kind):
    return FIXTURES / f"compute-provider-{kind}.so"


def edit_note(data, name=None, abi=None, capabilities=None, details=None):
    """A provider's bytes with another note. abi: (major, minor built, minor required)."""
    data = bytearray(data)
    start = data.index(b"COMPUTE\0CPV1") + 8
    length = struct.unpack_from("<I", data, start + 20)[0]
    if abi is not None:
        struct.pack_into("<HHH", data, start + 4, *abi)
    if capabilities is not None:
        bits = sum(1 << CAPABILITIES.index(word) for word in capabilities.split())
        struct.pack_into("<II", data, start + 12, bits, 0)
    if name is not None:
        struct.pack_into("64s", data, start + 24, name.encode())
    if details is not None:
        text = json.dumps(details, separators=(",", ":")).encode() + b"\0"
        assert len(text) <= length, f"no room for {text!r} in {length} bytes"
        struct.pack_into("<I", data, start + 20, len(text))
        data[start + 88 : start + 88 + length] = text.ljust(length, b"\0")
    return bytes(data)


class Place:
    """A folder with providers, a home and a cache; the whole environment of the program. Use it with "with"."""

    def __init__(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="plugin-ls-")).resolve()
        self.folder = self.top / "providers"
        self.folder.mkdir()
        self.cache = self.top / "cache" / "compute" / "probe.json"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.top), "XDG_CACHE_HOME": str(self.top / "cache")}
        self.env |= {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top)

    def add(self, kind, filename=None, folder=None, **note):
        """Puts a fixture there, with another note when one is given. Returns its path."""
        folder = folder or self.folder
        folder.mkdir(exist_ok=True)
        path = folder / (filename or f"compute-provider-{note.get('name', kind)}.so")
        data = fixture(kind).read_bytes()
        path.write_bytes(edit_note(data, **note) if note else data)
        return path

    def run(self, *args, search=True, env=None, **options):
        """Runs the program on the folder alone. What it prints must be UTF-8."""
        own = ["--path", str(self.folder), "--only"] if search else []
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "timeout": 120} | options
        result = subprocess.run([PROGRAM, *own, *args], env=self.env | (env or {}), check=False, **options)
        result.text = (result.stdout or b"").decode("utf-8")
        result.errors = (result.stderr or b"").decode("utf-8")
        return result

    def document(self, *args, **options):
        return json.loads(self.run("--json", *args, **options).text)

    def provider(self, name, *args, **options):
        """The one provider of that name."""
        (found,) = [provider for provider in self.document(*args, **options)["providers"] if provider["name"] == name]
        return found

    def listing(self, *args, **options):
        """The text as people see it, @ for the folder; without the core's line, which differs, and the warning that
        others may write to a folder in /tmp."""
        lines = self.run(*args, **options).text.replace(str(self.folder), "@").splitlines()
        return [line for line in lines[1:] if not line.startswith("Warning: folder")]


def equal(found, wanted):
    assert found == wanted, f"\n found {found!r}\nwanted {wanted!r}"


def poll(condition, what, seconds=10):
    """Waits until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not so after {seconds} s: {what}"
        time.sleep(0.01)


def processes(*words):
    """The processes whose command lines hold every word."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended
        if all(word.encode() in line for word in words):
            found.append(int(folder.name))
    return found
