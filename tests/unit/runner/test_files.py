# SPDX-License-Identifier: MIT
"""Files in and out."""

import errno
import os
import signal
import socket
import struct
import subprocess
import tempfile

import tap
from frames import (CANCELLED, DENIED, EXITED, GET, INVALID, NOT_FOUND, NOT_STARTED, PUT, SYSTEM, TIMED_OUT, Runner, below,
                    processes, wait_true)

DATA = bytes(range(256)) * 12345 + b'tail'


class Place:
    """A runner in a folder of its own."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.runner = Runner().__enter__()
        assert self.runner.configure(workdir=self.folder.name) is None
        return self.runner, self.folder.name

    def __exit__(self, *error):
        self.runner.__exit__(*error)
        self.folder.cleanup()


def put(runner, path, data=DATA, mode=0o644, **what):
    return runner.run([path], kind=PUT, mode=mode, data=data, **what)


def get(runner, path, **what):
    """(mode, size, bytes), or the result of one that failed."""
    result = runner.run([path], kind=GET, **what)
    if result.failed:
        return result
    assert (result.outcome, result.exit_code, result.stderr) == (EXITED, 0, b''), result
    return (*struct.unpack_from('<IQ', result.stdout), bytes(result.stdout[12:]))


def refused(result, code, *words):
    assert result.failed and result.failed[0] == code, result
    assert all(word in result.failed[2] for word in words), result


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def write(path, data):
    with open(path, 'wb') as file:
        file.write(data)


def test_a_file_comes_back_as_it_went():
    with Place() as (runner, folder):
        for data in (b'', b'x', bytes(65536), DATA):
            for mode in (0o644, 0o600, 0o4755, 0o000):
                result = put(runner, f'{folder}/file', data, mode)
                assert result.failed is None and result.outcome == EXITED, result
                assert os.stat(f'{folder}/file').st_mode & 0o7777 == mode
                if mode != 0 or os.geteuid() == 0:
                    assert get(runner, f'{folder}/file') == (mode, len(data), data)
                os.chmod(f'{folder}/file', 0o600)
                assert read(f'{folder}/file') == data
        assert os.listdir(folder) == ['file']


def test_relative_paths_start_at_the_workdir():
    with Place() as (runner, folder):
        os.mkdir(f'{folder}/sub')
        put(runner, 'sub/file', b'abc')
        put(runner, 'file', b'def')
        assert read(f'{folder}/sub/file') == b'abc' and get(runner, './file')[2] == b'def'


def test_a_put_replaces_and_keeps_who_has_it_open():
    with Place() as (runner, folder):
        write(f'{folder}/file', b'old')
        with open(f'{folder}/file', 'rb') as old:
            put(runner, 'file', b'new')
            assert old.read() == b'old' and read(f'{folder}/file') == b'new'


def test_a_put_replaces_a_link_and_never_follows_it():
    with Place() as (runner, folder):
        write(f'{folder}/target', b'precious')
        os.symlink('target', f'{folder}/link')
        put(runner, 'link', b'new')
        assert read(f'{folder}/target') == b'precious'
        assert not os.path.islink(f'{folder}/link') and read(f'{folder}/link') == b'new'


def make_others(folder):
    os.mkdir(f'{folder}/folder')
    os.mkfifo(f'{folder}/fifo')
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(f'{folder}/socket')
    unix.close()
    return {'folder': 'a folder', 'fifo': 'a FIFO', 'socket': 'a socket', '/dev/null': 'a device', '/': 'a folder',
            '.': 'a folder', '..': 'a folder', 'folder/': 'a folder'}


def test_what_is_no_file_is_refused():
    with Place() as (runner, folder):
        for path, what in make_others(folder).items():
            refused(put(runner, path, b'x'), INVALID, f"'{path}'", what)
            refused(get(runner, path), INVALID, f"'{path}'", what)
        assert sorted(os.listdir(folder)) == ['fifo', 'folder', 'socket']


def test_a_get_refuses_links_and_says_where_they_lead():
    with Place() as (runner, folder):
        os.symlink('/etc/passwd', f'{folder}/link')
        refused(get(runner, 'link'), INVALID, "'link'", "'/etc/passwd'")


def test_a_link_that_is_swapped_in_is_never_read_nor_written():
    with Place() as (runner, folder):
        write(f'{folder}/secret', b'secret')
        swapper = subprocess.Popen(['sh', '-c', 'while :; do ln -sf secret notes; rm notes; echo own > notes; done'],
                                   cwd=folder)
        try:
            for _ in range(150):
                found = get(runner, 'notes')
                assert b'secret' not in found[2] if isinstance(found, tuple) else found.failed, found
                put(runner, 'notes', b'put')
        finally:
            swapper.kill()
            swapper.wait()
        assert read(f'{folder}/secret') == b'secret'


def test_what_is_missing_is_not_found():
    with Place() as (runner, folder):
        write(f'{folder}/file', b'')
        for path in ('none', f'{folder}/none', 'none/none', 'file/none'):
            refused(get(runner, path), NOT_FOUND, f"'{path}'")
        for path in ('none/none', 'file/none'):
            refused(put(runner, path), NOT_FOUND, f"'{path}'")
        assert os.listdir(folder) == ['file']


def test_names_that_are_too_long_are_refused():
    with Place() as (runner, folder):
        for path in ('x' * 256, f'{folder}/' + 'x' * 5000, '/tmp/' + 'y/' * 3000 + 'x'):
            refused(put(runner, path), INVALID)
            refused(get(runner, path), INVALID)
        assert os.listdir(folder) == []
        assert put(runner, 'x' * 255, b'1').outcome == EXITED


def test_a_mode_is_permission_bits():
    with Place() as (runner, folder):
        refused(put(runner, 'file', mode=0o10000), INVALID)
        assert os.listdir(folder) == []


def test_a_workdir_that_is_gone_is_named():
    with Place() as (runner, folder):
        for kind in (PUT, GET):
            refused(runner.run(['file'], kind=kind, data=b'', workdir='/no/such'), NOT_STARTED, "'/no/such'")


def test_files_without_a_size_are_read_to_their_end():
    with Place() as (runner, folder):
        mode, size, data = get(runner, '/proc/version')
        assert size == 0 and data == read('/proc/version')


def test_a_put_that_is_not_finished_leaves_nothing():
    def cancelled(runner, id):
        runner.cancel(id)
        assert runner.finish(id).outcome == CANCELLED

    def closed(runner, id):
        runner.close()

    def killed(runner, id):
        tree = below(runner.pid)
        runner.child.kill()
        runner.child.wait()
        assert wait_true(lambda: not set(tree) & set(processes()))

    for end in (cancelled, closed, killed):
        with tempfile.TemporaryDirectory() as folder:
            write(f'{folder}/file', b'old')
            runner = Runner()
            id = runner.begin([f'{folder}/file'], kind=PUT, stdin=1, mode=0o644)
            runner.feed(id, bytes(300000), end=False)
            assert wait_true(lambda: len(os.listdir(folder)) == 2)
            end(runner, id)
            assert os.listdir(folder) == ['file'] and read(f'{folder}/file') == b'old', end
            runner.close()


def test_a_limit_of_time_holds_for_files():
    with Place() as (runner, folder):
        id = runner.begin(['file'], kind=PUT, stdin=1, timeout_ms=300)
        runner.feed(id, b'abc', end=False)
        assert runner.finish(id).outcome == TIMED_OUT and os.listdir(folder) == []


def test_a_full_disk_leaves_nothing():
    if os.geteuid() != 0:
        raise tap.Skip('needs root to mount a small file system')
    with Place() as (runner, folder):
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], check=True)
        try:
            result = put(runner, f'{folder}/file', bytes(5000000))
            refused(result, SYSTEM, f"'{folder}/file'")
            assert result.failed[1] == errno.ENOSPC and os.listdir(folder) == []
            assert put(runner, f'{folder}/file', b'fits').outcome == EXITED
        finally:
            subprocess.run(['umount', '-l', folder], check=True)


def test_what_is_not_allowed_is_denied():
    user = dict(user=47116, group=47116, extra_groups=[]) if os.geteuid() == 0 else {}
    with Runner(**user) as runner:
        refused(put(runner, '/usr/none', b'x'), DENIED, "'/usr/none'")
        refused(get(runner, '/etc/shadow'), DENIED, "'/etc/shadow'")


def test_a_get_waits_for_its_window_and_can_be_ended():
    with Place() as (runner, folder):
        write(f'{folder}/file', DATA)
        id = runner.begin(['file'], kind=GET, window=100)
        runner.wait_until(lambda: len(runner.results[id].stdout) == 100)
        runner.window(id, 10**9)
        assert runner.finish(id).stdout[12:] == DATA
        id = runner.begin(['file'], kind=GET, window=100)
        runner.wait_until(lambda: len(runner.results[id].stdout) == 100)
        runner.cancel(id)
        runner.window(id, 10**9)
        result = runner.finish(id)
        assert result.outcome == CANCELLED and result.duration_us < 1900000, result


def test_a_killed_transfer_is_an_error():
    with Place() as (runner, folder):
        id = runner.begin(['file'], kind=PUT, stdin=1)
        assert wait_true(lambda: os.listdir(folder))
        runner.signal(id, signal.SIGKILL)
        refused(runner.finish(id), SYSTEM, "'file'")
        id = runner.begin(['other'], kind=PUT, stdin=1)
        assert wait_true(lambda: len(os.listdir(folder)) == 2)
        runner.signal(id, signal.SIGTERM)
        refused(runner.finish(id), SYSTEM, "'other'")
        assert len(os.listdir(folder)) == 1


def test_many_transfers_at_once():
    with Place() as (runner, folder):
        ids = [runner.begin([f'f{i}'], kind=PUT, stdin=1, mode=0o600) for i in range(50)]
        for i, id in enumerate(ids):
            runner.feed(id, b'%d' % i * 10000)
        for i, id in enumerate(ids):
            assert runner.finish(id).failed is None
        ids = [runner.begin([f'f{i}'], kind=GET) for i in range(50)]
        for i, id in enumerate(ids):
            assert runner.finish(id).stdout[12:] == b'%d' % i * 10000


tap.main(globals())
