# SPDX-License-Identifier: MIT
"""test_reuse.py COMPUTE LIBCOMPUTE: environments on a real engine: prepared once, kept, and used again when they fit."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import tap
from place import BUSYBOX, cleanup, compute, containers, engine, start, wait_true

REPOSITORY = "praisonai-env"


class Project:
    """A folder with an environment of busybox, and a home of its own for the record."""

    def __init__(self, **members):
        self.members = members

    def __enter__(self):
        engine().image(BUSYBOX)
        self.holder = tempfile.TemporaryDirectory(prefix="compute-reuse.")
        self.folder = pathlib.Path(self.holder.name, "project")
        self.home = pathlib.Path(self.holder.name, "home")
        (self.folder / ".praisonai").mkdir(parents=True)
        self.home.mkdir()
        self.write(**self.members)
        return self

    def __exit__(self, *_):
        for image in captured():
            engine().docker("rmi", "--force", image, check=False)
        self.holder.cleanup()

    def write(self, **members):
        self.members = self.members | members
        text = json.dumps({"image": BUSYBOX, "backend": "docker"} | self.members)
        (self.folder / ".praisonai/environment.yaml").write_text(text)

    @property
    def record(self):
        return self.home / ".praisonai/environments/registry.json"

    @property
    def entries(self):
        return json.loads(self.record.read_text()) if self.record.exists() else {}

    @property
    def words(self):
        """compute as this project's user has it."""
        environment = str(self.folder / ".praisonai/environment.yaml")
        return {"env": {"HOME": str(self.home)}}, ["--environment", environment]

    def compute(self, subcommand, *words, **options):
        more, named = self.words
        return compute(subcommand, *named, *words, **more, **options)

    def run(self, script, *words):
        """stdout, and what became of the capture."""
        status, out, err = self.compute("run", "--json", *words, "-c", script)
        assert status == 0, (out, err)
        result = json.loads(out)
        return result["stdout"], result["environment"], err

    def explain(self, *words):
        status, out, err = self.compute("captures", "explain", *words)
        assert status == 0, err
        return out.strip().partition(": ")[2]


def captured():
    lines = engine().docker("images", "--format", "{{.Repository}}:{{.Tag}}", REPOSITORY).stdout.split()
    return [line for line in lines if line.startswith(REPOSITORY + ":")]


def test_what_was_set_up_is_used_again_and_only_refresh_runs():
    with Project(setup=["echo setup >> /made"], refresh=["echo refresh >> /made"]) as project:
        assert project.explain() == "miss: there is no capture of this definition and these values yet"
        out, about, _ = project.run("cat /made")
        assert (out, about["captured"], about["reused"]) == ("setup\n", True, False), about
        first = dict(project.entries)
        assert project.explain() == "hit"
        out, about, _ = project.run("cat /made")
        assert (out, about["captured"], about["reused"], about["why"]) == ("setup\nrefresh\n", False, True, None), about
        (key, entry), = project.entries.items()
        assert captured() == [f"{REPOSITORY}:{key}"] == [entry["ref"]], (captured(), entry)
        assert entry["backend"] == "docker" and entry["definition"] == about["definition"], entry
        assert entry["last_used"] > first[key]["last_used"] >= entry["created_at"] == first[key]["created_at"]
        assert project.record.stat().st_mode & 0o777 == 0o600


def test_text_says_what_became_of_the_capture_and_never_the_key():
    with Project(setup=["true"], env={"TOKEN": "value-of-token"}) as project:
        said = [project.compute("run", "-c", "true")[2] for _ in range(2)]
        (key, entry), = project.entries.items()
        assert f"captured environment {entry['definition']} (there is no capture" in said[0], said[0]
        assert said[1].endswith(f"reused the capture of environment {entry['definition']}\n"), said[1]
        status, instance, err = project.compute("up")
        assert status == 0, err
        try:
            env = {"HOME": str(project.home)}
            texts = said + [instance, err]
            texts += [part for words in (["ps"], ["ps", "--json"], ["status", instance.strip()], ["captures", "list"])
                      for part in compute(*words, env=env)[1:]]
            texts += project.compute("captures", "explain")[1:] + project.compute("env", "show", "--json")[1:2]
            assert not [text for text in texts if key in text], texts
            assert entry["definition"] in compute("captures", "list", env=env)[1]
            assert key in compute("captures", "list", "--json", env=env)[1], "programs get the ref"
        finally:
            compute("down", instance.strip())


def test_values_and_definition_make_a_capture_of_their_own():
    with Project(setup=["echo $TOKEN > /made"], env={"TOKEN": "one-one-one"}) as project:
        project.run("true")
        assert project.run("cat /made", "--env", "TOKEN=two-two-two")[0] == "two-two-two\n"
        assert project.run("cat /made")[:2][0] == "one-one-one\n"
        project.write(setup=["echo other > /made"])
        assert project.run("cat /made")[0] == "other\n"
        assert len(project.entries) == len(captured()) == 3
        assert len({entry["definition"] for entry in project.entries.values()}) == 2


