"""Run Rocq, if it is installed, on the files of a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

NEEDED = ("coqc", "make")


def missing() -> str:
    """Return the name of a program that is needed but not installed, or an empty string if nothing is missing."""
    return next((name for name in NEEDED if shutil.which(name) is None), "")


def check(out: Path) -> None:
    """Let Rocq check every file of a folder, and list the axioms on which the theorems depend."""
    command = ["make", "--silent", "--keep-going", f"--jobs={os.cpu_count() or 1}"]
    subprocess.run(command, cwd=out, capture_output=True, check=False)


def accepted(out: Path, folder: str) -> bool:
    """Return whether Rocq has accepted the file of a line."""
    return (out / folder / f"{folder}.vo").is_file()
