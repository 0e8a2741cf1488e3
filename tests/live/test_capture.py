# SPDX-License-Identifier: MIT
"""test_capture.py COMPUTE PROVIDER RUNNER: the docker provider's captures on a real engine, through the provider's own
table."""

import contextlib
import ctypes
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from unittest import mock

import host
import tap
from place import BUSYBOX, cleanup, containers, engine, files_of, instead_of_docker, wait_true

INVALID, NOT_FOUND, NOT_RUNNING, ENGINE_FAILED, CANCELLED, DENIED, BUSY = -1, -2, -8, -10, -12, -14, -15
REF = "compute-test-capture:0a1b2c3d4e5f"
KEY = REF.partition(":")[2]
SECRET = "s3cret-value-of-the-test"
OTHER = "0ther-value-of-the-test"
LARGE = 200 * 1024
DETACHED, REFUSE = 1, 1
NOBODY = "sha256:" + "0" * 64
PAUSE = 11  # seconds: a runner that is silent is asked for a sign of life after ten

LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p)
CONFIG_GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64,
                              ctypes.POINTER(ctypes.c_uint64))
EMIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(host.STRUCTS["instance"]))
PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(host.STRUCTS["progress"]))


class Image(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint64), ("id", ctypes.c_char * 128), ("platform", ctypes.c_char * 64)]


class Request(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("ref", ctypes.c_char_p),
                ("secrets", ctypes.c_void_p), ("secret_count", ctypes.c_uint64)]


class Table(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("capture", ctypes.c_void_p),
                ("has", ctypes.c_void_p), ("remove", ctypes.c_void_p)]


def sized(struct, **members):
    return struct(ctypes.sizeof(struct), **members)


def pairs(values):
    array = (host.STRUCTS["pair"] * max(len(values), 1))()
    for pair, (name, value) in zip(array, values):
        pair.name, pair.value = name.encode(), value.encode()
    return array


