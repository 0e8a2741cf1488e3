# SPDX-License-Identifier: MIT
"""The text that people read."""

import os
import re
import shutil

import tap
from lister import FIXTURES, Place, edit_note, equal, fixture


def test_the_first_line_is_the_core():
    with Place() as place:
        first = place.run().text.splitlines()[0]
        assert re.fullmatch(r"core \d+\.\d+\.\d+ \(ABI 1\.\d+\) (glibc \d+\.\d+|musl) \S+ /.*/libcompute\.so\S*", first), first


def test_the_list_reads_like_this():
    with Place() as place:
        place.add("ok", name="acme", capabilities="execute files", details={"version": "2.3.1"})
        place.add("ok", name="future", abi=(1, 4, 3), details={"version": "0.9"})
        place.add("ok", name="older", abi=(0, 7, 7))
        (place.folder / "compute-provider-text.so").write_text("no library")
        place.add("ok", folder=place.top / "second", name="acme")
        lines = place.listing("--path", str(place.top / "second"), "--all")
        equal([re.sub(r"^ {11}(E_[A-Z_]+): .*", r"           \1: ...", line) for line in lines], [
            "NAME     VERSION  ABI      STATE     CAPABILITIES  FILE",
            "acme     2.3.1    1.0      ok        execute files @/compute-provider-acme.so",
            "future   0.9      1.4>=1.3 FAILED    execute       @/compute-provider-future.so",
            "           E_ABI_TOO_NEW: ...",
            "older    -        0.7      FAILED    execute       @/compute-provider-older.so",
            "           E_ABI_MAJOR: ...",
            "text     -        -        FAILED    -             @/compute-provider-text.so",
            "           E_NOT_ELF: ...",
            f"acme     1.0      1.0      shadowed  execute       {place.top}/second/compute-provider-acme.so"
            "  (by @/compute-provider-acme.so)",
            "4 providers: 1 ok, 3 failed, 1 shadowed.",
        ])
        (reason,) = [line for line in lines if "E_ABI_TOO_NEW" in line]
        assert re.search(r"needs .*1\.3.*core.*1\.0.*\. Update the core, or ask the vendor", reason), reason


def test_quiet_states_are_counted_and_shown_with_all_only():
    with Place() as place:
        place.add("ok", name="acme")
        place.add("ok", folder=place.top / "second", name="acme")
        both = ["--path", str(place.top / "second")]
        equal(place.listing(*both)[-1], "1 provider: 1 ok, 1 shadowed (--all shows every one).")
        equal(len(place.listing(*both)), 3)
        equal(len(place.listing(*both, "--all")), 4)
        equal(len(place.listing(*both, "acme")), 4)  # who names it, wants it all


def test_what_is_passed_over_is_named():
    with Place() as place:
        place.add("ok")
        path = f"{place.folder}::relative/x:~/y:{place.folder}"
        text = place.run(search=False, env={"COMPUTE_PROVIDER_PATH": path, "COMPUTE_PROVIDER_PATH_ONLY": "1"}).text
        for element, name in ((2, ""), (3, "relative/x"), (4, "~/y")):
            assert f'COMPUTE_PROVIDER_PATH element {element} "{name}" (' in text, text
        text = place.run("--path", "/nonexistent").text
        assert 'Ignored: --path element 2 "/nonexistent" (' in text, text


def test_a_relative_folder_on_the_command_line_starts_here():
    with Place() as place:
        path = place.add("ok")
        text = place.run("--path", "providers", "--only", search=False, cwd=place.top).text
        assert str(path) in text, text


def test_a_terminal_sees_no_control_character_of_ours():
    with Place() as place:
        evil = "a\n\x1b[31m\x07\u202eb\u0085"
        data = edit_note(fixture("ok").read_bytes(), details={"version": "1\x1b[2J"})
        for name in (os.fsencode(evil), b"\xff\xfe'\""):
            with open(os.path.join(os.fsencode(place.folder), b"compute-provider-" + name + b".so"), "wb") as file:
                file.write(data)
        for args in (["--all"], ["--probe"], ["--deps"]):
            text = place.run(*args).text
            assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), repr(text)
            assert "a\\x0a\\x1b[31m\\x07\\xe2\\x80\\xaeb\\xc2\\x85.so" in text, text
            assert "\\xff\\xfe'\"" in text, text
        result = place.run(evil)
        equal(result.errors, "plugin-ls: 'a\\x0a\\x1b[31m\\x07\\xe2\\x80\\xaeb\\xc2\\x85': no such provider\n")


