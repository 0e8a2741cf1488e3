# SPDX-License-Identifier: MIT
"""How a command ended, as exit status, as text and as JSON."""

import base64
import os
import signal
import subprocess
import time

import tap
from program import HOME, compute, expect, expect_error, living, odd, run, start, until

MEMBERS = "stdout stderr exitCode timedOut durationMs outcome signal truncated bytes usage provider instance environment".split()


def run_json(*words, status=0, **options):
    """The object of run --json, checked for its members."""
    result = expect(run("--json", *words, **options), status, err=b"").json
    assert [name for name in result if not name.endswith("Base64")] == MEMBERS, result
    assert list(result["truncated"]) == list(result["bytes"]) == ["stdout", "stderr"], result
    assert list(result["usage"]) == ["maxRssBytes", "userMs", "sysMs"], result
    assert result["provider"] == "local" and result["instance"], result
    return result


def test_the_exit_status_is_the_commands_own():
    for status in (0, 1, 2, 3, 124, 125, 126, 127, 137, 255):
        expect(run("-c", f"exit {status}"), status, b"", b"")
        result = run_json("-c", f"exit {status}", status=status)
        assert (result["exitCode"], result["outcome"]) == (status, "exited"), result
        assert (result["signal"], result["timedOut"]) == (None, False), result


def test_a_signal_is_128_and_its_number():
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT):
        expect(run("-c", f"kill -{number} $$"), 128 + number, b"", b"")
        result = run_json("-c", f"kill -{number} $$", status=128 + number)
        assert (result["exitCode"], result["outcome"], result["signal"]) == (128 + number, "signaled", number), result


def test_a_timeout_is_124_keeps_the_output_and_names_the_limit():
    expect(run("--timeout", "0.5", "-c", "echo one; echo two >&2; sleep 30"), 124, b"one\n", b"two\ncompute: timed out after 0.5 s\n")
    expect(run("--timeout=0.3", "--quiet", "--", "sleep", "30"), 124, b"", b"")
    result = run_json("--timeout", "0.5", "-c", "echo one; sleep 30", status=124)
    assert (result["exitCode"], result["outcome"], result["signal"]) == (None, "timed_out", None), result
    assert result["timedOut"] is True and result["stdout"] == "one\n" and result["durationMs"] >= 500, result


def test_a_timeout_of_0_is_none():
    expect(run("--timeout", "0", "-c", "sleep 0.2; echo ok"), 0, b"ok\n", b"")


def test_the_smallest_timeout_is_no_unlimited_one():
    expect(run("--timeout", "0.0000001", "--", "sleep", "30"), 124)


def test_the_largest_timeout_does_not_overflow():
    expect(run("--timeout", "9223372036854774", "--", "sleep", "0.1"), 0, b"", b"")


def test_memory_that_ran_out_is_told():
    ended = odd("exec", "odd-detached", "memory")
    expect(ended, 137, b"", b"compute: killed, since memory ran out\n")
    result = odd("exec", "--json", "odd-detached", "memory").json
    assert (result["exitCode"], result["outcome"], result["signal"]) == (137, "out_of_memory", 9), result


def test_survivors_are_told_even_when_quiet():
    for words in ([], ["--quiet"], ["--json"]):
        ended = expect(odd("exec", *words, "odd-detached", "survivors"), 0)
        assert ended.err == b"compute: something that the command started could not be ended and lives on\n", ended


def test_a_lost_connection_is_an_error_and_no_status():
    expect_error(odd("exec", "odd-detached", "lost"), 125, "compute: exec: the connection broke")
    error = expect(odd("exec", "--json", "odd-detached", "lost"), 125, err=b"").json["error"]
    assert error == {"code": "lost", "message": "the connection broke", "provider": "odd"}, error


def test_an_unknown_provider_is_an_error_in_the_librarys_words():
    text = "Unknown compute provider 'e2b'. Available: "
    expect_error(compute("run", "--on", "e2b", "true"), 125, f"compute: run: {text}", "Falling back to local would run on the host")
    error = expect(compute("run", "--on", "e2b", "--json", "true"), 125, err=b"").json["error"]
    assert error["code"] == "unknown_provider" and error["message"].startswith(text) and error["provider"] == "e2b", error


def test_provider_names_have_no_case():
    expect(compute("run", "--on", "LoCaL", "echo", "hi"), 0, b"hi\n", b"")


def test_E01_a_program_that_is_not_there_is_127_and_named():
    for words in (["no_such_cmd_xyz"], ["-c", "no_such_cmd_xyz"], ["--", "no_such_cmd_xyz"]):
        ended = expect(run(*words), 127, b"")
        assert b"no_such_cmd_xyz" in ended.err, ended


def test_a_program_that_may_not_be_run_is_126():
    expect(run("/etc/passwd"), 126, b"")


def test_E07_an_argument_stays_one_argument():
    expect(run("--", "sh", "-c", "exit 7"), 7)
    expect(run("--", "printf", "%s\\n", "a  b", "$HOME", ""), 0, b"a  b\n$HOME\n\n", b"")
    expect(run("printf", "[%s]", "", "--", "-x", "a\nb", "'", '"', "*"), 0, b"[][--][-x][a\nb]['][\"][*]", b"")


def test_R01_options_of_the_command_are_its_own():
    expect(run("--", "echo", "--json", "--on", "x"), 0, b"--json --on x\n", b"")
    expect(run("echo", "--quiet", "-c", "--help"), 0, b"--quiet -c --help\n", b"")
    ended = expect(run("--", "-n", "foo"), 127, b"")
    assert b"-n" in ended.err, ended


