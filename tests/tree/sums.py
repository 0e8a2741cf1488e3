# SPDX-License-Identifier: MIT
"""tests/sum.py adds up what really happened: a broken-off test is a failure, a skip is one where that is asked for."""

import json
import os
import subprocess
import sys
import tempfile

import rules
import tap


def summed(*runs, strict=False, lines=-1):
    """The last line, or others, and the exit status of sum.py for runs of (result, output)."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as log:
        for result, stdout in runs:
            log.write(json.dumps({"name": "x", "result": result, "stdout": stdout}) + "\n")
        log.flush()
        env = {**os.environ, "COMPUTE_TEST_STRICT": "1" if strict else ""}
        command = [sys.executable, rules.TOP / "tests/sum.py", log.name]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.splitlines()[lines], done.returncode


def test_points_are_added_up_over_the_tests():
    assert summed(("OK", "1..2\nok 1 a\nok 2 b\n"), ("OK", "no tap")) == ("3 passed, 0 failed", 0)


def test_a_failed_point_is_a_failure():
    assert summed(("FAIL", "1..2\nok 1 a\nnot ok 2 b\n")) == ("1 passed, 1 failed", 1)


def test_a_test_that_broke_off_is_a_failure():
    for result in "ERROR", "TIMEOUT", "FAIL", "INTERRUPT", "UNEXPECTEDPASS", "something new":
        assert summed((result, "1..2\nok 1 a\n")) == ("1 passed, 1 failed", 1), result


def test_a_skip_is_counted_apart_and_fails_when_strict():
    runs = [("OK", "1..2\nok 1 a\nok 2 b # SKIP no docker\n"), ("SKIP", "1..0 # SKIP no ssh\n")]
    assert summed(*runs) == ("1 passed, 0 failed, 2 skipped", 0)
    assert summed(*runs, strict=True) == ("1 passed, 2 failed", 1)


def test_what_a_failed_test_printed_is_shown():
    output = summed(("FAIL", "1..2\nok 1 a\n# expected 1, got 2\nnot ok 2 b\n"), lines=slice(None))[0]
    assert "# expected 1, got 2" in output and "ok 1 a" not in output, output


def test_an_expected_failure_is_none():
    assert summed(("OK", "1..2\nok 1\nnot ok 2 b # TODO later\n")) == ("2 passed, 0 failed", 0)


def test_no_test_at_all_is_a_failure():
    assert summed() == ("0 passed, 0 failed", 1)


if __name__ == "__main__":
    tap.main(globals())
