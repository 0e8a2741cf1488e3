# SPDX-License-Identifier: MIT
"""test_faults.py COMPUTE LIBCOMPUTE: the docker provider when an engine, a container, a disk or a process of ours
fails, and when much is wanted at once."""

import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import random
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from unittest import mock

import host
import tap
from place import (BUSYBOX, arguments, cleanup, compute, containers, detached, engine, instead_of_docker, run, start,
                   wait_true)

LOST, NOT_FOUND, NOT_RUNNING, INVALID = -11, -2, -8, -1
CANCELLED, ERROR = 4, 4  # an outcome, and a state
DETACHED = 1
# How long calls wait for an engine, in seconds, and what they say then.
LOOK = 30, "timeout", "not answered in time"
START = 70, "unavailable", "has not answered within"
QUICKLY = 5  # seconds, on a busy machine
CYCLES = int(os.environ.get("COMPUTE_TEST_CYCLES", "10"))
MOMENTS = int(os.environ.get("COMPUTE_TEST_MOMENTS", "15"))
PLACE = ["--on", "docker", "--image", BUSYBOX, *arguments("--network=none")]  # starts in less time
NOBODY = "docker-0123456789ab"


# ---- A host of our own, which stays ---------------------------------------------------------------------------------


@contextlib.contextmanager
def opened():
    """The provider, opened in this process. It stays open when this process is told to end in the middle of calls, which
    other threads are still making."""
    registry = host.Registry().__enter__()
    handle = registry.resolve(b"docker")
    try:
        yield handle
    finally:
        if not isinstance(sys.exc_info()[1], SystemExit):
            host.LIBRARY.compute_close(handle)
            registry.__exit__()


def nothing_is_left(seconds=60):
    assert wait_true(lambda: not containers(), seconds), engine().docker("ps", "--all").stdout


def provision(handle, **settings):
    return host.provision(handle, image=engine().image(BUSYBOX).encode(), network=b"none", **settings)


def shell(handle, instance, script, **settings):
    """The exit code and stdout."""
    result, streams = host.execute(handle, instance, script.encode(), **settings)
    return result.exit_code, streams[1].decode()


def status_of(handle, instance):
    about = host.make("instance")
    host.call("get_status", handle, instance, None, ctypes.byref(about))
    return about


def failure(function, *arguments):
    try:
        given = function(*arguments)
    except host.Failure as found:
        return found
    raise AssertionError(f"no error but {given}")


def error_of(out):
    return json.loads(out)["error"]


def ended(process, seconds=60):
    """The status and output of a process that ends by itself, and how long it took."""
    begin = time.monotonic()
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err, time.monotonic() - begin


def children(pid="self"):
    found = []
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += file.read_text().split()
    return found


