# SPDX-License-Identifier: MIT
"""How a command starts and ends, and what it finds."""

import fcntl
import os
import resource
import signal
import tempfile

import tap
from frames import (CANCELLED, EXITED, INVALID, NOT_STARTED, SIGNALED, STDERR_TRUNCATED, STDOUT_TRUNCATED, SYSTEM, TIMED_OUT,
                    UNSET, Runner, below)


def same(result, outcome, exit_code, number=0):
    assert result.failed is None and (result.outcome, result.exit_code, result.signal) == (outcome, exit_code, number), result


# ---- The outcome table ------------------------------------------------------------------------------------------------

def test_a_command_that_ended_has_its_own_status():
    with Runner() as runner:
        for status in (0, 1, 124, 125, 137, 143, 255):
            same(runner.run(f'exit {status}'), EXITED, status)


def test_a_command_that_died_by_a_signal_has_its_number():
    with Runner() as runner:
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP, signal.SIGPIPE, 34, 64):
            same(runner.run(f'kill -{int(number)} $$'), SIGNALED, 128 + number, number)


def test_a_command_past_its_limit_timed_out_and_keeps_its_output():
    with Runner() as runner:
        result = runner.run('echo one; echo two >&2; sleep 30', timeout_ms=300)
        same(result, TIMED_OUT, -1)
        assert result.timeout_ms == 300 and result.stdout == b'one\n' and result.stderr == b'two\n', result
        assert 300000 <= result.duration_us, result


def test_a_cancelled_command_is_cancelled():
    with Runner() as runner:
        id = runner.begin('echo up; sleep 30')
        runner.wait_until(lambda: runner.results[id].stdout)
        runner.cancel(id)
        same(runner.finish(id), CANCELLED, -1)


def test_a_signal_from_the_host_goes_to_the_own_process():
    with Runner() as runner:
        id = runner.begin('trap "echo got; exit 5" USR1; echo up; while :; do sleep 0.05; done')
        runner.wait_until(lambda: runner.results[id].stdout)
        runner.signal(id, signal.SIGUSR1)
        result = runner.finish(id)
        same(result, EXITED, 5)
        assert result.stdout == b'up\ngot\n', result


def test_no_limit_means_none():
    with Runner() as runner:
        runner.configure(timeout_ms=200)
        result = runner.run('sleep 0.5; echo done', timeout_ms=0)
        same(result, EXITED, 0)
        assert result.timeout_ms == 0, result
        same(runner.run('sleep 30'), TIMED_OUT, -1)


def test_the_longest_limit_is_no_instant_one():
    with Runner() as runner:
        same(runner.run('exit 3', timeout_ms=2**63 - 1), EXITED, 3)


def test_negative_limits_are_refused():
    with Runner() as runner:
        for what in ({'timeout_ms': -1}, {'limit': -1}, {'timeout_ms': UNSET + 1}):
            result = runner.run('true', **what)
            assert result.failed and result.failed[0] == INVALID, result


def test_use_of_resources_is_told():
    with Runner() as runner:
        result = runner.run('i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done')
        assert result.user_us + result.sys_us > 10000 and result.max_rss_bytes > 200000, result
        assert result.duration_us >= (result.user_us + result.sys_us) / 2, result


# ---- Forms ------------------------------------------------------------------------------------------------------------

def test_words_run_without_a_shell():
    with Runner() as runner:
        assert runner.run(['printf', '%s|', 'a  b', '$HOME', '', "it's"]).stdout == b"a  b|$HOME||it's|"


def test_a_program_that_is_not_there_is_127_with_its_name():
    with Runner() as runner:
        for name in ('no_such_cmd_xyz', '/no/such', './none', ''):
            result = runner.run([name])
            same(result, EXITED, 127)
            assert result.stderr == f'{name}: not found\n'.encode(), result
        result = runner.run('no_such_cmd_xyz')
        same(result, EXITED, 127)
        assert b'no_such_cmd_xyz' in result.stderr, result


