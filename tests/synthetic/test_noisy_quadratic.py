"""Quadratics with additive noise, and with two-valued noise: closed forms against enumeration and recursions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tiers import examples

from clusterproof.algorithms import FedAvg
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.synthetic import NoisyQuadraticMixture, QuadraticMixture, TwoPointMixture, strategies

QUADRATIC = QuadraticMixture.random(
    clusters=2, clients=6, dimension=2, condition_number=3, spread=0.7, separation=2, seed=1
)
PARTS = {"hessians": QUADRATIC.hessians, "centers": QUADRATIC.centers, "labels": QUADRATIC.labels}


def test_without_noise_the_share_of_clients_that_err_is_counted():
    task, models = NoisyQuadraticMixture(**PARTS, covariance=np.zeros((2, 2))), [[0.9, 0.2], [-0.4, 0.3]]
    losses = task.losses(np.array(models), np.arange(task.clients), np.random.default_rng(2))
    for cluster in range(2):
        members = losses[task.labels == cluster]
        expected = np.mean(members[:, cluster] >= members[:, 1 - cluster])
        chance = task.misclassification_probability(models, cluster)
        assert chance[[cluster, 1 - cluster]].tolist() == [0, expected]


def test_gradient_descent_has_the_stationary_variance_of_its_recursion():
    """x+ = (1 - eta) x - eta y-bar has variance eta sigma^2 / (m (2 - eta)) on f = x^2 / 2 with m clients."""
    ones = np.ones(4)
    task = NoisyQuadraticMixture(
        hessians=ones[:, None, None], centers=0 * ones[:, None], covariance=[[9.0]], labels=[0, 0, 0, 0]
    )
    trace = run(FedAvg(step_size=0.5), task, rounds=30, replicates=20_000, initial=np.zeros((1, 1)))
    expected = 0.5 * 9 / 4 / 1.5
    low, high = stats.chi2.ppf([1e-6, 1 - 1e-6], 20_000) / 20_000
    assert low < trace.models[-1].var() / expected < high


def test_a_covariance_that_is_semidefinite_to_rounding_is_taken():
    vectors = np.random.default_rng(0).standard_normal((20, 2))
    covariances = [np.outer(vector, vector) for vector in vectors]
    assert min(np.linalg.eigvalsh(covariance)[0] for covariance in covariances) < 0
    for covariance in covariances:
        assert np.array_equal(NoisyQuadraticMixture(**PARTS, covariance=covariance).covariance, covariance)


@pytest.mark.parametrize("kind", ["quadratic", "noisy-quadratic", "regression"])
def test_wide_mixtures_reach_the_ends_of_their_ranges(kind):
    reached = {"clusters": 0, "dimension": 0, "kappa": 0.0, "near": 9.0, "ratio": 0.0}

    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @given(strategies.wide_mixtures(kind))
    def look(task):
        sizes = np.bincount(task.labels)
        reached["clusters"] = max(reached["clusters"], task.clusters)
        reached["dimension"] = max(reached["dimension"], task.dimension)
        reached["kappa"] = max(reached["kappa"], task.condition_number)
        reached["ratio"] = max(reached["ratio"], sizes.max() / sizes.min())
        reached["near"] = min(reached["near"], task.separation)
        assert task.condition_number <= 1e4 * (1 + 1e-6)
        assert task.separation >= 0.01 * (1 - 1e-9)

    look()
    assert reached["clusters"] >= 8
    assert reached["dimension"] >= 30
    assert reached["kappa"] >= 1000
    assert reached["near"] <= 0.1
    assert reached["ratio"] >= 10


@given(strategies.wide_mixtures(dimension=1))
def test_wide_mixtures_in_one_dimension_have_one_curvature(task):
    assert task.condition_number == 1


def test_wide_mixtures_take_fixed_arguments_and_refuse_other_tasks():
    @settings(max_examples=5, deadline=None, database=None)
    @given(strategies.wide_mixtures("noisy-quadratic", clusters=2, dimension=3, noise=2.0), st.data())
    def look(task, data):
        assert np.trace(task.covariance) == pytest.approx(4)
        assert (task.clusters, task.dimension) == (2, 3)

    look()
    with pytest.raises(InvalidArgument, match="kind is 'two-point'"):
        strategies.wide_mixtures("two-point")


def test_random_quadratics_are_those_without_noise_unless_more_is_asked_for():
    sizes = {"clusters": 2, "clients": 5, "dimension": 3, "seed": 4}
    for asked in ({}, {"condition_number": 3.0, "separation": 0.5, "spread": 0.2, "proportions": [4, 1]}):
        noisy, plain = (kind.random(**sizes, **asked) for kind in (NoisyQuadraticMixture, QuadraticMixture))
        for name in ("hessians", "centers", "labels"):
            np.testing.assert_array_equal(getattr(noisy, name), getattr(plain, name))
        np.testing.assert_allclose(noisy.covariance, 0.1**2 / 3 * np.eye(3), atol=1e-18)


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
