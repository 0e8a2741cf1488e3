# SPDX-License-Identifier: MIT
"""compute tool."""

import json
import signal
import time

import program
import tap
from program import HOME, compute, expect, expect_error, finish, start

FILE = HOME / "tools.yaml"
FILE.write_text(
    """\
greet:
  description: Says hello.
  parameters:
    properties:
      who: {type: string}
    required: [who]
  command: echo hello-{{who}}
show: {command: "cat -- {{path}}"}
raw_show: {command: "cat {{path}}"}
bytes: {command: "printf 'a\\\\0b\\\\377'"}
fail: {command: "echo part; echo sorry >&2; exit {{code}}"}
slow: {command: "sleep 1000", timeout: 0.3}
die: {command: "kill -9 $$"}
here: {command: "pwd; echo $NAME"}
wait: {command: "sleep 998877"}
"""
)
NAMES = ["bytes", "die", "fail", "greet", "here", "raw_show", "show", "slow", "wait"]


def tool(*words, **options):
    return compute("tool", "--tools", str(FILE), *words, **options)


def local(*words, **options):
    return tool("--on", "local", *words, **options)


def refused(text, *messages):
    path = HOME / "refused.yaml"
    path.write_text(text)
    expect_error(compute("tool", "--tools", str(path), "--on", "local", "x"), 125, *messages)


def test_a_tool_prints_its_output_and_nothing_else():
    expect(local("greet", '{"who":"world"}'), 0, b"hello-world\n", b"")
    expect(local("greet", json.dumps({"who": "$(id) '`id`'\n-n"})), 0, b"hello-$(id) '`id`'\n-n\n", b"")
    expect(local("bytes"), 0, b"a\0b\377", b"")
    expect(local("--", "bytes", "{}"), 0, b"a\0b\377", b"")


def test_arguments_come_from_stdin_too():
    expect(local("greet", "-", data=b'{"who":"in"}\n'), 0, b"hello-in\n", b"")
    expect(local("greet", "-", data=json.dumps({"who": "x" * 300000}).encode()), 0, b"hello-" + b"x" * 300000 + b"\n", b"")
    expect_error(local("greet", "-", data=b"{}\0"), 2, "the arguments hold a NUL byte")
    expect_error(local("greet", "-", data=b""), 2, "the arguments are no JSON object")


def test_an_instance_is_made_as_options_say_and_ended():
    ended = local("--workdir", str(HOME / "made"), "--env", "NAME=value", "here")
    expect(ended, 0, f"{HOME / 'made'}\nvalue\n".encode(), b"")
    assert compute("ps", "--json").json["instances"] == []


def test_an_environment_prepares_the_instance_and_says_nothing_in_the_tools_name():
    path = HOME / "environment.yaml"
    path.write_text("backend: local\nsetup: [echo noise; echo noise >&2]\nenv: {NAME: prepared}\n")
    ended = expect(tool("--environment", str(path), "--workdir", str(HOME / "prepared"), "here"), 0)
    assert ended.out == f"{HOME / 'prepared'}\nprepared\n".encode() and b"\nnoise" not in ended.err, ended
    expect(tool("--on", "local", "--no-environment", "greet", '{"who":"x"}'), 0, b"hello-x\n", b"")


def test_wrong_arguments_run_nothing():
    expect_error(local("greet"), 2, "the argument 'who' is missing")
    expect_error(local("greet", '{"who":null}'), 2, "the argument 'who' is missing")
    expect_error(local("greet", '{"who":3}'), 2, "has to be of type string, and is of type integer")
    expect_error(local("greet", '{"who":"x","b":1}'), 2, "there is no argument 'b'; there are: who")
    expect_error(local("greet", "[]"), 2, "the arguments are no JSON object")


def test_a_value_is_no_option():
    (HOME / "-n").write_text("a file\n")
    expect_error(local("raw_show", '{"path":"--version"}'), 2, "starts with '-'", "-- {{path}}")
    expect_error(local("raw_show", '{"path":"-n"}'), 2, "starts with '-'")
    expect(local("--workdir", str(HOME), "show", '{"path":"-n"}'), 0, b"a file\n", b"")


