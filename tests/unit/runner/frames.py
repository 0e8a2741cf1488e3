# SPDX-License-Identifier: MIT
"""Speaks the runner's protocol (sdk/runner/PROTOCOL.md) from its description alone."""

import os
import random
import select
import signal
import socket
import struct
import subprocess
import time

HELLO, CONFIGURE, START, STDIN, STDIN_END, WINDOW, SIGNAL, CANCEL, PING, SHUTDOWN = range(1, 11)
WELCOME, CONFIGURED, STDOUT, STDERR, STDIN_WINDOW, EXIT, FAILED, PONG, BYE = 65, 66, 68, 69, 70, 71, 72, 73, 74
SHELL, ARGV, PUT, GET = 1, 2, 3, 4
MORE = 1
UNSET = -2**63
PAYLOAD_MAX = 65536
EXITED, SIGNALED, TIMED_OUT, CANCELLED, OUT_OF_MEMORY = 1, 2, 3, 4, 5
INVALID, NOT_FOUND, SYSTEM, NOT_RUNNING, NOT_STARTED, LOST, DENIED, PROTOCOL = -1, -2, -6, -8, -9, -11, -14, -17
STDOUT_TRUNCATED, STDERR_TRUNCATED, SURVIVORS = 1, 2, 4
EVERYTHING = 2**62
PATIENCE = 30  # seconds that a test waits for what must come


class Closed(Exception):
    pass


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack('<I', len(value)) + value


def listed(values):
    return struct.pack('<I', len(values)) + b''.join(values)


def pairs(env):
    return listed([text(name) + text(value) for name, value in (env or {}).items()])


def frame(kind, id=0, payload=b'', flags=0):
    return struct.pack('<IBBHI', len(payload), kind, flags, 0, id) + payload


def hello(version=1, lease_ms=0):
    return frame(HELLO, 0, b'CRUN' + struct.pack('<II', version, lease_ms))


def configure(workdir='', env=None, timeout_ms=UNSET, limit=UNSET, replace=0):
    return struct.pack('<qqB', timeout_ms, limit, replace) + text(workdir) + pairs(env)


def start(kind, words, stdin=0, timeout_ms=UNSET, limit=UNSET, window=EVERYTHING, workdir='', env=None, replace=0, mode=0):
    return (struct.pack('<BBBBIqqQ', kind, stdin, replace, 0, mode, timeout_ms, limit, window) + text(workdir) + pairs(env)
            + listed([text(word) for word in words]))


class Result:
    def __init__(self):
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.credit = 0
        self.failed = None  # (code, errno, message)
        self.outcome = None
        self.done = False

    def ended(self, payload):
        (self.outcome, self.exit_code, self.signal, self.flags, self.stdout_bytes, self.stderr_bytes, self.duration_us,
         self.max_rss_bytes, self.user_us, self.sys_us, self.timeout_ms, self.limit) = struct.unpack('<IiiIQQQQQQqq', payload)
        self.done = True

    def __repr__(self):
        return str(self.__dict__)


