# SPDX-License-Identifier: MIT
"""The host API driven from Python by ctypes: what any language with a C interface can do, from the layout files alone.

    drive.py LIBRARY OLD    OLD is a provider that was built with the frozen headers
"""

import re
import sys

import tap
from host import STRUCTS, Failure, Registry, call, execute, load_structs, make, open_library, provision

LIBRARY = open_library(sys.argv[1])


def on(provider, *paths):
    """Gives the test a handle of the provider and the id of an instance."""

    def wrap(test):
        def run():
            with Registry(*paths) as registry:
                handle = registry.resolve(provider)
                try:
                    instance = provision(handle)
                    test(handle, instance)
                    call("shutdown", handle, instance, None)
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
