"""Two-valued noise: closed forms against enumeration, and the inequalities that it attains."""

import itertools
import math

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings

from clusterproof.synthetic import TwoPointMixture, strategies


def two_clients(
    reach: float, *, rarity: float = 0.01, samples: int = 1
) -> tuple[TwoPointMixture, np.ndarray]:
    """Optima 0 and 2, models on the rim towards each other; one rare row is ``reach`` times what errs."""
    models = np.array([[0.5], [1.5]])
    # client 0 errs where z u (0.5 - 1.5) >= (1.5^2 - 0.5^2) / 2 = 1, with z = sqrt((1 - q) / q) once
    rare, common = math.sqrt((1 - rarity) / rarity), -math.sqrt(rarity / (1 - rarity))
    direction = -reach * samples / (rare + (samples - 1) * common)
    task = TwoPointMixture(
        optima=np.array([[0.0], [2.0]]),
        noise_gradients=np.array([direction]),
        centers=np.array([1.0]),
        rarity=rarity,
        labels=np.array([0, 1]),
        samples=samples,
    )
    return task, models


@settings(max_examples=examples(30))
@given(strategies.two_point_mixtures(clusters=(2, 3), samples=(1, 3)))
def test_errors_are_sums_over_all_batches(task: TwoPointMixture) -> None:
    models = task.optima + 0.3
    law = dict(zip(task.noise_values, (task.rarity, 1 - task.rarity), strict=True))
    for cluster in range(task.clusters):
        chances = np.zeros(task.clusters)
        moments = np.zeros(3)
        for batch in itertools.product(law, repeat=task.samples):
            weight = math.prod(law[value] for value in batch)
            z = sum(batch) / task.samples
            tilt = z * (models - task.centers[cluster]) @ task.noise_gradients[cluster]
            losses = task.expected_loss(models, cluster) + tilt
            gap = losses - losses[cluster]
            if np.abs(gap[np.arange(task.clusters) != cluster]).min() < 1e-9:
                return  # a tie, which rounding decides
            chances += weight * (gap <= 0)
            moments += weight * np.array([1.0, z, task.samples * z * z])
        chances[cluster] = 0
        np.testing.assert_allclose(task.misclassification_probability(models, cluster), chances, atol=1e-12)
        np.testing.assert_allclose(moments, [1, 0, 1], atol=1e-9)


@pytest.mark.parametrize("rarity", [0.3, 0.01, 1e-4])
def test_one_row_attains_cantelli(rarity: float) -> None:
    """The difference of the losses has deviation 2 sigma and mean 1: an error has 4 s^2 / (4 s^2 + 1)."""
    task, models = two_clients(1 + 1e-9, rarity=rarity)
    variance = 4 * float(task.loss_variance(models, 0).max())
    error = float(task.misclassification_probability(models, 0)[1])
    assert error == pytest.approx(rarity)
    assert error == pytest.approx(variance / (variance + 1), rel=1e-6)
    task, models = two_clients(1 - 1e-9, rarity=rarity)
    assert float(task.misclassification_probability(models, 0)[1]) == 0


@pytest.mark.parametrize("samples", [1, 2, 5])
def test_rare_jumps_come_near_chebyshev_for_every_number_of_rows(samples: int) -> None:
    task, models = two_clients(1 + 1e-9, rarity=1e-5, samples=samples)
    error = float(task.misclassification_probability(models, 0)[1])
    chebyshev = 4 * float(task.loss_variance(models, 0).max()) / samples
    assert 0.999 < error / chebyshev <= 1


def test_noise_of_even_odds_has_a_norm_of_its_deviation() -> None:
    task = TwoPointMixture.random(clusters=2, clients=4, dimension=3, noise=0.7, rarity=0.5)
    points = task.optima[task.labels]
    noise = task.gradients(points, np.arange(4), np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(noise, axis=-1), 0.7)