def test_a_change_that_the_key_does_not_bind_is_a_miss_that_names_the_field():
    with Project(setup=["true"]) as project:
        (project.folder / "input").write_text("one")
        project.write(capture={"inputs": ["input"]})
        project.run("true")
        assert project.explain() == "hit"
        (project.folder / "input").write_text("two")
        assert project.explain() == "miss: the capture was made with other inputs"
        (project.folder / "input").write_text("one")
        project.write(network="none")
        assert project.explain() == "miss: the capture was made with other network"
        project.write(network=None, mount_paths=[f"{project.folder}:/mounted"])
        assert project.explain() == "miss: the capture was made with other mounts"
        project.write(mount_paths=None)
        assert project.explain("--option", "docker.args=--init") == "miss: the capture was made with other options"
        assert project.explain() == "hit"
        project.write(network="none")
        assert project.run("true")[1]["captured"]
        assert project.explain() == "hit" and len(project.entries) == 1


def test_case_C05_a_base_that_moved_is_built_upon_anew():
    with Project(image="compute-test/base:dev", setup=["cat /version > /made"]) as project:
        for version in ("1", "2"):
            engine().docker("rm", "--force", "compute-base", check=False)
            engine().docker("run", "--name", "compute-base", BUSYBOX, "sh", "-c", f"echo {version} > /version")
            engine().docker("commit", "compute-base", "compute-test/base:dev")
            engine().docker("rm", "compute-base")
            if version == "2":
                assert project.explain() == "miss: the base image compute-test/base:dev is another one now"
            assert project.run("cat /made")[0] == f"{version}\n"
        assert project.explain() == "hit"
        engine().docker("rmi", "--force", "compute-test/base:dev")
        out, about, _ = project.run("cat /made")
        assert (out, about["reused"]) == ("2\n", True), "the base is not needed for a capture"


def test_case_C10_a_capture_that_was_deleted_is_built_again():
    with Project(setup=["echo made > /made"]) as project:
        project.run("true")
        (key, entry), = project.entries.items()
        engine().docker("rmi", "--force", entry["ref"])
        assert project.explain() == "miss: the image of the capture is gone"
        out, about, _ = project.run("cat /made")
        assert (out, about["captured"]) == ("made\n", True)
        assert list(project.entries) == [key] and project.entries[key]["base"] == entry["base"]
        assert project.run("cat /made")[1]["reused"]


def test_case_G08_and_C08_a_failed_step_leaves_nothing_and_is_not_kept():
    with Project(setup=["echo made > /made", "exit 3"]) as project:
        for _ in range(2):
            status, out, err = project.compute("run", "--json", "-c", "true")
            assert status == 125 and json.loads(out)["error"]["code"] == "prepare_failed", (out, err)
        assert "setup 2 of 2 'exit 3' failed (exit 3): no output" in json.loads(out)["error"]["message"], out
        assert not captured() and not project.entries and wait_true(lambda: not containers())
        assert not engine().docker("volume", "ls", "--quiet").stdout


def test_a_failed_refresh_fails_the_run_and_keeps_the_capture():
    with Project(setup=["true"], refresh=["exit 3"]) as project:
        project.run("true")
        status, out, _ = project.compute("run", "--json", "-c", "true")
        assert status == 125 and "refresh 1 of 1 'exit 3' failed (exit 3)" in json.loads(out)["error"]["message"]
        assert len(captured()) == len(project.entries) == 1 and wait_true(lambda: not containers())


def test_case_C12_two_first_users_build_once():
    with Project(setup=["echo built >> /count/builds; sleep 2"]) as project:
        count = project.folder / "count"
        count.mkdir()
        project.write(mount_paths=[f"{count}:/count"])
        more, named = project.words
        both = [start("run", *named, "--json", "-c", "true", **more) for _ in range(2)]
        ended = [process.communicate(timeout=60) + (process.returncode,) for process in both]
        assert [status for _, _, status in ended] == [0, 0], ended
        about = [json.loads(out)["environment"] for out, _, _ in ended]
        assert sorted(one["reused"] for one in about) == [False, True], about
        assert (count / "builds").read_text() == "built\n" and len(captured()) == 1


def test_case_C01_no_secret_is_in_the_image():
    secrets = {"MY_DB_PASSWORD": "canary-91-password", "OPENAI_API_KEY": "canary-92-key"}
    with Project(setup=["test -n \"$OPENAI_API_KEY\"; echo prepared > /made"], env=secrets) as project:
        project.run("true")
        image, = captured()
        for words in (["inspect", image], ["history", "--no-trunc", image]):
            assert "canary" not in engine().docker(*words).stdout, words
        saved = subprocess.Popen(["docker", "save", image], env=os.environ | engine().env, stdout=subprocess.PIPE)
        assert b"canary" not in saved.communicate(timeout=60)[0]
        assert project.run("echo $MY_DB_PASSWORD")[0] == "canary-91-password\n", "each run has them"


