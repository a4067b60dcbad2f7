"""Units of tasks, and the parts of their check at numbers computed by hand."""

import math
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof.synthetic import NoisyQuadraticMixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.checker import Replicates, Stream, at_most, drawn, expectation, probability
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.unit_check import Mismatch, _bend, _distance, _missing, _unlike, check_units
from clusterproof.theory.checker.units import Scaling, image


# summands (rows) of entries (columns), and their scaled copies: which do not change as the first nonzero one
@pytest.mark.parametrize(
    ("start", "moved", "rounding", "unlike"),
    [
        ([[1, 2], [3, 4]], [[2, 4], [6, 8]], 0.0, []),
        ([[1, 2], [3, 4]], [[2, 4], [7, 8]], 0.0, [[0, 1, 0]]),
        ([[1, 2], [3, -4]], [[2, 4], [6, 8]], 0.0, [[0, 1, 1]]),
        ([[0], [3], [5]], [[0], [6], [11]], 0.0, [[1, 2, 0]]),
        ([[0], [3]], [[1], [6]], 0.0, [[1, 0, 0]]),
        ([[0], [0]], [[0], [1]], 0.0, [[0, 1, 0]]),
        ([[1], [3]], [[2], [6.4]], 0.5, []),
        ([[1], [3]], [[2], [6.6]], 0.5, [[0, 1, 0]]),
    ],
)
def test_summands_that_change_unlike_the_first(start: Any, moved: Any, rounding: float, unlike: Any) -> None:
    kinds = [float] if rounding else [float, object]
    for kind in kinds:
        assert _unlike(np.array(start, kind), np.array(moved, kind), (0.0, rounding)) == unlike
    # what is 1e-13 of the largest summand is rounding
    assert _unlike(np.array([[1e-13], [1.0], [2.0]]), np.array([[5e-13], [2.0], [4.0]]), (0.0, 0.0)) == []
    tiny = Fraction(1, 10**30)  # exact numbers have no rounding
    exact = np.array([[Fraction(1)], [Fraction(3)]]), np.array([[Fraction(2)], [Fraction(6) + tiny]])
    assert _unlike(*exact, (0.0, 0.0)) == [[0, 1, 0]]


def test_distances_and_bends_of_summands() -> None:
    one = np.ones(2)
    assert _distance(one, np.array([2.0, 6.0])) == pytest.approx(math.log(3))
    assert _distance(one, np.array([6.0, 2.0])) == pytest.approx(math.log(3))
    assert _distance(one, np.array([2.0, -6.0])) == _distance(one, np.array([2.0, 0.0])) == math.inf
    assert _distance(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 0
    power = [np.array([3.0**n, -(0.5**n), 0.0]) for n in range(6)]
    assert _bend(power) == pytest.approx(0, abs=1e-12)
    assert _bend([*power[:2], np.array([27.0, -0.25, 0.0])]) == pytest.approx(math.log(3))
    assert _bend([*power[:2], np.array([9.0, 0.0, 0.0])]) > 1e300


@pytest.mark.parametrize(
    "unit",
    [
        (Fraction(1), Fraction(-2)),
        (Fraction(1, 2), Fraction(0)),
        (Fraction(0), Fraction(5, 3)),
        (Fraction(-4), Fraction(1, 12)),
    ],
)
def test_a_missing_unit_is_read_from_factors(unit: tuple[Fraction, Fraction]) -> None:
    scalings = [
        Scaling(Fraction(2), Fraction(1)),
        Scaling(Fraction(1), Fraction(1, 3)),
        Scaling(Fraction(3, 10), Fraction(17, 10)),
    ]
    factors = {each: float(each.value) ** unit[0] * float(each.length) ** unit[1] for each in scalings}
    assert _missing(factors) == unit
    assert _missing(dict.fromkeys(scalings, 1.0)) is None
    for wrong in (0.0, math.inf, 1.01 * factors[scalings[2]]):
        assert _missing({**factors, scalings[2]: wrong}) is None


def tasks(kind: str) -> Any:
    def make(stream: np.random.Generator) -> Any:
        seed = int(stream.integers(1000))
        if kind == "regression":
            return RegressionMixture.random(clusters=2, clients=6, dimension=2, condition_number=3, seed=seed)
        sizes = {"clusters": 2, "clients": 6, "dimension": 2, "condition_number": 3.0, "seed": seed}
        return (NoisyQuadraticMixture if kind == "noisy" else QuadraticMixture).random(**sizes)

    return drawn(make)


@pytest.mark.parametrize("kind", ["quadratic", "noisy", "regression"])
def test_tasks_are_scaled_by_their_type(kind: str) -> None:
    task = tasks(kind).make(np.random.default_rng(0))
    scaling = Scaling(Fraction(9), Fraction(2))
    copy = image({}, {"task": task}, scaling)["task"]
    model = np.array([0.3, -0.7])
    assert copy.separation == pytest.approx(2 * task.separation)
    assert copy.smoothness == pytest.approx(9 / 4 * task.smoothness)
    np.testing.assert_allclose(copy.expected_loss(2 * model, 1), 9 * task.expected_loss(model, 1))
    np.testing.assert_allclose(copy.expected_gradient(2 * model, 1), 9 / 2 * task.expected_gradient(model, 1))
    if kind != "quadratic":
        np.testing.assert_allclose(
            copy.gradient_variance(2 * model, 1), 81 / 4 * task.gradient_variance(model, 1)
        )


def test_a_statement_about_a_task_with_random_numbers(registry: None) -> None:
    Task = Annotated[QuadraticMixture, tasks("quadratic")]

    def stated(task: Task, stream: Stream, replicates: Replicates, *, power: int) -> Any:
        offsets = task.separation * stream.standard_normal((replicates, 1, 2))
        gaps = task.expected_loss(task.optima[0] + offsets, 0)[:, 0] - task.expected_loss(task.optima[0], 0)
        largest = task.smoothness * task.separation**power
        return {
            "mean": expectation(gaps, at_most=largest),
            "tail": probability(gaps > 20 * largest, at_most=0.5),
            "sure": at_most(gaps, largest=1000 * largest),
        }

    def right(task: Task, stream: Stream, replicates: Replicates) -> Any:
        return stated(task, stream, replicates, power=2)

    def wrong(task: Task, stream: Stream, replicates: Replicates) -> Any:
        return stated(task, stream, replicates, power=1)

    def compared(function: Any) -> Mismatch | str:
        part = Statement("", function, units={}, budget=10, replicates=50)
        return check_units(part, Context(0, None, 1e-9, "toy/one"))

    for function in (right, wrong):
        function.__annotations__ |= {"task": Task, "stream": Stream, "replicates": Replicates}
    assert compared(right) == "both sides have the same units at 3 instances"
    mismatch = compared(wrong)
    assert isinstance(mismatch, Mismatch)
    assert mismatch.sentence.startswith("mean: the right side lacks a factor of the unit length (")
    assert "the left side changes by" in mismatch.sentence
