# SPDX-License-Identifier: MIT
"""Instances that live on: up, exec, ps, status, down, reap, and how the provider of an ID is found."""

import os
import subprocess

import program
import tap
from program import HOME, Up, compute, expect, expect_error, living, odd, until

INSTANCE = "instance provider state owner ownerPid detached createdMs definition host image workdir detail".split()


def test_up_prints_the_id_alone_and_other_processes_use_it():
    with Up("--env", "STAGE=test") as id:
        expect(compute("exec", id, "-c", 'echo "$STAGE"'), 0, b"test\n", b"")
        expect(compute("exec", "--on", "local", id, "--env", "STAGE=new", "--", "sh", "-c", 'echo "$STAGE"'), 0, b"new\n", b"")
        expect(compute("exec", id, "--workdir", "/", "pwd"), 0, b"/\n", b"")
        expect(compute("exec", id, "-c", "exit 7"), 7, b"", b"")


def test_an_instance_keeps_its_limits_and_exec_can_change_them():
    with Up("--timeout", "0.5", "--max-output", "3") as id:
        expect(compute("exec", id, "sleep", "30"), 124, b"", b"compute: timed out after 0.5 s\n")
        expect(compute("exec", id, "--timeout", "0.7", "sleep", "30"), 124, b"", b"compute: timed out after 0.7 s\n")
        expect(compute("exec", id, "--quiet", "echo", "12345"), 0, b"123", b"")
        expect(compute("exec", id, "--max-output", "100", "echo", "12345"), 0, b"12345\n", b"")


def test_W05_nothing_of_a_command_is_there_for_the_next():
    with Up("--workdir", str(HOME / "w05")) as id:
        expect(compute("exec", id, "-c", "cd /; export A=1; umask 077"), 0)
        expect(compute("exec", id, "-c", 'pwd; echo "[$A]"'), 0, f"{HOME}/w05\n[]\n".encode(), b"")


def test_E03_a_failing_command_and_an_unknown_instance_differ():
    with Up() as id:
        expect(compute("exec", id, "--", "grep", "foo", "/dev/null"), 1, b"", b"")
    expect_error(compute("exec", "none", "--", "ls"), 125, "compute: exec: no instance 'none'")
    error = expect(compute("exec", "none", "--json", "--", "ls"), 125, err=b"").json["error"]
    assert error["code"] == "not_found" and error["provider"] is None, error


def test_R01_options_of_the_command_are_its_own():
    with Up() as id:
        ended = expect(compute("exec", id, "--", "ls", "-l", "--color=never", "/"), 0, err=b"")
        assert b"etc" in ended.out
        ended = expect(compute("exec", id, "--", "-n", "foo"), 127, b"")
        assert b"-n" in ended.err
        expect(compute("exec", id, "echo", "--json", "--", "-c"), 0, b"--json -- -c\n", b"")


def test_E07_an_argument_stays_one_argument():
    with Up() as id:
        expect(compute("exec", id, "--", "sh", "-c", "exit 7"), 7)
        expect(compute("exec", id, "--", "printf", "%s\\n", "a  b", "$HOME", ""), 0, b"a  b\n$HOME\n\n", b"")


def test_S03_the_callers_input_is_left_alone():
    with Up() as id:
        script = f"while read n; do \"$0\" exec {id} -- echo \"$n\"; done"
        shell = subprocess.run(["sh", "-c", script, program.COMPUTE], input=b"1\n2\n3\n", capture_output=True, timeout=20)
        assert (shell.returncode, shell.stdout, shell.stderr) == (0, b"1\n2\n3\n", b""), shell


def test_S01_a_command_that_reads_has_no_input():
    with Up() as id:
        expect(compute("exec", id, "-c", "cat; echo done", data=b"not for you"), 0, b"done\n", b"")
        expect(compute("exec", id, "--stdin", "-c", "cat; echo done", data=b"for you\n"), 0, b"for you\ndone\n", b"")


