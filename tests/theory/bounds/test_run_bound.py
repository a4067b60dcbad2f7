"""Runs against Theorem D: true ones pass, and wrong ones fail."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.run_bound import theorem_d_on
from clusterproof.theory.bounds.setting import setting_of_trace
from clusterproof.theory.bounds.trace_bound import TraceBound

MEANT = CFLMGD(step_size=1.0, momentum=0.5)


def task(**changes: Any) -> RegressionMixture:
    optima = np.zeros((2, 20))
    optima[:, 0] = (1.0, -1.0)
    arguments: dict[str, Any] = {
        "optima": optima,
        "covariance": geometric_spectrum(20, 4.0),
        "labels": make_labels(40, 2),
        "noise": 0.5,
        "samples": 20_000,
    }
    return RegressionMixture(**(arguments | changes))


def start() -> np.ndarray:
    direction = np.random.default_rng(1).standard_normal((2, 20))
    return task().optima + 0.125 * direction / np.linalg.norm(direction, axis=-1, keepdims=True)


@pytest.mark.parametrize("algorithm", [MEANT, IFCA(step_size=1.0), CFLMGD(step_size=0.5, momentum=0.9)])
def test_true_runs_pass(algorithm: CFLMGD | IFCA) -> None:
    trace = run(algorithm, task(), rounds=50, seed=0, replicates=20, initial=start())
    bound = theorem_d_on(task(), trace)
    assert bound.failure_probability <= 1e-9 * (1 + 1e-12)
    assert not bound.broken(trace).any()
    assert bound.reference is not None
    assert bound.reference.shape == trace.models.shape
    loose = np.linalg.norm(trace.models - bound.reference, axis=-1) / bound.deviation
    assert 0.4 < np.nanmax(loose[1:]) < 1


def test_ifca_is_cfl_mgd_without_momentum() -> None:
    made = gaussian_dynamics(task(), IFCA(step_size=0.7, participation=0.5))
    assert made.algorithm == CFLMGD(step_size=0.7, momentum=0.0, participation=0.5)


@pytest.mark.slow(reason="a second or more")
def test_refusals_name_the_hypothesis() -> None:
    trace = run(MEANT, task(), rounds=3, seed=0)
    with pytest.raises(InvalidArgument, match="fresh"):
        theorem_d_on(task(data="fixed"), trace)
    far = run(MEANT, task(), rounds=3, seed=0, initial=task().optima[::-1].copy())
    with pytest.raises(InvalidArgument, match="basin"):
        theorem_d_on(task(), far)
    half = replace(MEANT, participation=0.5)
    far = run(half, task(), rounds=3, seed=0, initial=task().optima[::-1].copy())
    with pytest.raises(InvalidArgument, match="basin"):
        theorem_d_on(task(), far)
    owner = CFLMGD(step_size=1.0, momentum=0.5, momentum_owner="client")
    with pytest.raises(InvalidArgument, match="on the server"):
        theorem_d_on(task(), run(owner, task(), rounds=2, seed=0))
    close = task(samples=60, labels=make_labels(4000, 2), noise=1.0)
    averaging = CFLMGD(step_size=1.0, momentum=0.5, averaging="model", local_steps=2)
    with pytest.raises(InvalidArgument, match="misassignment probability"):
        theorem_d_on(close, run(averaging, close, rounds=10, seed=0, initial=start()))


def test_a_failure_probability_is_split_and_each_cluster_has_its_widest_start() -> None:
    """Of delta_1 + delta_2 a third is delta_1; delta_1 + delta_3 after the last round is as much."""
    lengths = np.array([[0.3, 1.0], [1.2, 0.4], [0.8, 0.7]])[..., None]
    initial = task().optima + lengths * (start() - task().optima)
    setting = setting_of_trace(
        task(), run(MEANT, task(), rounds=2, seed=0, replicates=3, initial=initial), 0.03
    )
    first, rounds, last = setting.failure
    assert (first, first + rounds, first + last) == pytest.approx((0.01, 0.03, 0.03))
    assert setting.start == pytest.approx((1.2 * 0.125, 0.125))


@pytest.mark.parametrize("replicates", [None, 3])
def test_the_sharper_bound_is_compared_after_the_last_round_only(replicates: int | None) -> None:
    trace = run(MEANT, task(), rounds=4, seed=0, replicates=replicates)
    bound = np.linspace(5, 4, 5)[:, None] + np.arange(2)
    for last in (np.array([1.0, 2.0]), np.array([9.0, 2.0])):
        (comparison,) = TraceBound(bound, last=last).compared(trace)
        expected = np.concatenate([bound[:-1], np.minimum(bound[-1:], last)])[:, None]
        np.testing.assert_array_equal(comparison.allowed, np.broadcast_to(expected, comparison.allowed.shape))


def test_each_replicate_has_the_bound_of_its_own_start_and_none_outside_of_the_basin() -> None:
    initial = np.stack([start(), task().optima[::-1], task().optima + 0.5 * (start() - task().optima)])
    some = replace(MEANT, participation=0.75)
    trace = run(some, task(), rounds=3, seed=0, replicates=3, initial=initial)
    bound = theorem_d_on(task(), trace)
    assert bound.last is not None
    assert bound.reference is not None
    assert np.isinf(bound.bound[1:, 1]).all()
    for replicate in (0, 2):
        parts = {name: getattr(trace, name)[:, replicate] for name in ("models", "assignments", "errors")}
        own = theorem_d_on(task(), replace(trace, **parts))
        for name in ("bound", "reference", "deviation"):
            found = getattr(bound, name)[:, replicate]
            np.testing.assert_allclose(found, getattr(own, name), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(bound.last[replicate], own.last, rtol=1e-9)
    assert (bound.last[2] < bound.last[0]).all()
