# SPDX-License-Identifier: MIT
"""compute cp."""

import os
import stat
import subprocess

import program
import tap
from program import HOME, Up, compute, expect, expect_error

HERE = HOME / "here"
INSIDE = HOME / "inside"
HERE.mkdir()


def here(name, data=b"data\n", mode=0o644):
    path = HERE / name
    path.write_bytes(data)
    path.chmod(mode)
    return path


def inside(name, data=b"data\n", mode=0o644):
    path = INSIDE / name
    path.write_bytes(data)
    path.chmod(mode)
    return path


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def up():
    return Up("--workdir", str(INSIDE))


def leftovers():
    return list(HERE.glob(".compute-cp.*"))


def test_a_file_goes_in_and_out_unchanged():
    data = os.urandom(3 * 1024 * 1024 + 1)
    with up() as id:
        source = here("blob", data, 0o751)
        expect(compute("cp", str(source), f"{id}:blob"), 0, b"", b"")
        assert (INSIDE / "blob").read_bytes() == data and mode(INSIDE / "blob") == 0o751
        expect(compute("cp", f"{id}:{INSIDE}/blob", str(HERE / "back")), 0, b"", b"")
        assert (HERE / "back").read_bytes() == data and mode(HERE / "back") == 0o751
        for size in (0, 1):
            expect(compute("cp", str(here("small", b"x" * size)), f"{id}:small"), 0, b"", b"")
            expect(compute("cp", f"{id}:small", "-"), 0, b"x" * size, b"")


def test_a_folder_takes_the_file_under_its_name():
    with up() as id:
        expect(compute("cp", str(here("named")), f"{id}:"), 0, b"", b"")
        (INSIDE / "sub").mkdir(exist_ok=True)
        expect(compute("cp", str(here("named")), f"{id}:sub/"), 0, b"", b"")
        assert (INSIDE / "named").exists() and (INSIDE / "sub" / "named").exists()
        expect(compute("cp", f"{id}:sub/named", ".", cwd=HERE), 0, b"", b"")
        assert (HERE / "named").read_bytes() == b"data\n"


def test_a_dash_is_stdin_and_stdout():
    with up() as id:
        expect(compute("cp", "-", f"{id}:piped", data=b"a\0b"), 0, b"", b"")
        expect(compute("cp", f"{id}:piped", "-"), 0, b"a\0b", b"")


def test_a_pipe_can_be_copied_from_and_to():
    with up() as id:
        script = f"""
            echo piped >fifo & "$0" cp fifo {id}:from-pipe && wait || exit
            cat fifo & "$0" cp {id}:from-pipe fifo && wait
        """
        os.mkfifo(HERE / "fifo")
        done = subprocess.run(["sh", "-c", script, program.COMPUTE], cwd=HERE, capture_output=True, timeout=20)
        assert (done.returncode, done.stdout) == (0, b"piped\n"), done


def test_a_device_is_written_to_and_not_replaced():
    with up() as id:
        inside("data")
        expect(compute("cp", f"{id}:data", "/dev/null"), 0, b"", b"")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
        expect_error(compute("cp", f"{id}:data", "/dev/full"), 125, "compute: cp: ", "No space left on device")


def test_what_fails_leaves_the_file_here_as_it_was():
    with up() as id:
        target = here("kept", b"old")
        expect_error(compute("cp", f"{id}:none", str(target)), 125, "compute: cp: ", "none")
        assert target.read_bytes() == b"old" and not leftovers()
        expect_error(compute("cp", f"{id}:none", str(HERE / "new")), 125)
        assert not (HERE / "new").exists() and not leftovers()


def test_F04_what_is_no_regular_file_is_an_error():
    with up() as id:
        (INSIDE / "folder").mkdir(exist_ok=True)
        os.mkfifo(INSIDE / "pipe")
        (INSIDE / "link").symlink_to("/etc/passwd")
        for name, code in (("folder", "invalid_argument"), ("pipe", "invalid_argument"), ("none", "not_found"), ("link", "invalid_argument")):
            ended = compute("cp", "--json", f"{id}:{name}", str(HERE / "x"))
            error = expect(ended, 125, err=b"").json["error"]
            assert (error["code"], error["provider"]) == (code, "local"), (name, error)
        expect_error(compute("cp", str(HERE), f"{id}:x"), 125, "is a folder; cp copies one file")
        expect_error(compute("cp", str(HERE / "none"), f"{id}:x"), 125, "No such file or directory")


def test_no_file_here_becomes_set_user_id():
    with up() as id:
        inside("suid", mode=0o6755)
        expect(compute("cp", f"{id}:suid", str(HERE / "suid")), 0, b"", b"")
        assert mode(HERE / "suid") == 0o755


def test_a_file_that_is_replaced_keeps_its_permissions_and_its_links():
    with up() as id:
        inside("wide", b"new", 0o666)
        target = here("private", b"old", 0o600)
        (HERE / "link").symlink_to("private")
        expect(compute("cp", f"{id}:wide", str(HERE / "link")), 0, b"", b"")
        assert (HERE / "link").is_symlink() and target.read_bytes() == b"new" and mode(target) == 0o600


def test_a_new_file_has_the_umask_taken_off():
    with up() as id:
        inside("wide", b"new", 0o666)
        expect(compute("cp", f"{id}:wide", str(HERE / "masked"), umask=0o077), 0, b"", b"")
        assert mode(HERE / "masked") == 0o600


def test_a_name_with_a_colon_is_written_with_a_slash():
    with up() as id:
        here("a:b", b"colon")
        expect(compute("cp", "./a:b", f"{id}:c:d", cwd=HERE), 0, b"", b"")
        assert (INSIDE / "c:d").read_bytes() == b"colon"


def test_the_result_in_json():
    with up() as id:
        path = str(here("blob"))
        result = expect(compute("cp", "--json", path, f"{id}:blob"), 0, err=b"").json
        assert result == {"from": path, "to": f"{id}:blob", "provider": "local", "instance": id}, result


def test_names_from_outside_are_shown_safely():
    with up() as id:
        ended = compute("cp", f"{id}:no\x1b[2J", str(HERE / "x"))
        expect_error(ended, 125)
        assert b"\x1b" not in ended.err, ended


tap.main(globals())
