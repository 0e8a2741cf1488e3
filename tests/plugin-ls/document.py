# SPDX-License-Identifier: MIT
"""--json: one document, whatever the files are like."""

import json
import os
import subprocess

import tap
from lister import Place, equal

PROVIDER = {
    "name": str, "state": str, "reason": str, "message": str, "hint": str, "source": str, "path": str, "realpath": str,
    "dev": int, "ino": int, "size": int, "mtime_ns": int, "build_id": str, "abi": dict, "version": str, "vendor": str,
    "license": str, "url": str, "capabilities": list, "extensions": list, "elf": dict, "probe": dict, "shadows": list,
    "shadowed_by": str,
}  # fmt: skip
ELF = {
    "class": int, "machine": str, "big_endian": bool, "soname": str, "runpath": str, "needed": list, "exports": list,
    "execstack": bool, "static_tls": bool, "asan": bool,
}  # fmt: skip


def check_types(found, wanted):
    equal(list(found), list(wanted))
    for key, value in found.items():
        assert value is None or isinstance(value, wanted[key]), f"{key} is {value!r}"


def test_the_document_has_these_keys():
    with Place() as place:
        place.add("ok", name="acme", capabilities="execute files capture", details={"version": "2", "vendor": "Acme Ltd"})
        place.add("init-fail")
        (place.folder / "compute-provider-text.so").write_text("no library")
        document = place.document("--probe")
        equal(list(document), ["schema", "core", "secure_mode", "ignored_env", "search", "providers", "not_found", "summary"])
        equal(document["schema"], 1)
        check_types(document["core"], dict.fromkeys(["version", "abi", "libc", "arch", "path"], str))
        check_types(document["search"][0], {
            "dir": str, "source": str, "state": str, "why": str, "errno": int, "candidates": int, "trusted": bool,
            "owner_uid": int, "mode": int,
        })  # fmt: skip
        for provider in document["providers"]:
            check_types(provider, PROVIDER)
            if provider["elf"] is not None:
                check_types(provider["elf"], ELF)
        equal(list(document["summary"]), ["ok", "failed", "shadowed", "other_arch", "not_provider"])
        equal(document["summary"]["failed"], 2 + 1)  # acme's table still has the fixture's own name


def test_every_value_is_the_files_own():
    with Place() as place:
        path = place.add("ok", name="acme", abi=(1, 3, 0), capabilities="execute files capture",
                         details={"version": "2.3", "vendor": "Ac\u00e9 Ltd", "license": "MIT"})  # fmt: skip
        os.utime(path, ns=(1, 1764500000123456789))
        os.symlink(path, place.folder / "compute-provider-zlink.so")
        info = path.stat()
        acme = place.document()["providers"][0]
        wanted = {
            "name": "acme", "state": "ok", "path": str(path), "realpath": str(path), "dev": info.st_dev, "ino": info.st_ino,
            "size": info.st_size, "mtime_ns": 1764500000123456789, "abi": {"built": "1.3", "required": "1.0"},
            "version": "2.3", "vendor": "Ac\u00e9 Ltd", "license": "MIT", "capabilities": ["execute", "files", "capture"],
            "extensions": ["compute.files/1", "compute.capture/1"], "probe": None, "shadowed_by": None,
        }  # fmt: skip
        equal({key: acme[key] for key in wanted}, wanted)
        assert "compute_provider_init" in acme["elf"]["exports"], acme["elf"]
        assert any(needed["name"].startswith("libc.") for needed in acme["elf"]["needed"]), acme["elf"]


def test_shadowing_is_told_from_both_sides():
    with Place() as place:
        first = place.add("ok", name="acme")
        second = place.add("ok", folder=place.top / "second", name="acme")
        providers = place.document("--all", "--path", str(place.top / "second"))["providers"]
        equal([provider["state"] for provider in providers], ["ok", "shadowed"])
        equal(providers[0]["shadows"], [str(second)])
        equal(providers[1]["shadowed_by"], str(first))


def test_a_path_that_is_not_utf8_is_escaped_and_given_in_hexadecimal():
    with Place() as place:
        name = os.fsencode(place.folder) + b"/compute-provider-\xff\n\"\\.so"
        with open(name, "wb") as file:
            file.write(b"no library")
        (provider,) = place.document()["providers"]
        equal(provider["path"], f'{place.folder}/compute-provider-\\xff\n"\\.so')
        equal(provider["path_hex"], name.hex())
        place.add("ok")
        assert "path_hex" not in place.provider("ok")


def test_deps_add_the_undefined_symbols():
    with Place() as place:
        place.add("undefined")
        assert "undefined" not in place.document()["providers"][0]["elf"]
        assert place.document("--deps")["providers"][0]["elf"]["undefined"], "no symbol"


def test_ignored_elements_of_the_environment_are_listed():
    with Place() as place:
        place.add("ok")
        env = {"COMPUTE_PROVIDER_PATH": f"{place.folder}::rel"}
        ignored = json.loads(place.run("--json", search=False, env=env).text)["ignored_env"]
        elements = [entry["element"] for entry in ignored]
        equal(elements[-2:], [2, 3])  # as root the first one, too, if others can write to the folder
        equal({entry["name"] for entry in ignored}, {"COMPUTE_PROVIDER_PATH"})
        assert all(entry["why"] for entry in ignored), ignored


def test_paths_and_why_are_the_same_document():
    with Place() as place:
        path = str(place.add("ok"))
        paths = place.document("--paths")
        equal(paths["search"][0]["dir"], str(place.folder))
        assert "providers" not in paths
        why = place.document("--why", path)
        equal(why["providers"][0]["path"], path)
        assert len(why["checks"]) > 5
        for check in why["checks"]:
            check_types(check, {"what": str, "passed": bool, "found": str, "reason": str})


def test_other_readers_take_it():
    with Place() as place:
        place.add("ok")
        text = place.run("--json").text
        subprocess.run(["jq", "-e", '.schema == 1 and .providers[0].name == "ok"'], input=text, text=True, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip


if __name__ == "__main__":
    tap.main(globals())
