# SPDX-License-Identifier: MIT
"""Every fixture is survived and named, with the reason that it is there for, by the file alone and by loading it."""

import os
import re

import tap
from lister import FIXTURES, Place, equal

OK = ("ok", None)
SANITIZED = os.environ["COMPUTE_TEST_SANITIZE"] != "none"


def failed(reason):
    return ("failed", reason)


# A fixture that the file alone betrays: pattern of its name, state, reason. The first that matches counts.
STATIC = [
    ("no-note", OK[0], "E_NO_NOTE"),  # it can be loaded by name
    ("no-note-no-entry", *failed("E_NO_NOTE")),
    ("no-entry", *failed("E_NO_ENTRY")),
    ("foreign-entry", *failed("E_FOREIGN_ENTRY")),
    ("asan", *(OK if SANITIZED else failed("E_UNDEFINED_SYMBOL"))),  # what it wants is in programs that are built so
    ("missing-dep", *failed("E_MISSING_DEP")),
    ("symver", *failed("E_SYMBOL_VERSION")),
    ("exec-stack", OK[0], "E_EXECSTACK"),
    ("static-tls.*", OK[0], "E_STATIC_TLS"),
    ("note-not-utf8", *failed("E_BAD_NOTE")),
    ("name-invalid", *failed("E_BAD_NOTE")),
    ("program", *failed("E_NOT_DSO")),
    ("bytes/machine", "other_arch", "E_MACHINE"),
    ("bytes/class(-32)?", "other_arch", "E_CLASS"),
    ("bytes/endian.*", "other_arch", "E_ENDIAN|E_CLASS"),
    ("bytes/class-64", "ok|other_arch", None),
    ("bytes/type-.*", *failed("E_NOT_DSO")),
    ("bytes/cut-.*", "ok|failed", "None|E_TRUNCATED"),  # OK when only what is not loaded was cut off
    ("bytes/(phnum-huge|phoff-eof|load-eof|dynamic-eof|note-eof)", *failed("E_TRUNCATED")),
    ("bytes/minor-built", *OK),
    ("bytes/minor-required", *failed("E_ABI_TOO_NEW")),
    ("bytes/major-.*", *failed("E_ABI_MAJOR")),
    ("bytes/note-escapes", *OK),
    ("bytes/note-.*", *failed("E_BAD_NOTE")),
    ("bytes/(empty|text|short-text)", *failed("E_NOT_ELF")),
    ("bytes/folder", *failed("E_NOT_REGULAR")),
    ("bytes/(dangling|loop)", *failed("E_OPEN")),
    ("bytes/.*", *failed("E_[A-Z_]+")),
    (".*", *OK),
]

# What only loading shows.
LOADED = {
    "undefined": "E_UNDEFINED_SYMBOL",
    "static-tls-large": "E_STATIC_TLS",
    "init-asks": "E_INIT_FAILED",
    "init-fail": "E_INIT_FAILED",
    "init-positive": "E_INIT_FAILED",
    "init-crash": "E_INIT_SIGNAL",
    "load-crash": "E_INIT_SIGNAL",
    "init-exit0": "E_INIT_EXIT",
    "init-exit1": "E_INIT_EXIT",
    "load-exit": "E_INIT_EXIT",
    "init-hang": "E_INIT_TIMEOUT",
    "load-hang": "E_INIT_TIMEOUT",
    "init-reenter": "E_INIT_FAILED",
    "disagrees-name": "E_INCONSISTENT",
    "disagrees-version": "E_INCONSISTENT",
    "disagrees-capabilities": "E_INCONSISTENT",
    "struct-too-short": "E_INCONSISTENT",
    "struct-major": "E_ABI_MAJOR",
    "no-execute": "E_INCONSISTENT",
}


def kind_of(path):
    relative = os.path.relpath(path, FIXTURES)
    return re.sub(r"compute-provider-(.*)\.so$", r"\1", relative)