class Provider:
    """The provider, opened with a host of ours: what it logs is kept."""

    def __init__(self):
        self.log = []
        self.steps = []
        self.keep = [LOG(lambda _, level, line: self.log.append((level, line.decode()))), CONFIG_GET(self.setting)]
        functions = [ctypes.cast(function, ctypes.c_void_p).value for function in self.keep]
        self.host = host.make("host", abi_major=1, log=functions[0], config_get=functions[1])
        table = ctypes.c_void_p()
        self.check(ctypes.CDLL(sys.argv[2]).compute_provider_init, ctypes.byref(self.host), ctypes.byref(table))
        self.table = host.STRUCTS["provider"].from_address(table.value)
        extension = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(self.table.get_extension)
        self.captures = Table.from_address(extension(b"compute.capture/1"))
        self.state = ctypes.c_void_p()
        self.check(self.slot(self.table.open), ctypes.byref(self.host), ctypes.byref(self.state))

    @staticmethod
    def setting(_, key, buffer, room, needed):
        value = {b"runner.path": os.path.abspath(sys.argv[3]).encode() + b"\0"}.get(key)
        if value is None:
            return NOT_FOUND
        needed[0] = len(value)
        if room < len(value):
            return INVALID
        ctypes.memmove(buffer, value, len(value))
        return 0

    @staticmethod
    def slot(address):
        """A function that is called with pointers alone."""
        return lambda *words: ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * len(words))(address)(*words)

    @staticmethod
    def check(function, *words):
        err = host.make("error")
        code = function(*[word if word is None or isinstance(word, (bytes, int)) else ctypes.cast(word, ctypes.c_void_p)
                          for word in words], ctypes.cast(ctypes.byref(err), ctypes.c_void_p))
        if code != 0:
            assert err.code == code and KEY not in err.message.decode(), err.message
            raise host.Failure(code, err.message.decode())

    def call(self, slot, *words):
        self.check(self.slot(slot), self.state, *words)

    def caller(self, cancel_fd=-1, **members):
        keep = PROGRESS(lambda _, given: self.steps.append(given.contents.step.decode()))
        self.keep.append(keep)
        return ctypes.byref(host.make("call", cancel_fd=cancel_fd, progress=ctypes.cast(keep, ctypes.c_void_p), **members))

    def provision(self, image=BUSYBOX, env=(), args=(), flags=0, **settings):
        env, options = pairs(list(env)), pairs([("docker.args", word) for word in args])
        instance = host.make("instance")
        image = image if image.startswith("sha256:") or ":" in image else engine().image(image)
        config = host.make("config", image=image.encode(), timeout_ms=host.UNSET, output_limit_bytes=host.UNSET,
                           env=ctypes.addressof(env), env_count=len(env) if env[0].name else 0, flags=flags,
                           options=ctypes.addressof(options), option_count=len(args),
                           **({"network": b"none"} | settings))
        self.call(self.table.provision, ctypes.byref(config), self.caller(), ctypes.byref(instance))
        return instance.id

    def shell(self, instance, script):
        """What a script prints, which must succeed."""
        out = []

        def output(_, stream, data, count):
            out.append(ctypes.string_at(data, count))
            return 0

        keep = host.OUTPUT(output)
        command = host.make("command", script=script.encode(), stdin_fd=-1)
        caller = host.make("call", cancel_fd=-1, output=ctypes.cast(keep, ctypes.c_void_p))
        result = host.make("result")
        self.call(self.table.execute, instance, ctypes.byref(command), None, ctypes.byref(caller), ctypes.byref(result))
        text = b"".join(out).decode()
        assert result.exit_code == 0, (script, result.exit_code, text)
        return text

    def capture(self, instance, secrets=(), flags=0, ref=REF, cancel_fd=-1):
        array = pairs(list(secrets))
        request = sized(Request, flags=flags, ref=ref.encode(), secrets=ctypes.addressof(array), secret_count=len(secrets))
        base, image = Image(), Image()
        self.call(self.captures.capture, instance, ctypes.byref(request), self.caller(cancel_fd), ctypes.byref(base),
                  ctypes.byref(image))
        assert all(KEY not in line for _, line in self.log) and all(KEY not in step for step in self.steps), self.log
        return base, image

    def has(self, *refs):
        """The images of these names, or the one of one name; None: there is none."""
        names, images = (ctypes.c_char_p * len(refs))(*map(os.fsencode, refs)), (Image * len(refs))()
        self.call(self.captures.has, names, ctypes.c_void_p(len(refs)), self.caller(), images)
        found = [image if image.id else None for image in images]
        return found if len(refs) > 1 else found[0]

    def remove(self, ref=REF):
        self.call(self.captures.remove, ref.encode(), self.caller())

    def shutdown(self, instance):
        self.call(self.table.shutdown, instance, self.caller())

    def close(self):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.table.close)(self.state)


@contextlib.contextmanager
def opened(env=None):
    """A provider of its own, and nothing of it is left."""
    with mock.patch.dict(os.environ, engine().env | (env or {})):
        provider = Provider()
        try:
            yield provider
        finally:
            provider.close()
            engine().docker("rmi", "--force", REF, check=False)
    assert wait_true(lambda: not containers()), engine().docker("ps", "--all").stdout


def failure(function, *words, **options):
    try:
        given = function(*words, **options)
    except host.Failure as found:
        return found
    raise AssertionError(f"no error but {given}")


def inspect(ref, what="{{json .Config}}"):
    return json.loads(engine().docker("image", "inspect", "--format", what, ref).stdout)


def environment(ref):
    return dict(variable.split("=", 1) for variable in inspect(ref)["Env"])


def told(ref):
    """All that an engine tells of an image, and all that it is."""
    text = engine().docker("image", "inspect", ref).stdout + engine().docker("history", "--no-trunc", ref).stdout
    return text.encode() + engine().docker("save", ref, text=False).stdout


