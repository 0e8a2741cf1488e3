# SPDX-License-Identifier: MIT
"""Wrong calls: each is one clear line, exits with 2, and nothing runs."""

import program
import tap
from program import compute, expect, expect_error, run

SUBCOMMANDS = "run up exec ps status down reap cp env captures providers tool".split()


def test_no_subcommand_points_to_help():
    expect_error(compute(), 2, "no subcommand; see 'compute --help'")


def test_unknown_subcommand_suggests_one():
    expect_error(compute("rnu"), 2, "compute: unknown subcommand 'rnu'; did you mean 'run'?")
    expect_error(compute("frobnicate"), 2, "unknown subcommand 'frobnicate'; see 'compute --help'")


def test_unknown_option_suggests_one():
    expect_error(run("--tiemout", "3", "true"), 2, "compute: run: unknown option '--tiemout'; did you mean '--timeout'?")
    expect_error(run("--frobnicate", "true"), 2, "unknown option '--frobnicate'; see 'compute run --help'")
    expect_error(run("-x", "true"), 2, "unknown option '-x'; see 'compute run --help'")


def test_options_are_not_abbreviated():
    expect_error(run("--time", "3", "true"), 2, "unknown option '--time'")


def test_an_option_of_another_subcommand_is_named_as_such():
    expect_error(compute("exec", "x", "--image", "y", "true"), 2, "'--image' does not go with exec")
    expect_error(compute("ps", "--stdin"), 2, "'--stdin' does not go with ps")


def test_a_missing_value_is_named():
    expect_error(compute("run", "--on"), 2, "--on needs a value: PROVIDER")


def test_a_switch_takes_no_value():
    expect_error(run("--quiet=yes", "true"), 2, "--quiet takes no value")


def test_an_empty_value_is_an_error():
    for option in ("--on", "--image", "--workdir", "--env", "--env-file", "--timeout", "--max-output", "--option", "--path"):
        expect_error(compute("run", option, "", "true"), 2, f"{option} '': the value is empty")
        expect_error(compute("run", option + "=", "true"), 2, f"{option} '': the value is empty")


def test_without_a_place_nothing_runs_and_the_places_are_listed():
    for words in (["run", "true"], ["up"], ["tool", "--tools", "x", "y"]):
        expect_error(compute(*words), 2, f"compute: {words[0]}: no place was named; add --on PROVIDER (available: ", "local")


def test_an_option_behind_the_command_names_no_place():
    expect_error(compute("run", "true", "--on", "local"), 2, "no place was named")


def test_one_command_is_needed_and_only_one():
    expect_error(run(), 2, "no command")
    expect_error(run("--"), 2, "no command")
    expect_error(run("-c", "true", "true"), 2, "both -c and 'true'")
    expect_error(run("-c", "true", "--", "true"), 2, "both -c and 'true'")
    expect_error(run("-c"), 2, "-c needs a value: SCRIPT")


def test_operands_are_counted():
    for subcommand in ("exec", "status", "down"):
        expect_error(compute(subcommand), 2, "no instance was named; give its ID")
    expect_error(compute("exec", "x"), 2, "no command")
    expect_error(compute("status", "a", "b"), 2, "'b' is one word too many; see 'compute status --help'")
    expect_error(compute("ps", "a"), 2, "'a' is one word too many")
    expect_error(compute("up", "--on", "local", "--", "ls"), 2, "'ls' is one word too many")
    expect_error(compute("cp", "a"), 2, "FILE ID:PATH, or ID:PATH FILE")
    expect_error(compute("cp", "a", "b:c", "d"), 2, "'d' is one word too many")


def test_tool_needs_a_file_a_place_and_a_tool():
    expect_error(compute("tool", "--on", "local", "greet"), 2, "no file of tools was named; add --tools FILE")
    expect_error(compute("tool", "--on", "local", "--tools", "x"), 2, "no tool was named; --list lists what there is")
    expect_error(compute("tool", "--tools", "x", "greet"), 2, "no place was named; add --on PROVIDER (available: ")
    expect_error(compute("tool", "--tools", "x", "--list", "greet"), 2, "both --list and 'greet'")
    expect_error(compute("tool", "--tools", "x", "greet", "{}", "{}"), 2, "'{}' is one word too many")


def test_cp_needs_one_side_inside_and_one_here():
    for sides in (["a", "b"], ["a:b", "c:d"], ["./a:b", "c"], ["-", "/x:y"]):
        expect_error(compute("cp", *sides), 2, "one of the two files must be ID:PATH")
    expect_error(compute("cp", "a:", "b"), 2, "'a:' names no file")
    expect_error(compute("cp", "-", "a:"), 2, "stdin has no name")
    expect(compute("cp", "--json", "a:b", "-"), 2)


def test_timeouts_are_seconds():
    for value in ("-1", "-0", "nan", "inf", "1e3", "0x10", "1,5", " 1", "1 ", "+1", ".", ".5", "1.", "1.5s", "abc", "9" * 19, "9" * 400):
        expect_error(run("--timeout", value, "true"), 2, f"--timeout '{value[:100]}")
        expect_error(run(f"--timeout={value}", "true"), 2, "--timeout '")


def test_limits_are_bytes():
    for value in ("-1", "nan", "1.5", "1 K", "1KB", "1T", "K", "0x10", "9" * 19, "9007199254740992G", "9" * 400):
        expect_error(run("--max-output", value, "true"), 2, f"--max-output '{value[:100]}")


def test_options_have_a_name_and_a_value():
    for value in ("name", "=value"):
        expect_error(run("--option", value, "true"), 2, f"--option '{value}': give NAME=VALUE")


def test_a_wrong_call_is_told_in_json_where_that_was_asked_for():
    for words in (["run", "--tiemout", "3", "--json"], ["rnu", "--json"], ["run", "--json", "--on"], ["run", "--json", "true"]):
        ended = expect(compute(*words), 2, err=b"")
        assert ended.json["error"]["code"] == "invalid_argument" and ended.json["error"]["provider"] is None, ended
        assert list(ended.json["error"]) == ["code", "message", "provider"], ended
    expect_error(compute("run", "--tiemout", "--", "--json"), 2)


def test_help_tells_of_every_subcommand_and_that_local_does_not_isolate():
    text = expect(compute("--help"), 0, err=b"").out.decode()
    for subcommand in SUBCOMMANDS:
        assert f"\n  {subcommand} " in text, subcommand
    assert "does not isolate" in text
    assert max(map(len, text.splitlines())) <= 80, text


def test_each_subcommand_has_help():
    for subcommand in SUBCOMMANDS:
        text = expect(compute(subcommand, "--help"), 0, err=b"").out.decode()
        assert text.startswith(f"Usage: compute {subcommand} ") and "--json" in text, text
        assert max(map(len, text.splitlines())) <= 80, text
    assert "does not isolate" in compute("run", "--help").out.decode()


def test_help_needs_nothing_else():
    expect(compute("exec", "--json", "--help"), 0)


def test_version_is_the_librarys():
    out = expect(compute("--version"), 0, err=b"").out.decode()
    assert out.startswith("compute ") and out.split()[1][0].isdigit(), out


def test_the_manual_knows_every_option():
    manual = (program.SOURCES / "compute.1").read_text(encoding="utf-8").replace("\\-", "-")
    for subcommand in SUBCOMMANDS:
        assert f".B {subcommand}\n" in manual, subcommand
        for line in compute(subcommand, "--help").out.decode().splitlines():
            if line.startswith("  -"):
                option = line.split()[0]
                assert f"\n.B {option}\n" in manual or f'\n.BI {option} "' in manual, option


tap.main(globals())
