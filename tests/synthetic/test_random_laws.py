"""What tasks draw at random: isotropic, independent, of the stated laws; errors are of six standard deviations."""

import numpy as np
import pytest
from scipy import stats

from clusterproof.synthetic import LogisticMixture, QuadraticMixture, RegressionMixture, TwoPointMixture
from clusterproof.synthetic.softmax import SoftmaxMixture

REGRESSION = RegressionMixture.random(clusters=2, clients=5, dimension=3, seed=4)
TWO_POINT = TwoPointMixture.random(clusters=600, clients=600, dimension=3, noise=0.7, seed=5)
SPREAD = QuadraticMixture.random(clusters=1, clients=3000, dimension=3, spread=0.3, seed=2)
TURNED = QuadraticMixture.random(clusters=600, clients=600, dimension=2, condition_number=4, seed=3).hessians
SINGLE = LogisticMixture.random(clusters=600, clients=600, dimension=3, support=1, seed=1)
COINS = LogisticMixture.random(clusters=3, clients=3, dimension=2, support=3000, signal=1e-9, seed=2)
SOFTMAX = SoftmaxMixture(clients=3000, clusters=3000, features=1, classes=2)
STARTS = REGRESSION.initial_models(2, (2000,), np.random.default_rng(0)) - REGRESSION.optima
LAWS = {
    "starting directions": STARTS.reshape(2000, 6) / REGRESSION.basin_radius * 2 * 3**0.5,
    "noise_gradients and optima": np.hstack(
        [TWO_POINT.noise_gradients / 0.7 * 3**0.5, TWO_POINT.optima / TWO_POINT.optima.std()]
    ),
    "offsets of clients": (SPREAD.centers - SPREAD.client_optima) / 0.3,
    # a rotation by a uniform angle t makes of diag(1, 1 / 4) a multiple of cos 2t and sin 2t
    "rotations": np.stack([TURNED[:, 0, 0] - TURNED[:, 1, 1], 2 * TURNED[:, 0, 1]], axis=-1) / 0.75 * 2**0.5,
    "parameters' directions": (SINGLE.targets[..., None] * SINGLE.features)[:, 0],
    "rows and classes": np.hstack([COINS.features.swapaxes(0, 1).reshape(3000, 6), COINS.targets.T]),
    "softmax starts": SOFTMAX.initial_models(1, (3000,), np.random.default_rng(0))[:, 0],
    # normal around a normal number of the cluster: the covariance I + 11' has the root I + (5^(1/2) - 1) 11' / 4
    "classifiers": SOFTMAX.generating_models
    - (1 - 5**-0.5) * SOFTMAX.generating_models.mean(axis=1, keepdims=True),
}


@pytest.mark.parametrize("name", LAWS)
def test_columns_are_uncorrelated_of_mean_zero_and_variance_one(name):
    values, error = LAWS[name], 6 / len(LAWS[name]) ** 0.5
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=error)
    np.testing.assert_allclose(values.T @ values / len(values), np.eye(values.shape[1]), atol=error * 2**0.5)


def test_fixed_data_are_drawn_apart_from_the_optima():
    """Without noise the gradient of one row x at a displacement v is (x . v) x."""
    options = {"dimension": 150, "noise": 0.0, "samples": 1, "data": "fixed"}
    task = RegressionMixture.random(clusters=2, clients=2, **options, seed=3)
    for row in task.gradients(task.client_optima + 1.0, np.arange(2), np.random.default_rng(0)):
        assert abs(np.corrcoef(row, task.optima[0])[0, 1]) < 6 / 150**0.5


def test_softmax_sizes_are_log_normal_and_a_fifth_is_for_testing():
    task = SoftmaxMixture(clients=2000, clusters=1, features=1, classes=2, seed=6)
    sizes = task.client_samples + [len(targets) for _, targets in task.testing]
    np.testing.assert_array_equal(5 * task.client_samples, 4 * sizes)
    for bound in (2, 10, 55, 200, 1000):
        chance = stats.norm.cdf((np.log(bound) - 4) / 2)
        assert stats.binomtest(int((sizes // 5 - 50 < bound).sum()), 2000, chance).pvalue > 1e-7