@contextlib.contextmanager
def recorded():
    """What docker is called with goes to a file, too."""
    with tempfile.TemporaryDirectory() as folder:
        calls = pathlib.Path(folder, "calls")
        with instead_of_docker(f'printf "%s\\n" "$*" >>{calls}\nexec {engine().program} "$@"') as env:
            yield env, calls


# ---- What an image says of itself ---------------------------------------------------------------------------------


def test_C15_user_workdir_and_path_are_those_of_the_image():
    script = "id -u; pwd; echo $PATH"
    words = ["run", "--rm", "--network=none", "--entrypoint=/bin/sh"]
    with opened() as provider:
        instance = provider.provision("compute-test/whole", workdir=b"/tmp/elsewhere", user=b"0")
        provider.shell(instance, "mkdir /kept && echo on >/kept/file")
        provider.capture(instance)
        before = engine().docker(*words, "compute-test/whole", "-c", script).stdout
        assert before == "1000\n/w\n/w/bin:/usr/bin:/bin\n"
        assert engine().docker(*words, REF, "-c", script).stdout == before
        assert provider.shell(provider.provision(REF), f"cat /kept/file; {script}") == "on\n" + before.replace("/w\n", "/workspace\n")


def test_an_image_says_of_itself_what_its_base_says():
    args = ["--workdir=/tmp"]
    for name, ways in (("bare", (0, DETACHED)), ("busybox", (0,)), ("whole", (DETACHED,))):
        for flags in ways:
            with opened() as provider:
                base = inspect(engine().image(f"compute-test/{name}"))
                instance = provider.provision(f"compute-test/{name}", args=args, flags=flags, user=b"0")
                provider.capture(instance)
                made = inspect(REF)
                provider.shutdown(instance)
            known = ("User", "0" if base.get("User", "") == "" else base["User"]), ("WorkingDir", base.get("WorkingDir") or "/")
            for key, value in known:
                assert made[key] == value, (name, key, made)
            assert (made.get("Cmd") or None) == (base.get("Cmd") or None), (name, made)
            assert [word for word in made.get("Entrypoint") or [] if word or base.get("Entrypoint")] == (base.get("Entrypoint") or []), made
            assert sorted(made["Env"]) == sorted(base["Env"]) and made.get("Volumes") == base.get("Volumes"), (name, made)


def test_the_result_tells_both_images_and_their_platform():
    with opened() as provider:
        instance = provider.provision()
        provider.shell(instance, "head -c 1000000 /dev/zero >/tmp/file")
        base, made = provider.capture(instance)
        for image, ref in ((base, BUSYBOX), (made, REF)):
            there = provider.has(ref)
            assert (image.id, image.bytes, image.platform) == (there.id, there.bytes, there.platform)
            assert image.id.decode() == inspect(ref, "{{json .Id}}"), (image.id, ref)
        assert made.bytes - base.bytes >= 1000000 and made.platform.startswith(b"linux/")
        assert provider.steps[-1] == "capture", provider.steps


def test_no_capture_holds_the_runner():
    with opened() as provider:
        for flags in (0, DETACHED):
            instance = provider.provision(flags=flags)
            provider.shell(instance, "echo on >/srv/file")
            provider.capture(instance)
            provider.shutdown(instance)
            paths = files_of(REF)
            assert "srv/file" in paths and not [path for path in paths if "compute" in path], paths


def test_a_container_of_a_capture_is_nobodys_until_it_is_started_by_us():
    with opened() as provider:
        first = provider.provision(flags=DETACHED, definition=b"0123456789ab")
        provider.capture(first)
        labels = {name: value for name, value in inspect(REF)["Labels"].items() if name.startswith("compute.") and "test" not in name}
        assert len(labels) == 10 and not any(labels.values()), labels
        provider.shutdown(first)
        engine().docker("run", "--detach", "--name=docker-0123456789ab", "--network=none", REF, "sleep", "1000")
        try:
            found = []
            provider.call(provider.table.list_instances, EMIT(lambda _, about: found.append(about.contents.id) or 0), None, None)
            about = host.make("instance")
            assert failure(provider.call, provider.table.get_status, b"docker-0123456789ab", None, ctypes.byref(about)).code == NOT_FOUND
            assert found == [], found
        finally:
            engine().docker("rm", "--force", "docker-0123456789ab")
        second = provider.provision(REF)
        shown = engine().docker("container", "inspect", "--format", "{{json .Config.Labels}}", second.decode()).stdout
        shown = json.loads(shown)
        assert (shown["compute.detached"], shown["compute.definition"], shown["compute.pid"]) == ("no", "", str(os.getpid())), shown


