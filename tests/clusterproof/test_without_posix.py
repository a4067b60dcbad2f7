"""What only POSIX systems have is not needed: the modules and calls that Windows lacks are taken away."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import FOLDERS

pytestmark = pytest.mark.slow(reason="imports every module in a process of its own")

TAKEN_AWAY = """
import os, sys
import matplotlib.pyplot, polars, scipy.stats, sklearn.cluster, torch  # they look for what there is

for module in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[module] = None
for name in (
    "fchmod", "fork", "getgid", "getloadavg", "getpgid", "getuid", "killpg", "mkfifo", "nice", "O_CLOEXEC",
    "O_DIRECTORY", "O_NOFOLLOW", "pread", "pwrite", "sched_getaffinity", "setsid", "statvfs", "sysconf", "uname",
):
    delattr(os, name)

def opens_no_folders(path, *arguments, original=os.open, **options):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return original(path, *arguments, **options)

os.open = opens_no_folders
import importlib, pkgutil
from clusterproof.commands.application import main

"""


RUNS = (
    "run ifca --clients 4 --dimension 2 --rounds 2 --out stored",
    "train --clusters 2 --clients-per-cluster 2 --images 200 --hidden 8 --threads 1 --rounds 1 --out begun",
    "train --resume begun --rounds 2",
)


def test_every_module_is_imported_and_runs_are_computed_and_stored(tmp_path: Path) -> None:
    names = ["clusterproof", *(f"clusterproof.{folder}" for folder in FOLDERS)]
    code = f"for name in {names}:\n"
    code += "    found = pkgutil.walk_packages(importlib.import_module(name).__path__, name + '.')\n"
    code += "    assert [importlib.import_module(m.name) for m in found]\n"
    code += f"for command in {RUNS}: assert main(command.split()) == 0, command\n"
    done = subprocess.run(
        [sys.executable, "-c", TAKEN_AWAY + code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "USERNAME": "somebody"},
    )
    assert done.returncode == 0, done.stderr
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.parquet")} == {
        "stored",
        "begun",
    }
