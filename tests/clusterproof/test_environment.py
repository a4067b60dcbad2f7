"""Faults of the environment: a command works, or says in one line what is wrong with the environment."""

from __future__ import annotations

import ast
import fcntl
import importlib.metadata
import os
import pwd
import re
import shutil
import struct
import subprocess
import sys
import termios
import tomllib
import zipfile
from pathlib import Path

import pytest
from command_line import ROOT, command, refused

from clusterproof.algorithms.validation import EXTRA_OF
from clusterproof.commands.application import main

pty = pytest.importorskip("pty", reason="POSIX only")

CLAIM = """
from fractions import Fraction
from typing import Annotated
from clusterproof.theorem import at_most, claim, rationals

@claim("mine/a")
def a(step: Annotated[Fraction, rationals(0, 2, 2)]):
    assert step < 1, "too large"
    return at_most(abs(1 - step), one=1)
"""
SMALL = "train --out t --data digits --clients-per-cluster 2 --hidden 4 --rounds 1 --images 120"


def python(code: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Be a user without an entry and without variables, as with ``docker run --user 12345``."""

    def no_entry(user: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {user}")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pwd, "getpwuid", no_entry)
    for name in ("HOME", "XDG_CACHE_HOME", "CLUSTERPROOF_DATA", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_home")
def test_without_a_home_directory_data_are_named_by_a_variable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "list"]) == 0
    assert "set CLUSTERPROOF_DATA" in capsys.readouterr().out
    for line in ("train --data mnist --out t", "table gradient-loss/figures-4-and-5"):
        assert "set CLUSTERPROOF_DATA" in refused(capsys, *line.split()), line
    assert "add --out FOLDER" in refused(capsys, "table", "fpfc/table-1")
    assert "~" not in os.listdir(tmp_path)


@pytest.mark.slow(reason="several seconds")
def test_absolute_paths_work_where_the_working_folder_was_deleted(tmp_path: Path) -> None:
    code = (
        "import json, os, sys\n"
        "os.chdir(sys.argv[1])\n"
        "os.rmdir(sys.argv[1])\n"
        "from clusterproof.commands.application import main\n"
        "sys.exit(max(main(line.split()) for line in sys.argv[2:]))\n"
    )
    (tmp_path / "deleted").mkdir()
    lines = ("claims --paper ifca", f"run ifca --rounds 2 --out {tmp_path}/run", "data verify digits")
    done = python(code, str(tmp_path / "deleted"), *lines, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "run.json").exists()
    for line in done.stderr.splitlines():
        (folder,) = re.findall(
            r"^clusterproof: the working folder was deleted; relative paths lie in (.*)$", line
        )
        assert not Path(folder).exists()  # it stays empty


@pytest.mark.slow(reason="several seconds")
def test_an_unknown_backend_of_matplotlib_is_named(tmp_path: Path) -> None:
    done = command("figures", "error-per-round", "--out", str(tmp_path), env={"MPLBACKEND": "nonexistent"})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.endswith("such as MPLBACKEND\n")


def test_no_folder_for_temporary_files_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", none)
    assert "set TMPDIR" in refused(capsys, "claims")


@pytest.mark.slow(reason="several seconds")
def test_a_closed_standard_error_costs_no_verdict() -> None:
    line = f"{sys.executable} -m clusterproof check cfl-mgd/lemma-2 2>&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert "1 claim: 1 violated" in done.stdout


@pytest.mark.slow(reason="a second or more")
def test_help_has_all_options_in_no_columns() -> None:
    done = command("run", "fpfc", "--help", env={"COLUMNS": "0"})
    assert done.returncode == 0
    assert "--rounds" in done.stdout


@pytest.mark.slow(reason="several seconds")
def test_help_ends_on_a_terminal_of_one_column() -> None:
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 1, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "clusterproof", "run", "fpfc", "--help"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=ROOT,
        env=environment,
    )
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(screen, 65536):
            shown += chunk
            assert len(shown) < 10**6
    except OSError:  # Linux: the other end was closed
        pass
    os.close(screen)
    assert process.wait(timeout=60) == 0
    assert b"--rounds" in shown


@pytest.mark.parametrize(
    "option", ["-O", pytest.param("-OO", marks=pytest.mark.slow(reason="starts processes"))]
)
def test_the_assertions_and_the_statement_of_a_file_stay_under_optimisation(
    option: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(CLAIM)
    done = subprocess.run(
        [sys.executable, option, "-m", "clusterproof", "check", str(tmp_path / "mine.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    warning, failure = done.stderr.splitlines()
    assert done.returncode == 1
    assert f"python {option} removes assertions" in warning
    assert "AssertionError: too large" in failure


@pytest.mark.slow(reason="several seconds")
def test_missing_statements_are_put_down_to_the_option() -> None:
    done = subprocess.run(
        [sys.executable, "-OO", "-m", "clusterproof", "show", "cfl-mgd/theorem-1", "--no-check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "python -OO removes assertions, statements of claims" in done.stderr


def test_no_assertion_of_a_claim_carries_a_meaning() -> None:
    """They tell type checkers that a value is not None or of a class: under -O nothing is lost."""
    for path in (ROOT / "clusterproof" / "theory" / "papers").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert):
                parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
                for part in parts:
                    assert re.fullmatch(r"isinstance\(.*\)|.* is not None", ast.unparse(part)), path


def test_every_optional_library_has_its_extra() -> None:
    """The extra that is named installs the library, itself or by what it is made of."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        extra: {
            re.split(r"[>=<\[]", each)[0].lower() for each in needs if not each.startswith("clusterproof")
        }
        for extra, needs in project["optional-dependencies"].items()
        if extra not in ("test", "docs")  # no command uses their libraries
    }
    distributions = importlib.metadata.packages_distributions()
    for module, extra in EXTRA_OF.items():
        assert {name.lower() for name in distributions[module]} & extras[extra], module
    modules = {
        name.lower(): module
        for module, names in distributions.items()
        for name in names
        if module in EXTRA_OF
    }
    assert set().union(*extras.values()) == set(modules)


