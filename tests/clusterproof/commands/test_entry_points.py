"""Entry points of algorithms and tasks, ``claims --verdict`` and ``run --json``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from clusterproof.algorithms.storage import load_trace
from clusterproof.commands.application import main
from clusterproof.commands.run_record import run_schema
from clusterproof.theory.stored_verdicts import STORED_VERDICTS

PLUGIN = '''
from dataclasses import dataclass
from typing import ClassVar
from clusterproof import FedAvg, QuadraticMixture

@dataclass(frozen=True, kw_only=True)
class Slow(FedAvg):
    """FedAvg under another name.

    Parameters
    ----------
    patience
        Without effect.
    """

    name: ClassVar[str] = "slow"
    patience: int = 1

@dataclass(frozen=True, eq=False, kw_only=True)
class Bowl(QuadraticMixture):
    name: ClassVar[str] = "bowl"

    @classmethod
    def random(cls, *, clusters: int, clients: int, dimension: int, seed: int = 0) -> "Bowl":
        """Draw one."""
        sizes = {"clusters": clusters, "clients": clients, "dimension": dimension}
        made = QuadraticMixture.random(**sizes, condition_number=2, seed=seed)
        return cls(hessians=made.hessians, centers=made.centers, labels=made.labels)

@dataclass(frozen=True, kw_only=True)
class Lists(FedAvg):
    name: ClassVar[str] = "lists"
    parts: list[int] = ()

@dataclass(frozen=True, kw_only=True)
class Thief(FedAvg):
    name: ClassVar[str] = "ifca"
'''
ENTRIES = """[clusterproof.algorithms]
slow = my_plugin:Slow
other = my_plugin:Slow
lists = my_plugin:Lists
ifca = my_plugin:Thief
gone = my_plugin:Gone
[clusterproof.tasks]
bowl = my_plugin:Bowl
number = my_plugin:ClassVar
[clusterproof.claims]
a = broken_plugin
"""
LEFT_OUT = {
    "other = my_plugin:Slow": "which the entry point must have, too",
    "lists = my_plugin:Lists": "'parts' must be annotated",
    "ifca = my_plugin:Thief": "that name is taken",
    "gone = my_plugin:Gone": "AttributeError",
    "number = my_plugin:ClassVar": "must be a class with all the methods of clusterproof.synthetic.mixture.Mixture",
    "a = broken_plugin": "ModuleNotFoundError: No module named 'no_such_library'",
}


def test_algorithms_and_tasks_of_a_plugin_run_and_bad_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "my_plugin.py").write_text(PLUGIN)
    (tmp_path / "broken_plugin.py").write_text("import no_such_library\n")
    information = tmp_path / "plugins-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRIES)
    words = ["run", "slow", "--task", "bowl", "--patience", "2", "--rounds", "2", "--dimension", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "clusterproof", *words, "--json", "r.json"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "slow on bowl" in done.stdout
    settings = json.loads((tmp_path / "r.json").read_text())["settings"]
    assert settings["algorithm"]["patience"] == 2
    lines = done.stderr.splitlines()
    assert len(lines) == len(LEFT_OUT)
    for line, (entry, why) in zip(lines, LEFT_OUT.items(), strict=True):
        assert line.startswith(f"clusterproof: the plugin {entry} is left out: ")
        assert why in line


@pytest.mark.parametrize(
    "words", [["ifca", "--replicates", "3"], ["local"], ["fedavg", "--step-size", "1e70"]]
)
def test_a_run_is_written_as_its_schema_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *words, "--rounds", "3", "--json", "r.json", "--out", "trace"]) == 0
    record, trace = json.loads(Path("r.json").read_text()), load_trace(Path("trace"))
    validator = jsonschema.Draft202012Validator(run_schema())
    jsonschema.Draft202012Validator.check_schema(run_schema())
    assert list(validator.iter_errors(record)) == []
    assert record["settings"] == trace.settings
    output = capsys.readouterr().out
    if words[0] == "ifca":
        assert record["last_errors"] == pytest.approx(np.median(trace.errors[-1], axis=0).tolist())
        assert record["bound_claim"] == "cfl-mgd/theorem-d"
        assert len(record["bound"]) == len(record["last_errors"]) == 2
        assert f"{record['last_errors'][1]:.6g}" in output
    if "1e70" in words:
        assert record["last_errors"] == [None]
    for wrong in (record | {"more": 1}, record | {"seconds": "1"}, {**record, "settings": {}}):
        assert list(validator.iter_errors(wrong))


def test_the_schema_of_a_run_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "run"]) == 0
    assert json.loads(capsys.readouterr().out) == run_schema()


def test_claims_are_listed_by_their_stored_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = json.loads(STORED_VERDICTS.read_text(encoding="utf-8"))
    wanted = {one["claim"] for one in stored if one["verdict"] in ("vacuous", "ill-posed")}
    assert main(["claims", "--verdict", "vacuous,ill-posed", "--json", str(tmp_path / "r.json")]) == 0
    assert {one["id"] for one in json.loads((tmp_path / "r.json").read_text())} == wanted


FILE = """
from fractions import Fraction
from typing import Annotated
from clusterproof import Sides, at_most, claim, rationals

Step = Annotated[Fraction, rationals(0, 2, 2)]

@claim("mine/lemma")
def true(step: Step) -> Sides:
    "A step does not lead away."
    return at_most(abs(1 - step), one={bound})
"""


@pytest.mark.parametrize(("bound", "verdict"), [("1", "consistent"), ("Fraction(1, 2)", "violated")])
def test_a_claim_without_a_stored_verdict_is_checked(
    registry: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str], bound: str, verdict: str
) -> None:
    (tmp_path / "mine.py").write_text(FILE.format(bound=bound))
    for kind in ("consistent", "violated"):
        assert main(["claims", "--verdict", kind, "--module", str(tmp_path / "mine.py")]) == 0
        assert ("mine/lemma" in capsys.readouterr().out) == (kind == verdict)
