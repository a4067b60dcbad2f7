"""The map against MiniSom, bit for bit, and what must hold of any map."""

import copy

import numpy as np
import pytest
from minisom import MiniSom

from clusterproof.algorithms import self_organising_map as som


def minisom(shape, width, distance, *, rate=0.1, radius=1.0, seed=0):
    return MiniSom(
        *shape, width, sigma=radius, learning_rate=rate, activation_distance=distance, random_seed=seed
    )


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (1, 4), (1, 1)])
@pytest.mark.parametrize(("start", "shuffled"), [("random", True), ("sample", False)])
@pytest.mark.parametrize("scale", [1.0, 1e-4])  # at the smaller one the 1e-8 of its cosine decides
def test_it_is_minisom_to_the_bit(shape, distance, start, shuffled, scale):
    data = scale * np.random.default_rng(1).standard_normal((20, 6))
    theirs = minisom(shape, 6, distance, radius=1.5 if min(shape) > 1 else 1.0)
    if start == "sample":
        theirs.random_weights_init(data)
    before = theirs.get_weights().copy()
    order = np.arange(301) % 20
    if shuffled:
        copy.deepcopy(theirs._random_generator).shuffle(order)
    theirs.train(data, 301, random_order=shuffled)
    ours = som.train(before, data, order, learning_rate=0.1, radius=theirs._sigma, distance=distance)
    assert ours.tobytes() == theirs.get_weights().tobytes()
    coordinates = [theirs.winner(sample) for sample in data]
    winners = som.best_matching_units(ours, data, distance)
    assert winners.tolist() == [int(i * shape[1] + j) for i, j in coordinates]


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (1, 4)])
def test_the_distance_map_is_minisoms(shape):
    theirs = minisom(shape, 4, "euclidean")
    expected = theirs.distance_map(scaling="mean")
    found = som.distance_map(theirs.get_weights())
    np.testing.assert_allclose(found / found.max(), expected, rtol=1e-12)
    assert som.distance_map(np.ones((1, 1, 3))).tolist() == [[0.0]]


def test_radius_zero_moves_the_winner_alone():
    before = np.array([[[0.0], [10.0]], [[20.0], [30.0]]])
    kept = {"learning_rate": 0.5, "radius": 0.0, "distance": "euclidean"}
    after = som.train(before, np.array([[12.0]]), np.array([0]), **kept)
    assert before.ravel().tolist() == [0.0, 10.0, 20.0, 30.0]
    assert after.ravel().tolist() == [0.0, 11.0, 20.0, 30.0]


def test_the_printed_schedule_ends_at_a_third_and_the_other_meets_robbins_and_monro():
    for updates in (300, 30_000):
        assert som.decayed(0.1, updates, updates, "as-printed") == pytest.approx(0.1 / 3)
    rates = np.array([som.decayed(0.1, t, 10**5, "robbins-monro") for t in range(0, 10**5, 10)])
    assert rates[-1] < 1e-4
    # sum of 0.1 / (1 + t/60) grows like 6 log t, that of the squares stays below 0.01 + 0.6
    assert 10 * rates.sum() > 6 * np.log(10**5 / 60)
    assert 10 * (rates**2).sum() < 0.72


def test_neurons_are_samples_or_unit_vectors_and_orders_are_balanced():
    stream = np.random.default_rng(0)
    data = stream.standard_normal((7, 3))
    sampled = som.initial_neurons(data, (2, 4), "sample", stream)
    assert (sampled[..., None, :] == data).all(axis=-1).any(axis=-1).all()
    neurons = som.initial_neurons(np.zeros((3, 5)), (4, 6), "random", stream)
    np.testing.assert_allclose(np.linalg.norm(neurons, axis=-1), np.ones((4, 6)), rtol=1e-14)
    counts = np.bincount(som.sample_order(7, 50, stream))
    assert sorted(counts) == [7] * 6 + [8]


def test_ties_go_to_the_first_neuron():
    assert som.best_matching_units(np.ones((2, 2, 3)), np.ones((4, 3))).tolist() == [0] * 4
