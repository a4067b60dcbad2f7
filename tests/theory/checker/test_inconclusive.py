"""Each reason for *inconclusive*, and next to it a claim of which it is not true."""

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import claim

from clusterproof import theory
from clusterproof.theory import Kind
from clusterproof.theory.checker import (
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    expectation,
    integers,
    probability,
    reals,
    suppose,
)

pytestmark = pytest.mark.usefixtures("registry")

One = Annotated[int, choice(1)]
Unit = Annotated[float, reals(0.0, 1.0)]
Rounds = Annotated[int, integers(1, 40, upwards=True)]


def verdict(function: Callable[..., Any], **how: Any) -> theory.Verdict:
    claim(function, **how)
    return theory.check("toy/one")


def below_one(x: Unit) -> Sides:
    return at_most(x, one=1)


@pytest.mark.parametrize(("budget", "kind"), [(29, Kind.INCONCLUSIVE), (30, Kind.CONSISTENT)])
def test_fewer_than_thirty_instances(budget: int, kind: Kind) -> None:
    found = verdict(below_one, budget=budget)
    assert (found.verdict, found.instances) == (kind, budget)
    assert found.reason.startswith("29 instances are too few") == (budget == 29)


def growing(ratio: Callable[[int], float]) -> Callable[..., Sides]:
    """A statement that cannot be evaluated far beyond the end of its range."""

    def stated(n: Rounds) -> Sides:
        suppose("n <= 80", n <= 80)
        return at_most(ratio(n), one=1.0)

    return stated


@pytest.mark.parametrize(
    ("ratio", "kind"),
    [
        (lambda n: n**2 / 1e6, Kind.INCONCLUSIVE),  # 1 at n = 1000
        (lambda n: n**2 / 1e10, Kind.CONSISTENT),  # 1 at n = 100 000, more than 1000 times the end
        (lambda n: math.log(n) / 8, Kind.INCONCLUSIVE),  # 1 at n = 2981
        (lambda n: math.log(n) / 12, Kind.CONSISTENT),  # 1 at n = 162 755
        (lambda n: 1 - 1 / n, Kind.CONSISTENT),
        (lambda n: 0.9 - 0.5 * n**-0.5, Kind.CONSISTENT),
        (lambda n: 0.99, Kind.CONSISTENT),
    ],
)
def test_a_ratio_that_grows_without_slowing_down(ratio: Callable[[int], float], kind: Kind) -> None:
    found = verdict(growing(ratio), budget=200)
    assert found.verdict is kind
    assert ("grows with n and would pass 1" in found.reason) == (kind is Kind.INCONCLUSIVE)


@pytest.mark.parametrize(("replicates", "kind"), [(400, Kind.INCONCLUSIVE), (10_000, Kind.CONSISTENT)])
def test_a_probability_of_which_twice_could_not_be_seen(replicates: int, kind: Kind) -> None:
    """Of 400 repetitions 8 break a level of .01 where .02 is true, 9 standard deviations less than 1e-9 asks for."""

    def stated(one: One, stream: Stream, replicates: Replicates) -> Sides:
        return at_most(stream.random(replicates), bound=0.995, failure=0.01)

    found = verdict(stated, replicates=replicates)
    assert found.verdict is kind
    assert ("would not show twice the probability 0.01" in found.reason) == (kind is Kind.INCONCLUSIVE)


def test_twice_a_probability_that_is_consistent_is_seen() -> None:
    def stated(one: One, stream: Stream, replicates: Replicates) -> Sides:
        return at_most(stream.random(replicates), bound=0.98, failure=0.01)

    assert verdict(stated, replicates=10_000).verdict is Kind.VIOLATED


@pytest.mark.parametrize(("replicates", "kind"), [(9_999, Kind.INCONCLUSIVE), (10_000, Kind.CONSISTENT)])
def test_an_interval_that_decides_nothing(replicates: int, kind: Kind) -> None:
    def stated(one: One, stream: Stream, replicates: Replicates) -> Any:
        return expectation(stream.standard_normal(replicates), at_most=1.0)

    found = verdict(stated, replicates=replicates)
    assert found.verdict is kind
    assert ("no interval decides anything" in found.reason) == (kind is Kind.INCONCLUSIVE)


