# SPDX-License-Identifier: MIT
"""Signals, readers that go away, and a compute that is killed: nothing it started lives on, and it says what happened."""

import fcntl
import os
import pty
import signal
import subprocess
import termios
import time

import program
import tap
from program import HOME, Up, compute, expect, finish, living, start, until

ENDING = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}

# Under nohup, or behind a shell's &, the tests themselves are started with some of these ignored.
for ending in ENDING:
    if signal.getsignal(ending) == signal.SIG_IGN:
        signal.signal(ending, signal.SIG_DFL)


def start_sleeping(seconds, *words, script="echo started; sleep {}"):
    """run --on local, once its command prints."""
    process = start("run", "--on", "local", *words, "-c", script.format(seconds))
    if "--json" in words:
        until(lambda: living(seconds), what="the start of sleep")
    else:
        assert process.stdout.readline() == b"started\n"
    return process


def ready(process):
    """True once it catches SIGTERM."""
    with open(f"/proc/{process.pid}/status") as status:
        caught = [line.split()[1] for line in status if line.startswith("SigCgt:")]
    return int(caught[0], 16) >> signal.SIGTERM - 1 & 1


def test_a_signal_ends_the_command_and_is_the_exit_status():
    for number, status in ENDING.items():
        process = start_sleeping("4713")
        process.send_signal(number)
        expect(finish(process, timeout=10), status, b"", b"")
        assert not living("4713")


def test_background_children_and_the_instance_end_too():
    process = start_sleeping("4714", script="setsid sleep {0} & sleep {0} & echo started; wait")
    process.send_signal(signal.SIGINT)
    expect(finish(process, timeout=10), 130, b"", b"")
    until(lambda: not living("4714"), what="the end of both sleeps")


def test_output_up_to_a_signal_is_kept():
    process = start_sleeping("4715", script="trap 'echo bye; exit 0' TERM; echo started; while :; do sleep 0.05; done; {}")
    process.send_signal(signal.SIGINT)
    expect(finish(process, timeout=10), 130, b"bye\n")


def test_a_cancelled_command_is_a_result_in_json():
    process = start_sleeping("4716", "--json")
    process.send_signal(signal.SIGTERM)
    result = expect(finish(process, timeout=10), 143, err=b"").json
    assert (result["outcome"], result["exitCode"], result["signal"]) == ("cancelled", None, None), result


def test_a_second_signal_hurts_nothing():
    process = start_sleeping("4717", script="trap '' TERM; echo started; while :; do sleep 0.1; done; {}")
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    expect(finish(process, timeout=10), 130)


def test_who_asks_again_after_the_grace_is_not_kept_waiting():
    process = start("run", "--path", program.ODD_FOLDER, "--on", "odd", "--option", "x=y", "--quiet", "stuck")
    until(lambda: ready(process), what="the signal handlers")
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    time.sleep(1.7)
    assert process.poll() is None, "the second signal came within the grace"
    process.send_signal(signal.SIGINT)
    expect(finish(process, timeout=5), 143, b"", b"")


def test_a_signal_ends_a_provision():
    process = start("run", "--path", program.ODD_FOLDER, "--on", "odd", "true")
    while process.stderr.readline() != b"compute: pull odd:1\n":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    expect(finish(process, timeout=10), 130, b"", b"compute: unpack\n")
    process = start("run", "--json", "--quiet", "--path", program.ODD_FOLDER, "--on", "odd", "true")
    until(lambda: ready(process), what="the signal handler")
    process.send_signal(signal.SIGTERM)
    error = expect(finish(process, timeout=10), 143, err=b"").json["error"]
    assert error == {"code": "cancelled", "message": "the pull was given up", "provider": "odd"}, error


