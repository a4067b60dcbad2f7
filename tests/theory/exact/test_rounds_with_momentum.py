"""Option II: the affine recursion by another route, the audit's numbers."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planting import planted
from tolerance import assert_close

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory import Kind
from clusterproof.theory.exact import affine_rounds, heavy_ball
from clusterproof.theory.exact.affine_rounds import drift_constant, first_order_drift, round_map


def test_numbers_of_the_audit() -> None:
    def rate(momentum: float) -> float:
        hessians = np.array([[[0.01]], [[1.0]]])
        return round_map(hessians, np.zeros((2, 1)), step_size=1.0, momentum=momentum, local_steps=5).rate

    assert rate(0.9) == pytest.approx(1.3307, abs=1e-4)
    assert rate(0.8) == pytest.approx(1.058, abs=1e-3)
    assert drift_constant(0.0, 5) == 2.0
    assert drift_constant(0.0, 20) == 9.5
    assert drift_constant(0.7, 2) == 0.5
    assert drift_constant(0.9, 5) == pytest.approx(3.71, abs=0.005)
    assert drift_constant(0.9, 20) == pytest.approx(44.5, abs=0.05)


def test_the_divergence_is_real_and_reset_cures_it() -> None:
    """Audit: |chi| .5 -> 5.82 (10 rounds) -> 1.8e3 (30) -> 9.3e6 (60)."""
    task = QuadraticMixture(
        hessians=np.array([[[0.01]], [[1.0]]]), centers=np.zeros((2, 1)), labels=np.zeros(2, dtype=int)
    )
    algorithm = CFLMGD(step_size=1.0, momentum=0.9, averaging="model", local_steps=5)
    sizes = np.abs(run(algorithm, task, rounds=60, initial=np.array([[0.5]])).models[:, 0, 0])
    assert sizes[[10, 30, 60]] == pytest.approx([5.82, 1.8e3, 9.3e6], rel=0.03)
    tamed = dataclasses.replace(algorithm, reset_momentum=True)
    assert np.abs(run(tamed, task, rounds=200, initial=np.array([[0.5]])).models[-1, 0, 0]) < 0.05


def test_equal_hessians_have_no_drift_and_the_rate_of_one_client() -> None:
    rng = np.random.default_rng(0)
    hessian = np.diag([0.3, 1.0])
    centers = rng.standard_normal((4, 2))
    one = round_map(np.stack([hessian] * 4), centers, step_size=0.7, momentum=0.6, local_steps=5)
    assert_close(one.fixed_point[:2], centers.mean(axis=0))
    alone = round_map(hessian[None], centers[:1], step_size=0.7, momentum=0.6, local_steps=1)
    assert one.rate == pytest.approx(alone.rate**5, rel=1e-9)


@given(seed=st.integers(0, 10_000), local_steps=st.integers(2, 6))
def test_fixed_point_without_momentum_is_the_known_one(seed: int, local_steps: int) -> None:
    """chi_inf = [sum P_i]^-1 sum P_i c_i with P_i = I - (I - eta A_i)^H."""
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((3, 2, 2))
    hessians = roots @ np.swapaxes(roots, 1, 2) + 0.1 * np.eye(2)
    hessians /= np.linalg.eigvalsh(hessians).max()
    centers = rng.standard_normal((3, 2))
    one = round_map(
        hessians, centers, step_size=0.9, momentum=0.0, local_steps=local_steps, reset_momentum=True
    )
    weights = np.eye(2) - np.stack(
        [np.linalg.matrix_power(np.eye(2) - 0.9 * each, local_steps) for each in hessians]
    )
    expected = np.linalg.solve(weights.sum(axis=0), np.einsum("nij,nj->i", weights, centers))
    np.testing.assert_allclose(one.fixed_point, expected, atol=1e-9)


def test_no_drift_with_one_local_step() -> None:
    rng = np.random.default_rng(1)
    hessians = np.stack([np.diag([0.2, 1.0]), np.diag([0.9, 0.4])])
    drift = first_order_drift(hessians, rng.standard_normal((2, 2)), momentum=0.5, local_steps=1)
    np.testing.assert_array_equal(drift, np.zeros(2))


@pytest.mark.parametrize("momentum", [0.0, 0.6])
def test_the_drift_is_the_derivative_of_the_fixed_point(momentum: float) -> None:
    """At steps of 1e-4 and 2e-4, extrapolated, so that what is left is of their square."""
    hessians = np.stack([np.diag([0.2, 1.0]), np.array([[0.9, 0.2], [0.2, 0.4]]), np.eye(2)])
    centers = np.array([[1.0, 2.0], [-1.0, 0.5], [0.0, -3.0]])
    optimum = np.linalg.solve(hessians.sum(axis=0), np.einsum("nij,nj->i", hessians, centers))
    one, two = (
        (
            round_map(hessians, centers, step_size=step, momentum=momentum, local_steps=3).fixed_point[:2]
            - optimum
        )
        / step
        for step in (1e-4, 2e-4)
    )
    drift = first_order_drift(hessians, centers, momentum=momentum, local_steps=3)
    np.testing.assert_allclose(drift, 2 * one - two, rtol=0, atol=1e-5)


@pytest.mark.slow(reason="several seconds")
def test_wrong_recursions_are_violated(plant: Callable[..., Any]) -> None:
    """Planted: momentum not averaged; the drift without momentum's share; a reset that is none."""

    def forgetful(*args: np.ndarray, **options: object) -> object:
        return round_map(*args, **{**options, "reset_momentum": True})

    def keeping(*args: np.ndarray, **options: object) -> object:
        return round_map(*args, **{**options, "momentum": 0.5})

    for wrong in (forgetful, keeping):
        with planted(affine_rounds, "round_map", wrong):
            assert theory.check("cfl-mgd/model-averaging-recursion", evaluations=10).verdict is Kind.VIOLATED
    plant(
        affine_rounds,
        "first_order_drift",
        lambda *args, **options: first_order_drift(*args, **{**options, "momentum": 0.0}),
    )
    assert theory.check("cfl-mgd/model-averaging-drift", evaluations=10).verdict is Kind.VIOLATED
    true = heavy_ball.propagators
    plant(heavy_ball, "propagators", lambda *args: tuple(0.9 * part for part in true(*args)))
    assert theory.check("cfl-mgd/model-averaging-reset", evaluations=60).verdict is Kind.VIOLATED