def test_a_secret_in_a_file_is_told_and_refused_when_asked_to():
    with Project(setup=["echo $TOKEN > /root/.netrc"], env={"TOKEN": "canary-93-token"}) as project:
        _, about, err = project.run("true", "--refuse-secrets")
        assert not about["captured"] and not captured() and not project.entries, about
        assert "(ephemeral fallback)" in err and "TOKEN" in err and "canary" not in err, err
        _, about, err = project.run("true")
        assert about["captured"] and "the value of TOKEN is in /root/.netrc" in err and "canary" not in err, err


def test_case_C15_user_folder_and_path_stay_as_the_image_has_them():
    engine().image("compute-test/user")
    with Project(image="compute-test/user", working_dir="/srv", setup=["true"]) as project:
        seen = [project.run("id -u; pwd; echo $PATH")[0] for _ in range(2)]
        assert seen[0] == seen[1] and seen[0].startswith("1000\n/srv\n"), seen
        image, = captured()
        template = "{{json .Config.User}} {{json .Config.WorkingDir}} {{json .Config.Entrypoint}} {{json .Config.Cmd}}"
        before, after = [engine().docker("inspect", "--format", template, name).stdout
                         for name in ("compute-test/user", image)]
        assert before == after, (before, after)


def test_a_commit_that_fails_is_a_warning_and_nothing_is_recorded():
    real = subprocess.run(["which", "docker"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with Project(setup=["echo made > /made"]) as project:
        program = project.folder / "docker"
        program.write_text(f'#!/bin/sh\n[ "$1" != commit ] || {{ echo no space left >&2; exit 1; }}\nexec {real} "$@"\n')
        program.chmod(0o755)
        more, named = project.words
        status, out, err = compute("run", *named, "-c", "cat /made", env=more["env"] | {"COMPUTE_DOCKER": str(program)})
        assert (status, out) == (0, "made\n"), err
        assert "[docker_compute] capture failed for " in err and "(ephemeral fallback): " in err, err
        assert "no space left" in err and not captured() and not project.entries, err


def test_an_image_of_that_name_that_is_not_the_capture_is_not_used():
    with Project(setup=["echo made > /made"]) as project:
        project.run("true")
        (_, entry), = project.entries.items()
        engine().docker("rmi", "--force", entry["ref"])
        engine().image("compute-test/other-cpu")
        engine().docker("tag", "compute-test/other-cpu", entry["ref"])
        assert project.explain() == "miss: the image of the capture is another one now"
        out, about, _ = project.run("cat /made")
        assert (out, about["captured"]) == ("made\n", True)


def test_what_is_not_captured_is_told():
    engine().image("compute-test/volume")
    with Project(image="compute-test/volume", setup=["echo kept > /data/file; echo kept > /kept"]) as project:
        out, _, err = project.run("cat /data/file")
        assert out == "kept\n" and "what is in /data is not in the capture: it is a volume or a mount" in err, err
        assert ".compute" not in err, err
        assert project.run("cat /kept; ls /data")[0] == "kept\n"


def test_prune_goes_by_age_keeps_what_is_in_use_and_what_cannot_go():
    with Project(setup=["echo one"]) as project:
        project.run("true")
        project.write(setup=["echo two"])
        project.run("true")
        env = {"HOME": str(project.home)}
        status, out, _ = compute("captures", "prune", "--json", env=env)
        assert (status, json.loads(out)) == (0, {"captures": []}), out
        status, instance, _ = project.compute("up")
        status, out, err = compute("captures", "prune", "--older-than", "0", "--json", env=env)
        pruned = {one["pruned"]: one for one in json.loads(out)["captures"]}
        assert status == 0 and sorted(pruned) == ["kept", "removed"] and pruned["kept"]["why"], (out, err)
        assert len(captured()) == len(project.entries) == 1
        compute("down", instance.strip())
        status, _, err = compute("captures", "prune", "--older-than", "0", env=env | {"DOCKER_HOST": "unix:///none"})
        assert status == 125 and len(project.entries) == 1, "what could not be removed stays on record"
        status, out, err = compute("captures", "prune", "--older-than", "0", env=env)
        assert status == 0 and "removed" in out and not captured() and not project.entries, (out, err)


def test_a_killed_build_leaves_nothing_that_counts():
    with Project(setup=["sleep 30"]) as project:
        more, named = project.words
        process = start("run", *named, "-c", "true", **more)
        assert wait_true(containers)
        time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert wait_true(lambda: not containers()) and not captured() and not project.entries
        project.write(setup=["true"])
        assert project.run("true")[1]["captured"], "the turn of the killed one is over"


def test_what_has_nothing_to_prepare_is_not_kept():
    with Project(env={"A": "b"}) as project:
        out, about, err = project.run("echo $A")
        assert (out, about["captured"], about["why"]) == ("b\n", False, "there is neither packages nor setup"), about
        assert not captured() and not project.record.exists() and not err


if __name__ == "__main__":
    with cleanup:
        tap.main(globals())