def test_a_program_that_may_not_run_is_126_with_its_name():
    with Runner() as runner, tempfile.NamedTemporaryFile() as file:
        for name, why in (('/tmp', 'Permission denied'), (file.name, 'Permission denied')):
            result = runner.run([name])
            same(result, EXITED, 126)
            assert result.stderr == f'{name}: {why}\n'.encode(), result


def test_a_program_is_looked_up_in_the_path_of_the_command():
    with Runner() as runner, tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'mine')
        with open(program, 'w') as file:
            file.write('#!/bin/sh\necho found $1\n')
        os.chmod(program, 0o755)
        assert runner.run(['mine', 'x'], env={'PATH': f'/no/such:{folder}'}).stdout == b'found x\n'
        assert runner.run(['mine'], env={'PATH': ':/bin'}, workdir=folder).stdout == b'found\n'
        same(runner.run(['mine'], env={'PATH': '/bin'}), EXITED, 127)
        assert runner.run(['sh', '-c', 'echo ok'], replace=1).stdout == b'ok\n'


def test_scripts_of_any_length_run_alike():
    with Runner() as runner:
        tail = '\necho "$0" "$#" "$-"; cat; exit 7'
        short = runner.run('true' + tail, data=b'input')
        for filler in (131071 - len(tail) - 4, 131072, 300000, 3000000):
            result = runner.run('#' + 'a' * filler + tail, data=b'input')
            same(result, EXITED, 7)
            assert result.stdout == short.stdout, (filler, result)
        body = 'b' * (1 << 20)
        assert runner.run(f'cat <<E | wc -c\n{body}\nE\n').stdout.split() == [b'1048577']


def test_a_long_script_leaves_no_descriptor():
    with Runner() as runner:
        script = 'for f in /proc/self/fd/*; do readlink $f; done; ls /proc/self/fd; #' + 'a' * 200000
        result = runner.run(script)
        assert b'memfd' not in result.stdout, result
        assert result.stdout.split()[-4:] == [b'0', b'1', b'2', b'3'], result  # 3: the folder that ls reads


def test_a_long_script_that_cannot_be_held_leaves_no_descriptor():
    script = b'#' * 200000
    limit = len(script) + 5  # room for the words in one file, and not for what goes before them in another
    with Runner(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) as runner:
        held = set()
        for _ in range(5):
            result = runner.run(script, env={}, replace=1)
            assert result.failed and result.failed[0] == SYSTEM, result
            held.add(sum(len(os.listdir(f'/proc/{pid}/fd')) for pid in below(runner.pid)))
        assert len(held) == 1, held


def test_a_script_may_begin_with_a_dash():
    with Runner() as runner:
        result = runner.run('-n foo')
        same(result, EXITED, 127)
        assert b'-n' in result.stderr, result
        same(runner.run('+x 1'), EXITED, 127)


def test_an_empty_script_does_nothing():
    with Runner() as runner:
        for script in ('', '   ', '\n'):
            same(runner.run(script), EXITED, 0)


def test_too_long_arguments_name_the_limit():
    with Runner() as runner:
        for words in (['true', 'x' * 131072], ['true'] + ['x' * 100000] * 100):
            result = runner.run(words)
            assert result.failed and result.failed[0] == INVALID and '131072' in result.failed[2], result
        same(runner.run(['true', 'x' * 131071]), EXITED, 0)
        result = runner.run('true', env={'A': 'x' * 200000})
        assert result.failed and result.failed[0] == INVALID, result


# ---- What it finds ----------------------------------------------------------------------------------------------------

def test_input_is_dev_null_unless_given():
    with Runner() as runner:
        assert runner.run('cat; echo done').stdout == b'done\n'
        assert runner.run('readlink /proc/self/fd/0').stdout == b'/dev/null\n'
        assert runner.run('test -t 0 || echo nostdin; test -t 1 || echo notty').stdout == b'nostdin\nnotty\n'


def test_input_comes_whole():
    with Runner() as runner:
        data = bytes(range(256)) * 20000
        for part in (b'', b'a', data[:262144], data):
            assert runner.run('cat', data=part).stdout == part


