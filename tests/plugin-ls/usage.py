# SPDX-License-Identifier: MIT
"""Options, exit codes, and an output that cannot be written."""

import json
import os
import pathlib
import pty
import re
import subprocess
import tempfile

import tap
from lister import PROGRAM, SOURCE, Place, equal


def wrong(*args, says):
    with Place() as place:
        result = place.run(*args, search=False)
        equal(result.returncode, 2)
        equal(result.text, "")
        assert re.fullmatch(r"plugin-ls: .*; see 'plugin-ls --help'\n", result.errors), result.errors
        assert says in result.errors, result.errors


def test_usage_errors_name_the_option_and_end_with_2():
    wrong("--nonsense", says="unknown option '--nonsense'")
    wrong("-z", says="unknown option '-z'")
    wrong("--json=1", says="'--json=1'")
    wrong("--timeout", says="--timeout needs a value")
    wrong("--cap", says="--cap needs a value")
    wrong("--color", "always", says="'always'")
    wrong("--exists", "a", "--cap", "fly", says="'fly'")
    wrong("--exists", "a", "--min-version", "new", says="'new'")
    for seconds in ("0", "-1", "nan", "inf", "", "1s", "1e99", "0x"):
        wrong("--probe", "--timeout", seconds, says=f"'{seconds}'")


def test_options_that_mean_nothing_together_are_refused():
    wrong("--timeout", "1", says="--timeout goes with --probe only")
    wrong("--no-cache", says="--no-cache goes with --probe only")
    wrong("--cap", "files", says="--cap goes with --exists only")
    wrong("--min-version", "1", says="--min-version goes with --exists only")
    wrong("--only", says="--only goes with --path only")
    wrong("--exists", "a", "--json", says="--json does not go with --exists")
    wrong("--paths", "--deps", says="--deps does not go with --paths")
    wrong("--clear-cache", "--probe", says="--probe does not go with --clear-cache")
    wrong("--why", "/x", "y", says="--why takes no 'y'")


def test_what_was_asked_for_and_is_not_there_ends_with_3():
    with Place() as place:
        place.add("ok")
        for name, kind in (("nosuch", "provider"), ("./nosuch.so", "file"), ("/proc/self/status/x", "file")):
            result = place.run(name)
            equal((result.returncode, result.text), (3, ""))
            equal(result.errors, f"plugin-ls: '{name}': no such {kind}\n")
        result = place.run("ok", "nosuch")
        equal(result.returncode, 3)
        assert "ok " in result.text
        equal(place.document("ok", "nosuch")["not_found"], ["nosuch"])
        equal(place.run("--why", "nosuch").returncode, 3)


def test_exit_codes_tell_ok_from_failed_from_nothing():
    with Place() as place:
        result = place.run()
        equal(result.returncode, 4)
        assert result.text.endswith("0 providers: 0 ok. See plugin-ls --paths for where they are looked for.\n"), result.text
        place.add("ok")
        equal(place.run().returncode, 0)
        place.add("ok", name="future", abi=(1, 9, 9))
        equal(place.run().returncode, 1)
        equal(place.run("ok").returncode, 0)
        equal(place.run("OK").returncode, 0)
        equal(place.run("future").returncode, 1)


def test_a_named_file_of_another_machine_is_a_failure_a_found_one_is_not():
    with Place() as place:
        path = place.add("ok")
        data = bytearray(path.read_bytes())
        data[18] = 0xB7 if data[18] != 0xB7 else 0x3E  # e_machine
        path.write_bytes(data)
        equal(place.run().returncode, 4)
        equal(place.run(str(path)).returncode, 1)
        assert "E_MACHINE" in place.run(str(path)).text


