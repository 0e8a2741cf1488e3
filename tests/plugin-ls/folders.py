# SPDX-License-Identifier: MIT
"""Folders and file names of every kind, and very many of them."""

import os
import re
import socket
import stat

import tap
from lister import FIXTURES, Place, edit_note, equal, fixture


def test_odd_file_names_are_listed_and_found_again():
    with Place() as place:
        folder = FIXTURES / "bytes" / "odd-names"
        providers = place.document("--all", "--path", str(folder), "--only", search=False)["providers"]
        equal(len(providers), len(os.listdir(folder)))
        for provider in providers:
            path = bytes.fromhex(provider["path_hex"]) if "path_hex" in provider else os.fsencode(provider["path"])
            assert os.path.exists(path), provider["path"]
            equal(place.run(path, search=False).returncode, 0)


def test_what_is_no_regular_file_is_named_and_never_waited_for():
    with Place() as place:
        os.mkfifo(place.folder / "compute-provider-fifo.so")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place.folder / "compute-provider-socket.so"))
            (place.folder / "compute-provider-folder.so").mkdir()
            wanted = dict.fromkeys(["fifo", "socket", "folder"], "E_NOT_REGULAR")
            if os.geteuid() == 0:
                os.mknod(place.folder / "compute-provider-device.so", stat.S_IFCHR | 0o600, os.makedev(1, 5))
                wanted["device"] = "E_NOT_REGULAR"
            document = place.document("--probe")
            equal({p["name"]: re.sub("E_OPEN", "E_NOT_REGULAR", p["reason"]) for p in document["providers"]}, wanted)
            for name in wanted:
                equal(place.run("--why", str(place.folder / f"compute-provider-{name}.so")).returncode, 1)


def test_a_file_that_may_not_be_read_is_named():
    with Place() as place:
        path = place.add("ok")
        path.chmod(0)
        if os.geteuid() == 0:
            os.chmod(place.top, 0o755)
            drop = lambda: (os.setgroups([]), os.setgid(65534), os.setuid(65534))
        else:
            drop = None
        result = place.run("--json", preexec_fn=drop)
        assert '"E_PERM"' in result.text, result.text


def test_ten_thousand_providers_are_survived_and_none_is_lost_in_silence():
    with Place() as place:
        first = place.add("ok", folder=place.top / "one")
        for number in range(10000):
            os.link(first, place.folder / f"compute-provider-{number:05}.so")
        result = place.run("--all")
        rows = sum("/compute-provider-" in line for line in result.text.splitlines())
        equal(rows, 4096)
        assert re.search(r"Warning: folder .*: more than 4096 candidates, the rest is left out", result.text), result.text[-400:]


def test_ten_thousand_other_files_are_passed_over():
    with Place() as place:
        place.add("ok")
        for number in range(10000):
            (place.folder / f"file-{number}").touch()
        equal([provider["name"] for provider in place.document("--all")["providers"]], ["ok"])


def test_a_thousand_names_are_one_table():
    with Place() as place:
        data = fixture("ok").read_bytes()
        for number in range(1000):
            (place.folder / f"compute-provider-p{number:03}.so").write_bytes(edit_note(data, name=f"p{number:03}"))
        providers = place.document()["providers"]
        equal([provider["name"] for provider in providers], [f"p{number:03}" for number in range(1000)])
        equal({provider["state"] for provider in providers}, {"ok"})


def test_a_folder_that_others_can_write_to_is_warned_about():
    with Place() as place:
        place.add("ok")
        place.folder.chmod(0o777)
        result = place.run()
        equal(result.returncode, 0)
        assert f'Warning: folder "{place.folder}": ' in result.text, result.text


def test_a_provider_file_is_a_path_of_its_own():
    with Place() as place:
        path = place.add("ok")
        place.add("init-fail")
        equal([p["name"] for p in place.document("--path", str(path), "--only", search=False)["providers"]], ["ok"])


if __name__ == "__main__":
    tap.main(globals())
