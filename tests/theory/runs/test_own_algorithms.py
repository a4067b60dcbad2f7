"""A user's own algorithm, wrong in one thing, fails Theorem D on a single run; and clusters have no names."""

import dataclasses
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pytest

from clusterproof import checker, theory
from clusterproof.algorithms import ALGORITHMS, CFLMGD, IFCA, Algorithm, FedAvg, ProxSkip, Scaffold
from clusterproof.algorithms.clustered import MomentumState
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.synthetic import TASKS, QuadraticMixture, RegressionMixture
from clusterproof.theory.pages.compare import compare
from clusterproof.theory.pages.facts import Choices


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hasty(IFCA):
    """Claims to be IFCA, and has momentum."""

    name: ClassVar[str] = "hasty"

    @property
    def dynamics(self) -> CFLMGD:
        return IFCA(step_size=1.0).dynamics

    def initialise(self, models: np.ndarray, task: object) -> MomentumState:  # type: ignore[override]
        return CFLMGD(step_size=1.0, momentum=0.2).initialise(models, task)  # type: ignore[arg-type]

    def step(self, state: object, task: object, randomness: object) -> object:  # type: ignore[override]
        return CFLMGD(step_size=1.0, momentum=0.2).step(state, task, randomness)  # type: ignore[arg-type]


def own_of(base: type[Algorithm[Any]]) -> type[Algorithm[Any]]:
    """A class that repeats one of the library, as a user's with another step would begin."""
    return type("Mine", (base,), {"step": lambda self, *given: base.step(self, *given)})


DOCS = Path(__file__).parents[3] / "docs"
WRITTEN = [
    (path.relative_to(DOCS).as_posix(), name)
    for path in sorted(DOCS.glob("*/*.md"))
    for name in re.findall(r"(?m)^class (\w+)\(Algorithm\[", path.read_text())
]
"""Algorithms in the documents."""


def of_docs(page: str, name: str) -> type[Algorithm[Any]]:
    (block,) = re.findall(
        rf"(?ms)^```python\n((?:(?!```).)*^class {name}\(.*?)^```", (DOCS / page).read_text()
    )
    module = ModuleType(f"of_{name}")
    with pytest.MonkeyPatch.context() as modules, patch.dict(checker.REGISTRY):
        modules.setitem(sys.modules, module.__name__, module)
        exec(block, vars(module))
    kind: type[Algorithm[Any]] = vars(module)[name]
    return kind


def own_algorithms() -> Iterator[tuple[str, Algorithm[Any]]]:
    kinds = [(name, own_of(kind)) for name, kind in ALGORITHMS.items()]
    kinds += [(f"{page}: {name}", of_docs(page, name)) for page, name in WRITTEN]
    values = {"step_size": 0.5, "momentum": 0.5, "proximal": 1.0, "probability": 0.5, "fusion": 1.0}
    for name, kind in kinds:
        required = [each.name for each in fields(kind) if each.init and each.default is MISSING]
        yield name, kind(**{each: values.get(each, 1) for each in required})


@pytest.mark.parametrize("clusters", [1, 2])
@pytest.mark.parametrize("task", TASKS)
def test_no_theorem_of_another_algorithm_is_attributed_to_a_users(task: str, clusters: int) -> None:
    """Whatever it begins with: the page of an algorithm without declared dynamics names no theorem."""
    if task == "two-point" and clusters == 1:
        return
    problem = TASKS[task].random(clusters=clusters, clients=34, dimension=2, seed=0)
    ran = []
    for name, algorithm in own_algorithms():
        try:
            trace = run(algorithm, problem, rounds=2)
        except (AttributeError, InvalidArgument, TypeError):  # on this task it does not run, or needs torch
            continue
        page = theory.compare(problem, trace)
        assert not page.theorems, (name, page)
        ran.append(name)
    assert len(ran) >= 10


def test_a_page_names_no_theorem_of_an_algorithm_that_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the library, too, and of CFL-MGD with another step size than the theorem's."""
    problem = QuadraticMixture.random(clusters=1, clients=40, dimension=20, seed=0)
    new: Any = type("New", (IFCA,), {"name": "new", "dynamics": property(lambda self: self)})
    monkeypatch.setitem(ALGORITHMS, "new", new)
    trace = run(new(step_size=0.2), problem, rounds=3)
    assert not theory.compare(problem, trace).theorems
    two = QuadraticMixture.random(clusters=2, clients=40, dimension=20, seed=0)
    start = two.optima * 0.99
    for algorithm, rule in (
        (CFLMGD(step_size=0.2, momentum=0.5), "eta L = 1, here 0.2"),
        (CFLMGD(step_size=1.0, momentum=0.5, participation=0.5), "participation = 1, here 0.5"),
        (CFLMGD(step_size=1.0, momentum=0.5, averaging="model"), "averaging = gradient, here model"),
        (FedAvg(step_size=1.0), "must be a run of cfl-mgd"),
    ):
        trace = run(algorithm, two, rounds=3, initial=start if isinstance(algorithm, CFLMGD) else None)
        with pytest.raises(InvalidArgument, match=rule):
            theory.bound("cfl-mgd/lemma-2", two, trace)
    few = QuadraticMixture.random(clusters=2, clients=32, dimension=20, seed=0)
    trace = run(CFLMGD(step_size=1.0, momentum=0.5), few, rounds=3, initial=few.optima * 0.99)
    with pytest.raises(InvalidArgument, match="printed probability is positive"):
        theory.bound("cfl-mgd/lemma-2", few, trace)


