"""The groups that FPFC makes of clients whose models are near, and the averages over them."""

import numpy as np
import pytest

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.fpfc import Residuals, group_averages
from clusterproof.common import Randomness
from clusterproof.synthetic import QuadraticMixture


def test_a_chain_of_short_differences_is_one_group():
    """The relation is not transitive: the public code's labels depend on the order of the clients."""
    centers = np.array([[0.0], [0.15], [0.3]])
    task = QuadraticMixture(hessians=np.ones((3, 1, 1)), centers=centers, labels=[0, 0, 0])
    algorithm = FPFC(step_size=0.5, start="own", threshold=0.2)
    assert algorithm.initialise(centers, task).assignments.tolist() == [0, 0, 0]
    assert algorithm.initialise(2 * centers, task).assignments.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_near_clients_are_grouped_however_far_others_are(seed):
    """Distances by ||x||^2 + ||y||^2 - 2 x y lose all digits there, and may say that neighbours are far apart."""
    stream = np.random.default_rng(seed)
    models = stream.uniform(0, 0.02, (4, 3))
    models[2:] += 1e10 * stream.uniform(0.5, 1, 3)
    task = QuadraticMixture(
        hessians=np.broadcast_to(np.eye(3), (4, 3, 3)), centers=models, labels=np.arange(4) // 2
    )
    algorithm = FPFC(step_size=0.5, local_steps=1, start="own", threshold=0.5)
    state = algorithm.step(algorithm.initialise(models, task), task, Randomness.from_seed(0))
    assert state.assignments.tolist() == [0, 0, 1, 1]


def test_group_averages_are_weighted_by_samples():
    models = np.arange(10.0).reshape(5, 2)
    groups = np.array([0, 1, 0, 2, 1])
    sizes = np.array([1.0, 2.0, 3.0, 5.0, 8.0])
    expected = np.stack(
        [
            np.average(models[groups == groups[i]], axis=0, weights=sizes[groups == groups[i]])
            for i in range(5)
        ]
    )
    np.testing.assert_allclose(group_averages(models, groups, sizes), expected, rtol=1e-14)
    equal = np.stack([models[groups == groups[i]].mean(axis=0) for i in range(5)])
    np.testing.assert_allclose(group_averages(models, groups), equal, rtol=1e-14)
    both = group_averages(np.stack([models, 2 * models]), np.stack([groups, 0 * groups]), sizes)
    np.testing.assert_allclose(both[0], expected, rtol=1e-14)
    np.testing.assert_allclose(both[1], 2 * np.tile(np.average(models, axis=0, weights=sizes), (5, 1)))


def test_the_largest_residual_is_that_of_each_replicate():
    found = Residuals(
        models=np.array([3.0, 1.0, 1.0]),
        differences=np.array([2.0, 5.0, 1.0]),
        duals=np.array([1.0, 2.0, 4.0]),
    )
    assert found.largest.tolist() == [3, 5, 4]
