"""Exact probabilities of preferring a wrong model: by inversion, and the worst case."""

import math

import mpmath
import numpy as np
import pytest

from clusterproof.common import InvalidArgument
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.misclassification import pairwise_error, worst_case_error, worst_case_threshold


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
        InvalidArgument, match=r"radius is .*, but it must be in \[0, 0\.5\)\. For a larger radius"
    ):
        worst_case_error(1, 1, 1, 0.5, radius, 5)
