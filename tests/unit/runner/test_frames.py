# SPDX-License-Identifier: MIT
"""The rules of the wire: what the runner takes and what it refuses."""

import os
import resource
import struct
import time

import tap
from frames import (ARGV, CANCEL, CANCELLED, CONFIGURE, EXITED, GET, HELLO, INVALID, MORE, PAYLOAD_MAX, PING, PONG, PROTOCOL, SHELL,
                    SHUTDOWN, SIGNAL, START, STDIN, STDIN_END, UNSET, WELCOME, WINDOW, Closed, Result, Runner, configure,
                    frame, hello, listed, pairs, start, text)

HEAD = struct.pack('<BBBBIqqQ', SHELL, 0, 0, 0, 0, UNSET, UNSET, 0)


def raw(length, kind, flags=0, reserved=0, id=0, payload=b''):
    return struct.pack('<IBBHI', length, kind, flags, reserved, id) + payload


BAD_FRAMES = {
    'a payload over 64 KiB': raw(PAYLOAD_MAX + 1, STDIN, id=1),
    'the longest length': raw(2**32 - 1, START, id=1),
    'an unknown flag': raw(0, PING, flags=2),
    'all flags': raw(0, PING, flags=255),
    'reserved bits': raw(0, PING, reserved=1),
    'type 0': frame(0),
    'an unknown type': frame(99),
    "a type of the runner's": frame(WELCOME),
    'a second HELLO': hello(),
    'MORE on PING': frame(PING, flags=MORE),
    'PING with a payload': frame(PING, 0, b'x'),
    'SHUTDOWN with a payload': frame(SHUTDOWN, 0, b'x'),
    'START without an id': frame(START, 0, start(SHELL, ['true'])),
    'CONFIGURE with an id': frame(CONFIGURE, 1, configure()),
    'an empty START': frame(START, 1),
    'a START cut short': frame(START, 1, start(SHELL, ['true'])[:-1]),
    'a START with more': frame(START, 1, start(SHELL, ['true']) + b'x'),
    'an unknown kind': frame(START, 1, start(9, ['true'])),
    'kind 0': frame(START, 1, start(0, ['true'])),
    'an unknown input': frame(START, 1, start(SHELL, ['true'], stdin=2)),
    'an unknown env_replace': frame(START, 1, start(SHELL, ['true'], replace=2)),
    'a reserved byte': frame(START, 1, start(SHELL, ['true']).replace(HEAD[:4], b'\1\0\0\1', 1)),
    'a NUL in a script': frame(START, 1, start(SHELL, [b'a\0b'])),
    'a NUL in a name': frame(START, 1, start(SHELL, ['true'], env={'A\0': 'b'})),
    'a NUL in a workdir': frame(START, 1, start(SHELL, ['true'], workdir='/\0')),
    'more words than can be': frame(START, 1, HEAD + text('') + pairs({}) + struct.pack('<I', 2**32 - 1)),
    'more variables than can be': frame(START, 1, HEAD + text('') + struct.pack('<I', 2**31)),
    'a word longer than all': frame(START, 1, HEAD + text('') + pairs({}) + struct.pack('<II', 1, 2**32 - 1)),
    'an empty CONFIGURE': frame(CONFIGURE),
    'a CONFIGURE with more': frame(CONFIGURE, 0, configure() + b'x'),
    'an unknown env_replace of CONFIGURE': frame(CONFIGURE, 0, configure(replace=2)),
    'a second CONFIGURE': frame(CONFIGURE, 0, configure()) * 2,
    'another START between parts': frame(START, 1, b'', MORE) + frame(START, 2, start(SHELL, ['true'])),
    'CONFIGURE between parts': frame(START, 1, b'', MORE) + frame(CONFIGURE, 0, configure()),
    'a WINDOW without a number': frame(WINDOW, 1),
    'a WINDOW with two': frame(WINDOW, 1, bytes(16)),
    'a SIGNAL of no signal': frame(SIGNAL, 1, struct.pack('<I', 0)),
    'a SIGNAL past the last': frame(SIGNAL, 1, struct.pack('<I', 65)),
    'a CANCEL with a payload': frame(CANCEL, 1, b'x'),
    'a STDIN_END with a payload': frame(STDIN_END, 1, b'x'),
}

