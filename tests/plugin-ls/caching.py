# SPDX-License-Identifier: MIT
"""The results of --probe are remembered exactly as long as they are true."""

import json
import os
import shutil
import stat
import subprocess
import time

import tap
from lister import PROGRAM, Place, equal, fixture


def cached(place, kind, *args):
    """Whether the report on a fixture came from the cache, and its reason."""
    (provider,) = place.document("--probe", str(place.folder / f"compute-provider-{kind}.so"), *args)["providers"]
    return provider["probe"]["cached"], provider["reason"]


def edit(place, change):
    """Rewrites the cache's entries."""
    document = json.loads(place.cache.read_text())
    for entry in document["files"].values():
        change(entry)
    place.cache.write_text(json.dumps(document))


def age(place, seconds):
    edit(place, lambda entry: entry.update(time=int(time.time()) - seconds))


def test_a_success_is_remembered_and_the_file_is_private():
    with Place() as place:
        place.add("ok")
        equal([cached(place, "ok"), cached(place, "ok")], [(False, None), (True, None)])
        equal(stat.S_IMODE(place.cache.stat().st_mode), 0o600)
        equal(stat.S_IMODE(place.cache.parent.stat().st_mode), 0o700)
        equal([path.name for path in place.cache.parent.iterdir()], ["probe.json"])


