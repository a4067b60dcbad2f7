"""Section 4.1, "minimum mean square distortion": winners at the least angle, and nearest winners."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from clusterproof.checker.claims import Sides, Stream, among, at_most, claim
from clusterproof.theory.papers.sofl.equations_3_6 import Point, partitions, within_sum


def points_at(length: int) -> list[Point]:
    """Return two samples in one direction, of lengths 1 and ``length``, and one across, (0, 1)."""
    return [(Fraction(x), Fraction(y)) for x, y in ((1, 0), (length, 0), (0, 1))]


def least_distortion(points: list[Point], *, one_direction: bool) -> Fraction:
    """Return the least sum of squared distances from two neurons; the first two samples may have to share a winner."""
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
    """Some map with winners by (9) has the least mean square distortion that its number of neurons allows.

    Hypotheses
        Samples (1, 0), (``length``, 0) and (0, 1); two neurons. The distortion is the sum of squared Euclidean
        distances of the samples from their winners, and winners have the largest cosine, (8) and (9).

    Statement
        The least distortion over all pairs of neurons, with these winners, equals the least distortion over all pairs
        with any winners.

    Source
        Zhang and Qiao (2024), Section 4.1: "By adjusting the winning neurons and their neighborhoods according to the
        client parameters, the SOM forms a quantitative mapping with minimum mean square distortion". The distortion,
        and the set of the minimum, are the reading's. Samples in one direction have one winner, however far apart they
        are. With distances for cosines, which (7) allows: ``sofl/mean-square-distortion-nearest``.
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
    expected="consistent, sharp within 2",
    places="section 5.2.2",
)
def mean_square_distortion_nearest(
    stream: Stream, neurons: int = among(2, 3), rate: Fraction = among(Fraction(1), Fraction(1, 2))
) -> Sides:
    """With the nearest neuron as the winner the mean update never raises the mean square distortion.

    Hypotheses
        The winner is the nearest neuron, and the update (10) goes towards the sample; in the mean over the samples,
        with the winner alone in the neighbourhood. With rate 1 the map has degenerated into k-means.

    Statement
        The sum of squared distances of the samples from their winners does not rise.

    Source
        Ours; the step of Lloyd's algorithm, shortened by the rate.
    """
    samples = stream.integers(1, 10, (6, 2)).astype(float)
    places = stream.integers(1, 10, (neurons, 2)).astype(float)
    before = squared_distances(samples, places)
    chosen = before.argmin(axis=1)
    for neuron in set(chosen.tolist()):
        places[neuron] += float(rate) * (samples[chosen == neuron].mean(axis=0) - places[neuron])
    after = squared_distances(samples, places)
    return at_most(after.min(axis=1).sum(), before=before.min(axis=1).sum())
