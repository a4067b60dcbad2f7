"""The elbow, its guard, and the grouping of winners, by brute force where that can be."""

import itertools

import numpy as np
import pytest

from clusterproof.algorithms import SoFL, second_clustering, sofl
from clusterproof.algorithms.bipartition import cosine_similarities
from clusterproof.algorithms.second_clustering import (
    by_appearance,
    cluster_winners,
    elbow,
    k_means,
    silhouette,
    within_sums,
)


@pytest.mark.parametrize("seed", range(3))
def test_within_sums_are_the_least_ones(seed):
    points = np.random.default_rng(seed).standard_normal((5, 2))
    curve = within_sums(points, seed)
    least = np.full(5, np.inf)
    for groups in itertools.product(range(5), repeat=5):
        parts = [points[np.array(groups) == group] for group in set(groups)]
        total = sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)
        least[len(parts) - 1] = min(total, least[len(parts) - 1])
    np.testing.assert_allclose(curve, least, rtol=1e-9, atol=1e-12)


def test_the_curve_ends_at_ten():
    assert len(within_sums(np.random.default_rng(0).standard_normal((14, 2)), 0)) == 10


@pytest.mark.parametrize(
    ("curve", "number"),
    [
        ([10.0, 3.0, 2.5, 2.0], 2),
        ([9.0, 6.0, 1.0, 0.8, 0.6], 3),
        ([4.0], 1),
        ([4.0, 0.0], 1),
        ([0.0, 0, 0], 1),
    ],
)
def test_evident_elbows(curve, number):
    assert elbow(np.array(curve)) == number


@pytest.mark.parametrize("clusters", [2, 3, 4, 6])
def test_the_elbow_cannot_return_the_winners_themselves_and_the_guard_can(clusters):
    """Winners at the corners of a simplex, one a true cluster: the curve is its own chord."""
    neurons = np.eye(clusters) - 1 / clusters
    winners = np.repeat(np.arange(clusters), 5)
    clients = neurons[winners] + 0.02 * np.random.default_rng(0).standard_normal((5 * clusters, clusters))
    published = cluster_winners(clients, winners, neurons, "elbow", 0)
    assert len(np.unique(published)) < clusters
    assert cluster_winners(clients, winners, neurons, "silhouette", 0).tolist() == winners.tolist()


def test_the_guard_answers_one_for_homogeneous_clients_and_the_elbow_splits_them():
    stream = np.random.default_rng(4)
    clients = np.ones(20) + 0.5 * stream.standard_normal((20, 20))
    neurons, winners = clients[:8], np.argmax(cosine_similarities(clients, clients[:8]), axis=1)
    assert (cluster_winners(clients, winners, neurons, "silhouette", 0) == 0).all()
    assert len(np.unique(cluster_winners(clients, winners, neurons, "elbow", 0))) > 1


@pytest.mark.parametrize("rule", ["elbow", "silhouette"])
def test_redundant_winners_are_merged(rule):
    """Three groups, three winners each: both rules find the groups."""
    centres = 5 * np.eye(3)
    neurons = np.repeat(centres, 3, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((9, 3))
    winners = np.arange(18) % 9
    clients = centres[winners // 3] + 0.5 * np.random.default_rng(1).standard_normal((18, 3))
    for length in (1, 1e-9):  # whatever the unit of the updates
        labels = cluster_winners(length * clients, winners, length * neurons, rule, 0)
        assert labels.tolist() == by_appearance(winners // 3).tolist()


def test_the_seed_of_k_means_is_drawn(plant):
    """A run's generator gives the seed, from which k-means has its starts and so the numbers of its clusters."""
    points = np.random.default_rng(0).standard_normal((9, 2))
    assert len({tuple(k_means(points, 3, seed)) for seed in range(20)}) > 1
    seeds = []
    plant(sofl, "cluster_winners", lambda *given: seeds.append(given[-1]))
    for seed in range(3):
        SoFL(step_size=0.5, grid=2, updates=4).cluster(points, np.random.default_rng(seed))
    assert len(set(seeds)) == 3


@pytest.mark.parametrize("rule", ["elbow", "silhouette"])
@pytest.mark.parametrize("clients", [np.zeros((4, 2)), np.ones((4, 2)), np.ones((1, 2))])
def test_degenerate_clients_are_one_cluster(rule, clients):
    winners = np.arange(len(clients))
    neurons = np.ones((4, 2))
    assert (cluster_winners(clients, winners, neurons, rule, 0) == 0).all()


def test_a_zero_update_has_no_direction_and_is_still_placed():
    neurons = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    clients = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9], [0.0, 0.0]])
    labels = cluster_winners(clients, np.array([0, 1, 2, 3, 0]), neurons, "silhouette", 0)
    assert labels.tolist() == [0, 0, 1, 1, 0]


def test_one_cluster_and_singletons_have_no_silhouette():
    distances = 1 - np.eye(8)
    assert silhouette(distances, np.zeros(8)) == silhouette(distances, np.arange(8)) == 0.0


def test_clusters_are_numbered_by_first_appearance():
    assert by_appearance(np.array([7, 2, 7, 9, 2])).tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize(("best", "clusters"), [(0.26, 2), (0.251, 2), (0.249, 1), (0.2, 1)])
def test_the_guard_says_one_cluster_below_a_quarter(plant, best, clusters):
    """Kaufman and Rousseeuw (1990): at most 0.25 is no substantial structure."""
    plant(second_clustering, "silhouette", lambda *_: best)
    updates = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    found = cluster_winners(updates, np.array([0, 0, 1, 1]), np.eye(2), "silhouette", 0)
    assert len(set(found.tolist())) == clusters


@pytest.mark.parametrize(("apart", "clusters"), [(4e-7, 2), (1e-7, 1)])
def test_vectors_count_as_equal_to_seven_digits_and_no_fewer(apart, clusters):
    directions = np.repeat([[1.0, 0.0], [1.0, apart]], 2, axis=0)
    found = cluster_winners(directions, np.array([0, 0, 1, 1]), directions[[0, 2]], "silhouette", 0)
    assert len(np.unique(found)) == clusters
