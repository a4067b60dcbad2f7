"""Limits of the closed forms; ``baselines/`` compares each of them with runs of the algorithms."""

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterproof.synthetic import strategies
from clusterproof.theory.exact import affine_rounds

TOLERANCE = 1e-10

TASKS = strategies.quadratic_mixtures(
    condition_number=(1, 5), separation=(0.5, 3), spread=(0, 1), shared_hessians=False
)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


@settings(max_examples=examples(50))
@given(TASKS, st.floats(0.1, 0.5))
def test_second_order_per_fedavg_with_one_step_minimises_the_loss_after_the_inner_step(task, inner):
    """phi_i(w - alpha grad phi_i(w)) is a quadratic: Hessian (I - alpha A) A (I - alpha A), centre b."""
    shrink = np.eye(task.dimension) - inner * task.hessians
    outer = np.einsum("mij,mjk,mkl->mil", shrink, task.hessians, shrink)
    minimiser = np.linalg.lstsq(outer.sum(axis=0), np.einsum("mij,mj->i", outer, task.centers))[0]
    found = affine_rounds.per_fedavg_rest(
        task.hessians, task.centers, step_size=0.7, inner_step_size=inner, second_order=True
    )
    close(found, minimiser)


@settings(max_examples=examples(50))
@given(TASKS)
def test_limits_of_the_closed_forms(task):
    """One FedAvg step is exact; many give the mean; pull 1 is FedAvg; equal penalties, equal points."""
    hessians, centers, step = task.hessians, task.centers, 1 / task.client_smoothness
    close(affine_rounds.exact_rest(hessians, centers), task.pooled_optimum)
    close(affine_rounds.fedavg_rest(hessians, centers, step_size=step), task.pooled_optimum)
    close(
        affine_rounds.fedavg_rest(hessians, centers, step_size=step, local_steps=5000), centers.mean(axis=0)
    )
    close(
        affine_rounds.fedbcd_separate_rest(hessians, centers, step_size=step, local_steps=3, pull=1.0)[0],
        affine_rounds.fedavg_rest(hessians, centers, step_size=step, local_steps=3),
    )
    close(
        affine_rounds.fedprox_rest(hessians, centers, proximal=0.3, step_size=step / 2, local_steps=5000),
        affine_rounds.fedbcd_rest(hessians, centers, proximal=0.3)[0],
    )


@pytest.mark.parametrize("steps", [2, 20])
def test_local_steps_drift_from_the_exact_optimum(steps):
    """Two clients, A = 1/4 and 1, b = -1 and 1: the exact optimum is 0.6, the drift grows with H."""
    hessians, centers = np.array([[[0.25]], [[1.0]]]), np.array([[-1.0], [1.0]])
    assert affine_rounds.fedavg_rest(hessians, centers, step_size=1.0)[0] == pytest.approx(0.6)
    weight = 1 - 0.75**steps
    found = affine_rounds.fedavg_rest(hessians, centers, step_size=1.0, local_steps=steps)
    assert found[0] == pytest.approx((1 - weight) / (1 + weight))
