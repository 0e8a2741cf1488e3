# SPDX-License-Identifier: MIT
"""The public ABI as text, as clang sees it: every struct with sizes, offsets and types, every constant and function.

    abi.py --write [FOLDER]    after a change that was meant: writes the golden files anew
"""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = HERE.parent.parent / "sdk" / "include"
GOLDEN = HERE / "1.0"
TARGETS = {"x86-64": "x86_64-linux-gnu", "i386": "i386-linux-gnu", "arm": "arm-linux-gnueabihf"}


def clang(include, target, *options):
    """What clang prints of all headers in include. The 64-bit system headers serve every target: what they choose by
    word size they choose by the compiler's macros, but for one list of stubs, which is empty here."""
    headers = sorted((include / "compute").glob("*.h"))
    source = "".join(f"#include <compute/{header.name}>\n" for header in headers)
    native = subprocess.run(["cc", "-print-multiarch"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    command = ["clang", "-x", "c", "-std=c99", f"--target={target}", f"-I{include}", f"-I{HERE / 'stubs'}"]
    command += ["-idirafter", f"/usr/include/{native}", *options, "-"]
    return subprocess.run(command, input=source, stdout=subprocess.PIPE, text=True, check=True).stdout


def layouts(include, target):
    """{struct: [line, ...]}: "OFFSET TYPE NAME" for each member, then "size N"."""
    found = {}
    for record in clang(include, target, "-fsyntax-only", "-Xclang", "-fdump-record-layouts-complete").split("*** Dumping AST Record Layout"):
        lines = [line.split("|", 1) for line in record.splitlines() if "|" in line]
        if not lines or not lines[0][1].strip().startswith("struct compute_"):
            continue
        members = [f"{offset.strip():>4} {member.strip()}" for offset, member in lines[1:-1]]
        size, align = re.search(r"sizeof=(\d+), align=(\d+)", lines[-1][1]).groups()
        found[lines[0][1].strip()] = members + [f"size {size}, alignment {align}"]
    return found


def words(macro):
    """The names, values and words of an X-macro list; texts for people are no part of the ABI."""
    for item in re.findall(r"\bX \(([^()]*)\)", macro):
        name, *rest = [part.strip() for part in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', item)]
        yield " ".join([name] + (rest[:2] if len(rest) > 1 else []))


def declarations(include):
    tree = json.loads(clang(include, TARGETS["x86-64"], "-fsyntax-only", "-Xclang", "-ast-dump=json"))
    return [node for node in tree["inner"] if node.get("name", "").startswith("compute_")]


def exports(include):
    """The functions that are declared with COMPUTE_API."""
    return sorted(node["name"] for node in declarations(include) if node["kind"] == "FunctionDecl"
                  and any(inner["kind"] == "VisibilityAttr" for inner in node.get("inner", [])))


def names(include):
    """Constants, macros, lists, function and callback types, one a line."""
    found = []
    for node in declarations(include):
        name = node["name"]
        if node["kind"] == "EnumDecl":
            found += [f"{constant['name']} = {constant['inner'][0]['value']}" for constant in node["inner"]]
        elif node["kind"] in ("FunctionDecl", "TypedefDecl"):
            found.append(f"{name}: {node['type']['qualType']}")
    for line in clang(include, TARGETS["x86-64"], "-E", "-dM").splitlines():
        name, _, value = line.removeprefix("#define ").partition(" ")
        if name.startswith("COMPUTE_") and name.endswith("_MAP(X)"):
            found += [f"{name} {item}" for item in words(value)]
        elif name.startswith("COMPUTE_") and re.fullmatch(r'[-+*() \w]+|"[^"]*"', value):
            found.append(f"{name} = {value}")
    return sorted(set(found))


def describe(include):
    """{file name: text} of the whole ABI."""
    files = {"names.txt": "\n".join(names(include)) + "\n"}
    for name, target in TARGETS.items():
        structs = layouts(include, target)
        text = "\n".join(f"{struct}\n" + "".join(f"  {line}\n" for line in structs[struct]) for struct in sorted(structs))
        files[f"layout-{name}.txt"] = text
    return files


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"]:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else GOLDEN
    for file_name, content in describe(HEADERS).items():
        (folder / file_name).write_text(content)