@pytest.mark.parametrize(("level", "kind"), [(0.4, Kind.INCONCLUSIVE), (0.5, Kind.CONSISTENT)])
def test_repetitions_that_speak_against_it_together_alone(level: float, kind: Kind) -> None:
    """An event of probability 1/2: 200 of 400 are no proof against .4, 2000 of 4000 are, of each setting and of all."""

    def stated(x: Annotated[int, integers(0, 9)], stream: Stream) -> Any:
        return at_most(stream.random(400), failure=level, bound=0.5)

    found = verdict(stated)
    assert found.verdict is kind
    assert ("all repetitions together speak against it" in found.reason) == (kind is Kind.INCONCLUSIVE)


def test_an_event_that_is_as_likely_as_stated_is_consistent() -> None:
    def stated(one: One, stream: Stream, replicates: Replicates) -> Any:
        return probability(stream.random(replicates) < 0.1, at_most=0.1)

    assert verdict(stated, replicates=2000).verdict is Kind.CONSISTENT


@pytest.mark.parametrize(("limit", "kind"), [(2.0, Kind.INCONCLUSIVE), (0.5, Kind.CONSISTENT)])
def test_hypotheses_that_were_never_met_prove_nothing(limit: float, kind: Kind) -> None:
    def stated(x: Unit) -> Sides:
        suppose("sin(9 x) > limit", math.sin(9 * x) > limit)
        return at_most(x, one=1)

    assert verdict(stated, budget=100).verdict is kind


def spectral_radius(rate: Annotated[float, reals(0.01, 0.9)]) -> tuple[float, float]:
    """Heavy ball with the momentum at which both eigenvalues are sqrt(momentum)."""
    momentum = (1 - rate**0.5) ** 2
    step = np.array([[1 + momentum - rate, -momentum], [1.0, 0.0]], dtype=float)
    return float(np.abs(np.linalg.eigvals(step)).max()), momentum**0.5


def variance(a: Unit, b: Unit) -> tuple[float, float]:
    """The same sum of squares from the mean, by its definition and by the squares."""
    x = np.array([1e6 + float(a), 1e6 + float(b), 1e6])
    return float(((x - x.mean()) ** 2).sum()), float((x**2).sum() - 3 * x.mean() ** 2)


def after_37_rounds(start: Unit) -> tuple[float, float]:
    """Gradient descent with step 1/2 on a quadratic about .7."""
    x, away = float(start), abs(float(start) - 0.7)
    for _ in range(37):
        x -= 0.5 * (x - 0.7)
    return abs(x - 0.7), away / 2**37


def frank_wolfe(optimum: Unit, rounds: Annotated[int, integers(1, 60)]) -> tuple[float, float]:
    """Exact line search on an interval: the optimum is met in the first round, but for rounding."""
    x = 1.0
    for _ in range(rounds):
        vertex = 0.0 if x > optimum else 1.0
        step = min(max((float(optimum) - x) / (vertex - x), 0.0), 1.0)
        x = x + step * (vertex - x)
    return abs(x - float(optimum)), 0.5**rounds


@pytest.mark.parametrize("function", [spectral_radius, variance, after_37_rounds, frank_wolfe])
def test_rounding_is_no_counterexample_and_a_false_factor_is(function: Any) -> None:
    """Of the true statements nothing is said against; .9 of what is allowed is too little but for Frank-Wolfe."""

    def stated(factor: float) -> Callable[..., Sides]:
        def compared(**one: Any) -> Sides:
            measured, allowed = function(**one)
            return at_most(measured, allowed=factor * allowed)

        compared.__annotations__ = function.__annotations__ | {"return": Sides}
        compared.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return compared

    true = verdict(stated(1.0), budget=300)
    assert true.verdict in (Kind.CONSISTENT, Kind.INCONCLUSIVE), true.reason
    assert true.verdict is Kind.CONSISTENT or true.reason.startswith("rounding: ")
    if function is not frank_wolfe:
        theory.REGISTRY.clear()
        assert verdict(stated(0.9), budget=300).verdict is Kind.VIOLATED


def test_the_sums_of_squares_do_differ_in_floats() -> None:
    pairs = [variance(a, b) for a, b in itertools.product(np.linspace(0, 1, 20), repeat=2)]
    assert any(left > right * (1 + 1e-9) for left, right in pairs)
