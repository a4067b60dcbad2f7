"""What every task says of itself, against brute force; and exact probabilities of preferring a wrong model."""

import itertools
import math
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from clusterproof.common import InvalidArgument
from clusterproof.synthetic import QuadraticMixture, RegressionMixture, strategies
from clusterproof.synthetic.misclassification import pairwise_error, worst_case_error, worst_case_threshold

REGRESSION = strategies.regression_mixtures(smoothness=(0.2, 3), data=("population",))
QUADRATIC = strategies.quadratic_mixtures(smoothness=(0.2, 3), spread=(0, 2), shared_hessians=False)
LOGISTIC = strategies.logistic_mixtures(data=("population",))
ANY = REGRESSION | QUADRATIC | LOGISTIC


def population_gradient(task, clients, model):
    points = np.broadcast_to(model, (len(clients), len(model)))
    return task.gradients(points, np.array(clients), np.random.default_rng(0)).mean(axis=0)


def differences(function, model, step=1e-6):
    """Central differences of a function of one model."""
    units = np.eye(len(model)) * step
    return np.array([(function(model + unit) - function(model - unit)) / (2 * step) for unit in units])


@settings(max_examples=examples(40))
@given(QUADRATIC)
def test_the_client_smoothness_is_the_least_common_lipschitz_constant_of_the_clients_gradients(task):
    constants = [
        np.linalg.norm(differences(partial(population_gradient, task, [i]), np.zeros(task.dimension), 1.0), 2)
        for i in range(task.clients)
    ]
    assert task.client_smoothness == pytest.approx(max(constants), rel=1e-10)


@settings(max_examples=examples(40))
@given(ANY)
def test_proportions_and_distances_are_counted(task):
    counts = [task.labels.tolist().count(cluster) for cluster in range(task.clusters)]
    assert task.proportions == pytest.approx(np.array(counts) / task.clients, rel=1e-14)
    pairs = itertools.combinations(task.optima, 2)
    gaps = [float(np.sqrt(((one - two) ** 2).sum())) for one, two in pairs]
    assert task.separation == pytest.approx(min(gaps, default=np.inf), rel=1e-13)
    assert task.diameter == pytest.approx(max(gaps, default=0.0), rel=1e-13)
    radius = 0.25 * np.sqrt(task.strong_convexity / task.smoothness) * task.separation
    assert task.basin_radius == pytest.approx(radius, rel=1e-13)
    np.testing.assert_array_equal(task.client_optima, [task.optima[label] for label in task.labels])


@settings(max_examples=examples(40))
@given(REGRESSION | QUADRATIC, st.integers(1, 4), st.integers(0, 3))
def test_runs_start_where_the_docstring_says(task, count, seed):
    start = task.initial_models(count, (3,), np.random.default_rng(seed))
    assert start.shape == (3, count, task.dimension)
    if task.clusters == 1:
        centers, radius = task.optima[0], 1.0
    elif count == task.clusters:
        centers, radius = task.optima, 0.5 * task.basin_radius
    else:
        centers, radius = task.pooled_optimum, 0.5 * task.separation
    assert np.linalg.norm(start - centers, axis=-1) == pytest.approx(np.full((3, count), radius))


@settings(max_examples=examples(40))
@given(QUADRATIC, st.integers(0, 5))
def test_quadratic_clients_that_err_are_counted(task, seed):
    models = np.random.default_rng(seed).standard_normal((task.clusters, task.dimension))
    losses = task.losses(models, np.arange(task.clients), None)
    for cluster in range(task.clusters):
        members = losses[task.labels == cluster]
        mistakes = (members[:, [cluster]] >= members).mean(axis=0) * (np.arange(task.clusters) != cluster)
        found = task.misclassification_probability(models, cluster)
        np.testing.assert_allclose(found, mistakes, rtol=0, atol=1e-15)


def test_a_tie_counts_as_a_misclassification():
    task = QuadraticMixture(hessians=np.ones((2, 1, 1)), centers=[[0.0], [3.0]], labels=[0, 1])
    assert task.misclassification_probability(np.array([[1.0], [-1.0]]), 0).tolist() == [0, 1]


def test_spread_moves_clients_but_not_their_clusters_optimum():
    kept = {"clusters": 2, "clients": 400, "dimension": 3, "condition_number": 3, "seed": 1}
    near, far = (QuadraticMixture.random(spread=spread, **kept) for spread in (0, 0.5))
    np.testing.assert_allclose(far.optima, near.optima, rtol=0, atol=1e-12)
    assert (far.centers - far.client_optima).std() == pytest.approx(0.5, rel=0.1)
    np.testing.assert_allclose(near.centers, near.client_optima, rtol=0, atol=1e-12)


def test_certain_cases_are_certain():
    assert pairwise_error(1.0, 1.0, 1.0, 5) == 1  # one and the same model: a tie counts as an error
    assert pairwise_error(0.0, 1.0, 0.0, 5) == 0  # an exact model without noise
    assert pairwise_error(1.0, 0.0, 0.0, 5) == 1
    assert pairwise_error(1.0, 4.0, 2.0, 5) == 0  # residuals of one line: the larger is always larger