# ---- Secrets ------------------------------------------------------------------------------------------------------


def test_C01_no_secret_is_in_a_capture_or_on_the_way_to_it():
    with recorded() as (env, calls), opened(env) as provider:
        for flags in (0, DETACHED):
            instance = provider.provision(env=[("TOKEN", SECRET)], flags=flags)
            assert provider.shell(instance, "echo $TOKEN") == f"{SECRET}\n"
            provider.capture(instance, [("TOKEN", SECRET), ("API_KEY", "")])
            shown = told(REF) + calls.read_bytes() + engine().docker("inspect", instance.decode()).stdout.encode()
            assert SECRET.encode() not in shown + repr(provider.log).encode()
            provider.shutdown(instance)


def test_C01_a_variable_of_the_container_is_blanked_or_there_is_no_capture():
    """Some engines keep in the image's file all that its container was made with, and nothing takes it out of there."""
    with tempfile.NamedTemporaryFile("w") as file, opened() as provider:
        file.write(f"IN_FILE={SECRET}\nPLAIN=plain value\n")
        file.flush()
        instance = provider.provision(args=[f"--env-file={file.name}"])
        try:
            provider.capture(instance, [("IN_FILE", SECRET)])
        except host.Failure as found:
            assert found.code == DENIED and "IN_FILE" in found.message and SECRET not in found.message, found
            assert provider.has(REF) is None
        else:
            assert SECRET.encode() not in told(REF) and environment(REF)["IN_FILE"] == ""
        provider.capture(instance, [("NOT_THERE", OTHER)])
        assert environment(REF)["PLAIN"] == "plain value"


def test_a_value_that_is_no_secret_of_the_image_hinders_no_capture():
    with opened() as provider:
        instance = provider.provision(env=[("PLACE", "/workspace"), ("FROM", BUSYBOX)])
        provider.capture(instance, [("PLACE", "/workspace"), ("FROM", BUSYBOX)])
        assert provider.has(REF)


def test_C01_what_the_image_itself_says_is_left_alone_unless_its_name_is_well_known():
    with opened() as provider:
        instance = provider.provision("compute-test/whole")
        provider.capture(instance, [("TOKEN", "another-value"), ("OPENAI_API_KEY", ""), ("ODD", "something")])
        variables = environment(REF)
        base = environment("compute-test/whole")
        assert variables["OPENAI_API_KEY"] == "" and base["OPENAI_API_KEY"] != "", variables
        assert variables | {"OPENAI_API_KEY": base["OPENAI_API_KEY"]} == base, variables


def warnings(provider, words):
    return [line for level, line in provider.log if level == 2 and words in line]


