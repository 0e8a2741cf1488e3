# SPDX-License-Identifier: MIT
"""test_docker.py COMPUTE CONFORMANCE CASES docker|podman|rootless: the docker provider on a real engine, through the
program, and through the tests that every provider must pass."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import pwd
import re
import signal
import subprocess
import sys
import tempfile
import time

import images
import podman
import tap
from place import (BUSYBOX, COMPUTE, ENGINE, arguments, cleanup, compute, containers, detached, engine, files_of, instead_of_docker, run,
                   start, wait_true)

CONFORMANCE, CASES = sys.argv[2:4]
AT_ONCE = 4
HAS_LIMITS = ENGINE != "rootless"  # a user's container has no control group on every machine, so no limits and no pause


def only_if(can):
    """For a test of what not every engine can do."""
    return lambda test: test if can else None


def test_the_default_image_runs_python():
    engine().image(images.PYTHON)
    assert compute("run", "--on", "docker", "-c", 'python3 -c "print(2+2)"') == (0, "4\n", "")
    assert containers() == []


def test_it_is_another_place_than_the_host():
    status, out, _ = run("-c", "hostname; pwd; ls /proc | grep -c '^[0-9]'")
    hostname, folder, processes = out.split()
    assert status == 0 and hostname != os.uname().nodename and folder == "/workspace" and int(processes) < 10, out


def test_a_detached_instance_is_there_for_other_processes():
    with detached() as name, tempfile.TemporaryDirectory() as folder:
        assert compute("exec", name, "-c", "sleep 1000 & echo on") == (0, "on\n", "")
        assert compute("exec", name, "-c", "ps | grep -c '[s]leep 1000'")[1] == "1\n", "a background child lives on"
        assert name in compute("ps")[1]
        pathlib.Path(folder, "file").write_text("data\n")
        assert compute("cp", f"{folder}/file", f"{name}:file")[0] == 0
        assert compute("exec", name, "--", "cat", "/workspace/file")[1] == "data\n"
    status, _, err = compute("exec", name, "--", "true")
    assert status == 125 and f"no instance '{name}'" in err, err


@only_if(HAS_LIMITS)
def test_a_pause_is_told():
    with detached() as name:
        engine().docker("pause", name)
        assert "is paused, not running." in compute("exec", name, "--", "true")[2]
        assert json.loads(compute("status", name, "--json")[1])["state"] == "paused"
        engine().docker("unpause", name)
        assert compute("exec", name, "-c", "echo on")[1] == "on\n"


def test_a_removal_behind_our_back_is_told():
    with detached() as name:
        engine().docker("rm", "--force", name)
        assert f"no instance '{name}'" in compute("status", name)[2]


def test_a_container_removed_in_mid_command_is_lost():
    with detached() as name:
        process = start("exec", name, "--json", "-c", "sleep 1000")
        assert wait_true(lambda: "sleep 1000" in engine().docker("top", name).stdout)
        engine().docker("rm", "--force", *["--time=0"] * (ENGINE != "docker"), name)  # podman says TERM first
        out, _ = process.communicate(timeout=60)
        assert json.loads(out)["error"]["code"] == "lost" and process.returncode == 125, out


def test_G01_an_owned_instance_ends_with_a_killed_host():
    process = start("run", "--on", "docker", "--image", engine().image(BUSYBOX), "-c", "sleep 1000")
    assert wait_true(lambda: len(containers()) == 1)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert wait_true(lambda: not containers(), 10), containers()


def test_a_provision_that_fails_leaves_no_container():
    options = ["--no-such-option", "--user=nobody-of-this-name", *["--memory=1"] * HAS_LIMITS]
    for words in (["--workdir", "/proc/none"], *map(arguments, options)):
        status, _, err = run(*words, "--", "true")
        assert status == 125 and err.startswith("compute: run: "), err
        assert wait_true(lambda: not containers()), containers()


def test_no_secret_is_in_a_list_of_arguments_or_a_label():
    secret = "s3cret-of-the-test"
    process = start("run", "--on", "docker", "--image", engine().image(BUSYBOX), "--env", "TOKEN", "-c",
                    'test -n "$TOKEN" && sleep 5', env={"TOKEN": secret})
    assert wait_true(lambda: len(containers()) == 1)
    time.sleep(1)
    shown = engine().docker("inspect", *containers()).stdout
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            shown += file.read_bytes().decode(errors="replace")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert secret not in shown


def test_I02_an_image_needs_no_shell_for_words():
    status, out, err = run("--", "/show", "7", "a b", image="compute-test/no-shell")
    assert (status, out.splitlines()[:3]) == (7, ["/show", "7", "a b"]), err
    status, _, err = run("-c", "true", image="compute-test/no-shell")
    assert status == 125 and "/bin/sh" in err, err


def test_I03_I06_missing_tools_entrypoint_and_user_do_not_matter():
    assert run("-c", "echo on", image="compute-test/entrypoint")[1] == "on\n"
    assert run("-c", "id -u; echo data >file && cat file", image="compute-test/user")[1] == "1000\ndata\n"
    status, _, err = run("--timeout", "1", "-c", "(setsid sleep 1000 &) ; sleep 1000", image="compute-test/no-timeout")
    assert status == 124, err


@contextlib.contextmanager
def emulator():
    """The kernel runs programs for the other CPU: here, by the same program for this one."""
    other = images.for_another_cpu(pathlib.Path("/proc/self/exe").read_bytes()[:20])
    rule = r"\x7fELF" + "".join(rf"\x{byte:02x}" for byte in other[4:20])
    mask = r"\xff" * 7 + r"\x00" * 9 + r"\xfe\xff" + r"\xff\xff"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", folder], check=True)
        known = pathlib.Path(folder, "compute-test")
        try:
            pathlib.Path(folder, "register").write_text(f":{known.name}:M:0:{rule}:{mask}:{images.need('busybox')}:F")
            yield
        finally:
            if known.exists():
                known.write_text("-1")
            subprocess.run(["umount", folder], check=True)


@only_if(ENGINE == "docker")  # what runs it is the kernel, with either
def test_another_cpu_is_told_and_runs_where_the_kernel_can():
    status, _, err = run("-c", "true", image="compute-test/other-cpu")
    assert status == 125 and "cannot run the shell '/bin/sh': it is neither a program for this machine's CPU" in err, err
    with emulator():
        assert run("-c", "echo on; exit 3", image="compute-test/other-cpu")[:2] == (3, "on\n")
        status, out, _ = run("--json", "--timeout", "1", "-c", "(setsid sleep 1000 &) ; sleep 1000", image="compute-test/other-cpu")
        assert status == 124 and json.loads(out)["outcome"] == "timed_out", out


@contextlib.contextmanager
def elsewhere():
    """What to start as the program, for it to be in a folder that no engine sees, and its libraries with it."""
    program = pathlib.Path(COMPUTE).resolve()
    build = program.parents[2]
    with tempfile.TemporaryDirectory() as folder:
        script = 'mount --bind "$1" "$2" && program=$2/$3 && shift 3 && exec "$program" "$@"'
        yield ["env", "--unset=LD_LIBRARY_PATH", "unshare", "--mount", "sh", "-c", script, "sh", build, folder,
               program.relative_to(build)]


@only_if(ENGINE == "docker")  # podman sees what its caller sees
def test_an_engine_that_does_not_see_our_files_gets_a_copy():
    with elsewhere() as far:
        assert run("-c", "echo on; exit 3", program=far) == (3, "on\n", "")
        with detached(program=far) as name:
            assert compute("exec", name, "-c", "echo on") == (0, "on\n", ""), "from where the files are seen"
            assert compute("exec", name, "-c", "exit 4", program=far)[0] == 4
    assert engine().docker("volume", "ls", "--quiet").stdout == ""


@only_if(ENGINE == "docker")  # podman saves an image in another form
def test_no_image_ever_holds_the_runner():
    with elsewhere() as far:
        for program, left in (([COMPUTE], []), (far, ["dev/.compute"])):  # the empty folder that a volume is mounted on
            with detached(program=program) as name:
                assert compute("exec", name, "-c", "echo data >/srv/file")[0] == 0
                image = engine().docker("commit", name).stdout.strip()
                paths = files_of(image)
                engine().docker("rmi", "--force", image)
                assert "srv/file" in paths
                assert [path for path in paths if "compute" in path] == left, paths


def test_what_is_stated_is_honoured():
    status, out, err = run(*arguments("--read-only", "--cap-drop=ALL", "--network", "none", "--env=WORDS=a  b -c"), "-c",
                           'touch /file 2>/dev/null || echo read-only; ls /sys/class/net; echo "$WORDS"')
    assert (status, out) == (0, "read-only\nlo\na  b -c\n"), (out, err)


@only_if(HAS_LIMITS)
def test_a_memory_limit_is_told():
    status, out, err = run("--json", *arguments("--memory=32m", "--memory-swap=32m"), "-c",
                           "exec tail /dev/zero", image=images.PYTHON)
    assert status == 137 and json.loads(out)["outcome"] == "out_of_memory", (out, err)


def unavailable(env, *words):
    status, out, _ = compute("run", "--on", "docker", *words, "--json", "-c", "true", env=env)
    error = json.loads(out)["error"]
    assert status == 125, out
    return error


@only_if(ENGINE == "docker")  # podman has no daemon
def test_an_engine_that_does_not_answer_is_told():
    with tempfile.TemporaryDirectory() as folder:
        nowhere = {"DOCKER_HOST": f"unix://{folder}/none"}
        assert "Cannot connect" in unavailable(nowhere)["message"]


@only_if(ENGINE == "docker")
def test_a_user_who_may_not_use_the_engine_is_told():
    socket = engine().host.removeprefix("unix://")
    nobody = pwd.getpwnam("nobody").pw_uid
    try:
        os.chown(socket, nobody, -1)
        os.chmod(socket, 0o600)
        mortal = ("setpriv", "--bounding-set=-dac_override", COMPUTE)  # root without its power over files
        status, _, err = compute("run", "--on", "docker", "-c", "true", program=mortal)
        assert status == 125 and "may not be used by this user" in err and "permission denied" in err, err
    finally:
        os.chown(socket, 0, -1)


def test_who_finds_a_container_knows_whose_it_is():
    with detached() as name:
        shown = engine().docker("container", "inspect", "--format", "{{json .Config.Labels}}", name).stdout
        labels = {key.removeprefix("compute."): value for key, value in json.loads(shown).items()}
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert (labels["boot"], labels["host"], labels["image"]) == (boot, os.uname().nodename, BUSYBOX), labels
        assert labels["pid"].isdigit() and labels["start"].isdigit() and labels["created"].isdigit(), labels
        assert (labels["workdir"], labels["definition"], labels["detached"]) == ("/workspace", "", "yes"), labels


def test_what_an_image_declares_as_a_volume_goes_with_the_container():
    assert run("-c", "echo data >/data/file && cat /data/file", image="compute-test/volume")[1] == "data\n"
    with detached(image="compute-test/volume") as name:
        assert compute("exec", name, "-c", "echo data >/data/file && cat /data/file")[1] == "data\n"
    assert engine().docker("volume", "ls", "--quiet").stdout == ""


def test_a_program_that_is_not_there_is_told():
    assert "no program '/no/docker'" in unavailable({"COMPUTE_DOCKER": "/no/docker"})["message"]


def test_a_program_that_is_of_no_use_is_told():
    error = unavailable({"COMPUTE_DOCKER": "/etc/passwd"})
    assert error == {"code": "unavailable", "provider": "docker",
                     "message": "cannot start '/etc/passwd': Permission denied; name another one in COMPUTE_DOCKER"}, error
    error = unavailable({"COMPUTE_DOCKER": "/bin/false"})
    assert error["code"] == "unavailable" and error["message"].endswith("failed and said nothing"), error


def test_an_engine_that_cannot_be_asked_hides_no_instance():
    with instead_of_docker("echo 'error during connect: dial tcp: lookup far.away: no such host' >&2; exit 1") as env:
        for words in (["status"], ["down"], ["exec", "--", "true"]):
            status, _, err = compute(words[0], "docker-0123456789ab", *words[1:], env=env)
            assert status == 125 and "docker could not be asked" in err and "no such host" in err, err


def test_an_interrupt_ends_the_wait_for_an_engine():
    with instead_of_docker("exec sleep 1000") as env:
        name = "docker-0123456789ab"
        for words in (["ps"], ["run", "--on", "docker", "-c", "true"], ["status", name], ["down", name], ["reap"]):
            process = start(*words, env=env)
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=10)
            assert process.returncode == 130, (words, process.returncode)


def test_the_number_of_calls_is_one_that_can_be():
    for calls in ("0", "17", "-1", "many", "1x"):
        status, _, err = run("-c", "true", env={"COMPUTE_DOCKER_CALLS": calls})
        assert status == 125 and f"from 1 to 16, not '{calls}'" in err, err
    assert run("-c", "echo on", env={"COMPUTE_DOCKER_CALLS": "1"})[:2] == (0, "on\n")


def test_what_could_not_be_removed_may_still_run():
    with instead_of_docker('[ "$1" != rm ] || { echo "no removal today" >&2; exit 1; }\nexec ' + engine().program + ' "$@"') as env:
        with detached() as name:
            status, _, err = compute("down", name, env=env)
            told = f"Could not remove container {name}: no removal today. It may still be running."
            assert status == 125 and told in err, err
            assert compute("exec", name, "-c", "echo on")[1] == "on\n"
            assert compute("down", name)[0] == 0


def test_a_limit_is_honoured_or_refused():
    refused = ENGINE == "rootless" and not os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    with tempfile.TemporaryDirectory() as folder:
        limited = pathlib.Path(folder, "limited.yaml")
        for limits, what in (("memory_mb: 64", "memory"), ("cpu: 1", "processors")):
            limited.write_text(f"resources: {{{limits}}}\n")
            status, out, err = run("--environment", str(limited), "-c", "echo on")
            if refused:
                assert (status, out) == (125, "") and f"cannot honour a limit of {what}" in err, (status, out, err)
            else:
                assert (status, out) == (0, "on\n"), (status, out, err)
    assert wait_true(lambda: not containers())


def test_the_readme_shows_what_happens():
    text = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text()
    shown = "".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL))
    commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE)
    assert commands
    path = f"{os.path.dirname(os.path.abspath(COMPUTE))}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | engine().env | {"PATH": path, "HOME": folder}
        for command, output in commands:
            done = subprocess.run(["sh", "-c", command], env=env, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, check=False)
            assert (done.returncode, done.stdout) == (0, output), (command, done)


# With podman, only the cases in which the engine has a part: how a container ends, who ends it and who finds it. What the
# runner does inside was seen with docker, and what podman does for an ordinary user as for root, with root.
ON_ROOTLESS = re.compile(r"instance/.*|stated/(user|mounts|what_cannot_be_honoured)")
ON_PODMAN = re.compile(r"(outcome|instance|detached)/.*|stated/(limits|user|mounts|what_cannot_be_honoured)|case/Q07_.*")
CASES_OF = {"docker": re.compile(".*"), "podman": ON_PODMAN, "rootless": ON_ROOTLESS}


def cases():
    """Those of the list that concern this provider, but for the ones that set the clock."""
    for line in pathlib.Path(CASES).read_text().splitlines():
        found = re.match(r"CASE \((?:all|docker), (\w+), (\w+), (\d+), (parallel|root)\)", line)
        if found and CASES_OF[ENGINE].fullmatch(f"{found[1]}/{found[2]}"):
            yield f"/{found[1]}/{found[2].replace('_', '-')}", int(found[3])


def pass_case(path, seconds):
    env = os.environ | engine().env | {"COMPUTE_TEST_PROVIDER": "docker"}
    with tempfile.TemporaryFile() as log:
        done = subprocess.run([CONFORMANCE, "-p", path], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              timeout=seconds * 4, check=False)
        log.seek(0)
        assert done.returncode == 0, f"{path}: status {done.returncode}: {log.read().decode(errors='replace')[-1500:]}"


def nothing_is_left():
    assert wait_true(lambda: not containers()), containers()


def main():
    tests = {name[5:].replace("_", " "): function for name, function in globals().items()
             if name.startswith("test_") and function is not None}
    engine().image(images.PYTHON)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {f"conformance {path}": pool.submit(pass_case, path, seconds).result for path, seconds in cases()}
        tap.run(runs | {"conformance leaves nothing": nothing_is_left} | tests)


if ENGINE != "docker":
    podman.move_in(rootless=ENGINE == "rootless")
with cleanup:
    main()
