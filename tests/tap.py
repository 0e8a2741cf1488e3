# SPDX-License-Identifier: MIT
"""TAP for tests in Python: a test is a function test_*, named after the rule it protects; it fails by an exception."""

import traceback


class Skip(Exception):
    """Raised by a test that cannot run here, with the reason."""


def run(tests):
    """Runs {title: function} and prints TAP."""
    print(f"1..{len(tests)}")
    for number, (title, function) in enumerate(tests.items(), 1):
        try:
            function()
            print(f"ok {number} {title}", flush=True)
        except Skip as reason:
            print(f"ok {number} {title} # SKIP {reason}", flush=True)
        except Exception:  # whatever it was, the next test runs
            print("\n".join("# " + line for line in traceback.format_exc().splitlines()))
            print(f"not ok {number} {title}", flush=True)


def main(namespace):
    """Runs the functions test_* of a module's globals()."""
    run({name[5:].replace("_", " "): function for name, function in namespace.items() if name.startswith("test_")})