def test_E12_an_empty_command_is_an_error():
    for words in (["-c", ""], ["-c", "   "], ["-c", "\n"], ["--", ""], [""]):
        expect_error(run(*words), 125, "empty")
        error = expect(run("--json", *words), 125, err=b"").json["error"]
        assert error["code"] == "invalid_argument" and error["provider"] == "local", error


def test_streams_stay_apart_and_exact():
    script = r"printf 'o\r\n\000\377'; printf 'e\033[0m' >&2"
    expect(run("-c", script), 0, b"o\r\n\0\xff", b"e\x1b[0m")


def test_json_text_is_exact_where_it_can_be():
    text = 'caf\u00e9 "q" \\ / \b\f\t\r\x7f\x1b \u2028 \U0001f600\n'
    result = run_json("--", "printf", "%s", text)
    assert result["stdout"] == text and "stdoutBase64" not in result and "stderrBase64" not in result, result


def test_json_is_valid_whatever_the_bytes():
    result = run_json("-c", r"printf '\377\376A'; printf 'a\000b' >&2")
    assert result["stdout"] == "\ufffd\ufffdA" and result["stdoutBase64"] == "//5B", result
    assert result["stderr"] == "a\0b" and result["stderrBase64"] == "YQBi", result
    result = run_json("-c", r"printf '\355\240\200 \300\200 \364\220\200\200 \342\202'")
    assert result["stdout"].isprintable() and "\ufffd" in result["stdout"], result


def test_every_byte_survives_json():
    data = os.urandom(100000) + bytes(range(256))
    result = run_json("--stdin", "cat", data=data)
    assert base64.b64decode(result["stdoutBase64"]) == data


def test_a_cut_is_told_once_with_both_numbers():
    note = b"compute: stdout was cut at 5 of 10 bytes; raise --max-output\n"
    expect(run("--max-output", "5", "-c", "echo 123456789"), 0, b"12345", note)
    expect(run("--max-output", "5", "--quiet", "-c", "echo 123456789"), 0, b"12345", b"")
    expect(run("--max-output", "10", "-c", "echo 123456789"), 0, b"123456789\n", b"")
    ended = run("--max-output=2", "-c", "printf abc >&2")
    expect(ended, 0, b"", b"abcompute: stderr was cut at 2 of 3 bytes; raise --max-output\n")
    result = run_json("--max-output", "5", "-c", "echo 123456789; echo e >&2")
    assert result["stdout"] == "12345" and result["truncated"] == {"stdout": True, "stderr": False}, result
    assert result["bytes"] == {"stdout": 10, "stderr": 2}, result


def test_limits_take_suffixes_and_0_is_none():
    script = "head -c 11000000 /dev/zero"
    assert len(expect(run("-c", script), 0).out) == 10 * 1024 * 1024
    assert len(expect(run("--max-output", "1K", "-c", script), 0).out) == 1024
    assert len(expect(run("--max-output", "11M", "-c", script), 0, err=b"").out) == 11000000
    assert len(expect(run("--max-output", "0", "-c", script), 0, err=b"").out) == 11000000


def test_usage_is_measured():
    result = run_json("-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    assert result["usage"]["maxRssBytes"] > 100000 and result["usage"]["userMs"] > 0, result


def test_progress_is_a_line_a_step_on_stderr():
    words = ["--on", "odd", "--option", "x=y"]
    expect(odd("run", *words, "true"), 0, b"", b"compute: pull odd:1\ncompute: unpack\n")
    expect(odd("run", *words, "--quiet", "true"), 0, b"", b"")
    expect(odd("up", *words), 0, b"odd-new\n", b"compute: pull odd:1\ncompute: unpack\n")


def test_what_comes_from_an_engine_cannot_play_with_the_terminal():
    ended = odd("run", "--on", "odd", "true", env={"ODD": "broken"})
    expect_error(ended, 125, "compute: run: the engine said: \\x1b[31mboo")


def test_an_option_that_a_provider_does_not_know_is_an_error():
    for words in (["--option", "no_such=1"], ["--image", "x:1"]):
        error = expect(run("--json", *words, "true"), 125, err=b"").json["error"]
        assert error["code"] in ("unsupported", "invalid_argument") and error["provider"] == "local", error


def test_huge_values_are_passed_on_or_refused_clearly():
    expect_error(run("--option", "k=" + "v" * 100000, "true"), 125)
    expect_error(run("--on", "x" * 100000, "true"), 125)
    expect_error(run("--workdir", "/" + "x" * 100000, "true"), 125)
    expect(run("--env", "BIG=" + "v" * 100000, "-c", 'printf %s "$BIG" | wc -c'), 0, b"100000\n", b"")


def test_a_workdir_is_made_and_what_cannot_be_one_is_an_error():
    made = HOME / "made" / "here"
    expect(run("--workdir", str(made), "pwd"), 0, f"{made}\n".encode(), b"")
    (HOME / "file").write_text("")
    expect_error(run("--workdir", str(HOME / "file"), "true"), 125, str(HOME / "file"))
    expect_error(run("--workdir", "relative", "true"), 125, "'relative' is not an absolute path")


def test_output_comes_as_it_is_produced():
    process = start("run", "--on", "local", "--stdin", "-c", "echo first; read line; echo second", stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"first\n"
    out, err = process.communicate(b"go\n", timeout=20)
    assert (process.returncode, out, err) == (0, b"second\n", b"")


def test_a_run_ends_what_it_left_in_the_background():
    began = time.monotonic()
    expect(run("-c", "sleep 4711 & exit 0"), 0, b"", b"")
    assert time.monotonic() - began < 10
    until(lambda: not living("4711"), what="the end of sleep 4711")


tap.main(globals())