def words(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return []


def client_of(process, subcommand):
    """The docker program that a compute has started, as soon as it is there."""
    found = []

    def look():
        found[:] = [int(pid) for pid in children(process.pid) if words(pid)[1:2] == [subcommand]]
        return found

    assert wait_true(look), f"no docker {subcommand}"
    return found[0]


def runs_inside(name, text):
    return text in engine().docker("top", name, check=False).stdout


def all_names():
    return engine().docker("ps", "--all", "--format", "{{.Names}}").stdout.split()


def only_container():
    assert wait_true(lambda: len(containers()) == 1), containers()
    return all_names()[0]


def started(*more, script):
    """A run whose command is under way in a container."""
    process = start("run", *PLACE, *more, "-c", script)
    name = only_container()
    assert wait_true(lambda: runs_inside(name, script.split(";")[0])), process.poll()
    return process, name


# ---- Engines that are not there, or say nothing ---------------------------------------------------------------------


@contextlib.contextmanager
def silent_engine():
    """Takes every connection, and never answers."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")
        listener.listen(64)
        yield {"DOCKER_HOST": f"unix://{folder}/socket"}


QUESTIONS = {
    "run": ["run", "--on", "docker", "--image", BUSYBOX, "--json", "-c", "true"],
    "exec": ["exec", NOBODY, "--on", "docker", "--json", "--", "true"],
    "ps": ["ps", "--on", "docker", "--json"],
    "down": ["down", NOBODY, "--on", "docker", "--json"],
    "status": ["status", NOBODY, "--on", "docker", "--json"],
}


def providers(env):
    """What is said about docker, and how long that took."""
    begin = time.monotonic()
    _, out, _ = compute("providers", "--json", env=env)
    took = time.monotonic() - begin
    return next(item for item in json.loads(out)["providers"] if item["name"] == "docker"), took


def test_D01_without_a_daemon_docker_is_unavailable_at_once_and_others_are_there():
    with tempfile.TemporaryDirectory() as folder:
        env = {"DOCKER_HOST": f"unix://{folder}/none"}
        docker, took = providers(env)
        assert not docker["available"] and "Cannot connect" in json.dumps(docker), docker
        assert took < 1, took
        assert compute("run", "--on", "local", "-c", "echo on", env=env) == (0, "on\n", "")


def test_D02_a_daemon_that_never_answers_is_unavailable_within_five_seconds():
    with silent_engine() as env:
        docker, took = providers(env)
    assert not docker["available"] and "has not answered within" in json.dumps(docker), docker
    assert took < 6, took


def test_D02_an_interrupt_ends_each_wait_for_a_silent_daemon():
    with silent_engine() as env:
        processes = [start(*question, env=env) for question in QUESTIONS.values()]
        time.sleep(1.5)
        for process in processes:
            assert process.poll() is None, process.args
            process.send_signal(signal.SIGINT)
        for process in processes:
            status, _, _, took = ended(process)
            assert status == 130 and took < 2 * QUICKLY, (process.args, status, took)  # a start is cleaned up, as far as can be


def engine_is_back():
    if engine().daemon.process.poll() is not None:
        engine().daemon.start()
        engine().daemon.wait()


def test_a_daemon_that_is_down_is_told_and_one_that_is_back_works():
    with contextlib.ExitStack() as stack:
        status, out, err = compute("up", *PLACE)
        assert status == 0, err
        name = out.strip()
        process = start("exec", name, "--json", "-c", "sleep 4802")
        assert wait_true(lambda: runs_inside(name, "sleep 4802"))
        engine().daemon.signal(signal.SIGKILL)
        engine().daemon.end()
        stack.callback(engine_is_back)
        status, out, _, took = ended(process)
        assert (status, error_of(out)["code"]) == (125, "lost") and took < QUICKLY, (status, out)
        for question in (["status", name], ["exec", name, "--", "true"], ["down", name]):
            status, out, err = compute(*question)
            assert (status, out) == (125, "") and "docker could not be asked" in err and "Cannot connect" in err, err
        status, _, err = run("-c", "true")
        assert status == 125 and "Cannot connect" in err, err
        engine_is_back()
        status, _, err = compute("status", name)
        assert status == 125 and f"no instance '{name}'" in err, "its container went with the daemon"
        assert run("-c", "echo on")[:2] == (0, "on\n")
        assert wait_true(lambda: not containers()), containers()


# ---- What is done to a pipe or a container --------------------------------------------------------------------------


def test_E05_a_killed_pipe_of_an_owned_instance_is_lost_and_its_command_ends():
    process, name = started("--json", script="sleep 4803; exit 7")
    os.kill(client_of(process, "run"), signal.SIGKILL)
    status, out, _, took = ended(process)
    assert status == 125 and error_of(out)["code"] == "lost" and took < 15, (status, out, took)
    assert wait_true(lambda: not containers(), 10), "what ran inside has ended"
    assert f"no instance '{name}'" in compute("status", name)[2]


def test_E05_a_killed_pipe_to_a_detached_instance_is_lost_and_the_instance_runs_on():
    with detached(*arguments("--network=none")) as name:
        process = start("exec", name, "--json", "-c", "sleep 4804; exit 7")
        assert wait_true(lambda: runs_inside(name, "sleep 4804"))
        os.kill(client_of(process, "exec"), signal.SIGKILL)
        status, out, _, _ = ended(process)
        assert status == 125 and error_of(out)["code"] == "lost", (status, out)
        assert wait_true(lambda: not runs_inside(name, "sleep 4804"), 10), "what ran inside has ended"
        assert json.loads(compute("status", name, "--json")[1])["state"] == "running"
        assert compute("exec", name, "-c", "echo on") == (0, "on\n", "")


# What somebody does to a container; each is its end.
ENDS = {
    "removed": lambda name: engine().docker("rm", "--force", name),
    "stopped": lambda name: engine().docker("stop", name),
    "killed": lambda name: engine().docker("kill", name),
    "its first process killed": lambda name: os.kill(first_process(name), signal.SIGKILL),
}


def first_process(name):
    """Its pid here, where the engine's are others."""
    whole = engine().docker("inspect", "--format", "{{.Id}}", name).stdout.strip()
    for path, _, _ in os.walk("/sys/fs/cgroup"):
        if path.endswith(whole):
            for pid in pathlib.Path(path, "cgroup.procs").read_text().split():
                if re.search(r"^NSpid:.*\t1$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE):
                    return int(pid)
    raise AssertionError(f"no first process of {name}")


def outcome(handle, instance, script):
    """How a command ended: its outcome, or its error's code."""
    try:
        return host.execute(handle, instance, script.encode())[0].outcome
    except host.Failure as found:
        return found.code


def test_a_command_is_lost_with_its_container_and_cancelled_by_an_orderly_stop():
    with opened() as handle, concurrent.futures.ThreadPoolExecutor(len(ENDS)) as pool:
        names = dict(zip(ENDS, pool.map(lambda _: provision(handle), ENDS)))
        calls = {way: pool.submit(outcome, handle, names[way], "sleep 4805; exit 7") for way in ENDS}
        for way, end in ENDS.items():
            name = names[way].decode()
            assert wait_true(lambda: runs_inside(name, "sleep 4805")), way
            end(name)
            assert calls[way].result(timeout=60) == (CANCELLED if way == "stopped" else LOST), way
            assert wait_true(lambda: name not in all_names()), way
            assert failure(status_of, handle, names[way]).code == NOT_FOUND, way


def test_a_container_that_ended_between_commands_is_told_however_it_ended():
    with opened() as handle, concurrent.futures.ThreadPoolExecutor(len(ENDS)) as pool:
        names = dict(zip(ENDS, pool.map(lambda _: provision(handle), ENDS)))
        for way, end in ENDS.items():
            assert shell(handle, names[way], "echo on") == (0, "on\n")
            end(names[way].decode())
            assert wait_true(lambda: names[way].decode() not in all_names()), way
            found = failure(shell, handle, names[way], "true")
            assert found.code in (NOT_RUNNING, LOST), (way, found)
            assert failure(status_of, handle, names[way]).code == NOT_FOUND, way
            host.call("shutdown", handle, names[way], None)


def test_a_restarted_container_is_not_the_instance_that_was_made():
    with opened() as handle, detached("--env", "WORD=kept", *arguments("--network=none")) as name:
        owned = provision(handle)
        engine().docker("restart", "--time", "1", name, owned.decode())
        status, out, err = compute("exec", name, "-c", 'echo "$WORD"')
        assert (status, out) == (125, "") and "was restarted" in err, (out, err)
        about = json.loads(compute("status", name, "--json")[1])
        assert about["state"] == "error" and "was restarted" in about["detail"], about
        assert status_of(handle, owned).state == ERROR
        engine().docker("rm", "--force", owned.decode())  # a shutdown would wait for its runner
        assert compute("down", name)[0] == 0
        assert wait_true(lambda: not containers()), containers()


def test_a_full_disk_is_an_error_that_leaves_no_half_of_a_file():
    with detached(*arguments("--tmpfs=/workspace:size=1m")) as name, tempfile.NamedTemporaryFile() as file:
        file.write(os.urandom(4 << 20))
        file.flush()
        status, _, err = compute("cp", file.name, f"{name}:file")
        assert status == 125 and "No space left on device" in err, err
        assert compute("exec", name, "-c", "ls -A; echo on >small && cat small") == (0, "on\n", "")
        status, _, err = compute("exec", name, "-c", "dd if=/dev/zero of=large bs=64k count=64")
        assert status == 1 and "No space left on device" in err, (status, err)
        assert compute("exec", name, "-c", "cat small") == (0, "on\n", ""), "commands need no room"


# ---- Who owns what --------------------------------------------------------------------------------------------------


def test_G01_what_a_killed_host_could_not_end_is_listed_and_reaped_and_nothing_else():
    with detached(*arguments("--network=none")) as other:
        process = start("run", *PLACE, "-c", "sleep 4806")
        assert wait_true(lambda: len(containers()) == 2)
        name = next(name for name in all_names() if name != other)
        assert wait_true(lambda: runs_inside(name, "sleep 4806"))
        engine().docker("pause", name)
        assert name not in compute("ps", "--quiet")[1], "its owner lives"
        process.kill()
        process.communicate()
        listed = json.loads(compute("ps", "--on", "docker", "--json")[1])["instances"]
        rows = {item["instance"]: item for item in listed}
        assert (rows[name]["owner"], rows[name]["state"]) == ("gone", "paused") and rows[other]["owner"] == "none", rows
        assert compute("reap")[0] == 0
        assert wait_true(lambda: all_names() == [other]), all_names()


def test_G03_down_from_another_process_removes_and_an_unknown_id_is_told():
    with detached(*arguments("--network=none")) as name:
        assert compute("down", name)[0] == 0
        assert name not in all_names()
        status, out, _ = compute("down", name, "--json")
        assert status == 125 and "not_found" in out, out


def quick_death(number, signal_number, subcommand="run"):
    """A compute that is ended at some moment of a provision."""
    chance = random.Random(number)
    process = start(subcommand, *PLACE, *(["-c", "true"] if subcommand == "run" else []))
    time.sleep(chance.uniform(0, 2))
    process.send_signal(signal_number)
    out, _, = process.communicate(timeout=60)
    if subcommand == "up" and process.returncode == 0:
        compute("down", out.strip())
    return process.returncode


def dies_at_many_moments(signal_number):
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        kinds = ["up" if moment % 5 == 2 else "run" for moment in range(MOMENTS)]
        ends = list(pool.map(quick_death, range(MOMENTS), [signal_number] * MOMENTS, kinds))
    nothing_is_left()
    return ends


def test_a_provision_killed_at_any_moment_leaves_no_container():
    ends = dies_at_many_moments(signal.SIGKILL)
    assert -signal.SIGKILL in ends


def test_a_provision_interrupted_at_any_moment_leaves_no_container():
    ends = dies_at_many_moments(signal.SIGINT)
    assert 128 + signal.SIGINT in ends and set(ends) <= {0, 128 + signal.SIGINT, -signal.SIGINT}, ends


# ---- What looks like an option, and what would be input -------------------------------------------------------------


def test_Q14_what_looks_like_an_option_is_refused_before_the_engine_hears_of_it():
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        with instead_of_docker(f'echo "$@" >>{log}\nexec docker "$@"') as env, mock.patch.dict(os.environ, env):
            with opened() as handle:
                for settings in ({"image": b"--privileged"}, {"image": b"-v/:/h"}, {"image": b"-it"}, {"image": b""},
                                 {"workdir": b"--privileged"}, {"workdir": b"-w/"}):
                    found = failure(lambda: host.provision(handle, **settings))
                    assert found.code == INVALID, (settings, found)
                for name in (b"-it", b"--privileged", b"-f", b"--help", b"docker-", b"docker-0123456789ab;true"):
                    assert failure(shell, handle, name, "true").code == NOT_FOUND, name
                    assert failure(status_of, handle, name).code == NOT_FOUND, name
                    assert failure(host.call, "shutdown", handle, name, None).code == NOT_FOUND, name
                assert not log.exists(), log.read_text()


def test_S06_a_command_cannot_eat_the_rest_of_its_script():
    with opened() as handle:
        name = provision(handle)
        assert shell(handle, name, "cat\necho after") == (0, "after\n")
        assert shell(handle, name, "head -c 3\necho after") == (0, "after\n")
        assert shell(handle, name, "read x; echo got=$x\necho after") == (0, "got=\nafter\n")


ORPHANS = "i=0; while [ $i -lt 600 ]; do (sleep 0.01 &) ; i=$((i+1)); done; sleep 1"
ZOMBIES = "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '; true"
ALL = "ls -d /proc/[0-9]* | wc -l"


def test_G10_600_orphans_leave_no_zombies():
    with opened() as handle:
        name = provision(handle)
        before = shell(handle, name, ALL)
        assert shell(handle, name, ORPHANS) == (0, "")
        assert wait_true(lambda: shell(handle, name, ZOMBIES) == (0, "0\n"), 10)
        assert wait_true(lambda: shell(handle, name, ALL) == before, 10), (shell(handle, name, ALL), before)


# ---- Much at once ---------------------------------------------------------------------------------------------------


def held():
    """What this process has: descriptors, and docker programs that it started, those not waited for included."""
    programs = []
    for pid in children():
        with contextlib.suppress(OSError):
            programs.append(pathlib.Path(f"/proc/{pid}/comm").read_text())
    return len(os.listdir("/proc/self/fd")), programs.count("docker\n")


def live(handle, number):
    """A whole life of an instance, by its number with and without a shutdown."""
    name = provision(handle)
    given = shell(handle, name, f"echo {number}")
    if number % 2:
        host.call("shutdown", handle, name, None)
    return given


# What a client that stays does before its runner can answer takes this long at least, and holds one of the provider's
# turns.
COUNTED = """
echo "+ $1" >>{log}
case $1 in run | exec) sleep 0.3; echo "- $1" >>{log}; exec docker "$@" ;; esac
docker "$@"
status=$?
echo "- $1" >>{log}
exit $status
"""


@contextlib.contextmanager
def counted_calls():
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        with instead_of_docker(COUNTED.format(log=log)) as env, mock.patch.dict(os.environ, env):
            yield log


def most_at_once(log):
    now = most = 0
    for line in log.read_text().splitlines():
        now += 1 if line[0] == "+" else -1
        most = max(most, now)
    return most


def test_20_provisions_at_once_work_and_the_engine_gets_no_more_calls_than_it_can_take():
    bound = min(2 * os.cpu_count(), 16)
    with counted_calls() as log, opened() as handle, concurrent.futures.ThreadPoolExecutor(20) as pool:
        assert list(pool.map(live, [handle] * 20, range(20))) == [(0, f"{n}\n") for n in range(20)]
        assert 1 < most_at_once(log) <= bound, log.read_text()


def test_cycles_of_provision_execute_and_shutdown_leak_nothing():
    with opened() as handle:
        live(handle, 1)
        before = held()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            numbers = range(1, 2 * CYCLES, 2)
            assert list(pool.map(live, [handle] * CYCLES, numbers)) == [(0, f"{n}\n") for n in numbers]
        assert held() == before, (held(), before)
        assert not containers()


def test_D05_O12_100_commands_at_once_in_an_instance_of_another_process_keep_their_outputs_apart():
    bound = min(2 * os.cpu_count(), 16)
    script = "for i in $(seq 100); do echo {}; done"
    with detached(*arguments("--network=none")) as name, counted_calls() as log, opened() as handle:
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            calls = [pool.submit(shell, handle, name.encode(), script.format(n), timeout_ms=10000) for n in range(100)]
        for number, call in enumerate(calls):
            assert call.result() == (0, f"{number}\n" * 100), number
        assert most_at_once(log) <= bound, log.read_text()


# ---- What was asked at the start ------------------------------------------------------------------------------------


class Patient:
    """The questions that nobody answers: asked at the start, since each waits for so long; looked at later."""

    def __init__(self):
        self.begin = time.monotonic()
        silent = cleanup.enter_context(silent_engine())
        stuck = cleanup.enter_context(instead_of_docker("exec sleep 4801"))
        self.asked = {(kind, name): (start(*question, env=env), [])
                      for kind, env in (("daemon", silent), ("program", stuck)) for name, question in QUESTIONS.items()}
        for process, took in self.asked.values():
            threading.Thread(target=self.wait, args=[process, took], daemon=True).start()

    def wait(self, process, took):
        process.wait()
        took.append(time.monotonic() - self.begin)

    def judge(self, kind):
        for (asked, name), (process, took) in self.asked.items():
            if asked != kind:
                continue
            limit, code, told = START if name == "run" else LOOK
            status, out, err, _ = ended(process, limit * 3)
            assert wait_true(lambda: took)
            assert status == 125 and error_of(out)["code"] == code, (name, status, out, err)
            assert "docker" in error_of(out)["message"] and told in error_of(out)["message"], out
            assert limit - 1 < took[0] < limit * 1.5, (name, took)


def test_D02_each_call_of_a_silent_daemon_ends_at_its_own_limit():
    patient.judge("daemon")


def test_each_call_of_a_docker_program_that_hangs_ends_at_its_own_limit():
    patient.judge("program")
    assert wait_true(lambda: not any("4801" in words(path.name) for path in pathlib.Path("/proc").glob("[0-9]*")))


def main():
    global patient
    host.open_library(sys.argv[2])
    engine().image(BUSYBOX)
    os.environ.update(engine().env)
    patient = Patient()
    tap.main(globals() | {"test_all_that_was_begun_has_ended": nothing_is_left})


with cleanup:
    main()