HIDING = """
import sys
from importlib.machinery import PathFinder
name, true = sys.argv.pop(1), PathFinder.find_spec
PathFinder.find_spec = classmethod(lambda cls, full, *rest: None if full.split(".")[0] == name else true(full, *rest))
from clusterproof.commands.application import main
if __name__ == "__main__":
    sys.exit(main())
"""
NEEDING = {
    "pooch": "data fetch mnist",
    **dict.fromkeys(("torch", "safetensors"), SMALL),
    "distributed": "sweep s.toml --out so --dask tcp://127.0.0.1:1",
}
"""A command that needs each library."""


@pytest.mark.slow(reason="starts a process for each library")
@pytest.mark.parametrize("library", EXTRA_OF)
def test_a_library_that_is_missing_is_named_with_an_extra(library: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('measure = ["error"]\nrounds = 2\n[grid]\nalgorithm = ["ifca"]\n')
    environment = {"XDG_CACHE_HOME": str(tmp_path), "CLUSTERPROOF_DATA": ""}
    done = subprocess.run(
        [sys.executable, "-c", HIDING, library, *NEEDING[library].split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "a defect" not in done.stderr
    assert re.search(r"install the extra `\w+`: pip install '\.\[\w+\]' in the checkout", done.stderr)


def test_an_import_that_fails_deep_inside_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no command has asked for the library beforehand."""

    def without(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")

    monkeypatch.setattr("clusterproof.commands.check._chosen", without)
    assert "pip install '.[neural]'" in refused(capsys, "check", "cfl-mgd/lemma-2")


@pytest.mark.parametrize("packed", [False, True])
def test_a_package_without_stub_files_says_what_is_missing(packed: bool, tmp_path: Path) -> None:
    place = tmp_path / ("package.zip" if packed else "stripped")
    if packed:
        with zipfile.ZipFile(place, "w") as file:
            for path in (ROOT / "clusterproof").glob("*.py*"):
                file.write(path, f"clusterproof/{path.name}")
    else:
        shutil.copytree(ROOT / "clusterproof", place / "clusterproof", ignore=lambda *_: ["__init__.pyi"])
    code = f"import sys; sys.path.insert(0, {str(place)!r}); import clusterproof"
    done = python(code, folder=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert "__init__.pyi is missing" in last
    assert "install Clusterproof into a folder" in last


def test_the_reader_can_run_what_the_readme_prints() -> None:
    """``make`` installs into an environment that the shell does not know; no index has the package."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    installation = readme.partition("\n## Installation\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```console\n(.*?)```", installation, re.DOTALL)
    first, *others = block.splitlines()
    assert first.startswith("make check ")
    assert "pip install --constraint constraints.txt --editable ." in others[0]
    assert others[1].startswith(". .venv/bin/activate")
    named = re.compile(r"pip install [^`\n]*\bclusterproof\[")
    for folder, pattern in (("clusterproof", "*.py"), ("notes", "*.md"), (".", "*.md")):
        for path in (ROOT / folder).rglob(pattern) if folder != "." else ROOT.glob(pattern):
            assert not named.search(path.read_text(encoding="utf-8")), path