def test_input_that_nobody_reads_is_dropped():
    with Runner() as runner:
        same(runner.run('exec <&-; sleep 0.3; exit 4', data=b'x' * 3000000), EXITED, 4)
        assert runner.run('head -c 3', data=b'abcdef' * 500000).stdout == b'abc'


def test_input_can_be_streamed():
    with Runner() as runner:
        id = runner.begin('while read line; do echo "<$line>"; done; echo end', stdin=1)
        for line in (b'one\n', b'two\n'):
            runner.feed(id, line, end=False)
            runner.wait_until(lambda: b'<' + line.strip() + b'>' in runner.results[id].stdout)
        runner.feed(id, b'')
        assert runner.finish(id).stdout == b'<one>\n<two>\nend\n'


def test_env_is_merged_by_name():
    with Runner(env={'BASE': '1', 'KEEP': 'k', 'PATH': os.environ['PATH']}) as runner:
        runner.configure(env={'BASE': '2', 'SET': 's'})
        result = runner.run(['env'], env={'SET': 't', 'NEW': 'n'})
        lines = sorted(line for line in result.stdout.decode().splitlines() if not line.startswith(('PATH=', 'ASAN', 'LSAN')))
        assert lines == ['BASE=2', 'KEEP=k', 'NEW=n', 'SET=t'], lines
        assert runner.run(['/usr/bin/env'], env={'ONLY': 'x'}, replace=1).stdout == b'ONLY=x\n'


def test_configure_can_replace_the_env():
    with Runner() as runner:
        runner.configure(env={'ONLY': 'x'}, replace=1)
        assert runner.run(['/usr/bin/env']).stdout == b'ONLY=x\n'
        assert sorted(runner.run(['/usr/bin/env'], env={'B': ''}).stdout.split()) == [b'B=', b'ONLY=x']


def test_env_values_are_kept_byte_by_byte():
    with Runner() as runner:
        values = {'A': 'l1\nl2', 'B': '"\'`$(id)$HOME\\', 'C': '', 'D': 'a=b=c', 'E': 'caf\u00e9', 'F': ' lead', 'G': 'a,b'}
        for name, value in values.items():
            result = runner.run(f'printf %s "${name}"; printf %s "${{{name}-unset}}"', env=values)
            assert result.stdout == (value * 2).encode(), result


def test_names_that_cannot_be_are_refused():
    with Runner() as runner:
        for name in ('', 'A=B', '='):
            result = runner.run('true', env={name: 'x'})
            assert result.failed and result.failed[0] == INVALID and f"'{name}'" in result.failed[2], result


def test_the_workdir_is_made_and_entered():
    with Runner() as runner, tempfile.TemporaryDirectory() as folder:
        assert runner.configure(workdir=f'{folder}/a/b') is None
        assert runner.run('pwd').stdout == f'{folder}/a/b\n'.encode()
        assert runner.run(['pwd'], workdir='/').stdout == b'/\n'


def test_a_workdir_that_cannot_be_entered_is_named():
    with Runner() as runner, tempfile.TemporaryDirectory() as folder:
        path = f'{folder}/file'
        open(path, 'w').close()
        for workdir in (path, f'{folder}/none', f'{path}/below'):
            result = runner.run('true', workdir=workdir)
            assert result.failed and result.failed[0] == NOT_STARTED and f"'{workdir}'" in result.failed[2], result
        result = runner.run('true', workdir='relative')
        assert result.failed and result.failed[0] == INVALID, result
        assert runner.configure(workdir=path)[0] == NOT_STARTED
        assert runner.configure(workdir='relative')[0] == INVALID
        assert runner.configure(workdir=folder) is None, 'a failed CONFIGURE can be repeated'


def test_commands_leave_each_other_no_state():
    with Runner() as runner:
        runner.run('cd /; export A=1; umask 077; ulimit -n 10')
        assert runner.run('pwd; echo [$A]; umask; ulimit -n').stdout == runner.run('pwd; echo []; umask; ulimit -n').stdout


def test_the_umask_and_the_limits_are_the_starters():
    mask = os.umask(0o027)
    try:
        with Runner() as runner:
            here = os.popen('umask; ulimit -n; ulimit -s').read().encode()
            assert runner.run('umask; ulimit -n; ulimit -s').stdout == here
    finally:
        os.umask(mask)


