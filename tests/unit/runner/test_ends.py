# SPDX-License-Identifier: MIT
"""How everything that a command started is ended, and nothing else."""

import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import tap
from frames import (CANCEL, CANCELLED, EXITED, LOST, SIGNAL, SIGNALED, SURVIVORS, TIMED_OUT, Runner, alive, below, frame,
                    lasting, processes, wait_true)

ESCAPES = {
    'a background child': '{0} & wait',
    'a child with a session of its own': 'setsid {0} & sleep 600',
    'a double fork': "sh -c '(setsid {0} </dev/null >/dev/null 2>&1 &)'; sleep 600",
    'a grandchild': "sh -c 'sh -c \"{0}; true\"; true'",
    'a child that ignores TERM': "(trap '' TERM; {0}; {0}) & wait",
    'a stopped child': '{0} & until grep -q sleep /proc/$!/comm; do :; done; kill -STOP $!; wait',
    'an orphan of an ended parent': '(({0}) &) ; sleep 600',
    'a daemon that closed all': '(setsid sh -c "exec <&- >&- 2>&-; {0}; true" &); sleep 600',
}


def ended_after(patience, words):
    return wait_true(lambda: not alive(words), patience)


def keeper_of(pid):
    """The keeper that the process descends from."""
    tree = processes()
    line = []
    while pid in tree:
        line.append(pid)
        pid = tree[pid][0]
    runners = [pid for pid in line if 'compute-runner' in tree[pid][2]]
    return runners[0]


def test_a_timeout_ends_all_that_the_command_started():
    with Runner() as runner:
        for what, script in ESCAPES.items():
            last = lasting()
            result = runner.run(script.format(last), timeout_ms=400)
            assert not alive(last), what
            assert result.outcome == TIMED_OUT and result.flags == 0, (what, result)


def test_a_cancel_ends_all_that_the_command_started():
    with Runner() as runner:
        for what, script in ESCAPES.items():
            last = lasting()
            id = runner.begin(script.format(last))
            assert wait_true(lambda: alive(last)), what
            runner.cancel(id)
            assert runner.finish(id).outcome == CANCELLED, what
            assert not alive(last), what


def test_a_cancel_is_not_lost_behind_signals():
    with Runner() as runner:
        last = lasting()
        id = runner.begin(last)
        assert wait_true(lambda: alive(last))
        runner.send(frame(SIGNAL, id, struct.pack('<I', signal.SIGWINCH)) * 8000 + frame(CANCEL, id))
        assert runner.finish(id).outcome == CANCELLED


def test_what_ends_by_term_is_not_waited_for():
    with Runner() as runner:
        result = runner.run('sleep 600 & sleep 600', timeout_ms=100)
        assert result.duration_us < 1900000, result
        result = runner.run("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done", timeout_ms=500)
        assert result.outcome == TIMED_OUT and result.stdout == b'up\nbye\n', result


def test_what_ignores_term_is_killed_after_the_grace():
    with Runner() as runner:
        result = runner.run("trap '' TERM; while :; do sleep 0.05; done", timeout_ms=200)
        assert result.outcome == TIMED_OUT and 2000000 < result.duration_us, result


def test_no_next_command_starts_when_the_present_one_is_ended():
    with Runner() as runner, tempfile.TemporaryDirectory() as folder:
        for i in range(10):
            runner.run(f"sh -c 'sleep 600; touch {folder}/a'; touch {folder}/b", timeout_ms=100)
        assert not os.listdir(folder)


def test_background_children_live_on_and_end_with_the_runner():
    with Runner() as runner:
        last = lasting()
        result = runner.run(f'{last} & echo ok', timeout_ms=200)
        assert result.outcome == EXITED and result.stdout == b'ok\n' and result.duration_us < 5000000, result
        other = lasting()
        runner.run(other, timeout_ms=300)
        assert alive(last) and not alive(other)
        assert runner.shutdown() == 0
        assert not alive(last)


def test_a_cancel_after_the_end_leaves_background_children_alone():
    with Runner() as runner:
        last = lasting()
        id = runner.begin(f'{last} & echo ok')
        runner.finish(id)
        runner.cancel(id)
        runner.ping()
        assert runner.run('sleep 0.1').outcome == EXITED and alive(last)


def test_later_output_of_background_children_is_dropped_and_harms_nobody():
    with Runner() as runner, tempfile.TemporaryDirectory() as folder:
        result = runner.run(f'(sleep 0.2; head -c 3000000 /dev/zero && echo late && echo fine > {folder}/a) & echo ok')
        assert result.stdout == b'ok\n', result
        assert wait_true(lambda: os.path.exists(f'{folder}/a'))


