# SPDX-License-Identifier: MIT
"""The host API driven from Python by ctypes: what any language with a C interface can do, from the layout files alone.

    drive.py LIBRARY OLD    OLD is a provider that was built with the frozen headers
"""

import ctypes
import os
import platform
import re
import sys

import abi
import tap

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
    for block in (abi.GOLDEN / f"layout-{platform.machine().replace('_', '-')}.txt").read_text().split("\n\n"):
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
LIBRARY = ctypes.CDLL(sys.argv[1])
LIBRARY.compute_version.restype = ctypes.c_char_p


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


def on(provider, *paths):
    """Gives the test a handle of the provider and the id of an instance."""

    def wrap(test):
        def run():
            with Registry(*paths) as registry:
                handle = registry.resolve(provider)
                try:
                    instance = make("instance")
                    config = make("config", timeout_ms=UNSET, output_limit_bytes=UNSET)
                    call("provision", handle, ctypes.byref(config), None, ctypes.byref(instance))
                    test(handle, instance.id)
                    call("shutdown", handle, instance.id, None)
                finally:
                    LIBRARY.compute_close(handle)

        return run

    return wrap


def fails(function, *arguments):
    """The error of a call that must fail."""
    try:
        function(*arguments)
    except Failure as failure:
        return failure
    raise AssertionError("no error")


def test_the_layout_files_are_what_ctypes_computes():
    assert load_structs().keys() == STRUCTS.keys()


def test_the_version_is_known():
    assert re.fullmatch(rb"\d+\.\d+\.\d+", LIBRARY.compute_version())


def test_local_is_listed():
    with Registry() as registry:
        assert "local" in registry.names(), registry.names()


def test_an_unknown_provider_is_an_error_that_lists_what_there_is():
    with Registry() as registry:
        failure = fails(registry.resolve, b"e2b")
        assert failure.code == -4
        assert failure.message == (
            f"Unknown compute provider 'e2b'. Available: {', '.join(registry.names())}. "
            "Falling back to local would run on the host something you asked to sandbox."
        )


def test_no_name_is_no_provider():
    with Registry() as registry:
        assert registry.resolve(None).value is None
        assert registry.resolve(b"").value is None


@on(b"LOCAL")
def test_output_is_byte_exact(handle, instance):
    result, streams = execute(handle, instance, rb"printf '\000\377\n\r\200'; printf 'err' >&2; exit 7")
    assert (result.outcome, result.exit_code, result.signal) == (1, 7, 0)
    assert streams == {1: b"\0\xff\n\r\x80", 2: b"err"}, streams
    assert (result.stdout_bytes, result.stderr_bytes) == (5, 3)


@on(b"LOCAL")
def test_a_limit_that_passes_is_a_result(handle, instance):
    result, _ = execute(handle, instance, b"sleep 600", timeout_ms=100)
    assert (result.outcome, result.exit_code, result.timeout_ms) == (3, -1, 100)


@on(b"LOCAL")
def test_an_output_limit_keeps_the_first_bytes(handle, instance):
    result, streams = execute(handle, instance, b"printf 0123456789", output_limit_bytes=4)
    assert (streams[1], result.stdout_bytes, result.flags) == (b"0123", 10, 1)


@on(b"LOCAL")
def test_an_unknown_instance_is_an_error(handle, _):
    failure = fails(execute, handle, b"nobody", b"true")
    assert failure.code == -2 and "'nobody'" in failure.message, failure


@on(b"old", sys.argv[2])
def test_a_provider_built_with_the_headers_of_1_0_works(handle, instance):
    result, streams = execute(handle, instance, b"echo hello")
    assert (result.outcome, result.exit_code, result.stdout_bytes, streams[1]) == (1, 0, 10, b"echo hello")
    assert fails(call, "is_available", handle, None).message == "old engines are never there"
    assert fails(call, "put", handle, instance, b"x", 0, 0, None).code == -3


if __name__ == "__main__":
    tap.main(globals())
