# SPDX-License-Identifier: MIT
"""README.md does what it says: in a copy of the tree its sh blocks run in order as one shell, its C blocks become the
files that the line before names, and a text block is what the sh block before it prints (… stands for anything).

    readme.py SOURCE
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tap

SOURCE = pathlib.Path(sys.argv[1])


def blocks():
    """(kind, body, line before) of each fenced block, in order."""
    lines, found, at = (SOURCE / "README.md").read_text().splitlines(keepends=True), [], 0
    while at < len(lines):
        if lines[at].startswith("```"):
            kind, before = lines[at].strip()[3:], next((line for line in reversed(lines[:at]) if line.strip()), "")
            end = lines.index("```\n", at + 1)
            found.append((kind, "".join(lines[at + 1 : end]), before))
            at = end
        at += 1
    return found


def files_to_copy(folder, names):
    """Hidden files but .ci, and builds, are no part of what a user clones."""
    return [name for name in names if (name.startswith(".") and name != ".ci") or re.fullmatch(r"build.*|__pycache__", name)]


class Reader:
    """Does what the README says, once, and keeps what each block printed."""

    def __init__(self, folder):
        self.folder, self.tree, self.printed = folder, folder / "libcompute", {}
        shutil.copytree(SOURCE, self.tree, ignore=files_to_copy)
        (folder / "home").mkdir()

    def script(self):
        lines = ["set -e"]
        for number, (kind, body, before) in enumerate(blocks()):
            if kind == "c":
                name = re.findall(r"`([^`/]+\.c)`", before)[-1]
                (self.tree / name).write_text(body)
            elif kind == "sh":
                lines += [f"exec >{self.folder}/{number} 2>&1", body]
        return "\n".join(lines)

    def read(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "COMPUTE_", "MESON"))}
        env = {**kept, "HOME": str(self.folder / "home"), "COMPUTE_DOCKER": "/no/docker"}
        result = subprocess.run(["sh", "-c", self.script()], cwd=self.tree, env=env, stdin=subprocess.DEVNULL, check=False)
        for number, (kind, _, _) in enumerate(blocks()):
            path = self.folder / str(number)
            if kind == "sh" and path.exists():
                self.printed[number] = path.read_text()
        last = max(self.printed)
        assert result.returncode == 0, f"{blocks()[last][1]}\nfailed with {result.returncode}:\n{self.printed[last][-4000:]}"


def like(pattern, text):
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text)


def prints(reader, number):
    wanted, got = blocks()[number + 1][1].splitlines(), reader.printed[number].splitlines()
    same = len(wanted) == len(got) and all(map(like, wanted, got))
    assert same, "printed:\n" + "\n".join(got)


def cases(reader):
    yield "every command succeeds", reader.read
    for number, (kind, body, _) in enumerate(blocks()[:-1]):
        if kind == "sh" and blocks()[number + 1][0] == "text":
            yield f"output of: {body.splitlines()[0]}", lambda n=number: prints(reader, n)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        tap.run(dict(cases(Reader(pathlib.Path(scratch)))))
