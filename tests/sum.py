# SPDX-License-Identifier: MIT
"""Adds up the TAP lines of a "meson test" run, from its testlog.json: shows what failed, then "N passed, N failed".

A test without TAP counts as one. So does a failure that no line tells of, such as a crash. Skips are failures when COMPUTE_TEST_STRICT is
set, else they are counted apart.
"""

import collections
import json
import os
import re
import sys

POINT = re.compile(r"^(not )?ok\b[^#\n]*(?:# *(skip|todo)\b)?", re.IGNORECASE | re.MULTILINE)


def points(run):
    """How many points of one meson test have passed, failed and been skipped."""
    counted = collections.Counter()
    for match in POINT.finditer(run.get("stdout") or ""):
        directive = (match.group(2) or "").lower()
        if directive == "skip":
            counted["skipped"] += 1
        else:
            counted["failed" if match.group(1) and directive != "todo" else "passed"] += 1
    outcome = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}.get(run["result"], "failed")
    if counted[outcome] == 0:
        counted[outcome] += 1
    return counted


def explain(run, counted):
    """Says what went wrong in one meson test: all that it printed but the points that passed."""
    told = [f"{counted[kind]} {kind}" for kind in ("failed", "skipped") if counted[kind]]
    print(f"---- {run['name']} ({run['result']}): {', '.join(told)}")
    output = (run.get("stdout") or "") + (run.get("stderr") or "")
    lines = [line for line in output.splitlines() if line.strip() and (not line.startswith("ok ") or "# SKIP" in line)]
    print("\n".join(lines[-60:]))


def main(path):
    total = collections.Counter()
    if not os.path.exists(path):
        print("meson test wrote no log")
        path = os.devnull
    with open(path, encoding="utf-8", errors="replace") as log:
        for run in map(json.loads, log):
            counted = points(run)
            if counted["failed"] or counted["skipped"]:
                explain(run, counted)
            total += counted
    if os.environ.get("COMPUTE_TEST_STRICT"):
        total["failed"] += total.pop("skipped", 0)
    skipped = f", {total['skipped']} skipped" if total["skipped"] else ""
    print(f"{total['passed']} passed, {total['failed']} failed{skipped}")
    return total["failed"] > 0 or total["passed"] == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