class Connection:
    """Frames over two descriptors; output is sorted by command id."""

    def __init__(self, read_fd, write_fd, greet=True, lease_ms=0):
        self.read_fd, self.write_fd = read_fd, write_fd
        os.set_blocking(write_fd, False)
        self.inbox = b''
        self.others = []
        self.results = {}
        self.next_id = 1
        if greet:
            self.send(hello(lease_ms=lease_ms))
            payload = self.wait_for(WELCOME)
            self.version, self.pid, self.has_shell, self.is_configured = struct.unpack('<IIBB', payload[4:14])

    def send(self, data):
        while data:
            readable, writable, _ = select.select([self.read_fd], [self.write_fd], [], PATIENCE)
            if self.read_fd in readable:
                self.receive()
            if self.write_fd in writable:
                try:
                    data = data[os.write(self.write_fd, data):]
                except BlockingIOError:
                    pass
                except (BrokenPipeError, ConnectionResetError):
                    raise Closed()
            if not readable and not writable:
                raise TimeoutError('the runner does not read')

    def receive(self):
        try:
            data = os.read(self.read_fd, 1 << 20)
        except ConnectionResetError:  # a socket's other end was closed with frames of ours unread
            data = b''
        if not data:
            raise Closed()
        self.inbox += data
        at = 0
        while len(self.inbox) - at >= 12:
            length, kind, flags, zero, id = struct.unpack_from('<IBBHI', self.inbox, at)
            assert length <= PAYLOAD_MAX and flags == 0 and zero == 0, (length, flags, zero)
            if len(self.inbox) - at < 12 + length:
                break
            self.sort(kind, id, self.inbox[at + 12:at + 12 + length])
            at += 12 + length
        self.inbox = self.inbox[at:]

    def sort(self, kind, id, payload):
        result = self.results.get(id)
        if result is None or id == 0:
            assert id == 0, ('frame for an unknown id', kind, id)
            self.others.append((kind, payload))
            return
        assert not result.done, ('frame after the last', kind, id)
        if kind == STDOUT:
            result.stdout += payload
        elif kind == STDERR:
            result.stderr += payload
        elif kind == STDIN_WINDOW:
            result.credit += struct.unpack('<Q', payload)[0]
        elif kind == EXIT:
            result.ended(payload)
        elif kind == FAILED:
            code, number = struct.unpack_from('<ii', payload)
            result.failed = (code, number, payload[12:].decode())
            result.done = True
        else:
            raise AssertionError(('unexpected frame', kind, id))

    def wait_until(self, true, patience=PATIENCE):
        end = time.monotonic() + patience
        while not true():
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                raise TimeoutError('the runner does not answer')
            self.receive()

    def wait_for(self, kind, patience=PATIENCE):
        self.wait_until(lambda: any(other[0] == kind for other in self.others), patience)
        index = [other[0] for other in self.others].index(kind)
        return self.others.pop(index)[1]

    def wait_closed(self, patience=PATIENCE):
        """Reads to the end; the reason that the runner gave with id 0, if any."""
        try:
            self.wait_until(lambda: False, patience)
        except Closed:
            pass
        return [struct.unpack_from('<i', p)[0] for k, p in self.others if k == FAILED]

    def configure(self, **what):
        self.send(frame(CONFIGURE, 0, configure(**what)))
        self.wait_until(lambda: self.others)
        kind, payload = self.others.pop(0)
        if kind == CONFIGURED:
            return None
        code, number = struct.unpack_from('<ii', payload)
        return (code, number, payload[12:].decode())

    def begin(self, words, kind=None, **what):
        """Sends START; words is a script or the words of an argv."""
        kind = kind or (SHELL if isinstance(words, (str, bytes)) else ARGV)
        words = [words] if isinstance(words, (str, bytes)) else words
        id = self.next_id
        self.next_id += 1
        self.results[id] = Result()
        self.send_message(START, id, start(kind, words, **what))
        return id

    def send_message(self, kind, id, payload):
        while len(payload) > PAYLOAD_MAX:
            self.send(frame(kind, id, payload[:PAYLOAD_MAX], MORE))
            payload = payload[PAYLOAD_MAX:]
        self.send(frame(kind, id, payload))

    def finish(self, id, patience=PATIENCE):
        self.wait_until(lambda: self.results[id].done, patience)
        return self.results[id]

    def run(self, words, patience=PATIENCE, data=None, **what):
        id = self.begin(words, stdin=0 if data is None else 1, **what)
        if data is not None:
            self.feed(id, data)
        return self.finish(id, patience)

    def feed(self, id, data, end=True):
        """Sends input as its window allows."""
        result = self.results[id]
        window = 256 * 1024
        while data and not result.done:
            window += result.credit
            result.credit = 0
            part = data[:min(window, PAYLOAD_MAX)]
            if part:
                self.send(frame(STDIN, id, part))
                window -= len(part)
                data = data[len(part):]
            else:
                self.wait_until(lambda: result.credit or result.done)
        if end:
            self.send(frame(STDIN_END, id))

    def window(self, id, count):
        self.send(frame(WINDOW, id, struct.pack('<Q', count)))

    def cancel(self, id):
        self.send(frame(CANCEL, id))

    def signal(self, id, number):
        self.send(frame(SIGNAL, id, struct.pack('<I', number)))

    def ping(self):
        self.send(frame(PING))
        self.wait_for(PONG)

    def shutdown(self):
        self.send(frame(SHUTDOWN))
        return struct.unpack('<I', self.wait_for(BYE))[0]


class Runner(Connection):
    """A runner of our own on two pipes."""

    def __init__(self, *arguments, program=None, greet=True, lease_ms=0, **popen):
        self.child = subprocess.Popen([program or os.environ['COMPUTE_RUNNER'], *arguments], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, bufsize=0, **popen)
        super().__init__(self.child.stdout.fileno(), self.child.stdin.fileno(), greet, lease_ms)

    def close(self):
        """The host's end; returns the runner's exit status."""
        if not self.child.stdin.closed:
            self.child.stdin.close()
        status = self.child.wait(PATIENCE)
        self.child.stdout.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.child.kill()
        status = self.close()
        assert status == 0 or kind is not None, status


class Visitor(Connection):
    """A connection to a listening runner."""

    def __init__(self, path, **what):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        super().__init__(self.socket.fileno(), self.socket.fileno(), **what)

    def close(self):
        self.socket.close()


# ---- What is alive ----------------------------------------------------------------------------------------------------

def processes():
    """pid -> (parent, state, command line) of all."""
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat') as file:
                    fields = file.read().rsplit(')', 1)[1].split()
                with open(f'/proc/{name}/cmdline', 'rb') as file:
                    line = file.read().replace(b'\0', b' ').decode(errors='replace').strip()
                found[int(name)] = (int(fields[1]), fields[0], line)
            except OSError:
                pass
    return found


def alive(words):
    return [pid for pid, (_, state, line) in processes().items() if line == words and state not in 'ZX']


def below(root):
    found, tree = {root}, processes()
    while True:
        more = {pid for pid, (parent, _, _) in tree.items() if parent in found} - found
        if not more:
            return sorted(found - {root})
        found |= more


def lasting():
    """A command that lasts, and that no other test runs."""
    return f'sleep {random.randrange(10**6, 10**9)}'


def wait_true(true, patience=PATIENCE):
    end = time.monotonic() + patience
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
