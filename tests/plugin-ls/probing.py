# SPDX-License-Identifier: MIT
"""--probe: whatever a provider does while it is loaded, plugin-ls says so, in time, and leaves nothing behind."""

import os
import signal
import subprocess
import time

import tap
from lister import PROGRAM, Place, equal, poll, processes


def probe(kind, *args):
    """A fixture's entry in the document after a probe."""
    with Place() as place:
        place.add(kind)
        document = place.document("--probe", "--no-cache", *args)
        (provider,) = document["providers"]
        equal(processes("compute-provider-probe", str(place.folder)), [])
        return provider


def expect(kind, *args, state="failed", reason=None, **report):
    provider = probe(kind, *args)
    equal((provider["state"], provider["reason"]), (state, reason))
    equal({key: provider["probe"][key] for key in report}, report)
    return provider


def test_a_good_provider_loads():
    provider = expect("ok", state="ok", result="ok", stage="done", signal=None, exit=None, cached=False, stderr_tail="")
    equal(provider["probe"]["provider"]["name"], "ok")


def test_without_probe_no_code_of_a_provider_runs():
    with Place() as place:
        for kind in ("load-crash", "load-exit", "load-hang", "init-crash", "init-stdout"):
            place.add(kind)
        result = place.run("--deps", "--all")
        equal((result.returncode, result.errors), (0, ""))
        equal({provider["state"] for provider in place.document()["providers"]}, {"ok"})


def test_a_crash_is_told_with_its_signal_and_step():
    for kind, step in (("init-crash", "init"), ("load-crash", "dlopen")):
        provider = expect(kind, reason="E_INIT_SIGNAL", result="signal", stage=step, signal=11, exit=None)
        equal(provider["message"], f"ended by signal 11 (Segmentation fault) in step '{step}'")


def test_an_exit_is_told_with_its_status():
    expect("init-exit0", reason="E_INIT_EXIT", result="exit", stage="init", exit=0, signal=None)
    expect("init-exit1", reason="E_INIT_EXIT", result="exit", stage="init", exit=1)
    expect("load-exit", reason="E_INIT_EXIT", result="exit", stage="dlopen")


def test_a_hang_ends_at_the_deadline():
    for kind, step in (("init-hang", "init"), ("load-hang", "dlopen")):
        for seconds in (0.5, 2.5, 12.5):  # a busy machine may need some to come that far
            begin = time.monotonic()
            provider = expect(kind, "--timeout", str(seconds), reason="E_INIT_TIMEOUT", result="timeout", signal=None)
            assert seconds <= time.monotonic() - begin < 50  # it hangs for 60 s
            if provider["probe"]["stage"] == step:
                break
        equal(provider["message"], f"did not finish step '{step}' within {seconds:g} s")


def test_a_failing_init_is_told_in_its_own_words():
    provider = expect("init-fail", reason="E_INIT_FAILED", result="failed", stage="init", exit=None)
    assert provider["message"], provider


def test_noise_on_stdout_goes_into_the_report_only():
    with Place() as place:
        place.add("init-stdout")
        result = place.run("--json", "--probe")
        equal((result.returncode, result.errors), (0, ""))
        provider = place.document("--probe")["providers"][0]  # nothing but the document
        assert provider["probe"]["stderr_tail"] != ""
        last = provider["probe"]["stderr_tail"].splitlines()[-1][:200]
        assert f"it wrote: {last}\n" in place.run("--probe").text


def test_a_megabyte_on_stderr_blocks_nobody_and_its_end_is_kept():
    provider = expect("init-stderr", state="ok", result="ok", stage="done")
    assert 1000 < len(provider["probe"]["stderr_tail"]) <= 4096


def test_a_child_that_keeps_the_pipes_open_delays_nothing():
    begin = time.monotonic()
    expect("init-fork", "--timeout", "600", state="ok", result="ok")
    assert time.monotonic() - begin < 50  # the child lives for 60 s


def test_one_bad_provider_hides_no_good_one():
    with Place() as place:
        for kind in ("init-crash", "init-exit0", "init-fail", "ok"):
            place.add(kind)
        result = place.run("--probe")
        equal(result.returncode, 1)
        equal({p["name"]: p["state"] for p in place.document("--probe")["providers"]}["ok"], "ok")


def test_a_failed_probe_makes_a_named_provider_fail():
    with Place() as place:
        path = place.add("init-fail")
        equal(place.run("init-fail").returncode, 0)
        equal(place.run("--probe", "init-fail").returncode, 1)
        equal(place.run("--probe", str(path)).returncode, 1)
        equal(place.run("--why", str(path), "--probe").returncode, 1)


def test_a_provider_without_a_note_gets_its_details_from_loading():
    with Place() as place:
        place.add("no-note")
        equal(place.provider("no-note")["version"], None)
        assert place.provider("no-note", "--probe")["version"] is not None


def test_why_shows_the_load_as_its_last_check():
    with Place() as place:
        for kind, passed in (("ok", True), ("init-fail", False)):
            document = place.document("--why", str(place.add(kind)), "--probe")
            last = document["checks"][-1]
            equal((last["what"], last["passed"], last["reason"]), ("load", passed, document["providers"][0]["reason"]))


def test_a_killed_plugin_ls_leaves_no_child():
    for kind in ("init-hang", "load-hang"):
        with Place() as place:
            place.add(kind)
            args = [PROGRAM, "--path", str(place.folder), "--only", "--probe", "--timeout", "600"]
            with subprocess.Popen(args, env=place.env, stdout=subprocess.DEVNULL) as process:
                poll(lambda: processes("compute-provider-probe", str(place.folder)), "the helper runs")
                process.send_signal(signal.SIGKILL)
            poll(lambda: not processes("compute-provider-probe", str(place.folder)), "the helper has ended")


def test_the_helper_refuses_to_be_started_by_hand():
    with Place() as place:
        place.add("ok")
        core = os.path.dirname(place.document()["core"]["path"])
        result = subprocess.run([f"{core}/compute/compute-provider-probe", "/x"], stderr=subprocess.PIPE, check=False)
        equal((result.returncode, result.stderr), (2, b"compute-provider-probe: this program is started by plugin-ls --probe\n"))


def test_ignored_child_signals_of_the_caller_change_nothing():
    with Place() as place:
        place.add("init-exit1")
        ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        equal(place.provider("init-exit1", "--probe", preexec_fn=ignore)["probe"]["exit"], 1)


if __name__ == "__main__":
    tap.main(globals())
