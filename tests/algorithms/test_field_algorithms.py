"""Reshuffled passes against all orders, states that memory does not hold, and the batches of Per-FedAvg."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from clusterproof.algorithms import FedAvg, PerFedAvg, ProxSkip, Scaffold, from_method
from clusterproof.algorithms.base import State
from clusterproof.common import InvalidArgument, Randomness
from clusterproof.running import run
from clusterproof.synthetic import LogisticMixture, QuadraticMixture, RegressionMixture

QUADRATIC = QuadraticMixture.random(clusters=1, clients=5, dimension=3, spread=0.5)


def enumerate_passes(rows, targets, ridge, start, step_size):
    """Ends of a pass over a client's rows in each of their orders."""
    ends = []
    for order in permutations(range(len(rows))):
        point = start
        for j in order:
            margin = targets[j] * (rows[j] @ point)
            point = point - step_size * (-targets[j] * rows[j] / (1 + np.exp(margin)) + ridge * point)
        ends.append(point)
    return np.stack(ends)


def test_a_reshuffled_pass_is_one_of_the_enumerated_orders_and_uniform():
    """Two clients with three samples: a round ends at one of 36 points; each is as likely as the others."""
    task = LogisticMixture.random(clusters=2, clients=2, dimension=2, support=3, data="population", seed=1)
    made, start = FedAvg(step_size=0.6, reshuffle=True, server_step_size=0.8), np.array([[0.7, -0.4]])
    found = run(made, task, rounds=1, initial=start, replicates=3600).models[1, :, 0]
    ends = [
        enumerate_passes(task.features[p], task.targets[p], task.ridge, start[0], 0.6) for p in task.labels
    ]
    means = (ends[0][:, None] + ends[1][None]).reshape(36, 2) / 2
    expected = start + 0.8 * (means - start)
    distances = np.abs(found[:, None] - expected).max(axis=-1)
    assert distances.min(axis=1).max() <= 1e-12
    counts = np.bincount(distances.argmin(axis=1), minlength=36)
    # 100 expected of each: chi^2 with 35 degrees of freedom exceeds 100 with a probability of 3e-8
    assert ((counts - 100) ** 2 / 100).sum() < 100
    assert counts.min() > 0


def test_proxskip_communicates_with_its_probability():
    algorithm, start = ProxSkip(step_size=0.5, probability=0.3), np.ones((1, 3))
    trace = run(algorithm, QUADRATIC, rounds=1, replicates=4000, initial=start, record=("personal",))
    met = (trace.recorded["personal"][1] == trace.models[1]).all(axis=(1, 2))
    assert stats.binomtest(int(met.sum()), 4000, 0.3).pvalue > 1e-6


@pytest.mark.parametrize("kind", [Scaffold, ProxSkip])
def test_a_state_of_more_than_half_of_the_memory_is_refused_with_its_size(kind, monkeypatch):
    """Five clients with three numbers of eight bytes: 120 bytes, of a memory of 239 and of 240."""
    made, start = kind(step_size=0.1), np.zeros((1, 3))
    monkeypatch.setattr(from_method, "_memory", lambda models: 240)
    assert isinstance(made.initialise(start, QUADRATIC), State)
    monkeypatch.setattr(from_method, "_memory", lambda models: 239)
    with pytest.raises(
        InvalidArgument, match=r"state of 1\.12e-07 GiB.* half of the memory of 2\.23e-07 GiB"
    ):
        made.initialise(start, QUADRATIC)


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
