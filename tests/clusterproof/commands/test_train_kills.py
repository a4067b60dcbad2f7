"""Runs that are killed at random times go on to the bits of a run that is left alone."""

import os
import subprocess
import sys

from command_line import ROOT

SCRIPT = """
import random
from benchmarks.kill_and_resume import try_algorithm
for name in ("cfl-mgd", "local"):
    count = try_algorithm(name, 6, random.Random(name))
    assert count.kills == count.same == 6, count
    assert count.runs >= 1, count
    print(name, count)
"""


def test_a_killed_run_goes_on_to_the_same_bits() -> None:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **threads},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
