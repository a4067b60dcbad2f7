"""Claims on the map: "minimum mean square distortion" (Section 4.1), and the effect of initialisation (5.2.2)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.algorithms.second_clustering import k_means
from clusterproof.checker.claims import (
    Frequency,
    Replicates,
    Sides,
    Stream,
    among,
    at_most,
    claim,
    probability,
)
from clusterproof.running import adjusted_rand_index
from clusterproof.theory.papers.sofl.equations_3_6 import Point, partitions, within_sum


def points_at(length: int) -> list[Point]:
    """Return two samples in one direction, of lengths 1 and ``length``, and an orthogonal sample, (0, 1)."""
    return [(Fraction(x), Fraction(y)) for x, y in ((1, 0), (length, 0), (0, 1))]


def least_distortion(points: list[Point], *, one_direction: bool) -> Fraction:
    """Return the smallest sum of squared distances from two neurons, optionally with one winner for the first two."""
    two = [labels for labels in partitions(len(points)) if max(labels) < 2]
    return min(within_sum(points, each) for each in two if each[0] == each[1] or not one_direction)


@claim(
    "sofl/mean-square-distortion",
    label="Section 4.1, mean square distortion",
    source="reading",
    repaired_by="sofl/mean-square-distortion-nearest",
    expected="violated",
)
def mean_square_distortion(length: int = among(10, 3, 2)) -> Sides:
    """A map with winners by (9) can have the smallest mean square distortion that its number of neurons allows.

    Hypotheses
        There are three samples, (1, 0), (``length``, 0) and (0, 1), and two neurons. The distortion is the sum of
        squared Euclidean distances of the samples from their winners, and winners have the largest cosine, (8) and (9).

    Statement
        The smallest distortion over all pairs of neurons with winners by (8) and (9) equals the smallest distortion
        with arbitrary winners.

    Source
        Zhang and Qiao (2024), Section 4.1: "By adjusting the winning neurons and their neighborhoods according to the
        client parameters, the SOM forms a quantitative mapping with minimum mean square distortion". The reading adds
        the definition of the distortion, and the set over which it is minimised. The claim is false because samples
        in one direction have the same winner, even if they are far apart. ``sofl/mean-square-distortion-nearest``
        uses distances instead of cosines, as (7) allows.
    """
    shared, least = (least_distortion(points_at(length), one_direction=asked) for asked in (True, False))
    return at_most(shared, least=least)


def squared_distances(samples: np.ndarray, neurons: np.ndarray) -> np.ndarray:
    """Return the squared distance of each sample from each neuron."""
    return np.asarray(((samples[:, None] - neurons) ** 2).sum(axis=-1))


@claim(
    "sofl/mean-square-distortion-nearest",
    label="Section 4.1, nearest winner",
    source="ours",
    expected="consistent, tight within 2",
    places="section 5.2.2",
)
def mean_square_distortion_nearest(
    stream: Stream, neurons: int = among(2, 3), rate: Fraction = among(Fraction(1), Fraction(1, 2))
) -> Sides:
    """If the nearest neuron is the winner, the mean update never increases the mean square distortion.

    Hypotheses
        The winner is the nearest neuron, and its neighbourhood contains no other neuron. The update is the mean over
        the samples of (10), which moves the winner towards a sample. With rate 1, the map is k-means.

    Statement
        The sum of squared distances between the samples and their winners does not increase.

    Source
        Ours. The update is a step of Lloyd's algorithm, multiplied by the rate.
    """
    samples = stream.integers(1, 10, (6, 2)).astype(float)
    places = stream.integers(1, 10, (neurons, 2)).astype(float)
    before = squared_distances(samples, places)
    chosen = before.argmin(axis=1)
    for neuron in set(chosen.tolist()):
        places[neuron] += float(rate) * (samples[chosen == neuron].mean(axis=0) - places[neuron])
    after = squared_distances(samples, places)
    return at_most(after.min(axis=1).sum(), before=before.min(axis=1).sum())


Clustering = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""A function that clusters updates (m, d) from a random initialisation."""

CLUSTERS, MEMBERS, DIMENSION, NOISE = 4, 5, 30, 0.5
GRID, UPDATES, RATE, RADIUS = (6, 6), 500, 0.5, 1.0


def updates_of_clients(stream: np.random.Generator) -> np.ndarray:
    """Return updates of twenty clients, five around each of four random directions, (20, d)."""
    middles = stream.standard_normal((CLUSTERS, DIMENSION))
    spread = NOISE * stream.standard_normal((CLUSTERS * MEMBERS, DIMENSION))
    return np.asarray(np.repeat(middles, MEMBERS, axis=0) + spread)


def by_map(data: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    """Cluster with k-means on the winning neurons of a map with random initial neurons and a random sample order."""
    neurons = som.train(
        som.initial_neurons(data, GRID, "random", stream),
        data,
        som.sample_order(len(data), UPDATES, stream),
        learning_rate=RATE,
        radius=RADIUS,
    )
    points = neurons.reshape(-1, data.shape[1])[som.best_matching_units(neurons, data)]
    return k_means(points, CLUSTERS, int(stream.integers(2**31)))


def by_k_means(data: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    """Cluster with k-means, the true number of clusters and one random initialisation."""
    from sklearn.cluster import KMeans

    estimator = KMeans(CLUSTERS, init="random", n_init=1, random_state=int(stream.integers(2**31)))
    return np.asarray(estimator.fit(data).labels_)


def differ(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether two partitions differ."""
    return float(adjusted_rand_index(first, second)) < 1


@claim(
    "sofl/initialisation",
    label="Section 5.2.2, initialization",
    replicates=30,
    quick=False,
    expected="inconclusive",
)
def initialisation(stream: Stream, replicates: Replicates) -> Frequency:
    """With another initialisation, the map returns the same clusters in most runs, and k-means in fewer runs.

    Hypotheses
        There are twenty clients, five around each of four random directions in 30 dimensions, with noise of half
        their length. The map has 6 x 6 neurons, which are initialised with random unit vectors. Winners have the
        largest cosine, and k-means clusters the winners. The competing k-means clusters the clients, with one random
        initialisation. Both methods are given the number of clusters. The check has eta_0 = 1/2, sigma_0 = 1 and 500
        updates, whereas Section 5.2.2 has 0.1, 1.5 and 300.

    Statement
        Take the same updates and two initialisations. The partitions differ with probability at most 0.1 for the map
        with k-means on its winners, and with probability at least 0.4 for k-means on the clients.

    Source
        Zhang and Qiao (2024), Section 5.2.2: "the results obtained from clustering using SOM networks are less
        affected by the initialization". The paper does not state what the map is compared with. Table 2 compares it
        with k-means. K-means with ten k-means++ initialisations depends on them no more than the map does
        (``clusterproof table sofl/table-2``).
    """
    return probability(pairs_that_differ(by_map, stream, replicates), at_most=0.1)


@initialisation.line("k-means", replicates=60)
def initialisation_of_k_means(stream: Stream, replicates: Replicates) -> Frequency:
    """Check the baseline: two initialisations of k-means lead to the same partition with probability at most 0.6."""
    return probability(~pairs_that_differ(by_k_means, stream, replicates), at_most=0.6)


def pairs_that_differ(how: Clustering, stream: np.random.Generator, replicates: int) -> np.ndarray:
    """Return whether two initialisations on the same updates lead to different partitions, (replicates,)."""
    differences = []
    for _ in range(replicates):
        data = updates_of_clients(stream)
        differences.append(differ(how(data, stream), how(data, stream)))
    return np.array(differences)
