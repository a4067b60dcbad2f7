"""The logistic mixture with clients of their own in each replicate, and the law of its random targets."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from clusterproof.synthetic import LogisticMixture

TASK = LogisticMixture.random(
    clusters=3, clients=8, dimension=4, condition_number=20, support=60, proportions=[5, 2, 1], seed=3
)


def test_clients_may_differ_between_replicates():
    population = replace(TASK, data="population")
    clients = np.array([[0, 7], [5, 6]])
    models = np.random.default_rng(0).standard_normal((2, 3, 4))
    found = population.losses(models, clients, np.random.default_rng(0))
    gradients = population.gradients(models[:, :2], clients, np.random.default_rng(0))
    for replicate, position in np.ndindex(2, 2):
        label = TASK.labels[clients[replicate, position]]
        expected = population.expected_loss(models[replicate], label)
        np.testing.assert_allclose(found[replicate, position], expected, rtol=1e-12)
        expected = population.expected_gradient(models[replicate, position], label)
        np.testing.assert_allclose(gradients[replicate, position], expected, rtol=0, atol=1e-12)


def test_drawn_targets_follow_the_logistic_law_of_a_parameter_with_the_given_norm():
    """Stein's identity: for normal x, E yx has the parameter's direction and the length E z tanh(signal z / 2)."""
    rows, signal = 160_000, 1.7
    task = LogisticMixture.random(
        clusters=2, clients=2, dimension=3, condition_number=20, signal=signal, support=rows, seed=0
    )
    length = scipy.stats.norm.expect(lambda z: z * np.tanh(signal * z / 2))
    for features, targets in zip(task.features, task.targets, strict=True):
        assert np.linalg.norm(targets @ features / rows) == pytest.approx(length, abs=5 * math.sqrt(3 / rows))