def test_without_a_cache_variable_it_is_in_the_home():
    with Place() as place:
        place.add("ok")
        for env in ({"XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "relative"}):
            shutil.rmtree(place.top / ".cache", ignore_errors=True)
            equal(place.run("--probe", env=env, cwd=place.top).returncode, 0)
            assert (place.top / ".cache" / "compute" / "probe.json").exists()
        assert not (place.top / "relative").exists()
        equal(place.run("--probe", env={"XDG_CACHE_HOME": "", "HOME": "relative"}, cwd=place.top).errors, "")
        assert not (place.top / "relative").exists()


def test_a_failure_counts_for_an_hour_and_a_success_for_a_month():
    with Place() as place:
        place.add("ok")
        place.add("init-fail")
        equal(cached(place, "init-fail"), (False, "E_INIT_FAILED"))
        age(place, 3500)
        equal(cached(place, "init-fail"), (True, "E_INIT_FAILED"))
        assert "so it was 58 minutes ago; --no-cache tries again" in place.run("--probe").text
        age(place, 3601)
        equal([cached(place, "ok"), cached(place, "init-fail")], [(True, None), (False, "E_INIT_FAILED")])
        age(place, 31 * 24 * 3600)
        equal(cached(place, "ok"), (False, None))
        age(place, -60)  # from the future: the clock was set back
        equal(cached(place, "ok"), (False, None))


def test_the_whole_reason_is_remembered():
    with Place() as place:
        place.add("init-fail")
        first, second = (place.provider("init-fail", "--probe") for _ in range(2))
        equal([first["probe"].pop("cached"), second["probe"].pop("cached")], [False, True])
        equal(second, first)


def test_a_timeout_is_not_remembered():
    with Place() as place:
        place.add("init-hang")
        for _ in range(2):
            equal(cached(place, "init-hang", "--timeout", "0.2"), (False, "E_INIT_TIMEOUT"))


def test_a_dependency_that_appears_counts_at_once():
    with Place() as place:
        place.add("missing-dep")
        library = next(needed["name"] for needed in place.provider("missing-dep")["elf"]["needed"] if needed["path"] is None)
        for _ in range(2):
            equal(place.provider("missing-dep", "--probe")["reason"], "E_MISSING_DEP")
        shutil.copy(fixture("ok"), place.top / library)  # any library will do
        provider = place.provider("missing-dep", "--probe", env={"LD_LIBRARY_PATH": str(place.top)})
        assert provider["reason"] != "E_MISSING_DEP", provider["message"]


def test_a_file_replaced_with_the_same_size_and_time_is_another_file():
    with Place() as place:
        good, bad = place.add("ok"), place.add("init-fail", folder=place.top / "other")
        size = max(path.stat().st_size for path in (good, bad))
        for path in (good, bad):
            os.truncate(path, size)
            os.utime(path, ns=(10**18, 10**18))
        equal(cached(place, "ok"), (False, None))
        equal(cached(place, "ok"), (True, None))
        os.rename(bad, good)
        equal((good.stat().st_size, good.stat().st_mtime_ns), (size, 10**18))
        equal(cached(place, "ok"), (False, "E_INIT_FAILED"))


def test_a_file_written_in_place_with_its_time_put_back_is_another_file():
    with Place() as place:
        path = place.add("ok")
        os.utime(path, ns=(10**18, 10**18))
        equal([cached(place, "ok"), cached(place, "ok")], [(False, None), (True, None)])
        with open(path, "r+b") as file:
            file.write(b"\x7f")  # as it was
        os.utime(path, ns=(10**18, 10**18))
        equal(cached(place, "ok"), (False, None))


def test_another_core_or_c_library_makes_everything_new():
    with Place() as place:
        place.add("ok")
        cached(place, "ok")
        document = json.loads(place.cache.read_text())
        assert "abi 1." in document["context"] and "libc" in document["context"], document["context"]
        document["context"] += "x"
        place.cache.write_text(json.dumps(document))
        equal([cached(place, "ok"), cached(place, "ok")], [(False, None), (True, None)])


def test_no_cache_neither_reads_nor_writes():
    with Place() as place:
        place.add("init-fail")
        equal(cached(place, "init-fail", "--no-cache"), (False, "E_INIT_FAILED"))
        assert not place.cache.exists()
        cached(place, "init-fail")
        before = place.cache.read_bytes()
        equal(cached(place, "init-fail", "--no-cache"), (False, "E_INIT_FAILED"))
        equal(place.cache.read_bytes(), before)


def test_clear_cache_forgets_and_lists_nothing():
    with Place() as place:
        place.add("ok")
        cached(place, "ok")
        for _ in range(2):
            result = place.run("--clear-cache", search=False)
            equal((result.returncode, result.text, result.errors), (0, "", ""))
            assert not place.cache.exists()
        equal(cached(place, "ok"), (False, None))


def test_a_broken_cache_is_an_empty_one_and_is_replaced():
    entry = '{"context":"%s","files":{"%s":%s}}'
    with Place() as place:
        path = place.add("ok")
        cached(place, "ok")
        context = json.loads(place.cache.read_text())["context"]
        texts = ["", "{", "null", "[]", "[" * 100000, '{"files":[]}', "\0\0", "\xff"]
        texts += [entry % (context, path, value) for value in ("null", "[]", "{}", '{"identity":1,"time":"x","report":[]}')]
        for text in texts:
            place.cache.write_text(text, encoding="latin-1")
            equal((text[:40], cached(place, "ok")), (text[:40], (False, None)))
            equal((text[:40], cached(place, "ok")), (text[:40], (True, None)))


def test_a_cache_that_is_no_file_of_ours_is_not_read():
    with Place() as place:
        place.add("ok")
        place.cache.parent.mkdir(parents=True)
        os.mkfifo(place.cache)
        equal([cached(place, "ok"), cached(place, "ok")], [(False, None), (True, None)])
        assert place.cache.is_file()


def test_a_cache_that_cannot_be_kept_is_told_and_harms_nothing():
    with Place() as place:
        place.add("ok")
        (place.top / "cache").write_text("a file")
        result = place.run("--probe")
        equal(result.returncode, 0)
        assert result.errors.startswith("plugin-ls: the results of --probe are not kept: "), result.errors
        equal(place.provider("ok", "--probe")["probe"]["cached"], False)


def test_two_at_once_leave_a_whole_file():
    with Place() as place:
        files = [place.add("ok", filename=f"{number}.so") for number in range(20)]
        twice = ["sh", "-c", '"$@" >/dev/null & "$@" >/dev/null & wait', "sh"]
        subprocess.run([*twice, PROGRAM, "--probe", *files], env=place.env, check=True)
        equal(len(json.loads(place.cache.read_text())["files"]), 20)


if __name__ == "__main__":
    tap.main(globals())
