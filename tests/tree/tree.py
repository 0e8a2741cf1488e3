# SPDX-License-Identifier: MIT
"""The rules of rules.py on this tree, and each on samples that it must and must not take.

    tree.py [LIBCOMPUTE KIT PROVIDER...]
"""

import pathlib
import subprocess
import sys
import tempfile

import rules
import tap

HEAD = "/* SPDX-License-Identifier: MIT */\n"
LONG = "x ();\n" * 61

# A row each: rule, samples that break it, samples that do not; a sample is {path: text}.
SAMPLES = [
    (
        rules.includes,
        [
            {"core/a.c": "#include <sys/socket.h>\n"},
            {"core/a.c": '#include "../plugins/local/b.h"\n', "plugins/local/b.h": ""},
            {"core/a.c": "#include <compute/runner.h>\n"},
            {"core/a.c": '#include "missing.h"\n'},
            {"plugins/local/a.c": "#include <glib.h>\n"},
            {"plugins/local/a.c": "#include <compute/compute.h>\n"},
            {"plugins/local/a.c": '#include "../docker/b.h"\n', "plugins/docker/b.h": ""},
            {"sdk/runner/a.c": "#  include <cjson/cJSON.h>\n"},
            {"sdk/runner/client/a.c": '#include "../../cli/b.h"\n', "sdk/cli/b.h": ""},
            {"sdk/cli/a.c": "#include <compute/runner.h>\n"},
            {"sdk/cli/a.c": '#include "../../core/b.h"\n', "core/b.h": ""},
            {"sdk/include/compute/a.h": "#include <glib.h>\n"},
            {"sdk/include/compute/a.h": "#include <stdbool.h>\n"},
        ],
        [
            {"core/a.c": '#include <compute/compute.h>\n#include <glib.h>\n#include <dlfcn.h>\n#include "b.h"\n', "core/b.h": ""},
            {"plugins/local/a.c": '#include <compute/runner.h>\n#include <sys/socket.h>\n#include "b.h"\n', "plugins/local/b.h": ""},
            {"sdk/runner/client/a.c": '#include "../protocol.h"\n#include <linux/sched.h>\n', "sdk/runner/protocol.h": ""},
        ],
    ),
    (
        rules.banned_functions,
        [{"core/a.c": f"  {name} (x);\n"} for name in rules.BANNED],
        [{"core/a.c": '/* strcpy (a, b) */ f ("system (x)"); my_strcpy (a); result->signal (1); x.signal (2); signal (SIGPIPE, SIG_IGN);\n'}],
    ),
    (
        rules.long_functions,
        [{"core/a.c": f"int\nf (void)\n{{\n{LONG}}}\n"}],
        [{"core/a.c": f"int\nf (void)\n{{\n{LONG[:-6]}}}\n"}, {"core/a.c": f"static const int table[] =\n{{\n{LONG}}};\n"}],
    ),
    (
        rules.licences,
        [{"core/a.c": "int x;\n"}, {"a.sh": "#!/bin/sh\necho\n"}, {".ci/run": "#!/bin/bash\n"}, {"a.py": ""}],
        [{"core/a.c": HEAD}, {"a.sh": "#!/bin/sh\n# SPDX-License-Identifier: MIT\n"}, {"README.md": "text\n"}],
    ),
    (
        rules.machine_paths,
        [{"a.md": text} for text in ("/wo" "rk/main", "/tmp/" "wt/x", "/ho" "me/jane/x", "/ro" "ot/x")],
        [{"a.md": "~/.local and /usr/lib\n"}],
    ),
    (rules.trailing_space, [{"a.md": "x \n"}, {"a.c": "\t\n"}], [{"a.md": "x\n\ny\n"}]),
    (rules.formatting, [{"core/a.c": "int f(void){return 0;}\n"}], [{"core/a.c": "int\nf (void)\n{\n  return 0;\n}\n"}]),
    (rules.shell, [{"a.sh": "#!/bin/sh\necho $1\n"}, {"a.sh": "#!/bin/sh\nx=(1)\n"}], [{"a.sh": '#!/bin/sh\necho "$1"\n'}]),
    (rules.places, [{"docs/a.md": ""}, {"Makefile": ""}], [{"core/a.c": ""}]),
    (
        rules.orphans,
        [{"core/a.c": "", "core/meson.build": "files('b.c')"}, {"core/a.c": ""}],
        [{"core/a.c": "", "core/meson.build": "files('b.c', 'a.c')"}, {"core/x/a.c": "", "core/meson.build": "'x/a.c'"}],
    ),
    (
        rules.folder_map,
        [{"README.md": "| `core/` | x |\n", "plugins/local/a.c": ""}],
        [{"README.md": "| `plugins/NAME/` | x |\n", "plugins/local/a.c": ""}],
    ),
]


def holds(rule, tree):
    broken = list(rule(tree))
    assert not broken, "\n" + "\n".join(broken)


def tells_apart(rule, bad, good):
    for sample in bad:
        assert list(rule(sample)), f"takes {sample}"
    for sample in good:
        holds(rule, sample)


def needs_none_of(path, never):
    found = rules.forbidden(rules.undefined(path), never)
    assert not found, found


def finds_symbols():
    """In an object and in a library that are built for it."""
    source = "int fork (void); int g_free (void); int compute_list (void); int compute_runner_open (void);\n"
    source += "int f (void);\nint f (void) { return fork () + g_free () + compute_list () + compute_runner_open (); }\n"
    with tempfile.TemporaryDirectory() as folder:
        for name, options in (("a.o", ["-c"]), ("a.so", ["-shared", "-fPIC"])):
            command = ["cc", "-w", "-xc", *options, "-o", f"{folder}/{name}", "-"]
            subprocess.run(command, input=source, text=True, check=True)
            symbols = rules.undefined(f"{folder}/{name}")
            assert rules.forbidden(symbols, rules.CORE_NEVER) == ["fork"], name
            assert rules.forbidden(symbols, rules.PLUGIN_NEVER) == ["compute_list", "fork", "g_free"], name


def cases(tree, libcompute=None, kit=None, *providers):
    for rule, bad, good in SAMPLES:
        name = rule.__name__.replace("_", " ")
        yield f"{name}: the rule holds", lambda r=rule: holds(r, tree)
        yield f"{name}: the rule can fail", lambda r=rule, b=bad, g=good: tells_apart(r, b, g)
    if libcompute is None:
        return
    yield "libcompute starts no process and opens no socket", lambda: needs_none_of(libcompute, rules.CORE_NEVER)
    for path in (kit, *providers):
        name = pathlib.Path(path).name
        yield f"{name} needs the C library alone", lambda p=path: needs_none_of(p, rules.PLUGIN_NEVER)
    yield "forbidden symbols are found", finds_symbols


if __name__ == "__main__":
    tap.run(dict(cases(rules.read_tree(), *sys.argv[1:])))
