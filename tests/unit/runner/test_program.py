# SPDX-License-Identifier: MIT
"""The program around the protocol: its options, its socket, its place in a container, kills for memory."""

import ctypes
import errno
import os
import resource
import signal
import stat
import struct
import subprocess
import tempfile
import time

import tap
from frames import (CANCELLED, EXITED, OUT_OF_MEMORY, SIGNALED, TIMED_OUT, WELCOME, Closed, Runner, Visitor, alive, below,
                    hello, lasting, processes, wait_true)

PROGRAM = os.environ['COMPUTE_RUNNER']


def say(*arguments):
    done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout, done.stderr


def test_help_and_version_are_printed():
    status, out, err = say('--version')
    assert status == 0 and out.startswith('compute-runner ') and err == ''
    status, out, err = say('--help')
    assert status == 0 and '--listen SOCKET' in out and err == ''


def test_wrong_options_are_named():
    for arguments in (['--nonsense'], ['--listen'], ['word'], ['']):
        status, out, err = say(*arguments)
        assert status == 2 and out == '' and err.startswith('compute-runner: ') and f"'{arguments[-1]}'" in err, err
    assert say('--with-parent', '--listen', '/tmp/none')[0] == 2


def test_what_is_no_pipe_is_refused():
    status, out, err = say()
    assert status == 1 and out == '' and err.startswith('compute-runner: '), err


class Daemon:
    """A listening runner in a folder of its own, configured."""

    def __init__(self, name='socket'):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, name)

    def __enter__(self):
        self.first = Runner('--listen', self.path)
        assert self.first.child.wait(30) == 0
        assert self.first.configure(workdir=self.folder.name) is None
        return self

    def __exit__(self, *_):
        if self.first.pid in processes():
            os.kill(self.first.pid, signal.SIGKILL)
        self.first.close()
        self.folder.cleanup()


def test_a_listening_runner_outlives_its_starter():
    with Daemon() as daemon:
        assert stat.S_IMODE(os.stat(daemon.path).st_mode) == 0o600
        last = lasting()
        daemon.first.run(f'{last} & echo on')
        daemon.first.close()
        visitor = Visitor(daemon.path)
        assert visitor.pid == daemon.first.pid and visitor.is_configured
        assert os.getsid(visitor.pid) == visitor.pid
        assert visitor.run('pwd').stdout == f'{daemon.folder.name}\n'.encode() and alive(last)
        assert visitor.shutdown() == 0
        assert not alive(last) and wait_true(lambda: visitor.pid not in processes())
        assert not os.path.exists(daemon.path)


def test_connections_share_the_instance_and_not_their_commands():
    with Daemon() as daemon:
        visitors = [Visitor(daemon.path) for _ in range(5)]
        lasts = [lasting() for _ in visitors]
        ids = [visitor.begin(last) for visitor, last in zip(visitors, lasts)]
        assert len(set(ids)) == 1, 'each connection has ids of its own'
        assert wait_true(lambda: all(alive(last) for last in lasts))
        visitors[0].run(f'{lasts[0]}0 &')
        visitors[0].close()
        assert wait_true(lambda: not alive(lasts[0]))
        assert all(alive(last) for last in lasts[1:]) and alive(lasts[0] + '0')
        visitors[1].cancel(ids[1])
        assert visitors[1].finish(ids[1]).outcome == CANCELLED
        assert visitors[2].shutdown() == 0
        for visitor in visitors[3:]:
            try:
                assert visitor.finish(ids[0]).outcome == CANCELLED
                visitor.ping()
            except Closed:
                pass
        assert not any(alive(last) for last in lasts)


def test_a_broken_connection_harms_no_other():
    with Daemon() as daemon:
        good, bad = Visitor(daemon.path), Visitor(daemon.path, greet=False)
        bad.send(b'\xff' * 100)
        bad.wait_closed()
        assert good.run('echo on').stdout == b'on\n'


