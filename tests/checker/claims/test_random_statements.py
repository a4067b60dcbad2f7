"""Statements with random numbers: streams of their own, probabilities that hold at once, and several kinds of sides."""

import json
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
from scipy.stats import norm
from toy_claims import Digit, One, decided, stated

from clusterproof import QuadraticMixture, code_of, replay
from clusterproof.checker import Kind
from clusterproof.checker.claims import (
    Expectation,
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    drawn,
    equal,
    expectation,
    integers,
    probability,
)
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.report.decide import decide
from clusterproof.checker.report.tables import to_json
from clusterproof.checker.search.strategy import search

pytestmark = pytest.mark.usefixtures("registry")


def noisy(scale: float, level: float = 0.1, shifts: tuple[float, ...] = (0.0, 1.0)) -> Callable[..., Sides]:
    def tail(shift: Annotated[float, choice(*shifts)], stream: Stream, replicates: Replicates) -> Sides:
        draws = shift + stream.exponential(size=(replicates, 3)).max(axis=1)
        quantile = -np.log(1 - (1 - level) ** (1 / 3))
        return at_most(draws, shift=shift, quantile=scale * quantile, failure=level)

    return tail


def test_a_probability_is_judged_instance_by_instance() -> None:
    verdict = decided(noisy(1.0))
    assert (verdict.verdict, verdict.instances, verdict.trials) == (Kind.CONSISTENT, 2, 800)
    assert 40 < (verdict.failures or 0) < 120
    assert verdict.confidence is not None
    # the claim's error level, divided between two instances
    assert verdict.confidence.level == pytest.approx(1 - 1e-9 / 2, abs=1e-15)
    verdict = decided(noisy(0.4))
    assert (verdict.verdict, verdict.bound) == (Kind.VIOLATED, 0.1)
    assert verdict.measured == pytest.approx((verdict.failures or 0) / 400)


def test_the_instances_that_few_repetitions_looked_at_are_counted_beside_those_that_all_decide() -> None:
    def tail(n: Annotated[int, integers(1, 100)], stream: Stream, replicates: Replicates) -> Sides:
        return at_most(stream.random(replicates), most=0.9, failure=0.1)

    verdict = decided(tail, evaluations=40)
    assert verdict.instances is not None
    start = f"not refuted: the {verdict.instances} most suspicious of 40 instances "
    assert verdict.reason.startswith(start)


def test_the_ratio_of_a_probability_is_where_the_interval_passes() -> None:
    """The stream of a claim of the same name is the same one."""
    found = decided(noisy(1.0, shifts=(0.0,)), replicates=1000).tightness or {}
    factor = 1 / found["quantile"]["ratio"]
    for scale, verdict in (
        (factor * (1 - 1e-4), Kind.VIOLATED),
        (factor * (1 + 1e-6), Kind.CONSISTENT),
    ):
        assert decided(noisy(scale, shifts=(0.0,)), replicates=1000).verdict is verdict


def test_lines_with_one_failure_probability_hold_at_once() -> None:
    def both(one: One, stream: Stream, replicates: Replicates, *, other: float = 0.2) -> dict[str, Sides]:
        uniform = stream.uniform(size=replicates)
        return {
            "low": at_most(-uniform, bound=-0.2, failure=0.2),
            "high": at_most(uniform, bound=0.8, failure=other),
        }

    # each fails in a fifth, one of them in two fifths
    assert decided(both, replicates=3000).verdict is Kind.VIOLATED
    both.__kwdefaults__["other"] = 0.2001
    assert decided(both, replicates=3000).verdict is Kind.CONSISTENT


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.3, Kind.CONSISTENT), (0.15, Kind.VIOLATED), (0.45, Kind.VIOLATED)]
)
def test_an_equal_probability_is_missed_on_both_sides(share: float, verdict: Kind) -> None:
    def event(one: One, stream: Stream, replicates: Replicates) -> Any:
        return probability(stream.uniform(size=replicates) < share, equal=0.3)

    assert decided(event, replicates=2000).verdict is verdict


# ---- streams


def stream_of(seen: list[float]) -> Callable[..., Sides]:
    def random(x: Digit, stream: Stream) -> Sides:
        seen.append(float(stream.uniform()))
        return at_most(0.0, one=1.0)

    return random


