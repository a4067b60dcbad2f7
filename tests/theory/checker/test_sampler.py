"""The sampler: which values it draws, how it meets hypotheses, and what simplifying gives."""

import inspect
import math
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof.theory.checker import Sides, at_most, integers, reals, suppose
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.evaluation import Trial
from clusterproof.theory.checker.sampler import complexity, draw
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.trial import attempt

Unit = Annotated[float, reals(0.0, 1.0)]
Open = Annotated[float, reals(0.0, 1.0, upwards=True)]
Count = Annotated[int, integers(1, 8, upwards=True)]
SEEDS = range(3)


def tried(function: Any, seed: int = 0, **how: Any) -> Trial:
    return attempt(Statement("", function, **how), Context(seed, None, 1e-9, "toy/one"))


def values(function: Any, count: int) -> np.ndarray:
    """Values of a statement's only quantity."""
    space, stream = Statement("", function).space, np.random.default_rng(0)
    drawn = (draw(space, stream) for _ in range(count))
    return np.array([next(iter(one.values())) for one in drawn if one is not None])


def test_a_third_are_ends_a_tenth_beyond_and_a_quarter_near_an_end() -> None:
    """Distances of 1e-6 to 1, uniform in the logarithm: two of three are below 1e-2, as are 2 % of the uniform ones."""

    def stated(x: Open) -> Sides:
        return at_most(x, more=x + 1)

    x = values(stated, 4000)
    assert len(x) == 4000
    near = ((x > 0) & (x < 0.01)) | ((x > 0.99) & (x < 1))
    for found, share in (
        ((x == 0) | (x == 1), 0.35),
        (x > 1, 0.10),
        (near, 0.25 * 2 / 3 + 0.30 * 0.02),
        ((x >= 0.01) & (x <= 0.99), 0.25 / 3 + 0.30 * 0.98),
    ):
        assert found.mean() == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 4000))
    beyond = np.log(x[x > 1]) / math.log(1000)
    assert beyond.max() <= 1
    np.testing.assert_allclose(np.quantile(beyond, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.12)


def test_a_closed_end_is_never_passed() -> None:
    def stated(x: Unit) -> Sides:
        return at_most(x, one=1)

    assert values(stated, 2000).max() == 1


def test_both_neighbours_of_an_open_end_and_both_parities_are_drawn() -> None:
    def stated(n: Count) -> Sides:
        return at_most(n, more=n + 1)

    n = values(stated, 10_000)
    assert {9, 10} <= {*n.tolist()}
    odd = (n[n > 16] % 2).mean()
    assert 0.4 < odd < 0.6
    assert 4000 < n.max() <= 8001


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("remainder", [0, 1])
def test_what_is_false_at_every_second_number_beyond_an_open_end_is_found(remainder: int, seed: int) -> None:
    def stated(n: Count) -> Sides:
        return at_most(int(n > 8 and n % 2 == remainder), nothing=0)

    found = tried(stated, seed).found
    assert found is not None
    assert found.instance["n"] > 8


def test_the_ends_come_first() -> None:
    seen: list[tuple[float, float]] = []

    def stated(x: Unit, y: Unit) -> Sides:
        seen.append((x, y))
        return at_most(x, one=1)

    tried(stated, budget=20)
    assert {*seen[:4]} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def nearly_exclusive(x: Unit, y: Unit) -> Sides:
    suppose("x + y >= 1.99", x + y >= 1.99)
    suppose("x <= y - .005", x <= y - 0.005)
    return at_most(x, less=y)


def window(x: Unit) -> Sides:
    suppose("x is in the window", 0.43 <= x <= 0.48)
    return at_most(x, half=0.5)


def diagonal(x: Unit, y: Unit, z: Unit) -> Sides:
    suppose("x < y", x < y)
    suppose("y < x + .02", y < x + 0.02)
    return at_most(x, y=y)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("function", [nearly_exclusive, window, diagonal])
def test_hypotheses_are_met_by_drawing_again(function: Any, seed: int) -> None:
    trial = tried(function, seed)
    assert trial.instances >= 30
    assert trial.found is None


def test_the_same_seed_gives_the_same_instances() -> None:
    seen: list[tuple[float, int]] = []

    def stated(x: Open, n: Count) -> Sides:
        suppose("x < n", x < n)
        seen.append((x, n))
        return at_most(x, n=n)

    runs = []
    for seed in (1, 1, 2):
        seen.clear()
        tried(stated, seed, budget=60)
        runs.append([*seen])
    assert runs[0] == runs[1] != runs[2]


def product(
    x: Annotated[float, reals(0.0, 10.0)], n: Annotated[int, integers(1, 10**6)], idle: Unit
) -> Sides:
    return at_most(x * n, bound=1000)


def later(x: Unit, n: Count) -> Sides:
    return at_most(x * n, bound=20)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("function", [product, later])
def test_simplifying_ends_with_an_instance_that_is_shorter(function: Any, seed: int) -> None:
    """Evaluations are counted: a simplification that went round in circles would not end."""
    broken: list[dict[str, Any]] = []

    def stated(**one: Any) -> Sides:
        sides = function(**one)
        if sides.measured > sides.allowed:
            broken.append(one)
        return sides

    stated.__annotations__ = function.__annotations__
    stated.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    trial = tried(stated, seed)
    assert trial.found is not None
    space, shortest = trial.statement.space, trial.found.instance
    costs = [complexity(space, one) for one in broken]
    assert complexity(space, shortest) == pytest.approx(min(costs))
    assert complexity(space, shortest) <= costs[0]
    assert len(repr(shortest["x"])) <= 5
    assert shortest.get("idle", 0.0) in (0.0, 1.0)
