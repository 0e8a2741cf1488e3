# SPDX-License-Identifier: MIT
"""The host API driven from Python by ctypes, from the layout files alone. open_library(PATH) comes first."""

import ctypes
import os
import pathlib
import platform
import re

GOLDEN = pathlib.Path(__file__).resolve().parent / "abi/1.0"
OUTPUT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64)
NAME = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
UNSET = -(2**63)


def field_type(text):
    """The ctypes type of a member as a layout file names it."""
    number = re.fullmatch(r"u?int(8|16|32|64)_t", text)
    array = re.fullmatch(r"char\[(\d+)\]", text)
    if number:
        return getattr(ctypes, "c_" + text[:-2])
    if array:
        return ctypes.c_char * int(array.group(1))
    return ctypes.c_char_p if text == "const char *" else ctypes.c_void_p


def load_structs():
    """A class for each struct of this machine's layout file. Each starts with its size filled in."""
    classes = {}
    for block in (GOLDEN / f"layout-{platform.machine().replace('_', '-')}.txt").read_text().split("\n\n"):
        head, *members, last = block.splitlines()
        rows = [re.fullmatch(r" *(\d+) (.*\S) +(\w+)", line).groups() for line in members]
        name = head.removeprefix("struct compute_")
        fields = [(member, field_type(text)) for _, text, member in rows]
        classes[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
        for offset, _, member in rows:
            assert getattr(classes[name], member).offset == int(offset), f"{head}: {member}"
        assert f"size {ctypes.sizeof(classes[name])}," in last, head
    return classes


STRUCTS = load_structs()
LIBRARY = None


def open_library(path):
    global LIBRARY
    LIBRARY = ctypes.CDLL(path)
    LIBRARY.compute_version.restype = ctypes.c_char_p
    return LIBRARY


def make(name, **members):
    struct = STRUCTS[name](**members)
    struct.size = ctypes.sizeof(struct)
    return struct


class Failure(Exception):
    """An error record."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


def call(function, *arguments):
    """Calls a function whose last parameter is the error record."""
    err = make("error")
    code = getattr(LIBRARY, f"compute_{function}")(*arguments, ctypes.byref(err))
    if code != 0:
        assert err.code == code, (function, code, err.code)
        raise Failure(code, err.message.decode())


class Registry:
    """A registry as a context; paths are searched first."""

    def __init__(self, *paths):
        self.pointer = ctypes.c_void_p()
        self.array = (ctypes.c_char_p * len(paths))(*(os.fsencode(os.path.abspath(path)) for path in paths))
        self.options = make("registry_options", paths=ctypes.cast(self.array, ctypes.c_void_p), path_count=len(paths))

    def __enter__(self):
        call("registry_open", ctypes.byref(self.options), ctypes.byref(self.pointer))
        return self

    def __exit__(self, *_):
        LIBRARY.compute_registry_close(self.pointer)

    def names(self):
        found = []
        call("list", self.pointer, NAME(lambda _, name: found.append(name.decode()) or 0), None)
        return found

    def resolve(self, name):
        handle = ctypes.c_void_p()
        call("resolve", self.pointer, name, ctypes.byref(handle))
        return handle


def provision(handle, caller=None, **settings):
    """The id of a new instance."""
    instance = make("instance")
    config = make("config", **{"timeout_ms": UNSET, "output_limit_bytes": UNSET, **settings})
    call("provision", handle, ctypes.byref(config), caller and ctypes.byref(caller), ctypes.byref(instance))
    return instance.id


def execute(handle, instance, script, **settings):
    """Runs a script; returns the result and {stream: bytes}."""
    streams = {1: b"", 2: b""}

    def output(_, stream, data, count):
        streams[stream] += ctypes.string_at(data, count)
        return 0

    keep = OUTPUT(output)
    command = make("command", script=script, stdin_fd=-1)
    config = make("config", **{"timeout_ms": UNSET, "output_limit_bytes": UNSET, **settings})
    caller = make("call", cancel_fd=-1, output=ctypes.cast(keep, ctypes.c_void_p))
    result = make("result")
    structs = [ctypes.byref(struct) for struct in (command, config, caller, result)]
    call("execute", handle, instance, *structs)
    return result, streams