def test_inherited_names_and_dynamics_are_not_declared() -> None:
    """A class has the theorems of another one if it says so itself."""

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class WithMomentum(FedAvg):
        server_momentum: float = 0.9

    problem = QuadraticMixture.random(clusters=1, clients=4, dimension=2, seed=0)
    settings = run(WithMomentum(step_size=0.2), problem, rounds=1).settings
    assert settings["algorithm"]["algorithm"] == "WithMomentum"
    assert "dynamics" not in run(own_of(IFCA)(step_size=0.2), problem, rounds=1).settings
    assert "dynamics" in run(Hasty(step_size=0.2), problem, rounds=1).settings


TASK = RegressionMixture.random(clusters=3, clients=9, dimension=3, samples=200, seed=1)


@pytest.mark.parametrize("algorithm", [IFCA(step_size=0.5), CFLMGD(step_size=0.5, momentum=0.3)])
@pytest.mark.parametrize("replicates", [None, 3])
def test_the_order_of_the_starts_changes_no_page(algorithm: Any, replicates: int | None) -> None:
    starts = TASK.optima + 0.05 * np.random.default_rng(2).standard_normal(TASK.optima.shape)
    options: dict[str, Any] = {"rounds": 12, "seed": 3, "replicates": replicates}
    pages = []
    for order in itertools.permutations(range(3)):
        trace = run(algorithm, TASK, initial=starts[list(order)], **options)
        pages.append(str(compare(TASK, trace)))
        choices = compare(TASK, trace).facts.result(Choices)
        assert (choices.found, choices.wrong, choices.lost) == (True, 0, ()), order
    assert len(set(pages)) == 1


def test_a_cluster_without_a_model_is_lost_in_any_order() -> None:
    """Two models start at their clusters' optima, the third where nobody chooses it."""
    starts = np.array([*TASK.optima[:2], np.full(3, 50.0)])
    for order in itertools.permutations(range(3)):
        trace = run(IFCA(step_size=0.5), TASK, rounds=5, seed=3, initial=starts[list(order)])
        (lost,) = compare(TASK, trace).facts.result(Choices).lost
        assert lost.cluster == 3
        assert lost.clients == np.sum(TASK.labels == 2)


def test_clients_that_end_in_models_of_their_own_are_found_wherever_these_started() -> None:
    """All models start about the middle: which is nearest to which optimum means little."""
    found = 0
    for seed in range(12):
        middle = 0.3 * np.random.default_rng(seed).standard_normal(TASK.optima.shape)
        trace = run(
            IFCA(step_size=0.2), TASK, rounds=20, seed=seed, initial=TASK.optima.mean(axis=0) + middle
        )
        one = compare(TASK, trace).facts.result(Choices)
        if trace.adjusted_rand_index == 1:
            found += 1
            assert (one.found, one.lost) == (True, ()), seed
        else:
            assert not one.found
    assert found >= 2


@pytest.mark.parametrize(
    "algorithm", [IFCA(step_size=0.5), Scaffold(step_size=0.1, local_steps=2), ProxSkip(step_size=0.5)]
)
def test_what_is_rounding_has_no_ratio(algorithm: Any) -> None:
    """At the end of a long run without noise the bound is below what rounding leaves of the error."""
    exact: Any = replace(TASK, data="population")
    if not isinstance(algorithm, IFCA):
        exact = QuadraticMixture.random(
            clusters=1, clients=5, dimension=3, condition_number=2.0, spread=1.0, seed=1
        )
    starts = exact.optima[: algorithm.model_count(exact)] + 0.01
    page = compare(exact, run(algorithm, exact, rounds=600, seed=3, initial=starts))
    below = [
        one
        for one in page.facts.theorems
        if one.outcome == "holds" and one.allowed is not None and (one.measured or 0.0) > one.allowed
    ]
    assert below
    assert {(one.reason, one.ratio) for one in below} == {("rounding", None)}
