"""The logistic mixture by going through a cluster's rows, and the law of its random targets."""

import math

import numpy as np
import pytest
import scipy.stats

from clusterproof.synthetic import LogisticMixture

TASK = LogisticMixture.random(
    clusters=3, clients=8, dimension=4, condition_number=20, support=60, proportions=[5, 2, 1], seed=3
)


def row_losses(cluster, model):
    """Written out row by row with the log of a sum of exponentials."""
    rows = zip(TASK.features[cluster], TASK.targets[cluster], strict=True)
    return [math.log1p(math.exp(-y * (x @ model))) + TASK.ridge / 2 * (model @ model) for x, y in rows]


def row_gradients(cluster, model):
    rows = zip(TASK.features[cluster], TASK.targets[cluster], strict=True)
    return np.array([-y * x / (1 + math.exp(y * (x @ model))) + TASK.ridge * model for x, y in rows])


def test_clients_may_differ_between_replicates():
    population = LogisticMixture(
        features=TASK.features,
        targets=TASK.targets,
        ridge=TASK.ridge,
        labels=TASK.labels,
        samples=1,
        data="population",
    )
    clients = np.array([[0, 7], [5, 6]])
    models = np.random.default_rng(0).standard_normal((2, 3, 4))
    found = population.losses(models, clients, np.random.default_rng(0))
    gradients = population.gradients(models[:, :2], clients, np.random.default_rng(0))
    for replicate, position in np.ndindex(2, 2):
        label = TASK.labels[clients[replicate, position]]
        expected = [np.mean(row_losses(label, model)) for model in models[replicate]]
        np.testing.assert_allclose(found[replicate, position], expected, rtol=1e-12)
        expected = row_gradients(label, models[replicate, position]).mean(axis=0)
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
