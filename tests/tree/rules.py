# SPDX-License-Identifier: MIT
"""Rules about the sources. A rule takes a tree, {path: text}, and yields what breaks it as "path:line: what"."""

import functools
import pathlib
import re
import shutil
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def read_tree():
    """The files of the repository: what is not hidden, built or cached. .ci is ours, too."""
    tree = {}
    for path in sorted(TOP.rglob("*")):
        parts = path.relative_to(TOP).parts
        skip = any((part.startswith(".") and part != ".ci") or part == "__pycache__" for part in parts)
        if skip or parts[0].startswith("build") or path.is_symlink() or not path.is_file():
            continue
        try:
            tree["/".join(parts)] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            pass  # a corpus or a fixture
    return tree


def select(tree, *endings):
    return {path: text for path, text in tree.items() if path.endswith(endings)}


def is_script(path, text):
    return path.endswith((".sh", ".py")) or text.startswith("#!")


@functools.lru_cache(maxsize=None)
def bare(text):
    """C without the insides of comments and strings; lines stay lines."""
    pattern = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.DOTALL)


# ---- Who may include what ------------------------------------------------------------------------------------------

STANDARD = {"errno.h", "stdarg.h", "stddef.h", "stdint.h", "stdio.h", "string.h"}
PLUGIN_HEADERS = {"compute/error.h", "compute/provider.h", "compute/runner.h"}
HOST_HEADERS = {"compute/error.h", "compute/provider.h", "compute/compute.h"}
STARTS_OR_CONNECTS = {"spawn.h", "sys/wait.h", "sys/socket.h", "sys/un.h", "netdb.h", "netinet/in.h", "arpa/inet.h"}
CORE_LIBRARIES = {"glib.h", "yaml.h", "cjson/cJSON.h"}
PROGRAM_LIBRARIES = {"glib.h", "glib-unix.h", "glib/gstdio.h", "cjson/cJSON.h"}


@functools.lru_cache(maxsize=None)
def libc():
    """Every header of the C library, as musl has them: nothing of any other library is among them."""
    folder = next(pathlib.Path("/usr/include").glob("*-linux-musl"))
    return {str(path.relative_to(folder)) for path in folder.rglob("*.h")}


# A row each: folder, and the headers in <> that it may use. Files of its own folder it may use in "".
def layers():
    return [
        ("sdk/include/", STANDARD | HOST_HEADERS | PLUGIN_HEADERS),
        ("sdk/runner/", PLUGIN_HEADERS | libc()),
        ("sdk/provider/", PLUGIN_HEADERS | libc()),
        ("plugins/", PLUGIN_HEADERS | {"provider/kit.h"} | libc()),
        ("core/", HOST_HEADERS | CORE_LIBRARIES | libc() - STARTS_OR_CONNECTS),
        ("sdk/cli/", HOST_HEADERS | PROGRAM_LIBRARIES | libc()),
        ("sdk/plugin-ls/", HOST_HEADERS | PROGRAM_LIBRARIES | libc()),
        ("sdk/template/", PLUGIN_HEADERS | libc()),
    ]


def home(path, folder):
    """The folder whose files path may include in "": one plugin, or the layer itself."""
    return "/".join(path.split("/")[:2]) + "/" if folder == "plugins/" else folder