def test_an_evaluation_is_a_function_of_the_seed_and_the_instance_under_any_name() -> None:
    first, again, others = [], [], []  # type: ignore[var-annotated]
    decided(stream_of(first), 1)
    decided(stream_of(again), 1)
    assert first == again
    assert len(set(first)) == 10  # instances have streams of their own
    decided(stream_of(others), 2)
    assert len({*first, *others}) == 20
    made = stated(stream_of(again), "other")
    made.step("two")(stream_of(again))
    decide(made, 1)
    assert set(again) == set(first)


# ---- drawn tasks, several kinds of sides


def make_task(stream: np.random.Generator) -> QuadraticMixture:
    clients, seed = int(stream.integers(1, 6)), int(stream.integers(2**31))
    return QuadraticMixture.random(clusters=1, clients=clients, dimension=3, seed=seed)


Task = Annotated[QuadraticMixture, drawn(make_task)]
Size = Annotated[int, integers(1, 3)]


@pytest.mark.parametrize("with_replicates", [False, True])
def test_a_false_statement_about_a_drawn_task_is_found_and_replayed(with_replicates: bool) -> None:
    """Five clients and the magnitude of a standard normal exceed 3 + size for a size of 1, at some of 40 instances."""

    def broken(task: Any, size: int, numbers: Any) -> Sides:
        return at_most(np.abs(numbers).max() + task.clients, size=3 + size)

    def repeated(task: Task, size: Size, stream: Stream, replicates: Replicates) -> Sides:
        return broken(task, size, stream.standard_normal(replicates))

    def single(task: Task, size: Size, stream: Stream) -> Sides:
        return broken(task, size, stream.standard_normal(1))

    chance = decided(repeated if with_replicates else single, evaluations=40)
    assert chance.verdict is Kind.INCONCLUSIVE
    assert "which chance may explain" in chance.reason

    def often(task: Task, size: Size, stream: Stream, replicates: Replicates) -> Any:
        return probability(np.abs(stream.standard_normal(replicates)) + task.clients > 3 + size, at_most=0.1)

    verdict = decided(often, evaluations=40)
    assert verdict.verdict is Kind.VIOLATED
    numbers = json.loads(to_json(verdict.counterexample))
    assert replay("toy/one", numbers).measured == verdict.measured
    assert "toy/one" in str(code_of(verdict))


@pytest.mark.parametrize("wrong", ["probability", "mean", "bound", None])
def test_several_kinds_of_comparison_in_one_statement(wrong: str | None) -> None:
    """Of a standard normal clipped to [-1, 1]: P(|x| = 1) = .317, E x = 0."""

    def kinds(task: Task, stream: Stream, replicates: Replicates) -> Any:
        numbers = np.clip(stream.standard_normal(replicates), -1, 1)
        return {
            "probability": probability(abs(numbers) == 1, at_most=0.2 if wrong == "probability" else 0.45),
            "mean": expectation(numbers, at_most=-0.3 if wrong == "mean" else 0.3, range=(-1, 1)),
            "bound": at_most(abs(numbers), one=0.5 if wrong == "bound" else 1, failure=0.1),
            "identity": equal((task.clients, task.clients)),
        }

    verdict = decided(kinds, replicates=4000, evaluations=3)
    if wrong is not None:
        assert (verdict.verdict, verdict.name) == (Kind.VIOLATED, wrong)
        return
    interval = verdict.lines[0].confidence
    assert interval is not None
    assert interval.lower < 0.3173 < interval.upper


# ---- intervals of expectations


def shifted(count: int, deviations: float) -> np.ndarray:
    """Samples whose mean is above 0 by so many of its standard errors."""
    samples = np.random.default_rng(count).standard_normal(count)
    samples = (samples - samples.mean()) / samples.std(ddof=1)
    return np.asarray(samples + deviations / count**0.5)


@pytest.mark.parametrize(("first", "second"), [(6.3, 6.3), (6.3, 6.16), (6.16, 6.3), (6.3, -6.3)])
def test_both_samples_share_the_error_of_an_asymptotic_interval(first: float, second: float) -> None:
    """Each has a half of 1e-9, for both sides: 6.22 standard errors; with all of it they would be 6.11."""
    calls = []

    def mean(n: One, stream: Stream, replicates: Replicates) -> Expectation:
        calls.append(replicates)
        return expectation(shifted(replicates, first if len(calls) == 1 else second), equal=0)

    least = norm.isf(1e-9 / 2 / 2)
    tried = search(Statement("", mean, replicates=10_000), 0, 1e-9)
    assert (tried.lines[""].found is not None) == (min(first, second) > least > 6.16)
    assert len(calls) == 1 + (first > least)