def test_C01_the_values_of_secrets_are_found_in_files_by_path_and_name():
    secrets = [("TOKEN", SECRET), ("OTHER", OTHER), ("SHORT", "hello"), ("EMPTY", "")]
    with opened() as provider:
        for flags in (0, DETACHED):
            provider.log.clear()
            instance = provider.provision(flags=flags, env=[("TOKEN", SECRET), ("OTHER", OTHER)])
            provider.shell(instance, f"""echo "login $TOKEN x" >/root/.netrc; echo hello >/srv/short; mkdir -p /a/b /{SECRET}
                (head -c {LARGE} /dev/zero; printf %s $TOKEN; head -c {LARGE} /dev/zero; printf %s $OTHER) >/a/b/large
                printf %s ${{TOKEN%?}} >/a/almost; echo $OTHER >'/a/odd name'; echo $OTHER >/{SECRET}/file; : >/a/empty
                echo $TOKEN >/dev/shm/not-kept; ln -s /root/.netrc /a/link; mkfifo /a/fifo; rm /etc/group""")
            provider.capture(instance, secrets)
            kept = ", which the capture keeps"
            assert sorted(warnings(provider, "the value of")) == sorted(f"[docker_compute] the value of {name} is in {path}{kept}" for name, path in (
                ("TOKEN", "/root/.netrc"), ("TOKEN", "/a/b/large"), ("OTHER", "/a/b/large"), ("OTHER", "/a/odd name"),
                ("OTHER", f"/{'.' * len(SECRET)}/file"))), provider.log
            provider.shutdown(instance)


def test_C01_a_capture_that_is_to_hold_no_secret_is_refused():
    with opened() as provider:
        instance = provider.provision(env=[("TOKEN", SECRET)])
        provider.capture(instance, [("TOKEN", SECRET)], REFUSE)
        before = provider.has(REF).id
        provider.shell(instance, "echo $TOKEN >/root/.netrc; echo more >/srv/more")
        found = failure(provider.capture, instance, [("TOKEN", SECRET)], REFUSE)
        assert found.code == DENIED and found.message == "the value of TOKEN is in /root/.netrc", found
        assert provider.has(REF).id == before


def test_what_a_user_may_not_read_or_what_no_file_is_hinders_no_capture():
    with opened() as provider:
        instance = provider.provision("compute-test/user", env=[("TOKEN", SECRET)])
        engine().docker("exec", "--user=0", instance.decode(), "sh", "-c", f"echo {SECRET} >/srv/hidden; chmod 600 /srv/hidden")
        provider.shell(instance, "echo $TOKEN >/tmp/mine")
        provider.capture(instance, [("TOKEN", SECRET)])
        assert len(warnings(provider, "the value of TOKEN is in /tmp/mine")) == len(provider.log) == 1, provider.log


# ---- What a capture lacks -----------------------------------------------------------------------------------------


def test_data_that_a_capture_lacks_is_told():
    with opened() as provider, tempfile.TemporaryDirectory() as folder:
        provider.provision()
        instance = provider.provision("compute-test/volume", args=["--mount", f"type=bind,source={folder},target=/mnt/host"])
        provider.capture(instance)
        assert sorted(line for _, line in provider.log) == [
            f"[docker_compute] what is in {path} is not in the capture: it is a volume or a mount"
            for path in ("/data", "/mnt/host")], provider.log


# ---- has and remove -----------------------------------------------------------------------------------------------


def test_only_an_image_that_is_not_there_is_not_there():
    with opened() as provider:
        assert provider.has(engine().image(BUSYBOX)).id.startswith(b"sha256:")
        assert provider.has(inspect(BUSYBOX, "{{json .Id}}")).bytes > 0
        for ref in (REF, NOBODY, "127.0.0.1:1/no/such:image"):
            assert provider.has(ref) is None, ref
        first, second, third = provider.has(REF, BUSYBOX, NOBODY)
        assert (first, third) == (None, None) and second.id == provider.has(BUSYBOX).id
        for ref in ("", "--help", "-x"):
            assert failure(provider.has, ref).code == failure(provider.remove, ref).code == INVALID, ref
    with tempfile.TemporaryDirectory() as folder, opened({"DOCKER_HOST": f"unix://{folder}/none"}) as provider:
        assert failure(provider.has, REF).code == failure(provider.remove).code == ENGINE_FAILED
    with instead_of_docker(f"echo 'no way to {REF}, or {KEY}: it went wrong' >&2; [ $1 = ps ]") as env, opened(env) as provider:
        for function in (provider.has, provider.remove):
            found = failure(function, REF)
            assert found.code == ENGINE_FAILED and "it went wrong" in found.message, found