def test_one_long_cell_does_not_stretch_the_table():
    with Place() as place:
        place.add("ok", name="a" * 63)
        place.add("ok", name="b")
        lines = place.listing()
        assert lines[1].startswith("a" * 63 + " 1.0  "), lines[1]
        assert lines[2].startswith("b" + " " * 40 + "1.0  "), lines[2]


def test_deps_tell_what_is_wanted_and_where_it_is():
    with Place() as place:
        place.add("missing-dep")
        place.add("undefined")
        place.add("exec-stack")
        place.add("static-tls")
        text = "\n".join(place.listing("--deps"))
        assert re.search(r"\n {11}needs lib\S+ => not found", text), text
        assert re.search(r"\n {11}needs libc\.so\.6 => /\S+/libc\.so\.6\n", text), text
        assert re.search(r"\n {11}undefined symbol \w+\n", text), text
        assert "\n           wants an executable stack\n" in text, text
        assert "\n           uses static TLS\n" in text, text
        assert "needs" not in "\n".join(place.listing())


def test_deps_tell_two_libraries_of_one_name():
    with Place() as place:
        second = place.top / "second"
        paths = [place.add("missing-dep", name="first"), place.add("missing-dep", name="second", folder=second)]
        libraries = [path.parent / "nothing-here" / "libfixture-absent.so.4" for path in paths]
        for library in libraries:
            library.parent.mkdir()
            shutil.copy(FIXTURES / "libfixture-gone.so", library)
        text = "\n".join(place.listing("--deps", "--path", str(second))).replace("@", str(place.folder))
        equal(text.count("clash: "), 1)
        clash = f"clash: wanted libfixture-absent.so.4 from {libraries[1]}, already provided by {paths[0]}"
        assert f"           {clash}\n" in text, text


def test_why_shows_every_check_in_order_then_the_verdict():
    with Place() as place:
        path = place.add("ok", name="future", abi=(1, 9, 9))
        result = place.run("--why", str(path))
        equal(result.returncode, 1)
        checks, verdict = result.text.split("\n\n", 1)
        marks = [line.split()[0] for line in checks.splitlines()]
        equal(marks.count("FAIL"), 1)
        assert marks.index("FAIL") > 3, checks
        assert "E_ABI_TOO_NEW" in checks.splitlines()[marks.index("FAIL")], checks
        assert "E_ABI_TOO_NEW: " in verdict, verdict
        result = place.run("--why", str(place.add("ok")))
        equal(result.returncode, 0)
        equal({line.split()[0] for line in result.text.split("\n\n")[0].splitlines()} - {"pass", "warn"}, set())


def test_paths_show_every_folder_with_its_fate():
    with Place() as place:
        place.add("ok")
        (place.top / "open").mkdir()
        (place.top / "open").chmod(0o777)
        (place.top / "file").write_text("")
        env = {"COMPUTE_PROVIDER_PATH": f"{place.top}/open:rel:{place.top}/file:{place.top}/none:{place.folder}"}
        result = place.run("--paths", "--path", str(place.folder), search=False, env=env)
        equal(result.returncode, 1)
        rows = {line.split()[-1]: line.split() for line in result.text.splitlines() if not line.startswith(" ")}
        equal(rows[str(place.folder)][:2], ["env", "duplicate"])
        equal([rows[f"{place.top}/{name}"][1] for name in ("file", "none")], ["not_dir", "missing"])
        equal(rows["rel"][1], "relative")
        equal(rows[f"{place.top}/open"][3:5], ["0777", "no"])
        assert any(line.split()[:2] == ["api", "ok"] for line in result.text.splitlines()), result.text
        assert "system" in {row[0] for row in rows.values()}


if __name__ == "__main__":
    tap.main(globals())