def test_one_that_was_never_configured_ends_with_its_last_connection():
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner('--listen', f'{folder}/socket')
        visitor = Visitor(f'{folder}/socket')
        runner.close()
        visitor.ping()
        visitor.close()
        assert wait_true(lambda: runner.pid not in processes()) and not os.listdir(folder)


def test_a_socket_may_have_a_long_path():
    with tempfile.TemporaryDirectory() as folder:
        deep = os.path.join(folder, 'd' * 100, 'e' * 100)
        os.makedirs(deep)
        runner = Runner('--listen', f'{deep}/socket')
        assert os.listdir(deep) == ['socket']
        assert runner.run('pwd').stdout.decode().strip() == os.getcwd()
        runner.shutdown()
        runner.close()
        assert os.listdir(deep) == []


def test_a_socket_that_cannot_be_made_is_named():
    with tempfile.TemporaryDirectory() as folder:
        open(f'{folder}/taken', 'w').close()
        for path in (f'{folder}/taken', f'{folder}/none/socket', f'{folder}/{"x" * 200}', ''):
            status, _, err = say('--listen', path)
            assert status == 1 and err.startswith(f"compute-runner: cannot listen on '{path}': "), err
        assert os.listdir(folder) == ['taken']


def test_many_connections_wait_for_descriptors():
    with Daemon() as daemon:
        visitors = []
        subprocess.run(['prlimit', f'--pid={daemon.first.pid}', '--nofile=40'], check=True)
        for _ in range(40):
            visitors.append(Visitor(daemon.path, greet=False))
        for visitor in visitors[:-1]:
            visitor.close()
        visitors[-1].close()
        assert Visitor(daemon.path).run('echo on').stdout == b'on\n'


def test_connections_are_taken_again_after_a_lack_of_descriptors():
    with Daemon() as daemon:
        daemon.first.child.stdin.close()
        daemon.first.wait_closed()
        soft, hard = resource.prlimit(daemon.first.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.first.pid, resource.RLIMIT_NOFILE, (3, hard))
        visitor = Visitor(daemon.path, greet=False)
        time.sleep(0.3)
        resource.prlimit(daemon.first.pid, resource.RLIMIT_NOFILE, (soft, hard))
        visitor.send(hello())
        visitor.wait_for(WELCOME)