def test_output_that_cannot_be_written_ends_with_5():
    with Place() as place:
        place.add("ok")
        for args in ([], ["--json"], ["--paths"], ["--probe"], ["--help"], ["--version"]):
            with open("/dev/full", "wb") as full:
                result = place.run(*args, stdout=full)
                equal(result.returncode, 5)
                equal(result.errors, "plugin-ls: standard output: No space left on device\n")
            result = place.run(*args, stdout=None, preexec_fn=lambda: os.close(1))
            equal(result.returncode, 5)
            equal(result.errors, "plugin-ls: standard output: Bad file descriptor\n")


def test_closed_descriptors_never_become_files_of_ours():
    with Place() as place:
        place.add("ok")
        place.add("init-stdout")
        result = place.run("--probe", stdin=None, preexec_fn=lambda: os.close(0))
        equal(result.returncode, 0)
        equal(place.run("--probe", stderr=None, preexec_fn=lambda: os.close(2)).returncode, 0)
        equal(place.run("--exists", "ok", stdout=None, preexec_fn=lambda: os.closerange(0, 3)).returncode, 0)
        equal(place.run("--probe", "--no-cache", stdout=None, preexec_fn=lambda: os.closerange(0, 3)).returncode, 5)


def test_exists_prints_nothing_and_answers_every_question():
    with Place() as place:
        place.add("ok", name="acme", capabilities="execute files", details={"version": "1.10.2"})
        place.add("ok", name="future", abi=(1, 9, 9))

        def ask(*args):
            result = place.run("--exists", *args)
            equal((result.text, result.errors), ("", ""))
            return result.returncode

        equal([ask("acme"), ask("ACME"), ask("nosuch"), ask("future"), ask(""), ask("../acme")], [0, 0, 1, 1, 1, 1])
        for version, code in {"1": 0, "1.9": 0, "1.10.2": 0, "1.10.2.0": 0, "1.10.3": 1, "1.11": 1, "2": 1, "1.10.2-rc1": 0}.items():
            equal((version, ask("acme", "--min-version", version)), (version, code))
        equal([ask("acme", "--cap", "files"), ask("acme", "--cap", "capture")], [0, 1])
        equal(ask("acme", "--cap", "files", "--cap", "execute", "--min-version", "1.2"), 0)
        equal(ask("acme", "--cap", "files", "--cap", "capture"), 1)


def test_a_release_candidate_is_older_than_its_release():
    with Place() as place:
        place.add("ok", name="acme", details={"version": "2.0-rc2"})
        for version, code in {"1.9": 0, "2.0-rc1": 0, "2.0-rc2": 0, "2.0-rc10": 1, "2.0": 1}.items():
            equal((version, place.run("--exists", "acme", "--min-version", version).returncode), (version, code))


def make_locale(place):
    """A real German locale, so that a decimal comma and translated messages would show."""
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", place.top / "de_DE.UTF-8"], check=False, stderr=subprocess.DEVNULL)
    return {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "LOCPATH": str(place.top)}


def test_the_locale_changes_nothing():
    with Place() as place:
        place.add("ok")
        place.add("missing-dep")
        place.add("init-fail")
        german = make_locale(place)
        date = subprocess.run(["date", "-d", "2020-03-01", "+%B"], env=place.env | german, stdout=subprocess.PIPE, check=True)
        equal(date.stdout.decode(), "März\n")
        for args in (["--all", "--deps"], ["--paths"], ["--json"], ["--probe", "--no-cache"], ["--nonsense"]):
            results = [place.run(*args, env=env) for env in (german, {"LC_ALL": "C"}, {})]
            equal(results[0].text, results[1].text)
            equal(results[0].text, results[2].text)
            equal(results[0].errors, results[1].errors)


def on_terminal(args, env):
    """What the program prints on a terminal."""
    reader, writer = pty.openpty()
    with subprocess.Popen([PROGRAM, *args], stdout=writer, env=env) as process:
        os.close(writer)
        text = b""
        try:
            while chunk := os.read(reader, 4096):
                text += chunk
        except OSError:
            pass  # Linux ends a terminal with EIO
        process.wait()
    os.close(reader)
    return text


