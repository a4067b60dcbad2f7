"""Runs against Theorem D: true ones pass, and wrong ones fail."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from plain_tube import plain_tube

from clusterproof.algorithms import CFLMGD, IFCA, InvalidArgument, Trace, run
from clusterproof.synthetic import LogCoshMixture, RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.audit_settings import log_cosh_experiment
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.run_bound import (
    smooth_tube,
    theorem_a_prime_on,
    theorem_d_on,
)
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


def claimed(
    ran: CFLMGD | IFCA, meant: CFLMGD | IFCA = MEANT, *, replicates: int | None = None, **changes: Any
) -> Trace:
    """A run whose record names another algorithm than the one that ran."""
    trace = run(ran, task(**changes), rounds=50, seed=3, replicates=replicates, initial=start())
    return replace(trace, settings=dict(trace.settings) | {"algorithm": meant.settings})


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


def test_single_and_random_starts() -> None:
    single = run(MEANT, task(), rounds=10, seed=0)
    several = run(MEANT, task(), rounds=10, seed=0, replicates=5)
    for trace in (single, several):
        bound = theorem_d_on(task(), trace)
        assert np.broadcast_shapes(bound.bound.shape, np.shape(trace.errors)) == np.shape(trace.errors)
        assert not bound.broken(trace).any()
    initial = task().optima + np.array([0.2, 1.5])[:, None, None] * (start() - task().optima)
    half = replace(MEANT, participation=0.5)
    both = run(half, task(), rounds=4, seed=0, replicates=2, initial=initial)
    bound = theorem_d_on(task(), both)
    for one in range(2):
        rows = {name: getattr(both, name)[:, one] for name in ("models", "assignments", "errors")}
        alone = theorem_d_on(task(), replace(both, **rows))
        np.testing.assert_allclose(bound.bound[:, one], alone.bound, rtol=1e-3)  # W is reused for near inputs


@pytest.mark.parametrize(
    ("ran", "changes"),
    [
        (CFLMGD(step_size=1.0, momentum=0.4), {}),
        (CFLMGD(step_size=1.0, momentum=0.0), {}),
        (CFLMGD(step_size=0.9, momentum=0.5), {}),
        (CFLMGD(step_size=1.2, momentum=0.5), {}),
        (CFLMGD(step_size=1.0, momentum=0.5, normalisation="cluster"), {}),
        (CFLMGD(step_size=1.0, momentum=0.5, update_order="as-printed"), {}),
        (MEANT, {"noise": 1.0}),
    ],
)
def test_a_wrong_run_breaks_it_alone(ran: CFLMGD, changes: dict[str, Any]) -> None:
    trace = claimed(ran, **changes)
    assert theorem_d_on(task(), trace).broken(trace).any()  # failure probability 1e-9: one run decides


def test_ifca_is_cfl_mgd_without_momentum() -> None:
    made = gaussian_dynamics(task(), IFCA(step_size=0.7, participation=0.5))
    assert made.algorithm == CFLMGD(step_size=0.7, momentum=0.0, participation=0.5)


def test_ifca_with_momentum_that_it_should_not_have() -> None:
    trace = claimed(CFLMGD(step_size=1.0, momentum=0.1), IFCA(step_size=1.0))
    assert theorem_d_on(task(), trace).broken(trace).any()


@pytest.mark.slow(reason="a second or more")
def test_partial_participation_with_the_wrong_divisor() -> None:
    half = CFLMGD(step_size=1.0, momentum=0.5, participation=0.5)
    right = run(half, task(), rounds=50, seed=0, replicates=20, initial=start())
    assert not theorem_d_on(task(), right).broken(right).any()
    trace = claimed(replace(half, normalisation="participants"), half)
    assert theorem_d_on(task(), trace).broken(trace).any()


def test_local_steps_that_should_not_be_there() -> None:
    meant = CFLMGD(step_size=0.5, momentum=0.5, averaging="model")
    trace = claimed(CFLMGD(step_size=0.5, momentum=0.5, averaging="model", local_steps=2), meant)
    assert theorem_d_on(task(), trace).broken(trace).any()


def test_misassigned_clients_are_counted_where_they_are_likely() -> None:
    close = task(samples=60, labels=make_labels(4000, 2), noise=1.0)
    trace = run(MEANT, close, rounds=10, seed=0, replicates=10, initial=start())
    bound = theorem_d_on(close, trace)
    assert bound.failure_probability == pytest.approx(1e-9)
    assert not bound.broken(trace).any()
    averaging = CFLMGD(step_size=1.0, momentum=0.5, averaging="model", local_steps=2)
    trace = run(averaging, close, rounds=10, seed=0, initial=start())
    with pytest.raises(InvalidArgument, match="misassignment probability"):
        theorem_d_on(close, trace)


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
    setting = log_cosh_experiment(0.4, 20_000)
    far = run(setting.algorithm, setting.task, rounds=3, initial=setting.task.optima[::-1].copy())
    with pytest.raises(InvalidArgument, match="basin"):
        theorem_a_prime_on(setting.task, far)
    owner = CFLMGD(step_size=1.0, momentum=0.5, momentum_owner="client")
    with pytest.raises(InvalidArgument, match="on the server"):
        theorem_d_on(task(), run(owner, task(), rounds=2, seed=0))


def test_after_the_last_round_d_allows_what_its_statement_does_then() -> None:
    """At kappa = 1 the path of the start has the norm that D counts with: the whole bound is the plain recursion's."""
    few = task(covariance=np.ones(20), samples=1000)
    trace = run(MEANT, few, rounds=12, seed=0, initial=start())
    bound = theorem_d_on(few, trace, failure_probability=0.05)
    reach, last = plain_tube(
        own=np.array([20, 20]),
        samples=1000,
        spectra=np.ones((2, 20)),
        common=True,
        step=1.0,
        momentum=0.5,
        noise=0.5,
        separation=2.0,
        diameter=2.0,
        start=np.full(2, 0.125),
        rounds=12,
        failure=(0.01, 0.02, 0.02),
    )
    assert bound.last is not None
    assert (last < 0.98 * reach[-1]).all()
    np.testing.assert_allclose(bound.last, last, rtol=3e-4)
    np.testing.assert_allclose(bound.bound, [*reach[:-1], last], rtol=3e-4)
    assert bound.failure_probability == pytest.approx(0.05)


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