@pytest.mark.parametrize("samples", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("cluster", [0, 1])
def test_probabilities_are_inverted_characteristic_functions(samples, cluster):
    """Gil-Pelaez on the difference of the two sums of squares, without its eigenvalues or the F distribution.

    With the covariance K of the two residuals and J = diag(1, -1), E exp(it D) is det(I - 2it J K)^(-n'/2).
    """
    task = RegressionMixture(
        optima=[[0.5, 0.0], [-0.5, 0.2]],
        covariance=[[[1.0, 0.3], [0.3, 0.5]], [[0.4, -0.1], [-0.1, 1.0]]],
        noise=0.7,
        labels=[0, 1],
        samples=samples,
    )
    models = np.array([[0.3, 0.2], [-0.3, 0.4]])
    gaps = (models - task.optima[cluster]) @ np.linalg.cholesky(task.covariance[cluster])
    joint = gaps @ gaps.T + task.noise**2
    gap, determinant = joint[cluster, cluster] - joint[1 - cluster, 1 - cluster], np.linalg.det(joint)
    with mpmath.workdps(30):
        integral = mpmath.quad(
            lambda t: mpmath.im((1 - 2j * t * gap + 4 * t * t * determinant) ** mpmath.mpf(-samples / 2)) / t,
            [0, 1, mpmath.inf],
        )
        expected = float(mpmath.mpf(1) / 2 + integral / mpmath.pi)
    found = task.misclassification_probability(models, cluster)
    assert found[cluster] == 0
    assert found[1 - cluster] == pytest.approx(expected, rel=1e-11)


def test_batches_of_models_give_batches_of_probabilities():
    task = RegressionMixture.random(clusters=3, clients=3, dimension=2, samples=4)
    models = np.random.default_rng(0).standard_normal((5, 2, 3, 2))
    found = task.misclassification_probability(models, 1)
    assert found.shape == (5, 2, 3)
    for index in np.ndindex(5, 2):
        np.testing.assert_allclose(found[index], task.misclassification_probability(models[index], 1))


def on_sphere(stream, radius, shape):
    direction = stream.standard_normal(shape)
    return radius * direction / np.linalg.norm(direction, axis=-1, keepdims=True)


WORST = [
    (kappa, share, noise)
    for place, (kappa, share) in enumerate([(1.0, 0.25), (1.0, 0.9), (4.0, 0.25), (10.0, 0.8)])
    for noise in np.roll([0.0, 0.1, 0.5, 2.0], -place)[::2]
]


@pytest.mark.parametrize(("kappa", "share", "noise"), WORST)
def test_no_pair_of_models_in_the_basin_is_worse_than_the_worst_case(kappa, share, noise):
    """Over models, directions of the clusters, and covariances with spectra in [mu, L]."""
    smoothness, separation, samples, dimension = 2.0, 1.5, 5, 3
    radius = share * separation / (1 + math.sqrt(kappa))
    bound = worst_case_error(smoothness, smoothness / kappa, separation, noise, radius, samples)
    stream = np.random.default_rng(int(10 * kappa + 100 * share + 1000 * noise))
    trial = np.arange(2000)[:, None]
    shape, fraction = (2000, dimension), stream.random((3, 2000, 1))
    turns = np.linalg.qr(stream.standard_normal((*shape, dimension)))[0]
    exponents = np.choose(stream.integers(3, size=shape), [0, 1, fraction[0]])
    apart = separation * (1 + fraction[1] * (trial % 2))
    other = on_sphere(stream, apart, shape)
    own_gaps = on_sphere(stream, radius * np.where(trial % 4 < 3, 1, fraction[2] ** (1 / dimension)), shape)
    towards = -radius * other / apart
    other_gaps = other + np.where(trial % 3, towards, on_sphere(stream, radius, shape))
    rooted = (
        np.stack([own_gaps, other_gaps], axis=1) @ turns * (smoothness * kappa ** -exponents[:, None]) ** 0.5
    )
    joint = noise**2 + rooted @ np.swapaxes(rooted, -1, -2)
    worst = pairwise_error(joint[:, 0, 0], joint[:, 1, 1], joint[:, 0, 1], samples).max()
    assert worst <= bound * (1 + 1e-9)
    assert worst > 0.5 * bound


@pytest.mark.parametrize("noise", [0.05, 0.3, 0.6, 3.0])
@pytest.mark.parametrize("radius", [0.1, 0.25, 0.45])
def test_the_worst_case_is_attained_for_condition_number_one(radius, noise):
    """Own model at distance B, the other at Delta - B, at the angle whose cross-term is -s^2."""
    near, far = radius, 1 - radius
    cosine = max(-1.0, -(noise**2) / (near * far))
    models = np.array([[near * cosine, near * math.sqrt(1 - cosine**2)], [far, 0.0]])
    task = RegressionMixture(
        optima=[[0.0, 0.0], [1.0, 0.0]], covariance=[1.0, 1.0], noise=noise, labels=[0, 1], samples=7
    )
    assert np.linalg.norm(models - task.optima, axis=-1) == pytest.approx([radius, radius])
    found = task.misclassification_probability(models, 0)[1]
    assert found == pytest.approx(worst_case_error(1, 1, 1, noise, radius, 7), rel=1e-9)


def test_the_threshold_keeps_its_digits_where_the_noise_is_small():
    """At radius 0, by the formula for (1 + u) / (1 - u) in sixty digits."""
    with mpmath.workdps(60):
        u = 1 / mpmath.sqrt(1 + 4 * mpmath.mpf(1e-9) ** 2)
        expected = float((1 + u) / (1 - u))
    assert worst_case_threshold(1, 1, 1, 1e-9, 0) == pytest.approx(expected, rel=1e-14)


def test_exact_models_without_noise_are_never_confused():
    assert worst_case_threshold(1, 1, 1, 0, 0) == math.inf
    assert worst_case_error(1, 1, 1, 0, 0, 5) == 0


@pytest.mark.parametrize("radius", [-0.1, 0.5, 2.0, math.nan])
def test_a_basin_with_ties_is_refused(radius):
    with pytest.raises(
        InvalidArgument, match=r"radius is .*, but it must be in \[0, 0\.5\)\. Give a smaller radius"
    ):
        worst_case_error(1, 1, 1, 0.5, radius, 5)