def test_colors_are_for_terminals_that_want_them():
    with Place() as place:
        place.add("ok")
        args = ["--path", str(place.folder), "--only"]
        assert b"\033[32mok\033[0m" in on_terminal(args, place.env | {"TERM": "xterm"})
        assert b"\033" not in on_terminal([*args, "--color=never"], place.env | {"TERM": "xterm"})
        assert b"\033" not in on_terminal(args, place.env | {"TERM": "dumb"})
        assert b"\033" not in on_terminal(args, place.env | {"TERM": "xterm", "NO_COLOR": "1"})
        assert "\033" not in place.run(env={"TERM": "xterm"}).text


if os.geteuid() == 0:

    def test_with_raised_privileges_neither_environment_nor_cache_count():
        with Place() as place, tempfile.TemporaryDirectory(dir="/tmp") as short:
            # The linker then ignores paths relative to the program; a copy has an absolute one in their place.
            data = pathlib.Path(PROGRAM).read_bytes()
            relative = next(path for path in (b"$ORIGIN/../../core", b"$ORIGIN/../lib") if path in data)
            os.symlink(os.path.dirname(place.document()["core"]["path"]), short + "/c")
            copy = place.top / "plugin-ls"
            copy.write_bytes(data.replace(relative, f"{short}/c".encode().ljust(len(relative), b"/")))
            copy.chmod(0o755)
            place.add("ok")
            env = place.env | {"COMPUTE_PROVIDER_PATH": str(place.folder)}
            command = dict(env=env, stdout=subprocess.PIPE, text=True, check=False)
            place.run("--probe")
            text, document, _ = (
                subprocess.run([copy, *args], preexec_fn=raise_privileges, **command).stdout
                for args in ([], ["--json"], ["--clear-cache"])
            )
            assert "\nRaised privileges: " in text, text
            assert f'Ignored: COMPUTE_PROVIDER_PATH element 1 "{place.folder}" (the process has raised' in text, text
            assert "compute-provider-ok.so" not in text + document, text + document
            equal(json.loads(document)["secure_mode"], True)
            assert place.cache.exists()


def raise_privileges():
    os.setreuid(65534, 0)  # the next program sees that its two users differ


def options_of(text):
    return set(re.findall(r"--[a-z][a-z-]*", text))


def test_help_manual_and_completions_know_the_same_options():
    with Place() as place:
        words = options_of(place.run("--help", search=False).text)
    assert len(words) > 15
    equal(options_of((SOURCE / "plugin-ls.1").read_text().replace("\\-", "-")), words)
    equal(options_of((SOURCE / "completion" / "plugin-ls.bash").read_text()), words)
    equal(options_of((SOURCE / "completion" / "_plugin-ls").read_text()), words)


def complete(place, line):
    """What bash offers at the end of a line."""
    script = """
      source "$1"; compopt () { :; }
      read -ra COMP_WORDS <<<"$2"; [[ $2 == *' ' ]] && COMP_WORDS+=('')
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _plugin_ls; printf '%s\\n' "${COMPREPLY[@]}" """
    env = place.env | {"PATH": f"{os.path.dirname(PROGRAM)}:{place.env['PATH']}", "COMPUTE_PROVIDER_PATH": str(place.folder)}
    args = ["bash", "-c", script, "bash", SOURCE / "completion" / "plugin-ls.bash", line]
    return subprocess.run(args, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def test_bash_completes_options_capabilities_and_providers():
    with Place() as place:
        place.add("ok", name="zeta")
        equal(complete(place, "plugin-ls --pa"), ["--paths", "--path"])
        equal(complete(place, "plugin-ls --exists a --cap ca"), ["capture"])
        equal(complete(place, "plugin-ls --why /etc/host"), complete(place, "plugin-ls /etc/host"))
        assert "/etc/hosts" in complete(place, "plugin-ls /etc/host")


def test_zsh_completion_parses():
    subprocess.run(["zsh", "-n", SOURCE / "completion" / "_plugin-ls"], check=True)


if __name__ == "__main__":
    tap.main(globals())