def test_a_flooding_background_child_does_not_delay_the_end():
    with Runner() as runner:
        result = runner.run('yes & echo ok; exit 3', limit=1000)
        assert result.outcome == EXITED and result.exit_code == 3, result
        assert runner.shutdown() == 0


def test_a_shutdown_ends_all_and_says_how_commands_ended():
    with Runner() as runner:
        lasts = [lasting() for _ in range(4)]
        ids = [runner.begin(f'{last} & trap "" TERM; {last}') for last in lasts]
        assert wait_true(lambda: all(len(alive(last)) == 2 for last in lasts))
        assert runner.shutdown() == 0
        assert not any(alive(last) for last in lasts)
        assert all(runner.results[id].outcome == CANCELLED for id in ids)


def test_the_end_of_the_pipe_ends_all():
    runner = Runner()
    lasts = [lasting() for _ in range(3)]
    for last in lasts:
        runner.begin(f'setsid {last} & {last}')
        runner.run(f'{last} &')
    assert wait_true(lambda: all(len(alive(last)) == 3 for last in lasts))
    tree = below(runner.pid) + [runner.pid]
    assert runner.close() == 0
    assert not any(alive(last) for last in lasts)
    assert not set(tree) & set(processes())


def test_signals_end_the_runner_in_order():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with Runner() as runner:
            last = lasting()
            id = runner.begin(last)
            assert wait_true(lambda: alive(last))
            os.kill(runner.pid, number)
            assert runner.finish(id).outcome == CANCELLED
            assert runner.child.wait(10) == 0 and not alive(last)


def test_a_killed_runner_leaves_nothing():
    runner = Runner()
    last = lasting()
    runner.run(f'setsid {last} &')
    runner.begin(f"trap '' TERM; {last}; {last}")
    assert wait_true(lambda: len(alive(last)) == 2)
    tree = below(runner.pid)
    runner.child.kill()
    runner.close()
    assert ended_after(5, last)
    assert wait_true(lambda: not set(tree) & set(processes()), 5)


def test_a_lease_that_runs_out_is_a_closed_pipe():
    with Runner(lease_ms=400) as runner:
        last = lasting()
        runner.begin(last)
        for _ in range(8):
            time.sleep(0.1)
            runner.ping()
        assert alive(last)
        assert runner.child.wait(10) == 0 and not alive(last)


def test_a_lease_runs_from_the_first_frame_on():
    with Runner(lease_ms=400) as runner:
        assert runner.child.wait(10) == 0


HOST = """
import os, sys, time
from frames import Runner, alive, wait_true
runner = Runner(*sys.argv[2:])
runner.begin(sys.argv[1])
wait_true(lambda: alive(sys.argv[1]))
holder = os.fork()
if holder != 0:
    print(runner.pid, holder, flush=True)
time.sleep(600)
"""


def test_a_dead_parent_is_a_closed_pipe():
    """Though a forked child of the parent holds the pipe open."""
    for arguments, dies in ((['--with-parent'], True), ([], False)):
        last = lasting()
        host = subprocess.Popen([sys.executable, '-c', HOST, last, *arguments], stdout=subprocess.PIPE,
                                env=os.environ | {'PYTHONPATH': ':'.join(sys.path)})
        runner, holder = map(int, host.stdout.readline().split())
        host.kill()
        host.wait()
        host.stdout.close()
        if dies:
            assert ended_after(10, last) and wait_true(lambda: runner not in processes(), 10)
        else:
            time.sleep(1)
            assert alive(last)
        os.kill(holder, signal.SIGKILL)
        assert ended_after(10, last)


def test_a_killed_keeper_loses_its_command_alone():
    with Runner() as runner:
        last, other = lasting(), lasting()
        id = runner.begin(f'setsid {last} & {last}')
        neighbour = runner.begin(f'{other}')
        assert wait_true(lambda: len(alive(last)) == 2 and alive(other))
        os.kill(keeper_of(alive(last)[0]), signal.SIGKILL)
        result = runner.finish(id)
        assert result.failed and result.failed[0] == LOST, result
        assert not alive(last) and alive(other)
        assert runner.run('echo on').stdout == b'on\n'
        runner.cancel(neighbour)
        assert runner.finish(neighbour).outcome == CANCELLED


def test_a_command_that_kills_its_keeper_is_lost():
    with Runner() as runner:
        for _ in range(5):
            result = runner.run('kill -9 $PPID; sleep 600')
            assert result.failed and result.failed[0] == LOST, result
        assert runner.run('echo on').stdout == b'on\n'


