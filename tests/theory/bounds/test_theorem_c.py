"""Theorems C and C': against independent computations, the audit's tightness, planted faults."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from catalogue import decided
from tiers import slow_after

from clusterproof import theory
from clusterproof.theory.bounds import theorem_c, theorem_c_prime
from clusterproof.theory.bounds.audit_settings import experiment, run_errors, starting_models
from clusterproof.theory.bounds.bound_parts import BoundParts
from clusterproof.theory.bounds.theorem_c import (
    departure_probability,
    oracle_moments,
    theorem_c_parts,
)
from clusterproof.theory.bounds.theorem_c_prime import cluster_bound, theorem_c_prime_parts
from clusterproof.theory.checker.verdict import Kind

AUDIT = {  # section 6.2: bound / observed 95 % quantile, least and largest over clusters
    ("S1", 0.0): ((5.15, 5.18), (1.46, 1.47)),
    ("S1", None): ((5.2, 5.2), (1.62, 1.63)),
    ("S3", None): ((6.9, 7.0), (3.07, 3.14)),
}


@pytest.mark.parametrize(("name", "momentum"), slow_after(1, "200 runs of further settings", AUDIT))
def test_tightness_of_the_audit(name: str, momentum: float | None) -> None:
    for parts_of, expected in zip(
        (theorem_c_parts, theorem_c_prime_parts), AUDIT[name, momentum], strict=True
    ):
        setting = experiment(name, momentum)
        initial = starting_models(setting, 0, 200, "test")
        errors, parts = (
            run_errors(setting, 0, initial),
            parts_of(setting.regression, setting.algorithm, initial, setting.rounds),
        )
        assert parts.applicable
        broken = (errors > (1 + 1e-9) * parts.all_rounds).any(axis=(0, 2))
        assert broken.mean() <= parts.all_rounds_failure
        ratio = np.quantile(parts.last_round / errors[-1], 0.05, axis=0).min()
        assert ratio == pytest.approx(expected[0], rel=0.08)


def test_departure_by_hand() -> None:
    setting = experiment("S1", 0.0)
    start = setting.task.optima + 0.25 * np.eye(20)[:2]
    moments = oracle_moments(setting.regression, setting.algorithm, start, 3)
    # kappa = 1: Pi_t = (1/2)^t; variance by the scalar recursion summed over 20 equal coordinates
    assert moments.mean[:, 0] == pytest.approx(0.25 * 0.5 ** np.arange(4))
    rows = 0.5 * 100 * 1000
    total = second = 0.25**2
    for t in range(3):
        second = 0.25 * second + 0.25 / rows * ((1 + 20) * second + 0.25 * 20)
        total = second - (0.25 * 0.5 ** (t + 1)) ** 2
        assert moments.variance[t + 1, 0] == pytest.approx(total, rel=1e-9)
    probability = departure_probability(setting.regression, moments)
    assert 0 < probability < 1e-3
    assert departure_probability(dataclasses.replace(setting.regression, samples=2), moments) > 0.5


def test_c_prime_is_logarithmic_and_c_is_not() -> None:
    setting = experiment("S1", None)
    initial = setting.initial(np.random.default_rng(0), 1)[0]

    def bounds(failure: float) -> tuple[float, float]:
        args = (setting.regression, setting.algorithm, initial, setting.rounds, failure)
        return float(theorem_c_parts(*args).last_round[0]), float(theorem_c_prime_parts(*args).last_round[0])

    (loose, sharp), (looser, sharper) = bounds(1e-2), bounds(1e-6)
    assert looser / loose > 50
    assert sharper / sharp < 2.5


@pytest.mark.parametrize("parts_of", [theorem_c_parts, theorem_c_prime_parts])
def test_a_failure_probability_of_one_or_more_is_no_bound(parts_of: Any) -> None:
    setting = experiment("S1", 0.0)
    start = setting.task.optima + 0.25 * np.eye(20)[:2]
    moments = oracle_moments(setting.regression, setting.algorithm, start, 3)
    departing = float(departure_probability(setting.regression, moments).max())
    for failure in (1 - 2 * departing, 1 - departing / 2):
        parts = parts_of(setting.regression, setting.algorithm, start, 3, failure)
        assert parts.last_round_failure == pytest.approx(failure + departing)
        assert parts.applicable == (failure + departing < 1)


def test_no_rate_below_one_gives_no_bound() -> None:
    setting = experiment("S1", None)
    poor = dataclasses.replace(setting.regression, samples=1)
    factor, noise = cluster_bound(poor, setting.algorithm, 0, 12, 0.05)
    assert np.isinf(factor).all()
    assert np.isinf(noise).all()
    initial = setting.initial(np.random.default_rng(0), 1)[0]
    assert not theorem_c_prime_parts(poor, setting.algorithm, initial, 12).applicable


@pytest.mark.parametrize(
    ("module", "name", "claim_id"),
    [
        (theorem_c, "theorem_c_parts", "cfl-mgd/theorem-c"),
        (theorem_c_prime, "theorem_c_prime_parts", "cfl-mgd/theorem-c-prime"),
    ],
)
def test_a_floor_that_is_too_small_is_violated(
    module: Any, name: str, claim_id: str, plant: Callable[..., Any]
) -> None:
    true = getattr(module, name)

    def small(*arguments: Any) -> BoundParts:
        parts = true(*arguments)
        return dataclasses.replace(
            parts, last_round=parts.mean[-1] + 0.1 * (parts.last_round - parts.mean[-1])
        )

    plant(module, name, small)
    assert decided(claim_id, trials=60).verdict is Kind.VIOLATED


def test_theorem_c_on_stored_runs() -> None:
    from clusterproof.algorithms import run

    setting = experiment("S1", None)
    trace = run(setting.algorithm, setting.task, rounds=12, seed=3, replicates=40)
    theory.assert_holds("cfl-mgd/theorem-c", setting.task, trace)
    slow = dataclasses.replace(trace, errors=np.asarray(trace.errors) + 1.0)
    with pytest.raises(AssertionError, match="40 of 40 replicates"):
        theory.assert_holds("cfl-mgd/theorem-c", setting.task, slow)
    assert math.isfinite(float(np.asarray(trace.errors).max()))