def test_a_capture_in_use_stays():
    with opened() as provider:
        provider.remove()
        instance = provider.provision()
        provider.capture(instance)
        for words in (["create"], ["run", "--detach"]):
            user = engine().docker(*words, "--network=none", REF, "sleep", "1000").stdout.strip()
            assert failure(provider.remove).code == BUSY
            assert provider.has(REF)
            engine().docker("rm", "--force", user)
        provider.remove()
        assert provider.has(REF) is None
        provider.remove()


# ---- From an image's id -------------------------------------------------------------------------------------------


def test_an_instance_starts_from_an_id_which_nobody_is_asked_for():
    with recorded() as (env, calls), opened(env) as provider:
        instance = provider.provision()
        provider.shell(instance, "echo on >/srv/file")
        made = provider.capture(instance)[1].id.decode()
        assert provider.shell(provider.provision(made), "cat /srv/file") == "on\n"
        provider.steps.clear()
        found = failure(provider.provision, NOBODY)
        assert NOBODY in found.message and provider.steps == [], (found, provider.steps)
        assert "pull --" not in calls.read_text()


# ---- What can go wrong --------------------------------------------------------------------------------------------


def test_only_an_instance_that_runs_is_captured():
    with opened() as provider:
        assert failure(provider.capture, b"docker-0123456789ab").code == NOT_FOUND
        instance = provider.provision()
        assert failure(provider.capture, instance, ref="--pause").code == INVALID
        assert failure(provider.capture, instance, flags=2).code == INVALID
        with opened() as another:
            assert failure(another.capture, instance).code == NOT_FOUND
            provider.shutdown(instance)
            assert failure(provider.capture, instance).code == NOT_RUNNING
            detached = provider.provision(flags=DETACHED)
            assert another.capture(detached)[1].id
            provider.shutdown(detached)
            assert failure(another.capture, detached).code == NOT_FOUND


def dangling():
    return engine().docker("images", "--quiet", "--filter", "dangling=true").stdout.split()


def test_what_fails_or_is_cancelled_leaves_the_image_that_was_there():
    ways = (("tag", f"echo 'no {REF} today' >&2; exit 1", ENGINE_FAILED), ("commit", "echo no >&2; exit 1", ENGINE_FAILED),
            ("commit", "exec sleep 1000", CANCELLED), ("diff", "exec sleep 1000", CANCELLED), ("tag", "exec sleep 1000", CANCELLED))
    for subcommand, script, code in ways:
        with instead_of_docker(f'[ "$1" != {subcommand} ] || {{ {script}; }}\nexec {engine().program} "$@"') as env, opened(env) as provider:
            instance = provider.provision()
            engine().docker("tag", BUSYBOX, REF)
            before, loose = provider.has(REF).id, dangling()
            ours, theirs = socket.socketpair()
            timer = threading.Timer(1.5, ours.send, [b"x"])
            if code == CANCELLED:
                timer.start()
            found = failure(provider.capture, instance, [("TOKEN", SECRET)], cancel_fd=theirs.fileno())
            timer.cancel()
            assert found.code == code, (subcommand, found)
            assert provider.has(REF).id == before and dangling() == loose, (subcommand, loose, dangling())
            assert provider.shell(instance, "echo on") == "on\n"


def test_an_instance_survives_the_pause_of_its_capture():
    pause = f'for id; do :; done; docker pause "$id" >&2; sleep {PAUSE}; docker unpause "$id" >&2'
    with instead_of_docker(f'[ "$1" != commit ] || {{ {pause}; }}\nexec {engine().program} "$@"') as env, opened(env) as provider:
        instance = provider.provision()
        said = []
        command = threading.Thread(target=lambda: said.append(provider.shell(instance, f"sleep {PAUSE + 4}; echo on")))
        command.start()
        time.sleep(0.5)
        provider.capture(instance)
        command.join()
        assert said == ["on\n"] and provider.shell(instance, "echo on") == "on\n"


with cleanup:
    tap.main(globals())
