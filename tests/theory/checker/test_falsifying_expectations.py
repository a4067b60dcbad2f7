"""Bounds on expectations over the replicates of a run: true ones stand at every seed, false ones fall."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from clusterproof import FedAvg, InvalidArgument, Trace, Verdict, expectation, falsify
from clusterproof.synthetic import RegressionMixture, strategies
from clusterproof.theory.checker.expectation import Expectation, replicates_to_try
from clusterproof.theory.checker.falsifying import BUDGET

STEP = 0.1
TASKS = strategies.regression_mixtures(clusters=1, clients=1, dimension=1, samples=1, noise=(0.5, 1))
MORE = pytest.mark.slow(reason="more seeds")


def second_moment(task: RegressionMixture, rounds: int) -> np.ndarray:
    """E |x_t - theta|^2 from distance 1, for x - eta a (a (x - theta) - s z), a and z normal: E a^4 = 3."""
    moments = [1.0]
    for _ in range(rounds):
        moments.append((1 - 2 * STEP + 3 * STEP**2) * moments[-1] + STEP**2 * task.noise**2)
    return np.array(moments)[:, None]


def search(sense: str, factor: float, seed: int, replicates: int | None = 10_000) -> Verdict:
    def bound(task: RegressionMixture, trace: Trace) -> Expectation:
        squares = np.moveaxis(np.asarray(trace.errors) ** 2, 1, 0)
        return expectation(squares, **{sense: factor * second_moment(task, trace.rounds)})

    return falsify(
        bound, algorithm=FedAvg(step_size=STEP), tasks=TASKS, rounds=2,
        starts=lambda task: st.just(task.optima + 1), budget=4, replicates=replicates, seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 50), marks=MORE)])
@pytest.mark.parametrize("sense", ["at_most", "at_least", "equal"])
def test_the_exact_second_moment_of_sgd_is_not_violated(sense: str, seeds: range) -> None:
    for seed in seeds:
        verdict = search(sense, 1.0, seed)
        assert verdict.verdict == "consistent", verdict.reason
        # at some seeds one replicate has more than a hundredth of the sum of squares
        assert seed > 0 or "not exercised" not in verdict.reason


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 8), marks=MORE)])
@pytest.mark.parametrize(("sense", "factor"), [("at_most", 0.8), ("at_least", 1.25), ("equal", 0.8)])
def test_what_is_a_fifth_off_is_violated_by_a_run_that_can_be_pasted(
    sense: str, factor: float, seeds: range
) -> None:
    for seed in seeds:
        verdict = search(sense, factor, seed)
        if seed > 0 and "not exercised" in verdict.reason:
            continue  # one replicate has more than a hundredth of the sum of squares
        assert verdict.verdict == "violated", verdict.reason
        example = verdict.counterexample
        assert example is not None
        names: dict[str, Any] = {}
        exec(example["code"], names)
        estimates = (np.asarray(names["trace"].errors) ** 2).mean(axis=1)
        assert np.isclose(estimates, verdict.measured, rtol=1e-12).any()
        assert example["seed"] == seed + 1  # the sample that confirms, not the one that chose the run


def test_replicates_are_for_expectations_and_the_reverse() -> None:
    with pytest.raises(InvalidArgument, match="replicates = None: must be given for an expectation"):
        falsify(
            lambda task, trace: expectation(trace.errors[0], at_most=1.0),
            algorithm=FedAvg(step_size=STEP), tasks=TASKS, rounds=1,
        )  # fmt: skip
    with pytest.raises(InvalidArgument, match="replicates = 9: must be left out"):
        falsify(
            lambda task, trace: 1.0, algorithm=FedAvg(step_size=STEP), tasks=TASKS, rounds=1, replicates=9
        )


def test_a_rare_event_and_too_few_replicates_decide_nothing() -> None:
    """An event of probability 1e-4 is absent from a third of the samples of 10 000: they show no expectation."""

    def rarely(task: RegressionMixture, trace: Trace) -> Expectation:
        far = np.asarray(trace.errors)[-1] > 5.0
        return expectation(far.astype(float), at_most=1e-7)

    for replicates in (1_000, 10_000):
        verdict = falsify(
            rarely, algorithm=FedAvg(step_size=STEP), tasks=TASKS, rounds=1, budget=3, replicates=replicates,
            starts=lambda task: st.just(task.optima + 1),
        )  # fmt: skip
        assert verdict.verdict == "inconclusive"
        assert "not exercised" in verdict.reason


@pytest.mark.parametrize(
    ("factor", "most", "verdict"),
    [
        (0.8, [10_000, 80_000], "violated"),
        (0.99, [40_000, 80_000], "violated"),
        (1.0, [80_000], "consistent"),
    ],
)
def test_replicates_double_until_the_interval_decides(factor: float, most: list[int], verdict: str) -> None:
    """Squared errors of deviation 29 %: 1 % is 3.5 standard errors of 10 000 replicates, and 7 of 40 000."""
    sizes = []

    def bound(task: RegressionMixture, trace: Trace) -> Expectation:
        sizes.append(trace.models.shape[1])
        squares = np.asarray(trace.errors)[1, :, 0] ** 2
        return expectation(squares, at_most=factor * second_moment(task, 1)[1, 0])

    task = RegressionMixture.random(clusters=1, clients=1, dimension=1, samples=1, noise=1.0, seed=0)
    found = falsify(
        bound, algorithm=FedAvg(step_size=STEP), tasks=task, rounds=1, replicates=80_000,
        starts=lambda task: st.just(task.optima + 1),
    )  # fmt: skip
    assert found.verdict == verdict
    # the first sample is as large as it must be, and what it breaks is drawn again with all replicates
    assert set(sizes) == {*replicates_to_try(most[0]), most[-1]}
    if found.confidence is not None:  # three searches of the default budget, four sizes, and twice each
        assert 3 * BUDGET * 4 * 2 * (1 - found.confidence.level) <= 1e-9 * (1 + 1e-3)
    if found.counterexample is not None:
        assert found.counterexample["replicates"] in sizes
        assert f"replicates={found.counterexample['replicates']}" in found.counterexample["code"]


def test_the_code_of_a_single_number_names_no_entry() -> None:
    def bound(task: RegressionMixture, trace: Trace) -> Expectation:
        return expectation(np.asarray(trace.errors)[-1, :, 0] ** 2, at_most=0.5)

    verdict = falsify(
        bound, algorithm=FedAvg(step_size=STEP), tasks=TASKS, rounds=1, replicates=10_000,
        starts=lambda task: st.just(task.optima + 1), budget=1,
    )  # fmt: skip
    assert verdict.counterexample is not None
    assert "# expectation: estimate" in verdict.counterexample["code"]


@pytest.mark.parametrize("bounds", [None, (0, np.inf)])
def test_a_run_that_diverges_breaks_a_bound_on_its_expectation(bounds: Any) -> None:
    verdict = falsify(
        lambda task, trace: expectation(np.asarray(trace.errors)[-1] ** 2, at_most=1.0, range=bounds),
        algorithm=FedAvg(step_size=1e160),
        tasks=TASKS,
        rounds=1,
        replicates=100,
        budget=2,
    )
    assert verdict.verdict == "violated"
    assert "not finite among 100 replicates" in verdict.reason


def test_a_run_without_randomness_decides_nothing_without_a_range() -> None:
    verdict = falsify(
        lambda task, trace: expectation(np.asarray(trace.errors)[0], at_most=0.0),
        algorithm=FedAvg(step_size=STEP),
        tasks=TASKS,
        rounds=1,
        replicates=10_000,
        budget=2,
        starts=lambda task: st.just(task.optima + 1),
    )
    assert verdict.verdict == "inconclusive"
    assert "all replicates are equal" in verdict.reason
    assert verdict.sharpness is None
