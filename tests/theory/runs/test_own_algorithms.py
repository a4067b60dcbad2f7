"""A user's own algorithm, wrong in one thing, fails Theorem D on a single run, and the place is named."""

import dataclasses
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pytest

from clusterproof import checker, theory
from clusterproof.algorithms import ALGORITHMS, CFLMGD, IFCA, Algorithm, FedAvg
from clusterproof.algorithms.clustered import MomentumState
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.synthetic import TASKS, QuadraticMixture


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
