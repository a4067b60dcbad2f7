"""The prelude of the referee's folder, compiled once."""

import shutil
import subprocess
from pathlib import Path

import pytest

from clusterproof.checker.export import folder


@pytest.fixture(scope="session")
def prelude(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled prelude."""
    path = tmp_path_factory.mktemp("rocq")
    shutil.copyfile(folder.HERE / "prelude.v", path / "prelude.v")
    subprocess.run(["coqc", "-q", "-Q", ".", "Clusterproof", "prelude.v"], cwd=path, check=True)
    return path
