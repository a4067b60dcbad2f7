"""Wrong samplers, each of which the two-sample tests against direct simulation must detect.

The true one passes them in ``test_exact_law``.
"""

import numpy as np
import pytest
from two_samples import (
    SOME,
    all_p_values,
    bonferroni,
    gradient_p_values,
    loss_p_values,
    sum_p_values,
)

from clusterproof.synthetic import exact_law

pytestmark = pytest.mark.slow(reason="long statistics of samplers with a fault planted in them")

DETECTED = 1e-9
AGAIN = pytest.mark.slow(reason="a fault that another statistic sees, too")

true_triangle = exact_law.draw_triangle
true_gradients = exact_law.draw_gradients
true_root = exact_law.semidefinite_cholesky
true_losses = exact_law.draw_losses


def one_degree_too_few(shape, size, samples, generator):
    return true_triangle(shape, size, max(1, samples - 1), generator)


def equal_degrees(shape, size, samples, generator):
    """Bartlett's diagonal without the loss of a degree from one column to the next."""
    triangle = true_triangle(shape, size, samples, generator)
    for column in triangle:
        column[0] = np.sqrt(2 * generator.standard_gamma(samples / 2, shape))
    return triangle


def independent_models(shape, size, samples, generator):
    triangle = true_triangle(shape, size, samples, generator)
    return [[column[0], *(0 * entry for entry in column[1:])] for column in triangle]


def wrong_batches(rooted, noise, samples, batches, generator):
    return np.asarray(batches)[..., None] * true_gradients(rooted, noise, samples, 1, generator)


def divided_twice(rooted, noise, samples, batches, generator):
    drawn = true_gradients(rooted, noise, samples, batches, generator)
    return drawn / np.asarray(batches, dtype=float)[..., None]


def isotropic_noise(rooted, noise, samples, batches, generator):
    """Forgets that the gradient varies more along the displacement than across it."""
    still = np.zeros_like(rooted)
    residual = np.sqrt(noise**2 + (rooted**2).sum(axis=-1, keepdims=True))
    drawn = residual * true_gradients(still, 1.0, samples, batches, generator)
    return drawn + np.asarray(batches)[..., None] * rooted


def mean_only(rooted, noise, samples, batches, generator):
    generator.standard_normal(rooted.shape)
    return np.asarray(batches)[..., None] * rooted


def transposed_root(matrix):
    return np.swapaxes(true_root(matrix), -1, -2)


def first_cluster_for_all(covariance, labels, samples, generator):
    return true_losses(covariance, np.zeros_like(labels), samples, generator)


@pytest.mark.parametrize(
    ("name", "wrong", "kind"),
    [
        ("draw_triangle", one_degree_too_few, loss_p_values),
        ("draw_triangle", equal_degrees, loss_p_values),
        ("draw_triangle", independent_models, loss_p_values),
        ("draw_gradients", wrong_batches, sum_p_values),
        ("draw_gradients", divided_twice, sum_p_values),
        ("draw_gradients", isotropic_noise, gradient_p_values),
        pytest.param("draw_gradients", isotropic_noise, sum_p_values, marks=AGAIN),
        ("draw_gradients", mean_only, gradient_p_values),
        ("semidefinite_cholesky", transposed_root, loss_p_values),
        ("draw_losses", first_cluster_for_all, loss_p_values),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_wrong_sampler_is_detected(name, wrong, kind, plant):
    plant(exact_law, name, wrong)
    assert bonferroni(all_p_values((kind,), SOME)) < DETECTED