# With a command of id 1 that runs, and has input.
BAD_FOR_A_COMMAND = {
    'an id in use': frame(START, 1, start(SHELL, ['true'])),
    'input past the window': frame(STDIN, 1, bytes(PAYLOAD_MAX)) * 6,  # a pipe takes one, and four wait
    'input after its end': frame(STDIN_END, 1) + frame(STDIN, 1, b'x'),
    'two ends of input': frame(STDIN_END, 1) * 2,
    'a window past all': frame(WINDOW, 1, struct.pack('<Q', 2**64 - 1)) * 2,
}


def test_frames_that_break_a_rule_end_the_connection():
    for what, data in BAD_FRAMES.items():
        with Runner() as runner:
            runner.send(data)
            assert runner.wait_closed() == [PROTOCOL], what


def test_frames_that_break_a_rule_of_a_command_end_the_connection():
    for what, data in BAD_FOR_A_COMMAND.items():
        with Runner() as runner:
            runner.begin('sleep 600', stdin=1, window=1)
            runner.send(data)
            assert runner.wait_closed() == [PROTOCOL], what


def test_nothing_but_hello_comes_first():
    for data in (frame(PING), frame(START, 1, start(SHELL, ['true'])), b'GET / HTTP/1.1\r\n\r\n', b'\xff' * 12,
                 frame(HELLO, 0, b'NURC' + bytes(8)), frame(HELLO, 0, b'CRUN'), frame(HELLO, 0, b'CRUN' + bytes(9))):
        with Runner(greet=False) as runner:
            runner.send(data)
            assert runner.wait_closed() == [PROTOCOL], data


def test_another_version_is_told_ours():
    with Runner(greet=False) as runner:
        runner.send(hello(version=7))
        assert runner.wait_for(WELCOME)[:8] == b'CRUN' + struct.pack('<I', 1)
        assert runner.wait_closed() == []


def test_a_connection_may_end_anywhere():
    whole = hello() + frame(CONFIGURE, 0, configure(env={'A': 'b'})) + frame(START, 1, start(SHELL, ['sleep 600']))
    for cut in range(0, len(whole), 7):
        with Runner(greet=False) as runner:
            runner.results[1] = Result()
            runner.send(whole[:cut])


def test_frames_may_come_byte_by_byte():
    with Runner(greet=False) as runner:
        runner.results[1] = Result()
        data = hello() + frame(PING) + frame(START, 1, start(SHELL, ['cat'], stdin=1)) + frame(STDIN, 1, b'ab') + frame(STDIN_END, 1)
        for i in range(len(data)):
            runner.send(data[i:i + 1])
        assert runner.finish(1).stdout == b'ab'


def test_frames_about_ended_commands_are_ignored():
    with Runner() as runner:
        id = runner.begin('true', stdin=1)
        runner.finish(id)
        for other in (id, 12345):
            runner.send(frame(STDIN, other, b'x') + frame(STDIN_END, other) + frame(CANCEL, other)
                        + frame(WINDOW, other, bytes(8)) + frame(SIGNAL, other, struct.pack('<I', 9)))
        runner.ping()


def test_an_id_can_be_used_again():
    with Runner() as runner:
        for i in range(3):
            runner.results[7] = Result()
            runner.send(frame(START, 7, start(SHELL, [f'echo {i}'])))
            assert runner.finish(7).stdout == b'%d\n' % i


def test_other_frames_may_come_between_the_parts_of_a_start():
    with Runner() as runner:
        payload = start(SHELL, ['echo joined'])
        id = runner.begin('cat', stdin=1)
        runner.results[99] = Result()
        runner.send(frame(START, 99, payload[:10], MORE) + frame(PING) + frame(STDIN, id, b'between'))
        runner.wait_for(PONG)
        runner.send(frame(START, 99, b'', MORE) + frame(STDIN_END, id) + frame(START, 99, payload[10:]))
        assert runner.finish(99).stdout == b'joined\n' and runner.finish(id).stdout == b'between'


