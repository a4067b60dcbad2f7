"""A copy of the checkout, in which a test may build, install and add files; mypy without the large libraries."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = tuple(sorted(path.parent.name for path in (ROOT / "clusterproof").glob("*/__init__.py")))
"""The packages inside ``clusterproof/``."""

CLEAN = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
"""The surroundings of every command: nothing leads back to the checkout."""
COMPILING = {name: value for name, value in CLEAN.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Those of commands in a copy, which may keep its bytecode: most of them import the same modules."""

MYPY_CACHE = ROOT / ".mypy_cache" / "tests"
"""Cache of mypy for libraries and unchanged files, separate from that of `make types`."""

UNREAD = ("torch", "polars", "hypothesis", "distributed", "dask", "IPython", "flwr")
"""Libraries that are 2500 of 3200 modules which mypy would read, while a test asks for the types of ours."""


def mypy_configuration(place: Path) -> Path:
    """Write our options for mypy into the `pyproject.toml` of a folder, to check files there that use our types."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    ours = {"mypy_path", "packages", "overrides"}
    plain = [f"{name} = {json.dumps(value)}" for name, value in options.items() if name not in ours]
    for names, how in ([f"{name}.*" for name in UNREAD], "skip"), (["clusterproof.*"], "silent"):
        plain += ["[[tool.mypy.overrides]]", f"module = {json.dumps(names)}", f'follow_imports = "{how}"']
    file = place / "pyproject.toml"
    file.write_text("\n".join(["[tool.mypy]", *plain]), encoding="utf-8")
    return file


def copied(place: Path) -> Path:
    """Copy the checkout without what git ignores."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").replace("/", "").split()
    shutil.copytree(ROOT, place, symlinks=True, ignore=shutil.ignore_patterns(".git", *ignored))
    return place


def done(command: Iterable[object], folder: Path | None = None) -> str:
    """Run a command to its good end."""
    words = [str(word) for word in command]
    result = subprocess.run(words, capture_output=True, text=True, env=COMPILING, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def environment(place: Path, *install: object) -> Path:
    """Make an environment with the libraries of this one, but not its ``clusterproof``, and install that.

    Returns
    -------
    Path
        Its interpreter.
    """
    venv.create(place)
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(done([python, "-c", where]).strip())
    libraries = [entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    # a folder named in a .pth file is searched, but the .pth files in it are not read: no editable install
    (packages / "libraries.pth").write_text("\n".join(libraries))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install"]
    done([*pip, "--no-index", "--no-deps", "--no-build-isolation", "--force-reinstall", *install])
    return python


def product(tree: Path) -> set[str]:
    """Every file of the package, by its place in the tree."""
    paths = (path.relative_to(tree) for path in (tree / "clusterproof").rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if "__pycache__" not in path.parts}