def test_an_ignored_signal_stays_ignored():
    process = start("run", "--on", "local", "-c", "echo started; sleep 0.5; echo done",
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert process.stdout.readline() == b"started\n"
    process.send_signal(signal.SIGHUP)
    expect(finish(process), 0, b"done\n", b"")


def test_the_command_has_default_signals():
    def ignore():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

    ended = finish(start("run", "--on", "local", "-c", "yes | head -n 1; grep -E 'Sig(Ign|Blk)' /proc/self/status", preexec_fn=ignore))
    lines = expect(ended, 0, err=b"").out.decode().splitlines()
    assert lines[0] == "y", lines
    masks = [int(line.split()[1], 16) for line in lines[1:]]
    bits = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGTERM - 1
    assert len(masks) == 2 and not any(mask & bits for mask in masks), lines


def test_ctrl_c_on_a_terminal():
    control, terminal = pty.openpty()
    process = start("run", "--on", "local", "-c", "echo started; sleep 4718", stdin=terminal, stdout=terminal, stderr=terminal,
                    preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
    os.close(terminal)
    seen = b""
    while b"started" not in seen:
        seen += os.read(control, 1000)
    os.write(control, b"\x03")
    assert process.wait(timeout=10) == 130
    os.close(control)
    assert not living("4718")


def test_a_closed_pipe_ends_the_command_with_an_error():
    process = start("run", "--on", "local", "-c", "sleep 4719 & while :; do echo y; done")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=10)
    assert process.returncode == 125, process.returncode
    assert err == b"compute: run: cannot write to stdout: Broken pipe\n", err
    until(lambda: not living("4719"), what="the end of sleep 4719")


def test_a_full_disk_ends_the_command_with_an_error():
    with open("/dev/full", "wb") as full:
        for words in (["run", "--on", "local", "echo", "x"], ["run", "--on", "local", "--json", "true"], ["run", "--on", "e2b", "--json", "true"],
                      ["providers"], ["providers", "--json"], ["--help"], ["run", "--help"], ["--version"], ["ps"]):
            process = start(*words, stdout=full)
            _, err = process.communicate(timeout=20)
            assert process.returncode == 125 and b"cannot write to stdout: No space left on device\n" in err, (words, err)


def test_an_id_that_cannot_be_printed_is_no_instance():
    before = compute("ps", "--quiet").out
    with open("/dev/full", "wb") as full:
        process = start("up", "--on", "local", stdout=full)
        assert process.wait(timeout=20) == 125
        process.stderr.close()
    assert compute("ps", "--quiet").out == before


def test_closed_standard_descriptors_take_nobodys_data():
    def closed(script, *words):
        return subprocess.run(["sh", "-c", f'"$0" "$@" {script}', program.COMPUTE, *words], capture_output=True, timeout=20)

    words = ["run", "--on", "local", "-c", "echo out; echo err >&2"]
    done = closed(">&-", *words)
    assert done.returncode == 125 and b"cannot write to stdout: Bad file descriptor" in done.stderr, done
    done = closed("2>&-", *words)
    assert done.returncode == 125 and done.stdout == b"out\n", done
    done = closed("<&-", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out\n", b"err\n"), done
    done = closed(">&-", "run", "--on", "local", "true")
    assert (done.returncode, done.stderr) == (0, b""), done


def test_a_reader_that_stands_still_does_not_hold_a_signal():
    process = start("run", "--on", "local", "--max-output", "0", "-c", "yes 4720")
    until(lambda: living("4720"), what="the start of yes")
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 143
    process.stdout.close()
    process.stderr.close()
    until(lambda: not living("4720"), what="the end of yes")


def test_a_copy_that_waits_gives_up_at_a_signal():
    with Up("--workdir", str(HOME / "copies")) as id:
        expect(compute("exec", id, "-c", "echo data >data"), 0)
        os.mkfifo(HOME / "fifo")
        for words in (["-", f"{id}:x"], [str(HOME / "fifo"), f"{id}:x"], [f"{id}:data", str(HOME / "fifo")]):
            process = start("cp", *words, stdin=subprocess.PIPE)
            until(lambda: ready(process), what="the signal handler")
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=10) == 143, words
            process.stdin.close()
            process.stdout.close()
            process.stderr.close()
        expect(compute("exec", id, "-c", "test ! -e x"), 0)


def test_a_killed_compute_leaves_nothing():
    process = start_sleeping("4721", script="setsid sleep {0} & echo started; sleep {0}")
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    until(lambda: not living("4721"), seconds=5, what="the end of both sleeps")


def test_a_killed_exec_ends_its_command_and_not_the_instance():
    with Up() as id:
        process = start("exec", id, "-c", "echo started; sleep 4722")
        assert process.stdout.readline() == b"started\n"
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        until(lambda: not living("4722"), seconds=5, what="the end of sleep 4722")
        expect(compute("exec", id, "echo", "alive"), 0, b"alive\n", b"")


tap.main(globals())