def deny(*numbers):
    """For a child to be: these system calls fail as those that a container's filter does not know."""
    step = struct.Struct('HBBI')
    code = step.pack(0x20, 0, 0, 0)  # load the number
    for number in numbers:
        code += step.pack(0x15, 0, 1, number) + step.pack(0x06, 0, 0, 0x50000 | errno.EPERM)
    code = ctypes.create_string_buffer(code + step.pack(0x06, 0, 0, 0x7fff0000), len(code) + 8)
    program = struct.pack('@HP', len(code) // 8, ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(38, 1, 0, 0, 0) != 0 or prctl(22, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), 'no filter')


def test_newer_system_calls_are_not_relied_on():
    for name, number in {'pidfd_open': 434, 'close_range': 436, 'epoll_pwait2': 441}.items():
        with Runner('--with-parent', preexec_fn=lambda: deny(number)) as runner:
            assert runner.configure() is None, name
            assert runner.run('sleep 0.1; echo on').stdout == b'on\n', name
            last = lasting()
            result = runner.run(f'setsid {last} & wait', timeout_ms=300)
            assert result.outcome == TIMED_OUT and not alive(last), (name, result)


def test_a_bridge_carries_a_connection():
    with Daemon() as daemon:
        with Runner('--connect', daemon.path) as bridge:
            assert bridge.pid == daemon.first.pid and bridge.child.pid != bridge.pid
            assert len(bridge.run('head -c 3000000 /dev/zero').stdout) == 3000000
            assert bridge.run('cat', data=b'x' * 1000000).stdout == b'x' * 1000000
        assert Visitor(daemon.path).run('echo on').stdout == b'on\n'


def test_a_bridge_ends_with_its_runner():
    with Daemon() as daemon:
        bridge = Runner('--connect', daemon.path)
        os.kill(daemon.first.pid, signal.SIGKILL)
        assert bridge.child.wait(30) == 0


def test_a_bridge_to_nowhere_is_named():
    with tempfile.TemporaryDirectory() as folder:
        for path in (f'{folder}/none', f'{folder}/{"x" * 200}'):
            status, _, err = say('--connect', path)
            assert status == 1 and err.startswith(f"compute-runner: cannot connect to '{path}': "), err


def test_the_first_process_of_a_container_stays_to_listen():
    if os.geteuid() != 0:
        raise tap.Skip('needs root to make a pid namespace')
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner('--pid', '--fork', '--mount-proc', PROGRAM, '--listen', f'{folder}/socket', program='unshare')
        assert runner.configure(workdir=folder) is None
        runner.child.stdin.close()
        visitor = Visitor(f'{folder}/socket')
        assert visitor.run('echo on').stdout == b'on\n' and runner.child.poll() is None
        assert visitor.shutdown() == 0
        runner.close()


def test_ends_by_term_with_its_socket():
    with Daemon() as daemon:
        os.kill(daemon.first.pid, signal.SIGTERM)
        assert wait_true(lambda: daemon.first.pid not in processes()) and not os.path.exists(daemon.path)


def test_the_first_process_of_a_container_reaps_and_spares_strangers():
    if os.geteuid() != 0:
        raise tap.Skip('needs root to make a pid namespace')
    with Runner('--pid', '--fork', '--mount-proc', PROGRAM, program='unshare') as runner:
        assert runner.pid > 1
        inside = next(pid for pid, (parent, _, _) in processes().items() if parent == runner.child.pid)
        stranger = lasting()
        subprocess.run(['nsenter', '-t', str(inside), '-p', '-m', 'sh', '-c', f'{stranger} & for i in 1 2 3; do (true &); done'],
                       check=True)
        result = runner.run('kill -9 $PPID; sleep 600')
        assert result.failed, result
        assert alive(stranger), 'it came by another way, and is nobody to us'
        tree = processes()
        assert not [pid for pid in below(inside) if tree[pid][1] == 'Z']
        assert runner.run('echo on').stdout == b'on\n'
        assert runner.shutdown() == 0
        assert wait_true(lambda: not alive(stranger)), 'the container ended'


def memory_cgroup():
    """A new cgroup of 32 MiB: its folder, and where a process is put into it."""
    name = f'compute-test-{os.getpid()}'
    for root, limit in (('/sys/fs/cgroup/memory', 'memory.limit_in_bytes'), ('/sys/fs/cgroup', 'memory.max')):
        folder = f'{root}/{name}'
        try:
            os.mkdir(folder)
        except OSError:
            continue
        if os.path.exists(f'{folder}/{limit}'):
            with open(f'{folder}/{limit}', 'w') as file:
                file.write(str(32 << 20))
            return folder
        os.rmdir(folder)
    raise tap.Skip('needs a memory cgroup of its own')


def test_a_kill_for_memory_is_told_from_any_other():
    folder = memory_cgroup()
    try:
        def enter():
            with open(f'{folder}/cgroup.procs', 'w') as file:
                file.write(str(os.getpid()))

        with Runner(preexec_fn=enter) as runner:
            result = runner.run(['tail', '-n', '1', '/dev/zero'], timeout_ms=30000)
            assert (result.outcome, result.exit_code, result.signal) == (OUT_OF_MEMORY, 137, 9), result
            result = runner.run('kill -9 $$')
            assert (result.outcome, result.exit_code, result.signal) == (SIGNALED, 137, 9), result
            result = runner.run('tail -n 1 /dev/zero; exit 137')
            assert (result.outcome, result.exit_code) == (EXITED, 137), result
            id = runner.begin(lasting())
            runner.signal(id, signal.SIGKILL)
            assert runner.finish(id).outcome == SIGNALED
    finally:
        assert wait_true(lambda: os.rmdir(folder) is None if not open(f'{folder}/cgroup.procs').read() else False)


tap.main(globals())
