"""What the files of the referee's folder import, compiled once."""

import shutil
import subprocess
from pathlib import Path

import pytest

from clusterproof.checker.export.rocq_text import LIBRARY


@pytest.fixture(scope="session")
def prelude(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled library."""
    path = tmp_path_factory.mktemp("rocq")
    for file in LIBRARY:
        _compile(file, path)
    return path


@pytest.fixture(scope="session")
def language(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what programs need of it."""
    path = tmp_path_factory.mktemp("language")
    _compile(LIBRARY[-1], path)
    return path


def _compile(file: Path, path: Path) -> None:
    shutil.copyfile(file, path / file.name)
    subprocess.run(["coqc", "-q", "-Q", ".", "Clusterproof", file.name], cwd=path, check=True)
