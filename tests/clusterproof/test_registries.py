"""What exists is registered, documented, public, on the command line and in the tests of every one."""

import importlib
import inspect
import os
from pathlib import Path

import pytest
from command_line import ROOT, refused
from option_combinations import EVERY

import clusterproof
from clusterproof import algorithms, synthetic
from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.discovery import classes_below, instances_below, modules_below
from clusterproof.commands.application import main
from clusterproof.experiments.tables.registry import TABLES
from clusterproof.figures import FIGURES
from clusterproof.neural.data.catalogue import DATASETS
from clusterproof.neural.networks import NETWORKS
from clusterproof.neural.partitions.by_name import PARTITIONS
from clusterproof.neural.runs.options import SECTIONS
from clusterproof.synthetic import TASKS, strategies
from clusterproof.theory import REGISTRY


def test_every_folder_with_code_is_a_package() -> None:
    """Where ``__init__.py`` is missing, nothing in a folder is found, and the wheel lacks it."""
    holding = {path.parent for path in (ROOT / "clusterproof").rglob("*.py")}
    assert [str(folder) for folder in sorted(holding) if not (folder / "__init__.py").exists()] == []


def test_every_algorithm_is_public_documented_listed_and_in_the_universal_tests() -> None:
    for name, kind in ALGORITHMS.items():
        assert kind.__name__ in algorithms.__all__, name
        assert getattr(clusterproof, kind.__name__) is kind, name
        assert "Parameters" in (inspect.getdoc(kind) or ""), name
        assert name in SECTIONS["algorithm"], name
    assert {kind for kind, _ in EVERY} == set(ALGORITHMS.values())


def test_every_task_is_public_documented_listed_and_has_a_strategy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refusal = refused(capsys, "run", "ifca", "--task", "none")
    for name, kind in TASKS.items():
        assert kind.__name__ in synthetic.__all__, name
        assert getattr(clusterproof, kind.__name__) is kind, name
        assert "Parameters" in (inspect.getdoc(kind) or ""), name
        assert name in refusal
        assert callable(getattr(strategies, name.replace("-", "_") + "_mixtures")), name


def test_every_claim_is_documented_and_what_repairs_it_exists() -> None:
    for name, claim in REGISTRY.items():
        assert claim.title, name
        assert "Statement" in claim.card, name
        assert set(claim.repaired_by) <= set(REGISTRY), name


def test_every_figure_table_dataset_network_and_partition_is_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTERPROOF_DATA", os.devnull)
    for words, names in ((["table"], TABLES), (["data", "list"], DATASETS)):
        assert main(words) == 0
        listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()}
        assert set(names) <= listed
    assert all(figure.title for figure in FIGURES.values())
    for section, found in (("data", DATASETS), ("network", NETWORKS), ("partition", PARTITIONS)):
        assert set(SECTIONS[section]) == set(found)


def test_a_file_that_is_dropped_into_a_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "dropped" / "room"
    room.mkdir(parents=True)
    (tmp_path / "dropped" / "__init__.py").touch()
    (room / "__init__.py").touch()
    (room / "one.py").write_text("class Base: ...\nclass Kind(Base):\n    name = 'kind'\nTHING = 3.5\n")
    (room / "two.py").write_text("from dropped.room.one import THING, Base, Kind\nclass Other(Base): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [module.__name__ for module in modules_below("dropped")] == [
        "dropped.room",
        "dropped.room.one",
        "dropped.room.two",
    ]
    one = importlib.import_module("dropped.room.one")
    assert [found.__name__ for found in classes_below("dropped", one.Base)] == ["Base", "Kind", "Other"]
    assert list(instances_below("dropped", float)) == [("dropped.room.one:THING", 3.5)]


def test_a_task_that_says_nothing_about_memory_does_not_stop_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Unheard(synthetic.QuadraticMixture):
        """A task that a user adds."""

        name = "unheard"

        @classmethod
        def random(
            cls, *, clusters: int, clients: int, dimension: int, seed: int = 0
        ) -> synthetic.QuadraticMixture:
            """Draw a task.

            Parameters
            ----------
            clusters, clients, dimension
                P, m and d.
            seed
                Of the draw.
            """
            drawn = synthetic.QuadraticMixture.random(
                clusters=clusters, clients=clients, dimension=dimension, seed=seed
            )
            return cls(hessians=drawn.hessians, centers=drawn.centers, labels=drawn.labels)

    monkeypatch.setitem(TASKS, "unheard", Unheard)
    assert main(["run", "ifca", "--task", "unheard", "--rounds", "2"]) == 0
    assert "ifca on unheard: 2 clusters" in capsys.readouterr().out
