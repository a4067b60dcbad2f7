"""FPFC's residuals by loops over pairs, its storage, groups and means; rounds are in ``test_definitions``."""

import copy
import dataclasses

import numpy as np
import pytest
from fusion_loops import DenseFPFC

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.averaging import draw_participants
from clusterproof.algorithms.fpfc import Residuals, group_averages
from clusterproof.common import Randomness
from clusterproof.common.arrays import to_numpy
from clusterproof.synthetic import OnArrays, QuadraticMixture

SCAD = {"strength": 0.5, "smoothing": 0.05, "augmentation": 1.3, "threshold": 0.2}
L1 = {"penalty": "l1", "strength": 0.4, "augmentation": 0.7}


def mixture(clients=9, clusters=3):
    return QuadraticMixture.random(
        clusters=clusters,
        clients=clients,
        dimension=4,
        condition_number=2,
        separation=2.5,
        spread=0.3,
    )


def states(algorithm, task, start, rounds, seed=0):
    """States of one run, and the participants of its rounds."""
    randomness = Randomness.from_seed(seed)
    lots = Randomness.from_seed(seed).participation
    state = algorithm.initialise(start, task)
    yield state, None
    for _ in range(rounds):
        active = draw_participants(algorithm.participation, task.clients, start, lots)
        state = algorithm.step(state, task, randomness)
        yield state, to_numpy(active).tolist()


@pytest.mark.parametrize("parameters", [SCAD, L1], ids=["scad", "l1"])
@pytest.mark.parametrize(("clients", "participation"), [(9, 0.1), (9, 1.0), (1, 1.0)])
def test_residuals_and_lengths_are_those_of_loops_over_pairs(clients, participation, parameters):
    """Own starts so near that the penalty pulls while all v are 0, and once a part of the pairs has moved."""
    task = mixture(clients, min(3, clients))
    algorithm = FPFC(step_size=0.3, local_steps=1, participation=participation, start="own", **parameters)
    start = 0.5 * np.random.default_rng(3).standard_normal((clients, 4))
    dense = DenseFPFC(algorithm, task, start)
    for state, active in states(algorithm, task, start, 9):
        if active is not None:
            dense.round(active)
        np.testing.assert_allclose(state.models, dense.w, rtol=0, atol=1e-10)
        lengths = np.linalg.norm(dense.theta, axis=-1)
        np.testing.assert_allclose(algorithm.difference_lengths(state), lengths, rtol=0, atol=1e-10)
        found = algorithm.residuals(state, task, np.random.default_rng(0))
        assert active or clients == 1 or found.differences > 0.1
        np.testing.assert_allclose(
            [found.models, found.differences, found.duals], dense.residuals(), rtol=0, atol=1e-9
        )


def test_rounds_that_reuse_memory_leave_the_states_before_unchanged():
    """Rounds that keep their states, then rounds that reuse memory."""
    task = mixture()
    keeping = FPFC(step_size=0.3, participation=0.2, **SCAD)
    (*_, (before, _), (state, _)) = states(keeping, task, np.ones((1, 4)), 5)
    copied = before.pairs.delta.copy()
    reusing, expected, given = dataclasses.replace(keeping, reuse_memory=True), copy.deepcopy(state), state
    for seed in range(6):
        state = reusing.step(state, task, Randomness.from_seed(seed))
        expected = keeping.step(expected, task, Randomness.from_seed(seed))
        np.testing.assert_array_equal(state.models, expected.models)
    np.testing.assert_array_equal(before.pairs.delta, copied)
    stream = np.random.default_rng(0)
    for use in (
        lambda: keeping.step(given, task, Randomness.from_seed(9)),
        lambda: keeping.difference_lengths(given),
        lambda: keeping.residuals(given, task, stream),
    ):
        with pytest.raises(RuntimeError, match="reuse_memory"):
            use()


def test_single_precision_stays_single():
    task = OnArrays(mixture(), np)
    algorithm = FPFC(step_size=0.3, **SCAD)
    state = algorithm.initialise(np.zeros((1, 4), dtype=np.float32), task)
    clients = np.arange(9)
    for _ in range(5):
        points = algorithm.anchors(state, clients)
        points = points - np.float32(0.3) * (points - task.task.centers.astype(np.float32))
        state = algorithm.update(state, clients, points)
    assert state.models.dtype == np.float32
    assert state.pairs.delta.any()
    assert state.pairs.delta.dtype == np.float32


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