def test_a_limit_holds_though_the_keeper_is_stopped():
    with Runner() as runner:
        last = lasting()
        ids = [runner.begin(f'kill -STOP $PPID; {last}', timeout_ms=limit) for limit in (300, 0)]
        assert wait_true(lambda: len(alive(last)) == 2)
        runner.cancel(ids[1])
        for id in ids:
            result = runner.finish(id)
            assert result.failed and result.failed[0] == LOST, result
        assert not alive(last) and runner.run('echo on').stdout == b'on\n'


def test_idle_keepers_that_are_killed_are_replaced():
    with Runner() as runner:
        runner.run('true')
        for _ in range(5):
            keepers = below(runner.pid)
            for pid in keepers:
                os.kill(pid, signal.SIGKILL)
            assert wait_true(lambda: not set(keepers) & set(processes()))
            assert runner.run('echo on').stdout == b'on\n'


def test_keepers_are_used_again():
    with Runner() as runner:
        keepers = {bytes(runner.run('echo $PPID').stdout) for _ in range(50)}
        assert len(keepers) <= 2, keepers


def test_keepers_that_are_not_needed_end():
    with Runner() as runner:
        ids = [runner.begin('sleep 0.3') for _ in range(20)]
        for id in ids:
            runner.finish(id)
        assert len(below(runner.pid)) >= 20
        assert wait_true(lambda: len(below(runner.pid)) == 1, 20)


def test_many_commands_leave_nothing():
    with Runner() as runner:
        runner.run('true')
        for i in range(1000):
            if i % 50 == 0:
                assert runner.run('sleep 600 & setsid sleep 600', timeout_ms=30).outcome == TIMED_OUT
            else:
                assert runner.run('(true &)').exit_code == 0
        tree = processes()
        mine = below(runner.pid)
        assert not [pid for pid in mine if tree.get(pid, (0, '', ''))[1] == 'Z']
        fds = os.listdir(f'/proc/{runner.pid}/fd')
        assert len(fds) < 20 + 2 * len(mine), fds


def test_two_hundred_at_once():
    with Runner() as runner:
        ids = [runner.begin(f'echo {i}; sleep 0.5; echo {i} >&2; exit {i % 100}') for i in range(200)]
        for i, id in enumerate(ids):
            result = runner.finish(id, 60)
            assert result.stdout == result.stderr == b'%d\n' % i and result.exit_code == i % 100, result


def test_orphans_are_reaped():
    with Runner() as runner:
        result = runner.run('i=0; while [ $i -lt 300 ]; do (sleep 0.01 &) ; i=$((i+1)); done; sleep 1', timeout_ms=60000)
        assert result.exit_code == 0, result
        tree = processes()
        assert not [pid for pid in below(runner.pid) if pid in tree and tree[pid][1] == 'Z']


def test_a_fork_bomb_is_ended():
    """Under a limit of processes, as a container has it."""
    if os.geteuid() != 0:
        raise tap.Skip('needs root to become a user with no other processes')
    user = 47114
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(os.environ['COMPUTE_RUNNER'], folder)
        with Runner(program=program, user=user, group=user, extra_groups=[],
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (150, 150))) as runner:
            result = runner.run('f() { f | f & }; f; sleep 600', timeout_ms=500)
            assert result.outcome == TIMED_OUT and result.flags == 0, result
            assert runner.run('echo on').stdout == b'on\n'
        assert not owned_by(user)


def owned_by(user):
    found = []
    for pid in processes():
        try:
            if os.stat(f'/proc/{pid}').st_uid == user:
                found.append(pid)
        except OSError:
            pass
    return found


def test_what_cannot_be_ended_is_told():
    """A process that became another user's by a set-user-id program."""
    if os.geteuid() != 0:
        raise tap.Skip('needs root to make a set-user-id program')
    last = lasting()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(os.environ['COMPUTE_RUNNER'], folder)
        helper = f'{folder}/helper'
        with open(f'{folder}/helper.c', 'w') as file:
            file.write('#include <unistd.h>\nint main (int c, char **v) { (void) c; return setuid (0) || execvp (v[1], v + 1); }\n')
        subprocess.run(['cc', '-o', helper, f'{folder}/helper.c'], check=True)
        os.chmod(helper, 0o4755)
        with Runner(program=program, user=47115, group=47115, extra_groups=[]) as runner:
            result = runner.run(f'echo up; {helper} {last}', timeout_ms=500)
            try:
                assert alive(last)
                assert result.outcome == TIMED_OUT and result.flags == SURVIVORS, result
                assert runner.run('echo on').stdout == b'on\n'
                assert runner.shutdown() == 1
            finally:
                for pid in alive(last):
                    os.kill(pid, signal.SIGKILL)


tap.main(globals())
