# SPDX-License-Identifier: MIT
"""docker.py PROGRAM IMAGE: runs the benchmark with an engine of its own that has the image."""

import os
import subprocess
import sys

from engine import Engine

PROGRAM, IMAGE = sys.argv[1:]

with Engine(private=True) as engine:
    done = subprocess.run([PROGRAM, engine.image(IMAGE)], env=os.environ | engine.env, check=False)
sys.exit(done.returncode)
