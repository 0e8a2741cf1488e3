# SPDX-License-Identifier: MIT
"""--env and --env-file, and what a command inherits."""

import tap
from program import HOME, expect, expect_error, run

VALUES = {
    "A": "l1\nl2",
    "B": "\"'`$(id)$HOME\\",
    "C": "",
    "D": "a=b=c",
    "E": "caf\u00e9",
    "F": " lead",
    "G": "a,b",
    "MY_VAR": "hello world",
}
SECRET = "s3cr3t-canary"


def env_file(data, name="env"):
    path = HOME / name
    path.write_bytes(data)
    return str(path)


def test_Q02_values_arrive_byte_for_byte():
    words = [word for name, value in VALUES.items() for word in ("--env", f"{name}={value}")]
    script = "".join(f'printf "%s\\0" "${{{name}-unset}}"; ' for name in VALUES)
    expect(run(*words, "-c", script), 0, "".join(value + "\0" for value in VALUES.values()).encode(), b"")


def test_the_last_value_of_a_name_counts():
    expect(run("--env", "A=1", "--env", "A=2", "-c", 'echo "$A"'), 0, b"2\n", b"")


def test_a_name_alone_passes_on_the_value_here():
    expect(run("--env", "TOKEN", "-c", 'echo "$TOKEN"', env={"TOKEN": SECRET}), 0, f"{SECRET}\n".encode(), b"")
    expect_error(run("--env", "NO_SUCH_VARIABLE", "true"), 2, "--env 'NO_SUCH_VARIABLE': no such variable is set here")
    expect_error(run("--env", "=x", "true"), 2, "--env: a variable has no name")
    ended = run("--env", f"={SECRET}", "true")
    assert SECRET.encode() not in ended.err, ended


def test_a_file_is_read_as_docker_reads_it():
    path = env_file(b"\xef\xbb\xbf# comment\n\n   \n A=1\nB=\"q\" \nC=\n  # more\nD=a=b\r\nTOKEN\nE=last")
    script = 'printf "%s|" "$A" "$B" "${C-unset}" "$D" "$TOKEN" "$E"'
    expect(run("--env-file", path, "-c", script, env={"TOKEN": SECRET}), 0, f'1|"q" ||a=b|{SECRET}|last|'.encode(), b"")


def test_env_wins_over_files_and_a_later_file_over_an_earlier():
    first, second = env_file(b"A=1\nB=1\nC=1\n", "first"), env_file(b"A=2\nB=2\n", "second")
    words = ["--env", "A=3", "--env-file", first, "--env-file", second, "-c", 'echo "$A$B$C"']
    expect(run(*words), 0, b"321\n", b"")


def test_an_empty_file_is_no_variable():
    expect(run("--env-file", env_file(b""), "true"), 0, b"", b"")
    expect(run("--env-file", "/dev/null", "true"), 0, b"", b"")


def test_a_wrong_line_is_named_and_not_shown():
    for data, line, why in (
        (b"A=1\n=" + SECRET.encode() + b"\n", 2, "the variable has no name"),
        (b"A B=" + SECRET.encode() + b"\n", 1, "a blank in the variable's name"),
        (b"\n\n" + SECRET.encode() + b"\n", 3, "a name without '='"),
        (b"A=" + SECRET.encode() + b"\0x\n", 1, "a NUL byte"),
    ):
        path = env_file(data)
        for words in ([], ["--json"]):
            ended = run(*words, "--env-file", path, "true")
            assert ended.status == 2 and SECRET.encode() not in ended.out + ended.err, ended
        expect_error(run("--env-file", path, "true"), 2, f"{path}:{line}: {why}")


def test_a_file_that_cannot_be_read_is_an_error():
    expect_error(run("--env-file", str(HOME / "none"), "true"), 2, "--env-file '", "No such file or directory")
    expect_error(run("--env-file", str(HOME), "true"), 2, "Is a directory")
    expect_error(run("--env-file", "/dev/zero", "true"), 2, "larger than 16777216 bytes")


def test_the_command_has_the_environment_of_compute_and_what_is_set():
    expect(run("--env", "A=1", "-c", 'echo "$A$INHERITED"', env={"INHERITED": "2", "A": "9"}), 0, b"12\n", b"")


def test_Q07_a_secret_is_on_no_command_line():
    script = 'cat /proc/self/environ | tr "\\0" "\\n" | grep -c "^TOKEN="; cat /proc/[0-9]*/cmdline 2>/dev/null'
    ended = expect(run("--env", "TOKEN", "-c", script + "; true", env={"TOKEN": SECRET}), 0)
    assert ended.out.startswith(b"1\n") and SECRET.encode() not in ended.out + ended.err, ended


tap.main(globals())
