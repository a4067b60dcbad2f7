"""Additive noise has the covariance that was given; moments and misclassification are those of samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from clusterproof.algorithms import FedAvg, InvalidArgument, run
from clusterproof.synthetic import NoisyQuadraticMixture, QuadraticMixture, strategies

COVARIANCE = np.array([[2.0, 0.6], [0.6, 0.5]])
QUADRATIC = QuadraticMixture.random(
    clusters=2, clients=6, dimension=2, condition_number=3, spread=0.7, separation=2, seed=1
)
PARTS = {"hessians": QUADRATIC.hessians, "centers": QUADRATIC.centers, "labels": QUADRATIC.labels}
TASK = NoisyQuadraticMixture(**PARTS, covariance=COVARIANCE)
DRAWS = 40_000


def test_the_gradients_noise_has_the_given_covariance():
    points = np.broadcast_to(np.array([[1.0, -2.0], [0.3, 0.1]]), (DRAWS, 2, 2))
    clients = np.array([0, 5])
    noise = TASK.gradients(points, clients, np.random.default_rng(0)) - QUADRATIC.gradients(
        points, clients, np.random.default_rng(0)
    )
    for client in range(2):
        # an entry of a sample covariance has a standard deviation of at most sqrt(2 / n) times the largest variance
        np.testing.assert_allclose(np.cov(noise[:, client].T), COVARIANCE, atol=5 * 2 * 2**0.5 / DRAWS**0.5)
        np.testing.assert_allclose(noise[:, client].mean(axis=0), 0, atol=5 * 2**0.5 / DRAWS**0.5)
    across = noise[:, 0].T @ noise[:, 1] / DRAWS
    np.testing.assert_allclose(across, 0, atol=5 * 2 / DRAWS**0.5)


def test_moments_are_those_of_samples_over_clients_and_noise():
    model, stream = np.array([0.4, -0.3]), np.random.default_rng(1)
    clients = np.flatnonzero(TASK.labels == 0)
    models = np.broadcast_to(model, (DRAWS, 1, 2))
    losses = TASK.losses(models, clients, stream)[..., 0]
    points = np.broadcast_to(model, (DRAWS, len(clients), 2))
    gradients = TASK.gradients(points, clients, stream)
    assert losses.mean() == pytest.approx(TASK.expected_loss(model, 0), abs=5 * losses.std() / DRAWS**0.5)
    spread = (losses - losses.mean()) ** 2
    assert TASK.loss_variance(model, 0) == pytest.approx(spread.mean(), abs=5 * spread.std() / DRAWS**0.5)
    away = ((gradients - TASK.expected_gradient(model, 0)) ** 2).sum(axis=-1)
    assert TASK.gradient_variance(model, 0) == pytest.approx(away.mean(), abs=5 * away.std() / DRAWS**0.5)


def test_the_variance_of_losses_is_that_over_clients_and_that_of_the_noise():
    """Var f = Var_i f_i + E_i (x - c_i)' Sigma (x - c_i), and Var g = Var_i g_i + tr Sigma."""
    model, clients = np.array([3.0, -2.0]), np.flatnonzero(QUADRATIC.labels == 1)
    away = model - QUADRATIC.centers[clients]
    gradients = np.einsum("kij,kj->ki", QUADRATIC.hessians[clients], away)
    losses = (gradients * away).sum(axis=-1) / 2
    noise = np.einsum("ki,ij,kj->k", away, COVARIANCE, away).mean()
    assert losses.var() > 0.1 * noise
    assert TASK.loss_variance(model, 1) == pytest.approx(losses.var() + noise)
    assert QUADRATIC.loss_variance(model, 1) == pytest.approx(losses.var())
    spread = gradients.var(axis=0).sum()
    assert TASK.gradient_variance(model, 1) == pytest.approx(spread + np.trace(COVARIANCE))
    assert QUADRATIC.gradient_variance(model, 1) == pytest.approx(spread)


@pytest.mark.parametrize("covariance", [COVARIANCE, np.zeros((2, 2))])
def test_misclassification_is_that_of_samples(covariance):
    task = NoisyQuadraticMixture(**PARTS, covariance=covariance)
    models = np.array([[0.9, 0.2], [-0.4, 0.3]])
    for cluster in range(2):
        clients = np.flatnonzero(task.labels == cluster)
        losses = task.losses(np.broadcast_to(models, (4000, 2, 2)), clients, np.random.default_rng(2))
        wrong = losses[..., cluster] >= losses[..., 1 - cluster]
        chance = task.misclassification_probability(models, cluster)
        assert chance[cluster] == 0
        if not covariance.any():
            assert chance[1 - cluster] == wrong[0].mean()
        # clients are fixed, so that the binomial spread is an upper bound
        assert chance[1 - cluster] == pytest.approx(wrong.mean(), abs=5 * 0.5 / wrong.size**0.5 + 1e-12)


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


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ([[1.0]], "must have the shape"),
        ([[1.0, 2.0], [2.0, 1.0]], "must be positive semidefinite; its smallest eigenvalue is -1"),
        (
            [[1e-14, 2e-14], [2e-14, 1e-14]],
            "must be positive semidefinite; its smallest eigenvalue is -1e-14",
        ),
        ([[1.0, 0.5], [0.0, 1.0]], "must be symmetric; mirrored entries differ"),
        (3.0, "must be a finite array"),
    ],
)
def test_bad_covariances_are_refused(covariance, message):
    with pytest.raises(InvalidArgument, match=f"covariance = .*{message}"):
        NoisyQuadraticMixture(**PARTS, covariance=covariance)


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
    with pytest.raises(InvalidArgument, match="kind = 'two-point'"):
        strategies.wide_mixtures("two-point")


def test_random_quadratics_are_those_without_noise_unless_more_is_asked_for():
    sizes = {"clusters": 2, "clients": 5, "dimension": 3, "seed": 4}
    for asked in ({}, {"condition_number": 3.0, "separation": 0.5, "spread": 0.2, "proportions": [4, 1]}):
        noisy, plain = (kind.random(**sizes, **asked) for kind in (NoisyQuadraticMixture, QuadraticMixture))
        for name in ("hessians", "centers", "labels"):
            np.testing.assert_array_equal(getattr(noisy, name), getattr(plain, name))
        np.testing.assert_allclose(noisy.covariance, 0.1**2 / 3 * np.eye(3), atol=1e-18)
