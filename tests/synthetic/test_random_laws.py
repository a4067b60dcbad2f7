"""What tasks draw at random: isotropic, independent, and of the stated laws; errors are six standard deviations."""

import numpy as np
import pytest
from scipy import stats

from clusterproof.synthetic import LogisticMixture, QuadraticMixture, RegressionMixture, TwoPointMixture
from clusterproof.synthetic.softmax import SoftmaxMixture


def two_point_directions():
    """The slopes' directions beside the optima, which are drawn apart from them."""
    task = TwoPointMixture.random(clusters=600, clients=600, dimension=3, noise=0.7, seed=5)
    np.testing.assert_allclose(np.linalg.norm(task.slopes, axis=-1), 0.7)
    return np.hstack([task.slopes / 0.7 * 3**0.5, task.optima / task.optima.std()])


def starting_directions():
    """From the optima to the two starting models of each replicate."""
    task = RegressionMixture.random(clusters=2, clients=5, dimension=3, seed=4)
    starts = task.initial_models(2, (2000,), np.random.default_rng(0))
    return (starts - task.optima).reshape(2000, 6) / task.basin_radius * 2 * 3**0.5


def quadratic_offsets():
    task = QuadraticMixture.random(clusters=1, clients=3000, dimension=3, spread=0.3, seed=2)
    return (task.centers - task.client_optima) / 0.3


def logistic_rows():
    """Rows of three clusters side by side, and their classes, which hardly depend on them."""
    task = LogisticMixture.random(clusters=3, clients=3, dimension=2, support=3000, signal=1e-9, seed=2)
    return np.hstack([task.features.swapaxes(0, 1).reshape(3000, 6), task.targets.T])


def softmax_starts():
    task = SoftmaxMixture(clients=2, clusters=1, features=1, classes=3)
    return task.initial_models(1, (3000,), np.random.default_rng(0))[:, 0]


@pytest.mark.parametrize(
    "columns", [two_point_directions, starting_directions, quadratic_offsets, logistic_rows, softmax_starts]
)
def test_columns_are_independent_of_mean_zero_and_variance_one(columns):
    values = columns()
    error = 6 / len(values) ** 0.5
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=error)
    np.testing.assert_allclose(values.T @ values / len(values), np.eye(values.shape[1]), atol=error * 2**0.5)


def test_logistic_parameters_have_no_preferred_direction():
    task = LogisticMixture.random(clusters=2000, clients=2000, dimension=3, support=8, seed=1)
    products = (task.targets[..., None] * task.features).mean(axis=1)
    np.testing.assert_allclose(products.mean(axis=0), 0, atol=6 * products.std() / 2000**0.5)
    assert (products**2).sum(axis=1).mean() > 3 / 8 * 1.5  # more than the rows' without targets


def test_fixed_data_are_drawn_apart_from_the_optima():
    """Without noise the gradient of one row x at a displacement v is (x . v) x."""
    options = {"dimension": 150, "noise": 0.0, "samples": 1, "data": "fixed"}
    task = RegressionMixture.random(clusters=2, clients=2, **options, seed=3)
    rows = task.gradients(task.client_optima + 1.0, np.arange(2), np.random.default_rng(0))
    for row in rows:
        for optimum in task.optima:
            assert abs(np.corrcoef(row, optimum)[0, 1]) < 6 / 150**0.5


def test_each_cluster_of_quadratics_is_rotated_by_itself():
    """In the plane a rotation by a uniform angle t makes diag(1, 1 / kappa) a multiple of cos 2t and sin 2t."""
    hessians = QuadraticMixture.random(
        clusters=600, clients=600, dimension=2, condition_number=4, seed=3
    ).hessians
    turned = np.stack([hessians[:, 0, 0] - hessians[:, 1, 1], 2 * hessians[:, 0, 1]]) / (1 - 1 / 4)
    np.testing.assert_allclose((turned**2).sum(axis=0), 1)
    np.testing.assert_allclose(turned.mean(axis=1), 0, atol=6 * 0.5**0.5 / 600**0.5)


def test_softmax_classifiers_are_normal_around_a_normal_number_of_the_cluster():
    models = SoftmaxMixture(clients=3000, clusters=3000, features=1, classes=2).generating_models
    found = models.T @ models / 3000
    np.testing.assert_allclose(found, np.eye(4) + 1, atol=6 * 8**0.5 / 3000**0.5)
    np.testing.assert_allclose(models.mean(axis=0), 0, atol=6 * 2**0.5 / 3000**0.5)


def test_softmax_sizes_are_log_normal_and_a_fifth_is_for_testing():
    task = SoftmaxMixture(clients=2000, clusters=1, features=1, classes=2, distribution="li", seed=6)
    sizes = task.sizes + [len(task.testing_data(client)[1]) for client in range(2000)]
    assert np.abs(task.sizes - 0.8 * sizes).max() <= 0.5
    for bound in (2, 10, 55, 200, 1000):
        chance = stats.norm.cdf((np.log(bound) - 4) / 2)
        assert stats.binomtest(int((sizes - 50 < bound).sum()), 2000, chance).pvalue > 1e-7
