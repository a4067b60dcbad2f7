"""The command line: help, light imports, the package's public names, and reports that outlive failures."""

import getpass
import inspect
import itertools
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, make_claim
from rich.text import Text

from clusterproof.algorithms import ALGORITHMS
from clusterproof.commands.application import main
from clusterproof.commands.run import run_algorithm
from clusterproof.experiments.synthetic_options import algorithm_parameters, task_parameters
from clusterproof.synthetic import TASKS
from clusterproof.theory.claims import report

HEAVY = "numpy scipy torch matplotlib polars hypothesis cvxpy clarabel sklearn"
HEAVY += " clusterproof.theory clusterproof.algorithms clusterproof.synthetic"
LIGHT = (
    ("main(['--help'])", HEAVY),
    ("main(['--version'])", HEAVY),
    ("main(['verify', sys.argv[1]])", "cvxpy clarabel scipy torch matplotlib"),
    ("main(['run', '--help'])", "torch cvxpy matplotlib"),
    ("main(['train', '--help'])", "torch cvxpy matplotlib scipy.stats"),
    ("main(['table', '--help'])", "torch cvxpy matplotlib scipy.stats"),
    ("import clusterproof.figures", "torch cvxpy matplotlib"),
    ("from clusterproof.neural.data.loading import load; load('digits')", "sklearn"),
)
"""Statements of one process, in this order, and the modules that they must not import."""


@pytest.mark.slow(reason="several seconds")
def test_heavy_libraries_are_imported_only_where_they_are_needed(tmp_path: Path) -> None:
    certificate = str(tmp_path / "c.json")
    options = ["--momentum", "0", "--condition", "4", "--proportion", "1/3", "--class", "smooth", "--out"]
    assert main(["certify", *options, certificate]) == 0
    code = "import sys; from clusterproof.commands.application import main\n"
    for statement, modules in LIGHT:
        code += f"{statement}; found = sorted({set(modules.split())} & set(sys.modules))\n"
        code += f"assert not found, ({statement!r}, found)\n"
    done = subprocess.run([sys.executable, "-c", code, certificate], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert re.search(r"(?m)^\d+\.\d+\.\d+$", done.stdout)
    assert "\nvalid: " in done.stdout


MISSING = "torch pooch safetensors numba distributed dask_jobqueue marimo sphinx cvxpy"
"""What `make check` does not install."""


def after_make_check(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code where those libraries can neither be imported nor found."""
    hidden = f"""import sys
from importlib import metadata
names, version = {MISSING.split()}, metadata.version

def found(name):
    if name in names:
        raise metadata.PackageNotFoundError(name)
    return version(name)

sys.modules.update(dict.fromkeys(names))
metadata.version = found
from clusterproof.commands.application import app, main
"""
    return subprocess.run([sys.executable, "-c", hidden + code], capture_output=True, text=True, cwd=folder)


@pytest.mark.slow(reason="several seconds")
def test_after_make_check_commands_have_help_and_training_names_its_extra(tmp_path: Path) -> None:
    """What identifies a table's parts is found in the source, which names torch where networks are trained."""
    code = "names = [name for name in app if not name.startswith('-')]; assert 'train' in names, names\n"
    code += "failed = [name for name in names if main([name, '--help'])]; assert not failed, failed\n"
    code += "from clusterproof.experiments.tables import fpfc_table_1\n"
    code += "from clusterproof.experiments.units import source_digest\n"
    code += "print('digest', source_digest(fpfc_table_1.__name__))\n"
    code += "sys.exit(main(['train', '--rounds', '1', '--out', 'run']))"
    done = after_make_check(code, tmp_path)
    assert re.search(r"(?m)^digest [0-9a-f]{64}$", done.stdout), done.stderr
    assert done.returncode == 2
    assert done.stderr.endswith("install the extra `neural`: pip install '.[neural]' in the checkout\n")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("train", {"config", "resume", "out", "data", "partition", "network", "algorithm"}),
    ],
)
def test_help_lists_every_option(capsys: pytest.CaptureFixture[str], command: str, wanted: set[str]) -> None:
    assert main([command, "--help"]) == 0
    listed = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert {"--" + name.replace("_", "-") for name in wanted} <= listed


