# SPDX-License-Identifier: MIT
"""How commands run and end."""

import frames
from frames import EXITED, SIGNALED, TIMED_OUT, CANCELLED, Runner


def outcome_exited():
    """a command that ended has its own exit status, 124 and 137 included"""
    with Runner() as runner:
        for status in (0, 1, 124, 137, 143, 255):
            result = runner.run(f'exit {status}')
            assert (result.outcome, result.exit_code, result.signal) == (EXITED, status, 0), result


def outcome_signaled():
    """a command that died by signal n has 128 + n and n"""
    with Runner() as runner:
        for number in (9, 15, 11, 1):
            result = runner.run(f'kill -{number} $$')
            assert (result.outcome, result.exit_code, result.signal) == (SIGNALED, 128 + number, number), result


def outcome_timed_out():
    """a command past its limit is ended with all it started, and has no exit status"""
    with Runner() as runner:
        result = runner.run('echo one; echo two >&2; sleep 30', timeout_ms=300)
        assert (result.outcome, result.exit_code, result.signal, result.timeout_ms) == (TIMED_OUT, -1, 0, 300), result
        assert (result.stdout, result.stderr) == (b'one\n', b'two\n'), result


def outcome_cancelled():
    """a cancelled command is ended and has no exit status"""
    with Runner() as runner:
        id = runner.begin('echo up; sleep 30')
        runner.wait_until(lambda: runner.results[id].stdout)
        runner.cancel(id)
        result = runner.finish(id)
        assert (result.outcome, result.exit_code, result.signal) == (CANCELLED, -1, 0), result


frames.main([outcome_exited, outcome_signaled, outcome_timed_out, outcome_cancelled])
