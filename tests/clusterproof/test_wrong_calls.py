"""Wrong calls, copied classes and imports by a link's name are refused, and the message names the remedy."""

import inspect
import pickle
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT
from hypothesis import strategies as st

import clusterproof
from clusterproof import CFLMGD, FedAvg, InvalidArgument, RegressionMixture, running, theorem
from clusterproof.algorithms import ALGORITHMS
from clusterproof.common.calls import did_you_mean
from clusterproof.common.discovery import by_name
from clusterproof.figures import FIGURES
from clusterproof.synthetic import TASKS, strategies

CALLS = [
    line.split(" :: ")
    for line in Path(__file__).with_name("wrong_calls.txt").read_text(encoding="utf-8").splitlines()[1:]
]
TASK = RegressionMixture.random(clusters=2, clients=8, dimension=3, seed=0)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What a reader has imported, a task and a run on it."""
    public = {name: getattr(clusterproof, name) for name in dir(clusterproof) if not name.startswith("_")}
    words = {name: getattr(theorem, name) for name in theorem.__all__}
    algo = CFLMGD(step_size=0.5, momentum=0.5)
    trace = clusterproof.run(algo, TASK, rounds=3, seed=0)
    return {**public, **words, "strategies": strategies, "task": TASK, "algo": algo, "trace": trace}


@pytest.mark.parametrize("row", CALLS, ids=[call for call, *_ in CALLS])
def test_a_wrong_call_is_refused(
    row: list[str], names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument) as refusal:
        eval(row[0], names.copy())  # noqa: S307 - a list beside this file
    assert refusal.value.rule
    assert refusal.value.remedy
    assert row[1:] in ([], [refusal.value.remedy])


def test_a_wrong_name_is_answered_by_the_nearest_one() -> None:
    known = ["step_size", "rounds", "local-steps"]
    assert did_you_mean("--stepsize", known) == "step_size"
    assert did_you_mean("Local_Step", known) == "local-steps"
    assert did_you_mean("unheard_of", known) is None


def test_answering_changes_nothing_of_a_right_call() -> None:
    """Signatures, pickles and errors of the code that is called stay as they are."""
    assert str(inspect.signature(FedAvg)).startswith("(*, step_size: 'float'")
    assert next(iter(inspect.signature(clusterproof.run).parameters)) == "algorithm"
    for one in (running.run, FedAvg(step_size=0.5), CFLMGD):
        assert pickle.loads(pickle.dumps(one)) == one

    def broken(task: Any, trace: Any) -> Any:
        raise TypeError("of the reader")

    with pytest.raises((TypeError, InvalidArgument), match="of the reader"):
        clusterproof.falsify(
            broken, algorithm=FedAvg(step_size=0.5), tasks=st.just(TASK), rounds=1, evaluations=1
        )


@pytest.mark.parametrize("registry", [ALGORITHMS, FIGURES, TASKS])
def test_a_copied_class_that_keeps_its_name_is_refused(registry: dict[str, type]) -> None:
    name, kind = next(iter(registry.items()))
    copy = type("Copy", (kind,), {"__module__": "copied"})
    assert by_name(registry.values()) == registry
    with pytest.raises(
        InvalidArgument, match=f"name is '{name}', but it is the name of .* and of copied.Copy. Rename"
    ):
        by_name([*registry.values(), copy])


@pytest.mark.parametrize("name", ["theory", "neural", "synthetic", "figures"])
def test_a_link_for_people_who_browse_is_no_second_package(name: str) -> None:
    link = ROOT / name / "__init__.py"
    assert link.is_file()
    with pytest.raises(ImportError, match=f"write import clusterproof.{name}"):
        SourceFileLoader(name, str(link)).load_module(name)
    assert name not in sys.modules
