"""Per-FedAvg's three batches, and its personal step."""

import numpy as np
import pytest

from clusterproof.algorithms import PerFedAvg
from clusterproof.common import Randomness
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture

NOISY = RegressionMixture.random(clusters=1, clients=1, dimension=2, condition_number=3, noise=0.5, samples=5)


@pytest.mark.parametrize("gradient", ["first-order", "second-order"])
def test_the_three_batches_are_independent(gradient):
    """With independent batches the mean step is the product of the mean Hessians: E[H''] E[A'] E[v]."""
    alpha, beta, replicates = 0.8, 1.0, 40_000
    start = NOISY.optima + np.array([[1.0, 2.0]])
    algorithm = PerFedAvg(step_size=beta, inner_step_size=alpha, gradient=gradient)
    trace = run(algorithm, NOISY, rounds=1, replicates=replicates, initial=start)
    steps = (trace.models[0] - trace.models[1])[:, 0]
    curvature = NOISY.covariances.matrices[0]
    shrink = np.eye(2) - alpha * curvature
    expected = beta * curvature @ shrink @ np.array([1.0, 2.0])
    if gradient == "second-order":
        expected = shrink @ expected
    errors = steps.std(axis=0) / np.sqrt(replicates)
    assert (np.abs(steps.mean(axis=0) - expected) < 5 * errors).all()


def test_personalising_takes_one_inner_step():
    task = RegressionMixture.random(clusters=2, clients=4, dimension=2, data="population")
    points = np.zeros((4, 2))
    moved = PerFedAvg(step_size=0.1, inner_step_size=0.5).personalise(
        points, np.arange(4), task, Randomness.from_seed(0)
    )
    gradients = [task.expected_gradient(np.zeros(2), label) for label in task.labels]
    np.testing.assert_allclose(moved, -0.5 * np.array(gradients), rtol=1e-14)