def files():
    """Every fixture, by its kind."""
    found = [*FIXTURES.glob("compute-provider-*.so"), *(FIXTURES / "bytes").glob("compute-provider-*.so")]
    assert len(found) > 100, found
    return {kind_of(path): path for path in found}


def few_cuts(found):
    """Without most of the files that were cut off somewhere: for what takes a process each."""
    return {kind: path for kind, path in found.items() if "/cut-" not in kind or int(kind[-6:]) % 1024 == 0}


def inspect(place, *args, chosen=None):
    document = place.document(*args, *map(str, (chosen or files()).values()), search=False)
    equal(document["not_found"], [])
    return {kind_of(provider["path"]): provider for provider in document["providers"]}


def compare(found, wanted):
    wrong = [
        f"{kind}: {found.get(kind)}, wanted {want}"
        for kind, want in wanted.items()
        if not re.fullmatch(want[0], found[kind][0]) or not re.fullmatch(str(want[1]), str(found[kind][1]))
    ]
    assert not wrong, "\n".join(["", *wrong])


def static_verdict(kind):
    return next((state, reason) for pattern, state, reason in STATIC if re.fullmatch(pattern, kind))


def test_the_file_alone_names_what_it_can():
    with Place() as place:
        found = inspect(place)
        equal(sorted(found), sorted(files()))
        compare({kind: (p["state"], p["reason"]) for kind, p in found.items()}, {kind: static_verdict(kind) for kind in found})


def test_every_reason_has_a_message_and_a_way_out():
    with Place() as place:
        for kind, provider in inspect(place).items():
            if provider["reason"] is not None:
                assert provider["message"] and provider["hint"], (kind, provider["message"], provider["hint"])


def test_loading_shows_the_rest():
    with Place() as place:
        chosen = {kind: path for kind, path in files().items() if not kind.startswith("bytes/")}
        found = inspect(place, "--probe", chosen=chosen)
        wanted = {kind: failed(LOADED[kind]) if kind in LOADED else static_verdict(kind) for kind in chosen}
        compare({kind: (p["state"], p["reason"]) for kind, p in found.items()}, wanted)
        equal([kind for kind, p in found.items() if (p["state"] == "ok") != (p["probe"] is not None and p["probe"]["result"] == "ok")], [])


def test_deps_find_undefined_symbols_without_loading():
    with Place() as place:
        provider = inspect(place, "--deps", chosen={"undefined": files()["undefined"]})["undefined"]
        equal((provider["state"], provider["reason"]), failed("E_UNDEFINED_SYMBOL"))
        equal(provider["elf"]["undefined"], ["no_such_function"])


def test_what_passes_the_checks_never_crashes_the_linker():
    with Place() as place:
        chosen = few_cuts({kind: path for kind, path in files().items() if kind.startswith("bytes/")})
        for kind, provider in inspect(place, "--probe", chosen=chosen).items():
            if provider["probe"] is not None:
                assert provider["probe"]["result"] in ("ok", "failed"), (kind, provider["probe"])


def test_why_tells_every_fixture_as_the_list_does():
    with Place() as place:
        for kind, path in few_cuts(files()).items():
            document = place.document("--why", str(path))
            (provider,) = document["providers"]
            bad = [check["reason"] for check in document["checks"] if not check["passed"]]
            if provider["state"] == "ok":
                equal((kind, bad), (kind, []))
            else:
                equal((kind, bad[:1]), (kind, [provider["reason"]]))


def test_a_folder_of_all_fixtures_lists_each_once():
    with Place() as place:
        result = place.run("--all", "--path", str(FIXTURES), "--path", str(FIXTURES / "bytes"), "--only", search=False)
        equal(result.returncode, 1)
        for kind, path in files().items():
            rows = [line for line in result.text.splitlines() if re.search(rf" {re.escape(str(path))}(  \(by .*)?$", line)]
            equal((kind, len(rows)), (kind, 1))


if __name__ == "__main__":
    tap.main(globals())