def test_G05_and_G06_unknown_running_and_ended_look_different():
    with Up() as id:
        state = expect(compute("status", id, "--json"), 0, err=b"").json
        assert list(state) == INSTANCE, state
        assert (state["instance"], state["provider"], state["state"], state["detached"]) == (id, "local", "running", True)
        text = expect(compute("status", id), 0, err=b"").out.decode()
        assert f"instance    {id}\n" in text and "state       running\n" in text, text
        expect(compute("down", id), 0, b"", b"")
        error = expect(compute("exec", id, "--json", "true"), 125, err=b"").json["error"]
        assert error["code"] in ("not_found", "not_running"), error
    expect_error(compute("status", "local-0"), 125, "no instance 'local-0'")


def test_ids_that_are_paths_or_empty_are_unknown():
    for id in ("..", "../..", "/etc/passwd", "local-/../x", "", " ", "local-" + "a" * 5000, "a\nb", "\x1b[2J"):
        for words in (["exec", id, "true"], ["status", id], ["down", id], ["cp", "/etc/hostname", f"{id}:x"]):
            ended = compute(*words)
            assert ended.status in (2, 125) and b"\x1b" not in ended.err, ended
            assert ended.status == 125 or words[0] == "cp", ended


def test_ps_lists_what_up_made():
    with Up() as one, Up() as two:
        ids = expect(compute("ps", "--quiet"), 0, err=b"").out.decode().split()
        assert {one, two} <= set(ids), ids
        table = expect(compute("ps"), 0, err=b"").out.decode().splitlines()
        assert table[0].split()[:3] == ["ID", "PROVIDER", "STATE"], table
        assert any(row.split()[:3] == [one, "local", "running"] for row in table[1:]), table
        listed = expect(compute("ps", "--json", "--on", "local"), 0, err=b"").json
        assert list(listed) == ["instances", "failed"] and listed["failed"] == [], listed
        assert {one, two} <= {instance["instance"] for instance in listed["instances"]}, listed
    ids = compute("ps", "--quiet").out.decode().split()
    assert one not in ids and two not in ids, ids


def test_down_ends_what_runs_in_the_background():
    with Up() as id:
        expect(compute("exec", id, "-c", "sleep 4712 & exit 0"), 0)
        until(lambda: living("4712"), what="the start of sleep 4712")
        ended = expect(compute("down", id, "--json"), 0, err=b"").json
        assert ended == {"ended": [id], "failed": []}, ended
        until(lambda: not living("4712"), what="the end of sleep 4712")


def test_down_ends_the_others_when_one_fails():
    with Up() as one, Up() as two:
        expect_error(compute("down", one, "none", two), 125, "compute: down: no instance 'none'")
        assert not {one, two} & set(compute("ps", "--quiet").out.decode().split())
        ended = expect(compute("down", "--json", "none"), 125, err=b"").json
        assert ended["ended"] == [] and ended["error"]["code"] == "not_found", ended
        assert ended["failed"][0]["instance"] == "none", ended


def test_an_unavailable_provider_does_no_harm_to_a_known_id():
    with Up() as id:
        for state in ("down", "broken"):
            expect(odd("exec", id, "echo", "hi", env={"ODD": state}), 0, b"hi\n", b"")
            expect(odd("status", id, "--quiet", env={"ODD": state}), 0, err=b"")


def test_an_unavailable_provider_is_named_when_an_id_is_unknown():
    ended = odd("exec", "some-id", "true", env={"ODD": "down"})
    expect_error(ended, 125, "no instance 'some-id'; odd could not be asked: no engine; start it")
    error = odd("exec", "--json", "some-id", "true", env={"ODD": "down"}).json["error"]
    assert error["code"] == "not_found" and "odd could not be asked" in error["message"], error
    error = odd("exec", "--json", "--on", "odd", "some-id", "true", env={"ODD": "down"}).json["error"]
    assert error == {"code": "unavailable", "message": "no engine; start it", "provider": "odd"}, error