def test_signals_are_at_their_defaults():
    ignored = (signal.SIGPIPE, signal.SIGINT, signal.SIGCHLD, signal.SIGTERM)
    old = [signal.signal(number, signal.SIG_IGN) for number in ignored]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD})
    try:
        runner = Runner()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number, handler in zip(ignored, old):
            signal.signal(number, handler)
    with runner:
        result = runner.run(['cat', '/proc/self/status'])
        lines = [line.split()[1] for line in result.stdout.splitlines() if line.startswith((b'SigBlk', b'SigIgn', b'SigCgt'))]
        assert lines == [b'0' * 16] * 3, lines
        result = runner.run('yes | head -n 1')
        assert result.stdout == b'y\n' and result.stderr == b'', result


def test_no_descriptor_of_ours_is_inherited():
    extra = [fcntl.fcntl(0, fcntl.F_DUPFD, 50) for _ in range(20)]
    try:
        with Runner(pass_fds=extra) as runner:
            assert not set(map(str, extra)) & set(os.listdir(f'/proc/{runner.pid}/fd')), 'the runner keeps none itself'
            for _ in range(2):
                id = runner.begin('sleep 5', stdin=1)  # its pipes are open meanwhile
                result = runner.run(['ls', '/proc/self/fd'], data=b'')
                runner.cancel(id)
                runner.finish(id)
                assert result.stdout.split() == [b'0', b'1', b'2', b'3'], result
    finally:
        for fd in extra:
            os.close(fd)


def test_each_command_has_a_session_of_its_own():
    with Runner() as runner:
        result = runner.run('read pid name state parent group session rest < /proc/self/stat; echo $$ $group $session')
        pid, group, session = result.stdout.split()
        assert pid == group == session, result


# ---- Output -----------------------------------------------------------------------------------------------------------

def test_streams_are_separate_and_byte_exact():
    with Runner() as runner:
        assert runner.run("printf '\\377\\376A\\000b\\r\\n'").stdout == b'\xff\xfeA\0b\r\n'
        result = runner.run('i=0; while [ $i -lt 2000 ]; do echo outout; echo errerr >&2; i=$((i+1)); done')
        assert result.stdout == b'outout\n' * 2000 and result.stderr == b'errerr\n' * 2000


def test_the_tail_is_never_cut():
    with Runner() as runner:
        for _ in range(30):
            result = runner.run("head -c 300000 /dev/zero | tr '\\0' a; exit 3")
            same(result, EXITED, 3)
            assert result.stdout == b'a' * 300000


def test_what_lies_past_the_limit_is_counted_and_flagged():
    with Runner() as runner:
        for count in (0, 9999, 10000, 10001, 16384, 3000000):
            result = runner.run(f"head -c {count} /dev/zero | tr '\\0' a", limit=10000)
            assert result.stdout == b'a' * min(count, 10000), result
            assert result.stdout_bytes == count and result.limit == 10000, result
            assert result.flags == (STDOUT_TRUNCATED if count > 10000 else 0), result
        result = runner.run('echo ab; echo cde >&2', limit=3)
        assert (result.stdout, result.stderr, result.flags) == (b'ab\n', b'cde', STDERR_TRUNCATED), result


def test_a_flood_ends_in_time_and_in_little_memory():
    with Runner() as runner:
        result = runner.run('yes', timeout_ms=1500, limit=100000)
        same(result, TIMED_OUT, -1)
        assert len(result.stdout) == 100000 and result.stdout_bytes > 10**7 and result.flags == STDOUT_TRUNCATED
        with open(f'/proc/{runner.pid}/status') as file:
            peak = int(file.read().split('VmHWM:')[1].split()[0])
        assert peak < 16 * 1024 or 'SANITIZED' in os.environ, peak


def test_the_end_of_output_is_not_the_end():
    with Runner() as runner:
        result = runner.run('exec >&- 2>&-; sleep 0.6; exit 4')
        same(result, EXITED, 4)
        assert result.duration_us >= 600000, result


tap.main(globals())