def test_a_message_over_64_mib_ends_the_connection():
    with Runner() as runner:
        part = frame(START, 1, bytes(PAYLOAD_MAX), MORE)
        try:
            for _ in range(1025):
                runner.send(part)
        except (BrokenPipeError, Closed):
            pass
        assert runner.wait_closed() == [PROTOCOL]


def test_the_wrong_number_of_words_is_refused():
    with Runner() as runner:
        for kind, words in ((SHELL, []), (SHELL, ['a', 'b']), (ARGV, []), (GET, ['a', 'b']), (GET, [''])):
            result = runner.run(words, kind=kind)
            assert result.failed and result.failed[0] == INVALID, result


# ---- Windows ----------------------------------------------------------------------------------------------------------

def test_output_waits_for_its_window():
    with Runner() as runner:
        id = runner.begin('echo 123456789; echo abc >&2; sleep 0.2; exit 5', window=4)
        result = runner.results[id]
        runner.wait_until(lambda: len(result.stdout) + len(result.stderr) == 4)
        runner.ping()
        assert runner.run('sleep 0.5').outcome == EXITED, 'others are not held up'
        assert not result.done and len(result.stdout) + len(result.stderr) == 4, result
        runner.window(id, 5)
        runner.wait_until(lambda: len(result.stdout) + len(result.stderr) == 9)
        assert not result.done, result
        runner.window(id, 1000)
        result = runner.finish(id)
        assert result.stdout == b'123456789\n' and result.stderr == b'abc\n' and result.exit_code == 5, result


def test_what_lies_past_the_limit_takes_nothing_of_the_window():
    with Runner() as runner:
        result = runner.run('head -c 1000000 /dev/zero; exit 3', window=10, limit=10)
        assert result.stdout == bytes(10) and result.stdout_bytes == 1000000 and result.exit_code == 3, result


def test_a_window_without_end_is_fine():
    with Runner() as runner:
        assert runner.run('echo ok', window=2**64 - 1).stdout == b'ok\n'


def test_a_command_that_waits_for_a_window_can_be_ended():
    with Runner() as runner:
        id = runner.begin('yes', window=1)
        runner.wait_until(lambda: runner.results[id].stdout)
        runner.cancel(id)
        runner.window(id, 2**40)
        result = runner.finish(id)
        assert result.outcome == CANCELLED and result.duration_us < 1900000, result
        assert len(result.stdout) == result.stdout_bytes and result.stdout.startswith(b'y\ny\n'), result


def test_a_host_that_does_not_read_holds_up_the_output_and_not_its_frames():
    with Runner() as runner:
        ids = [runner.begin('yes | head -c 3000000; echo end >&2') for _ in range(5)]
        other = runner.begin('cat > /dev/null; echo read', stdin=1)
        data = frame(STDIN, other, bytes(1000)) * 200 + frame(PING) * 5000 + frame(STDIN_END, other)
        os.set_blocking(runner.write_fd, True)
        while data:  # all of it is taken, though nothing of ours is read
            data = data[os.write(runner.write_fd, data):]
        with open(f'/proc/{runner.pid}/status') as file:
            peak = int(file.read().split('VmHWM:')[1].split()[0])
        assert peak < 16 * 1024 or 'SANITIZED' in os.environ, peak
        assert runner.finish(other).stdout == b'read\n'
        for id in ids:
            result = runner.finish(id)
            assert len(result.stdout) == 3000000 and result.stderr == b'end\n'


def test_a_host_that_never_reads_is_left():
    with Runner() as runner:
        os.set_blocking(runner.write_fd, True)
        try:
            while True:
                os.write(runner.write_fd, frame(PING) * 5000)
        except BrokenPipeError:
            pass


if 'SANITIZED' not in os.environ:  # a sanitizer cannot do without memory
    def test_a_runner_without_memory_for_output_closes():
        with Runner() as runner:
            runner.begin('sleep 0.5; echo on')
            time.sleep(0.2)
            with open(f'/proc/{runner.pid}/statm') as file:
                size = int(file.read().split()[0]) * resource.getpagesize()
            resource.prlimit(runner.pid, resource.RLIMIT_AS, (size, size))
            runner.wait_closed()


tap.main(globals())