def test_ps_tells_which_provider_could_not_be_asked():
    with Up() as id:
        note = b"compute: ps: odd could not be asked: no engine; start it\n"
        assert id.encode() in expect(odd("ps", env={"ODD": "down"}), 0, err=note).out
        listed = expect(odd("ps", "--json", env={"ODD": "down"}), 0, err=b"").json
        assert "error" not in listed and listed["failed"][0]["code"] == "unavailable", listed
        expect_error(odd("ps", "--on", "odd", "--quiet", env={"ODD": "down"}), 125, "no engine; start it")
        broken = odd("ps", "--json", env={"ODD": "broken"})
        assert expect(broken, 125, err=b"").json["error"]["code"] == "engine", broken
        assert id.encode() in expect(odd("ps", env={"ODD": "broken"}), 125).out


def test_what_an_engine_reports_cannot_play_with_the_terminal():
    for words in (["ps"], ["status", "odd-gone"]):
        ended = expect(odd(*words), 0, err=b"")
        assert b"\x1b" not in ended.out and b"/a\\x1b[2Jb" in ended.out, ended
    assert odd("status", "odd-gone", "--json").json["workdir"] == "/a\x1b[2Jb"


def test_reap_ends_the_orphans_and_no_others():
    log = HOME / "reaped"
    expect(odd("reap", env={"ODD_LOG": str(log)}), 0, b"odd-gone\n", b"")
    assert log.read_text() == "odd-gone\n"
    ended = expect(odd("reap", "--json", "--on", "odd"), 0, err=b"").json
    assert ended == {"ended": ["odd-gone"], "failed": []}, ended
    with Up() as id:
        expect(odd("reap", "--quiet"), 0, b"", b"")
        expect(compute("exec", id, "echo", "alive"), 0, b"alive\n", b"")


def test_a_provider_that_refuses_to_end_an_instance_is_told():
    expect_error(odd("down", "odd-alive"), 125, "compute: down: 'odd-alive' is in use")
    ended = expect(odd("down", "--json", "odd-detached", "odd-alive"), 125, err=b"").json
    assert ended["ended"] == ["odd-detached"] and ended["error"]["code"] == "busy", ended


def test_providers_tells_who_is_available_and_why_not():
    names = expect(odd("providers", "--quiet"), 0, err=b"").out.decode().split()
    assert "local" in names and "odd" in names and names == sorted(names), names
    table = expect(odd("providers", env={"ODD": "down"}), 0, err=b"").out.decode()
    assert "does not isolate" in table and "no engine; start it" in table, table
    listed = expect(odd("providers", "--json", env={"ODD": "down"}), 0, err=b"").json["providers"]
    entries = {entry["name"]: entry for entry in listed}
    assert entries["local"]["available"] is True and entries["local"]["error"] is None, entries
    assert "execute" in entries["local"]["capabilities"], entries
    assert entries["odd"]["available"] is False and entries["odd"]["error"]["code"] == "unavailable", entries


def test_providers_tells_of_a_file_that_cannot_be_loaded():
    folder = HOME / "broken-providers"
    folder.mkdir()
    (folder / "compute-provider-acme.so").write_text("no library")
    entries = {entry["name"]: entry for entry in compute("providers", "--json", "--path", str(folder)).json["providers"]}
    assert entries["acme"]["available"] is False and entries["acme"]["error"]["code"] == "plugin", entries
    assert entries["local"]["available"] is True, entries


def test_a_folder_that_cannot_be_searched_is_told_unless_quiet():
    folder = str(HOME / "no-folder")
    ended = expect(compute("ps", "--path", folder), 0)
    assert ended.err.startswith(f"compute: providers in '{folder}'".encode()) and ended.err.count(b"\n") == 1, ended
    expect(compute("ps", "--quiet", "--path", folder), 0, err=b"")


def test_a_provider_path_may_be_relative():
    here = os.path.relpath(program.ODD_FOLDER)
    expect(compute("status", "--path", here, "odd-gone", "--quiet"), 0)


tap.main(globals())