@pytest.mark.slow(reason="several seconds")
def test_with_little_noise_a_prime_contracts_by_each_cluster_s_share() -> None:
    """By 1 - alpha mu m_p / m each round, with three clients of four and with one."""
    given = {"valley_curvature": 0.1, "width": 0.02, "noise": 1e-4, "samples": 20_000}
    uneven = LogCoshMixture(optima=np.array([[1.0, 0], [-1, 0]]), labels=np.array([0, 0, 0, 1]), **given)  # type: ignore[arg-type]
    plain = CFLMGD(step_size=1.0, momentum=0.0)
    trace = run(plain, uneven, rounds=5, seed=0, initial=uneven.optima + 0.01)
    reach = smooth_tube(uneven, trace, np.array([0.01, 0.02]), (1.0, 0.02, 0.02)).reach
    expected = (1 - 0.1 * np.array([0.75, 0.25])) ** np.arange(6)[:, None] * [0.01, 0.02]
    np.testing.assert_allclose(reach, expected, rtol=1e-3)


def test_after_the_last_round_a_prime_pays_for_no_other_round() -> None:
    """delta_3 belongs to T alone, delta_2 to all rounds: at delta_3 = delta_2 / T both bounds are equal."""
    setting = log_cosh_experiment(0.4, 20_000)
    initial = setting.task.optima + np.array([0.004, 0.01])[:, None, None]
    trace = run(setting.algorithm, setting.task, rounds=20, seed=0, replicates=2, initial=initial)
    distances = np.linalg.norm(trace.models[0] - setting.task.optima, axis=-1).max(axis=0)
    usual, same = (
        smooth_tube(setting.task, trace, distances, (1.0, 0.02, last)) for last in (0.02, 0.02 / 20)
    )
    np.testing.assert_allclose(same.last_reach, same.reach[-1], rtol=1e-7)
    np.testing.assert_allclose(same.reach, usual.reach, rtol=1e-7)
    bound = theorem_a_prime_on(setting.task, trace, failure_probability=0.05)
    assert bound.last is not None
    np.testing.assert_allclose(bound.last, usual.last_reach, rtol=1e-7)
    assert (bound.last < 0.98 * bound.bound[-1]).all()


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