def includes(tree):
    for path, text in select(tree, ".c", ".h").items():
        folder, allowed = next(((folder, allowed) for folder, allowed in layers() if path.startswith(folder)), ("", None))
        if allowed is None:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*(["<])([^">]*)[">]', line)
            if not found:
                continue
            quote, name = found.groups()
            if quote == "<" and name not in allowed and not name.startswith(("linux/", "asm/")):
                yield f"{path}:{number}: {folder} may not include <{name}>"
            target = pathlib.PurePosixPath(path).parent / name
            flat = re.sub(r"[^/]+/\.\./", "", str(target))
            if quote == '"' and (not flat.startswith(home(path, folder)) or flat not in tree):
                yield f'{path}:{number}: {folder} may not include "{name}"'


# ---- What the built files need from others -------------------------------------------------------------------------

CORE_NEVER = re.compile(
    r"_?_?(v?fork|clone|exec[lv]p?e?|execveat|fexecve|posix_spawnp?|popen|system|socket(pair)?|connect|bind|listen"
    r"|accept4?|getaddrinfo|waitpid|wait|wait3|wait4|waitid|kill|g_spawn_\w+|g_subprocess_\w+|curl_\w+)"
)
PLUGIN_NEVER = re.compile(r"g_\w+|cJSON_\w+|yaml_\w+|curl_\w+|compute_(?!runner_)\w+|popen|system|v?fork")


def undefined(path):
    """What a built file or archive wants from elsewhere."""
    command = ["nm", "-u", "--format=posix", *(["-D"] if ".so" in pathlib.Path(path).name else []), path]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return {line.split()[0].split("@")[0] for line in lines if " U" in line}


def forbidden(symbols, never):
    return sorted(symbol for symbol in symbols if never.fullmatch(symbol))


# ---- How a source reads --------------------------------------------------------------------------------------------

BANNED = (
    "alloca asctime atof atoi atol atoll ctime gets getwd longjmp mktemp popen putenv rand setjmp signal sprintf stpcpy strcat "
    "strcpy strncat strncpy strtok system tempnam tmpnam usleep vsprintf"
).split()


def banned_functions(tree):
    """signal may set a default, where it has no handler to get wrong."""
    call = re.compile(rf"(?<![\w.>])({'|'.join(BANNED)})\s*\((?!\w+, SIG_(?:IGN|DFL)\))")
    for path, text in select(tree, ".c", ".h").items():
        for number, line in enumerate(bare(text).splitlines(), 1):
            for found in call.finditer(line):
                yield f"{path}:{number}: {found.group(1)}"


FUNCTION_LINES = 60


def long_functions(tree):
    """A body starts with { and ends with }, both in the first column; a table ends with };."""
    for path, text in select(tree, ".c").items():
        start = None
        for number, line in enumerate(text.splitlines(), 1):
            if line == "{":
                start = number
            elif line == "}" and start is not None:
                if number - start - 1 > FUNCTION_LINES:
                    yield f"{path}:{start}: a function of {number - start - 1} lines"
                start = None


def licences(tree):
    for path, text in tree.items():
        if path.endswith((".c", ".h")) or is_script(path, text):
            head = text.splitlines()[1 if text.startswith("#!") else 0 :]
            if not head or "SPDX-License-Identifier: MIT" not in head[0]:
                yield f"{path}:1: no SPDX line"


def machine_paths(tree):
    places = re.compile("|".join(["/wo" "rk/", "/tmp/" "wt", "/ho" "me/[a-z]+/", "/ro" r"ot/\w+", r"\.py" "env"]))
    for path, text in tree.items():
        for number, line in enumerate(text.splitlines(), 1):
            if places.search(line):
                yield f"{path}:{number}: {places.search(line).group()}"


def trailing_space(tree):
    for path, text in tree.items():
        if path.startswith("tests/") and "corpus" in path:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                yield f"{path}:{number}: space at the end of the line"


def formatting(tree):
    sources = select(tree, ".c", ".h")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(TOP / ".clang-format", folder)
        for path, text in sources.items():
            pathlib.Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(folder, path).write_text(text)
        command = ["clang-format", "--dry-run", *sources]
        errors = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, text=True, check=True).stderr
    yield from re.findall(r"^\S+:\d+:\d+: warning: .*", errors, re.MULTILINE)


def shell(tree):
    for path, text in tree.items():
        if path.endswith(".sh") or re.match(r"#!\S*/(ba)?sh\b", text):
            command = ["shellcheck", "--source-path", TOP, "--external-sources", "--format=gcc", "-"]
            result = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=False)
            yield from (line.replace("-:", f"{path}:", 1) for line in result.stdout.splitlines())


# ---- Whether all is in its place -----------------------------------------------------------------------------------

TOP_LEVEL = {".ci", "core", "plugins", "sdk", "tests", "LICENSE", "NEWS.md", "README.md", "meson.build", "meson_options.txt"}


def places(tree):
    for name in sorted({path.split("/")[0] for path in tree} - TOP_LEVEL):
        yield f"{name}:1: not one of the top level's files and folders"


def orphans(tree):
    """A C file that no meson.build of its folder or above names is dead."""
    for path in select(tree, ".c"):
        parts = path.split("/")
        builds = [tree.get("/".join(parts[:depth] + ["meson.build"]), "") for depth in range(len(parts))]
        stem = re.escape(parts[-1])
        if not any(re.search(rf"[/']{stem}'", build) or generated(parts[-1], build) for build in builds):
            yield f"{path}:1: no meson.build names it"


def generated(name, build):
    """A loop over names: foreach name : ['a', 'b'] ... name + '.c'."""
    return "+ '.c'" in build and f"'{name[:-2]}'" in build


def folder_map(tree):
    """README's table of folders knows each folder that holds C files."""
    rows = re.findall(r"^\| (`[^|]+`) \|", tree.get("README.md", ""), re.MULTILINE)
    known = [name.removesuffix("NAME/") for row in rows for name in re.findall("`([^`]+/)`", row)]
    for folder in sorted({str(pathlib.PurePosixPath(path).parent) + "/" for path in select(tree, ".c", ".h")}):
        if not any(folder.startswith(name) for name in known):
            yield f"{folder}:1: not in README's table of folders"