def test_a_failure_is_told_with_the_status_of_the_command():
    ended = expect(local("fail", '{"code":7}'), 7, b"")
    assert ended.err == b"sorry\ncompute: tool: Tool 'fail' failed on local (exit 7): sorry\n", ended
    assert expect(local("slow"), 124, b"").err.endswith(b"compute: timed out after 0.3 s\n")
    expect_error(local("die"), 137, "Tool 'die' failed on local (exit 137): no output")


def test_an_unknown_tool_is_told_with_those_there_are():
    expect_error(local("gret"), 2, "no tool 'gret'; did you mean 'greet'? There are: " + ", ".join(NAMES))
    expect_error(local("frobnicate"), 2, "no tool 'frobnicate'; there are: ")
    assert local("--json", "gret").json["error"]["code"] == "unknown_tool"


def test_json_has_the_result_and_the_failure():
    good = expect(local("--json", "greet", '{"who":"world"}'), 0, err=b"").json
    assert (good["tool"], good["stdout"], good["outcome"], good["exitCode"]) == ("greet", "hello-world\n", "exited", 0), good
    assert good["provider"] == "local" and good["instance"].startswith("local-") and "error" not in good, good
    assert local("--json", "bytes").json["stdoutBase64"] == "YQBi/w=="
    bad = expect(local("--json", "fail", '{"code":7}'), 7, err=b"").json
    assert (bad["stdout"], bad["stderr"], bad["exitCode"], bad["error"]["code"]) == ("part\n", "sorry\n", 7, "tool_failed"), bad
    slow = expect(local("--json", "slow"), 124, err=b"").json
    assert slow["timedOut"] is True and slow["exitCode"] is None and slow["error"]["code"] == "tool_failed", slow
    wrong = expect(local("--json", "greet"), 2, err=b"").json
    assert wrong == {"error": {"code": "invalid_argument", "message": "the argument 'who' is missing", "provider": None}}


def test_the_tools_are_listed_without_running_any():
    lines = expect(tool("--list"), 0, err=b"").out.decode().splitlines()
    assert lines[0].split() == ["NAME", "DESCRIPTION"] and len(lines) == 1 + len(NAMES), lines
    assert "greet     Says hello." in lines, lines
    assert expect(tool("--list", "--quiet"), 0, err=b"").out.decode().split() == NAMES
    tools = {entry["name"]: entry for entry in expect(tool("--list", "--json"), 0, err=b"").json["tools"]}
    assert tools["greet"] == {
        "name": "greet",
        "description": "Says hello.",
        "parameters": {"properties": {"who": {"type": "string"}}, "required": ["who"], "type": "object"},
        "command": "echo hello-{{who}}",
        "timeoutMs": None,
    }, tools
    assert tools["slow"]["timeoutMs"] == 300 and tools["slow"]["parameters"] is None, tools


def test_a_bad_file_is_told_with_its_line():
    refused("x:\n  command: echo '{{a}}'\n", "refused.yaml:2: at 'echo '{{a}}'': {{a}} is inside single quotes")
    refused("x:\n  comand: echo\n", "refused.yaml:2: x has no key 'comand'; allowed: description, parameters, command, timeout")
    refused("", "refused.yaml:1: declares no tool")
    expect_error(compute("tool", "--tools", "/nowhere", "--list"), 125, "/nowhere: cannot open it")


def test_a_signal_ends_the_tool_and_its_instance():
    process = start("tool", "--tools", str(FILE), "--on", "local", "wait")
    program.until(lambda: len(program.living("998877")) > 0, what="the tool")
    process.send_signal(signal.SIGTERM)
    expect(finish(process), 143, b"", b"")
    assert compute("ps", "--json").json["instances"] == []
    process = start("tool", "--tools", str(FILE), "--on", "local", "greet", "-", stdin=-1)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 130


tap.main(globals())
