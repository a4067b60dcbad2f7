"""Option II: the affine recursion by another route, the audit's numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tolerance import assert_close

from clusterproof.theory.exact.affine_rounds import first_order_drift, round_map


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