def rows_of_help(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, list[re.Match[str]]]:
    """Lines of the description of each option."""
    assert main([command, "--help"]) == 0
    rows: dict[str, list[re.Match[str]]] = {}
    for line in capsys.readouterr().out.splitlines():
        if row := re.fullmatch(r"│ (?:(?P<option>--[a-z-]+)(?: [A-Z]+)?)? +(?P<text>.*?) *│", line):
            rows.setdefault(row["option"] or next(reversed(rows), ""), []).append(row)
    return rows


@pytest.mark.parametrize("command", ["check", "train", "figures"])
def test_descriptions_of_options_fill_their_lines(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of_help(command, capsys)
    assert any(len(lines) > 1 for lines in rows.values())
    for lines in rows.values():
        for row, following in itertools.pairwise(lines):
            assert row.end("text") + 1 + len(following["text"].split()[0]) > len(row[0]) - 2, row[0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_help_of_a_run_lists_the_options_of_its_algorithm_alone(
    algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", algorithm, "--help"]) == 0
    first = capsys.readouterr().out
    assert first.count("\n") <= 60
    assert main(["run", algorithm, "--help-all"]) == 0
    text = capsys.readouterr().out
    every_run = inspect.signature(run_algorithm).parameters.values()
    common = {each.name for each in every_run if each.kind is each.KEYWORD_ONLY} - {"json_file"} | {"json"}
    tasks = {name for task in TASKS for name in task_parameters(task)}
    wanted = common | tasks | set(algorithm_parameters(algorithm))
    listed = set(re.findall(r"(?m)^│ (--[a-z-]+)", text))
    assert listed == {"--" + name.replace("_", "-") for name in wanted}
    assert text.count("\n") < 110
    assert (
        {"--rounds", "--clients", "--csv", "--help-all"}
        <= set(re.findall(r"(?m)^│ (--[a-z-]+)", first))
        < listed
    )


def test_a_check_without_enough_memory_fails(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    make_claim("p/one", outcome=MemoryError("too large"))
    assert main(["check", "p/one"]) == 1
    assert "p/one: the check failed with MemoryError: too large" in capsys.readouterr().err


def test_warnings_of_torch_do_not_reach_the_user(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], plant: Callable[..., Any]
) -> None:
    def warn(*_: object) -> Text:
        for module in ("torch.nn.functional", "torch", "torchless_plugin"):
            warnings.warn_explicit(f"from {module}", UserWarning, "file.py", 1, module=module)
        return Text("")

    make_claim("p/one")
    plant(report, "count_table", warn)
    assert main(["check", "p/one"]) == 0
    assert capsys.readouterr().err == "clusterproof: from torchless_plugin\n"


def test_a_user_without_a_name_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 1000")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert main(["claims", "--paper", "ifca"]) == 0


@pytest.mark.slow(reason="several seconds")
def test_a_full_disk_does_not_cost_the_report(
    registry: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    monkeypatch.setattr(os, "rename", full_disk)
    make_claim("p/one")
    (tmp_path / "report").write_text("old")
    for arguments in (
        ["check", "p/one", "--json", str(tmp_path / "report")],
        ["run", "ifca", "--out", str(tmp_path / "run")],
    ):
        assert main(arguments) == 2
        assert "No space left on device" in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report", "old")]


def test_a_diverging_run_prints_no_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ifca", "--step-size", "1e300", "--rounds", "1"]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert "e+30" in output or "inf" in output
    assert main(["run", "ifca", "--step-size", "1e300", "--rounds", "20"]) == 2
    output, errors = capsys.readouterr()
    assert errors.startswith(
        "clusterproof: --step-size = 1e+300: led in round 2 to NaN in model 0 of replicate 0; lower it"
    )
    assert errors.count("\n") == 1


@pytest.mark.slow(reason="several seconds")
def test_a_picture_that_cannot_be_written_does_not_lose_the_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = ["run", "fpfc", "--clients", "8", "--dimension", "2", "--rounds", "3"]
    path = tmp_path / "run.png"
    assert main([*small, "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    page = capsys.readouterr().out.removesuffix(f"drawn in {path}\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert main([*small, "--plot", str(path)]) == 2
    output, errors = capsys.readouterr()
    assert output == page
    assert "No space left on device" in errors
